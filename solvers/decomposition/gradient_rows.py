"""The gradient from kernel rows, or from weights, for many multipliers at once.

Kept rows are used if they are long enough and exact. Others are computed without storing them: they would
replace the rows that the pairs use.
"""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import CACHE
from svmrepro.solvers.caches.feature_columns import PANEL, fill
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition.pair_state import CALLS, STATE
from svmrepro.solvers.storage.row_products import MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR


def restoring(cache):  # type: ignore[no-untyped-def]
    """Return the signature of :func:`restore_gradient` for a type of cache."""
    return types.int64(
        STATE, VECTOR, cache, STORE, PANEL, *CALLS, types.int64, types.int64, types.int64, VECTOR
    )


def moving(cache):  # type: ignore[no-untyped-def]
    """Return the signature of :func:`move_by_rows` for a type of cache."""
    return types.int64(
        STATE, cache, STORE, PANEL, *CALLS, types.int64[::1], VECTOR, types.int64, types.int64, VECTOR
    )


@compiled(restoring(CACHE))
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
        if cache.packed.shape[0] == 0 and slot >= 0 and cache.have[slot] >= n:
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


@compiled(moving(CACHE))
def move_by_rows(state, cache, store, panel, block, shape, positions, changes, at, work, row):  # type: ignore[no-untyped-def]
    """Subtract ``changes[k]`` times the kernel row of ``positions[k]`` from G, from k = ``at`` on.

    Return the k reached within about ``work`` entries. Rows that are not in the cache are computed into
    ``row``, because a polish would otherwise replace the rows that the pairs use.
    """
    G, order, m = state.G, panel.order, state.scalars.n_active
    done = 0
    while at < positions.size and done < work:
        change, i = changes[at], np.int64(order[positions[at]])
        at += 1
        if change == 0.0:
            continue
        done += m
        slot = cache.slot_of[i]
        if cache.packed.shape[0] == 0 and slot >= 0 and cache.have[slot] >= m:
            known = cache.rows[slot]
            for k in range(m):
                G[k] -= change * known[k]
            continue
        touched = fill(store, panel, block, shape, i, 0, m, row)
        for k in range(m):
            G[k] -= change * row[k]
        done += touched
        cache.counts.touched += touched
        cache.counts.entries += m
    return at


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


@compiled(
    types.int64(
        STATE,
        STORE,
        types.FunctionType(PRODUCTS),
        types.FunctionType(UPDATE),
        MEMBERS,
        types.int64[::1],
        VECTOR,
        VECTOR,
        VECTOR,
    )
)
def move_folded(state, store, products, update, order, positions, changes, weights, row):  # type: ignore[no-untyped-def]
    """Do the whole of :func:`move_by_rows` for a linear kernel, through one weight vector of zeros."""
    G, m, touched = state.G, state.scalars.n_active, 0
    for k in range(positions.size):
        if changes[k] != 0.0:
            touched += update(store, np.int64(order[positions[k]]), changes[k], weights)
    touched += products(store, weights, order[:m], m, row)
    for k in range(m):
        G[k] -= row[k]
    return touched
