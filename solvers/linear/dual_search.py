"""Multipliers that bound the objective of given weights from below, by dual coordinate descent."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.passes.coordinate_steps import STORAGES, SweepState, sweep, table
from svmrepro.solvers.problem import Problem


def descend(
    problem: Problem,
    alpha: npt.NDArray[np.float64],
    members: npt.NDArray[Any],
    tol: float,
    most_entries: float,
) -> npt.NDArray[np.float64]:
    """Return multipliers that are optimal over the members, as far as the work limit allows.

    The members, in any order, stop violating their conditions by more than ``tol``, or about ``most_entries``
    stored entries are read. Multipliers of other examples do not change. The problem has a linear kernel and
    no bias; the random orders are the same in every call.
    """
    store = problem.prepare()
    examples = table(problem, store, alpha)
    v = np.zeros(problem.d + 1)
    v[: problem.d] = np.asarray(problem.X.T @ (problem.y * alpha)).ravel()
    order, random, state = members.astype(np.uint32), np.zeros(1, dtype=np.uint64), zeroed(SweepState)
    state.active = order.size
    state.above, state.below = np.inf, -np.inf
    calls = store, STORAGES[problem.storage], examples, v, np.zeros_like(v), order, random, state, False
    while state.entries < most_entries:
        sweep(*calls, 0.0, 0, int(most_entries) + 1, 2**62)  # a check is due after each sweep
        if max(state.largest, -state.smallest) <= tol:
            break
    return examples[:, 0].copy()
