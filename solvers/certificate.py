"""The judge: objectives, gap and KKT violations recomputed from the data alone.

It shares no arithmetic with the solvers: plain numpy on the problem's own ``X``, in double
precision, kernels written out again. It is neither timed nor fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import Solution

_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Certificate:
    """What an independent look at a solution finds.

    With ``g_i = sum_j y_j alpha_j k(x_j, x_i)`` and ``f_i = g_i + bias``:

    Attributes
    ----------
    dual : float
        ``sum_i alpha_i - 1/2 sum_i y_i alpha_i g_i``, to be maximised.
    primal : float
        ``1/2 sum_i y_i alpha_i g_i + C sum_i max(0, 1 - y_i f_i)``. (For a kernel that is not
        positive definite it is no bound.)
    gap : float
        ``primal - dual``.
    max_violation : float
        Largest violation, at ``bias``, of ``y_i f_i >= 1`` where alpha_i < C and of
        ``y_i f_i <= 1`` where alpha_i > 0.
    pair_gap : float
        ``max over I_up - min over I_down`` of ``G = y - g``, at least 0, with I_up = {y_i alpha_i
        may grow}, I_down = {it may fall}; twice ``max_violation`` for a problem without bias.
    equality_residual : float
        ``|sum_i y_i alpha_i|``, 0 for a problem without bias.
    n_bound, n_nonbound : int
        Multipliers at C, and strictly between 0 and C.
    """

    dual: float
    primal: float
    gap: float
    max_violation: float
    pair_gap: float
    equality_residual: float
    n_bound: int
    n_nonbound: int

    def passes(self, eps: float, factor: float, n: int, C: float) -> bool:
        """Tell whether the result meets ``eps``.

        The pair gap is at most ``factor * eps``, the violation at the solution's own bias at most
        ``eps`` (a threshold halfway has half the pair gap), and the equality constraint holds to
        1e-9 n C. A hundredth of eps, and rounding of outputs that are sums of n C terms, is let pass.
        """
        slack = 0.01 * eps + 1e-13 * n * C
        return bool(
            self.pair_gap <= factor * eps + slack
            and self.max_violation <= max(1.0, factor / 2) * eps + slack
            and self.equality_residual <= 1e-9 * n * C
        )


def certify(problem: Problem, solution: Solution) -> Certificate:
    """Judge a solution.

    Parameters
    ----------
    problem : Problem
        The problem, of n examples.
    solution : Solution
        With multipliers ``alpha``, shape (n,).

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the solution has no multipliers, or one outside [0, C].
    """
    alpha, y, C = solution.alpha, problem.y, problem.C
    if alpha is None:
        raise ValueError("certify needs alpha; this solution has none")
    if alpha.shape != y.shape or not np.isfinite(alpha).all() or (alpha < 0).any() or (alpha > C).any():
        raise ValueError(f"alpha must be {y.size} numbers in [0, {C:g}]")
    support = np.flatnonzero(alpha)
    coefficients = (y * alpha)[support]
    g = kernel_product(problem.kernel, problem.X, problem.X[support], coefficients)
    f = g + solution.bias
    quadratic = float(coefficients @ g[support])
    dual = float(alpha.sum()) - 0.5 * quadratic
    primal = 0.5 * quadratic + C * float(np.maximum(0.0, 1.0 - y * f).sum())
    below = np.where(alpha < C, 1.0 - y * f, 0.0)
    above = np.where(alpha > 0, y * f - 1.0, 0.0)
    worst = float(max(below.max(), above.max(), 0.0))
    G = y - g
    up = np.where(y > 0, alpha < C, alpha > 0)
    down = np.where(y > 0, alpha > 0, alpha < C)
    if problem.bias:
        pair_gap = float(max(G[up].max() - G[down].min(), 0.0)) if up.any() and down.any() else 0.0
    else:
        pair_gap = 2.0 * worst
    return Certificate(
        dual=dual,
        primal=primal,
        gap=primal - dual,
        max_violation=worst,
        pair_gap=pair_gap,
        equality_residual=abs(float(y @ alpha)) if problem.bias else 0.0,
        n_bound=int(np.count_nonzero(alpha == C)),
        n_nonbound=int(np.count_nonzero((alpha > 0) & (alpha < C))),
    )


def kernel_product(
    kernel: Kernel, A: Any, B: Any, coefficients: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return ``sum_j coefficients_j k(a_i, b_j)`` for every row of A, shape (len(A),), in blocks."""
    if B.shape[0] == 0:
        return np.zeros(A.shape[0])
    if kernel.name == "linear":
        return np.asarray(A @ np.asarray(B.T @ coefficients).ravel()).ravel()
    dense_b = np.asarray(B.toarray() if sp.issparse(B) else B, dtype=np.float64)
    norms_b = np.einsum("ij,ij->i", dense_b, dense_b)
    rows = max(1, _BLOCK_BYTES // (8 * B.shape[0]))
    result = np.empty(A.shape[0])
    for first in range(0, A.shape[0], rows):
        part = A[first : first + rows]
        dense_a = np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)
        K = dense_a @ dense_b.T
        if kernel.name == "gaussian":
            K *= -2.0
            K += np.einsum("ij,ij->i", dense_a, dense_a)[:, None]
            K += norms_b
            np.maximum(K, 0.0, out=K)
            K *= -kernel.gamma
            np.exp(K, out=K)
        else:
            K = (kernel.a * K + kernel.c) ** kernel.degree
        result[first : first + rows] = K @ coefficients
    return result
