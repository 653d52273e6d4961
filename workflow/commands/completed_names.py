"""What a shell offers for a word: scales, targets, papers, solvers and data sets, or else files.

The functions import late, since most words need none of them. A configuration that cannot be read offers
nothing; only the command itself reports the error.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from argcomplete.completers import BaseCompleter, FilesCompleter
from svmrepro.workflow.errors import StepError


class NamesCompleter(BaseCompleter):
    """Offers the words for an argument by the argument's name; argcomplete's default completer."""

    def __call__(
        self,
        *,
        prefix: str,
        action: argparse.Action,
        parser: argparse.ArgumentParser,
        parsed_args: argparse.Namespace,
    ) -> Iterable[str]:
        """Return the words that may follow."""
        names = _NAMES.get(action.dest)
        if names is None:
            return list(FilesCompleter()(prefix))
        try:
            found = names(getattr(parsed_args, "scale", None))
        except StepError:
            return []
        if action.dest == "data":
            found += FilesCompleter()(prefix)
        return found


def _scales(_: str | None) -> list[str]:
    from svmrepro.workflow.configuration import scales

    return sorted(scales())


def _papers(scale: str | None) -> list[str]:
    from svmrepro.workflow.configuration import load_config

    return list(load_config({"scale": scale} if scale else {}).papers)


def _targets(scale: str | None) -> list[str]:
    from tempfile import TemporaryDirectory

    from svmrepro.workflow.graph.plan import Plan

    with TemporaryDirectory() as folder:  # a plan writes its configuration
        return Plan({"results_dir": folder, **({"scale": scale} if scale else {})}).targets()


def _solvers(_: str | None) -> list[str]:
    from svmrepro.solvers import SOLVERS, user_functions

    return [*SOLVERS, *user_functions.declared()]


def _datasets(_: str | None) -> list[str]:
    from svmrepro import datasets

    return list(datasets.names())


_NAMES: dict[str, Callable[[str | None], list[str]]] = {
    "scale": _scales,
    "target": _targets,
    "paper": _papers,
    "papers": _papers,
    "solver": _solvers,
    "solvers": _solvers,
    "baseline": _solvers,
    "dataset": _datasets,
    "data": _datasets,
}
"""Name of an argument -> the words for it, at a scale."""
