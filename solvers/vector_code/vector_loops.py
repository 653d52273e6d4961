"""Loops in explicit vector instructions, where LLVM's own vectors are half as wide as the processor's.

LLVM prefers vectors of 256 bits on processors that have 512, does not keep a block of sums in registers
across a loop, and does not find the instruction that multiplies bytes and adds four products. Each loop also
has a NumPy implementation, for runs with numba's JIT switched off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import (
    BITS,
    DOUBLE,
    LONG,
    arrays,
    at,
    blocks,
    call,
    equal,
    fused,
    load,
    pointers,
    select_by,
    spread,
    store,
    times_power,
)
from svmrepro.solvers.compilation.processor import has
from svmrepro.solvers.compilation.processor import lanes as lanes_of

TILE = 32
"""Examples of a tile, see :func:`dot_tiles`; a multiple of the block of every processor."""
TOGETHER = 4
"""Rows that :func:`dot_tiles_of_four` computes at once."""

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # Cody and Waite's split: the high part has 33 bits
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, in the low bits
# Interpolation of exp at the Chebyshev points of |r| <= ln(2) / 2, from r^2 on; error below 4e-18.
_SERIES = (
    0.5000000000000019,
    0.1666666666666668,
    0.04166666666648795,
    0.008333333333319589,
    0.0013888888952352863,
    0.00019841269890076403,
    2.4801485441561313e-05,
    2.755724088722987e-06,
    2.763265472252779e-07,
    2.511004920481866e-08,
)


def _exponential(builder: Any, x: Any) -> Any:
    """Return ``exp(min(x, 0))``, to 1 ulp; arguments below -708 are replaced by -708."""
    constant, fma = partial(equal, x.type), partial(fused, builder)
    x = select_by(builder, "<", x, constant(0.0))
    x = select_by(builder, ">", x, constant(-708.0))
    shifted = builder.fadd(builder.fmul(x, constant(_LOG2_E)), constant(_ROUND))
    k = builder.fsub(shifted, constant(_ROUND))
    r = fma(k, constant(-_LN2_LOW), fma(k, constant(-_LN2_HIGH), x))
    # Estrin's scheme: Horner's would wait for each product.
    square = builder.fmul(r, r)
    fourth = builder.fmul(square, square)
    pairs = [fma(r, constant(_SERIES[c + 1]), constant(_SERIES[c])) for c in range(0, len(_SERIES), 2)]
    low, high = fma(square, pairs[1], pairs[0]), fma(square, pairs[3], pairs[2])
    rest = fma(fourth, fma(fourth, pairs[4], high), low)
    value = builder.fadd(fma(square, rest, r), constant(1.0))
    return times_power(builder, value, shifted)


def _exponentials(typing_context: Any, values: Any, size: Any) -> Any:
    """Replace ``values[k]`` by ``exp(min(values[k], 0))`` for k < size; to 1 ulp, at least exp(-708).

    Parameters
    ----------
    values : ndarray of float64
        Exponents; each result depends on its exponent only, not on its place.
    size : int
        How many.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(DOUBLE, lanes_of(context, 64))
        (values,), size = pointers(context, builder, signature, arguments), arguments[1]

        def replace(pointer: Any) -> None:
            store(builder, _exponential(builder, load(builder, pointer, kind, align=8)), pointer, align=8)

        with blocks(builder, size, kind.count) as first:
            replace(at(builder, values, first))
        done = builder.and_(size, LONG(-kind.count))
        rest = builder.sub(size, done)
        buffer = cgutils.alloca_once_value(builder, equal(kind, 0.0))
        copy = builder.bitcast(buffer, DOUBLE.as_pointer())
        with cgutils.for_range(builder, rest) as loop:
            builder.store(builder.load(at(builder, values, done, loop.index)), at(builder, copy, loop.index))
        replace(copy)
        with cgutils.for_range(builder, rest) as loop:
            builder.store(builder.load(at(builder, copy, loop.index)), at(builder, values, done, loop.index))
        return context.get_dummy_value()

    return types.void(values, types.int64), build


def _interpreted_exponentials(values: Any, size: int) -> None:
    values[:size] = np.exp(np.clip(values[:size], -708.0, 0.0))


