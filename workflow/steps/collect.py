"""The measurements, fits and ratios of a paper's experiments, each joined into one file.

python -m svmrepro.workflow.steps.collect --config CONFIG --paper PAPER
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from svmrepro.workflow.analysis.tidy import join
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import read_config
from svmrepro.workflow.errors import run_step
from svmrepro.workflow.files import atomic_write


def main(argv: Sequence[str] | None = None) -> int:
    """Run the step; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m svmrepro.workflow.steps.collect", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="resolved configuration (JSON)")
    parser.add_argument("--paper", required=True)
    arguments = parser.parse_args(argv)
    config, paper = read_config(arguments.config), arguments.paper
    for place in (paths.measurements, paths.fits, paths.ratios):
        parts = [place(config, paper, name) for name in config.papers[paper].experiments]
        atomic_write(place(config, paper), join(parts))
    return 0


if __name__ == "__main__":
    run_step(main)
