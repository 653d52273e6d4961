r"""Cutting planes for ordinal regression and ROC area, with one slack variable (Joachims 2006, Algorithm 2).

    min  1/2 w.w + Cn xi    subject to
         w . (1/m) sum_(i,j) c_ij (x_i - x_j) >= (1/m) sum_(i,j) c_ij - xi    for all c in {0,1}^m

over the m pairs with y_i > y_j, with Cn = n C: xi is the mean loss ``max(0, 1 - w.x_i + w.x_j)`` of a pair.
With two ranks it bounds 1 minus the area under the ROC curve. Everything is as in
:mod:`svmrepro.solvers.cutting_planes.svmperf` except the most violated constraint, with normal
``(1/m) sum_i (c+_i - c-_i) x_i`` and offset ``(1/m) sum_i c+_i``. It is found by sorting the scores, see
:mod:`svmrepro.solvers.cutting_planes._pair_counts`. An iteration reads the examples twice: for the scores,
and for the sum.

Symbols:

=========================  ====================================
paper                      here
=========================  ====================================
C                          ``total``: the paper's C is n C here
w, xi                      ``planes.w``, ``planes.xi``
working set W              ``planes``
m, R                       ``pairs.m``, ``pairs.R``
s_i = w . x_i              ``f``
c+_i - c-_i                ``pairs.coefficients``
1/m sum (c+_i - c-_i) x_i  ``g / pairs.m``
1/m sum c+_i               ``pairs.violated / pairs.m``
eps                        ``eps``
=========================  ====================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from svmrepro.solvers.cutting_planes._pair_counts import PairCounts
from svmrepro.solvers.cutting_planes._run import CuttingPlaneRun, complete, objective, steps
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]

prepare = row_passes.prepare

SCORING, ADDING = range(2)


class SvmPerfOrdinalRun(CuttingPlaneRun):
    """A run in progress, at first with no planes, at w = 0."""

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        self.pairs = PairCounts(problem.y)
        super().__init__(problem, eps, options)
        self.sums = np.zeros((self.data.parts, problem.d + 1))
        self.phase = SCORING

    def largest_share(self) -> float:
        """Return ``n / m``: an example is in at most n of the m pairs."""
        return float(self.n / self.pairs.m)


start = SvmPerfOrdinalRun


def advance(run: SvmPerfOrdinalRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    return _score(run, work, step_limit) if run.phase == SCORING else _add(run, work)


def _score(run: SvmPerfOrdinalRun, work: int, step_limit: int) -> str | None:
    """Continue with X w; when it is complete, count the violated pairs."""
    planes, pairs = run.planes, run.pairs
    if not run.scored(planes.w, run.f, work, step_limit):
        return None
    fewer = pairs.find(run.f)
    loss = (pairs.violated - float(pairs.coefficients @ run.f)) / pairs.m
    reached, allowed = planes.half + run.total * loss, run.eps * run.total
    # If the test is met, add losses too small for a plane, subtract rounding from the bound, and test again.
    at_most = reached + run.total * row_passes.TIE
    if reached - planes.bound <= allowed and at_most - planes.lower() <= allowed:
        return OPTIMAL
    # Update the last sum if that touches fewer examples than a new one would.
    if run.passes % row_passes.RENEW == 0 or not fewer:
        run.sums[:] = 0.0
        pairs.forget()
    run.phase = ADDING
    return None


def _add(run: SvmPerfOrdinalRun, work: int) -> str | None:
    """Continue with the sum of the examples; when it is complete, add the plane."""
    if run.data.add(run.pairs.change, run.sums, work):
        run.planes.add(run.sums.sum(axis=0) / run.pairs.m, run.pairs.violated / run.pairs.m, run.planes.w)
        run.planes.optimise()
        run.phase = SCORING
    return STALLED if run.planes.stuck else None


def finish(run: SvmPerfOrdinalRun, status: str) -> Solution:
    """Return the optimum over the current planes."""
    pairs, planes = run.pairs, run.planes
    info = {"ranks": float(pairs.R), "pairs": float(pairs.m), "iteration_bound": run.iteration_bound(2.0)}
    return run.solution(status, planes.w, planes.xi, **info)
