"""Download the raw files of data sets, and record which are unavailable and why.

Run as ``python -m svmrepro.workflow.steps.fetch --config CONFIG --dataset NAME``. The step succeeds even if
no file is available (unless the configuration has ``require_data: true``), because the rest of a run
continues without it. An unreadable file of a user's own is an error. With ``--retry --before SECONDS`` it
instead tries every data set of the configuration again, except those tried after SECONDS since the epoch:
what was missing, and what has been deleted since.
"""

from __future__ import annotations

import math
import time

from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.configuration.needs import data_sets
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.locks import lock
from svmrepro.workflow.measurement.data_sets import Marker, attempt, read_marker, register, write_marker
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.steps._command_line import run_step


def fetch(config: Config, name: str) -> Marker:
    """Try to get a data set and return the outcome, not yet written; only one process at a time does so.

    A StepError is raised if the data folder is not writable, a user's own file cannot be read, or the set is
    incomplete and ``require_data`` is set.
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
    reasons = tuple(map(one_line, missing))
    found = Marker(name, available, reasons, time.time(), attempt(config, name))
    if missing and config.require_data:
        raise StepError(f"{found.reason()} (require_data is true)")
    return found


def try_again(config: Config, before: float) -> None:
    """Get what data sets lack now, except those tried after ``before`` (seconds since the epoch)."""
    from svmrepro import datasets

    for name in data_sets(config):
        old = read_marker(config, name)
        # A clock that was set back leaves markers in the future.
        if datasets.is_generated(name) or old is None or before <= old.tried <= time.time():
            continue
        new = fetch(config, name)
        # Unless other files are available now, nothing that depends on the data needs to be made again.
        if _lost(new) != _lost(old):
            write_marker(config, new)
        _tell(new)


def _lost(marker: Marker) -> set[str] | None:
    """Return the names of the missing files, without the reasons; None if all files are missing."""
    return {each.partition(": ")[0] for each in marker.missing} if marker.available else None


def _tell(marker: Marker) -> None:
    if marker.complete:
        print(f"data set {marker.name}: available")
    elif marker.available:
        lack = f"{plural(len(marker.missing), 'file')} ({marker.missing[0]})"
        print(f"data set {marker.name}: available without {lack}")
    else:
        print(marker.reason())


def run(config: Config, dataset: str | None = None, retry: bool = False, before: float = math.inf) -> None:
    """Run the step; see the module docstring."""
    register(config)
    if retry:
        try_again(config, before)
    if dataset is not None:
        marker = fetch(config, dataset)
        write_marker(config, marker)
        _tell(marker)


if __name__ == "__main__":
    run_step(run, answers=True)
