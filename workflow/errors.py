"""The one way in which a step fails: one line that a person can act on, and exit code 1."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class StepError(Exception):
    """A fault outside the program (configuration, disk, data), told in one line that names its place."""


@contextmanager
def reading_table(path: Path) -> Iterator[None]:
    """
    Turn what can go wrong with a file of comma-separated values into one line that names it.

    Raises
    ------
    StepError
        If it cannot be read, is no UTF-8 text or no such table.
    """
    try:
        yield
    except OSError as error:
        raise StepError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise StepError(f"{path}: is no table of comma-separated values: {one_line(error)}") from None


def one_line(error: BaseException) -> str:
    """
    Tell an error in one line.

    Parameters
    ----------
    error
        Any exception.

    Returns
    -------
    str
        Its message with line breaks folded; operating system errors name the file and the cause.
    """
    if isinstance(error, OSError) and error.strerror:
        name = f"{os.fspath(error.filename)}: " if error.filename else ""
        return f"{name}{cause(error)}"
    text = " ".join(str(error).split())
    return text or type(error).__name__


def cause(error: OSError) -> str:
    """
    Tell why the system refused, without the name of the file.

    Parameters
    ----------
    error
        What an operation on a file raised.

    Returns
    -------
    str
        Such as ``no space left on device``.
    """
    return error.strerror.lower() if error.strerror else one_line(error)


def run_safely(work: Callable[[], int]) -> int:
    """
    Run a step and return the exit code of its process.

    Faults that are nobody's programming error (:class:`StepError`, a full disk, an unwritable folder) are
    printed as one line; everything else keeps its traceback, because it is ours to mend.

    Parameters
    ----------
    work
        Returns an exit code.

    Returns
    -------
    int
        That code; 1 after a fault, 130 after Ctrl-C.
    """
    try:
        return work()
    except (StepError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
