"""An experiment's records to ``measurements.csv``, ``fits.csv`` and ``ratios.csv``.

    python -m svmrepro.workflow.steps.analyse --config CONFIG --paper PAPER --experiment EXPERIMENT

Flagged runs are included and marked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from svmrepro.workflow.analysis.fits import (
    FIT_COLUMNS,
    RATIO_COLUMNS,
    compare_contenders,
    fit_experiment,
    lines_to_csv,
)
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.runs import read_runs
from svmrepro.workflow.analysis.tidy import collect_lines, to_csv
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config, read_config
from svmrepro.workflow.errors import run_step
from svmrepro.workflow.files import atomic_write


def run(config: Config, paper: str, name: str) -> None:
    """Write the three files of one experiment."""
    measurements = paths.measurements(config, paper, name)
    atomic_write(measurements, to_csv(collect_lines(paths.job_files(config, paper, name))))
    experiment = config.papers[paper].experiments[name]
    runs = read_runs([measurements])
    fits = fit_experiment(runs, experiment, PaperNumbers(paths.config_dir() / "papers", paper))
    atomic_write(paths.fits(config, paper, name), lines_to_csv(FIT_COLUMNS, fits))
    ratios = compare_contenders(runs, experiment)
    atomic_write(paths.ratios(config, paper, name), lines_to_csv(RATIO_COLUMNS, ratios))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the step; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m svmrepro.workflow.steps.analyse", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="resolved configuration (JSON)")
    parser.add_argument("--paper", required=True)
    parser.add_argument("--experiment", required=True)
    arguments = parser.parse_args(argv)
    run(read_config(arguments.config), arguments.paper, arguments.experiment)
    return 0


if __name__ == "__main__":
    run_step(main)
