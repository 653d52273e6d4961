"""Describe a folder of results as an RO-Crate: write its ro-crate-metadata.json.

FOLDER holds <paper>/measurements.parquet: results/reference/<scale>, or the results of any run. The metadata
name the software, its commit, the machine, the data sets and every file.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from svmrepro.workflow.configuration import callers_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with <paper>/measurements.parquet")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from svmrepro.workflow.steps import crate

    return crate.run(callers_folder.input_path(given.folder))
