"""Vector loops for `decomposition._fixed_gradient`, for kernel rows in single precision.

The counterpart of :mod:`svmrepro.solvers.vector_code.fixed_point`, whose rows are distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import (
    BITS,
    BYTE,
    DOUBLE,
    FLOAT,
    FLOATS,
    LANES,
    LONG,
    WORDS,
    any_of,
    at,
    blocks,
    equal,
    load,
    pointers,
    select_by,
    spread,
    store,
)
from svmrepro.solvers.vector_code.fixed_point import extremes_in_python, largest_of, may, start_extremes

_ALMOST = 1.0 - 2.0**-20  # more than the rounding of both sides of a comparison of gains


def _move(
    typing_context: Any,
    near: Any,
    far: Any,
    scale: Any,
    values: Any,
    status: Any,
    size: Any,
    up: Any,
    down: Any,
) -> Any:
    """``values[k] -= scale (near[k] - far[k])``, cut off to an integer; return the extremes.

    Parameters
    ----------
    near, far : ndarray of float32, shape (>= size,)
        Parts of rows.
    scale : float
        Rounded to single precision. Changes and results must be below 2^31.
    values : ndarray of int32, shape (>= size,)
        What is changed.
    status : ndarray of uint8, shape (>= size,)
        Bits.
    size : int
        A multiple of 16.
    up, down : int
        Bits of ``status``.

    Returns
    -------
    tuple of int64
        As :data:`svmrepro.solvers.vector_code.fixed_point.move`.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near_at, far_at, values_at, status_at = pointers(context, builder, signature, arguments)
        factor = spread(builder, builder.fptrunc(arguments[2], FLOAT), FLOATS)
        extremes = start_extremes(builder, *arguments[6:])
        with blocks(builder, arguments[5], LANES) as first:
            block = [at(builder, pointer, first) for pointer in (near_at, far_at, values_at, status_at)]
            gap = builder.fsub(load(builder, block[0], FLOATS), load(builder, block[1], FLOATS))
            change = builder.fptosi(builder.fmul(factor, gap), WORDS)
            value = builder.sub(load(builder, block[2], WORDS), change)
            store(builder, value, block[2])
            extremes.extend(value, block[3], first)
        return context.make_tuple(builder, signature.return_type, extremes.results())

    kinds = near, far, types.float64, values, status, types.int64, types.int64, types.int64
    return types.UniTuple(types.int64, 4)(*kinds), build


def _best(
    typing_context: Any, row: Any, values: Any, status: Any, size: Any, top: Any, down: Any, tiny: Any
) -> Any:
    """Return the largest ``(top - values[k])^2 / max(2 - 2 row[k], tiny)`` and its last position.

    That is in single precision. Only values below ``top`` where bit ``down`` of their status is set count;
    without any, return 0 and -1. Values and ``top`` are below 2^30. Most blocks are recognised as worse than
    the best so far without a division.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row_at, values_at, status_at = pointers(context, builder, signature, arguments)
        count, start, bit, least = arguments[3:]
        start = spread(builder, builder.trunc(start, BITS), WORDS)
        least = spread(builder, builder.fptrunc(least, FLOAT), FLOATS)
        bit = builder.trunc(bit, BYTE)
        zero, two = (equal(FLOATS, value) for value in (0.0, 2.0))
        best = cgutils.alloca_once_value(builder, BITS(1))  # bits, in the order of floats
        enough = cgutils.alloca_once_value(builder, zero)
        where = cgutils.alloca_once_value(builder, LONG(-1))
        with blocks(builder, count, LANES) as first:
            block = [at(builder, pointer, first) for pointer in (row_at, values_at, status_at)]
            difference = builder.sub(start, load(builder, block[1], WORDS))
            nothing = equal(WORDS, 0)
            difference = builder.select(may(builder, block[2], bit), difference, nothing)
            positive = builder.icmp_signed(">", difference, nothing)
            slope = builder.sitofp(builder.select(positive, difference, nothing), FLOATS)
            square = builder.fmul(slope, slope)
            entry = load(builder, block[0], FLOATS)
            curvature = builder.fsub(two, builder.fadd(entry, entry))
            curvature = select_by(builder, ">", curvature, least)
            bound = builder.fmul(builder.load(enough), curvature)
            reaches = builder.fcmp_ordered(">=", square, bound)
            with builder.if_then(any_of(builder, reaches), likely=False):
                gains = builder.bitcast(builder.fdiv(square, curvature), WORDS)  # 0 for no candidate
                highest = largest_of(builder, gains)
                with builder.if_then(builder.icmp_signed(">=", highest, builder.load(best))):
                    builder.store(highest, best)
                    gain = spread(builder, builder.bitcast(highest, FLOAT), FLOATS)
                    builder.store(builder.fmul(gain, equal(FLOATS, _ALMOST)), enough)
                    same = builder.icmp_signed("==", gains, spread(builder, highest, WORDS))
                    lanes = ir.Constant(WORDS, list(range(LANES)))
                    lane = largest_of(builder, builder.select(same, lanes, equal(WORDS, -1)))
                    builder.store(builder.add(first, builder.sext(lane, LONG)), where)
        gain = builder.fpext(builder.bitcast(builder.load(best), FLOAT), DOUBLE)
        none = builder.icmp_signed("<", builder.load(where), LONG(0))
        gain = builder.select(none, DOUBLE(0.0), gain)
        return context.make_tuple(builder, signature.return_type, [gain, builder.load(where)])

    kinds = row, values, status, types.int64, types.int64, types.int64, types.float64
    return types.Tuple((types.float64, types.int64))(*kinds), build


def _move_in_python(
    near: Any, far: Any, scale: float, values: Any, status: Any, size: int, up: int, down: int
) -> tuple[int, int, int, int]:
    values[:size] -= (np.float32(scale) * (near[:size] - far[:size])).astype(np.int32)
    return extremes_in_python(values[:size], status[:size], up, down)


def _best_in_python(
    row: Any, values: Any, status: Any, size: int, top: int, down: int, tiny: float
) -> tuple[float, int]:
    slopes = top - values[:size].astype(np.int64)
    candidates = np.flatnonzero(((status[:size] & down) != 0) & (slopes > 0))
    if not candidates.size:
        return 0.0, -1
    single = slopes[candidates].astype(np.float32)
    two = np.float32(2.0)
    gains = single * single / np.maximum(two - two * row[candidates], np.float32(tiny))
    return float(gains.max()), int(candidates[gains == gains.max()][-1])


#: :func:`_move`, or the same in Python without numba's JIT.
move: Any = _move_in_python if config.DISABLE_JIT else intrinsic(_move)
#: :func:`_best`, or the same in Python without numba's JIT.
best: Any = _best_in_python if config.DISABLE_JIT else intrinsic(_best)
