"""How steps and commands fail: one line that a user can act on, and exit code 1."""

from __future__ import annotations

import csv
import errno
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Bytes below which a disk counts as full: no compiled function fits.
_LEAST_SPACE = 1 << 20


class StepError(Exception):
    """A failure outside the program (configuration, disk, data), reported in one line with its place."""


@contextmanager
def reading_table(path: Path) -> Iterator[None]:
    """Convert errors in reading a CSV file into a StepError that names it."""
    try:
        yield
    except OSError as error:
        raise StepError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise StepError(f"{path}: is not a table of comma-separated values: {one_line(error)}") from None


@contextmanager
def writing(path: Path, temporary: str | None = None) -> Iterator[None]:
    """Convert an error of the operating system into a StepError that names the file to be written.

    If that has another name in the meantime, an error that names any other file is raised as it is.
    """
    try:
        yield
    except OSError as error:
        if temporary is not None and error.filename not in (None, temporary):
            raise
        raise StepError(f"cannot write {path}: {cause(error)}") from error


def one_line(error: BaseException | str) -> str:
    """Describe an error, or its text, in one line; one of the operating system by its file and its cause."""
    if isinstance(error, OSError) and error.strerror:
        name = f"{os.fspath(error.filename)}: " if error.filename else _full_disk(error)
        return f"{name}{cause(error)}"
    text = " ".join(str(error).split())
    return text or type(error).__name__


def _full_disk(error: OSError) -> str:
    """Name the folder whose disk is full, where a library (Numba storing its code) does not name the file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        folder = full_folder(os.curdir, os.environ.get("NUMBA_CACHE_DIR", ""), tempfile.gettempdir())
        return f"cannot write into {folder}: " if folder else ""
    return ""


def full_folder(*folders: str | os.PathLike[str]) -> Path | None:
    """Return the first of the folders whose disk is full; "" is skipped."""
    for folder in [Path(each).absolute() for each in folders if each]:
        with suppress(OSError):
            if shutil.disk_usage(folder).free < _LEAST_SPACE:
                return folder
    return None


def cause(error: OSError) -> str:
    """Describe why the operating system refused, without the file name: ``no space left on device``."""
    return error.strerror.lower() if error.strerror else one_line(error)


def run_safely(work: Callable[[], int]) -> int:
    """Run a step and return the exit code of its process: its own, 1 after a fault, 130 after Ctrl-C.

    Failures that are not programming errors (:class:`StepError`, a full disk, an unwritable folder) are
    printed as one line. Other exceptions keep their traceback, because they are bugs of this project. What
    the locale's encoding lacks, such as an ellipsis in Latin-1, is printed as a question mark.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # the error stream never fails
        sys.stdout.reconfigure(errors="replace")
    try:
        return work()
    except (StepError, OSError) as error:
        # In one write: `print` writes the end of the line separately, and `tee` could write before it.
        sys.stderr.write(f"error: {one_line(error)}\n")
        return 1
    except KeyboardInterrupt:
        return 130
