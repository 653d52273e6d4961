"""Passes over a gradient in fixed point, sixteen entries at a time; bytes say which change each entry gets.

With AVX-512, a table of 32 numbers is two registers, and one instruction looks sixteen numbers up in it. In a
larger table, a block of sixteen takes as many instructions as its largest position needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from svmrepro.solvers.compilation.table_lookup import has_avx512

LANES = 16
LEAST, MOST = -(2**31), 2**31 - 1
_BITS, _LONG = ir.IntType(32), ir.IntType(64)
_BYTES, _WORDS = ir.VectorType(ir.IntType(8), LANES), ir.VectorType(_BITS, LANES)
_FLOATS, _MASK = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(1), LANES)
_REACHES = 32, 64, 128  # entries of a table that one, two and four instructions reach


def _everywhere(builder: Any, value: Any) -> Any:
    lane = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), value, ir.Constant(_BITS, 0))
    return builder.shuffle_vector(lane, lane, ir.Constant(_WORDS, [0] * LANES))


def _load(builder: Any, pointer: Any, kind: Any) -> Any:
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    loaded.align = 1
    return loaded


def _call(builder: Any, name: str, result: Any, *values: Any) -> Any:
    kind = ir.FunctionType(result, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)


def _largest(builder: Any, vector: Any) -> Any:
    return _call(builder, "llvm.vector.reduce.smax.v16i32", _BITS, vector)


def _passes(context: Any, builder: Any, table_at: Any, used: Any, work: Callable[..., None]) -> None:
    """Emit one pass for tables of at most 32 used entries, and one for larger ones.

    ``work(look_up)`` emits a pass, where ``look_up(*numbers)`` emits one look-up of each vector of bytes.
    """

    def by_element(*numbers: Any) -> list[Any]:
        return [_by_element(builder, table_at, number) for number in numbers]

    if not has_avx512(context):
        work(by_element)
        return
    registers = [
        _load(builder, builder.gep(table_at, [ir.Constant(_LONG, LANES * r)]), _WORDS)
        for r in range(_REACHES[-1] // LANES)
    ]

    def permuted(number: Any, first: int, last: int) -> Any:
        if last - first == 2:
            name = "llvm.x86.avx512.vpermi2var.d.512"
            return _call(builder, name, _WORDS, registers[first], number, registers[first + 1])
        middle = (first + last) // 2
        bit = builder.and_(number, ir.Constant(_WORDS, [LANES * (middle - first)] * LANES))
        high = builder.icmp_unsigned("!=", bit, ir.Constant(_WORDS, [0] * LANES))
        return builder.select(high, permuted(number, middle, last), permuted(number, first, middle))

    def by_registers(reach: int) -> Callable[..., list[Any]]:
        return lambda *numbers: [
            permuted(builder.zext(number, _WORDS), 0, reach // LANES) for number in numbers
        ]

    def by_reach(reaches: tuple[int, ...]) -> Callable[..., list[Any]]:
        if not reaches:
            return by_element

        def look_up(*numbers: Any) -> list[Any]:
            together = numbers[0]
            for number in numbers[1:]:
                together = builder.or_(together, number)
            beyond = builder.icmp_unsigned(">=", together, ir.Constant(_BYTES, [reaches[0]] * LANES))
            some = builder.icmp_unsigned(
                "!=", builder.bitcast(beyond, ir.IntType(LANES)), ir.Constant(ir.IntType(LANES), 0)
            )
            ways = []
            with builder.if_else(some, likely=False) as branches:
                for branch, way in zip(
                    branches, (by_reach(reaches[1:]), by_registers(reaches[0])), strict=True
                ):
                    with branch:
                        ways.append((way(*numbers), builder.block))
            results = [builder.phi(_WORDS) for _ in numbers]
            for values, block in ways:
                for result, value in zip(results, values, strict=True):
                    result.add_incoming(value, block)
            return results

        return look_up

    few = builder.icmp_signed("<=", used, ir.Constant(_LONG, _REACHES[0]))
    with builder.if_else(few) as (then, otherwise):
        with then:
            work(by_registers(_REACHES[0]))
        with otherwise:
            work(by_reach(_REACHES[1:]))


def _by_element(builder: Any, table_at: Any, number: Any) -> Any:
    found: Any = ir.Constant(_WORDS, ir.Undefined)
    for lane in (ir.Constant(_BITS, k) for k in range(LANES)):
        place = builder.zext(builder.extract_element(number, lane), _LONG)
        found = builder.insert_element(found, builder.load(builder.gep(table_at, [place])), lane)
    return found


def _may(builder: Any, status: Any, bit: Any) -> Any:
    lane = builder.insert_element(ir.Constant(_BYTES, ir.Undefined), bit, ir.Constant(_BITS, 0))
    bits = builder.shuffle_vector(lane, lane, ir.Constant(_WORDS, [0] * LANES))
    return builder.icmp_unsigned("!=", builder.and_(status, bits), ir.Constant(_BYTES, [0] * LANES))


def _places(builder: Any, first: Any) -> Any:
    start = _everywhere(builder, builder.trunc(first, _BITS))
    return builder.add(start, ir.Constant(_WORDS, list(range(LANES))))


def _pointers(context: Any, builder: Any, kinds: Any, values: Any) -> list[Any]:
    return [
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(kinds, values, strict=True)
    ]


def _last_place(builder: Any, found: Any, where: Any) -> Any:
    nowhere = ir.Constant(_WORDS, [-1] * LANES)
    return _largest(builder, builder.select(found, builder.load(where), nowhere))


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
        where bit ``down`` is set, or 2^31 - 1; the largest absolute value.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near_at, far_at, table_at, values_at, status_at = _pointers(
            context, builder, signature.args[:5], arguments[:5]
        )
        count, entries = arguments[5:7]
        rises_bit, falls_bit = (builder.trunc(bit, _BYTES.element) for bit in arguments[7:])
        most = ir.Constant(_WORDS, [MOST] * LANES)
        top, bottom, where, largest = (
            cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [start] * LANES))
            for start in (LEAST, MOST, -1, 0)
        )

        def work(look_up: Any) -> None:
            with cgutils.for_range(builder, builder.udiv(count, ir.Constant(_LONG, LANES))) as loop:
                first = builder.mul(loop.index, ir.Constant(_LONG, LANES))
                at = [builder.gep(pointer, [first]) for pointer in (near_at, far_at, values_at, status_at)]
                here, there = look_up(_load(builder, at[0], _BYTES), _load(builder, at[1], _BYTES))
                value = builder.sub(_load(builder, at[2], _WORDS), builder.sub(here, there))
                builder.store(value, builder.bitcast(at[2], _WORDS.as_pointer())).align = 1
                bits = _load(builder, at[3], _BYTES)
                best = builder.load(top)
                higher = builder.and_(_may(builder, bits, rises_bit), builder.icmp_signed(">=", value, best))
                builder.store(builder.select(higher, value, best), top)
                builder.store(builder.select(higher, _places(builder, first), builder.load(where)), where)
                falls = builder.select(_may(builder, bits, falls_bit), value, most)
                _extend(builder, "smin", bottom, falls)
                size_of = _call(builder, "llvm.abs.v16i32", _WORDS, value, ir.Constant(ir.IntType(1), 0))
                _extend(builder, "smax", largest, size_of)

        _passes(context, builder, table_at, entries, work)
        best = builder.load(top)
        highest = _largest(builder, best)
        last = _last_place(builder, builder.icmp_signed("==", best, _everywhere(builder, highest)), where)
        lowest = _call(builder, "llvm.vector.reduce.smin.v16i32", _BITS, builder.load(bottom))
        results = highest, last, lowest, _largest(builder, builder.load(largest))
        return context.make_tuple(
            builder, signature.return_type, [builder.sext(value, _LONG) for value in results]
        )

    kinds = near, far, changes, values, status, types.int64, types.int64, types.int64, types.int64
    return types.UniTuple(types.int64, 4)(*kinds), build


def _extend(builder: Any, operation: str, extreme: Any, value: Any) -> None:
    found = _call(builder, f"llvm.{operation}.v16i32", _WORDS, value, builder.load(extreme))
    builder.store(found, extreme)


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
        near_at, table_at, values_at, status_at = _pointers(
            context, builder, signature.args[:4], arguments[:4]
        )
        count, entries, start, bit = arguments[4:]
        table_at = builder.bitcast(table_at, _BITS.as_pointer())
        start = _everywhere(builder, builder.trunc(start, _BITS))
        falls_bit = builder.trunc(bit, _BYTES.element)
        zero = ir.Constant(_FLOATS, [0.0] * LANES)
        best = cgutils.alloca_once_value(builder, zero)
        where = cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [-1] * LANES))

        def work(look_up: Any) -> None:
            with cgutils.for_range(builder, builder.udiv(count, ir.Constant(_LONG, LANES))) as loop:
                first = builder.mul(loop.index, ir.Constant(_LONG, LANES))
                at = [builder.gep(pointer, [first]) for pointer in (near_at, values_at, status_at)]
                inverse = builder.bitcast(look_up(_load(builder, at[0], _BYTES))[0], _FLOATS)
                value, highest = _load(builder, at[1], _WORDS), builder.load(best)
                slope = builder.uitofp(builder.sub(start, value), _FLOATS)
                gain = builder.fmul(builder.fmul(slope, slope), inverse)
                falls = _may(builder, _load(builder, at[2], _BYTES), falls_bit)
                candidate = builder.and_(falls, builder.icmp_signed(">", start, value))
                better = builder.and_(candidate, builder.fcmp_ordered(">=", gain, highest))
                builder.store(builder.select(better, gain, highest), best)
                builder.store(builder.select(better, _places(builder, first), builder.load(where)), where)

        _passes(context, builder, table_at, entries, work)
        # Floats that are not negative have the order of their bits.
        bits = builder.bitcast(builder.load(best), _WORDS)
        highest = _largest(builder, bits)
        last = _last_place(builder, builder.icmp_signed("==", bits, _everywhere(builder, highest)), where)
        results = (
            builder.fpext(builder.bitcast(highest, ir.FloatType()), ir.DoubleType()),
            builder.sext(last, _LONG),
        )
        return context.make_tuple(builder, signature.return_type, results)

    kinds = near, inverses, values, status, types.int64, types.int64, types.int64, types.int64
    return types.Tuple((types.float64, types.int64))(*kinds), build


def _move_in_python(
    near: Any, far: Any, changes: Any, values: Any, status: Any, size: int, used: int, up: int, down: int
) -> tuple[int, int, int, int]:
    values[:size] -= changes[near[:size]] - changes[far[:size]]
    top, where, bottom = LEAST, -1, MOST
    rises = np.flatnonzero(status[:size] & up)
    if rises.size:
        top = int(values[rises].max())
        where = int(rises[values[rises] == top][-1])
    falls = np.flatnonzero(status[:size] & down)
    if falls.size:
        bottom = int(values[falls].min())
    return top, where, bottom, int(np.abs(values[:size].astype(np.int64)).max(initial=0))


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


#: :func:`_move`, or the same in Python without numba's JIT.
move: Any = _move_in_python if config.DISABLE_JIT else intrinsic(_move)
#: :func:`_best`, or the same in Python without numba's JIT.
best: Any = _best_in_python if config.DISABLE_JIT else intrinsic(_best)
