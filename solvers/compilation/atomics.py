"""Words of memory that threads share: atomic access, and ways to wait.

Each also has a Python implementation, for runs with numba's JIT switched off (``NUMBA_DISABLE_JIT=1``); these
have one thread only.
"""

from __future__ import annotations

import platform
import time
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic
from svmrepro.solvers.compilation.llvm_code import at, call, pointers

COMPILED = not config.DISABLE_JIT  # interpreted code has one thread only
_ALIGNED = 8
_PAUSES = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    (data,) = pointers(context, builder, signature, arguments)
    return at(builder, data, arguments[1])


def _load_word(typing_context: Any, words: Any, position: Any) -> Any:
    """Return an entry of an array of int64; later reads see what was written before it was stored."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, signature, arguments), "acquire", _ALIGNED)

    return types.int64(words, types.int64), build


def _store_word(typing_context: Any, words: Any, position: Any, value: Any) -> Any:
    """Set an entry of an array of int64, after all that was written before."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(
            arguments[2], _pointer(context, builder, signature, arguments), "release", _ALIGNED
        )
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), build


def _replace_word(typing_context: Any, words: Any, position: Any, old: Any, new: Any) -> Any:
    """Set an entry of an array of int64 to ``new`` if it is ``old``, at once; return whether it was."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        outcome = builder.cmpxchg(pointer, arguments[2], arguments[3], "acq_rel", "acquire")
        return builder.extract_value(outcome, 1)

    return types.boolean(words, types.int64, types.int64, types.int64), build


def _pause(typing_context: Any) -> Any:
    """Tell the processor that this thread waits in a loop."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = _PAUSES.get(platform.machine())
        if name:
            call(builder, name, ir.VoidType())
        return context.get_dummy_value()

    return types.void(), build


def _replace_in_python(words: Any, position: int, old: int, new: int) -> bool:
    found = words[position] == old
    if found:
        words[position] = new
    return bool(found)


def _store_in_python(words: Any, position: int, value: int) -> None:
    words[position] = value


load_word: Any = (lambda words, position: words[position]) if config.DISABLE_JIT else intrinsic(_load_word)
store_word: Any = _store_in_python if config.DISABLE_JIT else intrinsic(_store_word)
replace_word: Any = _replace_in_python if config.DISABLE_JIT else intrinsic(_replace_word)
pause: Any = (lambda: None) if config.DISABLE_JIT else intrinsic(_pause)
#: Let other threads run on this processor.
yield_processor: Any = (
    (lambda: 0) if config.DISABLE_JIT else types.ExternalFunction("sched_yield", types.intc())
)
#: Sleep for a number of microseconds.
sleep_microseconds: Any = (
    (lambda count: time.sleep(count * 1e-6))
    if config.DISABLE_JIT
    else types.ExternalFunction("usleep", types.intc(types.uint32))
)
