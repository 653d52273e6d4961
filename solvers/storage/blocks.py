"""Examples in blocks of rows, such as memory-mapped files whose total size exceeds the memory.

>>> import numpy as np
>>> from svmrepro.solvers import Blocks, Problem, solve
>>> rows = [np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 0.0]])]
>>> solution = solve(Problem(Blocks(rows), [-1, 1, 1], bias=False), "svmperf")
>>> solution.status
'optimal'

A solver that takes blocks reads one after the other, row by row, and stores only a few numbers per row and
some weight vectors. The system can drop pages of a memory-mapped block after they are read. Arrays are never
copied, so a memory map has to be opened with ``mode="c"`` (copy on write; nothing is written). A process of
joblib copies blocks that were in memory, since joblib maps them read-only; others stay mapped. Values in
single precision take half the memory and are summed in double. :func:`~svmrepro.solvers.save_block` writes a
block to a folder, whose path can be used in its place.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.storage.block_files import open_block
from svmrepro.solvers.storage.stores import Store

_CHECKED = 1 << 22  # entries checked at a time
_LARGEST = 1e45  # largest value; with the largest number of columns, products reach 1e100


class Blocks:
    """Consecutive rows of a matrix, block after block.

    Parameters
    ----------
    parts : sequence of ndarray, CSR, path-like or callable, each of shape (rows, d)
        All dense or all sparse; values all in double or all in single precision; writeable arrays in C order;
        32-bit column indices, ascending within a row. A path is that of a saved block, which is mapped into
        memory; a callable returns the block.

    Raises
    ------
    ValueError
        In one line, naming the block and what is wrong with it.
    """

    #: Whether other processes make the passes over the rows.
    elsewhere = False

    def __init__(self, parts: Sequence[Any]) -> None:
        if not parts:
            raise ValueError("Blocks: at least one block is needed")
        parts = [loaded(part) for part in parts]
        self.sparse = bool(sp.issparse(parts[0]))
        values = (parts[0].data if self.sparse else parts[0]) if hasattr(parts[0], "shape") else None
        #: Whether values are in single precision.
        self.single = values is not None and getattr(values, "dtype", None) == np.float32
        largest = 0.0
        #: Sum of the absolute values in each column, shape (d,).
        d = parts[0].shape[-1] if getattr(parts[0], "shape", ()) else 0
        self.sizes = np.zeros(d)
        for number, part in enumerate(parts):
            fault = _fault(part, self.sparse, self.single, d)
            if not fault:
                most = _largest(part.data if self.sparse else part)
                largest = max(largest, most)
                if not math.isfinite(most):
                    fault = "holds a value that is not finite"
                elif most > _LARGEST:
                    fault = f"holds values up to {most:.0e}, beyond {_LARGEST:.0e} sums of squares overflow"
            if fault:
                raise ValueError(f"Blocks: block {number} {fault}")
            self.sizes += column_sizes(part)
        self.parts = tuple(parts)
        self.firsts = np.concatenate(([0], np.cumsum([part.shape[0] for part in parts])))
        self.shape = (int(self.firsts[-1]), int(parts[0].shape[1]))
        self.entries = sum(part.nnz if self.sparse else part.size for part in parts)
        #: Upper bound on the norm of a row.
        self.radius = largest * math.sqrt(self.shape[1])

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib maps large arrays into memory, read-only: copy them.
        self.parts = tuple(
            part if all(array.flags.writeable for array in _arrays(part)) else part.copy()
            for part in self.parts
        )

    @property
    def storage(self) -> str:
        """How a block is stored, a name in ``row_passes.ENTRY_BYTES``."""
        return ("csr" if self.sparse else "dense") + (", single" if self.single else "")

    @property
    def T(self) -> _Transposed:
        """Return the transpose, which multiplies vectors of shape (n,)."""
        return _Transposed(self)

    def __matmul__(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.concatenate([product(part, w) for part in self.parts])

    def transposed_product(self, v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return ``X' v`` for ``v`` of shape (n,): shape (d,)."""
        total = np.zeros(self.shape[1])
        for part, first, last in zip(self.parts, self.firsts, self.firsts[1:], strict=False):
            total += transposed_product(part, v[first:last])
        return total

    def stores(self) -> list[Store]:
        """Return each block in the form compiled code reads; only 32-bit row pointers are copied."""
        found = []
        for part in self.parts:
            if not self.sparse:
                found.append(Store(**{"single" if self.single else "dense": _plain(part)}))
                continue
            values = _plain(part.data)
            own = {"single": values.reshape(1, -1)} if self.single else {"values": values}
            indptr, indices = np.asarray(part.indptr, dtype=np.int64), _plain(part.indices).view(np.uint32)
            found.append(Store(indptr=indptr, indices=indices, **own))
        return found


def loaded(part: Any) -> Any:
    """Return a block given as itself, by its path, or by a function that loads it."""
    if isinstance(part, str | os.PathLike):
        return open_block(part)
    return part() if callable(part) else part


