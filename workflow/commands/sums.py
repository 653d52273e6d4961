"""Run the numerical tests under other orders of summation; tests/sums/sums.py lists the options."""

from __future__ import annotations

import argparse

from svmrepro.workflow.commands import checkout

TAKES_OTHERS = True


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    checkout.require("tests/sums/sums.py")
    with checkout.stopping_children():
        return checkout.call("python", "tests/sums/sums.py", *others)
