"""The gradient from kernel rows, or from weights, for many multipliers at once.

Kept rows are used if they are long enough and exact. Others are computed without storing them: they would
replace the rows that the pairs use.

Rows of distances can be summed in fixed point, a few at a time: the factor times each kernel value is rounded
once, to a unit in which their sum has 31 bits, and looked up by distance in registers. That takes half the
time of looking up and subtracting numbers in double precision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import row_of, span
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.example_tiles import (
    in_single_precision,
    part_end,
    powers_together,
    products_together,
)
from svmrepro.solvers.caches.feature_columns import PANEL, distances_from, values_from_distances
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded
from svmrepro.solvers.decomposition._pair_state import CALLS
from svmrepro.solvers.storage.row_products import MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR
from svmrepro.solvers.vector_code import fixed_point
from svmrepro.solvers.vector_code.vector_loops import TILE

TOGETHER = 8  # rows that are summed in fixed point
_MOST = 2.0**31 * (1.0 - 2.0**-10)  # units that their sum may have
_LEAST = -1000  # exponent of a unit, whose inverse has to be a number
_DISTANCES = 256


def signature(cache: Any) -> Any:
    """Return the signature of :func:`subtract_rows` for a type of cache."""
    return types.int64(
        VECTOR,
        cache,
        STORE,
        PANEL,
        *CALLS,
        types.int64[::1],
        VECTOR,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        VECTOR,
        types.boolean,
    )


def round_as(rows: Any, row: Any) -> None:
    """Round a part of a row as the kept ``rows`` are, in place: every use sees the same matrix."""
    if rows.dtype == np.float32:
        row[:] = row.astype(np.float32)


@compiled()
def _round(row):
    for k in range(row.size):
        row[k] = np.float32(row[k])


@overloaded(round_as)
def _round_as(rows, row):
    return (lambda rows, row: _round(row)) if rows.dtype == types.float32 else (lambda rows, row: None)


@compiled(forceinline=True)
def _subtract(part, change, row):
    for k in range(part.size):
        part[k] -= change * row[k]


def _compute(
    cache: Any, store: Any, panel: Any, block: Any, shape: Any, i: Any, first: int, last: int, out: Any
) -> int:
    """Write the entries of a row that is not kept to ``out``; return the stored entries read."""
    if cache.packed.dtype == np.uint8:
        return int(values_from_distances(panel, i, first, last, out))
    return int(_by_blocks(cache, store, panel, block, shape, i, first, last, out))


@compiled(forceinline=True)
def _by_blocks(cache, store, panel, block, shape, i, first, last, out):
    touched = block(store, panel, i, first, last, out)
    shape(store, panel, i, first, last, out)
    round_as(cache.rows, out)
    return touched


@overloaded(_compute)
def _compute_of(cache, store, panel, block, shape, i, first, last, out):
    # A call through an address copies all arrays of the store and the panel. For distances that takes as long
    # as computing them.
    if cache.types[cache.fields.index("packed")].dtype == types.uint8:
        return lambda cache, store, panel, block, shape, i, first, last, out: values_from_distances(
            panel, i, first, last, out
        )
    return lambda cache, store, panel, block, shape, i, first, last, out: _by_blocks(
        cache, store, panel, block, shape, i, first, last, out
    )


@compiled()
def subtract_together(G, rows, store, panel, shape, changes, count, first, last):
    """Subtract ``changes[r]`` times the row of the panel's ``mates[r]`` from G[first:last].

    ``rows`` are the kept ones; only their type counts.
    """
    tiles, touched = panel.tiles, 0
    while first < last:
        end = part_end(first, last)
        part = G[first:end]
        if in_single_precision(tiles):
            touched += powers_together(panel, tiles.mates, count, first, end)
            for r in range(count):
                _subtract(part, changes[r], tiles.powers[r, first % TILE :])
        else:
            touched += products_together(panel, tiles.mates, count, first, end)
            for r in range(count):
                row = tiles.dots[r, first % TILE :]
                shape(store, panel, tiles.mates[r], first, end, row)
                round_as(rows, row)
                _subtract(part, changes[r], row)
        first = end
    return touched


@compiled(forceinline=True)
def _cut(size, share, shares, unit):
    """Return where a share of the examples begins, a multiple of ``unit``."""
    return size if share == shares else (size * share // shares + unit // 2) // unit * unit


@compiled()
def _unit(changes, largest):
    """Return the unit, a power of two, in which rows times these factors are summed."""
    total = 0.0
    for k in range(changes.size):
        total += abs(changes[k])
    unit = 2.0 ** max(math.frexp(largest * total)[1] - 31, _LEAST)
    return unit if largest * total + changes.size * unit < _MOST * unit else 2.0 * unit


@compiled(types.float64(VECTOR, types.float64))
def fixed_error(changes, largest):
    """Return a bound on the error of a sum of rows in fixed point; ``largest`` bounds their entries."""
    error = 0.0
    for k in range(0, changes.size, TOGETHER):
        part = changes[k : k + TOGETHER]
        error += 0.5 * part.size * _unit(part, largest)
    return error


def _subtract_fixed(
    G: Any, cache: Any, panel: Any, used: int, positions: Any, changes: Any, first: int, last: int, end: int,
    row: Any,
) -> tuple[int, int]:  # fmt: skip
    """Subtract rows of distances from ``G[first:last]`` in fixed point; return entries computed and read.

    Kept rows are used if they reach ``end``. ``used``: how many distances occur. ``row`` is workspace.
    """
    return _subtract_distances(G, cache, panel, used, positions, changes, first, last, end, row)  # type: ignore[no-any-return]


@compiled()
def _subtract_distances(G, cache, panel, used, positions, changes, first, last, end, row):
    size, entries, touched = last - first, 0, 0
    memory = row.view(np.int32)
    table, sums = memory[:_DISTANCES], memory[_DISTANCES : _DISTANCES + size]
    unit = _unit(changes, panel.table[0])
    sums[:] = 0
    full = size & ~31
    for r in range(positions.size):
        i = np.int64(panel.order[positions[r]])
        for d in range(used):
            table[d] = np.int32(np.rint(changes[r] * panel.table[d] * (1.0 / unit)))
        slot = cache.slot_of[i]
        if slot >= 0 and cache.have[slot] >= end:
            near = cache.packed[slot, first:last]
        else:
            read, near = distances_from(panel, i, first, last)
            touched += read
            entries += size
        fixed_point.add(near, table, sums, full, used)
        for k in range(full, size):
            sums[k] += table[near[k]]
    part = G[first:last]
    for k in range(size):
        part[k] -= unit * sums[k]
    return entries, touched


@overloaded(_subtract_fixed)
def _subtract_fixed_of(G, cache, panel, used, positions, changes, first, last, end, row):
    if cache.types[cache.fields.index("packed")].dtype == types.uint8:
        return lambda G, cache, panel, used, positions, changes, first, last, end, row: _subtract_distances(
            G, cache, panel, used, positions, changes, first, last, end, row
        )
    return lambda G, cache, panel, used, positions, changes, first, last, end, row: (0, 0)


@compiled()
def subtract_part(
    G, cache, store, panel, block, shape, positions, changes, begin, last, at, work, row, fixed, share, shares
):
    """Perform :func:`subtract_rows` on one of several equal shares of the examples.

    Which kept rows are used depends on whole stretches, so that it does not depend on the number of shares.
    """
    order, count, done = panel.order, positions.size, 0
    waiting, most = 0, panel.tiles.dots.shape[0]  # rows that are computed together
    # The entries of the row's own sparse example are read for each stretch: none is cut.
    size, unit = last - begin, STRETCH if store.indices.size > 0 else 64
    low, high = begin + _cut(size, share, shares, unit), begin + _cut(size, share + 1, shares, unit)
    stretch = begin + (low - begin) // STRETCH * STRETCH
    while count > 0:
        start = stretch + at // count * STRETCH
        first, end = max(start, low), min(start + STRETCH, last)
        if first >= high:
            return -1
        if waiting == 0 and done > 0 and done >= work:
            return at
        size = min(end, high) - first
        if fixed:
            r = at % count
            until = min(r + TOGETHER, count)
            entries, touched = _subtract_fixed(
                G, cache, panel, store.table.size, positions[r:until], changes[r:until], first, first + size,
                end, row,
            )  # fmt: skip
            cache.counts.entries += entries
            cache.counts.touched += touched
            at += until - r
            done += (until - r) * size + touched
            continue
        change, i = changes[at % count], np.int64(order[positions[at % count]])
        at += 1
        part, new = G[first : first + size], row[:size]
        slot = cache.slot_of[i]
        done += size
        exact = cache.packed.shape[0] == 0 or cache.packed.itemsize == 1
        touched = 0
        if exact and slot >= 0 and cache.have[slot] >= end:
            known = span(row_of(cache, panel, slot), first, size, new)[0]
            _subtract(part, change, known)
        elif most > 1:
            panel.tiles.mates[waiting], panel.tiles.worst[waiting] = i, change
            waiting += 1
        else:
            touched = _compute(cache, store, panel, block, shape, i, first, first + size, new)
            _subtract(part, change, new)
            cache.counts.entries += size
        if waiting == most or (waiting > 0 and at % count == 0):
            touched = subtract_together(
                G, cache.rows, store, panel, shape, panel.tiles.worst, waiting, first, first + size
            )
            cache.counts.entries += waiting * size
            waiting = 0
        done += touched
        cache.counts.touched += touched
    return -1


@compiled()
def subtract_rows(
    G, cache, store, panel, block, shape, positions, changes, begin, last, at, work, row, fixed
):
    """Subtract ``changes[k]`` times the kernel row of ``positions[k]`` from ``G[begin:last]``.

    The part of G and of the examples that a stretch of all these rows needs fits into the processor's caches,
    so that stretches are the outer loop.

    Parameters
    ----------
    at : int
        How many stretches of rows are done, 0 at first.
    work : int
        About how many entries may be read.
    row : ndarray, shape (STRETCH,), or (n,) if that is less
        Workspace.
    fixed : bool
        Whether the rows, which must be distances, are summed in fixed point; see :func:`fixed_error`. It
        takes a workspace of at least 256.

    Returns
    -------
    int
        How many stretches of rows are done; -1 when all are.
    """
    return subtract_part(
        G, cache, store, panel, block, shape, positions, changes, begin, last, at, work, row, fixed, 0, 1
    )


@compiled(forceinline=True, fastmath={"reassoc", "contract", "nsz"})
def _dot(changes, row):
    total = 0.0
    for k in range(changes.size):
        total += changes[k] * row[k]
    return total


@compiled(forceinline=True)
def _subtract_sum(G, k, changes, row, first, mirrored, shared):
    """Subtract a part of the sum of example k from ``G[k]``, and its share of others from ``mirrored`` on."""
    G[k] -= _dot(changes[first : first + row.size], row)
    begin, end = max(first, mirrored), min(first + row.size, shared)
    if begin < end:
        _subtract(G[begin:end], changes[k], row[begin - first :])


SUMS = types.UniTuple(types.int64, 3)(
    VECTOR, STORE, PANEL, *CALLS, types.int64[::1], VECTOR, types.int64, types.int64, types.int64, VECTOR
)


@compiled()
def subtract_sums(G, store, panel, block, shape, examples, changes, shared, at, work, row):
    """Subtract ``sum_p changes[p] K(x_examples[k], x_order[p])`` from each ``G[k]``, without kept rows.

    With few examples and many changes, this takes a fraction of the time of :func:`subtract_rows`. The first
    ``shared`` examples are also the first of the panel: their kernel values are computed once for two.

    Parameters
    ----------
    shared : int
        See above.
    at : int
        How many examples are done, 0 at first.
    work : int
        About how many entries may be read.
    row : ndarray, shape (STRETCH,)
        Workspace.

    Returns
    -------
    int, int, int
        How many examples are done, the entries computed, and the stored entries read for them.
    """
    mates, dots, size, entries, touched = panel.tiles.mates, panel.tiles.dots, changes.size, 0, 0
    most = dots.shape[0]
    while at < examples.size and touched <= work:
        mirrors = at < shared
        count, first = min(most, (shared if mirrors else examples.size) - at), at if mirrors else 0
        mirrored = at + count if mirrors else shared
        entries += count * (size - first)
        for r in range(count):
            mates[r] = examples[at + r]
        while first < size:
            last = part_end(first, size) if most > 1 else min(first + STRETCH, size)
            if most > 1:
                touched += products_together(panel, mates, count, first, last)
                for r in range(count):
                    part = dots[r, first % TILE : first % TILE + last - first]
                    shape(store, panel, mates[r], first, last, part)
                    _subtract_sum(G, at + r, changes, part, first, mirrored, shared)
            else:
                part = row[: last - first]
                touched += block(store, panel, mates[0], first, last, part)
                shape(store, panel, mates[0], first, last, part)
                _subtract_sum(G, at, changes, part, first, mirrored, shared)
            first = last
        at += count
    return at, entries, touched


@compiled(
    types.int64(
        VECTOR,
        STORE,
        types.FunctionType(PRODUCTS),
        types.FunctionType(UPDATE),
        MEMBERS,
        types.int64[::1],
        VECTOR,
        types.int64,
        types.int64,
        VECTOR,
        VECTOR,
    )
)
def subtract_folded(G, store, products, update, order, positions, changes, begin, last, weights, row):
    """Perform :func:`subtract_rows` for a linear kernel, at once, through one weight vector.

    It is the sum of the examples at ``positions``, times the changes of their multipliers. ``weights``, zeros
    of shape (d + 1,), and ``row``, shape (n,), are workspace. Returns the entries read.
    """
    touched = 0
    for k in range(positions.size):
        if changes[k] != 0.0:
            touched += update(store, np.int64(order[positions[k]]), changes[k], weights)
    touched += products(store, weights, order[begin:], last - begin, row)
    for k in range(begin, last):
        G[k] -= row[k - begin]
    return touched
