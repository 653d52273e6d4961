"""Shorter compiling: functions that compiled ones call get no machine code of their own.

By default numba prepares every compiled function for calls from Python: it optimises the code and translates
it into machine code, with a wrapper that unpacks the arguments. Then it copies the code into each caller, and
does all this again there. With calls six levels deep and arguments of two hundred words, that is half the
time of compiling. Here a function is compiled only as far as its callers need. If Python calls it too, it is
compiled a second time.

Such a function can call itself, but not with arguments of other types, and not by way of another one. It
cannot print numbers, and compiled code cannot choose between two of them.

numba also determines the type of every call anew: for ``a[i]`` it tries a hundred candidates, and the body of
an inlined function is typed at each call. It looks candidates up by the options of the compilation, and
compares all of these by a property each. Here the type of a call with the same arguments and options is
determined once, and only options that were set are compared.

This uses parts of numba that are not documented. If they cannot be imported, compiling takes longer and
nothing else changes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import njit
from numba.extending import overload

try:
    from numba import _dynfunc
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.targetconfig import ConfigStack, TargetConfig
    from numba.core.typed_passes import NativeLowering
    from numba.core.types.functions import BaseFunction

    AVAILABLE = True
except ImportError:  # another version of numba
    AVAILABLE = False

__all__ = ["compile_inside", "overloaded", "quick_typing"]

if AVAILABLE:

    class _InnerLibrary(JITCodeLibrary):
        """Code to be linked into its callers', neither optimised nor translated."""

        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class _InnerLowering(NativeLowering):
        """Translation into LLVM's language only."""

        _name = "inner_lowering"

        def run_pass(self, state: Any) -> bool:
            """Translate the function and register it for its callers."""
            flags, context = state.flags, state.targetctx
            flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
            state.library = _InnerLibrary(context.codegen(), state.func_id.func_qualname)
            super().run_pass(state)
            result, library = state["cr"], state.library
            # numba's dispatcher asks for an object that Python can call. Nothing calls this one.
            fail = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p).value
            name, environment = result.fndesc.qualname.split(".")[-1], result.env
            called = _dynfunc.make_function(
                result.fndesc.lookup_module(), name, "not for Python", fail, environment, (library,)
            )
            context.insert_user_function(called, result.fndesc, [library])
            state["cr"] = _LowerResult(result.fndesc, result.call_helper, cfunc=called, env=environment)
            return True

    class _InnerCompiler(CompilerBase):
        """numba's compiler with another last pass."""

        def define_pipelines(self) -> list[Any]:
            """Return its pipeline."""
            pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
            pipeline.passes = [
                (_InnerLowering, text) if each is NativeLowering else (each, text)
                for each, text in pipeline.passes
            ]
            pipeline._finalized = False
            pipeline.finalize()
            return [pipeline]

    @cache
    def _hash_of_names(options: Any) -> int:
        return hash(tuple(sorted(options.options)))  # what numba computes anew each time

    _all_equal: Any = TargetConfig.__eq__
    _type_of_call: Any = BaseFunction.get_call_type
    _known: dict[Any, Any] = {}

    def _equal(options: Any, others: Any) -> Any:
        if type(options) is not type(others):
            return _all_equal(options, others)
        names = options._values.keys() | others._values.keys()  # all others have their defaults
        return all(getattr(options, name) == getattr(others, name) for name in names)

    def _known_type_of_call(function: Any, context: Any, types: Any, keywords: Any) -> Any:
        if keywords:
            return _type_of_call(function, context, types, keywords)
        call = function, types, ConfigStack.top_or_none()
        if call not in _known:
            found = _type_of_call(function, context, types, keywords)
            _known[call] = found, function._impl_keys[found.args]
        # What is called depends on the options, too, and numba remembers it by the arguments alone.
        found, function._impl_keys[found.args] = _known[call]
        return found


@contextmanager
def quick_typing() -> Iterator[None]:
    """Let numba determine the types of calls faster within the block, with the same results."""
    if not AVAILABLE:
        yield
        return
    before = TargetConfig.__eq__, TargetConfig.__hash__, BaseFunction.get_call_type
    TargetConfig.__eq__ = _equal  # type: ignore[method-assign]
    TargetConfig.__hash__ = lambda options: _hash_of_names(type(options))  # type: ignore[method-assign]
    BaseFunction.get_call_type = _known_type_of_call  # type: ignore[assignment]
    try:
        yield
    finally:
        TargetConfig.__eq__, TargetConfig.__hash__, BaseFunction.get_call_type = before  # type: ignore[method-assign]


def compile_inside(function: Any, options: dict[str, Any]) -> Any:
    """Change how calls of a compiled function from compiled code are compiled; return the function.

    It has no explicit signatures. ``options`` are those of ``numba.njit`` that it was compiled with, without
    ``cache``: a caller's cached code contains the functions that it calls.
    """
    if not AVAILABLE or not hasattr(function, "get_call_template"):
        return function

    @cache
    def inner() -> Any:
        made = njit(pipeline_class=_InnerCompiler, **options)(function.py_func)
        made._compiling_counter = function._compiling_counter  # by which numba recognises recursion
        return made

    # What numba asks for a call from compiled code: its type, and what to call.
    function.get_call_template = lambda types, keywords: inner().get_call_template(types, keywords)
    function.get_overload = lambda signature: inner().get_overload(signature)
    return function


def overloaded(function: Any) -> Callable[[Any], Any]:
    """Perform ``numba.extending.overload`` for versions that are always inlined."""
    options: Any = {"pipeline_class": _InnerCompiler} if AVAILABLE else {}
    return overload(function, options, inline="always")
