"""File locks between processes, also of several hosts that share a file system.

The lock is the kernel's (``flock``): it ends with the process, however that ends, and the file stays. This is
our own code because ``filelock`` empties the file whenever it tries the lock, so that nobody could read who
holds it, and deletes it in versions from 3.20.4 on while others wait for it; ``portalocker`` adds nothing to
``flock`` that is needed here.
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
from typing import NamedTuple

#: Seconds between two attempts to get one of several locks.
POLL = 0.2

#: What a holder writes into its lock file: process, host, and since when.
_SIGNED = re.compile(r"(\d{1,10})(?: ([\w.-]{1,255}) (\d{4}-\d\d-\d\dT[\d:]{8}Z))?", re.ASCII)


class Owner(NamedTuple):
    """The holder of a lock.

    Attributes
    ----------
    process
        Number of the process.
    host, since
        Name of its machine, and when it got the lock (ISO 8601, UTC); "" if unknown.
    """

    process: int
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        return f"process {self.process}" + (f" on {self.host} (since {self.since})" if self.host else "")


Waiting = Callable[[Owner | None], None]
"""Called once with the holder, or None if it is unknown, when a lock is not free at once."""


@contextmanager
def open_locked(path: Path, flags: int = 0) -> Iterator[int]:
    """Open a file for reading and writing, and wait until no other process holds it.

    Parameters
    ----------
    path
        The file; it and its folder are made if missing.
    flags
        More flags for `os.open`.

    Yields
    ------
    int
        The descriptor; closing it ends the lock.

    Raises
    ------
    OSError
        If the file cannot be made or locked.
    """
    with _opened(path, flags) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor


@contextmanager
def hold_one(paths: Sequence[Path], waiting: Waiting | None = None) -> Iterator[int]:
    """Hold one of several equal locks.

    Parameters
    ----------
    paths
        The lock files; each names its last holder.
    waiting
        Called once if none is free at once.

    Yields
    ------
    int
        The place in ``paths`` of the lock that is held.

    Raises
    ------
    OSError
        If a lock file cannot be made or locked.
    """
    with ExitStack() as stack:
        descriptors = [stack.enter_context(_opened(path)) for path in paths]
        place = _first_free(descriptors)
        if place is None and waiting is not None:
            waiting(owner(descriptors[0]))
        while place is None:
            time.sleep(POLL)
            place = _first_free(descriptors)
        _sign(descriptors[place])
        yield place


def owner(descriptor: int) -> Owner | None:
    """Return the last holder of an open lock file; None if the file does not say."""
    found = _SIGNED.fullmatch(os.pread(descriptor, 300, 0).decode(errors="replace").strip())
    return Owner(int(found[1]), found[2] or "", found[3] or "") if found else None


@contextmanager
def _opened(path: Path, flags: int = 0) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | flags, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _first_free(descriptors: Sequence[int]) -> int | None:
    for place, descriptor in enumerate(descriptors):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return place
    return None


def _sign(descriptor: int) -> None:
    host = re.sub(r"[^A-Za-z0-9_.-]", "_", platform.node()) or "unknown"
    text = f"{os.getpid()} {host} {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    # The name only improves a message: a full disk must not stop the work here.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
