r"""Dual coordinate descent for linear problems without bias (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).

The problem is that of SVM-perf and OCAS, ``min F(w) = 1/2 w.w + sum_i C_i max(0, 1 - y_i w.x_i)``, and its
dual ``max D(alpha) = sum_i alpha_i - 1/2 v.v`` over ``0 <= alpha_i <= C_i``, with
``v = sum_i y_i alpha_i x_i``. As in the paper, sweeps in random order optimise one multiplier at a time, and
examples at a bound are shrunk: they leave if their gradient is beyond all projected gradients of the last
sweep.

The end differs. The paper, and LIBLINEAR, stop when the projected gradients of a sweep are within eps of each
other, which bounds neither objective. Here the run ends when ``F(w) - D(alpha) <= eps F(w)``, for a w that
need not be v:

- F(v) oscillates, because each step may trade the margins of others for its own. The mean of v over the last
  sweeps, with weights that fade by 0.6 a sweep, is better: on MNIST the gap is 0.8 of that of v on average,
  and half where F(v) peaks.
- The exact gap takes a pass over all examples. It is taken only when an estimate promises success: the sum
  over a sweep of ``alpha_i max(0, g_i) + (C_i - alpha_i) max(0, -g_i)``, with each gradient g_i at its own
  visit. The gap is about 0.6 times the estimate; after a check that fails, the next one waits until the
  estimate has fallen by as much as the gap must. Whatever the estimate, a check follows after the work of ten
  passes. It brings back the shrunk examples whose gradients demand it.
- Before a run ends, v is computed again from the multipliers, and the gap with it.

Near the optimum, D is as large as its rounding lets it be while F(w) still falls: an error in v is squared in
D. Progress is therefore also an estimate, or a smallest F(w), below all before it. Without progress from
check to check, v itself is tried in place of the mean, with all examples active; if that does not help, the
run is ``stalled``. Coordinate descent is slow where a few examples need large multipliers that compensate
each other (C large, few features): there a run ends at a limit.

Steps are sweeps.
Symbols of the run; those of a sweep are in :mod:`svmrepro.solvers.passes.coordinate_steps`:

============  ============================================================
symbol        here
============  ============================================================
alpha_i, C_i  columns of ``examples``; the first is also ``alpha``
v             ``v``; ``mean`` is the fading sum of v over sweeps
w             ``at``, the point that is scored; ``w``, the best one so far
D(alpha)      ``state.dual`` at the last check, plus ``state.rise`` since
F(w)          ``best``; the scores of ``at`` are ``f``
============  ============================================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.coordinate_steps import ALPHA, STORAGES, SweepState, select, sums, sweep, table
from svmrepro.solvers.passes.sliced_passes import SlicedPasses
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution, Vector

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_REACH = 1.6  # the first check is made when the estimate is below this times the allowed gap
_LEAST, _MOST = 0.1, 0.9  # the estimate falls by at least and at most this before the next check
_PASSES = 10  # a check is made after the work of this many passes
_FUTILE = 8  # checks without progress before stalling
_ROUNDING = 2.0**-51  # of a margin, relative to its terms
_RISE = 2.0**-52  # a relative increase of D up to this is rounding
_FALL = 0.95  # an estimate of the gap, or a gap, up to this share of the smallest before is progress

prepare = row_passes.prepare


class DualDescentRun:
    """A run in progress.

    ``w`` is the best point so far, ``best`` its objective. A check goes through three tasks, each in slices:
    *sweep* until it is due, *score* the mean weights, *renew* v if the gap is closed.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        n, d, given = problem.n, problem.d, options["start"]
        self.problem, self.eps, self.shrinking = problem, eps, options["shrinking"]
        self.passes = SlicedPasses(problem)
        layout = self.passes.layout
        store = layout.blocks[0].store
        self.examples = table(problem, store, np.zeros(n) if given is None else given)
        self.v, self.mean, self.f = np.zeros(d + 1), np.zeros(d + 1), np.zeros(n)
        self.order, self.random = np.arange(n, dtype=np.uint32), np.array([options["seed"]], dtype=np.uint64)
        self.state = zeroed(SweepState)
        self.calls = (
            store,
            STORAGES[layout.storage],
            self.examples,
            self.v,
            self.mean,
            self.order,
            self.random,
        )
        self.radius = layout.radius
        self.most = _PASSES * max(layout.entries, n)
        self.reach = _REACH * eps
        self.w, self.at, self.best = np.zeros(d + 1), np.zeros(d + 1), problem.total
        self.checks = self.futile = 0
        self.lowest, self.closest = math.inf, math.inf  # the smallest estimate and gap that were progress
        self.task = "sweep" if given is None else "renew"
        self.activate(everyone=True)

    @property
    def alpha(self) -> Vector:
        """The multipliers, shape (n,)."""
        return self.examples[:, ALPHA]

    @property
    def closed(self) -> bool:
        """Whether the gap is within the tolerance, although each margin may be rounded."""
        off = _ROUNDING * self.problem.total * (1.0 + self.radius * float(np.linalg.norm(self.w)))
        return self.best + off - float(self.state.dual) <= self.eps * self.best

    def activate(self, everyone: bool) -> None:
        """Begin a sweep over all examples, or over those that the scores do not shrink."""
        state = self.state
        if everyone:
            state.above, state.below = math.inf, -math.inf
        select(self.examples, self.f, self.order, state)

    def measure(self, scored: bool) -> None:
        """Compute the dual objective from v, and if f are scores of the point, the primal one there."""
        total, loss = sums(self.examples, self.f)
        self.state.dual, self.state.rise = total - 0.5 * float(self.v @ self.v), 0.0
        primal = 0.5 * float(self.at @ self.at) + loss
        if scored and primal < self.best:
            self.best, self.w[:] = primal, self.at


