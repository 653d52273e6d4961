"""Make every table, interval and figure of a run again, from its raw measurements alone.

FOLDER holds <paper>/measurements.parquet: results/reference/<scale>, or the results of any run. Fits, tables,
figures and verdicts are made with today's code. Tables, and the numbers that figures draw, are compared with
FOLDER's. The exit code is 1 if a number or a word differs. Nothing is measured, and no data set is needed.
Measurements of another data set, or with other settings, than the configuration's are refused.

Several folders are pieces of one run, measured on several days or machines. They are joined, and nothing is
compared. If several of them measured the same, the last one counts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from svmrepro.workflow.commands import checkout
from svmrepro.workflow.configuration import callers_folder, home, paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="with <paper>/measurements.parquet"
    )
    parser.add_argument("--output", type=Path, help="folder for results and figures (results/again)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--tables", action="store_true", help="make no figures: twice as fast")
    what.add_argument(
        "--reference", action="store_true", help="replace the committed reference, without comparing"
    )


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from svmrepro.workflow.steps import remake

    if given.reference:
        checkout.require("pyproject.toml")
    output = callers_folder.output_path(given.output) if given.output else home() / "results" / paths.AGAIN
    folders = [callers_folder.input_path(folder) for folder in given.folders]
    return remake.run(folders, output, given.reference, figures=not given.tables)
