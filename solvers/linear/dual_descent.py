"""Coordinate descent on the dual of a linear problem without bias, over some examples (Hsieh et al. 2008).

Symbols:

==========  ====================
paper       here
==========  ====================
alpha_i, U  ``alpha[i]``, ``C``
w           ``v``
G, PG       ``slope``, ``wrong``
Q_ii        ``square``
==========  ====================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.random_numbers import draw
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.storage.row_products import MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR, rows_of

_CALLS = (STORE, types.FunctionType(PRODUCTS), types.FunctionType(UPDATE))
_RANDOM = types.uint64[::1]


@compiled(types.int64(*_CALLS, MEMBERS, *4 * (VECTOR,), _RANDOM, VECTOR, types.float64, types.int64))
def sweep(store, products, update, members, y, alpha, v, out, random, bounds, tol, sweeps):  # type: ignore[no-untyped-def]
    """Optimise the members' multipliers one at a time, until none violates its condition by more than tol.

    Each sweep uses a new random order, as in section 3.1 of the paper; with a fixed order, tens of times as
    many sweeps are needed. ``v = sum_i y_i alpha_i x_i``, shape (d + 1,), is kept up to date; ``out`` is
    workspace; ``bounds`` holds C_i. Returns the number of sweeps.
    """
    for done in range(sweeps):
        worst = 0.0
        for k in range(members.size):
            other = k + draw(random, members.size - k)
            members[k], members[other] = members[other], members[k]
            i = np.int64(members[k])
            products(store, v, members[k : k + 1], 1, out)
            slope = y[i] * out[0] - 1.0
            old, C = alpha[i], bounds[i]
            wrong = min(slope, 0.0) if old <= 0.0 else max(slope, 0.0) if old >= C else slope
            if wrong == 0.0:
                continue
            worst = max(worst, abs(wrong))
            square = store.norms[i]
            new = min(max(old - slope / square, 0.0), C) if square > 0.0 else C
            if new != old:
                alpha[i] = new
                update(store, i, y[i] * (new - old), v)
        if worst <= tol:
            return done + 1
    return sweeps


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
    _, products, update = rows_of(problem)
    alpha = alpha.copy()
    v = np.zeros(problem.d + 1)
    v[: problem.d] = np.asarray(problem.X.T @ (problem.y * alpha)).ravel()
    order, random = members.astype(np.uint32), np.zeros(1, dtype=np.uint64)
    stored = problem.X.nnz if hasattr(problem.X, "nnz") else problem.X.size
    sweeps = int(max(1, most_entries // max(1, order.size * stored // problem.n)))
    calls, out = (store, products, update), np.empty(1)
    sweep(*calls, order, problem.y, alpha, v, out, random, problem.bounds, tol, sweeps)
    return alpha
