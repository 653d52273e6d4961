"""Turn an experiment's records into ``measurements.csv``, ``fits.csv`` and ``ratios.csv``.

    python -m svmrepro.workflow.steps.analyse --config CONFIG --paper PAPER --experiment EXPERIMENT

Flagged runs are included and marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svmrepro.workflow.analysis.fits import FIT_COLUMNS, RATIO_COLUMNS, compare_contenders, fit_experiment
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.results import runs_of
from svmrepro.workflow.analysis.tidy import collect_lines, mixed_protocols, to_csv
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.steps._command_line import run_step


def run(config: Config, paper: str, experiment: str) -> None:
    """Run the step; see the module docstring."""
    lines = collect_lines(paths.job_files(config, paper, experiment))
    if mixed := mixed_protocols(lines):
        print(mixed)
    write(config, paper, experiment, lines)


def write(config: Config, paper: str, experiment: str, lines: Sequence[Mapping[str, str]]) -> None:
    """Write the measurements of an experiment, given as flat lines, and what follows from them."""
    measurements = paths.measurements(config, paper, experiment)
    atomic_write(measurements, to_csv(lines))
    described = config.papers[paper].experiments[experiment]
    runs = runs_of([measurements])
    fits = fit_experiment(runs, described, PaperNumbers(config.described("papers", paper), paper))
    atomic_write(paths.fits(config, paper, experiment), to_csv(fits, FIT_COLUMNS))
    ratios = compare_contenders(runs, described)
    atomic_write(paths.ratios(config, paper, experiment), to_csv(ratios, RATIO_COLUMNS))


if __name__ == "__main__":
    run_step(run)
