"""Single machine instructions that numba does not provide.

Each also has a Python implementation, for runs with numba's JIT switched off (``NUMBA_DISABLE_JIT=1``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


def _instruction(meaning: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that yields an intrinsic, or its Python implementation if the JIT is off."""
    return lambda code: meaning if config.DISABLE_JIT else intrinsic(code)


@_instruction(lambda word: np.uint64(int(word).bit_count()))
def popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of set bits of an unsigned 64-bit word."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


@_instruction(lambda word: np.uint64((int(word) & -int(word)).bit_length() - 1))
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Return the position of the lowest set bit of a non-zero unsigned 64-bit word."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


@_instruction(lambda word: struct.unpack("d", struct.pack("q", int(word)))[0])
def float_from_bits(typing_context: Any, word: Any) -> Any:
    """Return the double with the bit pattern of a signed 64-bit word."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), build


@_instruction(lambda value: np.float64(value).view(np.int64))
def bits_from_float(typing_context: Any, value: Any) -> Any:
    """Return the bit pattern of a double as a signed 64-bit word."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), build


def _extremum(comparison: str) -> Any:
    """Return code for a select by an ordered comparison that assumes that neither value is NaN."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flags = ("nnan", "nsz")
        first, second = arguments
        return builder.select(
            builder.fcmp_ordered(comparison, first, second, flags=flags), first, second, flags=flags
        )

    return build


@_instruction(lambda first, second: first if first > second else second)
def larger(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the larger of two doubles, which must not be NaN; loops over it vectorise."""
    return types.float64(types.float64, types.float64), _extremum(">")


@_instruction(lambda first, second: first if first < second else second)
def smaller(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the smaller of two doubles, which must not be NaN; loops over it vectorise."""
    return types.float64(types.float64, types.float64), _extremum("<")


def _nothing(table: Any, index: Any, size: Any, out: Any) -> int:
    return 0


@_instruction(_nothing)
def shuffle_table(typing_context: Any, table: Any, index: Any, size: Any, out: Any) -> Any:
    """Write ``table[index[k] % 16] * table[index[k] // 16 * 16]`` to ``out[k]`` in steps of eight.

    With AVX-512, both factors are taken from registers, eight at a time, which is several times faster than
    reading a table. Other processors do nothing.

    Parameters
    ----------
    table : ndarray of float64, shape (256,)
        Its entry 0 is 1.
    index : ndarray of uint8 or uint16
        Numbers below 256.
    size : int
        How many to look up.
    out : ndarray of float64
        Output.

    Returns
    -------
    int
        How many were looked up; the caller does the rest.
    """
    doubles, numbers_of, words = (
        ir.VectorType(kind, 8) for kind in (ir.DoubleType(), ir.IntType(index.dtype.bitwidth), ir.IntType(64))
    )

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "+avx512f" not in context.codegen().magic_tuple()[2].split(","):
            return ir.Constant(ir.IntType(64), 0)
        entries, numbers, count, results = arguments
        pointer_types = (signature.args[0], signature.args[1], signature.args[3])
        table_at, index_at, out_at = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(pointer_types, (entries, numbers, results), strict=True)
        )
        permute = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(doubles, [doubles, words, doubles]),
            "llvm.x86.avx512.vpermi2var.pd.512",
        )

        def register(positions: Any) -> Any:
            vector: Any = ir.Constant(doubles, ir.Undefined)
            for lane, position in enumerate(positions):
                entry = builder.load(builder.gep(table_at, [ir.Constant(ir.IntType(64), position)]))
                vector = builder.insert_element(vector, entry, ir.Constant(ir.IntType(32), lane))
            return vector

        low = register(range(8)), register(range(8, 16))
        high = register(range(0, 128, 16)), register(range(128, 256, 16))
        eight = ir.Constant(ir.IntType(64), 8)
        steps = builder.udiv(count, eight)
        with cgutils.for_range(builder, steps) as loop:
            first = builder.mul(loop.index, eight)
            source = builder.bitcast(builder.gep(index_at, [first]), numbers_of.as_pointer())
            loaded = builder.load(source)
            loaded.align = 1
            number = builder.zext(loaded, words)
            ones = builder.and_(number, ir.Constant(words, [15] * 8))
            sixteens = builder.lshr(number, ir.Constant(words, [4] * 8))
            value = builder.fmul(
                builder.call(permute, [low[0], ones, low[1]]),
                builder.call(permute, [high[0], sixteens, high[1]]),
            )
            target = builder.bitcast(builder.gep(out_at, [first]), doubles.as_pointer())
            builder.store(value, target).align = 8
        return builder.mul(steps, eight)

    return types.int64(table, index, types.int64, out), build
