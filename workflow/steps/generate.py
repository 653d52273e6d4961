"""Check a generated data set: its generator is repeatable, and gives both classes.

Run as ``python -m svmrepro.workflow.steps.generate --config CONFIG --dataset NAME``. The rows are not stored:
generating them is faster than reading them from disk, and each measurement generates its own from name, size
and seed.
"""

from __future__ import annotations

import time

from svmrepro.workflow.configuration import Config
from svmrepro.workflow.configuration.jobs import instances
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.measurement.data_sets import Marker, write_marker
from svmrepro.workflow.steps._command_line import run_step


def generate(config: Config, name: str) -> Marker:
    """Generate the smallest requested set twice; one that does not repeat itself raises a StepError."""
    from svmrepro import datasets

    smallest = {
        (row.n, row.sample)
        for experiment in config.experiments
        if experiment.dataset == name
        for row in instances(experiment)
        if row.n == min(experiment.sizes)
    }
    for n, seed in smallest:
        try:
            first, second = (datasets.load(name, n, seed=seed) for _ in range(2))
        except datasets.DataError as error:
            raise StepError(one_line(error)) from error
        if (first.y != second.y).any() or abs(first.X - second.X).sum() != 0:
            raise StepError(f"{name}: the generator gave two different sets for n = {n}, seed = {seed}")
    return Marker(name, available=True, missing=(), tried=time.time())


def run(config: Config, dataset: str) -> None:
    """Run the step; see the module docstring."""
    write_marker(config, generate(config, dataset))


if __name__ == "__main__":
    run_step(run)
