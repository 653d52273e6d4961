"""The judge's kernel matrices: one for all solutions of the same examples, whatever the order of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from svmrepro.datasets.permutations import permuted_rows
from svmrepro.solvers import Problem, gram_matrix

#: Maximum size in bytes of a matrix that is kept.
MOST_BYTES = 2**29


class Shared(NamedTuple):
    """A kernel matrix, and where each example of the problem is in it; None if in the same place."""

    matrix: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64] | None


class JudgeMatrices:
    """Gaussian kernel matrices of the latest examples, by encoding.

    Each is computed in the data set's own order, also when only permutations of it are asked for. After a
    restart another permutation may be the first in its process, and the last digits of a certificate must not
    depend on that. For the same reason the first solution gets the matrix, too.
    """

    def __init__(self) -> None:
        self._examples: object = None
        self._matrices: dict[str | None, npt.NDArray[np.float64]] = {}

    def of(
        self, problem: Problem, encoding: str | None, examples: object, permutation: int | None = None
    ) -> Shared | None:
        """Return a problem's kernel matrix, shape (n, n); None if it is too large or of no use to the judge.

        Parameters
        ----------
        problem
            The problem; the other arguments say which examples it holds.
        encoding
            Encoding of the examples; None for the data set's own.
        examples
            Anything that tells these examples from others, whatever the order of the rows.
        permutation
            Number of the permutation of the rows; None for the data set's own order.
        """
        if problem.kernel.name != "gaussian" or 8 * problem.n**2 > MOST_BYTES:
            return None
        if examples != self._examples:
            self._matrices.clear()
        self._examples = examples
        order = None if permutation is None else permuted_rows(problem.n, permutation)
        if encoding not in self._matrices:
            if order is not None:
                back = np.argsort(order)
                problem = Problem(problem.X[back], problem.y[back], problem.C, problem.kernel)
            self._matrices[encoding] = gram_matrix(problem)
        return Shared(self._matrices[encoding], order)