def product(part: Any, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``X w`` of a block, shape (rows,), in double precision, by NumPy or SciPy alone."""
    if part.dtype == np.float64:
        return np.asarray(part @ w).ravel()
    return np.concatenate([np.asarray(rows @ w).ravel() for _, rows in _in_double(part)])


def transposed_product(part: Any, v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``X' v`` of a block, shape (d,), in double precision, by NumPy or SciPy alone."""
    if part.dtype == np.float64:
        return np.asarray(part.T @ v).ravel()
    total = np.zeros(part.shape[1])
    for first, rows in _in_double(part):
        total += np.asarray(rows.T @ v[first : first + rows.shape[0]]).ravel()
    return total


def _in_double(part: Any) -> Iterator[tuple[int, Any]]:
    """Yield consecutive rows of a block in double precision, with the index of the first one."""
    entries = part.nnz if sp.issparse(part) else part.size
    step = max(1, _CHECKED * part.shape[0] // max(entries, 1))
    for first in range(0, part.shape[0], step):
        yield first, part[first : first + step].astype(np.float64)


class _Transposed:
    """The transpose of blocks; supports products with vectors only."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks

    def __matmul__(self, v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self._blocks.transposed_product(v)


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a memory map as a plain array."""
    return array.view(np.ndarray)


def _arrays(part: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays of a block that compiled code reads in place."""
    return (part.data, part.indices) if sp.issparse(part) else (part,)


def _fault(part: Any, sparse: bool, single: bool, d: int) -> str | None:
    """Return what is wrong with a block, or None."""
    if bool(sp.issparse(part)) != sparse:
        return "is dense and others are sparse, or the reverse"
    if sparse and part.format != "csr":
        return f"is in the format {part.format}, not CSR"
    if not sparse and not isinstance(part, np.ndarray):
        return f"is a {type(part).__name__}, no array"
    if len(part.shape) != 2 or part.shape[1] != d or part.shape[0] == 0:
        return f"has the shape {part.shape}; each needs rows, and {d} columns as the first"
    values = part.data if sparse else part
    kind = np.dtype(np.float32 if single else np.float64)
    if values.dtype != kind:
        other = "" if kind == np.float32 else " (or all blocks float32)"
        return f"holds values of {values.dtype}, not {kind}{other}"
    if sparse and part.indices.dtype == np.int64:
        return (
            "has columns of int64, not int32 (SciPy widens them in a copy where the row pointers are int64; "
            "give both as int32, as save_block does)"
        )
    if sparse and part.indices.dtype not in (np.int32, np.uint32):
        return f"has columns of {part.indices.dtype}, not int32"
    if not all(array.flags.c_contiguous and array.flags.writeable for array in _arrays(part)):
        return 'has an array that is read-only or not in C order (open a memory map with mode="c")'
    if sparse and (np.diff(part.indptr) < 0).any():
        return "has row pointers that decrease"
    if sparse and not _within(part, d):
        return f"has a column that is not one of 0 to {d - 1}"
    return "has columns that do not ascend within a row" if sparse and not _ascending(part) else None


def _largest(values: npt.NDArray[Any]) -> float:
    """Return the largest absolute value, nan if any value is nan."""
    flat, found = values.reshape(-1), 0.0
    for first in range(0, flat.size, _CHECKED):
        piece = flat[first : first + _CHECKED]
        found = float(np.maximum(found, np.maximum(piece.max(), -piece.min())))
    return found


def column_sizes(X: Any) -> npt.NDArray[np.float64]:
    """Return the sum of the absolute values in each column of an ndarray or a CSR array, shape (d,)."""
    found = np.zeros(X.shape[1])
    if sp.issparse(X):
        for first in range(0, X.nnz, _CHECKED):
            piece = slice(first, first + _CHECKED)
            found += np.bincount(X.indices[piece], np.abs(X.data[piece]), found.size)
    else:
        rows = max(1, _CHECKED // max(X.shape[1], 1))
        for first in range(0, X.shape[0], rows):
            found += np.abs(X[first : first + rows]).sum(axis=0, dtype=np.float64)
    return found


def _within(part: Any, d: int) -> bool:
    """Tell whether all column indices are valid: compiled code uses them unchecked."""
    for first in range(0, part.nnz, _CHECKED):
        columns = part.indices[first : first + _CHECKED]
        if columns.min() < 0 or columns.max() >= d:
            return False
    return True


def _ascending(part: Any) -> bool:
    """Tell whether the column indices of each row are strictly ascending."""
    for first in range(0, part.nnz, _CHECKED):
        columns = part.indices[max(first - 1, 0) : first + _CHECKED]
        places = np.flatnonzero(columns[1:] <= columns[:-1]) + max(first, 1)
        if not np.isin(places, part.indptr).all():
            return False
    return True
