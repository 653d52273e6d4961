"""Counting the ones of features bit by bit, for many examples at once.

Each feature of an example is a word of 64 bits, for 64 other examples. Words are added by logical operations,
bit by bit of the sum (a carry-save adder), a vector register of words at a time. The bits of the sums, their
*planes*, become bytes at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import (
    BYTE,
    LONG,
    at,
    blocks,
    equal,
    load,
    pointers,
    spread,
    store,
)
from svmrepro.solvers.compilation.processor import lanes

TOGETHER = 8
"""Words that may be read at once. Arrays are padded by as many; the padding does not count."""
MOST = 255
"""Largest count."""
_PLANES = 8
_BYTES = ir.VectorType(BYTE, 64)


def _add_counts(
    typing_context: Any,
    words: Any,
    starts: Any,
    fours: Any,
    planes: Any,
    size: Any,
    base: Any,
    own: Any,
    unit: Any,
    out: Any,
) -> Any:
    """Write ``base[k] + own + unit * count_k``, modulo 256, to ``out[k]`` for k < 64 ``size``.

    Bit k of the words from each ``starts[p]`` on counts, for p < 4 ``fours``.

    Parameters
    ----------
    words : ndarray of uint64, C-contiguous
        Bits, :data:`TOGETHER` words more than are used.
    starts : ndarray of int64, shape (>= 4 fours,)
        Positions in the flat array of words.
    fours : int
        See above.
    planes : int
        How many bits a count has, from 2 to 8.
    size : int
        How many words count.
    base, out : ndarray of uint8, shape (>= 64 (size + TOGETHER - 1),)
        Numbers to add to, and output.
    own, unit : int
        A summand and a factor.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        together = lanes(context, 64)
        kind = ir.VectorType(LONG, together)
        zero, nothing = equal(kind, 0), equal(_BYTES, 0)
        word_at, start_at, base_at, out_at = pointers(context, builder, signature, arguments)
        _, _, groups, count, number, _, summand, factor, _ = arguments
        plane_at = [cgutils.alloca_once_value(builder, zero) for _ in range(_PLANES)]
        carry_at = cgutils.alloca_once_value(builder, zero)
        buffer = cgutils.alloca_once(builder, LONG, size=_PLANES * together)

        def everywhere(value: Any) -> Any:
            return spread(builder, builder.trunc(value, BYTE), _BYTES)

        def add(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
            """Add bits; return the sums and the carries."""
            half = builder.xor(a, b)
            return builder.xor(half, c), builder.or_(builder.and_(a, b), builder.and_(half, c))

        def each_plane(work: Any, r: int = 2) -> None:
            """Emit work for each existing plane from the third on."""
            if r < _PLANES:
                with builder.if_then(builder.icmp_signed(">", count, LONG(r))):
                    work(r)
                    each_plane(work, r + 1)

        def ripple(r: int) -> None:
            bits, carry = builder.load(plane_at[r]), builder.load(carry_at)
            builder.store(builder.xor(bits, carry), plane_at[r])
            builder.store(builder.and_(bits, carry), carry_at)

        def keep(r: int) -> None:
            store(builder, builder.load(plane_at[r]), at(builder, buffer, r * together), align=8)

        start = everywhere(summand)
        weights = [everywhere(builder.shl(factor, LONG(r))) for r in range(_PLANES)]
        with blocks(builder, builder.add(number, LONG(together - 1)), together) as first:
            for plane in plane_at:
                builder.store(zero, plane)
            with cgutils.for_range(builder, groups) as loop:
                four = builder.shl(loop.index, LONG(2))
                bits = []
                for p in range(4):
                    place = builder.load(at(builder, start_at, builder.add(four, LONG(p))))
                    bits.append(load(builder, at(builder, word_at, builder.add(place, first)), kind))
                total, one = add(builder.load(plane_at[0]), bits[0], bits[1])
                total, two = add(total, bits[2], bits[3])
                builder.store(total, plane_at[0])
                total, carry = add(builder.load(plane_at[1]), one, two)
                builder.store(total, plane_at[1])
                builder.store(carry, carry_at)
                each_plane(ripple)
            keep(0)
            keep(1)
            each_plane(keep)
            with cgutils.for_range(builder, LONG(together)) as loop:
                place = builder.shl(builder.add(first, loop.index), LONG(6))
                sums = cgutils.alloca_once_value(builder, nothing)
                builder.store(builder.add(load(builder, at(builder, base_at, place), _BYTES), start), sums)

                def expand(r: int, w: Any = loop.index, sums: Any = sums) -> None:
                    word = builder.load(at(builder, buffer, builder.add(w, LONG(r * together))))
                    mask = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
                    part = builder.select(mask, weights[r], nothing)
                    builder.store(builder.add(builder.load(sums), part), sums)

                expand(0)
                expand(1)
                each_plane(expand)
                store(builder, builder.load(sums), at(builder, out_at, place))
        return context.get_dummy_value()

    kinds = words, starts, types.int64, types.int64, types.int64, base, types.int64, types.int64, out
    return types.void(*kinds), build


def _add_in_python(
    words: Any, starts: Any, fours: int, planes: int, size: int, base: Any, own: int, unit: int, out: Any
) -> None:
    flat, counts = words.ravel(), np.zeros(64 * size, dtype=np.int64)
    for start in starts[: 4 * fours]:
        counts += np.unpackbits(flat[start : start + size].view(np.uint8), bitorder="little")
    out[: 64 * size] = (base[: 64 * size].astype(np.int64) + own + unit * counts) % 256


#: :func:`_add_counts`, or the same in Python without numba's JIT.
add_counts: Any = _add_in_python if config.DISABLE_JIT else intrinsic(_add_counts)
