"""
An experiment's lines to its measurements, fits and ratios: two steps in one process, which needs one start.

Run as ``python -m svmrepro.workflow.steps.analyse --config CONFIG --paper PAPER --experiment EXPERIMENT``.
"""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.errors import run_step
from svmrepro.workflow.steps import collect, fit


def main(argv: Sequence[str] | None = None) -> int:
    """Run both steps, which take the same arguments; see the module's text."""
    return collect.main(argv) or fit.main(argv)


if __name__ == "__main__":
    run_step(main)
