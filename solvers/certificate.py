"""The judge: objectives, gap and KKT violations recomputed from the data alone.

It shares no arithmetic with the solvers: plain numpy on the problem's own ``X``, in double
precision, kernels written out again. It is neither timed nor fast.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import GAP, HINGE, KKT, PAIRS, SQUARED_HINGE
from svmrepro.solvers.solution import Solution

_BLOCK_BYTES = 64 * 2**20
_FEW = 64  # examples whose pairs are taken one by one


@dataclass(frozen=True)
class Certificate:
    """What an independent look at a solution finds.

    With ``g_i = sum_j y_j alpha_j k(x_j, x_i)`` and ``f_i = g_i + bias``, where there are multipliers, and
    ``f = X w + bias``, where there are none:

    Attributes
    ----------
    dual : float
        ``sum_i alpha_i - 1/2 sum_i y_i alpha_i g_i``, to be maximised; nan without multipliers. Of squared
        hinges ``- 1/(2 C) sum_i alpha_i^2`` is added; the multipliers are ``C max(0, 1 - y_i f_i)`` where
        the solution brings none.
    primal : float
        ``1/2 sum_i y_i alpha_i g_i + C sum_i max(0, 1 - y_i f_i)``. (For a kernel that is not
        positive definite it is no bound.) With weights alone ``1/2 w.w`` comes first; of squared hinges
        ``C/2 sum_i max(0, 1 - y_i f_i)^2`` second; of pairs n C times the mean of
        ``max(0, 1 - f_i + f_j)`` over the pairs with y_i > y_j.
    gap : float
        ``primal - dual``; of a cutting plane ``primal - relaxed``.
    max_violation : float
        Largest violation, at ``bias``, of ``y_i f_i >= 1`` where alpha_i < C and of
        ``y_i f_i <= 1`` where alpha_i > 0; of squared hinges of ``y_i g_i >= 1 - alpha_i / C``, and of
        equality where alpha_i > 0; nan where the promise is another one than ``kkt``.
    pair_gap : float
        ``max over I_up - min over I_down`` of ``G = y - g``, at least 0, with I_up = {y_i alpha_i
        may grow}, I_down = {it may fall}; twice ``max_violation`` for a problem without bias; nan likewise.
    equality_residual : float
        ``|sum_i y_i alpha_i|``, 0 for a problem without bias.
    n_bound, n_nonbound : int or None
        Multipliers at C, and strictly between 0 and C; None where there are none.
    relaxed : float
        Of a cutting plane, what it says of its relaxed problem; else nan.
    promise : {"kkt", "gap", "relative gap"}
        What ``eps`` is to bound.
    """

    dual: float
    primal: float
    gap: float
    max_violation: float
    pair_gap: float
    equality_residual: float
    n_bound: int | None
    n_nonbound: int | None
    relaxed: float = math.nan
    promise: str = KKT

    def passes(self, eps: float, factor: float, n: int = 0, C: float = 0.0) -> bool:
        """Tell whether the result meets ``eps``.

        ``kkt``: the pair gap is at most ``factor * eps``, the violation at the solution's own bias at most
        ``eps`` (a threshold halfway has half the pair gap), and the equality constraint holds to
        1e-9 n C. ``gap``: the gap is at most ``eps n C``; ``relative gap``: at most eps times the primal
        objective; a lower bound above the primal objective is none. A hundredth of eps, and rounding of
        outputs that are sums of n C terms, is let pass.
        """
        if self.promise != KKT:
            allowed = eps * (n * C if self.promise == GAP else self.primal)
            slack = 0.01 * allowed + 1e-10 * abs(self.primal)
            over = math.isnan(self.dual) or self.dual - self.primal <= slack
            return bool(-slack <= self.gap <= allowed + slack and over)
        slack = 0.01 * eps + 1e-13 * n * C
        return bool(
            self.pair_gap <= factor * eps + slack
            and self.max_violation <= max(1.0, factor / 2) * eps + slack
            and self.equality_residual <= 1e-9 * n * C
        )

    def summary(self) -> str:
        """Say in a few words how far the result is from its promise."""
        if self.promise == KKT:
            return f"pair gap {self.pair_gap:.3g}, violation {self.max_violation:.3g}"
        return f"gap {self.gap:.3g}, primal objective {self.primal:.6g}"


def certify(problem: Problem, solution: Solution, gram: npt.NDArray[np.float64] | None = None) -> Certificate:
    """Judge a solution.

    Parameters
    ----------
    problem : Problem
        The problem, of n examples.
    solution : Solution
        With multipliers ``alpha``, shape (n,), or, where its promise is a gap, with ``weights``; then
        multipliers, if there are any, are judged too.
    gram : ndarray of float64, shape (n, n), optional
        The problem's :func:`~svmrepro.solvers.gram_matrix`, for who judges several solutions of the same
        examples.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If the solution has not what its promise needs, weights that are not finite, or a multiplier
        outside [0, C]; or if the labels are ranks although its loss is another one than ``pairs``.
    """
    if solution.loss != PAIRS and not problem.binary:
        raise ValueError(f"certify: the loss {solution.loss!r} needs labels -1 and +1 only")
    if solution.promise != KKT:
        return _certify_gap(problem, solution)
    if solution.loss == SQUARED_HINGE:
        return _certify_squared(problem, solution)
    return _certify_kkt(problem, solution, gram)


def _certify_kkt(problem: Problem, solution: Solution, gram: npt.NDArray[np.float64] | None) -> Certificate:
    """Judge multipliers by the conditions of Karush, Kuhn and Tucker."""
    alpha, y, C = solution.alpha, problem.y, problem.C
    if alpha is None:
        raise ValueError("certify needs alpha; this solution has none")
    _check_multipliers(alpha, y.size, C)
    signed = y * alpha
    if gram is not None:
        g = gram @ signed
    else:
        support = np.flatnonzero(alpha)
        g = kernel_product(problem.kernel, problem.X, problem.X[support], signed[support])
    f = g + solution.bias
    quadratic = float(signed @ g)
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


def _certify_gap(problem: Problem, solution: Solution) -> Certificate:
    """Judge weights by the gap between the primal objective and a lower bound."""
    w, alpha, loss = solution.weights, solution.alpha, solution.loss
    if w is None:
        raise ValueError("certify needs weights; this solution has none")
    if w.shape != (problem.d,) or not np.isfinite(w).all():
        raise ValueError(f"weights must be {problem.d} finite numbers")
    f = np.asarray(problem.X @ w).ravel() + solution.bias
    C, top = problem.C, problem.C
    if loss == PAIRS:
        total, m = pair_loss(problem.y, f)
        top = problem.n * C / m
        risk = top * total
    else:
        slack = np.maximum(0.0, 1.0 - problem.y * f)
        risk = C * float(slack.sum()) if loss == HINGE else 0.5 * C * float(slack @ slack)
        if loss == SQUARED_HINGE:
            alpha, top = C * slack if alpha is None else alpha, math.inf
    primal = 0.5 * float(w @ w) + risk
    dual = math.nan
    if alpha is not None:
        _check_multipliers(alpha, m if loss == PAIRS else problem.n, top)
        dual = _dual_of(problem, alpha, loss)
    relaxed = math.nan if solution.relaxed is None else solution.relaxed
    return Certificate(
        dual=dual,
        primal=primal,
        gap=primal - (dual if solution.relaxed is None else relaxed),
        max_violation=math.nan,
        pair_gap=math.nan,
        equality_residual=0.0,
        n_bound=None if alpha is None else int(np.count_nonzero(alpha == top)),
        n_nonbound=None if alpha is None else int(np.count_nonzero((alpha > 0) & (alpha < top))),
        relaxed=relaxed,
        promise=solution.promise,
    )


def _certify_squared(problem: Problem, solution: Solution) -> Certificate:
    """Judge weights under squared hinges by the gap, and their multipliers by their own conditions.

    With ``v = sum_i y_i alpha_i x_i``: ``y_i v.x_i = 1 - alpha_i / C`` where alpha_i > 0, else at least 1.
    """
    found = _certify_gap(problem, solution)
    y, C, w = problem.y, problem.C, solution.weights
    alpha = solution.alpha
    if alpha is None:
        alpha = C * np.maximum(0.0, 1.0 - y * np.asarray(problem.X @ w).ravel())
    margins = y * kernel_product(problem.kernel, problem.X, problem.X, y * alpha)
    wrong = 1.0 - alpha / C - margins
    worst = float(np.where(alpha > 0, np.abs(wrong), np.maximum(wrong, 0.0)).max())
    return dataclasses.replace(found, max_violation=worst, pair_gap=2.0 * worst)


def _dual_of(problem: Problem, alpha: npt.NDArray[np.float64], loss: str) -> float:
    """Return the dual objective of a linear problem without bias."""
    signed = pair_coefficients(problem.y, alpha) if loss == PAIRS else problem.y * alpha
    v = np.asarray(problem.X.T @ signed).ravel()
    penalty = float(alpha @ alpha) / problem.C if loss == SQUARED_HINGE else 0.0
    return float(alpha.sum()) - 0.5 * (float(v @ v) + penalty)


def _check_multipliers(alpha: npt.NDArray[np.float64], count: int, top: float) -> None:
    """Raise ValueError unless there are ``count`` finite multipliers in [0, top]."""
    if alpha.shape != (count,) or not np.isfinite(alpha).all() or (alpha < 0).any() or (alpha > top).any():
        raise ValueError(f"alpha must be {count} numbers in [0, {top:g}]")


def pair_loss(y: npt.NDArray[np.float64], f: npt.NDArray[np.float64]) -> tuple[float, int]:
    """Sum ``max(0, 1 - f_i + f_j)`` over the pairs with y_i > y_j.

    The ranks are halved again and again; the pairs of one half with the other are added up by sorting.

    Parameters
    ----------
    y, f : ndarray of float64, shape (n,)
        Ranks, and scores.

    Returns
    -------
    total : float
        The sum.
    m : int
        Number of pairs.
    """
    order = np.argsort(y, kind="stable")
    y, f = y[order], f[order]
    total, m = 0.0, 0
    todo = [(0, y.size)]
    while todo:
        first, last = todo.pop()
        if y[first] == y[last - 1]:
            continue
        if last - first <= _FEW:
            higher = y[first:last, None] > y[None, first:last]
            total += float((np.maximum(0.0, 1.0 - f[first:last, None] + f[None, first:last]) * higher).sum())
            m += int(np.count_nonzero(higher))
            continue
        starts = np.flatnonzero(np.diff(y[first:last])) + first + 1
        cut = int(starts[np.abs(starts - (first + last) // 2).argmin()])
        low, high = np.sort(f[first:cut]), f[cut:last]
        # Of a higher one, those lower ones count whose score is above its own less 1.
        from_here = np.searchsorted(low, high - 1.0, side="right")
        above = np.concatenate((np.cumsum(low[::-1])[::-1], [0.0]))
        total += float((above[from_here] + (low.size - from_here) * (1.0 - high)).sum())
        m += low.size * high.size
        todo += [(first, cut), (cut, last)]
    return total, m


def pair_coefficients(y: npt.NDArray[np.float64], alpha: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what each example is multiplied by in ``sum alpha_ij (x_i - x_j)``, shape (n,).

    Parameters
    ----------
    y : ndarray of float64, shape (n,)
        Ranks.
    alpha : ndarray of float64, shape (m,)
        A multiplier for each pair with y_i > y_j, in the order of i and then of j.
    """
    higher, lower = np.nonzero(y[:, None] > y[None, :])
    return np.bincount(higher, alpha, y.size) - np.bincount(lower, alpha, y.size)


