"""The readers that the registry can name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from svmrepro.datasets.entries import DownloadedEntry
from svmrepro.datasets.libsvm import LibsvmData, read_libsvm

READER_VERSION: Final = 1
"""Part of every content key and of the names of prepared files: raised when a reader gives other arrays."""


def _libsvm(path: Path, entry: DownloadedEntry) -> LibsvmData:
    return read_libsvm(path, features=entry.features, labels=entry.labels)


READERS: Final[dict[str, Callable[[Path, DownloadedEntry], LibsvmData]]] = {"libsvm": _libsvm}
