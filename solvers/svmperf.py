r"""Cutting planes for classification (Joachims 2006, Algorithm 1: SVM-perf).

    min  1/2 w.w + Cn xi    subject to
         w . (1/n) sum_i c_i y_i x_i >= (1/n) sum_i c_i - xi    for all c in {0,1}^n

with Cn = n C. Each iteration finds w and xi over the planes that there are (:mod:`svmrepro.solvers.planes`),
then in one pass over the data (:mod:`svmrepro.solvers.passes`) the plane that is violated most, c_i = 1 where
``y_i w.x_i < 1``, and adds it, until none is violated by more than eps. A plane is kept as its normal and
offset, not as c, unless multipliers are asked for (``keep_alpha``): then c is kept as bits, and
``alpha_i = (1/n) sum over planes of a_c c_i``.

The first pass, at w = 0, counts as an iteration, and so does the last one, which adds no plane.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers import passes
from svmrepro.solvers.planes import Planes
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.sweeps import Sweep, Violators

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

prepare = passes.prepare


class Run:
    """A run under way."""

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps = problem, eps
        self.n = problem.n
        self.sweep = Sweep(problem)
        self.planes = Planes(problem.d + 1, problem.n * problem.C, int(options["drop_after"]))
        self.violators = Violators(problem.y, problem.d)
        self.f = np.zeros(problem.n)
        self.bits: dict[int, npt.NDArray[np.uint8]] | None = {} if options["keep_alpha"] else None
        self.inside = False  # a pass
        self.passes = 0


def start(problem: Any, eps: float, options: dict[str, Any]) -> Run:
    """Return a run with no plane, at w = 0."""
    return Run(problem, eps, options)


def advance(run: Run, work: int, step_limit: int) -> str | None:
    """Go on for about ``work`` entries read; return a status when the run has ended."""
    found, planes = run.violators, run.planes
    if not run.inside:
        if run.passes >= step_limit:
            return None
        found.begin()
    run.inside = not run.sweep.both(planes.w, found, run.f, work)
    if run.inside:
        return None
    run.passes += 1
    g, b = found.g / run.n, found.count / run.n
    if b - float(g @ planes.w) <= planes.xi + run.eps:
        return OPTIMAL
    keep(run.bits, found.c, planes.add(g, b))
    return STALLED if planes.stuck else None


def keep(bits: dict[int, npt.NDArray[np.uint8]] | None, c: npt.NDArray[np.int8], place: int) -> None:
    """Keep which examples a plane is made of, where that is asked for."""
    if bits is not None:
        bits[place] = np.packbits(c.astype(bool))


def multipliers(
    bits: dict[int, npt.NDArray[np.uint8]] | None, planes: Planes, n: int, C: float
) -> npt.NDArray[np.float64] | None:
    """Return ``alpha_i = (1/n) sum_c a_c c_i``, shape (n,), where the planes' bits were kept."""
    if bits is None:
        return None
    alpha = np.zeros(n)
    for place in np.flatnonzero(planes.a[1:]) + 1:
        alpha += planes.a[place] * np.unpackbits(bits[place], count=n)
    alpha /= n
    return np.where(alpha > C * (1.0 - 1e-12), C, alpha)


def objective(run: Run) -> float:
    """Return the dual objective of the relaxed problem, which rises to the optimum from below."""
    return run.planes.bound


def steps(run: Run) -> int:
    """Return the iterations: passes over the data."""
    return run.passes


def report(planes: Planes, sweep: Sweep, passes_made: int) -> dict[str, float | list[int]]:
    """Return what a cutting-plane run has to say of its planes and passes."""
    moved = sweep.touched * passes.ENTRY_BYTES[sweep.layout.storage]
    return {
        "planes": float(planes.used.size),
        "most_planes": float(planes.most),
        "dropped_planes": float(planes.dropped),
        "qp_rounds": float(planes.rounds),
        "bytes_a_pass": moved / max(passes_made, 1),
    }


def finish(run: Run, status: str) -> Solution:
    """Return the optimum over the planes that there are."""
    planes, sweep = run.planes, run.sweep
    return Solution(
        alpha=multipliers(run.bits, planes, run.n, run.problem.C),
        weights=sweep.layout.outside(planes.w),
        bias=0.0,
        status=status,
        iterations=run.passes,
        kernel_evaluations=run.passes * run.n,
        work={"nonzeros": sweep.touched, "passes": run.passes},
        info=report(planes, sweep, run.passes),
        xi=planes.xi,
        relaxed=planes.bound,
    )
