"""File locks between processes, including processes on several hosts that share a file system.

The locks use the kernel's ``flock``: a lock ends with its process, however the process ends; the file
remains. This is our own code for two reasons. ``filelock`` truncates the file on every attempt, so that the
holder's name is lost, and from version 3.20.4 on deletes it while others wait for it. ``portalocker`` offers
nothing beyond ``flock`` that is needed here.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

#: Seconds between two attempts to acquire one of several locks.
POLL = 0.2

#: Content of a held lock file: process, host, and the time since when it is held.
_SIGNED = re.compile(r"(\d{1,10})(?: ([\w.-]{1,255}) (\d{4}-\d\d-\d\dT[\d:]{8}Z))?", re.ASCII)


Waiting = Callable[[str], None]
"""Called once if a lock is not free immediately, with a description of its holder."""


@contextmanager
def open_locked(path: Path, flags: int = 0) -> Iterator[int]:
    """Open a file for reading and writing, and lock it; wait while another process holds it.

    The file and its folder are created if missing; ``flags`` are added to those of `os.open`. Yields the file
    descriptor.
    """
    with _opened(path, flags) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor


@contextmanager
def hold_one(paths: Sequence[Path], waiting: Waiting | None, *, shared: bool = False) -> Iterator[int]:
    """Acquire any one of several lock files, each of which names its last holder; yield its index.

    ``shared`` locks exclude only those that are not.
    """
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with ExitStack() as stack:
        descriptors = [stack.enter_context(_opened(path)) for path in paths]
        place = _first_free(descriptors, how)
        if place is None and waiting is not None:
            waiting(owner(descriptors[0]))
        while place is None:
            time.sleep(POLL)
            place = _first_free(descriptors, how)
        _sign(descriptors[place])
        yield place


def owner(descriptor: int) -> str:
    """Describe the last holder of an open lock file."""
    found = _SIGNED.fullmatch(os.pread(descriptor, 300, 0).decode(errors="replace").strip())
    if found is None:
        return "another process"
    return f"process {found[1]}" + (f" on {found[2]} (since {found[3]})" if found[2] else "")


@contextmanager
def _opened(path: Path, flags: int = 0) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _first_free(descriptors: Sequence[int], how: int) -> int | None:
    for place, descriptor in enumerate(descriptors):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return place
    return None


def _sign(descriptor: int) -> None:
    host = re.sub(r"[^A-Za-z0-9_.-]", "_", platform.node()) or "unknown"
    text = f"{os.getpid()} {host} {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    # The holder's name only improves a message, so a full disk must not stop the work here.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
