"""A user's own files: LIBSVM, tables (CSV) and NPZ, with labels and a test file of their own.

A new format is a module in ``readers/``, its name in ``Format`` and ``_BY_SUFFIX`` below, and a line in
``_parse``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args

from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.errors import DataError, UnknownLabelError
from svmrepro.datasets.readers._parsing import brief
from svmrepro.datasets.readers.libsvm import read_libsvm
from svmrepro.datasets.readers.npz import read_npz
from svmrepro.datasets.readers.own_table import column_names, read_table
from svmrepro.datasets.registry import Label

Format = Literal["libsvm", "csv", "npz"]

SIGNS: Final[Mapping[Label, float]] = MappingProxyType({-1.0: -1.0, 1.0: 1.0})
"""The labels of a file that needs no mapping."""

_BY_SUFFIX: Final[Mapping[str, Format]] = {".csv": "csv", ".tsv": "csv", ".npz": "npz"}


@dataclass(frozen=True)
class UserEntry:
    """A user's own file.

    Attributes
    ----------
    name : str
        Name of the data set.
    path : Path
        The file.
    labels : mapping
        Label in the file -> -1 or +1; texts only in tables.
    features : int or None
        Number of columns; None means those of the file.
    format : {"libsvm", "csv", "npz"} or None
        None means by the suffix: ``.csv`` and ``.tsv`` are tables, ``.npz`` arrays, all others LIBSVM files.
    label : str
        In a table, the column of the labels: its name, ``first`` or ``last``.
    test : Path or None
        The file of the test set; without a ``format``, its own suffix tells its format.
    """

    name: str
    path: Path
    labels: Mapping[Label, float] = field(default_factory=lambda: SIGNS)
    features: int | None = None
    format: Format | None = None
    label: str = "last"
    test: Path | None = None

    def form(self, part: str = "train") -> Format:
        """Return the format of the file of a ``part``, "train" or "test"."""
        return self.format or _BY_SUFFIX.get(self.file(part).suffix.lower(), "libsvm")

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that it has a file of: "train", and "test" if there is a test set."""
        return ("train",) if self.test is None else ("train", "test")

    @property
    def rules(self) -> str:
        """Everything besides the content of a file that decides its arrays, for content keys."""
        signs = sorted((_told(given), sign) for given, sign in self.labels.items())
        told = f"labels={','.join(f'{given}:{sign:+g}' for given, sign in signs)};features={self.features}"
        for form in dict.fromkeys(map(self.form, self.parts)):
            if form != "libsvm":  # so that the keys of LIBSVM files are what they were
                told += f";format={form}" + (f";label={self.label}" if form == "csv" else "")
        return told

    def file(self, part: str = "train") -> Path:
        """Return the file of the training or the test set.

        Parameters
        ----------
        part
            ``"train"`` or ``"test"``.

        Returns
        -------
        Path
            The file; it need not exist.

        Raises
        ------
        DataError
            There is no test set.
        """
        if part == "train":
            return self.path
        if self.test is None:
            raise DataError(f"{self.name}: a user's file has no test part, unless the key 'test' names one")
        return self.test


def check_entry(entry: UserEntry) -> None:
    """Check labels and format of an entry; the DataError names the key."""
    if entry.format is not None and entry.format not in get_args(Format):
        raise DataError(f"format: must be one of {', '.join(get_args(Format))}, not {entry.format!r}")
    if set(entry.labels.values()) != {-1.0, 1.0}:
        raise DataError("labels: must give -1 to some labels and +1 to the others, such as {0: -1, 1: 1}")
    texts = [label for label in entry.labels if isinstance(label, str)]
    parts = entry.parts if len(texts) == len(entry.labels) else ("train",)
    if texts and any(entry.form(part) != "csv" for part in parts):
        raise DataError(f"labels: {texts[0]!r} is a text; only tables have such labels")


def read_own(entry: UserEntry, part: str = "train") -> ExampleSet:
    """Read a file; the test set has as many columns as the training set. A fault raises a DataError.

    The arrays are shared by later calls: do not change them.
    """
    path = entry.file(part)
    features = entry.features if part == "train" else read_own(entry).X.shape[1]
    try:
        status = path.stat()
        stamp = (status.st_size, status.st_mtime_ns)
        read = _parse(path, stamp, tuple(entry.labels.items()), features, entry.form(part), entry.label)
        if part == "test":
            _check_order(entry)
        return read
    except UnknownLabelError as error:
        column = "; the key 'label' names another column" if entry.form(part) == "csv" else ""
        raise UnknownLabelError(
            f"{error}; the key 'labels' maps others, such as {{0: -1, 1: 1}}{column}"
        ) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _check_order(entry: UserEntry) -> None:
    """Refuse a test table with a column that the training table has in another place."""
    if {entry.form(), entry.form("test")} == {"csv"}:
        here, there = (column_names(entry.file(part), entry.label) for part in ("test", "train"))
        shared = {*here} & {*there}
        for pair in zip(here, there, strict=False):
            if pair[0] != pair[1] and (moved := shared.intersection(pair)):
                raise DataError(f"{entry.test}:1: column {min(moved)!r} is in another place in {entry.path}")


@lru_cache(maxsize=4)
def _parse(
    path: Path,
    stamp: tuple[int, int],
    labels: tuple[tuple[Label, float], ...],
    features: int | None,
    form: Format,
    label: str,
) -> ExampleSet:
    if form == "csv":
        return read_table(path, labels=dict(labels), label=label, features=features)
    numeric = {given: sign for given, sign in labels if not isinstance(given, str)}
    read = read_npz if form == "npz" else read_libsvm
    return read(path, labels=numeric, features=features)


def _told(label: Label) -> str:
    return repr(label) if isinstance(label, str) else brief(label)
