"""The kernel rows that Platt's SMO caches: K(x_i, .) over the examples that were ever between their bounds.

A step needs the rows of its two examples over the non-bound examples, a set that changes. An example gets a
*column* when it first comes between its bounds, and keeps it. A row holds every entry requested so far and
NaN elsewhere, so no entry is computed that the program would not compute without a cache. Rows have as many
entries as there are columns, rounded up to a power of two. When the columns run out, the rows are replaced by
half as many, twice as long and empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.caches import lru
from svmrepro.solvers.caches.lru import CACHE, RowCache, claim
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM
from svmrepro.solvers.storage.row_products import DOTS, MEMBERS, STORE, VECTOR

_FIRST_LENGTH = 1024
SPARE = 4  # columns that must be free before another example is examined


def first_cache(n: int, limit_bytes: float) -> RowCache:
    """Return a cache for n examples, with no storage if the limit is 0."""
    if limit_bytes <= 0.0:
        return lru.build_cache(0, 0.0, "double", least=0)
    # Pages are committed only when written: a small problem does not pay for the rest.
    room = np.empty(int(min(max(limit_bytes // 8, 2 * n), n * n)))
    return _cut(room, n, n if room.size == n * n else min(n, _FIRST_LENGTH))


def longer(cache: RowCache) -> RowCache:
    """Return an empty cache with rows twice as long in the same memory; the counts carry over."""
    n, room = cache.slot_of.size, cache.rows.base
    grown = _cut(room, n, min(n, 2 * cache.rows.shape[1]))
    grown.counts.hits, grown.counts.misses = cache.counts.hits, cache.counts.misses
    grown.counts.entries = cache.counts.entries
    return grown


def _cut(room: Any, n: int, length: int) -> RowCache:
    """Return a cache of rows of the given length over a block of memory."""
    slots = min(n, room.size // length)
    return lru.over(
        room[: slots * length].reshape(slots, length), np.empty((0, length), np.float32), n, slots
    )


@compiled(
    types.Tuple((types.int64, types.int64))(
        CACHE,
        types.int32[::1],
        types.int64,
        STORE,
        types.FunctionType(DOTS),
        types.FunctionType(TRANSFORM),
        types.int64,
        MEMBERS,
        types.int64,
        VECTOR,
        MEMBERS,
        VECTOR,
    )
)
def kept_row(cache, column, columns, store, dots, transform, i, members, m, out, lacking, fresh):
    """Write ``K(x_i, x_members[k])`` to ``out[k]`` for k < m; return entries computed and entries read.

    ``columns`` is the number of examples that have a column; the first m members are among them. ``lacking``
    and ``fresh`` are workspace.
    """
    slot = claim(cache, i)
    row = cache.rows[slot]
    for c in range(cache.have[slot], columns):
        row[c] = np.nan
    cache.have[slot] = columns
    missing = 0
    for k in range(m):
        value = row[column[members[k]]]
        out[k] = value
        if np.isnan(value):
            lacking[missing] = members[k]
            missing += 1
    touched = 0
    if missing:
        touched = dots(store, i, lacking, missing, fresh)
        transform(store, i, lacking, missing, fresh)
        at = 0
        for k in range(m):
            if at < missing and members[k] == lacking[at]:
                out[k] = fresh[at]
                row[column[members[k]]] = fresh[at]
                at += 1
    cache.counts.entries += missing
    cache.counts.hits += 1 if missing == 0 else 0
    cache.counts.misses += 1 if missing else 0
    return missing, touched
