"""Least-recently-used cache of kernel rows, kept in the order of the active set.

A row is as long as the active set was when it was last asked for; where the set has grown since,
only the missing end is computed. Entries are kept in double precision, or in single, which holds
twice as many rows; a row is then rounded before its first use, so that every use sees one matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.panel import fill, partition

# Positions in ``RowCache.counts``.
HITS, MISSES, ENTRIES, TOUCHED, USED = range(5)


class RowCache(NamedTuple):
    """Rows of the kernel matrix.

    Attributes
    ----------
    rows : ndarray of float64, shape (slots, n) or (2, n)
        The rows; or, where they are kept in single precision, the two last asked for.
    single : ndarray of float32, shape (slots, n) or (0, n)
        Rows in single precision.
    slot_of : ndarray of int64, shape (n,)
        Slot of an example's row, or -1.
    owner, have : ndarray of int64, shape (slots,)
        The example in a slot, and how many entries of its row are there.
    newer, older : ndarray of int64, shape (slots + 1,)
        A ring of the slots by last use; the last entry is its anchor.
    counts : ndarray of int64, shape (5,)
        Hits, misses, entries computed, stored entries of examples read for them, slots in use.
    """

    rows: Any
    single: Any
    slot_of: Any
    owner: Any
    have: Any
    newer: Any
    older: Any
    counts: Any


def build_cache(n: int, limit_bytes: float, precision: str) -> RowCache:
    """Return an empty cache.

    Parameters
    ----------
    n : int
        Length of a row.
    limit_bytes : float
        Bytes that the rows may take; two rows are kept in any case.
    precision : {"double", "single"}
        Of the entries.

    Returns
    -------
    RowCache
    """
    narrow = precision == "single"
    slots = int(min(n, max(2, limit_bytes // ((4 if narrow else 8) * n))))
    ring = np.arange(slots + 1, dtype=np.int64)
    return RowCache(
        rows=np.empty((2 if narrow else slots, n)),
        single=np.empty((slots if narrow else 0, n), dtype=np.float32),
        slot_of=np.full(n, -1, dtype=np.int64),
        owner=np.full(slots, -1, dtype=np.int64),
        have=np.zeros(slots, dtype=np.int64),
        # Oldest first: slots are taken in their order.
        newer=np.roll(ring, -1),
        older=np.roll(ring, 1),
        counts=np.zeros(5, dtype=np.int64),
    )


CACHE = typeof(build_cache(2, 0.0, "double"))


@compiled()
def fetch(cache, store, panel, block, shape, i, m, which):  # type: ignore[no-untyped-def]
    """See to it that ``cache.rows[r, :m]`` is K(x_i, x_order[k]) for k < m; return r.

    It holds until the second fetch after this one. ``which`` (0 or 1) is r where rows are kept in single
    precision.
    """
    counts, newer, older = cache.counts, cache.newer, cache.older
    anchor = newer.size - 1
    slot = cache.slot_of[i]
    if slot < 0:
        slot = newer[anchor]  # the oldest
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
        else:
            counts[USED] += 1
        cache.owner[slot] = i
        cache.have[slot] = 0
        cache.slot_of[i] = slot
    # Last in the ring: the newest.
    newer[older[slot]] = newer[slot]
    older[newer[slot]] = older[slot]
    last = older[anchor]
    newer[last] = slot
    older[slot] = last
    newer[slot] = anchor
    older[anchor] = slot
    have = cache.have[slot]
    if have >= m:
        counts[HITS] += 1
    else:
        counts[MISSES] += 1
        counts[ENTRIES] += m - have
        cache.have[slot] = m
    if cache.single.shape[0] == 0:
        if have < m:
            counts[TOUCHED] += fill(store, panel, block, shape, i, have, m, cache.rows[slot])
        return slot
    narrow, wide = cache.single[slot], cache.rows[which]
    if have < m:
        counts[TOUCHED] += fill(store, panel, block, shape, i, have, m, wide)
        for k in range(have, m):
            narrow[k] = np.float32(wide[k])
    for k in range(m):
        wide[k] = np.float64(narrow[k])
    return np.int64(which)


@compiled(types.void(CACHE, types.uint8[::1], types.int64, types.float64[::1], types.float32[::1]))
def rearrange_rows(cache, goes, m, scratch, scratch32):  # type: ignore[no-untyped-def]
    """Follow a change of order, see :func:`svmrepro.solvers.panel.rearrange`."""
    for slot in range(cache.owner.size):
        if cache.owner[slot] < 0:
            continue
        have = min(cache.have[slot], m)
        if cache.single.shape[0]:
            kept = partition(cache.single[slot], goes, have, scratch32)
        else:
            kept = partition(cache.rows[slot], goes, have, scratch)
        if cache.have[slot] < m:
            cache.have[slot] = kept  # those that left went behind entries that the row does not have
