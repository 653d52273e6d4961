"""What the cutting-plane solvers have in common: their runs, and how a solution is made of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers import passes
from svmrepro.solvers.planes import Planes
from svmrepro.solvers.solution import Solution
from svmrepro.solvers.sweeps import Sweep

Vector = npt.NDArray[np.float64]


class CuttingPlaneRun:
    """A run under way, at w = 0 with no plane.

    Parameters
    ----------
    problem, eps, options
        As the driver gives them; ``drop_after`` is an option, ``keep_alpha`` one that need not be there.

    Attributes
    ----------
    passes : int
        Passes over the data for scores so far: the iterations.
    inside : bool
        Whether such a pass is under way.
    """

    def __init__(self, problem: Any, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps, self.n = problem, eps, problem.n
        self.sweep = Sweep(problem)
        total, drop_after = problem.n * problem.C, int(options["drop_after"])
        self.planes = Planes(problem.d + 1, total, drop_after, self.sweep.layout.used)
        self.f = np.zeros(problem.n)
        self.passes, self.inside = 0, False
        self._bits: dict[int, npt.NDArray[np.uint8]] | None = {} if options.get("keep_alpha") else None

    def keep(self, c: npt.NDArray[np.int8], place: int) -> None:
        """Keep which examples a plane is made of, shape (n,), where that is asked for."""
        if self._bits is not None:
            self._bits[place] = np.packbits(c.astype(bool))

    def multipliers(self) -> Vector | None:
        """Return ``alpha_i = (1/n) sum_c a_c c_i``, shape (n,), where the planes' examples were kept."""
        if self._bits is None:
            return None
        alpha, C = np.zeros(self.n), self.problem.C
        for place in np.flatnonzero(self.planes.a[1:]) + 1:
            alpha += self.planes.a[place] * np.unpackbits(self._bits[place], count=self.n)
        alpha /= self.n
        return np.where(alpha > C * (1.0 - 1e-12), C, alpha)

    def solution(self, status: str, w: Vector, xi: float, **info: float) -> Solution:
        """Return a solution with weights w, shape (d + 1,), and what there is to say of planes and passes."""
        planes, sweep = self.planes, self.sweep
        moved = sweep.touched * passes.ENTRY_BYTES[sweep.layout.storage]
        return Solution(
            alpha=self.multipliers(),
            weights=sweep.layout.outside(w),
            bias=0.0,
            status=status,
            iterations=self.passes,
            kernel_evaluations=self.passes * self.n,
            work={"nonzeros": sweep.touched, "passes": self.passes},
            info={
                "planes": float(planes.used.size),
                "most_planes": float(planes.most),
                "dropped_planes": float(planes.dropped),
                "qp_rounds": float(planes.rounds),
                "bytes_a_pass": moved / max(self.passes, 1),
                **info,
            },
            xi=xi,
            relaxed=planes.bound,
        )


def objective(run: CuttingPlaneRun) -> float:
    """Return the dual objective of the relaxed problem, which rises to the optimum from below."""
    return run.planes.bound


def steps(run: CuttingPlaneRun) -> int:
    """Return the iterations: passes over the data."""
    return run.passes