def gram_matrix(problem: Problem) -> npt.NDArray[np.float64]:
    """Return ``k(x_i, x_j)`` for all pairs of a problem's examples, shape (n, n), 8 n^2 bytes."""
    gram = np.empty((problem.n, problem.n))
    for first, part in _kernel_blocks(problem.kernel, problem.X, problem.X):
        gram[first : first + len(part)] = part
    return gram


def kernel_product(
    kernel: Kernel, A: Any, B: Any, coefficients: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return ``sum_j coefficients_j k(a_i, b_j)`` for every row of A, shape (len(A),), in blocks."""
    if B.shape[0] == 0:
        return np.zeros(A.shape[0])
    if kernel.name == "linear":
        return np.asarray(A @ np.asarray(B.T @ coefficients).ravel()).ravel()
    result = np.empty(A.shape[0])
    for first, part in _kernel_blocks(kernel, A, B):
        result[first : first + len(part)] = part @ coefficients
    return result


def _kernel_blocks(kernel: Kernel, A: Any, B: Any) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    """Yield the first row of each block and ``k(a_i, b_j)`` for its rows and all rows of B."""
    dense_b = np.asarray(B.toarray() if sp.issparse(B) else B, dtype=np.float64)
    norms_b = np.einsum("ij,ij->i", dense_b, dense_b)
    rows = max(1, _BLOCK_BYTES // (8 * B.shape[0]))
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
        elif kernel.name == "polynomial":
            K = (kernel.a * K + kernel.c) ** kernel.degree
        yield first, K


def worth_verifying(problem: Problem, solution: Solution, eps: float) -> bool:
    """Tell whether a solution should be judged before it is handed out."""
    return False
