"""Sparse matrices built piece by piece, in little more memory than the result takes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import sorted_csr

_PIECE: Final = 1 << 26
"""Bytes per piece; large enough that the allocator returns each freed piece to the system at once."""


class _Growing:
    """A growing array, kept in pieces so that appending never copies earlier elements."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._pieces: list[npt.NDArray[Any]] = []
        self._free = 0

    def append(self, part: npt.NDArray[Any]) -> None:
        while len(part):
            if not self._free:
                # Pages that are never written to use no memory.
                self._pieces.append(np.empty(_PIECE // self._dtype.itemsize, dtype=self._dtype))
                self._free = len(self._pieces[-1])
            piece = self._pieces[-1]
            begin = len(piece) - self._free
            fitting, part = part[: self._free], part[self._free :]
            piece[begin : begin + len(fitting)] = fitting
            self._free -= len(fitting)

    def take(self) -> npt.NDArray[Any]:
        """Return the whole array and empty this one."""
        size = sum(map(len, self._pieces)) - self._free
        whole = np.empty(size, dtype=self._dtype)
        begin = 0
        self._pieces.reverse()
        while self._pieces:
            piece = self._pieces.pop()[: size - begin]
            whole[begin : begin + len(piece)] = piece
            begin += len(piece)
        self._free = 0
        return whole


class GrowingRows:
    """Rows collected for a CSR matrix."""

    def __init__(self) -> None:
        self._counts = _Growing(np.int64)
        self._columns = _Growing(np.int32)
        self._values = _Growing(np.float64)

    def append(self, counts: npt.NDArray[Any], columns: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        """Append k rows: their numbers of entries (k,), and the columns and values (m,) of all entries."""
        self._counts.append(counts)
        self._columns.append(columns)
        self._values.append(values)

    def matrix(self, columns: int) -> sparse.csr_matrix:
        """Return the matrix (n, ``columns``) with sorted 32-bit indices, and empty this collection."""
        counts = self._counts.take()
        indptr = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        return sorted_csr((self._values.take(), self._columns.take(), indptr), (len(counts), columns))
