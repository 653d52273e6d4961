"""The readers that the registry can name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from svmrepro.datasets.adult import AdultEncoder, read_adult
from svmrepro.datasets.entries import DownloadedEntry
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.libsvm import LibsvmData, read_libsvm

READER_VERSION: Final = 1
"""Part of every content key and of the names of prepared files: raised when a reader gives other arrays."""


def _libsvm(path: Path, entry: DownloadedEntry) -> LibsvmData:
    return read_libsvm(path, features=entry.features, labels=entry.labels)


def _adult(path: Path, entry: DownloadedEntry) -> LibsvmData:
    records = read_adult(path)
    X = AdultEncoder.fit(records).encode(records)
    if X.shape[1] != entry.features:
        raise DataError(
            f"{path}: its quintiles give {X.shape[1]} columns where {entry.features} were expected"
        )
    return LibsvmData(X=X, y=records.y)


READERS: Final[dict[str, Callable[[Path, DownloadedEntry], LibsvmData]]] = {
    "libsvm": _libsvm,
    "uci-adult": _adult,
}
