"""Blocks of examples on disk, as arrays that can be mapped into memory.

A block is a folder with the arrays of CSR rows, ``data.npy``, ``indices.npy`` and ``indptr.npy`` (the last
two in 32 bits), and ``shape.npy``. Dense rows are one array, ``rows.npy``. NumPy can read these files too.

>>> import scipy.sparse as sp
>>> from svmrepro.solvers import Blocks, save_block
>>> save_block(sp.csr_array([[0.0, 1.0], [2.0, 0.0]]), "first")
>>> save_block(sp.csr_array([[3.0, 0.0]]), "second")
>>> Blocks(["first", "second"]).shape
(3, 2)

All indices have 32 bits because SciPy copies the column indices to the width of the row pointers. A memory
map would then be copied into memory as a whole.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

_MOST = 2**31 - 1  # largest number of entries of a block, and of columns
_ARRAYS = ("data", "indices", "indptr")
_VALUES = (np.float64, np.float32)


def save_block(X: Any, path: str | os.PathLike[str]) -> None:
    """Write rows to a folder, from which :func:`open_block` maps them.

    Parameters
    ----------
    X : ndarray or CSR, shape (rows, d)
        Column indices are sorted within each row. Values in single precision are kept; others become double.
    path : path-like
        The folder; it is created. Files of an existing block are replaced.

    Raises
    ------
    ValueError
        If X is of another type, or too large for 32-bit pointers.
    """
    if sp.issparse(X):
        if X.format != "csr":
            raise ValueError(f"save_block: the format is {X.format}, not CSR")
        if X.nnz > _MOST or X.shape[1] > _MOST:
            raise ValueError(
                f"save_block: {X.nnz} entries in {X.shape[1]} columns are too many for numbers of 32 bits; "
                "cut the rows into more blocks"
            )
        if not X.has_sorted_indices:
            X = X.sorted_indices()
        types = (_kept(X.dtype), np.int32, np.int32)
        arrays = {
            name: getattr(X, name).astype(kind, copy=False) for name, kind in zip(_ARRAYS, types, strict=True)
        }
        arrays["shape"] = np.array(X.shape, dtype=np.int64)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        arrays = {"rows": np.ascontiguousarray(X, dtype=_kept(X.dtype))}
    else:
        raise ValueError(f"save_block: a {type(X).__name__} is neither CSR nor an array of rows")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*_ARRAYS, "shape", "rows"):
        (folder / f"{name}.npy").unlink(missing_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def open_block(path: str | os.PathLike[str]) -> Any:
    """Map a block's arrays into memory.

    Parameters
    ----------
    path : path-like
        A folder written by :func:`save_block`.

    Returns
    -------
    ndarray or CSR array, shape (rows, d)
        Its arrays are memory maps, copied on write.

    Raises
    ------
    ValueError
        In one line, if there is no such block or its arrays are inconsistent.
    """
    folder = Path(path)
    dense = (folder / "rows.npy").is_file()
    missing = [name for name in (*_ARRAYS, "shape") if not (folder / f"{name}.npy").is_file()]
    if not dense and missing:
        raise ValueError(f"open_block: {folder} is no block, {missing[0]}.npy is not there")
    if dense:
        return _mapped(folder, "rows", 2, *_VALUES)
    data = _mapped(folder, "data", 1, *_VALUES)
    indices, indptr = (_mapped(folder, name, 1, np.int32) for name in ("indices", "indptr"))
    sizes = _mapped(folder, "shape", 1, np.int64).tolist()
    ends = indptr[[0, -1]].tolist() if indptr.size else []
    if (
        len(sizes) != 2
        or indptr.size != sizes[0] + 1
        or not 0 <= sizes[1] <= _MOST
        or ends != [0, data.size]
        or data.shape != indices.shape
        or (np.diff(indptr) < 0).any()
    ):
        raise ValueError(f"open_block: the arrays in {folder} do not belong together")
    return sp.csr_array((data, indices, indptr), shape=tuple(sizes))


def _kept(kind: Any) -> Any:
    """Return the type in which values of a given type are written."""
    return np.float32 if kind == np.float32 else np.float64


def _mapped(folder: Path, name: str, dimensions: int, *kinds: type[np.generic]) -> Any:
    """Map an array of a block after checking its header.

    ``np.load`` also accepts archives and pickles, and crashes on items of size zero.
    """
    path = folder / f"{name}.npy"
    try:
        with path.open("rb") as stream:
            version = read_magic(stream)
            read_header = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}[version]
            shape, fortran_order, dtype = read_header(stream)
            start, size = stream.tell(), stream.seek(0, os.SEEK_END)
    except Exception as error:  # parsing a header can also raise errors of Python's tokenizer
        said = " ".join(str(error).split())[:200]
        raise ValueError(f"open_block: {folder} cannot be read: {path.name}: {said}") from None
    if dtype not in kinds:
        known = " or ".join(str(np.dtype(kind)) for kind in kinds)
        raise ValueError(f"open_block: {path.name} in {folder} is of {dtype}, not {known}")
    if len(shape) != dimensions or min(shape) < 0:
        raise ValueError(f"open_block: {path.name} in {folder} has the shape {shape}")
    if size != start + math.prod(shape) * dtype.itemsize:
        raise ValueError(f"open_block: {path.name} in {folder} is not as long as its header says")
    return np.memmap(path, dtype, "c", start, shape, "F" if fortran_order else "C")
