"""Arrays in NPZ files: ``X`` and ``y`` of ``numpy.savez``, or a CSR matrix and ``y``; a reader and a writer.

A CSR matrix has the arrays ``data``, ``indices``, ``indptr`` and ``shape``, as ``scipy.sparse.save_npz``
writes it. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError, short_reason
from svmrepro.datasets.readers._parsing import LARGEST, map_labels, refuse_one_class

_SPARSE: Final = ("data", "indices", "indptr", "shape")

Arrays = Mapping[str, npt.NDArray[Any]]


def read_npz(path: str | Path, *, labels: Mapping[float, float], features: int | None = None) -> ExampleSet:
    """Read examples, an array or a CSR matrix with sorted indices and no stored zeros, and labels.

    ``features`` is by default the number of columns in the file; a sparse file may have fewer. A fault raises
    a DataError, ``file: array: what``.
    """
    arrays, there = _arrays(path)
    if "y" not in arrays or not ("X" in arrays or all(name in arrays for name in _SPARSE)):
        raise DataError(
            f"{path}: X and y, or y and the arrays of a CSR matrix ({', '.join(_SPARSE)}) were expected; "
            f"there are: {', '.join(there)[:200] or 'none'}"
        )
    given = _numbers(path, "y", arrays["y"], 1)
    X = _numbers(path, "X", arrays["X"], 2) if "X" in arrays else _csr(path, arrays)
    n, d = X.shape
    if n != len(given) or n == 0 or d == 0:
        raise DataError(f"{path}: y has {len(given)} labels, X has {n} rows and {d} columns")
    y = map_labels(given, labels, f"{path}: row ")
    refuse_one_class(y, str(path), f"sign {y[0]:+g}")
    if features is not None and (d > features or (d < features and isinstance(X, np.ndarray))):
        raise DataError(f"{path}: X has {d} columns where {features} were expected")
    if not isinstance(X, np.ndarray):
        X.resize(n, features or d)
    return ExampleSet(X=X, y=y)


def write_npz(path: Path, X: FloatArray | sparse.csr_matrix, y: FloatArray) -> None:
    """Write a file that :func:`read_npz` reads back, under exactly this name."""
    with path.open("wb") as stream:
        if isinstance(X, np.ndarray):
            np.savez(stream, X=X, y=y)
        else:
            np.savez(stream, y=y, data=X.data, indices=X.indices, indptr=X.indptr, shape=np.array(X.shape))


def _arrays(path: str | Path) -> tuple[Arrays, list[str]]:
    """Return the arrays that are read, and the names of all."""
    with Path(path).open("rb") as stream:
        if stream.peek(2)[:2] != b"PK":
            # NumPy would take it for a pickle, and advise to allow those.
            raise DataError(f"{path}: is not an NPZ file (no zip archive)")
        try:
            with np.load(stream, allow_pickle=False) as stored:
                read = {name: stored[name] for name in ("X", "y", *_SPARSE, "format") if name in stored}
                return read, stored.files
        except Exception as error:  # damaged files raise errors of zipfile, zlib, NumPy or Python's tokenizer
            raise DataError(f"{path}: is not an NPZ file of numbers: {short_reason(error)}") from None


def _numbers(path: str | Path, name: str, array: npt.NDArray[Any], dimensions: int) -> FloatArray:
    """Return an array as doubles; any other kind or shape, and values that are not finite, are refused."""
    if array.dtype.kind not in "biuf" or array.ndim != dimensions:
        raise DataError(f"{path}: {name}: {dimensions}-dimensional numbers expected, not {_kind(array)}")
    values = np.ascontiguousarray(array, dtype=np.float64)
    if values.size and not max(values.max(), -values.min()) <= LARGEST:  # nan too
        at = tuple(np.argwhere(~(np.abs(values) <= LARGEST))[0])
        place = f"{path}: {name}[{', '.join(map(str, at))}]"
        what = f"beyond {LARGEST:g}: squares would overflow" if np.isfinite(values[at]) else "not finite"
        raise DataError(f"{place} is {what}")
    return values


def _csr(path: str | Path, arrays: Arrays) -> sparse.csr_matrix:
    form = arrays["format"].tolist() if "format" in arrays else b"csr"
    if form not in (b"csr", "csr"):  # a square CSC matrix would be read as its transpose
        raise DataError(f"{path}: format: {form!r} is not CSR: store X.tocsr()")
    data = _numbers(path, "data", arrays["data"], 1)
    for name in ("indices", "indptr", "shape"):
        if arrays[name].dtype.kind not in "iu" or arrays[name].ndim != 1:
            raise DataError(f"{path}: {name}: whole numbers expected, not {_kind(arrays[name])}")
    shape = tuple(arrays["shape"].tolist())
    try:
        # Compiled code uses indices and pointers without bounds checks.
        X = sparse.csr_matrix((data, arrays["indices"], arrays["indptr"]), shape=shape)
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{path}: is not a CSR matrix: {short_reason(error)}") from None
    if not X.has_canonical_format:
        X.sum_duplicates()
        if (np.abs(X.data) > LARGEST).any():
            raise DataError(
                f"{path}: data: a sum of repeated entries is beyond {LARGEST:g}: squares would overflow"
            )
    X.eliminate_zeros()
    return X


def _kind(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"
