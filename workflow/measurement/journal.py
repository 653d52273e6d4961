"""
The journal: every measurement is on disk the moment it is made, and none is there twice.

An experiment's journal is a file that only grows. Lines whose ``row`` is no longer what the configuration and
the code define stay in it as history. A process that is killed leaves at most the beginning of a line, which
the next writer takes away; one that finds the disk full takes its own beginning away before it says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from svmrepro.workflow.errors import StepError, cause, one_line
from svmrepro.workflow.measurement.journal_line import decode, encode


class Journal:
    """
    A file of measurements that several processes may append to.

    Parameters
    ----------
    path
        The file; it and its folder are made by the first append.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        """
        Read what is there.

        Returns
        -------
        list of dict
            All valid lines of the present schema, in order. The beginning of a line that a kill left, and
            lines of another schema, are left out.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StepError(f"{self.path}: {one_line(error)}") from error
        found = []
        for text in content.split(b"\n")[:-1]:
            with suppress(ValueError):
                found.append(decode(text))
        return found

    def append(self, line: Mapping[str, Any]) -> None:
        """
        Add a measurement; when this returns it is on disk.

        Parameters
        ----------
        line
            All fields of a measurement.

        Raises
        ------
        StepError
            If it cannot be written (no permission, disk full); the file is then as it was before.
        """
        # Not at the top: the package imports NumPy, and the step sets the number of its threads first.
        from svmrepro.datasets.locks import open_locked

        data = encode(line)
        try:
            with open_locked(self.path, os.O_APPEND) as descriptor:
                end = _repair(descriptor)
                try:
                    _write_all(descriptor, data)
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, end)
                    raise
        except OSError as error:
            raise StepError(f"cannot write {self.path}: {cause(error)}") from error


def _repair(descriptor: int) -> int:
    """Take away what stands after the last line feed; return the length that is left."""
    end = os.fstat(descriptor).st_size
    good = end
    while good:
        start = max(0, good - 4096)
        found = os.pread(descriptor, good - start, start).rfind(b"\n")
        if found >= 0:
            good = start + found + 1
            break
        good = start
    if good < end:
        os.ftruncate(descriptor, good)
    return good


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
