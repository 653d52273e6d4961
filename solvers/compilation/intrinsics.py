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
