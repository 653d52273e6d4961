"""The result of a solver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.storage.blocks import Blocks

OPTIMAL = "optimal"
TIME_LIMIT = "time_limit"
MEMORY_LIMIT = "memory_limit"
ITERATION_LIMIT = "iteration_limit"
STALLED = "stalled"

Vector = npt.NDArray[np.float64]


class Start(NamedTuple):
    """Multipliers with the gradient there, from which a solver continues without computing it.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,)
        Multipliers.
    gradient : ndarray of float64, shape (n,)
        ``y_i - sum_j y_j alpha_j k(x_j, x_i)``.
    drift : float
        Total length of the steps since the gradient was last computed from the data, and the sum of the
        multipliers then; it bounds the rounding error of the gradient.
    """

    alpha: npt.NDArray[np.float64]
    gradient: npt.NDArray[np.float64]
    drift: float


def own_copy(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return a copy of real numbers as a plain array, or raise ValueError naming them."""
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers")
        return np.array(values, dtype=np.float64, copy=True, subok=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of real numbers: {error}") from None


@dataclass(frozen=True)
class Solution:
    """The result of one run.

    Attributes
    ----------
    alpha : ndarray of float64, shape (n,), or None
        Multipliers, unsigned, in [0, C]; for squared hinges, at least 0. None if a solver has none per
        example. For a pairwise problem that is written out, one per pair with y_i > y_j, shape (m,), in the
        order of i and then of j.
    weights : ndarray of float64, shape (d,), or None
        Weight vector, for a linear kernel.
    bias : float
        The constant that is *added*: ``f(x) = sum_i y_i alpha_i k(x_i, x) + bias``.
    status : {"optimal", "time_limit", "memory_limit", "iteration_limit", "stalled"}
        Why the solver stopped. ``stalled``: no step changes anything in double precision although the
        stopping test fails, or rounding errors could hide that it fails, or the certificate rejects a result
        that the solver reported as optimal.
    iterations : int
        Steps taken (SMO: successful joint optimisations; chunking: CG steps).
    kernel_evaluations : int
        Kernel evaluations, or dot products with a folded weight vector.
    cpu_seconds, wall_seconds : float
        CPU time of all threads, and elapsed time, of the solve alone.
    work : dict of str to int
        Counted work, where applicable: ``nonzeros`` (stored entries read by dot products; words for packed
        bits), ``gradient_updates``, ``hessian_entries``.
    info : dict of str to float or list of int
        Further statistics of the solver.
    trace : list of (float, float), optional
        (CPU seconds, dual objective) after each slice, if requested; for cutting planes the objective is the
        lower bound, as in ``relaxed``.
    xi, relaxed : float, optional
        For cutting planes: the slack variable (the largest violation among the planes), and the optimum of
        the relaxed problem, which has only the planes as constraints: no weights have a lower objective. For
        the plain algorithm it is ``1/2 w.w + n C xi`` at its ``weights``.
    witness : (ndarray of float64, shape (k,), ndarray of float64, shape (k, d)), optional
        For cutting planes, the data from which a judge computes its own lower bound: the positive multipliers
        ``a_c`` of planes, whose sum is at most the sum of the bounds, and the weights ``w_c`` at which these
        planes were taken. Plane c consists of the examples with ``y_i w_c.x_i < 1``, or of the pairs with
        ``w_c.x_i - w_c.x_j < 1``. Any other choice gives a valid plane too, so rounding only loosens the
        bound.
    loss : {"hinge", "squared hinge", "pairs"}
        The loss that ``weights`` minimise, see :mod:`svmrepro.solvers.certificate.optimality`; set by the
        driver.
    promise : {"kkt", "gap", "relative gap"}
        What ``eps`` bounds, see :class:`~svmrepro.solvers.registry.SolverSpec`; set by the driver.
    end : Start, optional
        Of ``smo2``, ``pasmo``, their variants, ``csmo`` and ``smo-newton``, the final multipliers with their
        gradient: a start for the same examples and kernel with another eps or a larger C.
    """

    alpha: npt.NDArray[np.float64] | None
    weights: npt.NDArray[np.float64] | None
    bias: float
    status: str
    iterations: int
    kernel_evaluations: int
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    work: dict[str, int] = field(default_factory=dict)
    info: dict[str, float | list[int]] = field(default_factory=dict)
    trace: list[tuple[float, float]] | None = None
    xi: float | None = None
    relaxed: float | None = None
    witness: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
    loss: str = "hinge"
    promise: str = "kkt"
    end: Start | None = None

    def decision_function(self, problem: Any, X: Any) -> npt.NDArray[np.float64]:
        """Return the decision values ``f(x)``, by the definition of ``bias``.

        Parameters
        ----------
        problem : Problem
            The problem that was solved, with n training examples.
        X : array_like, scipy sparse or Blocks, shape (m, d)
            Examples, real and finite; for a precomputed kernel their kernel values with the training
            examples, shape (m, n).

        Returns
        -------
        ndarray of float64, shape (m,)

        Raises
        ------
        ValueError
            If the solution has neither weights nor multipliers, or no weights and X is on a cluster; or if X
            has another number of columns, a mask, or a value that is not real or not finite.
        """
        from svmrepro.solvers.reference_kernels import kernel_product

        blocks = isinstance(X, Blocks)  # checked when they were made
        if not blocks and np.iscomplexobj(X):
            raise ValueError("X must be real")
        if np.ma.isMaskedArray(X):
            raise ValueError("X must not be masked")
        if sp.issparse(X):
            X = X.toarray() if problem.kernel.name == "precomputed" else sp.csr_array(X, dtype=np.float64)
        elif not blocks:
            X = np.asarray(X, dtype=np.float64)
        if len(X.shape) != 2 or X.shape[1] != problem.d:
            raise ValueError(f"X must have shape (m, {problem.d}), got {X.shape}")
        if not blocks and not np.isfinite(X.data if sp.issparse(X) else X).all():
            raise ValueError("X holds a value that is not finite")
        if self.weights is not None:
            return np.asarray(X @ self.weights).ravel() + self.bias
        if self.alpha is None:
            raise ValueError("this solution holds neither weights nor multipliers")
        if blocks:
            if X.elsewhere:
                raise ValueError("examples on a cluster need a solution with weights")
            return np.concatenate([self.decision_function(problem, part) for part in X.parts])
        coefficients = problem.y * self.alpha
        return kernel_product(problem.kernel, X, problem.X, coefficients) + self.bias
