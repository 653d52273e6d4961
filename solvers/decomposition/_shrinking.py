"""Shrinking of the active set: which examples can leave it, and the change of order.

This is the rule of `second_order`; SVM-light's is ``mark_calm`` in `svmlight._iteration`.

Shrinking is due when `_second_order_iteration` says so, by its `WORTH`. `second_order` then removes the
marked examples; the way back is in `_gradient_reconstruction`.
"""

from __future__ import annotations

from numba import types
from svmrepro.solvers.caches.feature_columns import exchange
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import STATE


@compiled()
def mark_leavers(state):
    """Mark the examples at a bound that form a violating pair with no active example; return how many.

    LIBSVM's rule (Fan, Chen and Lin 2005, section 4).
    """
    G, status, goes, m = state.G, state.status, state.goes, state.scalars.n_active
    top, bottom = state.scalars.g_max, state.scalars.g_min
    count = 0
    for k in range(m):
        leaves = (status[k] == DOWN and G[k] > top) or (status[k] == UP and G[k] < bottom)
        goes[k] = 1 if leaves else 0
        count += 1 if leaves else 0
    state.scalars.leavers = count
    return count


@compiled(types.void(STATE, types.uint32[::1], types.int64[:, ::1]))
def rearrange_state(state, order, pairs):
    """Apply a change of order, see :func:`svmrepro.solvers.caches.feature_columns.exchanges`."""
    exchange(state.y, pairs)
    exchange(state.C, pairs)
    exchange(state.beta, pairs)
    exchange(state.G, pairs)
    exchange(state.diagonal, pairs)
    exchange(state.status, pairs)
    exchange(order, pairs)
    for p in range(pairs.shape[0]):
        state.position[order[pairs[p, 0]]] = pairs[p, 0]
        state.position[order[pairs[p, 1]]] = pairs[p, 1]
