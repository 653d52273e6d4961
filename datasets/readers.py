"""The readers that the registry can name.

Each makes a CSR matrix of the examples, or an array where the entry says ``dense``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from scipy import sparse
from svmrepro.datasets.adult import AdultEncoder, read_adult
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.delimited import read_delimited
from svmrepro.datasets.entries import DownloadedEntry
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.libsvm import read_libsvm
from svmrepro.datasets.matfile import read_splits

READER_VERSION: Final = 1
"""Part of every content key and of the names of prepared files: raised when a reader gives other arrays."""


def _as_asked(data: ExampleSet, entry: DownloadedEntry) -> ExampleSet:
    """Return the examples in the representation that the entry asks for."""
    X = data.X
    if isinstance(X, np.ndarray) == entry.dense:
        return data
    if not isinstance(X, np.ndarray):
        return ExampleSet(X=X.toarray(), y=data.y)
    rows = sparse.csr_matrix(X)
    rows.has_sorted_indices = True
    return ExampleSet(X=rows, y=data.y)


def _libsvm(path: Path, entry: DownloadedEntry) -> ExampleSet:
    return _as_asked(read_libsvm(path, features=entry.features, labels=entry.numeric_labels), entry)


def _delimited(path: Path, entry: DownloadedEntry) -> ExampleSet:
    assert entry.columns is not None  # the registry sees to it
    data = read_delimited(path, features=entry.features, labels=entry.labels, columns=entry.columns)
    return _as_asked(data, entry)


def _splits(path: Path, entry: DownloadedEntry) -> ExampleSet:
    assert entry.variable is not None  # the registry sees to it
    labels = entry.numeric_labels
    data = read_splits(path, variable=entry.variable, features=entry.features, labels=labels)
    return _as_asked(data, entry)


def _adult(path: Path, entry: DownloadedEntry) -> ExampleSet:
    records = read_adult(path)
    X = AdultEncoder.fit(records).encode(records)
    if X.shape[1] != entry.features:
        raise DataError(
            f"{path}: its quintiles give {X.shape[1]} columns where {entry.features} were expected"
        )
    return ExampleSet(X=X, y=records.y)


READERS: Final[dict[str, Callable[[Path, DownloadedEntry], ExampleSet]]] = {
    "libsvm": _libsvm,
    "delimited": _delimited,
    "mat-splits": _splits,
    "uci-adult": _adult,
}
