"""Products with listed examples of a linear problem in any storage, ``X w`` and ``X' c``, counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.passes.row_passes import passes_of
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import Vector
from svmrepro.solvers.storage.row_products import rows_of


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Load the functions for a problem's rows, the same for all options, before the clock starts."""
    rows_of(problem)
    passes_of(problem.storage)


class CountedProducts:
    """The two products with the examples of a problem, and the number of entries they read.

    Attributes
    ----------
    everyone : ndarray of uint32, shape (n,)
        The indices of all examples.
    entries : int
        Stored entries read so far (words for packed bits).
    examples : int
        Products of a row with a vector so far.
    """

    def __init__(self, problem: Problem) -> None:
        self._store = problem.prepare()
        _, self._products, _ = rows_of(problem)
        _, self._add = passes_of(problem.storage)
        # Row functions read one entry beyond the last feature, and their sums have one too.
        self._weights = np.zeros(problem.d + 1)
        self._all = np.zeros(problem.n)
        self.n, self.d = problem.n, problem.d
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
        """Return ``sum_k coefficients[k] x_members[k]``, shape (d,); no member may be listed twice."""
        self._all[:] = 0.0
        self._all[members] = coefficients
        total = np.zeros(self.d + 1)
        self.entries += int(self._add(self._store, self._all, 0, self.n, total))
        self.examples += members.size
        return total[: self.d]
