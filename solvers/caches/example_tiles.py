"""Dot products of examples that are laid out in tiles, for one example or for several at once.

A tile holds 32 neighbours in the active order, feature by feature. Its products with an example are a block
of sums in registers, and it is read once for four examples: a row over all examples is otherwise limited by
the time that reading them takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from svmrepro.solvers.caches.example_levels import Levels, exchange_in_levels, level_products, level_tiles_of
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.vector_code.gaussian_tiles import gaussian_tiles, gaussian_tiles_of_four, powers
from svmrepro.solvers.vector_code.vector_loops import TILE, TOGETHER, dot_tiles, dot_tiles_of_four

PART = 1024  # entries of a row computed at a time: four rows fit into the first-level cache


class Tiles(NamedTuple):
    """Examples in tiles, as doubles, bytes or singles, and the workspace for rows computed together.

    Attributes
    ----------
    values : ndarray of float64, shape (tiles, d, TILE)
        Examples of any values; or empty.
    levels : ndarray of int8, shape (tiles, ceil(d / 4), TILE, 4)
        Examples of few values, see :mod:`svmrepro.solvers.caches.example_levels`; or empty.
    singles : ndarray of float32, shape (tiles, d, TILE)
        Examples scaled for a Gaussian kernel in single precision, see
        :mod:`svmrepro.solvers.caches.single_rows`; or empty.
    scaled : ndarray of float32, shape (n, d)
        The same in their original order; or empty.
    sums : ndarray of float64, shape (tiles * TILE,)
        Sums of their levels.
    scale : ndarray of float64, shape (4,)
        Their unit, their lowest level, and d; ``gamma log2 e`` for Gaussian rows in single precision, or 0.
    dots : ndarray of float64, shape (TOGETHER, PART), or (1, PART) if rows are computed one by one
        Workspace: parts of rows.
    part : ndarray of float64, shape (PART,)
        Workspace: part of a row before it is rounded.
    powers : ndarray of float32, shape (TOGETHER, PART)
        Workspace: parts of rows in single precision.
    own, own_levels : ndarray of float64, shape (d, TOGETHER), and of uint8, shape (ceil(d / 4), TOGETHER, 4)
        Workspace: the examples whose rows are computed.
    own_scaled : ndarray of float32, shape (d, TOGETHER)
        The same in single precision.
    used : ndarray of uint32, shape (d,)
        Workspace: features in which any of these is not 0.
    added : ndarray of float64, shape (TOGETHER,)
        Workspace: terms added to sums of levels.
    mates, slots, worst : ndarray of int64, int64, float64, shape (TOGETHER,)
        Workspace: numbers of these examples, slots of their rows, and violations.
    lines : ndarray of int64, shape (TOGETHER,)
        0, 1, ...: their rows in ``powers``.
    """

    values: Any
    levels: Any
    singles: Any
    scaled: Any
    sums: Any
    scale: Any
    dots: Any
    part: Any
    powers: Any
    own: Any
    own_levels: Any
    own_scaled: Any
    used: Any
    added: Any
    mates: Any
    slots: Any
    worst: Any
    lines: Any


def build_tiles(X: Any, levels: Levels | None = None, together: bool = True) -> Tiles:
    """Return examples, shape (n, d), in tiles: as bytes if they have levels.

    ``together``: whether rows can be computed together.
    """
    d = X.shape[1]
    values, bytes_, sums = np.zeros((0, 0, 0)), np.zeros((0, 0, 0, 0), dtype=np.int8), np.zeros(0)
    if levels is None:
        values = in_tiles(X)
    else:
        bytes_, sums = level_tiles_of(X, levels)
    return Tiles(
        values=values,
        levels=bytes_,
        singles=np.zeros((0, 0, 0), dtype=np.float32),
        scaled=np.zeros((0, 0), dtype=np.float32),
        sums=sums,
        scale=np.array([levels.unit, levels.lowest, d, 0.0] if levels else [1.0, 0.0, d, 0.0]),
        dots=np.zeros((TOGETHER if together else 1, PART)),
        part=np.zeros(PART),
        powers=np.zeros((TOGETHER, PART), dtype=np.float32),
        own=np.zeros((values.shape[1], TOGETHER)),
        own_levels=np.zeros((bytes_.shape[1], TOGETHER, 4), dtype=np.uint8),
        own_scaled=np.zeros((d, TOGETHER), dtype=np.float32),
        used=np.zeros(d, dtype=np.uint32),
        added=np.zeros(TOGETHER),
        mates=np.zeros(TOGETHER, dtype=np.int64),
        slots=np.zeros(TOGETHER, dtype=np.int64),
        worst=np.zeros(TOGETHER),
        lines=np.arange(TOGETHER, dtype=np.int64),
    )


def in_tiles(X: Any) -> Any:
    """Return examples, shape (n, d), as :class:`Tiles`' ``values``, padded with zeros."""
    n, d = X.shape
    tiles = np.zeros((-(-n // TILE), d, TILE), dtype=X.dtype)
    whole = n // TILE
    tiles[:whole] = X[: whole * TILE].reshape(whole, TILE, d).transpose(0, 2, 1)
    if n % TILE:
        tiles[whole, :, : n % TILE] = X[whole * TILE :].T
    return tiles


@compiled(types.void(types.float64[:, :, ::1], types.int64[::1], types.float64[:, :, ::1]))
def gather(values, examples, out):
    """Write the ``values`` of some examples to other tiles, padded with zeros."""
    count, d = examples.size, values.shape[1]
    for k in range(out.shape[0] * TILE):
        tile, place = k // TILE, k % TILE
        if k < count:
            i = examples[k]
            for f in range(d):
                out[tile, f, place] = values[i // TILE, f, i % TILE]
        else:
            out[tile, :, place] = 0.0


@compiled()
def copy(values, out):
    """Write values to an array, in its precision; a loop with an offset in its index would not vectorise."""
    for k in range(out.size):
        out[k] = values[k]


@compiled()
def products(panel, i, first, last, out):
    """Write ``x_i . x_order[k]`` to ``out[k - first]`` for first <= k < last; return entries read."""
    p, end = panel.at[i], panel.at[i + 1]
    features, values, dots = panel.features[p:end], panel.values[p:end], panel.tiles.dots
    at = first
    while at < last:
        tile = at // TILE
        stop = min(tile + PART // TILE, (last + TILE - 1) // TILE)
        dot_tiles(panel.tiles.values, tile, stop, features, values, end - p, dots)
        row, next_ = dots[0, at - tile * TILE :], min(stop * TILE, last)
        part = out[at - first : next_ - first]
        for k in range(next_ - at):
            part[k] = row[k]
        at = next_
    return (end - p) * (last - first)


@compiled()
def differences(panel, x, first, last, out):
    """Write ``-|x - x_order[k]|^2 / 2`` to ``out[k - first]`` for first <= k < last; return entries read."""
    out[: last - first] = 0.0
    at = first
    while at < last:
        tile = at // TILE
        next_ = min((tile + 1) * TILE, last)
        part = out[at - first : next_ - first]
        for c in range(x.size):
            own, column = x[c], panel.tiles.values[tile, c, at - tile * TILE :]
            for k in range(next_ - at):
                gap = own - column[k]
                part[k] += -0.5 * gap * gap
        at = next_
    return x.size * (last - first)


@compiled()
def _gather(panel, mates, count):
    """Write the features of up to four examples to the panel's workspace; return how many there are."""
    own, used = panel.tiles.own, panel.tiles.used
    at, features, values = panel.at, panel.features, panel.values
    own[:] = 0.0
    for r in range(count):
        for p in range(at[mates[r]], at[mates[r] + 1]):
            own[features[p], r] = values[p]
    size = 0
    for c in range(own.shape[0]):
        if own[c, 0] != 0.0 or own[c, 1] != 0.0 or own[c, 2] != 0.0 or own[c, 3] != 0.0:
            used[size] = c
            for r in range(TOGETHER):
                own[size, r] = own[c, r]
            size += 1
    return size


@compiled()
def products_together(panel, mates, count, first, last):
    """Write ``x_mates[r] . x_order[k]`` to ``dots[r, k - first // TILE * TILE]`` for first <= k < last.

    ``last`` is at most :func:`part_end` of ``first``, and ``count`` at most TOGETHER. Returns the entries
    that the rows would read one by one.
    """
    tiles, touched = panel.tiles, 0
    if tiles.levels.shape[0]:
        level_products(panel, mates, count, first, last)
    else:
        size, tile, stop = _gather(panel, mates, count), first // TILE, (last + TILE - 1) // TILE
        dot_tiles_of_four(tiles.values, tile, stop, tiles.used, tiles.own, size, tiles.dots)
    for r in range(count):
        touched += (panel.at[mates[r] + 1] - panel.at[mates[r]]) * (last - first)
    return touched


@compiled()
def in_single_precision(tiles):
    """Tell whether :func:`powers_together` computes the rows."""
    return tiles.singles.shape[0] > 0 or tiles.scale[3] > 0.0


@compiled()
def powers_together(panel, mates, count, first, last):
    """Perform :func:`products_together` for kernel values, in ``powers``."""
    tiles = panel.tiles
    if tiles.levels.shape[0]:
        return _powers_of_levels(panel, mates, count, first, last)
    own, tile, stop = tiles.own_scaled, first // TILE, (last + TILE - 1) // TILE
    _gather_scaled(tiles, mates, count)
    if count == 1:
        gaussian_tiles(tiles.singles, tile, stop, own, tiles.powers, tiles.lines, 0)
    else:
        gaussian_tiles_of_four(tiles.singles, tile, stop, own, tiles.powers, tiles.lines, 0)
    return count * (last - first) * own.shape[0]


@compiled(forceinline=True)
def _gather_scaled(tiles, mates, count):
    """Write the features of some examples in ``singles`` to the workspace, filled up with the last one."""
    for r in range(TOGETHER if count > 1 else 1):
        x = tiles.scaled[mates[min(r, count - 1)]]
        for c in range(x.size):
            tiles.own_scaled[c, r] = x[c]


@compiled(forceinline=True)
def powers_of_one(tiles, i, first, last, out):
    """Write the kernel values of example i, which are in ``singles``, to ``out[first:last]``; return entries.

    The tiles that lie in this part are written without a copy.
    """
    own, x, spare, row = tiles.own_scaled, tiles.scaled[i], tiles.powers, out.reshape(1, -1)
    for c in range(x.size):
        own[c, 0] = x[c]
    at = first
    while at < last:
        tile, whole = at // TILE, last // TILE
        if at % TILE == 0 and tile < whole:
            end = whole * TILE
            gaussian_tiles(tiles.singles, tile, whole, own, row, tiles.lines, at)
        else:
            end = min(tile * TILE + TILE, last)
            gaussian_tiles(tiles.singles, tile, tile + 1, own, spare, tiles.lines, 0)
            copy(spare[0, at % TILE :], out[at:end])
        at = end
    return (last - first) * x.size


@compiled()
def powers_in_rows(tiles, mates, count, first, last, rows, slots):
    """Perform :func:`powers_of_one` for some examples, whose rows are ``rows[slots[r]]``."""
    if count == 1:
        return powers_of_one(tiles, mates[0], first, last, rows[slots[0]])
    own, spare, at = tiles.own_scaled, tiles.powers, first
    _gather_scaled(tiles, mates, count)
    for r in range(count, TOGETHER):  # as the examples, so that the same values are written
        slots[r] = slots[count - 1]
    while at < last:
        tile, whole = at // TILE, last // TILE
        if at % TILE == 0 and tile < whole:
            end = whole * TILE
            gaussian_tiles_of_four(tiles.singles, tile, whole, own, rows, slots, at)
        else:
            end = min(tile * TILE + TILE, last)
            gaussian_tiles_of_four(tiles.singles, tile, tile + 1, own, spare, tiles.lines, 0)
            for r in range(count):
                copy(spare[r, at % TILE :], rows[slots[r], at:end])
        at = end
    return count * (last - first) * own.shape[0]


@compiled()
def _powers_of_levels(panel, mates, count, first, last):
    tiles, at = panel.tiles, panel.at
    touched = products_together(panel, mates, count, first, last)
    begin, gamma = first // TILE * TILE, tiles.scale[3]
    norms = panel.norms[begin:last]
    for r in range(count):
        own, i = 0.0, mates[r]
        for p in range(at[i], at[i + 1]):
            own += panel.values[p] * panel.values[p]
        dots, row = tiles.dots[r], tiles.powers[r]
        for k in range(norms.size):
            row[k] = gamma * (own + norms[k] - 2.0 * dots[k])
        powers(row, norms.size)
    return touched


@compiled()
def products_by_parts(panel, i, first, last, out):
    """Perform :func:`products` by :func:`products_together`."""
    mates, at, touched = panel.tiles.mates, first, 0
    mates[0] = i
    while at < last:
        next_ = part_end(at, last)
        touched += products_together(panel, mates, 1, at, next_)
        row, part = panel.tiles.dots[0, at % TILE :], out[at - first : next_ - first]
        for k in range(next_ - at):
            part[k] = row[k]
        at = next_
    return touched


@compiled()
def part_end(first, last):
    """Return where the part of rows that begins at ``first`` ends, at most ``last``."""
    return min(first // TILE * TILE + PART, last)


@compiled()
def exchange_in_tiles(tiles, pairs):
    """Exchange examples."""
    exchange_in_levels(tiles.levels, tiles.sums, pairs)
    _exchange(tiles.values, pairs)
    _exchange(tiles.singles, pairs)


@compiled()
def _exchange(values, pairs):
    if values.shape[0] == 0:
        return
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        one, other, u, v = values[a // TILE], values[b // TILE], a % TILE, b % TILE
        for c in range(values.shape[1]):
            one[c, u], other[c, v] = other[c, v], one[c, u]
