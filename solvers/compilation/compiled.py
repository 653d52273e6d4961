"""The one way in which this package compiles."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config, njit, types
from svmrepro.solvers.source_code import fingerprint_all


def compiled(
    *signatures: Any, allocates: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function and keeps the machine code on disk.

    Reference counting is switched off, unless the function ``allocates``: arrays belong to the caller
    for the whole call, and counting every access to the fields of a state took a third of SMO's time
    (two locked instructions each). Such a function must not create an array; views are fine. Division
    by zero gives inf or nan as in C; callers see to it that none matters.

    Parameters
    ----------
    *signatures
        Types to compile for at once; needed where functions are passed as arguments. None: at the first call.
    allocates : bool
        Whether the function creates arrays.
    **options
        Passed on to ``numba.njit``, for example ``fastmath``; ``forceinline`` for what a step calls:
        a state is some two hundred words, and every call that is not inlined copies them.
    """
    fixed = {"cache": True, "error_model": "numpy", **({} if allocates else {"_nrt": False}), **options}

    def decorate(function: Callable[..., Any]) -> Any:
        with _cache_folder():
            return njit(list(signatures), **fixed)(function) if signatures else njit(**fixed)(function)

    return decorate


def source(function: Any) -> Callable[..., Any]:
    """Return the Python function that was compiled; with numba's JIT switched off it is there already."""
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


class FirstClass(types.WrapperAddressProtocol):
    """A compiled function as an argument of other compiled functions, which find its address at once.

    For a function itself numba looks through what was compiled of it, at every call: 0.2 ms each.

    Parameters
    ----------
    function : callable
        Compiled for one signature.
    """

    def __init__(self, function: Any) -> None:
        ((arguments, version),) = function.overloads.items()
        self._function, self._signature = function, version.signature
        name = version.fndesc.llvm_cfunc_wrapper_name
        self._address = version.library.get_pointer_to_function(name)
        assert len(arguments) == len(self._signature.args)

    def __wrapper_address__(self) -> int:
        """Return where the machine code is."""
        return int(self._address)

    def signature(self) -> Any:
        """Return its types."""
        return self._signature

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self._function(*arguments)


def first_class(*functions: Any) -> Any:
    """Return functions as arguments of others; with numba's JIT switched off they are that already."""
    return tuple(FirstClass(each) if hasattr(each, "overloads") else each for each in functions)


@contextmanager
def _cache_folder() -> Iterator[None]:
    """Keep machine code in a folder named after this package's source, unless NUMBA_CACHE_DIR is set.

    Numba keeps it beside a function's source and does not notice that a function called from
    another module has changed. A new name for every state of the source leaves nothing stale.
    """
    before = config.CACHE_DIR
    if not before:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        config.CACHE_DIR = str(Path(home) / "svmrepro" / f"compiled-{fingerprint_all()}")
    try:
        yield
    finally:
        config.CACHE_DIR = before
