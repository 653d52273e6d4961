"""Turning bit planes into bytes: a number whose bit p is in plane p, for 64 numbers a word."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

_LANES = 64


def _add_planes(
    typing_context: Any, planes: Any, count: Any, word: Any, base: Any, own: Any, unit: Any, out: Any
) -> Any:
    """Write ``base[k] + own + unit * number_k`` to ``out[:64]``.

    Bit p of ``number_k`` is bit k of ``planes[p, word]``. The sums stay in vector registers: with AVX-512, a
    word is a mask of 64 bytes.

    Parameters
    ----------
    planes : ndarray of uint64, shape (>= count, words)
        Bit planes, lowest first.
    count : int
        Number of planes, at most 8.
    word : int
        Which word of each plane.
    base : ndarray of uint8, shape (>= 64,)
        Numbers to add to.
    own, unit : int
        A summand and a factor, modulo 256 like all sums.
    out : ndarray of uint8, shape (>= 64,)
        Output.
    """
    byte = ir.IntType(8)
    bytes_, bits = ir.VectorType(byte, _LANES), ir.VectorType(ir.IntType(1), _LANES)
    nothing = ir.Constant(bytes_, [0] * _LANES)
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, number, column, start, summand, factor, results = arguments
        source = context.make_array(signature.args[0])(context, builder, rows)
        width = cgutils.unpack_tuple(builder, source.shape)[1]

        def at(kind: Any, value: Any) -> Any:
            return builder.bitcast(
                context.make_array(kind)(context, builder, value).data, bytes_.as_pointer()
            )

        def everywhere(value: Any) -> Any:
            lane = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(lane, lane, lanes)

        first = builder.load(at(signature.args[3], start))
        first.align = 1
        total = cgutils.alloca_once_value(
            builder, builder.add(first, everywhere(builder.trunc(summand, byte)))
        )
        with cgutils.for_range(builder, number) as loop:
            place = builder.add(builder.mul(loop.index, width), column)
            mask = builder.bitcast(builder.load(builder.gep(source.data, [place])), bits)
            weight = everywhere(builder.trunc(builder.shl(factor, loop.index), byte))
            part = builder.select(mask, weight, nothing)
            builder.store(builder.add(builder.load(total), part), total)
        builder.store(builder.load(total), at(signature.args[6], results)).align = 1
        return context.get_dummy_value()

    return types.void(planes, types.int64, types.int64, base, types.int64, types.int64, out), build


def _add_in_python(planes: Any, count: int, word: int, base: Any, own: int, unit: int, out: Any) -> None:
    for k in range(_LANES):
        number = sum((int(planes[p, word]) >> k & 1) << p for p in range(count))
        out[k] = (int(base[k]) + own + unit * number) % 256


#: :func:`_add_planes`, or the same in Python without numba's JIT.
add_planes: Any = _add_in_python if config.DISABLE_JIT else intrinsic(_add_planes)
