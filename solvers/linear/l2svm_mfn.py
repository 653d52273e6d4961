r"""Modified finite Newton for the squared hinge: L2-SVM-MFN (Keerthi and DeCoste 2005).

Linear, no bias; in the paper's notation, where C stands for 1 / lambda,

    min f(w) = 1/2 w.w + 1/2 sum_i C_i max(0, 1 - y_i w.x_i)^2

(C_i is the bound of the example, a single C in the paper; Joachims 2006 quotes it divided by his n.) f is
smooth and piecewise quadratic. With I(w) = {i : y_i w.x_i < 1}, an iteration

1. solves the regularised least squares problem of the active examples,
   ``min 1/2 v.v + 1/2 sum over I(w) of C_i (y_i - v.x_i)^2``, from v = w by conjugate gradient on the normal
   equations (CGLS: one product with X_I and one with its transpose per step), and
2. steps from w towards v to the exact minimum of f on the line. The derivative along the line is piecewise
   linear and increasing, with a break where an example enters or leaves I; the breaks are sorted and scanned.

The paper's heuristics for the start are kept. The first least squares problem gets at most ten CG steps, and
until the active set stops changing all problems are solved loosely; after that, to the precision of the
stopping test. Loosely means here that the gradient falls to a hundredth. The paper compares the gradient with
the residual instead; if examples are separable and C is large, every first step passes that test, and the
iteration degenerates into endless steepest descent.

Stopping. The error of w is measured by the gradient ``g = w - sum over I of C_i (1 - y_i w.x_i) y_i x_i``:
the multipliers ``alpha_i = C_i max(0, 1 - y_i w.x_i)`` are feasible for the dual

    max sum_i alpha_i - 1/2 |sum_i alpha_i y_i x_i|^2 - 1/2 sum_i alpha_i^2 / C_i,   alpha >= 0,

with a duality gap of exactly ``g.g / 2``, and with ``v = sum_i alpha_i y_i x_i`` no example violates its
condition ``y_i v.x_i >= 1 - alpha_i / C_i`` by more than ``|g.x_i|``. The run stops when
``|g| max_i |x_i| <= eps``, rounding errors included, so eps has the same meaning as for the other solvers.
The paper's own test (no example on the wrong side by more than 1e-6 after a least squares solve of that
precision) gives no such bound.

Steps are counted in CG steps. Near the solution for very large C, rounding keeps g from decreasing further;
the run is then ``stalled``. f is flat there, but steps that do not decrease f can still shorten g, and the
gap with it, a thousandfold. So from the first such step on, the least squares problems are solved as
accurately as possible, a step counts as progress if it halves g, and a step that improves neither is undone.
CG that continues below the level of rounding moves away from the solution by orders of magnitude: when its
steps run out, the best iterate is used.

Symbols:

=============  ====================================================
paper          here
=============  ====================================================
C, 1 / lambda  ``C``, the largest C_i; ``shares`` are C_i / C
w, f(w)        ``w``, ``_primal``
y_i (w . x_i)  ``y * outputs``
I(w)           ``active``
gradient of f  ``gradient``
w bar          ``inner.v``, the least squares solution
delta*         ``t``, the minimiser on the line
z, s, p, q     ``inner.z``, ``inner.r``, ``inner.p``, ``q`` of CGLS
=============  ====================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.passes.counted_products import CountedProducts, prepare
from svmrepro.solvers.passes.sliced_passes import Weights
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution, Vector

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_LOOSE = 1e-2  # reduction of the gradient by CG while the active set still changes
_FIRST_STEPS = 10
_SAFETY = 0.5  # CG continues to this share of the stopping tolerance
_WHOLE = 1e-9  # a step length this close to 1 is taken as 1
_LONG = 2.0  # outputs are recomputed after a step longer than this
_FLAT = 1e-15  # a relative decrease of f below this is rounding
_ROUNDING = 2.0**-53
_FUTILE = 3  # consecutive least squares problems without a decrease of f or g before stalling


class FiniteNewtonRun:
    """A run in progress, at first at w = 0 or at the weights of given multipliers; symbols as above."""

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem = problem
        self.products = CountedProducts(problem)
        weights = Weights(problem)
        self.C, self.shares = weights.C, None if weights.same else weights.shares
        self.radius = float(np.sqrt(problem.prepare().norms.max()))
        self.bar = eps / max(self.radius, 1e-300)
        self.cg_steps = self.newton_steps = self.futile = 0
        self.loose = True
        self.inner: LeastSquares | None = None  # in progress
        w, outputs = np.zeros(problem.d), np.zeros(problem.n)
        if (given := options["start"]) is not None:
            w = self.products.combination(problem.y * given, self.products.everyone)
            outputs = self.products.outputs(w, self.products.everyone)
        self.w: Vector
        self.outputs: Vector
        self.active: npt.NDArray[np.uint32]
        self.gradient: Vector
        _place(self, w, outputs)

    def weighted(self, values: Vector, members: npt.NDArray[np.uint32]) -> Vector:
        """Return ``C_i / C`` times the values of the members."""
        return values if self.shares is None else self.shares[members] * values


class LeastSquares:
    """CGLS on ``min 1/2 v.v / C + 1/2 sum over the active of C_i / C (y_i - v.x_i)^2``, from the run's w.

    ``z`` holds ``y_i - v.x_i`` of the active examples, ``r`` minus the gradient.
    """

    def __init__(self, run: FiniteNewtonRun) -> None:
        self.v = run.w.copy()
        self.z = run.problem.y[run.active] - run.outputs[run.active]
        self.r = -run.gradient / run.C
        self.p = self.r.copy()
        self.square = self.square_at_start = float(self.r @ self.r)
        self.steps = 0
        self.best, self.best_v, self.best_at = self.square, self.v.copy(), 0

    def step(self, run: FiniteNewtonRun) -> None:
        """Take one CG step."""
        C = run.C
        q = run.products.outputs(self.p, run.active)
        curvature = float(self.p @ self.p) / C + float(q @ run.weighted(q, run.active))
        if curvature == 0.0:  # C is huge and no example is active: v = 0 is the minimum
            self.v[:] = self.best_v[:] = self.r[:] = 0.0
            self.square = self.best = 0.0
            return
        length = self.square / curvature
        self.v += length * self.p
        self.z -= length * q
        # Computed from z, not by recurrence, so that it stays consistent with z over many steps.
        self.r = run.products.combination(run.weighted(self.z, run.active), run.active) - self.v / C
        before, self.square = self.square, float(self.r @ self.r)
        self.p = self.r + (self.square / before) * self.p
        self.steps += 1
        run.cg_steps += 1
        if self.square < self.best:
            self.best, self.best_v, self.best_at = self.square, self.v.copy(), self.steps

    def done(self, run: FiniteNewtonRun) -> bool:
        """Tell whether the normal equations are solved accurately enough."""
        needed = _SAFETY * run.bar / run.C
        if self.square <= needed * needed or self.square == 0.0:
            return True
        if self.steps == 0:
            return False
        if run.newton_steps == 0 and self.steps >= _FIRST_STEPS:
            return True
        # In exact arithmetic CG ends after at most this many steps; rounding can multiply that.
        most = min(run.active.size, run.problem.d)
        if self.steps >= 10 * most + 100 or self.steps - self.best_at > 2 * most + 100:
            self.v = self.best_v
            return True
        return run.loose and self.square <= _LOOSE * _LOOSE * self.square_at_start


start = FiniteNewtonRun


def advance(run: FiniteNewtonRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    stop_at = run.products.entries + work
    while run.products.entries < stop_at and run.cg_steps < step_limit:
        if run.inner is None:
            length, rounding = float(np.linalg.norm(run.gradient)), _gradient_error(run)
            if length + rounding <= run.bar:
                return OPTIMAL
            if length <= run.bar <= rounding:
                return STALLED
            if run.futile >= _FUTILE:
                return STALLED
            run.inner = LeastSquares(run)
        if run.inner.done(run):
            _newton_step(run, run.inner)
            run.inner = None
        else:
            run.inner.step(run)
    return None


def objective(run: FiniteNewtonRun) -> float:
    """Return the dual objective of the multipliers for w: f minus half the squared norm of the gradient."""
    return _primal(run) - 0.5 * float(run.gradient @ run.gradient)


def steps(run: FiniteNewtonRun) -> int:
    """Return the number of CG steps so far."""
    return run.cg_steps


def finish(run: FiniteNewtonRun, status: str) -> Solution:
    """Return the weights and their multipliers ``C_i max(0, 1 - y_i w.x_i)``."""
    return Solution(
        alpha=run.C * run.weighted(_slack(run), run.products.everyone),
        weights=run.w,
        bias=0.0,
        status=status,
        iterations=run.cg_steps,
        kernel_evaluations=run.products.examples,
        work={"nonzeros": run.products.entries},
        info={
            "newton_steps": float(run.newton_steps),
            "active": float(run.active.size),
            "objective": objective(run),
        },
    )


def _slack(run: FiniteNewtonRun) -> Vector:
    """Return ``max(0, 1 - y_i w.x_i)``, shape (n,)."""
    return np.maximum(0.0, 1.0 - run.problem.y * run.outputs)


def _primal(run: FiniteNewtonRun) -> float:
    """Return f(w)."""
    slack = _slack(run)
    weighted = run.weighted(slack, run.products.everyone)
    return 0.5 * float(run.w @ run.w) + 0.5 * run.C * float(slack @ weighted)


def _place(run: FiniteNewtonRun, w: Vector, outputs: Vector) -> None:
    """Set the weights and their outputs, and compute the active set and the gradient there."""
    run.w, run.outputs = w, outputs
    slack = 1.0 - run.problem.y * outputs
    run.active = np.flatnonzero(slack > 0.0).astype(np.uint32)
    coefficients = run.C * run.problem.y[run.active] * run.weighted(slack[run.active], run.active)
    run.gradient = w - run.products.combination(coefficients, run.active)


def _gradient_error(run: FiniteNewtonRun) -> float:
    """Return the rounding error of the gradient's length.

    Each output is rounded as its largest product is; the errors of the multipliers add up.
    """
    off = _ROUNDING * (1.0 + run.radius * float(np.linalg.norm(run.w)))
    ones = run.weighted(np.ones(run.active.size), run.active)
    return run.radius * run.C * float(np.linalg.norm(ones)) * off


def _newton_step(run: FiniteNewtonRun, inner: LeastSquares) -> None:
    """Step towards the least squares solution, to the minimum of f on the line."""
    y, products, everyone = run.problem.y, run.products, run.products.everyone
    before, length_before = _primal(run), float(np.linalg.norm(run.gradient))
    was, was_active = run.w, run.active
    towards = products.outputs(inner.v, everyone)
    d, o = inner.v - run.w, towards - run.outputs
    t = line_minimum(y * run.outputs, y * o, run.w, d, run.C, run.shares)
    if abs(t - 1.0) < _WHOLE:
        # These outputs are computed directly from the weights, so rounding does not accumulate.
        _place(run, inner.v, towards)
    elif t > _LONG:
        # If d is mostly rounding, o differs from X d, and a long step magnifies the difference.
        _place(run, run.w + t * d, products.outputs(run.w + t * d, everyone))
    else:
        _place(run, run.w + t * d, run.outputs + t * o)
    run.newton_steps += 1
    if np.array_equal(was_active, run.active):
        run.loose = False
    if _primal(run) < before * (1.0 - _FLAT):
        run.futile = 0
        return
    run.loose = False
    length = float(np.linalg.norm(run.gradient))
    if run.w is not inner.v:
        # The line search only sees rounding; the least squares solution itself may be better.
        stepped = run.w, run.outputs, run.active, run.gradient
        _place(run, inner.v, towards)
        whole = float(np.linalg.norm(run.gradient))
        if not whole < length:
            run.w, run.outputs, run.active, run.gradient = stepped
        length = min(length, whole)
    if not length < length_before:
        # Rounding accumulated in the outputs must not pass for a minimum: undo the step and recompute them.
        _place(run, was, products.outputs(was, everyone))
    run.futile = 0 if length <= 0.5 * length_before else run.futile + 1


def line_minimum(
    margins: Vector, changes: Vector, w: Vector, d: Vector, C: float, shares: Vector | None = None
) -> float:
    """Return the minimiser over t >= 0 of ``1/2 |w + t d|^2 + 1/2 sum_i C_i max(0, 1 - m_i - t c_i)^2``.

    ``margins`` and ``changes`` are ``m_i = y_i w.x_i`` and ``c_i = y_i d.x_i``, ``shares`` is ``C_i / C``.
    This is the zero of the derivative, which is piecewise linear and increasing; 0 if it is nowhere negative.
    """
    slack = 1.0 - margins
    inside = (slack > 0.0) | ((slack == 0.0) & (changes < 0.0))
    weighted = changes if shares is None else shares * changes
    value = float(w @ d) - C * float(slack[inside] @ weighted[inside])
    slope = float(d @ d) + C * float(changes[inside] @ weighted[inside])
    if value >= 0.0 or slope <= 0.0:
        return 0.0
    # An example leaves I at its break if it is inside and its margin grows; it enters if the reverse holds.
    moving = np.flatnonzero(np.where(inside, changes > 0.0, changes < 0.0))
    breaks = slack[moving] / changes[moving]
    order = np.argsort(breaks)
    moving, breaks = moving[order], breaks[order]
    squares = C * (changes[moving] * weighted[moving])
    slopes = slope + np.cumsum(np.where(inside[moving], -squares, squares))
    # The derivative at each break. Against rounding, its slope is kept at least d.d, from 1/2 |w + t d|^2.
    slopes = np.maximum(np.concatenate(([slope], slopes)), float(d @ d))
    widths = np.diff(breaks, prepend=0.0)
    values = value + np.cumsum(slopes[:-1] * widths)
    at = int(np.searchsorted(values, 0.0))
    begin = 0.0 if at == 0 else float(breaks[at - 1])
    there = value if at == 0 else float(values[at - 1])
    return begin - there / float(slopes[at])
