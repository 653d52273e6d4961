"""Single machine instructions that numba does not provide.

Each also has a Python implementation, for runs with numba's JIT switched off (``NUMBA_DISABLE_JIT=1``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import BITS, BYTE, LONG, at, call, pointers, select_by


def _instruction(signature: Any, meaning: Callable[..., Any], emit: Callable[..., Any]) -> Any:
    """Return an intrinsic, or its Python implementation if the JIT is off.

    ``emit`` makes the instruction, given LLVM's builder and the arguments.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    def of_one(typing_context: Any, value: Any) -> Any:
        return signature, build

    def of_two(typing_context: Any, first: Any, second: Any) -> Any:
        return signature, build

    return meaning if config.DISABLE_JIT else intrinsic(of_one if len(signature.args) == 1 else of_two)


def _select(meaning: Callable[..., Any], comparison: str) -> Any:
    """Return an intrinsic, for doubles or singles, that selects one by a comparison; neither is NaN."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second = arguments
        return select_by(builder, comparison, first, second, ("nnan", "nsz"))

    def of_two(typing_context: Any, first: Any, second: Any) -> Any:
        value = types.float32 if first == second == types.float32 else types.float64
        return value(value, value), build

    return meaning if config.DISABLE_JIT else intrinsic(of_two)


#: The number of set bits of an unsigned 64-bit word.
popcount = _instruction(
    types.uint64(types.uint64),
    lambda word: np.uint64(int(word).bit_count()),
    lambda builder, word: builder.ctpop(word),
)
#: The position of the lowest set bit of a non-zero unsigned 64-bit word.
trailing_zeros = _instruction(
    types.uint64(types.uint64),
    lambda word: np.uint64((int(word) & -int(word)).bit_length() - 1),
    lambda builder, word: builder.cttz(word, ir.IntType(1)(1)),
)
#: The bit pattern of a double as a signed 64-bit word.
bits_from_float = _instruction(
    types.int64(types.float64),
    lambda value: np.float64(value).view(np.int64),
    lambda builder, value: builder.bitcast(value, LONG),
)
#: The larger and the smaller of two numbers, which must not be NaN; loops over them vectorise.
larger = _select(lambda first, second: first if first > second else second, ">")
smaller = _select(lambda first, second: first if first < second else second, "<")


def _prefetch(typing_context: Any, array: Any, position: Any) -> Any:
    """Ask the memory for the cache line of an entry of an array, counted from its first; it may be any."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (data,) = pointers(context, builder, signature, arguments)
        address = builder.bitcast(at(builder, data, arguments[1]), BYTE.as_pointer())
        to_read, keep, data_cache = BITS(0), BITS(3), BITS(1)
        call(builder, "llvm.prefetch.p0i8", ir.VoidType(), address, to_read, keep, data_cache)
        return context.get_dummy_value()

    return types.void(array, types.int64), build


#: A hint; nothing without numba's JIT.
prefetch: Any = (lambda array, position: None) if config.DISABLE_JIT else intrinsic(_prefetch)
