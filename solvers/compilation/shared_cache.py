"""One cache of compiled code for several processes.

numba gives the code of a new signature the next free number, after it has read which are taken. Two processes
that compile a function at once can take the same number, and one of them then runs code that was made for
other arguments. Here only one process at a time adds code of a function; the others wait, then load it, so no
code is compiled twice.

The locks are bytes of a file in the folder of the code. They end with their process. On a system that has no
such locks, processes may compile the same code.

numba also names a file in its index before it writes the file, and restarts at number 1 when the date of the
source file, or a comment in it, changes. A process that ends in between would leave an index that names an
old file, with code for other arguments. Here no two files ever have the same name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from uuid import uuid4

from numba.core.runtime.nrt import rtsys

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_FILE = "compiling.lock"


def share_cache(function: Any, compiling: Callable[[], AbstractContextManager[None]]) -> None:
    """Let processes share the cache of a function that numba compiles.

    It is compiled, or loaded, in the context that ``compiling`` returns. numba would import everything that
    compiling needs before it loads code, which takes a third of a second.
    """
    cached, compile_one, save = function._cache, function.compile, function._cache.save_overload
    file = cached._cache_file
    folder = cached.cache_path if cached._enabled else ""
    pattern = file._data_name_pattern
    name = f"{function.py_func.__qualname__} {function.py_func.__code__.co_firstlineno}"

    def compile_in_turn(signature: Any) -> Any:
        with _alone(folder, f"{name} {signature}"), compiling():
            return compile_one(signature)

    def load(signature: Any, context: Any) -> Any:
        rtsys.initialize(context)  # machine code calls its functions
        try:
            with cached._guard_against_spurious_io_errors():
                return cached._load_overload(signature, context)
        except (EOFError, UnpicklingError):
            # A file is damaged. Saving reads the index, too, so that it has to go.
            with suppress(OSError):
                Path(file._index_path).unlink()
            return None

    def save_alone(signature: Any, result: Any) -> None:
        if folder and not os.access(folder, os.W_OK):
            return  # existing code is used, and none is added
        with _alone(folder, name):
            file._data_name_pattern = pattern.replace("{number:d}", uuid4().hex[:16])
            save(signature, result)

    function.compile, cached.load_overload, cached.save_overload = compile_in_turn, load, save_alone


@contextmanager
def _alone(folder: str, what: str) -> Iterator[None]:
    """Let one process at a time do this in a folder; without a folder, "", there is no lock."""
    place = int.from_bytes(sha256(what.encode()).digest()[:7], "big")
    with suppress(OSError):  # of a file system without locks
        _lock(folder, "LOCK_EX", place)
    try:
        yield
    finally:
        with suppress(OSError):
            _lock(folder, "LOCK_UN", place)


def _lock(folder: str, how: str, place: int) -> None:
    if fcntl is not None and folder:
        fcntl.lockf(_lock_file(folder), getattr(fcntl, how), 1, place)


@cache
def _lock_file(folder: str) -> int:
    """Return the lock file of a folder, open for good: closing it would end all locks of this process."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return os.open(Path(folder, _FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
