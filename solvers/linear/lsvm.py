r"""The Lagrangian SVM (Mangasarian and Musicant 2001): the squared hinge by a fixed-point iteration.

Linear; squared slacks, weighted as in the paper,

    min 1/2 w.w + 1/2 sum_i nu_i max(0, 1 - y_i w.x_i)^2,     nu_i = the bound C_i of the example,

where the paper has a single nu. The paper also has a threshold, whose square is added to w.w. There is none
here, because the methods it is compared with have none; a constant feature is equivalent. With H the rows
``y_i x_i``, N the diagonal matrix of the nu_i and Q = N^-1 + H H', the dual
``min over u >= 0 of 1/2 u'Q u - sum u`` is solved by

    u <- Q^-1 (e + ((Q u - e) - A u)+),    A = a N^-1,  0 < a < 2,

which converges linearly from u = Q^-1 e. (In the variables ``N^-1/2 u`` the matrix is
``I + N^1/2 H H' N^1/2``, whose eigenvalues are at least 1, and the step is a: the paper's proof applies
unchanged.) The inverse is obtained from that of the d x d matrix ``M = I + H'N H`` (Sherman, Morrison,
Woodbury: ``Q^-1 z = N (z - H M^-1 H'N z)``), computed once in O(n d^2). As in the authors' program a = 1.9
(their a is 1.9 / nu). In the code M and N are divided by nu, the largest of the nu_i, so that
equal weights drop out.

With s = M^-1 H'N z, the iterate is ``u = N (z - H s)``; it follows that ``H'u = s``, the weights, and
``Q u = z``. So an iteration reads the examples twice, for H'N z and H s, where the paper's listing reads them
four times; the iterates are equal up to rounding.

Stopping. The authors stop when u changes by less than 1e-5. Here the run stops when the weights w = s meet
``eps``: with v the weights of the multipliers ``alpha_i = nu_i max(0, 1 - y_i w.x_i)``, no example may
violate its condition ``y_i v.x_i >= 1 - alpha_i / nu_i`` by more than eps. This test costs two more passes.
It is made only when the iteration's own residual, ``max_i |min(u_i / nu_i, (Q u - e)_i)|``, is below eps.

If the matrix is not positive definite in double precision, the run ends as ``stalled``, at w = 0. It needs
memory for d x d doubles; above the limit (512 MB by default) it ends at once with status ``memory_limit``.
Convergence is slow if nu times the largest eigenvalue of H'H is large; the run may then reach a time limit.
Once the residual is at most eps, 20 stopping tests without progress end it as ``stalled``.

Symbols:

============  ===========================================================================
paper         here
============  ===========================================================================
nu            ``C``, the largest of the nu_i; ``shares`` are nu_i / nu
H             rows ``y_i x_i``, never formed
I / nu + H'H  ``matrix``, upper triangle; its Cholesky factor once all examples are added
u             ``C (z - h)``, times the shares
Q u           ``z``
alpha nu      ``_STEP``
w = H'u       ``weights``; ``h`` is H w
============  ===========================================================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack
from svmrepro.solvers.passes.counted_products import CountedProducts, prepare
from svmrepro.solvers.passes.sliced_passes import Weights
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import MEMORY_LIMIT, OPTIMAL, STALLED, Solution, Vector

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_OWN_LIMIT = 512 * 2**20
_BLOCK = 1024  # rows added to the matrix, or columns of it updated, at once
_SLICE = 2**31  # multiplications in a slice of this work
_ROUNDING = 2.0**-53
_FALL = 0.99  # a violation or residual up to this share of the smallest before is progress
_FUTILE = 20  # looks without progress before the run has stalled
_STEP = 1.9  # converges if it lies between 0 and 2
_LOOK_EVERY = 10  # iterations between stopping tests once the residual is small
_DIVERGED = 1e100  # a multiplier, far below overflow of the objective


class LagrangianRun:
    """A run in progress, at first without its matrix; see the table of symbols.

    ``filled`` counts the examples added to the matrix, ``factored`` the columns of its factor.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps, self.given = problem, eps, options.get("start")
        self.products = CountedProducts(problem)
        self.radius = math.sqrt(float(problem.prepare().norms.max()))
        weights = Weights(problem)
        self.C, self.shares = weights.C, None if weights.same else weights.shares
        n, d = problem.n, problem.d
        self.too_large = 8 * d * d > min(options["memory_limit_bytes"], _OWN_LIMIT)
        self.iterations = self.hessian_entries = self.looks = self.filled = 0
        self.factored = self.look_at = self.futile = 0
        self.least = math.inf, math.inf  # violation and residual of the looks
        self.begun = False
        self.weights = np.zeros(d)
        self.z, self.h = np.ones(n), np.zeros(n)
        if not self.too_large:
            self.matrix = np.zeros((d, d), order="F")
            self.matrix[np.diag_indices(d)] = 1.0 / self.C

    def weighted(self, values: Vector) -> Vector:
        """Return ``N values / nu``, shape (n,)."""
        return values if self.shares is None else self.shares * values

    def multipliers(self) -> Vector:
        """Return ``alpha_i = nu_i max(0, 1 - y_i w.x_i)``, shape (n,)."""
        return self.C * self.weighted(np.maximum(0.0, 1.0 - self.h))


