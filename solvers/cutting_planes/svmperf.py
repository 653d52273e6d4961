r"""Cutting planes for classification with one slack variable (Joachims 2006, Algorithm 1: SVM-perf).

    min  1/2 w.w + Cn xi    subject to
         w . (1/n) sum_i c_i y_i x_i >= (1/n) sum_i c_i - xi    for all c in {0,1}^n

with Cn = n C. Each iteration finds w and xi over the current planes
(:mod:`svmrepro.solvers.cutting_planes._planes`). One pass over the data
(:mod:`svmrepro.solvers.passes.row_passes`) then finds the most violated plane, with c_i = 1 where
``y_i w.x_i < 1``, and adds it. The run ends when no plane is violated by more than eps. A plane is stored as
its normal and offset, not as c. If multipliers are requested (``keep_alpha``), c is also stored, as bits, and
``alpha_i = (1/n) sum over planes of a_c c_i``.

The first pass, at w = 0, counts as an iteration, and so does the last one, which adds no plane.

Symbols:

===================  =================================================================================
paper                here
===================  =================================================================================
C                    ``total``: the paper's C is n C here, and the sum of the bounds where they differ
w, xi                ``planes.w``, ``planes.xi``
working set W        ``planes``
c                    ``violators.c``
1/n sum c_i y_i x_i  ``g``
1/n sum c_i          ``b``
eps                  ``eps``
===================  =================================================================================
"""

from __future__ import annotations

import math
from typing import Any

from svmrepro.solvers.cutting_planes._run import CuttingPlaneRun, complete, objective, steps
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.sliced_passes import Violators
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]

prepare = row_passes.prepare


class SvmPerfRun(CuttingPlaneRun):
    """A run in progress, at first with no planes, at w = 0."""

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        super().__init__(problem, eps, options)
        self.violators = Violators(problem.y, problem.d, self.weights, self.data.parts)


start = SvmPerfRun


def advance(run: SvmPerfRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    found, planes = run.violators, run.planes
    if not run.inside:
        if run.passes >= step_limit:
            return None
        found.begin()
    run.inside = not run.data.both(planes.w, found, run.f, work)
    if run.inside:
        return None
    run.passes += 1
    g, b = found.plane()
    # This is the paper's test: at the optimum over the planes, bound = w.w / 2 + Cn xi.
    loss, allowed = b - float(g @ planes.w), run.eps * run.total
    near = planes.half + run.total * loss - planes.bound <= allowed
    # If it is met, test again with each example's own loss and with rounding subtracted from the bound.
    if near and run.objective_at(planes.half, run.f, 0) - planes.lower() <= allowed:
        return OPTIMAL
    run.keep(found.c, planes.add(g, b, planes.w))
    planes.optimise()
    return STALLED if planes.stuck or not math.isfinite(planes.bound) else None


def finish(run: SvmPerfRun, status: str) -> Solution:
    """Return the optimum over the current planes."""
    return run.solution(status, run.planes.w, run.planes.xi, iteration_bound=run.iteration_bound(1.0))
