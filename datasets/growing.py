"""Sparse matrices that are made piece by piece, in little more memory than the result takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

_GROWTH = 1.125
_LEAST = 1 << 16


class _Growing:
    """An array that is appended to."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array: npt.NDArray[Any] = np.empty(0, dtype=dtype)
        self._size = 0

    def append(self, part: npt.NDArray[Any]) -> None:
        size = self._size + len(part)
        if size > len(self._array):
            # In place: the system moves the pages of a large array instead of copying them.
            self._array.resize(max(size, int(_GROWTH * len(self._array)), _LEAST), refcheck=False)
        self._array[self._size : size] = part
        self._size = size

    def take(self) -> npt.NDArray[Any]:
        """Return the array, which is gone from here."""
        whole, self._array = self._array, np.empty(0, dtype=self._array.dtype)
        whole.resize(self._size, refcheck=False)
        self._size = 0
        return whole


class GrowingRows:
    """Rows on their way to a CSR matrix."""

    def __init__(self) -> None:
        self._counts = _Growing(np.int64)
        self._columns = _Growing(np.int32)
        self._values = _Growing(np.float64)

    def append(self, counts: npt.NDArray[Any], columns: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        """Take some rows.

        Parameters
        ----------
        counts : ndarray (k,) of int
            Entries of each.
        columns : ndarray (m,) of int
            Their columns, rising within a row.
        values : ndarray (m,) of float
            Their values.
        """
        self._counts.append(counts)
        self._columns.append(columns)
        self._values.append(values)

    def matrix(self, columns: int) -> sparse.csr_matrix:
        """Return the matrix (n, ``columns``), with sorted 32-bit indices; the rows are gone from here."""
        counts = self._counts.take()
        indptr = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        X = sparse.csr_matrix(
            (self._values.take(), self._columns.take(), indptr), shape=(len(counts), columns)
        )
        X.has_sorted_indices = True
        return X
