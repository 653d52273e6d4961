"""Parsed arrays cached on disk, so that measuring processes do not parse text."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet
from svmrepro.datasets.download.raw_files import StoredFile
from svmrepro.datasets.errors import DataError, StorageError
from svmrepro.datasets.files import locked, replacing
from svmrepro.datasets.readers.by_name import READER_VERSION, read_files
from svmrepro.datasets.readers.npz import write_npz
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
    names = ("y", "X") if entry.dense else ("y", "data", "indices", "indptr")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            parts = [arrays[name] for name in names]
    except Exception:  # damaged files raise errors of zipfile, zlib, NumPy or Python's tokenizer
        return None
    if not entry.dense:
        return _sparse(parts, entry.features)
    y, X = parts
    sound = _finite(y) and _finite(X) and y.ndim == 1 and X.shape == (len(y), entry.features)
    return ExampleSet(X=X, y=y) if sound else None


def _sparse(parts: Sequence[npt.NDArray[Any]], features: int) -> ExampleSet | None:
    y, data, indices, indptr = parts
    if not (_finite(y) and _finite(data)) or y.ndim != 1 or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
        return None
    try:
        # Compiled code uses indices and pointers without bounds checks.
        X = sparse.csr_matrix((data, indices, indptr), shape=(len(y), features))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError):
        return None
    return ExampleSet(X=X, y=y) if X.has_canonical_format and X.nnz == len(data) else None


def _finite(array: npt.NDArray[Any]) -> bool:
    return array.dtype == np.float64 and bool(np.isfinite(array).all())
