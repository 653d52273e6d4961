"""Write all tables and figures into one HTML file.

With names of papers, the file holds only these.
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
    return engine.run(given, others, "report")
