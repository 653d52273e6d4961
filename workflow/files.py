"""Files that no reader, kill or full disk ever meets half-written, and locks between processes."""

from __future__ import annotations

import fcntl
import glob
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from svmrepro.workflow.errors import StepError, cause

#: Seconds between two looks at a lock that somebody else holds.
LOCK_POLL = 0.2

#: What a holder writes into its lock file: process, host and when it began.
_SIGNED = re.compile(r"(\d{1,10})(?: ([\w.-]{1,255}) (\d{4}-\d\d-\d\dT[\d:]{8}Z))?", re.ASCII)


class Owner(NamedTuple):
    """
    Who holds a lock.

    Attributes
    ----------
    process
        Number of the process.
    host, since
        Name of its machine, and when it got the lock (ISO 8601, UTC); "" where it did not say.
    """

    process: int
    host: str = ""
    since: str = ""

    def __str__(self) -> str:
        return f"process {self.process}" + (f" on {self.host} (since {self.since})" if self.host else "")


Waiting = Callable[[Owner | None], None]
"""Called once with the holder, or None if it is not known, where a lock is not free at once."""


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """
    Yield a temporary path beside ``path`` that takes its name when the block ends well.

    Parameters
    ----------
    path
        The final file; missing parent folders are made.

    Yields
    ------
    Path
        An empty file with the suffix of ``path``, for libraries that pick a format by it.

    Raises
    ------
    StepError
        If the folder or the file cannot be written (no permission, no space left). Nothing is left behind and
        an older file of that name stays as it was.
    """
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _sweep(final)
        prefix = f".{final.stem}.{os.getpid()}-"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=final.suffix, dir=final.parent)
        os.close(handle)
    except OSError as error:
        raise StepError(f"cannot write {final}: {cause(error)}") from error
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; results are for everybody whom the umask lets in.
        temporary.chmod(0o666 & ~_umask())
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(final)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StepError(f"cannot write {final}: {cause(error)}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def atomic_write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """
    Write a whole file at once: it appears complete under its name or not at all.

    Parameters
    ----------
    path
        The file; missing parent folders are made.
    content
        Text (written as UTF-8 with the line ends it has) or bytes.

    Raises
    ------
    StepError
        If it cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def lock(path: str | os.PathLike[str], waiting: Waiting | None = None) -> Iterator[None]:
    """
    Hold an exclusive lock between processes; it ends with the process, however that ends.

    Parameters
    ----------
    path
        The lock file, kept on disk; it tells who held it last.
    waiting
        Called once with the holder (or None) if the lock is not free at once.

    Raises
    ------
    StepError
        If the lock file cannot be made.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StepError(f"cannot write {target}: {cause(error)}") from error
    try:
        if not _try_lock(descriptor):
            if waiting is not None:
                waiting(_owner(descriptor))
            while not _try_lock(descriptor):
                time.sleep(LOCK_POLL)
        _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def any_lock(folder: Path, slots: int, waiting: Waiting | None = None) -> Iterator[int]:
    """
    Hold one of several equal locks, so that at most ``slots`` processes work at a time.

    Parameters
    ----------
    folder
        Where the lock files are.
    slots
        How many holders there may be.
    waiting
        As in :func:`lock`; called once if none is free at once.

    Yields
    ------
    int
        The number of the slot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptors = [
            os.open(folder / f"slot-{slot}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            for slot in range(slots)
        ]
    except OSError as error:
        raise StepError(f"cannot write {folder}: {cause(error)}") from error
    try:
        held = _first_free(descriptors)
        if held is None and waiting is not None:
            waiting(_owner(descriptors[0]))
        while held is None:
            time.sleep(LOCK_POLL)
            held = _first_free(descriptors)
        _sign(descriptors[held])
        yield held
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _sweep(final: Path) -> None:
    """Take away what killed writers of the same file left half-done."""
    for path in final.parent.glob(f".{glob.escape(final.stem)}.*-*{glob.escape(final.suffix)}"):
        owner = path.name.removeprefix(f".{final.stem}.").partition("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _first_free(descriptors: list[int]) -> int | None:
    return next((slot for slot, descriptor in enumerate(descriptors) if _try_lock(descriptor)), None)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(descriptor: int) -> None:
    host = re.sub(r"[^A-Za-z0-9_.-]", "_", platform.node()) or "unknown"
    text = f"{os.getpid()} {host} {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    # The owner's name only makes the waiting message friendlier: a full disk must not stop the work here.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _owner(descriptor: int) -> Owner | None:
    found = _SIGNED.fullmatch(os.pread(descriptor, 300, 0).decode(errors="replace").strip())
    return Owner(int(found[1]), found[2] or "", found[3] or "") if found else None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
