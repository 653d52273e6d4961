"""Data sets for the steps: users' own files, the arrays of a row, and reasons for missing data."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.files import atomic_write

if TYPE_CHECKING:
    from svmrepro.datasets import Dataset
    from svmrepro.workflow.configuration.jobs import Instance


#: Words in the reason of a source that gave a file, but not the right one.
WRONG_FILE = re.compile(r"\b(expected|damaged|in place of the file)\b")


class NotAvailable(Exception):
    """A row cannot be measured because its data are missing; the message is the reason shown in tables."""


@dataclass(frozen=True)
class Marker:
    """Availability of a data set, as found by the last attempt to get it."""

    name: str
    available: bool  # whether any of its training files is
    missing: tuple[str, ...]  # one reason per missing file: ``file: why``
    tried: float  # when, in seconds since the epoch
    attempt: str = ""  # how: the mirror, and whether the data were required

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.available and not self.missing

    def reason(self) -> str:
        """One line saying what is missing, and why: a wrong file, if there is one, else the first."""
        why = min(self.missing, key=lambda each: not WRONG_FILE.search(each), default="not fetched")
        return f"data set {self.name} not available: {why}"


def register(config: Config) -> None:
    """Register a user's own files with ``svmrepro.datasets``; a name that is taken raises a StepError."""
    from svmrepro import datasets

    for name, own in config.datasets.items():
        try:
            datasets.register_file(
                name,
                own.path,
                labels=dict(own.labels),
                features=own.features,
                format=own.format,
                label=own.label,
                test=own.test,
            )
        except ValueError as error:
            raise StepError(f"datasets.{name}: {one_line(error)}") from error


def check_own_data_sets(config: Config) -> None:
    """Read a user's own files early, so that their errors are reported before any work is done.

    A file that cannot be read or has too few rows raises a StepError: the key, file and line.
    """
    for experiment in config.experiments:
        at = f"experiment {experiment.name} of {experiment.paper}: "
        features = None
        if experiment.dataset in config.datasets:
            for n in (None, *experiment.sizes):
                features = _own(config, experiment.dataset, n, at).X.shape[1]
        test = experiment.test
        if test is None or (tested := test.dataset or experiment.dataset) not in config.datasets:
            continue
        for rows in (None, test.rows):
            width = _own(config, tested, rows, f"{at}test: ", "train" if test.dataset else "test").X.shape[1]
        if features not in (None, width):
            raise StepError(
                f"{at}test: data set {tested} has {width} features, {experiment.dataset} has {features}"
            )
    for artefact in (each for paper in config.papers.values() for each in paper.artefacts.values()):
        if artefact.settings.get("dataset") in config.datasets:
            _own(config, artefact.settings["dataset"], None, "")


def _own(
    config: Config, name: str, n: int | None, where: str, part: Literal["train", "test"] = "train"
) -> Dataset:
    """Load the first rows of a user's own file; report its errors with its configuration key."""
    from svmrepro import datasets

    try:
        return datasets.load(name, n, part=part, data_dir=config.data_dir, download=False)
    except datasets.DataError as error:
        raise StepError(f"datasets.{name}: {one_line(error)}" if n is None else f"{where}{error}") from error


def attempt(config: Config, name: str) -> str:
    """Return a text that differs from the last attempt's only if another attempt may find more.

    A new mirror is thus a reason to try again only if it may have what is missing.
    """
    found = read_marker(config, name)
    required = " required" if config.require_data else ""
    this = f"{config.mirror or ''}{required}"
    if found is None or found.attempt == this:
        return this
    return found.attempt if found.complete or not (required or _more(config, name)) else this


def _more(config: Config, name: str) -> bool:
    from svmrepro.datasets.download.raw_files import mirror_has_more
    from svmrepro.datasets.registry import registry

    entry = registry().downloaded.get(name)
    return entry is None or mirror_has_more(entry, config.data_dir, config.mirror or "")


def write_marker(config: Config, marker: Marker) -> None:
    """Write the outcome of an attempt."""
    atomic_write(paths.marker(config, marker.name), json.dumps(asdict(marker), indent=1) + "\n")


def read_marker(config: Config, name: str) -> Marker | None:
    """Read the outcome of the last attempt; None if there was no attempt, or its file is invalid."""
    return _understood(paths.marker(config, name))


def _understood(path: Path) -> Marker | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Marker)
    except (OSError, ValueError, RecursionError):
        return None


def _portable(reason: str) -> str:
    # Tables are published, so the path of a local mirror is removed, and the password in an address.
    return re.sub(r"\bmirror (?!https?:)[^;]+?: ", "mirror: ", re.sub(r"(?<=://)[^/\s]*@", "", reason))


def load_instance(config: Config, instance: Instance, encoding: str | None = None) -> Dataset:
    """Load the examples of an instance from disk; nothing is downloaded here.

    The order of the rows does not depend on the ``encoding``, which replaces the data set's own. Missing data
    raise NotAvailable with the reason (the error of the last attempt to fetch, or of the file), or a
    StepError if the data set is a user's own file.
    """
    from svmrepro import datasets

    register(config)
    name = instance.experiment.dataset
    try:
        found = datasets.load(
            name,
            instance.n,
            seed=instance.sample,
            encoding=encoding,
            data_dir=config.data_dir,
            download=False,
        )
    except datasets.DatasetUnavailable as error:
        marker = read_marker(config, name)
        reason = marker.reason() if marker and marker.missing else one_line(error)
        raise NotAvailable(_portable(reason)) from error
    except datasets.DataError as error:
        raise _lacking(config, name)(one_line(error)) from error
    return found if instance.permutation is None else datasets.permute(found, instance.permutation)


def load_test(config: Config, instance: Instance, features: int) -> tuple[Any, Any]:
    """Load the test set of an instance's experiment from disk: examples (k, features) and labels (k,).

    For generated data, the instance's seed is used. Errors are those of :func:`load_instance`.
    """
    from svmrepro import datasets

    test = instance.experiment.test
    assert test is not None
    name = test.dataset or instance.experiment.dataset
    of_own = test.dataset is None
    generated = of_own and datasets.is_generated(name)
    try:
        found = datasets.load(
            name,
            test.skip + (test.rows or 0) if generated else test.rows,
            seed=instance.sample,
            part="test" if of_own and not generated else "train",
            data_dir=config.data_dir,
            download=False,
        )
    except (datasets.DatasetUnavailable, datasets.DataError) as error:
        raise _lacking(config, name)(f"test set: {_portable(one_line(error))}") from error
    X, y = found.X[test.skip :], found.y[test.skip :]
    if X.shape[1] != features:
        raise _lacking(config, name)(f"test set {name}: {X.shape[1]} features, not {features}")
    return X, y


def _lacking(config: Config, name: str) -> type[NotAvailable] | type[StepError]:
    """Return the exception for unavailable data: an error for a user's own files, otherwise *not run*."""
    return StepError if name in config.datasets else NotAvailable
