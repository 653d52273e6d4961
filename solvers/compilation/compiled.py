"""The decorator that compiles all numba code of this package."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import config, njit, types
from numba.core.caching import CacheImpl
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import typeof_impl
from svmrepro.solvers.compilation.inner_functions import compile_inside, quick_typing
from svmrepro.solvers.compilation.shared_cache import share_cache
from svmrepro.solvers.source_code import fingerprint_all


def compiled(
    *signatures: Any, overflows: bool = False, choice: bool = False, argument: bool = False, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function and caches the machine code on disk.

    With ``signatures``, it is compiled for these types at import; that is needed if functions are passed as
    arguments. Else it is compiled at its first call. A function is a ``choice`` if a problem needs one of
    several with the same signature: it is compiled when :func:`first_class` is asked for it, as an
    ``argument`` of other compiled functions. Only such a function has the entry point that these call,
    because it takes time to compile.

    Reference counting is switched off. Arrays belong to the caller for the whole call, and counting every
    access to the fields of a state took a third of SMO's time (two locked instructions each). A function must
    therefore not create an array; views are fine. Division by zero gives inf or nan as in C; callers ensure
    that this is harmless. Where a function ``overflows`` on purpose, integers wrap around and numbers become
    infinite; without numba's JIT, NumPy is told not to warn.

    Every function has ``cache=True``. Further ``options`` go to ``numba.njit``: ``fastmath`` where a function
    asks for it; ``nogil`` in the loops that several threads run (`svmrepro.solvers.decomposition.threads`);
    ``forceinline`` for functions called in every step, because a state is about two hundred words, which
    every call that is not inlined copies.
    """
    fixed = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": not argument, **options}

    def decorate(function: Callable[..., Any]) -> Any:
        if overflows and config.DISABLE_JIT:
            function = np.errstate(over="ignore")(function)
        at_once = [] if choice else list(signatures)
        with _cache_folder():
            made = njit(cache=True, **fixed)(function)
        if hasattr(made, "compile"):  # else numba's JIT is off
            if not made._cache.cache_path:
                made._cache.disable()
            share_cache(made, _compiling)
            for signature in at_once:
                made.compile(signature)
            made.disable_compile(bool(at_once))
        if choice:
            made.choice = cache(partial(compiled(*signatures, argument=True, **options), function))
        return made if at_once else compile_inside(made, fixed)

    return decorate


def source(function: Any) -> Callable[..., Any]:
    """Return the Python function behind a compiled one; without numba's JIT, the function itself."""
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


@cache
def compiled_for(function: Any, signature: Any, **options: Any) -> Any:
    """Return a compiled function, compiled for another signature, with options of :func:`compiled`."""
    return compiled(signature, **options)(source(function))


def direct(function: Any) -> Any:
    """Return the entry point of a function compiled for one signature; without numba's JIT, the function.

    numba looks up the types of all arguments in Python if one of them is a function, which takes 0.01 to
    0.05 ms. The entry point checks no types: the arguments must be those of the signature.
    """
    if not hasattr(function, "overloads"):
        return function
    (version,) = function.overloads.values()
    return version.entry_point


class FirstClass(types.WrapperAddressProtocol):
    """A compiled function of one signature as an argument of other compiled functions.

    For a plain compiled function, numba searches the compiled versions at every call, which takes 0.2 ms; and
    it makes the type of a function anew, which takes 0.01 ms. Here its address and its type are stored.
    """

    def __init__(self, function: Any) -> None:
        ((arguments, version),) = function.overloads.items()
        self._function, self._signature = function, version.signature
        self.type = types.FunctionType(version.signature)
        name = version.fndesc.llvm_cfunc_wrapper_name
        self._address = version.library.get_pointer_to_function(name)
        assert len(arguments) == len(self._signature.args)

    def __wrapper_address__(self) -> int:
        """Return the address of the machine code."""
        return int(self._address)

    def signature(self) -> Any:
        """Return the signature."""
        return self._signature

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self._function(*arguments)


@typeof_impl.register(FirstClass)
def _type_of(function: FirstClass, context: Any) -> Any:
    return function.type


@cache
def first_class(*functions: Any) -> Any:
    """Return functions in a form that can be passed as arguments; without numba's JIT, unchanged."""
    versions = [each.choice() if hasattr(each, "choice") else each for each in functions]
    return tuple(FirstClass(each) if hasattr(each, "overloads") else each for each in versions)


_LOCATOR: Any = CacheImpl._locator_classes[0]


class _Folder(_LOCATOR):  # type: ignore[misc]
    """The folder of `_cache_folder`; numba's own class refuses a read-only folder."""

    def ensure_cache_path(self) -> None:
        """Make the folder; raise an OSError if it can neither be written nor read."""
        try:
            super().ensure_cache_path()
        except OSError:
            folder = self.get_cache_path()
            if os.access(folder, os.W_OK) or not os.access(folder, os.R_OK | os.X_OK):
                raise


class _Nowhere(_LOCATOR):  # type: ignore[misc]
    """No folder, if that one cannot be used: numba would use the source's own, or raise an error."""

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Nowhere:
        """Accept every function."""
        return cls(function, file)

    def get_cache_path(self) -> str:
        """Return no path."""
        return ""

    def get_source_stamp(self) -> None:
        """Return no stamp; the source may be no file."""


def _home() -> Path:
    """Return the home folder; for a user without one, a path where no folder can be made."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)


@contextmanager
def _cache_folder() -> Iterator[str]:
    """Cache machine code in a folder named after this package's source: in NUMBA_CACHE_DIR, if it is set.

    By default numba caches the code beside a function's source and does not notice changes in functions
    called from other modules. With a new folder for every state of the source, no stale code is used. The
    folder's name is yielded. One thread at a time changes numba's settings.
    """
    with global_compiler_lock:
        before, known = config.CACHE_DIR, CacheImpl._locator_classes
        CacheImpl._locator_classes = [_Folder, _Nowhere]
        caches = before or Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache", "svmrepro")
        config.CACHE_DIR = str(Path(caches, f"compiled-{fingerprint_all()}"))
        try:
            yield config.CACHE_DIR
        finally:
            config.CACHE_DIR, CacheImpl._locator_classes = before, known


@contextmanager
def _compiling() -> Iterator[None]:
    """Compile in less time, in one thread at a time.

    Garbage collection is off meanwhile: compiling makes millions of lasting objects, and scanning them again
    and again takes an eighth of the time.
    """
    with global_compiler_lock:
        collects = gc.isenabled()
        gc.disable()
        try:
            with quick_typing():
                yield
        finally:
            if collects:
                gc.enable()
