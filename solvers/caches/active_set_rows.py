"""Least-recently-used cache of kernel rows, stored in the order of the active set.

A row is as long as the active set was at its last request; if the set has grown since, only the missing end
is computed. Entries are stored in double precision, or packed. In single precision twice as many rows fit; a
row is rounded before its first use, so that every use sees the same matrix, and widened at each request. For
a Gaussian over binary data, the squared distances fit into bytes, an eighth of the memory traffic. The
solvers' scans look them up, a span at a time. Replacement is in :mod:`svmrepro.solvers.caches.lru`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.caches.feature_columns import count_all, exchange, fill, fill_distances, look_up
from svmrepro.solvers.caches.lru import claim, make_newest
from svmrepro.solvers.caches.single_rows import fill_single
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded


def fill_row(store: Any, panel: Any, block: Any, shape: Any, i: int, first: int, last: int, out: Any) -> int:
    """Fill a row by ``count_all``, ``fill_single`` or ``fill``, as the type of its entries requires."""
    if out.dtype == np.uint8:
        return int(count_all(panel, i, first, last, out))
    of = fill_single if out.dtype == np.float32 else fill
    return int(of(store, panel, block, shape, i, first, last, out))


@overloaded(fill_row)
def _fill_row(store, panel, block, shape, i, first, last, out):
    if out.dtype == types.uint8:
        return lambda store, panel, block, shape, i, first, last, out: count_all(panel, i, first, last, out)
    of = fill_single if out.dtype == types.float32 else fill
    return lambda store, panel, block, shape, i, first, last, out: of(
        store, panel, block, shape, i, first, last, out
    )


@compiled()
def fill_rounded(store, panel, block, shape, i, first, last, packed, wide):
    """Fill a row in single precision; ``wide`` is workspace."""
    touched = fill_row(store, panel, block, shape, i, first, last, wide)
    for k in range(first, last):
        packed[k] = np.float32(wide[k])
    return touched


@compiled()
def widen(packed, m, wide):
    """Write a row in single precision to one in double precision."""
    for k in range(m):
        wide[k] = np.float64(packed[k])


# numba returns views without reference counts only within a tuple.


def row_of(cache: Any, panel: Any, slot: int) -> Any:
    """Return the row of a slot for :func:`entry` and :func:`span`: entries, or distances and their table."""
    return (cache.packed[slot], panel.table) if cache.packed.dtype == np.uint8 else (cache.rows[slot],)


@overloaded(row_of)
def _row_of(cache, panel, slot):
    if cache.types[cache.fields.index("packed")].dtype == types.uint8:
        return lambda cache, panel, slot: (cache.packed[slot], panel.table)
    return lambda cache, panel, slot: (cache.rows[slot],)


def entry(row: Any, k: int) -> Any:
    """Return an entry of a row."""
    return row[0][k] if len(row) == 1 else row[1][row[0][k]]


@overloaded(entry)
def _entry(row, k):
    return (lambda row, k: row[0][k]) if len(row) == 1 else (lambda row, k: row[1][row[0][k]])


def span(row: Any, first: int, size: int, wide: Any) -> Any:
    """Return some consecutive entries of a row, as a tuple of one; distances are looked up into ``wide``."""
    if len(row) == 1:
        return (row[0][first : first + size],)
    look_up(row[1], row[0][first : first + size], size, wide)
    return (wide[:size],)


@overloaded(span)
def _span(row, first, size, wide):
    def looked_up(row, first, size, wide):
        look_up(row[1], row[0][first : first + size], size, wide)
        return (wide[:size],)

    return (lambda row, first, size, wide: (row[0][first : first + size],)) if len(row) == 1 else looked_up


@compiled(forceinline=True)
def kept(cache, i, m):
    """Return the slot of a row that is complete and needs no widening, like :func:`fetch`; -1 otherwise.

    For a small active set, passing all the arguments of :func:`fetch` takes longer than an iteration.
    """
    slot = cache.slot_of[i]
    if slot < 0 or cache.have[slot] < m or (cache.packed.shape[0] and cache.packed.itemsize > 1):
        return -1
    counts = cache.counts
    counts.calls += 1
    counts.hits += 1
    cache.called[i] = counts.misses
    make_newest(cache.newer, cache.older, slot)
    return slot


@compiled()
def fetch(cache, store, panel, block, shape, i, m, which):
    """Cache the row K(x_i, x_order[k]), k < m; return its slot, for :func:`row_of`.

    The row stays valid until ``least`` other rows have been requested (see ``build_cache``). In single
    precision the slot is ``which``, a number below ``least``.
    """
    counts = cache.counts
    slot = claim(cache, i)
    have = cache.have[slot]
    if have >= m:
        counts.hits += 1
    else:
        counts.misses += 1
        counts.entries += m - have
        cache.have[slot] = m
    cache.called[i] = counts.misses
    if cache.packed.shape[0] == 0:
        if have < m:
            counts.touched += fill_row(store, panel, block, shape, i, have, m, cache.rows[slot])
        return slot
    packed = cache.packed[slot]
    if cache.packed.itemsize == 1:
        if have < m:
            counts.touched += fill_distances(panel, i, have, m, packed)
        return slot
    wide = cache.rows[which]
    if have < m:
        counts.touched += fill_rounded(store, panel, block, shape, i, have, m, packed, wide)
    widen(packed, m, wide)
    return np.int64(which)


@compiled()
def rearrange_slots(cache, pairs, first, last):
    """Apply :func:`rearrange_rows` to some of the slots."""
    for slot in range(first, last):
        have = cache.have[slot]
        if cache.owner[slot] < 0:
            continue
        if pairs.shape[0] and pairs[0, 1] >= have:  # the second places descend
            cache.have[slot] = min(have, pairs[0, 0])
        elif cache.packed.shape[0]:
            exchange(cache.packed[slot], pairs)
        else:
            exchange(cache.rows[slot], pairs)


def signature(cache: Any) -> Any:
    """Return the signature of :func:`rearrange_rows` for a type of cache."""
    return types.void(cache, types.int64[:, ::1])


@compiled()
def rearrange_rows(cache, pairs):
    """Apply a change of order to all rows, see :func:`svmrepro.solvers.caches.feature_columns.exchanges`.

    If an exchange would move an entry from the missing end of a row into its known part, the row is cut off
    before that entry.
    """
    rearrange_slots(cache, pairs, 0, cache.owner.size)
