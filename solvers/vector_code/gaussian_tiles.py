"""Gaussian kernel values of examples in tiles, in single precision, distances and powers in one pass.

Squared distances are sums of squared differences, which do not cancel: examples far from the origin are as
accurate as others. The examples are scaled so that a kernel value is 2 to the power of minus the distance;
reducing its exponent is then exact. Distances of bytes are computed elsewhere, and their powers here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import (
    FLOAT,
    LONG,
    arrays,
    at,
    blocks,
    equal,
    fused,
    load,
    pointers,
    select_by,
    spread,
    store,
    times_power,
)
from svmrepro.solvers.compilation.processor import lanes as lanes_of
from svmrepro.solvers.vector_code.vector_loops import TILE, TOGETHER

POWER_ERROR = 3.0
"""Largest relative error of a power of two, in units of the rounding to single precision."""
_ROUND = 12582912.0  # 1.5 * 2^23: adding it rounds to an integer, in the low bits
_LEAST = -126.0  # smaller exponents are replaced by it
# Interpolation of (2^r - 1) / r at the Chebyshev points of |r| <= 1/2; relative error of 2^r below 1e-8.
_SERIES = (
    0.6931471880262285,
    0.24022650760568068,
    0.05550357114219137,
    0.009618082557281448,
    0.0013390863364818196,
    0.00015453162943207492,
)


def _power(builder: Any, distance: Any) -> Any:
    """Return 2 to the power of minus a vector of distances."""
    constant, fma = partial(equal, distance.type), partial(fused, builder)
    x = builder.fsub(constant(0.0), distance)
    x = select_by(builder, ">", x, constant(_LEAST))
    shifted = builder.fadd(x, constant(_ROUND))
    r = builder.fsub(x, builder.fsub(shifted, constant(_ROUND)))
    square = builder.fmul(r, r)  # Estrin's scheme: Horner's would wait for each product
    pairs = [fma(r, constant(_SERIES[c + 1]), constant(_SERIES[c])) for c in range(0, len(_SERIES), 2)]
    series = fma(square, fma(square, pairs[2], pairs[1]), pairs[0])
    value = fma(r, series, constant(1.0))
    return times_power(builder, value, shifted)


def _powers(typing_context: Any, values: Any, size: Any) -> Any:
    """Replace ``values[k]`` by ``2^-values[k]`` for k < size, at least 2^-126; see `POWER_ERROR`.

    Parameters
    ----------
    values : ndarray of float32
        Exponents. Those up to the next multiple of 16 are replaced too.
    size : int
        How many.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = lanes_of(context, 32)
        kind = ir.VectorType(FLOAT, lanes)
        (values,) = pointers(context, builder, signature, arguments)
        with blocks(builder, builder.add(arguments[1], LONG(lanes - 1)), lanes) as first:
            pointer = at(builder, values, first)
            store(builder, _power(builder, load(builder, pointer, kind, align=4)), pointer, align=4)
        return context.get_dummy_value()

    return types.void(values, types.int64), build


def _interpreted_powers(values: Any, size: int) -> None:
    values[:size] = np.exp2(np.maximum(-values[:size].astype(np.float64), _LEAST))


def _gaussian_tiles(rows: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the code for the kernel values of ``rows`` examples and tiles, and the same in NumPy."""

    def emit(
        typing_context: Any, tiles: Any, first: Any, last: Any, x: Any, out: Any, slots: Any, start: Any
    ) -> Any:
        """Write kernel values of examples and tiles of examples.

        ``out[slots[r], start + t * TILE + k] = 2^-sum_c (x[c, r] - tiles[first + t, c, k])^2`` for t < last -
        first; each value depends on its two examples only, and not on their order.

        Parameters
        ----------
        tiles : ndarray of float32, shape (tiles, d, TILE)
            Examples, feature by feature within each tile.
        first, last : int
            Tiles.
        x : ndarray of float32, shape (d, TOGETHER)
            The examples, of which the first ``rows`` are used.
        out : ndarray of float32, shape (any, at least start + (last - first) TILE)
            Output.
        slots : ndarray of int64, shape (at least rows,)
            Row of the output for each example. Equal examples may share one.
        start : int
            Where in these rows the output begins.
        """

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = lanes_of(context, 32)
            # With four rows, sums in 8 of 32 registers, or 8 of 16; with one, in those of a tile.
            in_a_block = min(2 if rows > 1 else 4, TILE // lanes)
            kind = ir.VectorType(FLOAT, lanes)
            zero = equal(kind, 0.0)
            _, first, last, _, _, _, start = arguments
            given = arrays(context, builder, signature, arguments)
            tile_at, x_at, out_at, slot_at = (array.data for array in given)
            d, width = (builder.extract_value(array.shape, 1) for array in (given[0], given[2]))
            row_at = [
                at(builder, out_at, builder.mul(width, builder.load(at(builder, slot_at, r))), start)
                for r in range(rows)
            ]
            one_tile = builder.mul(d, LONG(TILE))
            sums = [
                [cgutils.alloca_once_value(builder, zero) for _ in range(in_a_block)] for _ in range(rows)
            ]

            with cgutils.for_range(builder, builder.sub(last, first)) as outer:
                tile = at(builder, tile_at, builder.mul(builder.add(first, outer.index), one_tile))
                place = builder.mul(outer.index, LONG(TILE))
                for begin in range(0, TILE, in_a_block * lanes):
                    for own in sums:
                        for total in own:
                            builder.store(zero, total)
                    with cgutils.for_range(builder, d) as inner:
                        column = at(builder, tile, builder.mul(inner.index, LONG(TILE)), begin)
                        block = [
                            load(builder, at(builder, column, v * lanes), kind, 4) for v in range(in_a_block)
                        ]
                        values = at(builder, x_at, builder.mul(inner.index, LONG(TOGETHER)))
                        for r in range(rows):
                            value = spread(builder, builder.load(at(builder, values, r)), kind)
                            for v in range(in_a_block):
                                gap = builder.fsub(value, block[v])
                                total = fused(builder, gap, gap, builder.load(sums[r][v]))
                                builder.store(total, sums[r][v])
                    for r in range(rows):
                        for v in range(in_a_block):
                            pointer = at(builder, row_at[r], place, begin + v * lanes)
                            power = _power(builder, builder.load(sums[r][v]))
                            store(builder, power, pointer, align=4)
            return context.get_dummy_value()

        return types.void(tiles, types.int64, types.int64, x, out, slots, types.int64), build

    def interpreted(tiles: Any, first: int, last: int, x: Any, out: Any, slots: Any, start: int) -> None:
        for r in range(rows):
            gaps = x[None, :, r, None] - tiles[first:last]
            distances = np.sum(gaps * gaps, axis=1, dtype=np.float32)
            powers = np.exp2(np.maximum(-distances.astype(np.float64), _LEAST))
            out[slots[r], start : start + (last - first) * TILE] = powers.ravel()

    return emit, interpreted


_OF_ONE, _OF_FOUR = _gaussian_tiles(1), _gaussian_tiles(TOGETHER)
#: The kernel values of one example, and of four, with tiles; see :func:`_gaussian_tiles`.
gaussian_tiles: Any = _OF_ONE[1] if config.DISABLE_JIT else intrinsic(_OF_ONE[0])
gaussian_tiles_of_four: Any = _OF_FOUR[1] if config.DISABLE_JIT else intrinsic(_OF_FOUR[0])
#: Powers of two of an array, in place; see :func:`_powers`.
powers: Any = _interpreted_powers if config.DISABLE_JIT else intrinsic(_powers)
