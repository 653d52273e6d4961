"""The judge's kernel matrices: one for all solutions of the same examples, whatever the order of the rows."""

from __future__ import annotations

import secrets

import numpy as np
from svmrepro.datasets.permutations import permuted_rows
from svmrepro.solvers import Problem
from svmrepro.solvers.reference_kernels import GaussianMatrix, gaussian_matrix, kernel_matrix

#: Maximum size in bytes of a matrix that is kept.
MOST_BYTES = 2**29

_LOOKED_AT = 16  # examples whose kernel values are computed again at each use
_SAME = 1e-6  # difference below which two kernel values are the same, apart from their known errors


class JudgeMatrices:
    """Gaussian kernel matrices of the latest examples, by encoding.

    Each is computed in the data set's own order, even if only permutations of it are requested. After a
    restart another permutation may be the first in its process, and the last digits of a certificate must not
    depend on that. For the same reason the first solution gets the matrix, too.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._matrices: dict[str | None, GaussianMatrix] = {}

    def of(
        self, problem: Problem, encoding: str | None, examples: object, permutation: int | None = None
    ) -> GaussianMatrix | None:
        """Return a problem's kernel matrix; None if it is too large or not useful to the judge.

        ``examples`` is the same for the same examples in any ``encoding`` and order; the ``permutation`` is
        that of the rows. A RuntimeError means that some kernel values are not those of the problem, for
        example because its file has changed.
        """
        key = (problem.kernel, problem.n, examples)
        if key != self._key:
            self._matrices.clear()
        self._key = key
        if problem.kernel.name != "gaussian" or 8 * problem.n**2 > MOST_BYTES:
            return None
        order = None if permutation is None else permuted_rows(problem.n, permutation)
        if encoding not in self._matrices:
            X = problem.X if order is None else problem.X[np.argsort(order)]
            self._matrices[encoding] = gaussian_matrix(problem.kernel, X)
            self._matrices[encoding].values.flags.writeable = False
        found = self._matrices[encoding]
        found = found if order is None else found.permuted(order)
        _look(found, problem)
        return found


def _look(found: GaussianMatrix, problem: Problem) -> None:
    """Raise RuntimeError if the values of some random examples are not the problem's."""
    members = np.array([secrets.randbelow(problem.n) for _ in range(_LOOKED_AT)])
    rows = members if found.order is None else found.order[members]
    off = np.abs(found.values[np.ix_(rows, rows)] - kernel_matrix(problem.kernel, problem.X[members])).max()
    if not off <= _SAME + 2.0 * found.relative:
        raise RuntimeError(f"the kernel matrix is of other examples: a value differs by {off:.2g}")
