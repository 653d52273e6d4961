"""Which kernel rows stay in a cache: least-recently-used replacement within a memory limit.

Writing to memory that is not in the processor's own caches takes longer than recomputing a cheap row. A cache
of cheap rows therefore starts at 2 MB, about the size of a core's own cache. It doubles, up to its limit, as
long as enough misses would have been hits in a cache of the largest size: one call in ten, and beyond 16 MB,
where its rows have to come from main memory, one in five.

Other rows are worth reading from main memory, but pages new from the system are slow to write. Their cache
starts at 256 MB, and doubles at one such miss in ten calls; see :mod:`svmrepro.solvers.caches.reused_memory`.

``functools.lru_cache`` cannot take its place: compiled loops ask for rows, which are slots of one array, may
be valid in part, and are limited in bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.caches import reused_memory
from svmrepro.solvers.compilation.compiled import compiled, direct
from svmrepro.solvers.compilation.records import zeroed

ENTRY_BYTES = {"double": 8, "single": 4, "rounded": 4, "byte": 1, "distance": 1}
_ROWS = {"byte": np.uint8, "rounded": np.float32}  # where entries are not double

_FIRST_BYTES, _FIRST_BYTES_CHEAP = 256 * 2**20, 2 * 2**20
_NEAR_BYTES = 16 * 2**20
_FIRST_ROWS = 16
# Double if more than one call in this many misses a row that the largest size would hold; second: for cheap
# rows beyond ``_NEAR_BYTES``.
_WORTH, _WORTH_FAR = 10, 5


class Counts:
    """Statistics of a cache."""

    hits: int
    misses: int
    entries: int  # row entries computed
    touched: int  # stored entries of examples read to compute them
    slots: int  # slots in the ring
    calls: int
    checked: int  # calls at the last check of the size
    near_misses: int  # misses since then that would be hits in a cache of the largest size
    worth_far: int  # beyond ``_NEAR_BYTES``, double if more than one call in this many is one of these


class RowCache(NamedTuple):
    """A cache of rows of the kernel matrix.

    Attributes
    ----------
    rows : ndarray of float64, float32 or uint8, shape (slots, length) or (least, length)
        The rows; if they are stored in ``packed``, those requested last.
    packed : ndarray of float32 or uint8, shape (slots, length) or (0, length)
        Rows in single precision, or squared distances of binary data.
    slot_of : ndarray of int64, shape (n,)
        Slot of an example's row, or -1.
    owner, have : ndarray of int64, shape (slots,)
        The example in a slot, and how many entries of its row are valid.
    newer, older : ndarray of int64, shape (slots + 1,)
        A ring of the slots by last use; the last entry is its anchor.
    called : ndarray of int64, shape (n,)
        The number of misses when an example's row was last requested; 0 if it never was.
    counts : Counts
        Statistics.
    """

    rows: Any
    packed: Any
    slot_of: Any
    owner: Any
    have: Any
    newer: Any
    older: Any
    called: Any
    counts: Counts


@compiled(types.void(*6 * (types.int64[::1],), types.int64))
def clear(newer, older, owner, have, slot_of, called, first):
    """Begin with an empty cache of which ``first`` slots are in use, taken in their order."""
    anchor = owner.size
    newer[:], older[:], owner[:], have[:], slot_of[:], called[:] = 0, 0, -1, 0, -1, 0
    for slot in range(first):
        newer[slot], older[slot] = slot + 1, slot - 1
    if first > 0:
        newer[first - 1], older[0] = anchor, anchor
    newer[anchor], older[anchor] = 0, first - 1


_clear = direct(clear)


def build_cache(
    n: int, limit_bytes: float, precision: str, *, cheap: bool = False, least: int = 2
) -> RowCache:
    """Return an empty cache of whole rows.

    Parameters
    ----------
    n : int
        Length of a row.
    limit_bytes : float
        Memory limit for the rows, in bytes.
    precision : {"double", "single", "rounded", "byte", "distance"}
        Precision of the entries: "single" is widened at each request, "rounded" is not. A byte holds an entry
        up to 255, or the distance that an entry depends on.
    cheap : bool
        Whether computing a row takes about as long as reading it from memory.
    least : int
        Minimum number of rows, whatever the limit: as many as are in use at once.
    """
    packs = precision in ("single", "distance")
    entry = ENTRY_BYTES[precision]
    slots = int(min(n, max(least, limit_bytes // (entry * max(n, 1)))))
    first_bytes = _FIRST_BYTES_CHEAP if cheap else _FIRST_BYTES
    first = min(slots, max(_FIRST_ROWS, least, first_bytes // (entry * max(n, 1))))
    packed_as, rows_as = np.uint8 if precision == "distance" else np.float32, _ROWS.get(precision, np.float64)
    if packs:  # the few rows in double precision are workspace, which must not take the kept memory
        rows, packed = np.empty((least, n), rows_as), reused_memory.empty((slots, n), packed_as)
    else:
        rows, packed = reused_memory.empty((slots, n), rows_as), np.empty((0, n), packed_as)
    return over(rows, packed, n, first, cheap=cheap)


def over(rows: Any, packed: Any, n: int, first: int, *, cheap: bool = False) -> RowCache:
    """Return an empty cache for n examples over given arrays, with ``first`` rows in use at first."""
    slots = packed.shape[0] or rows.shape[0]
    newer, older = np.empty((2, slots + 1), dtype=np.int64)
    owner, have = np.empty((2, slots), dtype=np.int64)
    slot_of, called = np.empty((2, n), dtype=np.int64)
    _clear(newer, older, owner, have, slot_of, called, first)
    counts = zeroed(Counts)
    counts.slots = first
    counts.worth_far = _WORTH_FAR if cheap else _WORTH
    return RowCache(
        rows=rows,
        packed=packed,
        slot_of=slot_of,
        owner=owner,
        have=have,
        newer=newer,
        older=older,
        called=called,
        counts=counts,
    )


CACHE = typeof(build_cache(2, 0.0, "double"))
#: The types of caches by the precision of their rows.
CACHES = {
    "double": CACHE,
    "single": CACHE,
    "rounded": typeof(build_cache(2, 0.0, "rounded")),
    "byte": typeof(build_cache(2, 0.0, "byte")),
    "distance": typeof(build_cache(2, 0.0, "distance")),
}


@compiled()
def grow(cache):
    """Double the ring if that would have avoided enough recent misses."""
    counts, newer, older = cache.counts, cache.newer, cache.older
    slots = counts.slots
    calls = counts.calls - counts.checked
    if slots == newer.size - 1 or calls < slots:
        return
    entry = cache.packed.itemsize if cache.packed.shape[0] else cache.rows.itemsize
    near = 2 * slots * cache.slot_of.size * entry <= _NEAR_BYTES
    if counts.near_misses * (_WORTH if near else counts.worth_far) > calls:
        anchor = newer.size - 1
        counts.slots = min(2 * slots, anchor)
        for slot in range(slots, counts.slots):  # insert as the oldest, so that it is taken next
            newer[slot], older[slot] = newer[anchor], anchor
            older[newer[anchor]] = slot
            newer[anchor] = slot
    counts.checked, counts.near_misses = counts.calls, 0


@compiled(forceinline=True)
def make_newest(newer, older, slot):
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
def claim(cache, i):
    """Return the slot of an example's row and make it the newest; on a miss the oldest row is evicted."""
    counts, newer, older = cache.counts, cache.newer, cache.older
    slot = cache.slot_of[i]
    counts.calls += 1
    if slot < 0:
        if cache.called[i] and counts.misses - cache.called[i] < newer.size - 1:
            counts.near_misses += 1
        grow(cache)
        slot = newer[newer.size - 1]  # the oldest
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
        cache.owner[slot] = i
        cache.have[slot] = 0
        cache.slot_of[i] = slot
    make_newest(newer, older, slot)
    return slot


@compiled()
def drop(cache, examples):
    """Forget the rows of some examples, whose slots are taken next."""
    newer, older = cache.newer, cache.older
    anchor = newer.size - 1
    for p in range(examples.size):
        slot = cache.slot_of[examples[p]]
        if slot < 0:
            continue
        cache.slot_of[examples[p]] = -1
        cache.owner[slot] = -1
        cache.have[slot] = 0
        newer[older[slot]], older[newer[slot]] = newer[slot], older[slot]
        newer[slot], older[slot] = newer[anchor], anchor
        older[newer[anchor]] = slot
        newer[anchor] = slot


@compiled()
def forget(cache):
    """Empty the cache."""
    for slot in range(cache.owner.size):
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
            cache.owner[slot] = -1
            cache.have[slot] = 0
