"""Memory for kernel rows, kept from one run for the next.

The system takes about as long to provide memory as the kernel rows in it take to compute. A run's memory is
therefore kept, but marked as free: the system takes it back as soon as it is short of memory.

Pages have the usual size. Huge pages, which numpy asks for, cost a seventh as much if the system has them
ready, but three to seven times as much if a virtual machine has to get them from its host.
"""

from __future__ import annotations

import mmap
import os
import weakref
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

_FEWEST = 4 * 2**20  # bytes; for less, numpy does not ask for huge pages
_UNIT = 16 * 2**20  # bytes reserved at a time, so that nearly equal sizes are the same
KEEPS = all(hasattr(mmap, name) for name in ("MADV_FREE", "MADV_NOHUGEPAGE"))
"""Whether this system supports keeping memory; otherwise numpy provides it."""
_kept: list[mmap.mmap] = []  # at most one; taken and put back by single operations, as threads require


def empty(shape: tuple[int, int], dtype: Any) -> Any:
    """Return an array without initial values; raise MemoryError if the system cannot reserve so much."""
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < _FEWEST or not KEEPS:
        return np.empty(shape, dtype)
    room = _room(size)
    owner = np.frombuffer(room, np.uint8, size)
    weakref.finalize(owner, _keep, room, size, os.getpid()).atexit = False
    return owner.view(dtype).reshape(shape)


def release() -> None:
    """Return the kept memory to the system."""
    _kept.clear()


def _room(size: int) -> mmap.mmap:
    with suppress(IndexError):
        room = _kept.pop()
        if len(room) >= size:
            return room
        del room  # before more is reserved
    try:
        room = mmap.mmap(-1, -(-size // _UNIT) * _UNIT, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"cannot reserve {size:,} bytes for kernel rows") from None
    with suppress(OSError):  # a kernel without huge pages
        room.madvise(mmap.MADV_NOHUGEPAGE)
    return room


def _keep(room: mmap.mmap, size: int, process: int) -> None:
    """Keep memory of which ``size`` bytes were in use, unless the kept memory is larger."""
    if process != os.getpid():  # inherited by a fork, which would copy each page that it writes to
        return
    with suppress(OSError):  # otherwise it is returned
        room.madvise(mmap.MADV_FREE, 0, size)
        with suppress(IndexError):
            room = max(room, _kept.pop(), key=len)
        _kept[:] = [room]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=release)
