"""An option that is given twice: argparse would silently take the last."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile

from svmrepro.workflow.errors import StepError


def refuse_repeated(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Raise a StepError if an option that keeps only the last is among the words more than once."""
    actions = parser._option_string_actions
    seen = set()
    for word in takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        # The value of a short option may follow without a space.
        action = actions.get(name) or (None if name.startswith("--") else actions.get(name[:2]))
        if not isinstance(action, argparse._StoreAction):
            continue
        if action in seen:
            all_values = "" if action.nargs in (None, "?") else ", with all its values"
            raise StepError(f"{action.option_strings[0]} is given twice; give it once{all_values}")
        seen.add(action)
