"""Vector loops for `decomposition._fixed_gradient`, whose kernel rows are distances.

A pass takes sixteen entries at a time; bytes say which change each entry gets.

With AVX-512, a table of 32 numbers is two registers, and one instruction looks sixteen numbers up in it. With
AVX2, a table of sixteen bytes is a register, so that each byte of the numbers has tables of its own. In a
larger table, a block of sixteen takes as many instructions as its largest position needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
    spread,
    store,
)
from svmrepro.solvers.compilation.processor import has
from svmrepro.solvers.vector_code.table_lookup import byte_tables, look_up_by_bytes, look_up_by_element

LEAST, MOST = -(2**31), 2**31 - 1
_REACHES = 32, 64, 128  # entries of a table that one, two and four instructions reach


def largest_of(builder: Any, vector: Any) -> Any:
    """Return the largest of sixteen integers."""
    return call(builder, "llvm.vector.reduce.smax.v16i32", BITS, vector)


def _passes(context: Any, builder: Any, table_at: Any, used: Any, work: Callable[..., None]) -> None:
    """Emit one pass for tables of at most 32 used entries, and one for larger ones.

    ``work(look_up)`` emits a pass, where ``look_up(*numbers)`` emits one look-up of each vector of bytes.
    """

    def by_element(*numbers: Any) -> list[Any]:
        return [look_up_by_element(builder, table_at, number) for number in numbers]

    if not has(context, "avx2"):
        work(by_element)
        return
    wide = has(context, "avx512f")

    def words(first: int) -> Any:
        return load(builder, at(builder, table_at, first), WORDS)

    def permuted(registers: list[Any], number: Any, first: int, last: int) -> Any:
        if last - first == 2:
            name = "llvm.x86.avx512.vpermi2var.d.512"
            return call(builder, name, WORDS, registers[first], number, registers[first + 1])
        middle = (first + last) // 2
        bit = builder.and_(number, equal(WORDS, LANES * (middle - first)))
        high = builder.icmp_unsigned("!=", bit, equal(WORDS, 0))
        return builder.select(
            high, permuted(registers, number, middle, last), permuted(registers, number, first, middle)
        )

    def tables(reach: int) -> list[Any]:
        parts = [words(first) for first in range(0, reach, LANES)]
        return parts if wide else [byte_tables(builder, part) for part in parts]

    def by_registers(registers: list[Any]) -> Callable[..., list[Any]]:
        if not wide:
            return lambda *numbers: look_up_by_bytes(builder, registers, numbers)
        return lambda *numbers: [
            permuted(registers, builder.zext(number, WORDS), 0, len(registers)) for number in numbers
        ]

    def by_reach(reaches: tuple[int, ...], registers: list[Any]) -> Callable[..., list[Any]]:
        if not reaches:
            return by_element

        def look_up(*numbers: Any) -> list[Any]:
            together = numbers[0]
            for number in numbers[1:]:
                together = builder.or_(together, number)
            beyond = builder.icmp_unsigned(">=", together, equal(BYTES, reaches[0]))
            ways = []
            with builder.if_else(any_of(builder, beyond), likely=False) as branches:
                reached = registers[: reaches[0] // LANES]
                for branch, way in zip(
                    branches, (by_reach(reaches[1:], registers), by_registers(reached)), strict=True
                ):
                    with branch:
                        ways.append((way(*numbers), builder.block))
            results = [builder.phi(WORDS) for _ in numbers]
            for values, block in ways:
                for result, value in zip(results, values, strict=True):
                    result.add_incoming(value, block)
            return results

        return look_up

    few = builder.icmp_signed("<=", used, LONG(_REACHES[0]))
    with builder.if_else(few) as (then, otherwise):
        with then:
            work(by_registers(tables(_REACHES[0])))
        with otherwise:
            work(by_reach(_REACHES[1:], tables(_REACHES[-1])))


def may(builder: Any, status_at: Any, bit: Any) -> Any:
    """Return in which of sixteen statuses a bit is set."""
    status = load(builder, status_at, BYTES)
    return builder.icmp_unsigned("!=", builder.and_(status, spread(builder, bit, BYTES)), equal(BYTES, 0))


def _places(builder: Any, first: Any) -> Any:
    start = spread(builder, builder.trunc(first, BITS), WORDS)
    return builder.add(start, ir.Constant(WORDS, list(range(LANES))))


def _last_place(builder: Any, found: Any, where: Any) -> Any:
    nowhere = equal(WORDS, -1)
    return largest_of(builder, builder.select(found, builder.load(where), nowhere))


class Extremes(NamedTuple):
    """The extremes of what a pass has written: vectors in memory, an entry for each of sixteen lanes."""

    builder: Any
    rises_bit: Any
    falls_bit: Any
    top: Any
    bottom: Any
    where: Any
    largest: Any

    def extend(self, value: Any, status_at: Any, first: Any) -> None:
        """Include sixteen values, whose first has position ``first``."""
        builder = self.builder
        # Without AVX-512, a mask of bytes combined with one of words would be packed and unpacked.
        best, least = builder.load(self.top), equal(WORDS, LEAST)
        rises = builder.select(may(builder, status_at, self.rises_bit), value, least)
        lower = builder.icmp_signed(">", best, rises)
        builder.store(builder.select(lower, builder.load(self.where), _places(builder, first)), self.where)
        _extend(builder, "smax", self.top, rises)
        most = equal(WORDS, MOST)
        _extend(
            builder, "smin", self.bottom, builder.select(may(builder, status_at, self.falls_bit), value, most)
        )
        size_of = call(builder, "llvm.abs.v16i32", WORDS, value, ir.IntType(1)(0))
        _extend(builder, "smax", self.largest, size_of)

    def results(self) -> list[Any]:
        """Return what :func:`_move` does."""
        builder = self.builder
        best = builder.load(self.top)
        highest = largest_of(builder, best)
        last = _last_place(
            builder, builder.icmp_signed("==", best, spread(builder, highest, WORDS)), self.where
        )
        none = builder.icmp_signed("==", highest, BITS(LEAST))
        last = builder.select(none, BITS(-1), last)
        lowest = call(builder, "llvm.vector.reduce.smin.v16i32", BITS, builder.load(self.bottom))
        results = highest, last, lowest, largest_of(builder, builder.load(self.largest))
        return [builder.sext(value, LONG) for value in results]


def start_extremes(builder: Any, up: Any, down: Any) -> Extremes:
    """Return the extremes of no values; ``up`` and ``down`` are bits of a status."""
    rises_bit, falls_bit = (builder.trunc(bit, BYTE) for bit in (up, down))
    memory = (cgutils.alloca_once_value(builder, equal(WORDS, start)) for start in (LEAST, MOST, -1, 0))
    return Extremes(builder, rises_bit, falls_bit, *memory)


def _extend(builder: Any, operation: str, extreme: Any, value: Any) -> None:
    found = call(builder, f"llvm.{operation}.v16i32", WORDS, value, builder.load(extreme))
    builder.store(found, extreme)


def _move(
    typing_context: Any,
    near: Any,
    far: Any,
    changes: Any,
    values: Any,
    status: Any,
    size: Any,
    used: Any,
    up: Any,
    down: Any,
) -> Any:
    """``values[k] -= changes[near[k]] - changes[far[k]]`` modulo 2^32; return the extremes.

    Parameters
    ----------
    near, far : ndarray of uint8, shape (>= size,)
        Positions in ``changes``, below ``used``.
    changes : ndarray of int32, shape (256,)
        Table of changes.
    values : ndarray of int32, shape (>= size,)
        What is changed.
    status : ndarray of uint8, shape (>= size,)
        Bits.
    size : int
        A multiple of 16.
    used : int
        Number of entries of the table in use.
    up, down : int
        Bits of ``status``.

    Returns
    -------
    tuple of int64
        The largest value where bit ``up`` is set, or -2^31; its last position, or -1; the smallest value
        where bit ``down`` is set, or 2^31 - 1; the largest absolute value. No value is -2^31.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near_at, far_at, table_at, values_at, status_at = pointers(context, builder, signature, arguments)
        count, entries = arguments[5:7]
        extremes = start_extremes(builder, *arguments[7:])

        def work(look_up: Any) -> None:
            with blocks(builder, count, LANES) as first:
                block = [at(builder, pointer, first) for pointer in (near_at, far_at, values_at, status_at)]
                here, there = look_up(load(builder, block[0], BYTES), load(builder, block[1], BYTES))
                value = builder.sub(load(builder, block[2], WORDS), builder.sub(here, there))
                store(builder, value, block[2])
                extremes.extend(value, block[3], first)

        _passes(context, builder, table_at, entries, work)
        return context.make_tuple(builder, signature.return_type, extremes.results())

    kinds = near, far, changes, values, status, types.int64, types.int64, types.int64, types.int64
    return types.UniTuple(types.int64, 4)(*kinds), build


