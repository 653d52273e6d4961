r"""Cutting planes with a line search (Franc and Sonnenburg 2008: OCAS).

The problem, the planes and the passes are those of :mod:`svmrepro.solvers.cutting_planes.svmperf`. That
algorithm takes each plane at the minimiser w_t of the relaxed problem, where the objective

    F(w) = 1/2 w.w + sum_i C_i max(0, 1 - y_i w.x_i)

may be far above its value at earlier points. OCAS keeps the best point so far, w_b, and moves it to the
minimum of F on the ray from w_b through w_t. The authors take the new plane a little further on, at
``w_b + 0.1 (w_t - w_b)``. Here another plane is taken very close to w_b (0.01), which costs only the few rows
whose c_i differ between the two points and saves a fifth to a half of the iterations. It is not taken at w_b
itself: the example at which the search stopped has margin 1 there, and rounding would decide on which side.

If examples are separable, or nearly, and C is large, steps are short and planes near w_b carry little
information: few examples violate their margin there, and the bound rests on planes around w_t. A third plane
is therefore taken close to w_t (0.99) if ``F(w_t)`` exceeds the bound by less than eight times as much as
``F(w_b)`` does. It is not taken at w_t itself, where an example by which two binding planes differ has margin
exactly 1. On sets with many errors w_t is usually farther off; its plane would only cost time and is not
taken. On small generated document sets, a third to two thirds of the iterations remain (rcv1-like, n = 1000,
n C = 10^4, eps = 1e-3: 33 instead of 90); on Adult, Covertype and MNIST the number does not change. The
planes near w_b and near w_t are not in the paper.

On the ray the derivative of F is piecewise linear, with a jump of ``C_i |delta_i|`` where example i's margin
passes 1 (``delta = y (X w_t - X w_b)``). Its zero is found by selection, without sorting: choose a pivot, sum
the jumps before it, and continue in the half in which the derivative changes sign. This takes linear time on
average.

One pass gives X w_t. Scores at other points of the ray are combinations of stored ones, and the plane's sum
is updated by the examples whose c_i has changed. An iteration is a pass. The run ends when
``F(w_b) - bound <= eps F(w_b)``, where the bound is the optimum of the relaxed problem. This is tested after
the line search, and again after the planes are added. The solution is w_b, whose true objective meets that
tolerance.

Symbols:

=============  =================================================================
paper          here
=============  =================================================================
F(w_b), w_b    ``best``, ``w``; its scores are ``f``
F_t(w_t), w_t  ``planes.bound``, ``planes.w``; its scores are ``to``
k*             ``k``, the step from w_b towards w_t
w_c            the point at which a plane is taken; its scores are ``at``
mu             ``ahead``: that of each plane still to be taken in this iteration
pi_i           ``violators.c``
a_t, b_t       ``violators.plane()``, with the signs of this package
eps            ``eps``
=============  =================================================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.cutting_planes._planes import PATIENCE
from svmrepro.solvers.cutting_planes._run import CuttingPlaneRun, complete, objective, steps
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.sliced_passes import Violators
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.storage.row_products import VECTOR

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]

AHEAD = (0.01, 0.1)  # the authors take the second
_FAR = 0.99  # almost at w_t; a plane is taken there ...
_NEAR = 8.0  # ... if the gap of w_t is below this times the gap of w_b

prepare = row_passes.prepare


@compiled(types.float64(VECTOR, VECTOR, types.int64, types.float64, types.float64))
def crossing(keys, jumps, count, slope, curvature):
    """Return the least k >= 0 where ``slope + curvature k + sum of jumps at keys <= k`` is not negative.

    The first ``count`` keys (positive) and jumps are reordered; the curvature is not negative.
    """
    low, high = 0, count
    while high - low > 0:
        # Pivot: the median of three.
        one, two, three = keys[low], keys[(low + high) // 2], keys[high - 1]
        pivot = max(min(one, two), min(max(one, two), three))
        # Keys below the pivot, keys equal to it, keys above.
        below, at, above = low, low, high
        before, equal = 0.0, 0.0
        while at < above:
            key, jump = keys[at], jumps[at]
            if key < pivot:
                before += jump
                keys[at], jumps[at] = keys[below], jumps[below]
                keys[below], jumps[below] = key, jump
                below += 1
                at += 1
            elif key > pivot:
                above -= 1
                keys[at], jumps[at] = keys[above], jumps[above]
                keys[above], jumps[above] = key, jump
            else:
                equal += jump
                at += 1
        if slope + before + curvature * pivot >= 0.0:
            high = below
        elif slope + before + equal + curvature * pivot >= 0.0:
            return pivot
        else:
            slope += before + equal
            low = at
    return max(-slope / curvature, 0.0) if curvature > 0.0 else 0.0


@compiled(
    types.float64(VECTOR, VECTOR, VECTOR, types.float64, VECTOR, types.float64, types.float64, VECTOR, VECTOR)
)
def best_step(y, f, to, C, shares, slope, curvature, keys, jumps):
    """Return the minimiser of F on the ray from scores f to scores ``to``.

    ``slope = w_b . (w_t - w_b)`` and ``curvature = |w_t - w_b|^2``; ``shares`` has a single entry if the
    weights of all examples are C. ``keys`` and ``jumps``, shape (n,), are workspace.
    """
    count, step = 0, np.int64(shares.size > 1)
    for i in range(y.size):
        room, delta = 1.0 - y[i] * f[i], y[i] * (to[i] - f[i])
        if room > 0.0 or (room == 0.0 and delta < 0.0):
            slope -= C * (shares[i * step] * delta)
        if room * delta > 0.0:
            keys[count] = room / delta
            jumps[count] = C * (shares[i * step] * abs(delta))
            count += 1
    return crossing(keys, jumps, count, slope, curvature)


@compiled(types.float64(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, types.float64, types.float64))
def move(y, shares, f, to, at, k, mu):
    """Move scores f by the share k towards ``to``, write scores mu further on; return the weighted slacks."""
    total, step = 0.0, np.int64(shares.size > 1)
    for i in range(y.size):
        f[i] += k * (to[i] - f[i])
        at[i] = f[i] + mu * (to[i] - f[i])
        total += shares[i * step] * max(0.0, 1.0 - y[i] * f[i])
    return total


class OcasRun(CuttingPlaneRun):
    """A run in progress, at first at w = 0; see the table of symbols.

    ``moves`` counts how often ``f`` has been moved since it was last computed from the data; while it is
    computed again, ``verifying`` is True. ``doubts`` counts how often only possible rounding kept the best
    point from meeting the tolerance.
    """

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        super().__init__(problem, eps, options)
        n, d = problem.n, problem.d
        self.violators = Violators(problem.y, d, self.weights, self.data.parts)
        self.w = np.zeros(d + 1)
        self.to, self.at = np.zeros(n), np.zeros(n)
        self.keys, self.jumps = np.zeros(n), np.zeros(n)
        self.best = self.total  # F(0)
        self.moves, self.verifying, self.doubts = 0, False, 0
        # The first plane is taken at 0, where all scores are known.
        self.ahead = [0.0]
        self.violators.begin()


start = OcasRun


def advance(run: OcasRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    if run.verifying:
        return _verify(run, work, step_limit)
    return _mend(run, work) if run.ahead else _score(run, work, step_limit)


def _score(run: OcasRun, work: int, step_limit: int) -> str | None:
    """Continue with X w_t; when it is complete, search the line."""
    if not run.scored(run.planes.w, run.to, work, step_limit):
        return None
    y, C, shares, w = run.problem.y, run.weights.C, run.weights.shares, run.planes.w
    way = w - run.w
    k = best_step(y, run.f, run.to, C, shares, float(run.w @ way), float(way @ way), run.keys, run.jumps)
    reached = run.objective_at(run.planes.half, run.to)  # F(w_t)
    run.w += k * way
    slacks = move(y, shares, run.f, run.to, run.at, k, AHEAD[0])
    run.best = 0.5 * float(run.w @ run.w) + C * slacks
    run.moves += 1
    if not math.isfinite(run.best):
        return STALLED
    bound = run.planes.bound
    run.ahead = [*AHEAD, _FAR] if reached - bound < _NEAR * (run.best - bound) else list(AHEAD)
    run.violators.begin()
    return OPTIMAL if _near(run) else None


def _verify(run: OcasRun, work: int, step_limit: int) -> str | None:
    """Continue with X w_b; when it is complete, test the best point again."""
    if not run.scored(run.w, run.f, work, step_limit):
        return None
    run.moves, run.verifying = 0, False
    run.best = run.objective_at(0.5 * float(run.w @ run.w), run.f)
    return OPTIMAL if _near(run) else None


def _mend(run: OcasRun, work: int) -> str | None:
    """Continue with the sum over the violators; when it is complete, add the plane."""
    found, planes = run.violators, run.planes
    if not run.data.mend(found, run.at, work):
        return None
    run.keep(found.c, planes.add(*found.plane(), run.w + run.ahead[0] * (planes.w - run.w)))
    del run.ahead[0]
    if run.ahead:
        move(run.problem.y, run.weights.shares, run.f, run.to, run.at, 0.0, run.ahead[0])
        found.begin()
        return None
    planes.optimise()
    # The new planes' bound may be close enough to the current best objective.
    if _near(run):
        return OPTIMAL
    # Is eps beyond the reach of double precision, for the bound or for the best objective?
    return STALLED if planes.stuck or run.doubts >= PATIENCE else None


def _near(run: OcasRun) -> bool:
    """Tell whether the best point meets the tolerance; request verification if only moved scores prevent it.

    Scores that have been moved often differ slightly from those of w_b. If this matters, a pass recomputes
    them.
    """
    allowed = run.eps * run.best
    if run.best - run.planes.bound > allowed:
        return False
    half, lower = 0.5 * float(run.w @ run.w), run.planes.lower()
    if run.objective_at(half, run.f, run.moves) - lower <= allowed:
        return True
    run.verifying = run.moves > 0 and run.objective_at(half, run.f, 0) - lower <= allowed
    run.doubts += 1
    return False


def finish(run: OcasRun, status: str) -> Solution:
    """Return the best point."""
    weights = run.weights
    slacks = float(row_passes.slack(run.problem.y, run.f, weights.shares, 1.0)) / weights.whole
    return run.solution(status, run.w, slacks, primal=run.best)
