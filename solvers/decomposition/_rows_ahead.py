"""Kernel rows computed before they are requested, together with one that is.

SMO requests the rows of the examples that violate the most, so that those that violate now are the next ones.
Computing several rows in one pass over the examples takes a third of the time of one after the other. But
some are never requested, and the cache grows for them: writing to new memory costs as much as a short row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.registry import cpu_target
from svmrepro.solvers.caches.active_set_rows import fetch
from svmrepro.solvers.caches.example_tiles import (
    copy,
    in_single_precision,
    part_end,
    powers_in_rows,
    powers_together,
    products_together,
)
from svmrepro.solvers.caches.feature_columns import Panel
from svmrepro.solvers.caches.lru import RowCache, claim
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded
from svmrepro.solvers.compilation.intrinsics import larger
from svmrepro.solvers.compilation.processor import lanes
from svmrepro.solvers.decomposition._fixed_gradient import is_fixed
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.vector_code.vector_loops import TILE, TOGETHER

_SPAN = 256
# By lanes of a vector register, as measured with AVX-512 and AVX2. With fewer, computing each row when it is
# requested takes less time.
_LEAST_FEATURES = {16: 28, 8: 64, 4: 16}


def looks_ahead(cache: RowCache, panel: Panel) -> bool:
    """Tell whether rows can be computed together, with enough room for them, and whether that pays."""
    whole = cache.rows.dtype != np.uint8 and not cache.packed.shape[0]
    together = panel.tiles.dots.shape[0] == TOGETHER
    pays = panel.tiles.used.size >= _LEAST_FEATURES[lanes(cpu_target.target_context, 32)]
    return bool(whole and together and pays and cache.owner.size >= 4 * TOGETHER)


def fetch_ahead(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, i: Any, m: Any, which: int
) -> int:
    """Perform :func:`~svmrepro.solvers.caches.active_set_rows.fetch`, and compute other rows as well."""
    if cache.packed.dtype == np.float32 and cache.rows.dtype != np.uint8:
        return int(_fetch_ahead(state, cache, store, panel, block, shape, i, m, which))
    return int(fetch(cache, store, panel, block, shape, i, m, which))


@overloaded(fetch_ahead)
def _fetch_ahead_of(state, cache, store, panel, block, shape, i, m, which):
    fields = dict(zip(cache.fields, cache.types, strict=True))
    if fields["packed"].dtype == types.float32 and fields["rows"].dtype != types.uint8:
        return lambda state, cache, store, panel, block, shape, i, m, which: _fetch_ahead(
            state, cache, store, panel, block, shape, i, m, which
        )
    return lambda state, cache, store, panel, block, shape, i, m, which: fetch(
        cache, store, panel, block, shape, i, m, which
    )


@compiled()
def _fetch_ahead(state, cache, store, panel, block, shape, i, m, which):
    slot = cache.slot_of[i]
    have = cache.have[slot] if slot >= 0 else 0
    if not state.scalars.rows_ahead or have >= m:
        return fetch(cache, store, panel, block, shape, i, m, which)
    slots = panel.tiles.slots
    count = claim_rows(state, cache, panel, i, have, m, slots)
    fill_together(cache, store, panel, shape, slots, count, have, m)
    return slots[0]


@compiled()
def claim_rows(state, cache, panel, i, have, m, slots):
    """Reserve slots for the row of i, and for those of the panel's ``mates``; return how many."""
    counts, mates = cache.counts, panel.tiles.mates
    count = next_rows(state, cache, panel, i, have, m)
    for r in range(count - 1, -1, -1):  # the requested row is the newest
        slots[r] = claim(cache, mates[r])
        counts.misses += 1
        counts.entries += m - have
        cache.have[slots[r]] = m
        cache.called[mates[r]] = counts.misses
    return count


@compiled()
def fill_together(cache, store, panel, shape, slots, count, first, m):
    """Fill the rows of the panel's ``mates`` from position ``first`` to m."""
    mates = panel.tiles.mates
    if panel.tiles.singles.shape[0]:
        cache.counts.touched += powers_in_rows(panel.tiles, mates, count, first, m, cache.rows, slots)
        return
    while first < m:
        last = part_end(first, m)
        if in_single_precision(panel.tiles):
            cache.counts.touched += powers_together(panel, mates, count, first, last)
            for r in range(count):
                copy(panel.tiles.powers[r, first % TILE :], cache.rows[slots[r], first:last])
        else:
            cache.counts.touched += products_together(panel, mates, count, first, last)
            for r in range(count):
                dots = panel.tiles.dots[r, first % TILE :]
                shape(store, panel, mates[r], first, last, dots)
                copy(dots, cache.rows[slots[r], first:last])
        first = last


@compiled(fastmath={"nnan", "nsz"})
def _excesses(G, status, middle, out):
    """Write how far the gradient of each example is on the wrong side of ``middle``; return the largest."""
    worst, allowed = np.float32(0.0), np.float32(-1.0)
    for k in range(G.size):
        excess = np.float32(G[k]) - middle
        rises = excess if (status[k] & UP) != 0 else allowed
        falls = -excess if (status[k] & DOWN) != 0 else allowed
        out[k] = larger(rises, falls)
        worst = larger(worst, out[k])
    return worst


@compiled()
def _next_rows(state, G, unit, cache, panel, i, have, m):
    order, mates, worst, excesses = panel.order, panel.tiles.mates, panel.tiles.worst, panel.tiles.powers[0]
    middle = np.float32(0.5 * (state.scalars.g_max + state.scalars.g_min) / unit)
    count, least = 1, np.float32(0.0)
    mates[0] = i
    for first in range(0, m, _SPAN):
        last = min(first + _SPAN, m)
        if not _excesses(G[first:last], state.status[first:last], middle, excesses) > least:
            continue
        for k in range(last - first):
            excess = excesses[k]
            if not excess > least:
                continue
            j = np.int64(order[first + k])
            slot = cache.slot_of[j]
            if j == i or (cache.have[slot] if slot >= 0 else 0) != have:
                continue
            count = min(count + 1, TOGETHER)
            r = count - 1
            while r > 1 and worst[r - 1] < excess:
                mates[r], worst[r] = mates[r - 1], worst[r - 1]
                r -= 1
            mates[r], worst[r] = j, excess
            least = np.float32(worst[TOGETHER - 1]) if count == TOGETHER else np.float32(0.0)
    return count


@compiled()
def _next_rows_of_fixed(state, cache, panel, i, have, m):
    fixed = state.screen
    if fixed.scalars.valid:
        return _next_rows(state, fixed.G, fixed.scalars.unit, cache, panel, i, have, m)
    return _next_rows(state, state.G, 1.0, cache, panel, i, have, m)


def next_rows(state: Any, cache: Any, panel: Any, i: int, have: int, m: int) -> int:
    """Write i and the examples that violate most to the panel's ``mates``; return how many.

    Only examples whose rows are as short as that of i are taken.
    """
    if is_fixed(state):
        return int(_next_rows_of_fixed(state, cache, panel, i, have, m))
    return int(_next_rows(state, state.G, 1.0, cache, panel, i, have, m))


@overloaded(next_rows)
def _next_rows_of(state, cache, panel, i, have, m):
    if is_fixed(state):
        return lambda state, cache, panel, i, have, m: _next_rows_of_fixed(state, cache, panel, i, have, m)
    return lambda state, cache, panel, i, have, m: _next_rows(state, state.G, 1.0, cache, panel, i, have, m)