def _best(
    typing_context: Any,
    near: Any,
    inverses: Any,
    values: Any,
    status: Any,
    size: Any,
    used: Any,
    top: Any,
    down: Any,
) -> Any:
    """Return the largest ``(top - values[k])^2 inverses[near[k]]`` and its last position.

    That is in single precision. Only values below ``top`` where bit ``down`` of their status is set count;
    without any, return 0 and -1. The arguments are as in :func:`_move`; ``inverses``, float32, shape (256,),
    are positive.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near_at, table_at, values_at, status_at = pointers(context, builder, signature, arguments)
        count, entries, start, bit = arguments[4:]
        table_at = builder.bitcast(table_at, BITS.as_pointer())
        start = spread(builder, builder.trunc(start, BITS), WORDS)
        falls_bit = builder.trunc(bit, BYTE)
        # Below every gain; zeros are no candidates.
        least = builder.bitcast(equal(WORDS, 1), FLOATS)
        best = cgutils.alloca_once_value(builder, least)
        where = cgutils.alloca_once_value(builder, equal(WORDS, -1))

        def work(look_up: Any) -> None:
            with blocks(builder, count, LANES) as first:
                block = [at(builder, pointer, first) for pointer in (near_at, values_at, status_at)]
                inverse = builder.bitcast(look_up(load(builder, block[0], BYTES))[0], FLOATS)
                value, highest = load(builder, block[1], WORDS), builder.load(best)
                value = builder.select(may(builder, block[2], falls_bit), value, start)
                value = call(builder, "llvm.smin.v16i32", WORDS, value, start)
                slope = builder.uitofp(builder.sub(start, value), FLOATS)
                gain = builder.fmul(builder.fmul(slope, slope), inverse)
                better = builder.fcmp_ordered(">=", gain, highest)
                builder.store(builder.select(better, gain, highest), best)
                builder.store(builder.select(better, _places(builder, first), builder.load(where)), where)

        _passes(context, builder, table_at, entries, work)
        # Floats that are not negative have the order of their bits.
        bits = builder.bitcast(builder.load(best), WORDS)
        highest = largest_of(builder, bits)
        last = _last_place(builder, builder.icmp_signed("==", bits, spread(builder, highest, WORDS)), where)
        none = builder.icmp_signed("<", last, BITS(0))
        gain = builder.fpext(builder.bitcast(highest, FLOAT), DOUBLE)
        results = builder.select(none, DOUBLE(0.0), gain), builder.sext(last, LONG)
        return context.make_tuple(builder, signature.return_type, results)

    kinds = near, inverses, values, status, types.int64, types.int64, types.int64, types.int64
    return types.Tuple((types.float64, types.int64))(*kinds), build


def _add(typing_context: Any, near: Any, changes: Any, sums: Any, size: Any, used: Any) -> Any:
    """``sums[k] += changes[near[k]]`` modulo 2^32, k below ``size``, a multiple of 32; see :func:`_move`."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near_at, table_at, sums_at = pointers(context, builder, signature, arguments)
        count, entries = arguments[3:]

        def work(look_up: Any) -> None:
            with blocks(builder, count, 2 * LANES) as first:
                places = first, builder.add(first, LONG(LANES))
                numbers = [load(builder, at(builder, near_at, place), BYTES) for place in places]
                for place, found in zip(places, look_up(*numbers), strict=True):
                    sum_at = at(builder, sums_at, place)
                    store(builder, builder.add(load(builder, sum_at, WORDS), found), sum_at)

        _passes(context, builder, table_at, entries, work)
        return context.get_dummy_value()

    return types.void(near, changes, sums, types.int64, types.int64), build


