"""LLVM code that intrinsics have in common: types, vectors, loops over blocks, arguments that are arrays.

``builder`` is LLVM's, ``context`` numba's. ``kind`` is the type of a vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

BYTE, BITS, LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)  # of 8, 32 and 64 bits
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
LANES = 16
"""Length of the vectors below."""
BYTES, WORDS, FLOATS = (ir.VectorType(element, LANES) for element in (BYTE, BITS, FLOAT))


def equal(kind: Any, value: float) -> Any:
    """Return a constant vector of equal values."""
    return ir.Constant(kind, [value] * kind.count)


def spread(builder: Any, value: Any, kind: Any) -> Any:
    """Return a vector of equal values, given the value."""
    undefined = ir.Constant(kind, ir.Undefined)
    lane = builder.insert_element(undefined, value, BITS(0))
    return builder.shuffle_vector(lane, undefined, equal(ir.VectorType(BITS, kind.count), 0))


def at(builder: Any, pointer: Any, *positions: Any) -> Any:
    """Return a pointer to the entry whose position is the sum of these, constants or LLVM's integers."""
    for position in positions:
        pointer = builder.gep(pointer, [LONG(position) if isinstance(position, int) else position])
    return pointer


def load(builder: Any, pointer: Any, kind: Any, align: int = 1) -> Any:
    """Return the vector from a pointer to numbers on; the address is a multiple of ``align``."""
    loaded = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    loaded.align = align
    return loaded


def store(builder: Any, value: Any, pointer: Any, align: int = 1) -> None:
    """Store a vector from a pointer to numbers on; the address is a multiple of ``align``."""
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer())).align = align


def call(builder: Any, name: str, result: Any, *values: Any) -> Any:
    """Call one of LLVM's functions, whose result has the type ``result``."""
    kind = ir.FunctionType(result, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c`` of vectors, fused if the processor can."""
    return call(builder, f"llvm.fmuladd.v{a.type.count}{a.type.element.intrinsic_name}", a.type, a, b, c)


def select_by(builder: Any, comparison: str, a: Any, b: Any, flags: tuple[str, ...] = ()) -> Any:
    """Return ``a`` where its ordered comparison with ``b`` holds, and ``b`` elsewhere."""
    return builder.select(builder.fcmp_ordered(comparison, a, b, flags=flags), a, b, flags=flags)


def any_of(builder: Any, mask: Any) -> Any:
    """Return whether any bit of a vector of bits is set."""
    bits = ir.IntType(mask.type.count)
    return builder.icmp_unsigned("!=", builder.bitcast(mask, bits), bits(0))


def times_power(builder: Any, value: Any, rounded: Any) -> Any:
    """Return ``value * 2^k``, for integers k in the low bits of the floats ``rounded``."""
    integer, fraction = (BITS, 23) if value.type.element == FLOAT else (LONG, 52)
    kind = ir.VectorType(integer, value.type.count)
    exponent = builder.shl(builder.bitcast(rounded, kind), equal(kind, fraction))
    return builder.bitcast(builder.add(builder.bitcast(value, kind), exponent), value.type)


@contextmanager
def blocks(builder: Any, count: Any, size: int) -> Iterator[Any]:
    """Loop over whole blocks of ``size`` of ``count`` entries, given the position of a block's first."""
    with cgutils.for_range(builder, builder.udiv(count, LONG(size))) as loop:
        yield builder.mul(loop.index, LONG(size))


def arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Return numba's structures of those arguments that are arrays."""
    return [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args, arguments, strict=True)
        if isinstance(kind, types.Array)
    ]


def pointers(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Return the pointers to the data of those arguments that are arrays."""
    return [array.data for array in arrays(context, builder, signature, arguments)]
