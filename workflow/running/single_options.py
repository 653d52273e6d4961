"""An option with one value that is given twice: argparse would silently take the last."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile

from svmrepro.workflow.errors import StepError


def refuse_repeated(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Raise a StepError if an option that keeps one value is among the words more than once."""
    actions = parser._option_string_actions
    seen = set()
    for word in takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        # The value of a short option may follow without a space.
        action = actions.get(name) or (None if name.startswith("--") else actions.get(name[:2]))
        if not isinstance(action, argparse._StoreAction) or action.nargs not in (None, "?"):
            continue
        if action in seen:
            raise StepError(f"{action.option_strings[0]} is given twice; give it once")
        seen.add(action)
