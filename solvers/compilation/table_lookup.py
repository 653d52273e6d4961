"""Looking numbers up in a table that fits into registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


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


def _nothing(table: Any, index: Any, size: Any, out: Any) -> int:
    return 0


#: :func:`_shuffle_table`; without numba's JIT it does nothing, as on other processors.
shuffle_table: Any = _nothing if config.DISABLE_JIT else intrinsic(_shuffle_table)
