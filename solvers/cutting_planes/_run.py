"""Base of the cutting-plane solvers: the state of a run, and the solution made from it."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.cutting_planes._planes import Planes
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.sliced_passes import SlicedPasses, Weights
from svmrepro.solvers.solution import Solution, Vector

_ROUNDING = 2.0**-53
_A_SCORE, _A_MOVE = 4.0, 4.0  # rounding errors in computing a score, and in moving it


class CuttingPlaneRun:
    """A run in progress, starting at w = 0 with no planes.

    ``passes`` counts the passes over the data for scores, which are the iterations; ``inside`` is True during
    one. ``drop_after`` and ``threads`` are required options, ``keep_alpha`` is an optional one.
    """

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps, self.n = problem, eps, problem.n
        self.data = SlicedPasses(problem, int(options["threads"]))
        self._began = time.thread_time()
        self.weights = Weights(problem)
        self.total = self.weights.whole * self.weights.C
        drop_after = int(options["drop_after"])
        layout = self.data.layout
        sizes = layout.sizes[: layout.used] * self.largest_share()
        self.planes = Planes(problem.d + 1, self.total, drop_after, layout.used, self.n, sizes)
        self.f = np.zeros(problem.n)
        self.passes, self.inside = 0, False
        self._bits: dict[int, npt.NDArray[np.uint8]] | None = {} if options.get("keep_alpha") else None

    def largest_share(self) -> float:
        """Return an upper bound on the coefficient of an example in a normal."""
        return 1.0 / self.weights.whole

    def iteration_bound(self, reach: float) -> float:
        """Return the bound on iterations of Joachims 2006, Lemma 2, for R of ``reach`` largest norms."""
        ratio = reach * self.data.layout.radius / self.eps  # infinite if too large: eps^2 could be 0
        return max(2.0 / self.eps, 8.0 * self.total * ratio * ratio)

    def scored(self, w: Vector, f: Vector, work: int, step_limit: int) -> bool:
        """Continue a pass for X w, unless the limit is reached; return whether the scores f are complete."""
        if not self.inside and self.passes >= step_limit:
            return False
        self.inside = not self.data.score(w, f, work)
        self.passes += not self.inside
        return not self.inside

    def keep(self, c: npt.NDArray[np.int8], place: int) -> None:
        """Store which examples form a plane, shape (n,), if multipliers are requested."""
        if self._bits is not None:
            self._bits[place] = np.packbits(c.astype(bool))

    def multipliers(self) -> Vector | None:
        """Return ``alpha_i = (C_i / sum C) sum_c a_c c_i``, shape (n,); None if c was not stored."""
        if self._bits is None:
            return None
        alpha, bounds = np.zeros(self.n), self.problem.bounds
        for place in np.flatnonzero(self.planes.a[1:]) + 1:
            alpha += self.planes.a[place] * np.unpackbits(self._bits[int(place)], count=self.n)
        alpha *= self.weights.shares
        alpha /= self.weights.whole
        return np.where(alpha > bounds * (1.0 - 1e-12), bounds, alpha)

    def objective_at(self, half: float, f: Vector, moves: int = -1) -> float:
        """Return the primal objective at weights with ``w.w / 2 = half`` and scores f.

        With ``moves >= 0``, return an upper bound on it. The bound allows for rounding errors of the scores:
        some from computing them from the data, and more for each of the ``moves`` since.
        """
        weights, margin = self.weights, 1.0
        if moves >= 0:
            layout = self.data.layout
            errors = _A_SCORE + math.sqrt(layout.entries / self.n) + _A_MOVE * moves
            margin += _ROUNDING * errors * (1.0 + layout.radius * math.sqrt(2.0 * half))
        return half + weights.C * float(row_passes.slack(self.problem.y, f, weights.shares, margin))

    def solution(self, status: str, w: Vector, xi: float, **info: float) -> Solution:
        """Return a solution with weights w, shape (d + 1,), and statistics of planes and passes.

        ``divided_share`` is the share of the CPU time that was divided among threads.
        """
        planes, data, threads = self.planes, self.data, self.data.threads
        if threads.divided:
            info["divided_share"] = threads.divided / (time.thread_time() - self._began + threads.helped)
        moved = data.touched * row_passes.ENTRY_BYTES[data.layout.storage]
        return Solution(
            alpha=self.multipliers(),
            weights=data.layout.outside(w),
            bias=0.0,
            status=status,
            iterations=self.passes,
            kernel_evaluations=self.passes * self.n,
            work={"nonzeros": data.touched, "passes": self.passes},
            info={
                "planes": float(planes.used.size),
                "most_planes": float(planes.most),
                "dropped_planes": float(planes.dropped),
                "qp_rounds": float(planes.rounds),
                "bytes_a_pass": moved / max(self.passes, 1),
                **info,
            },
            cpu_seconds=threads.helped,
            xi=xi,
            relaxed=planes.lower(),
        )


def complete(run: CuttingPlaneRun, solution: Solution) -> Solution:
    """Add the points of the binding planes, from which a judge recomputes them; untimed."""
    multipliers, points = run.planes.witness()
    layout = run.data.layout
    outside = np.zeros((len(points), layout.d))
    columns = slice(None) if layout.order is None else layout.order[: layout.used]
    outside[:, columns] = points
    outside /= 1.0 - row_passes.TIE
    return dataclasses.replace(solution, witness=(multipliers, outside))


def objective(run: CuttingPlaneRun) -> float:
    """Return the dual objective of the relaxed problem, which increases to the optimum from below."""
    return run.planes.bound


def steps(run: CuttingPlaneRun) -> int:
    """Return the number of iterations: passes over the data."""
    return run.passes
