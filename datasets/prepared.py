"""Parsed arrays cached on disk, so that measuring processes do not parse text."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.download.raw_files import StoredFile
from svmrepro.datasets.errors import DataError, StorageError
from svmrepro.datasets.files import locked, replacing
from svmrepro.datasets.readers.by_name import READER_VERSION, read_files
from svmrepro.datasets.readers.libsvm import DEFAULT_LABELS
from svmrepro.datasets.readers.npz import read_npz, write_npz
from svmrepro.datasets.registry import DownloadedEntry, Part


def read_stored(
    entry: DownloadedEntry, part: Part, stored: Mapping[str, StoredFile], data_dir: str | Path
) -> ExampleSet:
    """Return the arrays of a training or test set, from the cache ``<data_dir>/prepared/`` if possible.

    The name of a cached file contains the SHA-256 of the raw files, ``stored`` by their names in the
    registry, so it cannot hold the arrays of others. If the cached file is damaged or cannot be written, the
    raw files are read. Content that does not match the registry raises a DataError that names a file.
    """
    examples = [stored[file] for file in part.examples]
    labels = stored[part.labels].path if part.labels is not None else None
    digests = [stored[file].sha256 for file in part.files]
    digest = digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()
    folder = Path(data_dir) / "prepared"
    version = f"r{READER_VERSION}" + (f"-{entry.rules}" if entry.rules else "")
    path = folder / f"{entry.name}-{part.examples[0]}-{digest[:16]}-{version}.npz"
    data = _load(path, entry)
    if data is None:
        reader = examples[0].form.reader or entry.reader
        data = read_files(reader, [file.path for file in examples], labels, entry)
        with contextlib.suppress(StorageError, OSError), locked(folder), replacing(path) as written:
            write_npz(written, data.X, data.y)
    where = examples[0].path
    rows = len(data.y)
    if rows == part.whole > part.rows:
        own = slice(part.skip, part.skip + part.rows)
        data = ExampleSet(X=data.X[own], y=data.y[own])
    positives = int((data.y > 0.0).sum())
    if rows != part.whole or part.positives not in (None, positives):
        raise DataError(
            f"{where}: {rows} rows, {positives} of them positive, "
            f"where the registry has {part.whole} and {part.positives}"
        )
    if entry.binary and not np.all(data.X.data == 1.0):
        raise DataError(f"{where}: values other than 1, where the registry says that {entry.name} is binary")
    return data


def _load(path: Path, entry: DownloadedEntry) -> ExampleSet | None:
    """Return the arrays of a prepared file, or None if it is missing or damaged."""
    with contextlib.suppress(DataError, OSError):
        data = read_npz(path, labels=DEFAULT_LABELS, features=entry.features)
        if isinstance(data.X, np.ndarray) == entry.dense:
            return data
    return None
