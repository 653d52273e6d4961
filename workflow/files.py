"""Atomic files: they appear complete or not at all, despite concurrent readers, kills or a full disk."""

from __future__ import annotations

import glob
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from svmrepro.workflow.errors import StepError, writing


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty file next to ``path``, which is renamed to ``path`` when the block succeeds.

    It has the suffix of ``path``, for libraries that choose a format by it. Missing folders are created. If
    the folder or the file cannot be written (no permission, no space left), a StepError is raised; nothing
    is left behind, and an existing file of that name is unchanged. The block's errors about other files are
    raised as they are.
    """
    final = Path(path)
    with writing(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        _sweep(final)
        prefix = f".{final.stem}.{platform.node()}.{os.getpid()}-"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=final.suffix, dir=final.parent)
        os.close(handle)
    temporary = Path(name)
    try:
        with writing(final, str(temporary)):
            yield temporary
            # mkstemp creates private files; results should follow the umask.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            temporary.replace(final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def atomic_write(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a whole file at once, as :func:`atomic_path` does: bytes, or text as UTF-8."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def check_writable(folder: Path) -> None:
    """Raise a StepError if a folder, which need not exist yet, cannot be written or created."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise StepError(f"cannot write {folder}: {place} is not a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise StepError(f"cannot write {folder}: {place} does not let you write into it")


def _sweep(final: Path) -> None:
    """Remove temporary files left by killed writers of the same file on this host.

    Other hosts, which may share the folder, have other processes.
    """
    import psutil  # takes longer to import than most writers need

    here = f".{final.stem}.{platform.node()}."
    for path in final.parent.glob(f"{glob.escape(here)}*-*{glob.escape(final.suffix)}"):
        owner = path.name.removeprefix(here).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            path.unlink(missing_ok=True)
