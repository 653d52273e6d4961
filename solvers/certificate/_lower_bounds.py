r"""Lower bounds for linear problems: dual points, and their objectives computed from the data.

Weights w are judged by the gap between their primal objective and a lower bound on it: the dual objective of
feasible multipliers. The multipliers come, in this order of preference, from

1. the solution's own multipliers;
2. its *witness*: the cutting planes ``(a_c, w_c)`` of a solver such as SVM-perf. A plane stands for the
   examples that violate their margin at w_c, so it is recomputed from the data:
   ``alpha_i = sum_c a_c (C_i / total) [y_i w_c.x_i < 1]`` lies in ``[0, C_i]`` if ``a >= 0`` and
   ``sum a <= total`` (for pairs likewise, with total over their number for C_i);
3. a search from w: coordinate descent on the dual; for pairs, cutting planes.

The origin of the multipliers does not matter. Their feasibility is enforced and their dual objective computed
here, with its rounding subtracted, so a lower bound is never too high. ``optimality._certify_gap`` subtracts
it from the primal objective.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.certificate._pairs import PairPlane, pair_coefficients, pair_plane
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.reference_kernels import UNIT, Sum, column_sizes, exact_sum, growth, weighted_sum
from svmrepro.solvers.registry import HINGE, SQUARED_HINGE

Vector = npt.NDArray[np.float64]

_SEARCH_ENTRIES = 2e8  # stored entries that coordinate descent may read: about a second
_SEARCH_SWEEPS = 10_000
_SEARCH_PLANES = 25
_ROUNDED = 1e-12  # share of its bound that rounding may take from a multiplier at it


class Bound(NamedTuple):
    """The objective of a dual point."""

    value: float
    error: float  # bound on the error of the value
    # Multipliers at their bound, and strictly inside, if there is one per example or pair.
    n_bound: int | None = None
    n_nonbound: int | None = None

    @classmethod
    def of(cls, linear: float, v: Sum, penalty: float = 0.0, wrong: float = 0.0) -> Bound:
        """Return ``linear - (v.v + penalty) / 2``, where ``linear`` may be wrong by so much."""
        square = float(v.value @ v.value)
        error = 2.0 * float(np.abs(v.value) @ v.error) + float(v.error @ v.error)
        error += (v.value.size + 4) * UNIT * square + 4.0 * UNIT * (abs(linear) + penalty)
        return cls(linear - 0.5 * (square + penalty), error + wrong)

    def counted(self, alpha: Vector, top: Any) -> Bound:
        """Return the bound with the numbers of multipliers at ``top``, but for rounding, and below it."""
        at_top = alpha >= top * (1.0 - _ROUNDED)
        inside = np.count_nonzero((alpha > 0) & ~at_top)
        return self._replace(n_bound=int(np.count_nonzero(at_top)), n_nonbound=int(inside))


def of_multipliers(problem: Problem, alpha: Vector, loss: str) -> Bound:
    """Return the dual objective of one multiplier per example."""
    v = weighted_sum(problem.X, problem.y * alpha)
    penalty = exact_sum(alpha * (alpha / problem.bounds)) if loss == SQUARED_HINGE else 0.0
    bound = Bound.of(exact_sum(alpha), v, penalty)
    return bound.counted(alpha, problem.bounds if loss == HINGE else np.inf)


def of_witness(problem: Problem, witness: tuple[Any, Any], loss: str) -> Bound:
    """Return the dual objective of planes ``(a_c, w_c)`` recomputed at their points."""
    a, points = np.asarray(witness[0], dtype=np.float64), np.asarray(witness[1], dtype=np.float64)
    if a.ndim != 1 or points.shape != (a.size, problem.d):
        raise ValueError(f"witness must have shapes (k,) and (k, {problem.d}), got {a.shape}, {points.shape}")
    if not (np.isfinite(a).all() and np.isfinite(points).all() and (a >= 0).all()):
        raise ValueError("witness must hold finite numbers, and multipliers that are not negative")
    over = exact_sum(a) / problem.total
    if over > 1.0:
        a = a / (over * (1.0 + 4.0 * UNIT * a.size))
    if loss == HINGE:
        alpha = np.zeros(problem.n)
        for weight, w in zip(a, points, strict=True):
            alpha[problem.y * np.asarray(problem.X @ w).ravel() < 1.0] += weight
        alpha = np.minimum(alpha * (problem.bounds / problem.total), problem.bounds)
        return of_multipliers(problem, alpha, loss)
    planes = [pair_plane(problem.y, np.asarray(problem.X @ w).ravel()) for w in points]
    return _of_pair_planes(problem, a, planes)


def of_search(problem: Problem, w: Vector, loss: str) -> Bound:
    """Return the best dual objective that a search from the weights finds in a few seconds."""
    if loss != HINGE:
        return _pair_search(problem, w)
    if problem.blocks:
        raise ValueError("weights alone cannot be judged on blocks: give multipliers or a witness")
    margins = problem.y * np.asarray(problem.X @ w).ravel()
    alpha = np.where(margins < 1.0, problem.bounds, 0.0)
    # A solver's code may be used here: only the objective counts, and it is computed below.
    from svmrepro.solvers.linear.dual_search import descend

    entries = problem.X.nnz if hasattr(problem.X, "nnz") else problem.n * problem.d
    most = min(_SEARCH_ENTRIES, _SEARCH_SWEEPS * entries)
    found = descend(problem, alpha, np.arange(problem.n), 1e-6, most)
    return of_multipliers(problem, np.clip(found, 0.0, problem.bounds), loss)


def of_pairs(problem: Problem, alpha: Vector) -> Bound:
    """Return the dual objective of one multiplier per pair, in the order of :func:`pair_coefficients`."""
    coefficients, sizes = pair_coefficients(problem.y, alpha)
    v = _sum_of(problem.X, coefficients, growth(problem.n + 2) * sizes)
    return Bound.of(exact_sum(alpha), v).counted(alpha, problem.total / max(alpha.size, 1))


def _of_pair_planes(problem: Problem, a: Vector, planes: list[PairPlane]) -> Bound:
    """Return the dual objective of planes over pairs, whose multipliers must be feasible."""
    coefficients, sizes, linear = np.zeros(problem.n), np.zeros(problem.n), 0.0
    for weight, plane in zip(a, planes, strict=True):
        coefficients += (weight / plane.pairs) * plane.coefficients
        sizes += (weight / plane.pairs) * np.abs(plane.coefficients)
        linear += (weight / plane.pairs) * plane.violated
    rounding = growth(len(planes) + 3)
    return Bound.of(linear, _sum_of(problem.X, coefficients, rounding * sizes), wrong=rounding * linear)


def _sum_of(X: Any, c: Vector, wrong: Vector) -> Sum:
    """Return ``sum_j c_j x_j`` for coefficients that may be wrong by so much, also where they are 0."""
    v = weighted_sum(X, c)
    if getattr(X, "elsewhere", False):  # of which only an estimate is known
        return v
    return Sum(v.value, v.error + column_sizes(X, wrong))


def _pair_search(problem: Problem, w: Vector) -> Bound:
    """Return the best bound of cutting planes, taken at the optimum of the last model or halfway to it."""
    planes, normals = [], []
    best, point = Bound(0.0, 0.0), w
    for _ in range(_SEARCH_PLANES):
        plane = pair_plane(problem.y, np.asarray(problem.X @ point).ravel())
        planes.append(plane)
        normals.append(np.asarray(problem.X.T @ (plane.coefficients / plane.pairs)).ravel())
        offsets = np.array([one.violated / one.pairs for one in planes])
        stacked = np.array(normals)
        a = _best_weights(stacked @ stacked.T, offsets, problem.total)
        found = _of_pair_planes(problem, a, planes)
        if found.value - found.error > best.value - best.error:
            best = found
        model = a @ stacked
        # Planes between the judged weights and the model's optimum are the most informative.
        point = model if len(planes) % 2 else w + 0.5 * (model - w)
    return best


def _best_weights(K: npt.NDArray[np.float64], b: Vector, total: float) -> Vector:
    """Return an approximate maximiser of ``b.a - a.K a / 2`` over ``a >= 0, sum a <= total``."""
    from scipy.optimize import minimize  # imported here to keep `import svmrepro.solvers` light

    k = b.size
    scale = max(total * float(np.abs(K).max(initial=0.0)), float(np.abs(b).max(initial=0.0)), 1e-300)
    found = minimize(
        lambda t: (0.5 * total * (t @ K @ t) - b @ t) / scale,
        np.full(k, 0.5 / k),
        jac=lambda t: (total * (K @ t) - b) / scale,
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "ineq", "fun": lambda t: 1.0 - t.sum(), "jac": lambda t: -np.ones(k)},
        method="SLSQP",
        options={"maxiter": 100, "ftol": 1e-10},
    )
    t = np.clip(np.nan_to_num(found.x), 0.0, 1.0)
    return np.asarray(total * t / max(float(t.sum()), 1.0))
