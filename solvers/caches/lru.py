"""Which kernel rows are kept: slots in a ring by their last use, under a limit of bytes.

Fresh memory costs more than a cheap row that is computed again. A cache of cheap rows therefore begins with
16 MB, about what fits into a processor's own caches, and doubles, up to its limit, as long as rows come back
that it would still have at twice its size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import zeroed

ENTRY_BYTES = {"double": 8, "single": 4, "byte": 1}

_FIRST_BYTES = 16 * 2**20
_FIRST_ROWS = 16
_WORTH = 10  # doubles when one call in so many would so find its row


class Counts:
    """What a cache has done."""

    hits: int
    misses: int
    entries: int  # of rows computed
    touched: int  # stored entries of examples read for them
    used: int  # slots in use
    slots: int  # slots in the ring
    calls: int
    checked: int  # calls when the size was last looked at
    near_misses: int  # since then, misses that a cache of twice the size would have spared


class RowCache(NamedTuple):
    """Rows of the kernel matrix.

    Attributes
    ----------
    rows : ndarray of float64 or uint8, shape (slots, length) or (least, length)
        The rows; or, where they are kept in single precision, those last asked for.
    single : ndarray of float32, shape (slots, length) or (0, length)
        Rows in single precision.
    slot_of : ndarray of int64, shape (n,)
        Slot of an example's row, or -1.
    owner, have : ndarray of int64, shape (slots,)
        The example in a slot, and how many entries of its row are there.
    newer, older : ndarray of int64, shape (slots + 1,)
        A ring of the slots by last use; the last entry is its anchor.
    called : ndarray of int64, shape (n,)
        How many misses there had been when an example's row was last asked for; 0 if it never was.
    counts : Counts
        What it has done.
    """

    rows: Any
    single: Any
    slot_of: Any
    owner: Any
    have: Any
    newer: Any
    older: Any
    called: Any
    counts: Counts


def build_cache(
    n: int, limit_bytes: float, precision: str, *, cheap: bool = False, least: int = 2
) -> RowCache:
    """Return an empty cache of whole rows.

    Parameters
    ----------
    n : int
        Length of a row.
    limit_bytes : float
        Bytes that the rows may take.
    precision : {"double", "single", "byte"}
        Of the entries; bytes for whole numbers of at most 255.
    cheap : bool
        Whether a row is computed in about the time that memory takes, so that the cache begins small.
    least : int
        Rows that are kept in any case: as many as are in use at once.

    Returns
    -------
    RowCache
    """
    narrow = precision == "single"
    entry = ENTRY_BYTES[precision]
    slots = int(min(n, max(least, limit_bytes // (entry * max(n, 1)))))
    first = min(slots, max(_FIRST_ROWS, least, _FIRST_BYTES // (entry * n))) if cheap else slots
    rows, single = (
        np.empty((least if narrow else slots, n), np.uint8 if precision == "byte" else np.float64),
        np.empty((slots if narrow else 0, n), np.float32),
    )
    return over(rows, single, n, first)


def over(rows: Any, single: Any, n: int, first: int) -> RowCache:
    """Return an empty cache of n examples over given arrays, of which it begins with so many rows."""
    slots = single.shape[0] or rows.shape[0]
    newer, older = np.zeros((2, slots + 1), dtype=np.int64)
    ring = np.array([slots, *range(first)])  # oldest first: slots are taken in their order
    newer[ring], older[ring] = np.roll(ring, -1), np.roll(ring, 1)
    counts = zeroed(Counts)
    counts.slots = first
    return RowCache(
        rows=rows,
        single=single,
        slot_of=np.full(n, -1, dtype=np.int64),
        owner=np.full(slots, -1, dtype=np.int64),
        have=np.zeros(slots, dtype=np.int64),
        newer=newer,
        older=older,
        called=np.zeros(n, dtype=np.int64),
        counts=counts,
    )


CACHE = typeof(build_cache(2, 0.0, "double"))
BYTE_CACHE = typeof(build_cache(2, 0.0, "byte"))


@compiled()
def grow(cache):  # type: ignore[no-untyped-def]
    """Double the ring, if that would have spared enough misses of late."""
    counts, newer, older = cache.counts, cache.newer, cache.older
    slots = counts.slots
    calls = counts.calls - counts.checked
    if slots == newer.size - 1 or calls < slots:
        return
    if counts.near_misses * _WORTH > calls:
        anchor = newer.size - 1
        counts.slots = min(2 * slots, anchor)
        for slot in range(slots, counts.slots):  # as the oldest: the next to be taken
            newer[slot], older[slot] = newer[anchor], anchor
            older[newer[anchor]] = slot
            newer[anchor] = slot
    counts.checked, counts.near_misses = counts.calls, 0


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
def claim(cache, i):  # type: ignore[no-untyped-def]
    """Return the slot of an example's row, now the newest; the oldest row makes room where it has none."""
    counts, newer, older = cache.counts, cache.newer, cache.older
    slot = cache.slot_of[i]
    counts.calls += 1
    if slot < 0:
        if cache.called[i] and counts.misses - cache.called[i] < 2 * counts.slots:
            counts.near_misses += 1
        grow(cache)
        slot = newer[newer.size - 1]  # the oldest
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
        else:
            counts.used += 1
        cache.owner[slot] = i
        cache.have[slot] = 0
        cache.slot_of[i] = slot
    make_newest(newer, older, slot)
    return slot


@compiled()
def forget(cache):  # type: ignore[no-untyped-def]
    """Empty the cache."""
    for slot in range(cache.owner.size):
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
            cache.owner[slot] = -1
            cache.have[slot] = 0
    cache.counts.used = 0
