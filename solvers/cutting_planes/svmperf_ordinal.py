r"""Cutting planes for ordinal regression and ROC area (Joachims 2006, Algorithm 2).

    min  1/2 w.w + Cn xi    subject to
         w . (1/m) sum_(i,j) c_ij (x_i - x_j) >= (1/m) sum_(i,j) c_ij - xi    for all c in {0,1}^m

over the m pairs with y_i > y_j, with Cn = n C: xi is the mean loss ``max(0, 1 - w.x_i + w.x_j)`` of a pair.
With two ranks it bounds 1 less the area under the ROC curve. All is as in
:mod:`svmrepro.solvers.cutting_planes.svmperf` but the most violated constraint, ``(1/m) sum_i (c+_i - c-_i)
x_i`` and ``(1/m) sum_i c+_i``, which is found from the scores by sorting, see
:mod:`svmrepro.solvers.cutting_planes.pair_counts`. An iteration reads the examples twice: for the scores, and
for the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from svmrepro.solvers.cutting_planes.pair_counts import PairCounts
from svmrepro.solvers.cutting_planes.run import CuttingPlaneRun, complete, objective, steps
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]

prepare = row_passes.prepare

SCORING, ADDING = range(2)


class Run(CuttingPlaneRun):
    """A run under way."""

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        self.pairs = PairCounts(problem.y)
        super().__init__(problem, eps, options)
        self.g = np.zeros(problem.d + 1)
        self.phase = SCORING

    def largest_share(self) -> float:
        """Return the largest coefficient that an example can have in a normal: all others are its pairs."""
        return float(self.n / self.pairs.m)


def start(problem: Any, eps: float, options: dict[str, Any]) -> Run:
    """Return a run with no plane, at w = 0."""
    return Run(problem, eps, options)


def advance(run: Run, work: int, step_limit: int) -> str | None:
    """Go on for about ``work`` entries read; return a status when the run has ended."""
    return _score(run, work, step_limit) if run.phase == SCORING else _add(run, work)


def _score(run: Run, work: int, step_limit: int) -> str | None:
    """Go on with X w; at its end count the violated pairs."""
    if not run.inside and run.passes >= step_limit:
        return None
    run.inside = not run.data.score(run.planes.w, run.f, work)
    if not run.inside:
        run.passes += 1
        planes = run.planes
        fewer = run.pairs.find(run.f)
        loss = (run.pairs.violated - float(run.pairs.coefficients @ run.f)) / run.pairs.m
        reached, allowed = planes.half + run.total * loss, run.eps * run.total
        # The second time with losses too small for a plane, less what rounding may have added to the bound.
        if (
            reached - planes.bound <= allowed
            and reached + run.total * row_passes.TIE - planes.lower() <= allowed
        ):
            return OPTIMAL
        # The last sum is mended where that touches fewer examples than a new one.
        if run.passes % row_passes.RENEW == 0 or not fewer:
            run.g[:] = 0.0
            run.pairs.forget()
        run.phase = ADDING
    return None


def _add(run: Run, work: int) -> str | None:
    """Go on with the sum of the examples; at its end add the plane."""
    if run.data.add(run.pairs.change, run.g, work):
        run.planes.add(run.g / run.pairs.m, run.pairs.violated / run.pairs.m, run.planes.w)
        run.planes.optimise()
        run.phase = SCORING
    return STALLED if run.planes.stuck else None


def finish(run: Run, status: str) -> Solution:
    """Return the optimum over the planes that there are."""
    pairs, planes = run.pairs, run.planes
    return run.solution(status, planes.w, planes.xi, ranks=float(pairs.R), pairs=float(pairs.m))
