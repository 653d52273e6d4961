"""Looking numbers up in tables that fit into registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from svmrepro.solvers.compilation.processor import has


def byte_tables(builder: Any, words: Any) -> list[Any]:
    """Return four tables for :func:`look_up_by_bytes`: the bytes of sixteen 32-bit numbers, lowest first."""
    narrow = ir.VectorType(ir.IntType(8), words.type.count)
    shifts = [ir.Constant(words.type, [8 * byte] * words.type.count) for byte in range(4)]
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
    kind = ir.VectorType(ir.IntType(8), size)
    name = "llvm.x86.avx2.pshuf.b" if size == 32 else "llvm.x86.ssse3.pshuf.b.128"

    def picked(one: Any, other: Any, lanes: Any) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return builder.shuffle_vector(one, other, mask)

    def call(name: str, *values: Any) -> Any:
        signature = ir.FunctionType(kind, [kind, kind])
        return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), values)

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
        offset = ir.Constant(kind, [16 * part] * size)
        place = call(
            f"llvm.uadd.sat.v{size}i8", builder.sub(together, offset), ir.Constant(kind, [0x70] * size)
        )
        for byte, table in enumerate(four):
            wide = table if size == 16 else picked(table, table, list(range(16)) * 2)
            value = call(name, wide, place)
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
        ir.VectorType(kind, 8) for kind in (ir.DoubleType(), ir.IntType(index.dtype.bitwidth), ir.IntType(64))
    )

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not has(context, "avx512f"):
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
            ones = number = builder.zext(loaded, words)  # the permutation reads four bits of it
            sixteens = builder.lshr(number, ir.Constant(words, [4] * 8))
            value = builder.fmul(
                builder.call(permute, [low[0], ones, low[1]]),
                builder.call(permute, [high[0], sixteens, high[1]]),
            )
            target = builder.bitcast(builder.gep(out_at, [first]), doubles.as_pointer())
            builder.store(value, target).align = 8
        return builder.mul(steps, eight)

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
    lanes = 16
    floats, words = ir.VectorType(ir.FloatType(), lanes), ir.VectorType(ir.IntType(32), lanes)
    bytes_, long = ir.VectorType(ir.IntType(8), lanes), ir.IntType(64)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        entries, numbers, summands, count, factor, start = arguments
        table_at, index_at, values_at = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[:3], (entries, numbers, summands), strict=True)
        )

        def call(name: str, kinds: list[Any], *values: Any) -> Any:
            kind = ir.FunctionType(floats, kinds)
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

        def everywhere(value: Any) -> Any:
            lane = builder.insert_element(
                ir.Constant(floats, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            return builder.shuffle_vector(lane, lane, ir.Constant(words, [0] * lanes))

        def vector(pointer: Any, kind: Any) -> Any:
            loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
            loaded.align = 1
            return loaded

        def looked_up(number: Any) -> Any:
            if wide:
                number = builder.zext(number, words)
                return call("llvm.x86.avx512.vpermi2var.ps.512", [floats, words, floats], low, number, high)
            if tables:
                return builder.bitcast(look_up_by_bytes(builder, tables, [number])[0], floats)
            found: Any = ir.Constant(floats, ir.Undefined)
            for lane in (ir.Constant(ir.IntType(32), k) for k in range(lanes)):
                place = builder.zext(builder.extract_element(number, lane), long)
                found = builder.insert_element(found, builder.load(builder.gep(table_at, [place])), lane)
            return found

        def difference(value: Any) -> Any:
            if wide:
                return call("llvm.fma.v16f32", [floats] * 3, value, minus, shifts)
            return builder.fadd(builder.fmul(value, minus), shifts)

        wide = has(context, "avx512f")
        low = vector(table_at, floats)
        high = vector(builder.gep(table_at, [ir.Constant(long, lanes)]), floats)
        halves = [builder.bitcast(half, words) for half in (low, high)]
        tables = [byte_tables(builder, half) for half in halves] if has(context, "avx2") and not wide else []
        minus = everywhere(builder.fptrunc(builder.fneg(factor), ir.FloatType()))
        shifts = everywhere(builder.fptrunc(start, ir.FloatType()))
        zero, last = ir.Constant(floats, [0.0] * lanes), ir.Constant(bytes_, [31] * lanes)
        found = cgutils.alloca_once_value(builder, ir.Constant(long, 0))
        with cgutils.for_range(builder, builder.udiv(count, ir.Constant(long, lanes))) as loop:
            first = builder.mul(loop.index, ir.Constant(long, lanes))
            number = vector(builder.gep(index_at, [first]), bytes_)
            number = builder.select(builder.icmp_unsigned("<", number, last), number, last)
            bound = looked_up(number)
            value = vector(builder.gep(values_at, [first]), floats)
            slope = difference(value)
            slope = builder.select(builder.fcmp_ordered(">", slope, zero), slope, zero)
            reached = builder.fcmp_ordered(">=", builder.fmul(slope, slope), bound)
            some = builder.icmp_unsigned(
                "!=", builder.bitcast(reached, ir.IntType(16)), ir.Constant(ir.IntType(16), 0)
            )
            builder.store(
                builder.or_(builder.load(found), builder.shl(builder.zext(some, long), loop.index)), found
            )
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
