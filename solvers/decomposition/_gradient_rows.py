"""The gradient from kernel rows, or from weights, for many multipliers at once.

Kept rows are used if they are long enough and exact. Others are computed without storing them: they would
replace the rows that the pairs use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import CACHE, row_of, span
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.example_tiles import part_end, products_together
from svmrepro.solvers.caches.feature_columns import PANEL
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.vector_loops import TILE
from svmrepro.solvers.decomposition._pair_state import CALLS, STATE
from svmrepro.solvers.storage.row_products import MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR


def signature(cache: Any) -> Any:
    """Return the signature of :func:`subtract_rows` for a type of cache."""
    return types.int64(
        VECTOR,
        cache,
        STORE,
        PANEL,
        *CALLS,
        types.int64[::1],
        VECTOR,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        VECTOR,
    )


@compiled()
def subtract_together(G, store, panel, shape, changes, count, first, last):
    """Subtract ``changes[r]`` times the row of the panel's ``mates[r]`` from G[first:last]."""
    mates, touched = panel.tiles.mates, 0
    while first < last:
        end = part_end(first, last)
        touched += products_together(panel, mates, count, first, end)
        part = G[first:end]
        for r in range(count):
            row, change = panel.tiles.dots[r, first % TILE :], changes[r]
            shape(store, panel, mates[r], first, end, row)
            for k in range(end - first):
                part[k] -= change * row[k]
        first = end
    return touched


@compiled(signature(CACHE))
def subtract_rows(G, cache, store, panel, block, shape, positions, changes, begin, last, at, work, row):
    """Subtract ``changes[k]`` times the kernel row of ``positions[k]`` from ``G[begin:last]``.

    The part of G and of the examples that a stretch of all these rows needs fits into the processor's caches,
    so that stretches are the outer loop.

    Parameters
    ----------
    at : int
        How many stretches of rows are done, 0 at first.
    work : int
        About how many entries may be read.
    row : ndarray, shape (STRETCH,)
        Workspace.

    Returns
    -------
    int
        How many stretches of rows are done; -1 when all are.
    """
    order, count, done = panel.order, positions.size, 0
    waiting, most = 0, panel.tiles.dots.shape[0]  # rows that are computed together
    while count > 0:
        first = begin + at // count * STRETCH
        if first >= last:
            return -1
        if waiting == 0 and done > 0 and done >= work:
            return at
        size = min(STRETCH, last - first)
        change, i = changes[at % count], np.int64(order[positions[at % count]])
        at += 1
        part, new = G[first : first + size], row[:size]
        slot = cache.slot_of[i]
        done += size
        exact = cache.packed.shape[0] == 0 or cache.packed.itemsize == 1
        touched = 0
        if exact and slot >= 0 and cache.have[slot] >= first + size:
            known = span(row_of(cache, panel, slot), first, size, new)[0]
            for k in range(size):
                part[k] -= change * known[k]
        elif most > 1:
            panel.tiles.mates[waiting], panel.tiles.worst[waiting] = i, change
            waiting += 1
        else:
            touched = block(store, panel, i, first, first + size, new)
            shape(store, panel, i, first, first + size, new)
            for k in range(size):
                part[k] -= change * new[k]
            cache.counts.entries += size
        if waiting == most or (waiting > 0 and at % count == 0):
            touched = subtract_together(
                G, store, panel, shape, panel.tiles.worst, waiting, first, first + size
            )
            cache.counts.entries += waiting * size
            waiting = 0
        done += touched
        cache.counts.touched += touched
    return -1


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
def restore_folded(state, G, store, products, update, order, begin, weights, row):
    """Recompute G from position ``begin`` on for a linear kernel, through one weight vector.

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
def move_folded(state, store, products, update, order, positions, changes, weights, row):
    """Do what :func:`subtract_rows` does for a linear kernel, through one weight vector of zeros."""
    G, m, touched = state.G, state.scalars.n_active, 0
    for k in range(positions.size):
        if changes[k] != 0.0:
            touched += update(store, np.int64(order[positions[k]]), changes[k], weights)
    touched += products(store, weights, order[:m], m, row)
    for k in range(m):
        G[k] -= row[k]
    return touched
