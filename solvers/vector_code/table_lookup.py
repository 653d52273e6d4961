"""Looking numbers up in tables that fit into registers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import (
    BITS,
    BYTE,
    BYTES,
    DOUBLE,
    FLOAT,
    FLOATS,
    LANES,
    LONG,
    WORDS,
    any_of,
    at,
    blocks,
    call,
    equal,
    load,
    pointers,
    select_by,
    spread,
    store,
)
from svmrepro.solvers.compilation.processor import has


def byte_tables(builder: Any, words: Any) -> list[Any]:
    """Return four tables for :func:`look_up_by_bytes`: the bytes of sixteen 32-bit numbers, lowest first."""
    narrow = ir.VectorType(BYTE, words.type.count)
    shifts = [equal(words.type, 8 * byte) for byte in range(4)]
    return [builder.trunc(builder.lshr(words, shift), narrow) for shift in shifts]


def look_up_by_bytes(builder: Any, tables: Any, numbers: Any) -> list[Any]:
    """Look up one or two vectors of sixteen bytes, byte by byte of the results, with AVX2.

    Parameters
    ----------
    builder
        LLVM's.
    tables : list of lists of vectors of bytes
        Of :func:`byte_tables`, for each sixteen entries.
    numbers : sequence of vectors of bytes
        Positions below 16 ``len(tables)``. Two vectors fill a register.

    Returns
    -------
    list of vectors of 32-bit integers
    """
    size = 16 * len(numbers)
    kind = ir.VectorType(BYTE, size)
    name = "llvm.x86.avx2.pshuf.b" if size == 32 else "llvm.x86.ssse3.pshuf.b.128"

    def picked(one: Any, other: Any, lanes: Any) -> Any:
        mask = ir.Constant(ir.VectorType(BITS, len(lanes)), lanes)
        return builder.shuffle_vector(one, other, mask)

    def interleaved(one: Any, other: Any) -> list[Any]:
        """Interleave the lower halves of each 128 bits, and the upper halves; an element becomes a pair."""
        count = one.type.count
        each = 16 * count // size
        pairs = ir.VectorType(ir.IntType(2 * one.type.element.width), count // 2)
        halves = []
        for start in (0, each // 2):
            places = [first + start + k for first in range(0, count, each) for k in range(each // 2)]
            lanes = [lane for place in places for lane in (place, count + place)]
            halves.append(builder.bitcast(picked(one, other, lanes), pairs))
        return halves

    together = numbers[0] if size == 16 else picked(numbers[0], numbers[1], list(range(32)))
    found: list[Any] = []
    for part, four in enumerate(tables):
        # The instruction gives 0 where the highest bit is set, which holds beyond these sixteen.
        beyond = builder.sub(together, equal(kind, 16 * part))
        place = call(builder, f"llvm.uadd.sat.v{size}i8", kind, beyond, equal(kind, 0x70))
        for byte, table in enumerate(four):
            wide = table if size == 16 else picked(table, table, list(range(16)) * 2)
            value = call(builder, name, kind, wide, place)
            if part:
                found[byte] = builder.or_(found[byte], value)
            else:
                found.append(value)
    fours = [
        four
        for low, high in zip(interleaved(*found[:2]), interleaved(*found[2:]), strict=True)
        for four in interleaved(low, high)
    ]
    results = []
    for r in range(len(numbers)):
        lanes = [*range(4 * r, 4 * r + 4), *range(size // 4 + 4 * r, size // 4 + 4 * r + 4)]
        eights = [picked(fours[k], fours[k + 1], lanes) for k in (0, 2)]
        results.append(picked(eights[0], eights[1], list(range(16))))
    return results


def look_up_by_element(builder: Any, table_at: Any, numbers: Any) -> Any:
    """Look up a vector of bytes in the table at a pointer, one by one."""
    count = numbers.type.count
    found: Any = ir.Constant(ir.VectorType(table_at.type.pointee, count), ir.Undefined)
    for lane in (BITS(k) for k in range(count)):
        place = builder.zext(builder.extract_element(numbers, lane), LONG)
        found = builder.insert_element(found, builder.load(at(builder, table_at, place)), lane)
    return found


def _shuffle_table(typing_context: Any, table: Any, index: Any, size: Any, out: Any) -> Any:
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
        ir.VectorType(kind, 8) for kind in (DOUBLE, ir.IntType(index.dtype.bitwidth), LONG)
    )

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not has(context, "avx512f"):
            return LONG(0)
        table_at, index_at, out_at = pointers(context, builder, signature, arguments)
        permute = partial(call, builder, "llvm.x86.avx512.vpermi2var.pd.512", doubles)

        def register(positions: Any) -> Any:
            vector: Any = ir.Constant(doubles, ir.Undefined)
            for lane, position in enumerate(positions):
                entry = builder.load(at(builder, table_at, position))
                vector = builder.insert_element(vector, entry, BITS(lane))
            return vector

        low = register(range(8)), register(range(8, 16))
        high = register(range(0, 128, 16)), register(range(128, 256, 16))
        count = arguments[2]
        with blocks(builder, count, 8) as first:
            numbers = load(builder, at(builder, index_at, first), numbers_of)
            ones = builder.zext(numbers, words)  # the permutation reads four bits of it
            sixteens = builder.lshr(ones, equal(words, 4))
            value = builder.fmul(permute(low[0], ones, low[1]), permute(high[0], sixteens, high[1]))
            store(builder, value, at(builder, out_at, first), align=8)
        return builder.and_(count, LONG(-8))

    return types.int64(table, index, types.int64, out), build


def _reaching(
    typing_context: Any, table: Any, index: Any, values: Any, size: Any, scale: Any, shift: Any
) -> Any:
    """Tell where ``max(shift - scale * values[k], 0)^2 >= table[min(index[k], 31)]``, by blocks of sixteen.

    With AVX-512, a block takes a dozen instructions and reads the table from registers; so it does, byte by
    byte, with AVX2.

    Parameters
    ----------
    table : ndarray of float32, shape (32,)
        Nonnegative numbers.
    index : ndarray of uint8
        Positions in the table.
    values : ndarray of float32
        Numbers, or infinity.
    size : int
        A multiple of sixteen, at most 1024.
    scale, shift : float
        Rounded to single precision.

    Returns
    -------
    uint64
        Bit b is set if that holds somewhere in the block from 16 b on.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table_at, index_at, values_at = pointers(context, builder, signature, arguments)
        count, factor, start = arguments[3:]

        def looked_up(number: Any) -> Any:
            if wide:
                name = "llvm.x86.avx512.vpermi2var.ps.512"
                return call(builder, name, FLOATS, low, builder.zext(number, WORDS), high)
            if tables:
                return builder.bitcast(look_up_by_bytes(builder, tables, [number])[0], FLOATS)
            return look_up_by_element(builder, table_at, number)

        def difference(value: Any) -> Any:
            if wide:
                return call(builder, "llvm.fma.v16f32", FLOATS, value, minus, shifts)
            return builder.fadd(builder.fmul(value, minus), shifts)

        wide = has(context, "avx512f")
        low, high = (load(builder, at(builder, table_at, k), FLOATS) for k in (0, LANES))
        halves = [builder.bitcast(half, WORDS) for half in (low, high)]
        tables = [byte_tables(builder, half) for half in halves] if has(context, "avx2") and not wide else []
        minus = spread(builder, builder.fptrunc(builder.fneg(factor), FLOAT), FLOATS)
        shifts = spread(builder, builder.fptrunc(start, FLOAT), FLOATS)
        zero, last = equal(FLOATS, 0.0), equal(BYTES, 31)
        found = cgutils.alloca_once_value(builder, LONG(0))
        with cgutils.for_range(builder, builder.udiv(count, LONG(LANES))) as loop:
            first = builder.mul(loop.index, LONG(LANES))
            number = load(builder, at(builder, index_at, first), BYTES)
            number = builder.select(builder.icmp_unsigned("<", number, last), number, last)
            bound = looked_up(number)
            slope = difference(load(builder, at(builder, values_at, first), FLOATS))
            slope = select_by(builder, ">", slope, zero)
            reached = builder.fcmp_ordered(">=", builder.fmul(slope, slope), bound)
            bit = builder.shl(builder.zext(any_of(builder, reached), LONG), loop.index)
            builder.store(builder.or_(builder.load(found), bit), found)
        return builder.load(found)

    return types.uint64(table, index, values, types.int64, types.float64, types.float64), build


def _nothing(table: Any, index: Any, size: Any, out: Any) -> int:
    return 0


def _reaching_in_python(table: Any, index: Any, values: Any, size: int, scale: float, shift: float) -> Any:
    slope = np.maximum(np.float32(shift) - np.float32(scale) * values[:size], np.float32(0.0))
    reached = slope * slope >= table[np.minimum(index[:size], 31)]
    return np.uint64(sum(1 << b for b in np.flatnonzero(reached.reshape(-1, 16).any(axis=1)).tolist()))


#: :func:`_shuffle_table`; without numba's JIT it does nothing, as on other processors.
shuffle_table: Any = _nothing if config.DISABLE_JIT else intrinsic(_shuffle_table)
#: :func:`_reaching`, or the same in Python without numba's JIT.
reaching: Any = _reaching_in_python if config.DISABLE_JIT else intrinsic(_reaching)
