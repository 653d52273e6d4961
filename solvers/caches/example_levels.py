"""Examples whose values are few multiples of a unit, as bytes: pixels, counts, grades.

A dot product of such examples is a sum of integers, exact, and takes an eighth of the memory that doubles do.
With levels ``q = x / unit - lowest`` in 0 .. 255, of d features,

    x.z / unit^2 = sum_c q_c(x) q_c(z) + lowest (sum_c q_c(x) + sum_c q_c(z)) + d lowest^2

The processor's instruction multiplies unsigned by signed bytes, so that 128 is subtracted from the levels in
the tiles: the first sum is ``sum_c q_c(x) (q_c(z) - 128) + 128 sum_c q_c(x)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.vector_code.vector_loops import TILE, features_for_bytes, level_tiles

_MOST = 255
_MOST_FEATURES = 2**31 // (128 * 256)  # sums of products of bytes fit into 32 bits
_ROUNDING = 4 * np.finfo(np.float64).eps


class Levels(NamedTuple):
    """How values are made of levels: ``unit * (level + lowest)``, level in 0 .. 255."""

    unit: float
    lowest: int


def find_levels(values: Any, features: int) -> Levels | None:
    """Return the levels that make up values and zero; None if there are none, or they would not pay off.

    Each value is a level to within four units of rounding.
    """
    if not features_for_bytes() <= features <= _MOST_FEATURES or not values.size:
        return None
    some = np.unique(values.ravel()[:: max(values.size // 4096, 1)])
    if some.size > _MOST + 1:
        return None
    each = np.union1d(np.unique(values), [0.0])
    if not 2 <= each.size <= _MOST + 1:
        return None
    largest = float(np.abs(each).max())
    gap = float(np.diff(each).min())
    for unit in (gap, 1.0):
        if not largest <= 2 * _MOST * unit:
            continue
        unit = largest / max(round(largest / unit), 1)  # a gap has lost digits
        multiples = np.rint(each / unit)
        exact = np.abs(each - multiples * unit) <= _ROUNDING * np.abs(each)
        if exact.all() and multiples.max() - multiples.min() <= _MOST:
            return Levels(unit, int(multiples.min()))
    return None


def level_tiles_of(X: Any, levels: Levels) -> tuple[Any, Any]:
    """Return examples, shape (n, d), as tiles of bytes, and the sum of each example's levels.

    Returns
    -------
    tiles : ndarray of int8, shape (ceil(n / TILE), ceil(d / 4), TILE, 4)
        Levels less 128.
    sums : ndarray of float64, shape (ceil(n / TILE) * TILE,)
    """
    n, d = X.shape
    count, groups = -(-n // TILE), -(-d // 4)
    tiles = np.empty((count, groups, TILE, 4), dtype=np.int8)
    sums = np.zeros(count * TILE)
    for t in range(count):  # the levels of all examples would take eight times the memory
        part = np.zeros((TILE, 4 * groups))
        here = X[t * TILE : (t + 1) * TILE]
        part[: len(here), :d] = np.rint(here / levels.unit) - levels.lowest
        sums[t * TILE : (t + 1) * TILE] = part.sum(axis=1)
        tiles[t] = (part - 128).reshape(TILE, groups, 4).transpose(1, 0, 2)
    return tiles, sums


@compiled()
def _gather(panel, mates, count):
    """Write the levels of up to four examples, and the terms to add to their sums, to the workspace.

    Returns the number of groups of features in which one of them is not 0.
    """
    tiles = panel.tiles
    own, used, added = tiles.own_levels, tiles.used, tiles.added
    unit, lowest, d = tiles.scale[0], tiles.scale[1], np.int64(tiles.scale[2])
    base, groups, rows = np.uint8(-lowest), own.shape[0], own.shape[1]
    own[:] = 0
    if base:
        for c in range(d):
            for r in range(count):
                own[c // 4, r, c % 4] = base
    for r in range(count):
        i, total = mates[r], np.float64(d) * base
        for p in range(panel.at[i], panel.at[i + 1]):
            feature, level = np.int64(panel.features[p]), np.rint(panel.values[p] / unit) - lowest
            own[feature // 4, r, feature % 4] = np.uint8(level)
            total += level - base
        added[r] = (128.0 + lowest) * total + d * lowest * lowest
    size = 0
    for g in range(groups):
        anything = False
        for r in range(rows):
            for b in range(4):
                anything |= own[g, r, b] != 0
        if anything:
            used[size] = g
            for r in range(rows):
                for b in range(4):
                    own[size, r, b] = own[g, r, b]
            size += 1
    return size


@compiled()
def level_products(panel, mates, count, first, last):
    """Perform :func:`~svmrepro.solvers.caches.example_tiles.products_together` for bytes."""
    tiles = panel.tiles
    tile, stop = first // TILE, (last + TILE - 1) // TILE
    size = _gather(panel, mates, count)
    level_tiles(tiles.levels, tile, stop, tiles.used, tiles.own_levels, size, tiles.dots)
    square, lowest = tiles.scale[0] * tiles.scale[0], tiles.scale[1]
    sums = tiles.sums[tile * TILE : stop * TILE]
    for r in range(count):
        row, added = tiles.dots[r], tiles.added[r]
        for k in range(sums.size):
            row[k] = square * (row[k] + (added + lowest * sums[k]))


@compiled()
def exchange_in_levels(tiles, sums, pairs):
    """Exchange examples."""
    if tiles.shape[0] == 0:
        return
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        sums[a], sums[b] = sums[b], sums[a]
        one, other, u, v = tiles[a // TILE], tiles[b // TILE], a % TILE, b % TILE
        for g in range(tiles.shape[1]):
            for c in range(4):
                one[g, u, c], other[g, v, c] = other[g, v, c], one[g, u, c]
