"""Least-recently-used cache of kernel rows, kept in the order of the active set.

A row is as long as the active set was when it was last asked for; where the set has grown since,
only the missing end is computed. Entries are kept in double precision, or in single, which holds
twice as many rows; a row is then rounded before its first use, so that every use sees one matrix.

Fresh memory costs more than a cheap row that is computed again. A cache of cheap rows therefore begins with
16 MB, about what fits into a processor's own caches, and doubles, up to its limit, as long as rows come back
that it would still have at twice its size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.panel import exchange, fill

# Positions in ``RowCache.counts``.
HITS, MISSES, ENTRIES, TOUCHED, USED, SLOTS, CALLS, CHECKED, NEAR = range(9)

_FIRST_BYTES = 16 * 2**20
_FIRST_ROWS = 16
_WORTH = 10  # doubles when one call in so many would so find its row


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
    called : ndarray of int64, shape (n,)
        How many misses there had been when an example's row was last asked for; 0 if it never was.
    counts : ndarray of int64, shape (9,)
        Hits, misses, entries computed, stored entries of examples read for them, slots in use; slots in the
        ring, calls, calls when the size was last looked at, misses since then that a cache of twice the size
        would have spared.
    """

    rows: Any
    single: Any
    slot_of: Any
    owner: Any
    have: Any
    newer: Any
    older: Any
    called: Any
    counts: Any


def build_cache(n: int, limit_bytes: float, precision: str, *, cheap: bool = False) -> RowCache:
    """Return an empty cache.

    Parameters
    ----------
    n : int
        Length of a row.
    limit_bytes : float
        Bytes that the rows may take; two rows are kept in any case.
    precision : {"double", "single"}
        Of the entries.
    cheap : bool
        Whether a row is computed in about the time that memory takes, so that the cache begins small.

    Returns
    -------
    RowCache
    """
    narrow = precision == "single"
    entry = 4 if narrow else 8
    slots = int(min(n, max(2, limit_bytes // (entry * n))))
    first = min(slots, max(_FIRST_ROWS, _FIRST_BYTES // (entry * n))) if cheap else slots
    newer, older = np.zeros((2, slots + 1), dtype=np.int64)
    ring = np.array([slots, *range(first)])  # oldest first: slots are taken in their order
    newer[ring], older[ring] = np.roll(ring, -1), np.roll(ring, 1)
    counts = np.zeros(9, dtype=np.int64)
    counts[SLOTS] = first
    return RowCache(
        rows=np.empty((2 if narrow else slots, n)),
        single=np.empty((slots if narrow else 0, n), dtype=np.float32),
        slot_of=np.full(n, -1, dtype=np.int64),
        owner=np.full(slots, -1, dtype=np.int64),
        have=np.zeros(slots, dtype=np.int64),
        newer=newer,
        older=older,
        called=np.zeros(n, dtype=np.int64),
        counts=counts,
    )


CACHE = typeof(build_cache(2, 0.0, "double"))


@compiled()
def grow(cache):  # type: ignore[no-untyped-def]
    """Double the ring, if that would have spared enough misses of late."""
    counts, newer, older = cache.counts, cache.newer, cache.older
    slots = counts[SLOTS]
    calls = counts[CALLS] - counts[CHECKED]
    if slots == newer.size - 1 or calls < slots:
        return
    if counts[NEAR] * _WORTH > calls:
        anchor = newer.size - 1
        counts[SLOTS] = min(2 * slots, anchor)
        for slot in range(slots, counts[SLOTS]):  # as the oldest: the next to be taken
            newer[slot], older[slot] = newer[anchor], anchor
            older[newer[anchor]] = slot
            newer[anchor] = slot
    counts[CHECKED], counts[NEAR] = counts[CALLS], 0


@compiled(forceinline=True)
def make_newest(newer, older, slot):  # type: ignore[no-untyped-def]
    """Move a slot to the end of the ring."""
    anchor = newer.size - 1
    newer[older[slot]] = newer[slot]
    older[newer[slot]] = older[slot]
    last = older[anchor]
    newer[last] = slot
    older[slot] = last
    newer[slot] = anchor
    older[anchor] = slot


@compiled(forceinline=True)
def kept(cache, i, m):  # type: ignore[no-untyped-def]
    """Do what :func:`fetch` does where the row is there in double precision; return its slot, or -1.

    Where few examples are active, a call that hands on all the arrays takes longer than an iteration.
    """
    slot = cache.slot_of[i]
    if slot < 0 or cache.have[slot] < m or cache.single.shape[0]:
        return -1
    counts = cache.counts
    counts[CALLS] += 1
    counts[HITS] += 1
    cache.called[i] = counts[MISSES]
    make_newest(cache.newer, cache.older, slot)
    return slot


@compiled()
def fetch(cache, store, panel, block, shape, i, m, which):  # type: ignore[no-untyped-def]
    """See to it that ``cache.rows[r, :m]`` is K(x_i, x_order[k]) for k < m; return r.

    It holds until the second fetch after this one. ``which`` (0 or 1) is r where rows are kept in single
    precision.
    """
    counts, newer, older = cache.counts, cache.newer, cache.older
    anchor = newer.size - 1
    slot = cache.slot_of[i]
    counts[CALLS] += 1
    if slot < 0:
        if cache.called[i] and counts[MISSES] - cache.called[i] < 2 * counts[SLOTS]:
            counts[NEAR] += 1
        grow(cache)
        slot = newer[anchor]  # the oldest
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
        else:
            counts[USED] += 1
        cache.owner[slot] = i
        cache.have[slot] = 0
        cache.slot_of[i] = slot
    make_newest(newer, older, slot)
    have = cache.have[slot]
    if have >= m:
        counts[HITS] += 1
    else:
        counts[MISSES] += 1
        counts[ENTRIES] += m - have
        cache.have[slot] = m
    cache.called[i] = counts[MISSES]
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


@compiled(types.void(CACHE, types.int64[:, ::1]))
def rearrange_rows(cache, pairs):  # type: ignore[no-untyped-def]
    """Follow a change of order, see :func:`svmrepro.solvers.panel.exchanges`.

    A row that lacks its end keeps what stands before the first place that an entry of that end would take.
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
        if cache.single.shape[0]:
            exchange(cache.single[slot], pairs[:count])
        else:
            exchange(cache.rows[slot], pairs[:count])