def _move_in_python(
    near: Any, far: Any, changes: Any, values: Any, status: Any, size: int, used: int, up: int, down: int
) -> tuple[int, int, int, int]:
    values[:size] -= changes[near[:size]] - changes[far[:size]]
    return extremes_in_python(values[:size], status[:size], up, down)


def extremes_in_python(values: Any, status: Any, up: int, down: int) -> tuple[int, int, int, int]:
    """Return the extremes of values, as :func:`_move` does of those that it has written."""
    top, where, bottom = LEAST, -1, MOST
    rises = np.flatnonzero(status & up)
    if rises.size:
        top = int(values[rises].max())
        where = int(rises[values[rises] == top][-1])
    falls = np.flatnonzero(status & down)
    if falls.size:
        bottom = int(values[falls].min())
    return top, where, bottom, int(np.abs(values.astype(np.int64)).max(initial=0))


def _best_in_python(
    near: Any, inverses: Any, values: Any, status: Any, size: int, used: int, top: int, down: int
) -> tuple[float, int]:
    slopes = top - values[:size].astype(np.int64)
    candidates = np.flatnonzero(((status[:size] & down) != 0) & (slopes > 0))
    if not candidates.size:
        return 0.0, -1
    single = slopes[candidates].astype(np.float32)
    gains = single * single * inverses[near[candidates]]
    return float(gains.max()), int(candidates[gains == gains.max()][-1])


def _add_in_python(near: Any, changes: Any, sums: Any, size: int, used: int) -> None:
    sums[:size] += changes[near[:size]]


#: :func:`_move`, or the same in Python without numba's JIT.
move: Any = _move_in_python if config.DISABLE_JIT else intrinsic(_move)
#: :func:`_best`, or the same in Python without numba's JIT.
best: Any = _best_in_python if config.DISABLE_JIT else intrinsic(_best)
#: :func:`_add`, or the same in Python without numba's JIT.
add: Any = _add_in_python if config.DISABLE_JIT else intrinsic(_add)
