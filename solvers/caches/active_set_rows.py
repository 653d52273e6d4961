"""Least-recently-used cache of kernel rows, stored in the order of the active set.

A row is as long as the active set was at its last request; if the set has grown since, only the missing end
is computed. Entries are stored in double precision, or packed and unpacked at each request. In single
precision twice as many rows fit; a row is rounded before its first use, so that every use sees the same
matrix. For a Gaussian over binary data, the squared distances fit into bytes: writing a new row then takes an
eighth of the memory traffic. Replacement is in :mod:`svmrepro.solvers.caches.lru`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from svmrepro.solvers.caches.feature_columns import count_all, exchange, fill, fill_distances, look_up
from svmrepro.solvers.caches.lru import CACHE, RowCache, build_cache, claim, forget, make_newest
from svmrepro.solvers.compilation.compiled import compiled

__all__ = ["CACHE", "RowCache", "build_cache", "fetch", "forget", "kept", "rearrange_rows"]


def fill_row(store: Any, panel: Any, block: Any, shape: Any, i: int, first: int, last: int, out: Any) -> int:
    """Fill a row by ``count_all`` if its entries are bytes, else by ``fill``."""
    if out.dtype == np.uint8:
        return int(count_all(panel, i, first, last, out))
    return int(fill(store, panel, block, shape, i, first, last, out))


@overload(fill_row, inline="always")
def _fill_row(store, panel, block, shape, i, first, last, out):  # type: ignore[no-untyped-def]
    if out.dtype == types.uint8:
        return lambda store, panel, block, shape, i, first, last, out: count_all(panel, i, first, last, out)
    return lambda store, panel, block, shape, i, first, last, out: fill(
        store, panel, block, shape, i, first, last, out
    )


def fill_packed(
    store: Any, panel: Any, block: Any, shape: Any, i: int, first: int, last: int, packed: Any, wide: Any
) -> int:
    """Fill a packed row, from ``first`` to ``last``; ``wide`` is workspace. Return the entries read."""
    if packed.dtype == np.uint8:
        return int(fill_distances(panel, i, first, last, packed))
    return int(fill_rounded(store, panel, block, shape, i, first, last, packed, wide))


@overload(fill_packed, inline="always")
def _fill_packed(store, panel, block, shape, i, first, last, packed, wide):  # type: ignore[no-untyped-def]
    if packed.dtype == types.uint8:
        return lambda store, panel, block, shape, i, first, last, packed, wide: fill_distances(
            panel, i, first, last, packed
        )
    return lambda store, panel, block, shape, i, first, last, packed, wide: fill_rounded(
        store, panel, block, shape, i, first, last, packed, wide
    )


@compiled()
def fill_rounded(store, panel, block, shape, i, first, last, packed, wide):  # type: ignore[no-untyped-def]
    """Fill a row in single precision."""
    touched = fill_row(store, panel, block, shape, i, first, last, wide)
    for k in range(first, last):
        packed[k] = np.float32(wide[k])
    return touched


def unpack(panel: Any, packed: Any, m: int, wide: Any) -> None:
    """Write the first m entries of a packed row to ``wide``."""
    if packed.dtype == np.uint8:
        look_up(panel.table, packed, m, wide)
    else:
        widen(packed, m, wide)


@overload(unpack, inline="always")
def _unpack(panel, packed, m, wide):  # type: ignore[no-untyped-def]
    if packed.dtype == types.uint8:
        return lambda panel, packed, m, wide: look_up(panel.table, packed, m, wide)
    return lambda panel, packed, m, wide: widen(packed, m, wide)


@compiled()
def widen(packed, m, wide):  # type: ignore[no-untyped-def]
    """Write a row in single precision to one in double precision."""
    for k in range(m):
        wide[k] = np.float64(packed[k])


@compiled(forceinline=True)
def kept(cache, i, m):  # type: ignore[no-untyped-def]
    """Return the slot of a row that is complete and in double precision, like :func:`fetch`; -1 otherwise.

    For a small active set, passing all the arguments of :func:`fetch` takes longer than an iteration.
    """
    slot = cache.slot_of[i]
    if slot < 0 or cache.have[slot] < m or cache.packed.shape[0]:
        return -1
    counts = cache.counts
    counts.calls += 1
    counts.hits += 1
    cache.called[i] = counts.misses
    make_newest(cache.newer, cache.older, slot)
    return slot


@compiled()
def fetch(cache, store, panel, block, shape, i, m, which):  # type: ignore[no-untyped-def]
    """Make ``cache.rows[r, :m]`` the row K(x_i, x_order[k]), k < m, and return r.

    The row stays valid until ``least`` other rows have been requested (see ``build_cache``). If rows are
    packed, r is ``which``, a number below ``least``.
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
    packed, wide = cache.packed[slot], cache.rows[which]
    if have < m:
        counts.touched += fill_packed(store, panel, block, shape, i, have, m, packed, wide)
    unpack(panel, packed, m, wide)
    return np.int64(which)


def signature(cache):  # type: ignore[no-untyped-def]
    """Return the signature of :func:`rearrange_rows` for a type of cache."""
    return types.void(cache, types.int64[:, ::1])


@compiled(signature(CACHE))
def rearrange_rows(cache, pairs):  # type: ignore[no-untyped-def]
    """Apply a change of order to all rows, see :func:`svmrepro.solvers.caches.feature_columns.exchanges`.

    If an exchange would move an entry from the missing end of a row into its known part, the row is cut off
    before that entry.
    """
    for slot in range(cache.owner.size):
        have = cache.have[slot]
        if cache.owner[slot] < 0:
            continue
        count = 0
        for p in range(pairs.shape[0]):
            if pairs[p, 1] >= have:
                have = min(have, pairs[p, 0])
                break
            count += 1
        cache.have[slot] = have
        if cache.packed.shape[0]:
            exchange(cache.packed[slot], pairs[:count])
        else:
            exchange(cache.rows[slot], pairs[:count])