start = DualDescentRun


def advance(run: DualDescentRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    if run.task == "sweep":
        if sweep(*run.calls, run.state, run.shrinking, run.reach, run.most, work, step_limit):
            _begin_check(run)
        return None
    if run.task == "score":
        return _judge(run) if run.passes.score(run.at, run.f, work) else None
    return _renewed(run) if run.passes.add(run.problem.y * run.alpha, run.v[np.newaxis], work) else None


def _begin_check(run: DualDescentRun) -> None:
    """Choose the point to score: the mean weights, or at the end of all progress v, which is then steady."""
    weight = float(run.state.weight)
    run.at[:] = run.mean / weight if weight > 0.0 and run.futile == 0 else run.v
    run.task = "score"


def _judge(run: DualDescentRun) -> str | None:
    """Test the gap after a score; if it is open, decide when to test again, and which examples are active."""
    rise = float(run.state.rise)
    run.checks += 1
    run.measure(scored=True)
    if not (math.isfinite(run.state.dual) and math.isfinite(run.best)):
        return STALLED
    run.futile = 0 if _progress(run) or rise > _RISE * run.state.dual else run.futile + 1
    if run.closed or run.futile >= _FUTILE:
        run.task, run.v[:] = "renew", 0.0
        return None
    _continue(run)
    return None


def _progress(run: DualDescentRun) -> bool:
    """Tell whether the gap, or its estimate, is clearly smaller than before; remember it if so."""
    estimate, gap = float(run.state.estimate), max(run.best - float(run.state.dual), 0.0)
    falls, closes = estimate < _FALL * run.lowest, gap < _FALL * run.closest
    run.lowest = estimate if falls else run.lowest
    run.closest = gap if closes else run.closest
    return falls or closes


def _renewed(run: DualDescentRun) -> str | None:
    """Test the gap again after v has been computed from the multipliers."""
    run.measure(scored=False)
    if run.closed:
        return OPTIMAL
    if run.futile >= _FUTILE:
        run.task = "sweep"  # v is complete
        return STALLED
    _continue(run)
    return None


def _continue(run: DualDescentRun) -> None:
    """Go on with sweeps after a check."""
    state = run.state
    run.task, state.checked = "sweep", state.entries
    if state.sweeps == 0:
        return
    needed = run.eps * run.best / max(run.best - float(state.dual), 1e-300)
    run.reach = min(max(needed, _LEAST), _MOST) * float(state.estimate) / max(float(state.dual), 1e-300)
    run.activate(everyone=run.futile > 0)


def objective(run: DualDescentRun) -> float:
    """Return the dual objective; nan before that of given multipliers is known."""
    if run.task == "renew" and not run.checks:
        return math.nan
    return float(run.state.dual + run.state.rise)


def steps(run: DualDescentRun) -> int:
    """Return the number of sweeps so far."""
    return int(run.state.sweeps)


def finish(run: DualDescentRun, status: str) -> Solution:
    """Return the best weights and the multipliers; before the end, the mean weights may be the best."""
    if status != OPTIMAL and run.task == "renew":
        while not run.passes.add(run.problem.y * run.alpha, run.v[np.newaxis], 2**62):
            pass
    if status != OPTIMAL and math.isfinite(float(run.v @ run.v)):
        if run.task != "score":  # a score that has begun is finished at its own point
            _begin_check(run)
        while not run.passes.score(run.at, run.f, 2**62):
            pass
        run.measure(scored=True)
    state = run.state
    return Solution(
        alpha=run.alpha.copy(),
        weights=run.passes.layout.outside(run.w),
        bias=0.0,
        status=status,
        iterations=int(state.sweeps),
        kernel_evaluations=int(state.visits) + run.checks * run.problem.n,
        work={
            "nonzeros": int(state.entries - state.visits) + run.passes.touched,
            "updates": int(state.updates),
        },
        info={"checks": float(run.checks), "active": float(state.active), "primal": run.best},
    )
