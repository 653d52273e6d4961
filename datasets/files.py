"""Files on disk: folder locks, atomic replacement, checksums."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from svmrepro.datasets.errors import StorageError
from svmrepro.datasets.locks import open_locked

CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError raised while writing ``path`` into a StorageError that names it."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder, creating it if missing; other processes wait."""
    with contextlib.ExitStack() as stack:
        with storage_errors(folder):
            stack.enter_context(open_locked(folder / ".lock"))
        yield


def part_of(target: Path, tag: str = "") -> Path:
    """Return the temporary name under which ``target`` is written.

    The name is fixed: the next process to hold the folder's lock resumes or overwrites what a killed one
    left.
    """
    return target.with_name(f".{target.name}{tag}.part")


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path, renamed to ``target`` on success and deleted on any error.

    The caller must hold the folder's lock.
    """
    part = part_of(target)
    try:
        yield part
        with storage_errors(target):
            part.replace(target)
    except BaseException:
        remove(part)
        raise


def remove(path: Path) -> None:
    """Delete a temporary file, if there is one and the folder permits it."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
