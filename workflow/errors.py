"""How steps fail: one line that a user can act on, and exit code 1."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class StepError(Exception):
    """A failure outside the program (configuration, disk, data), told in one line that names its place."""


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
def writing(path: Path) -> Iterator[None]:
    """Convert an error of the operating system into a StepError that names the file to be written."""
    try:
        yield
    except OSError as error:
        raise StepError(f"cannot write {path}: {cause(error)}") from error


def one_line(error: BaseException) -> str:
    """Describe an error in one line: its message, or the file and the cause of an operating system error."""
    if isinstance(error, OSError) and error.strerror:
        name = f"{os.fspath(error.filename)}: " if error.filename else ""
        return f"{name}{cause(error)}"
    text = " ".join(str(error).split())
    return text or type(error).__name__


def cause(error: OSError) -> str:
    """Describe why the operating system refused, without the file name: ``no space left on device``."""
    return error.strerror.lower() if error.strerror else one_line(error)


def run_safely(work: Callable[[], int]) -> int:
    """Run a step and return the exit code of its process: its own, 1 after a fault, 130 after Ctrl-C.

    Failures that are not programming errors (:class:`StepError`, a full disk, an unwritable folder) are
    printed as one line. Other exceptions keep their traceback, because they are bugs of this project.
    """
    try:
        return work()
    except (StepError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
