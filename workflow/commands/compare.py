"""Compare this run with another run, or with a reference.

`--config against=FOLDER` names the folder of the other results: `results/<scale>` of any run, or a committed
reference. With names of papers, only these are compared.
"""

from __future__ import annotations

import argparse

from svmrepro.workflow.commands import engine

TAKES_OTHERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    engine.add_arguments(parser, "PAPER")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    return engine.run(given, others, "compare")