def _dot_tiles(rows: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the code that multiplies ``rows`` examples with tiles, and the same in NumPy."""

    def emit(
        typing_context: Any, tiles: Any, first: Any, last: Any, features: Any, x: Any, size: Any, out: Any
    ) -> Any:
        """Multiply examples with tiles of examples.

        ``out[r, t * TILE + k] = sum_p x[p, r] tiles[first + t, features[p], k]`` for t < last - first, p <
        size; the sum runs in the order of p.

        Parameters
        ----------
        tiles : ndarray of float64, shape (tiles, d, TILE)
            Examples, feature by feature within each tile.
        first, last : int
            Tiles.
        features : ndarray of uint32
            The features of which the sum consists.
        x : ndarray of float64, shape (size, rows)
            The examples' values of these features.
        size : int
            Number of features.
        out : ndarray of float64, shape (at least rows, at least (last - first) TILE)
            Output.
        """

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = lanes_of(context, 64)
            kind = ir.VectorType(DOUBLE, lanes)
            zero = equal(kind, 0.0)
            # Vectors; with four rows, sums in 16 of 32, or 8 of 16 registers.
            in_a_block = 4 if has(context, "avx512f") else 2
            _, first, last, _, _, size, _ = arguments
            given = arrays(context, builder, signature, arguments)
            tile_at, feature_at, x_at, out_at = (array.data for array in given)
            d, width = (builder.extract_value(array.shape, 1) for array in (given[0], given[3]))
            one_tile = builder.mul(d, LONG(TILE))
            sums = [
                [cgutils.alloca_once_value(builder, zero) for _ in range(in_a_block)] for _ in range(rows)
            ]
            with cgutils.for_range(builder, builder.sub(last, first)) as outer:
                tile = at(builder, tile_at, builder.mul(builder.add(first, outer.index), one_tile))
                for begin in range(0, TILE, in_a_block * lanes):
                    for own in sums:
                        for place in own:
                            builder.store(zero, place)
                    with cgutils.for_range(builder, size) as inner:
                        feature = builder.zext(builder.load(at(builder, feature_at, inner.index)), LONG)
                        column = at(builder, tile, builder.mul(feature, LONG(TILE)), begin)
                        block = [
                            load(builder, at(builder, column, v * lanes), kind, 8) for v in range(in_a_block)
                        ]
                        values = at(builder, x_at, builder.mul(inner.index, LONG(rows)))
                        for r in range(rows):
                            value = spread(builder, builder.load(at(builder, values, r)), kind)
                            for v in range(in_a_block):
                                total = fused(builder, value, block[v], builder.load(sums[r][v]))
                                builder.store(total, sums[r][v])
                    place = builder.mul(outer.index, LONG(TILE))
                    for r in range(rows):
                        row = builder.mul(width, LONG(r))
                        for v in range(in_a_block):
                            pointer = at(builder, out_at, row, place, begin + v * lanes)
                            store(builder, builder.load(sums[r][v]), pointer, align=8)
            return context.get_dummy_value()

        return types.void(tiles, types.int64, types.int64, features, x, types.int64, out), build

    def interpreted(tiles: Any, first: int, last: int, features: Any, x: Any, size: int, out: Any) -> None:
        picked = tiles[first:last][:, features[:size]]
        for r in range(rows):
            own = np.reshape(x, (-1, rows))[:size, r]
            out[r, : (last - first) * TILE] = np.einsum("tpk,p->tk", picked, own).ravel()

    return emit, interpreted


def _level_tiles() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the code of :func:`_dot_tiles` for four rows of small integers, and the same in NumPy."""
    rows = TOGETHER

    def emit(
        typing_context: Any, tiles: Any, first: Any, last: Any, groups: Any, x: Any, size: Any, out: Any
    ) -> Any:
        """Multiply examples with tiles of examples whose values are bytes.

        ``out[r, t * TILE + k] = sum_p,b x[p, r, b] tiles[first + t, groups[p], k, b]``, in integers of 32
        bits. The code is for processors with AVX2 or more, see :func:`features_for_bytes`.

        Parameters
        ----------
        tiles : ndarray of int8, shape (tiles, ceil(d / 4), TILE, 4)
            Examples, in groups of four features.
        first, last : int
            Tiles.
        groups : ndarray of uint32
            The groups of features of which the sum consists.
        x : ndarray of uint8, shape (size, TOGETHER, 4)
            The examples' values of these features.
        size : int
            Number of groups.
        out : ndarray of float64, shape (at least TOGETHER, at least (last - first) TILE)
            Output.
        """

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = _byte_lanes(context)
            if not lanes:
                return context.get_dummy_value()  # never called, see `features_for_bytes`
            kind, doubles = ir.VectorType(BITS, lanes), ir.VectorType(DOUBLE, lanes)
            zero = equal(kind, 0)
            split, multiply_add = _sums_of_four(context, builder, lanes)
            _, first, last, _, _, size, _ = arguments
            given = arrays(context, builder, signature, arguments)
            tile_at, group_at, x_at, out_at = (array.data for array in given)
            groups, width = (builder.extract_value(array.shape, 1) for array in (given[0], given[3]))
            x_at = builder.bitcast(x_at, BITS.as_pointer())
            one_group = LONG(4 * TILE)
            one_tile = builder.mul(groups, one_group)
            vectors = range(2)  # with four rows, sums in 8 of 16 or more registers
            sums = [[cgutils.alloca_once_value(builder, zero) for _ in vectors] for _ in range(rows)]
            with cgutils.for_range(builder, builder.sub(last, first)) as outer:
                tile = at(builder, tile_at, builder.mul(builder.add(first, outer.index), one_tile))
                place = builder.mul(outer.index, LONG(TILE))
                for begin in range(0, TILE, lanes * len(vectors)):
                    for own in sums:
                        for total in own:
                            builder.store(zero, total)
                    with cgutils.for_range(builder, size) as inner:
                        group = builder.zext(builder.load(at(builder, group_at, inner.index)), LONG)
                        column = at(builder, tile, builder.mul(group, one_group), 4 * begin)
                        block = []
                        for v in vectors:
                            pointer = at(builder, column, 4 * lanes * v)
                            block.append(split(load(builder, pointer, kind, align=4), True))
                        values = at(builder, x_at, builder.mul(inner.index, LONG(rows)))
                        for r in range(rows):
                            four = builder.load(at(builder, values, r))
                            four.align = 1
                            value = split(spread(builder, four, kind), False)
                            for v in vectors:
                                total = multiply_add(builder.load(sums[r][v]), value, block[v])
                                builder.store(total, sums[r][v])
                    for r in range(rows):
                        row = builder.mul(width, LONG(r))
                        for v in vectors:
                            pointer = at(builder, out_at, row, place, begin + lanes * v)
                            total = builder.sitofp(builder.load(sums[r][v]), doubles)
                            store(builder, total, pointer, align=8)
            return context.get_dummy_value()

        return types.void(tiles, types.int64, types.int64, groups, x, types.int64, out), build

    def interpreted(tiles: Any, first: int, last: int, groups: Any, x: Any, size: int, out: Any) -> None:
        picked = tiles[first:last][:, groups[:size]].astype(np.int64)
        for r in range(rows):
            own = x[:size, r].astype(np.int64)
            out[r, : (last - first) * TILE] = np.einsum("tpkb,pb->tk", picked, own).ravel()

    return emit, interpreted


def _byte_lanes(context: Any) -> int:
    """Return how many sums of four products of bytes the processor adds at once; 0 if it cannot."""
    wide = has(context, "avx512f") and has(context, "avx512vnni")
    return 16 if wide else 8 if has(context, "avx2") else 0


def _multiplies_bytes(context: Any) -> bool:
    return has(context, "avx512vnni") or has(context, "avxvnni")


def _sums_of_four(context: Any, builder: Any, lanes: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the code that adds sums of four products of bytes, and the one that prepares its operands.

    ``split(bytes, signed)`` prepares a vector of groups of four bytes. ``multiply_add(sums, x, z)`` takes one
    that is unsigned and one that is signed.
    """
    kind = ir.VectorType(BITS, lanes)
    if _multiplies_bytes(context):
        name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        return lambda four, signed: four, lambda total, x, z: call(builder, name, kind, total, x, z)

    # Without the instruction, the products are of words, which are every other byte.
    words = ir.VectorType(ir.IntType(16), 2 * lanes)
    eight = equal(words, 8)

    def split(four: Any, signed: bool) -> Any:
        shift = builder.ashr if signed else builder.lshr
        four = builder.bitcast(four, words)
        return shift(builder.shl(four, eight), eight), shift(four, eight)

    def multiply_add(total: Any, x: Any, z: Any) -> Any:
        for one, other in zip(x, z, strict=True):
            total = builder.add(total, call(builder, "llvm.x86.avx2.pmadd.wd", kind, one, other))
        return total

    return split, multiply_add


def features_for_bytes() -> float:
    """Return from how many features on :func:`_level_tiles` is faster than doubles; infinity if never."""
    context = cpu_target.target_context
    if config.DISABLE_JIT or _multiplies_bytes(context):
        return 16
    return 40 if _byte_lanes(context) else math.inf


exponentials: Any = _interpreted_exponentials if config.DISABLE_JIT else intrinsic(_exponentials)
_OF_ONE, _OF_FOUR = _dot_tiles(1), _dot_tiles(TOGETHER)
#: The products of one example, and of four, with tiles; see :func:`_dot_tiles`.
dot_tiles: Any = _OF_ONE[1] if config.DISABLE_JIT else intrinsic(_OF_ONE[0])
dot_tiles_of_four: Any = _OF_FOUR[1] if config.DISABLE_JIT else intrinsic(_OF_FOUR[0])
_LEVELS = _level_tiles()
#: The products of four examples of small integers with tiles, see :func:`_level_tiles`.
level_tiles: Any = _LEVELS[1] if config.DISABLE_JIT else intrinsic(_LEVELS[0])
