"""Parsed arrays kept beside the raw files, so that a measuring process spends no time on text."""

from __future__ import annotations

import contextlib
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.entries import DownloadedEntry
from svmrepro.datasets.errors import DataError, StorageError
from svmrepro.datasets.fetching import StoredFile
from svmrepro.datasets.files import locked, replacing
from svmrepro.datasets.readers import READER_VERSION, READERS


def read_stored(entry: DownloadedEntry, file: str, stored: StoredFile, data_dir: str | Path) -> ExampleSet:
    """Return the arrays of a raw file, from ``<data_dir>/prepared/`` where they are there.

    The prepared file's name holds the raw file's SHA-256, so it can never be that of another file's arrays.
    It is a convenience: where it is spoilt or cannot be written, the raw file is read.

    ``X`` is an array where the registry says ``dense``, otherwise a CSR matrix.

    Raises
    ------
    DataError
        The file does not hold what the registry says; the message names it.
    """
    folder = Path(data_dir) / "prepared"
    version = f"r{READER_VERSION}" + (f"-{entry.rules}" if entry.rules else "")
    path = folder / f"{entry.name}-{file}-{stored.sha256[:16]}-{version}.npz"
    data = _load(path, entry)
    if data is None:
        data = READERS[stored.form.reader or entry.reader](stored.path, entry)
        with contextlib.suppress(StorageError), locked(folder):
            _save(path, data)
    expected = entry.files[file]
    positives = int((data.y > 0.0).sum())
    if len(data.y) != expected.rows or expected.positives not in (None, positives):
        raise DataError(
            f"{stored.path}: {len(data.y)} rows, {positives} of them positive, "
            f"where the registry has {expected.rows} and {expected.positives}"
        )
    return data


def _save(path: Path, data: ExampleSet) -> None:
    X = data.X
    with replacing(path) as part, part.open("wb") as stream:
        if isinstance(X, np.ndarray):
            np.savez(stream, y=data.y, X=X)
        else:
            np.savez(stream, y=data.y, data=X.data, indices=X.indices, indptr=X.indptr)


def _load(path: Path, entry: DownloadedEntry) -> ExampleSet | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            y = arrays["y"]
            if entry.dense:
                return ExampleSet(X=arrays["X"].reshape(len(y), entry.features), y=y)
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            X = sparse.csr_matrix(parts, shape=(len(y), entry.features))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    X.has_sorted_indices = True
    return ExampleSet(X=X, y=y)
