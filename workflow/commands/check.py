"""Print the verdict on every claim and compare it with the reference run of the scale.

What has not been measured yet is measured first. With names of papers, only these are judged. The exit code
is 1 if the run does not reproduce the reference.
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
    return engine.run(given, others, "check")
