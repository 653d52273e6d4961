"""Shrinking of the active set: which examples leave it, the change of order, and the way back."""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import CACHE
from svmrepro.solvers.caches.feature_columns import PANEL, exchange, fill
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition.pair_selection import DOWN, UP
from svmrepro.solvers.decomposition.pair_state import CALLS, STATE
from svmrepro.solvers.storage.row_products import MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR


@compiled()
def mark_leavers(state):  # type: ignore[no-untyped-def]
    """Mark the examples at a bound that violate with no active example; return how many.

    LIBSVM's rule (Fan, Chen and Lin 2005, section 4).
    """
    G, status, goes, m = state.G, state.status, state.goes, state.scalars.n_active
    top, bottom = state.scalars.g_max, state.scalars.g_min
    count = 0
    for k in range(m):
        leaves = (status[k] == DOWN and G[k] > top) or (status[k] == UP and G[k] < bottom)
        goes[k] = 1 if leaves else 0
        count += goes[k]
    state.scalars.leavers = count
    return count


@compiled(types.void(STATE, types.uint32[::1], types.int64[:, ::1]))
def rearrange_state(state, order, pairs):  # type: ignore[no-untyped-def]
    """Apply a change of order, see :func:`svmrepro.solvers.caches.feature_columns.exchanges`."""
    exchange(state.y, pairs)
    exchange(state.C, pairs)
    exchange(state.beta, pairs)
    exchange(state.G, pairs)
    exchange(state.diagonal, pairs)
    exchange(state.beta_then, pairs)
    exchange(state.G_then, pairs)
    exchange(state.status, pairs)
    exchange(order, pairs)
    for p in range(pairs.shape[0]):
        state.position[order[pairs[p, 0]]] = pairs[p, 0]
        state.position[order[pairs[p, 1]]] = pairs[p, 1]


@compiled(
    types.int64(STATE, VECTOR, CACHE, STORE, PANEL, *CALLS, types.int64, types.int64, types.int64, VECTOR)
)
def restore_gradient(state, G, cache, store, panel, block, shape, begin, j, work, row):  # type: ignore[no-untyped-def]
    """Continue recomputing G from position ``begin`` on, from its saved values and the changed multipliers.

    Parameters
    ----------
    G : ndarray, shape (n,)
        Output.
    begin : int
        The first position.
    j : int
        The multiplier to continue with, 0 at first.
    work : int
        About how many entries may be read.
    row : ndarray, shape (n,)
        Workspace.

    Returns
    -------
    int
        The multiplier to continue with; n when done.
    """
    n = state.y.size
    beta, beta_then, order = state.beta, state.beta_then, panel.order
    if j == 0:
        for k in range(begin, n):
            G[k] = state.G_then[k]
    done = 0
    while j < n and done < work:
        change = beta[j] - beta_then[j]
        j += 1
        if change == 0.0:
            continue
        i = np.int64(order[j - 1])
        slot = cache.slot_of[i]
        done += n - begin
        if cache.single.shape[0] == 0 and slot >= 0 and cache.have[slot] >= n:
            known = cache.rows[slot]
            for k in range(begin, n):
                G[k] -= change * known[k]
            continue
        touched = fill(store, panel, block, shape, i, begin, n, row)
        for k in range(begin, n):
            G[k] -= change * row[k]
        done += touched
        cache.counts.touched += touched
        cache.counts.entries += n - begin
    return j


@compiled(
    types.int64(
        STATE,
        VECTOR,
        STORE,
        types.FunctionType(PRODUCTS),
        types.FunctionType(UPDATE),
        MEMBERS,
        types.int64,
        VECTOR,
        VECTOR,
    )
)
def restore_folded(state, G, store, products, update, order, begin, weights, row):  # type: ignore[no-untyped-def]
    """Do the whole of :func:`restore_gradient` for a linear kernel, through one weight vector.

    The weight vector is the sum of the examples whose multipliers changed, times the changes. ``weights``,
    shape (d + 1,), and ``row``, shape (n,), are workspace. Returns the entries read.
    """
    n = state.y.size
    beta, beta_then = state.beta, state.beta_then
    for c in range(weights.size):
        weights[c] = 0.0
    touched = 0
    for j in range(n):
        change = beta[j] - beta_then[j]
        if change != 0.0:
            touched += update(store, np.int64(order[j]), change, weights)
    touched += products(store, weights, order[begin:], n - begin, row)
    for k in range(begin, n):
        G[k] = state.G_then[k] - row[k - begin]
    return touched
