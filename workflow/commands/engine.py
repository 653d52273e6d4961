"""Calls Snakemake, in this process, for the commands that run the workflow."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

from svmrepro.workflow.configuration import config_dir
from svmrepro.workflow.errors import StepError

#: The project's files, wherever the command is called.
ROOT = config_dir().parent


def add_arguments(parser: argparse.ArgumentParser, targets: str) -> None:
    """Add the options of all commands that run the workflow, and describe their targets."""
    parser.add_argument("--scale", help="sizes of the problems: smoke, default, paper")
    parser.usage = (
        f"%(prog)s [-h] [--scale SCALE] [{targets} ...] [--config KEY=VALUE ...] [options of Snakemake]"
    )


def run(given: argparse.Namespace, others: Sequence[str], goal: str | None = None) -> int:
    """Run the workflow; return the exit code.

    Parameters
    ----------
    given
        What `add_arguments` found.
    others
        Targets and options of Snakemake.
    goal
        The only target of a command. The targets among ``others`` are then names of papers, to which the run
        is confined.
    """
    from snakemake.cli import args_to_api

    parser, settings = _parsed(others)
    entries = list(settings.config or [])
    if given.scale is not None:
        entries.append(f"scale={given.scale}")
    if goal is not None:
        if settings.targets:
            entries.append(f"papers=[{','.join(sorted(settings.targets))}]")
        settings.targets = {goal}
    settings.config = entries
    return 0 if args_to_api(settings, parser) else 1


def _parsed(words: Sequence[str]) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return Snakemake's parser and what it makes of the words; a wrong option is a StepError."""
    from snakemake.cli import parse_args

    own = []
    if not {"-s", "--snakefile"} & set(words):
        own += ["--snakefile", str(_shown(ROOT / "Snakefile"))]
    if "--workflow-profile" not in words:
        own += ["--workflow-profile", str(ROOT / "profiles" / "default")]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser, settings = parse_args([*own, *words])
    except SystemExit as error:
        if not error.code:  # help or version
            raise
        what = said.getvalue().strip().splitlines()[-1].partition(": error: ")[2]
        raise StepError(f"{what}; see `svmrepro run --help` and `snakemake --help`") from None
    return parser, settings


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