start = LagrangianRun


def advance(run: LagrangianRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    if run.too_large:
        return MEMORY_LIMIT
    stop_at = run.products.entries + run.hessian_entries + work
    while run.products.entries + run.hessian_entries < stop_at:
        if run.filled < run.problem.n:
            _fill(run)
        elif run.factored < run.problem.d:
            if not _factor(run):
                return STALLED
        elif not run.begun:
            _begin(run)
        elif run.iterations >= step_limit:
            return None
        else:
            status = _iterate(run)
            if status is not None:
                return status
    return None


def objective(run: LagrangianRun) -> float:
    """Return the dual objective of the multipliers for the weights; each call costs a pass."""
    problem = run.problem
    slack = np.maximum(0.0, 1.0 - run.h)
    weighted = run.weighted(slack)
    v = run.C * np.asarray(problem.X.T @ (problem.y * weighted)).ravel()
    return run.C * float(weighted.sum()) - 0.5 * float(v @ v) - 0.5 * run.C * float(slack @ weighted)


def steps(run: LagrangianRun) -> int:
    """Return the number of iterations so far."""
    return run.iterations


def finish(run: LagrangianRun, status: str) -> Solution:
    """Return the weights and their multipliers ``C_i max(0, 1 - y_i w.x_i)``."""
    products = run.products
    return Solution(
        alpha=run.multipliers(),
        weights=run.weights,
        bias=0.0,
        status=status,
        iterations=run.iterations,
        kernel_evaluations=products.examples,
        work={"nonzeros": products.entries, "hessian_entries": run.hessian_entries},
        info={"looks": float(run.looks), "objective": objective(run)},
    )


def _fill(run: LagrangianRun) -> None:
    """Add the outer products of the next examples to the matrix (y_i^2 = 1)."""
    first, d = run.filled, run.problem.d
    part = run.problem.X[first : first + _piece(d, _BLOCK)]
    rows = part.toarray() if sp.issparse(part) else part
    if run.shares is not None:
        rows = rows * np.sqrt(run.shares[first : first + len(rows)])[:, np.newaxis]
    if d:  # BLAS rejects a matrix without columns
        run.matrix = blas.dsyrk(1.0, rows.T, beta=1.0, c=run.matrix, overwrite_c=True)
    run.hessian_entries += len(rows) * d * (d + 1) // 2
    run.filled += len(rows)


def _factor(run: LagrangianRun) -> bool:
    """Factor some more columns of the matrix; return False if it is not positive definite."""
    matrix, first, d = run.matrix, run.factored, run.problem.d
    last = min(first + _piece(d, d), d)
    block, wrong = lapack.dpotrf(matrix[first:last, first:last])
    if wrong:
        return False
    matrix[first:last, first:last] = block
    if last < d:
        right = blas.dtrsm(1.0, block, matrix[first:last, last:], trans_a=1)
        matrix[first:last, last:] = right
        for begin in range(last, d, _BLOCK):  # skips most of what is below the diagonal
            end = min(begin + _BLOCK, d)
            matrix[last:end, begin:end] -= right[:, : end - last].T @ right[:, begin - last : end - last]
    run.hessian_entries += (d - first) ** 3 // 3 - (d - last) ** 3 // 3
    run.factored = last
    return True


def _piece(d: int, most: int) -> int:
    """Return how many rows of d numbers to process at once, to take about 0.05 s."""
    return min(max(_SLICE // max(d * d, 1), 16), most)


def _begin(run: LagrangianRun) -> None:
    """Compute the first iterate: ``u = Q^-1 e``, or the given start, with z = Q u."""
    run.begun = True
    if run.given is None:
        _solve(run)
        return
    y, everyone = run.problem.y, run.products.everyone
    run.weights = run.products.combination(y * run.given, everyone)
    run.h = y * run.products.outputs(run.weights, everyone)
    run.z = run.given / run.problem.bounds + run.h


def _solve(run: LagrangianRun) -> None:
    """Update s and H s for the current z."""
    y, everyone = run.problem.y, run.products.everyone
    right = run.products.combination(y * run.weighted(run.z), everyone)
    if run.problem.d:
        run.weights, _ = lapack.dpotrs(run.matrix, right)
    run.hessian_entries += 2 * run.problem.d**2
    run.h = y * run.products.outputs(run.weights, everyone)


def _iterate(run: LagrangianRun) -> str | None:
    """Run one iteration; return a status when the run has ended."""
    u = run.z - run.h  # N^-1 u
    residual = float(np.abs(np.minimum(u, run.z - 1.0)).max())
    if residual <= run.eps and run.iterations >= run.look_at:
        run.look_at = run.iterations + _LOOK_EVERY
        run.looks += 1
        violation = _violation(run)
        if violation <= run.eps:
            return OPTIMAL
        falls = violation <= _FALL * run.least[0] or residual <= _FALL * run.least[1]
        run.futile = 0 if falls else run.futile + 1
        run.least = min(violation, run.least[0]), min(residual, run.least[1])
        if run.futile >= _FUTILE:
            return STALLED
    z = 1.0 + np.maximum(run.z - 1.0 - _STEP * u, 0.0)
    if np.array_equal(z, run.z):
        # A fixed point, at least in floating-point arithmetic.
        return OPTIMAL if _violation(run) <= run.eps else STALLED
    last = run.z, run.weights, run.h
    run.z = z
    run.iterations += 1
    _solve(run)
    if not run.C * float(np.abs(run.h).max()) <= _DIVERGED:  # nor if it is nan
        run.z, run.weights, run.h = last
        return STALLED
    return None


def _violation(run: LagrangianRun) -> float:
    """Return the largest violation of a condition by the multipliers for s, rounding included.

    Each output has a rounding error of one unit in the last place of its largest product. The resulting
    errors of the multipliers add up in the weights that they make.
    """
    problem, everyone = run.problem, run.products.everyone
    wrong = run.weights - run.products.combination(problem.y * run.multipliers(), everyone)
    weight = run.C * float(np.linalg.norm(run.weighted(np.where(run.h < 1.0, 1.0, 0.0))))
    off = _ROUNDING * (1.0 + run.radius * float(np.linalg.norm(run.weights)))
    return float(np.abs(run.products.outputs(wrong, everyone)).max()) + run.radius**2 * weight * off
