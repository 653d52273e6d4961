"""Passes over the rows of a linear problem in any storage: ``X w`` and ``X' c`` over listed examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.rows import (
    MEMBERS,
    ROWS,
    STORE,
    UPDATE,
    VECTOR,
    update_bits,
    update_csr,
    update_dense,
    update_index,
)

Vector = npt.NDArray[np.float64]


COMBINE = types.int64(STORE, MEMBERS, VECTOR, types.int64, VECTOR)


# One for each storage: a call through a pointer would cost as much as the update of a short row, and numba
# needs 0.4 ms to look at a function that is passed to it.
@compiled(COMBINE)
def combine_dense(store, members, coefficients, m, w):  # type: ignore[no-untyped-def]
    """``w += sum over k < m of coefficients[k] x_members[k]``; return the stored entries touched."""
    touched = 0
    for k in range(m):
        touched += update_dense(store, np.int64(members[k]), coefficients[k], w)
    return touched


@compiled(COMBINE)
def combine_csr(store, members, coefficients, m, w):  # type: ignore[no-untyped-def]
    """Add rows of stored entries; see :func:`combine_dense`."""
    touched = 0
    for k in range(m):
        touched += update_csr(store, np.int64(members[k]), coefficients[k], w)
    return touched


@compiled(COMBINE)
def combine_index(store, members, coefficients, m, w):  # type: ignore[no-untyped-def]
    """Add binary rows of indices; see :func:`combine_dense`."""
    touched = 0
    for k in range(m):
        touched += update_index(store, np.int64(members[k]), coefficients[k], w)
    return touched


@compiled(COMBINE)
def combine_bits(store, members, coefficients, m, w):  # type: ignore[no-untyped-def]
    """Add packed binary rows; see :func:`combine_dense`."""
    touched = 0
    for k in range(m):
        touched += update_bits(store, np.int64(members[k]), coefficients[k], w)
    return touched


_COMBINE = {
    "dense": combine_dense,
    "csr": combine_csr,
    "index": combine_index,
    "bits": combine_bits,
}


@compiled(types.int64(STORE, types.FunctionType(UPDATE), types.int64, types.int64, types.float64[:, ::1]))
def spread(store, update, first, m, block):  # type: ignore[no-untyped-def]
    """Write x_first ... x_(first + m - 1) to the rows of ``block``, shape (at least m, d + 1)."""
    touched = 0
    for k in range(m):
        block[k] = 0.0
        touched += update(store, first + k, 1.0, block[k])
    return touched


class Passes:
    """The two products with the examples of a problem, and what they have read.

    Attributes
    ----------
    entries : int
        Stored entries read so far (words for packed bits).
    examples : int
        Rows read so far.
    """

    def __init__(self, problem: Problem) -> None:
        self._store = problem.prepare()
        _, self._products, self._update = ROWS[problem.storage]
        self._combine = _COMBINE[problem.storage]
        self._weights = np.zeros(problem.d + 1)  # the row functions read a zero behind the last feature
        self.d = problem.d
        self.everyone = np.arange(problem.n, dtype=np.uint32)
        self.entries = self.examples = 0

    def outputs(self, w: Vector, members: npt.NDArray[np.uint32]) -> Vector:
        """Return ``w . x_i`` for the members, shape (m,); ``w`` has shape (d,)."""
        m = members.size
        out = np.empty(m)
        self._weights[: self.d] = w
        self.entries += int(self._products(self._store, self._weights, members, m, out))
        self.examples += m
        return out

    def combination(self, coefficients: Vector, members: npt.NDArray[np.uint32]) -> Vector:
        """Return ``sum_k coefficients[k] x_members[k]``, shape (d,)."""
        total = np.zeros(self.d + 1)
        self.entries += int(self._combine(self._store, members, coefficients, members.size, total))
        self.examples += members.size
        return total[: self.d]

    def rows(self, first: int, m: int, block: Any) -> None:
        """Write m rows to ``block``, see :func:`spread`."""
        self.entries += int(spread(self._store, self._update, first, m, block))
        self.examples += m
