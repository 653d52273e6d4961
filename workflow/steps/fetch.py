"""
Get the raw files of data sets, and write down what could not be had and why.

Run as ``python -m svmrepro.workflow.steps.fetch --config CONFIG --dataset NAME``: the step succeeds even if
nothing can be had (unless the configuration has ``require_data: true``), because the rest of a run goes on
without it. A user's own file that cannot be read is an error. ``--retry --before SECONDS`` instead tries
again every set of the configuration that was incomplete when last tried, unless that was after SECONDS of the
epoch.
"""

from __future__ import annotations

import math
import sys
import time

from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config
from svmrepro.workflow.configuration.needs import data_sets
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.locks import lock
from svmrepro.workflow.measurement.data_sets import Marker, read_marker, register, write_marker
from svmrepro.workflow.steps.command_line import run_step


def fetch(config: Config, name: str) -> Marker:
    """
    Try to get a data set, alone among all processes.

    Parameters
    ----------
    config
        Names the mirror and the folder for data.
    name
        The data set.

    Returns
    -------
    Marker
        What was found; not yet written.

    Raises
    ------
    StepError
        If the folder for data cannot be written, a user's own file cannot be read, or the set is incomplete
        and ``require_data`` is set.
    """
    from svmrepro import datasets

    missing: tuple[str, ...] = ()
    available = True
    marker = paths.marker(config, name)
    with lock(marker.with_suffix(".lock")):
        try:
            fetched = datasets.fetch(name, config.data_dir, config.mirror)
            missing = tuple(f"{file}: {'; '.join(why)}" for file, why in fetched.missing.items())
        except datasets.DatasetUnavailable as error:
            available, missing = False, ("; ".join(error.reasons) or one_line(error),)
        except datasets.StorageError as error:
            raise StepError(one_line(error)) from error
        except datasets.DataError as error:
            if name in config.datasets:
                raise StepError(f"datasets.{name}: {one_line(error)}") from error
            available, missing = False, (one_line(error),)
    found = Marker(name, available, tuple(one_line(ValueError(text)) for text in missing), time.time())
    if missing and config.require_data:
        raise StepError(f"{found.reason()} (require_data is true)")
    return found


def try_again(config: Config, before: float) -> None:
    """
    Try again what was incomplete.

    Parameters
    ----------
    config
        Its experiments say which data sets matter.
    before
        Sets tried after this moment (seconds of the epoch) are left as they are.
    """
    for name in data_sets(config):
        old = read_marker(config, name)
        if old is None or old.complete or old.tried >= before:
            continue
        new = fetch(config, name)
        # If no more can be had than before, nothing that depends on it has to be made again.
        if (new.available, len(new.missing)) != (old.available, len(old.missing)):
            write_marker(config, new)
        _tell(new)


def _tell(marker: Marker) -> None:
    if marker.complete:
        print(f"data set {marker.name}: available", file=sys.stderr)
    elif marker.available:
        count = len(marker.missing)
        print(
            f"data set {marker.name}: available without {count} files ({marker.missing[0]})", file=sys.stderr
        )
    else:
        print(marker.reason(), file=sys.stderr)


def run(config: Config, dataset: str | None = None, retry: bool = False, before: float = math.inf) -> None:
    """Run the step; see the module's text."""
    register(config)
    if retry:
        try_again(config, before)
    if dataset is not None:
        marker = fetch(config, dataset)
        write_marker(config, marker)
        _tell(marker)


if __name__ == "__main__":
    run_step(run)
