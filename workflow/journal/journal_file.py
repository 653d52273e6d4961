"""The journal: every measurement is on disk as soon as it is made, and is written once.

An experiment's journal is append-only; only ``bench --again`` removes lines. The ``row`` of a line is the
fingerprint of an :class:`~svmrepro.workflow.configuration.jobs.Instance`. Nothing is decided here:
`missing_runs` says which lines count, and which runs are still to be made. Lines whose ``row`` no longer
matches the configuration and the code stay in it as history. A killed process leaves at most an incomplete
line, which the next writer removes. A process that finds the disk full removes its own incomplete line before
it reports the error.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from svmrepro.workflow.errors import StepError, one_line, writing
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.journal.journal_line import decode, encode


class Journal:
    """A file of measurements to which several processes may append."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def valid_lines(self) -> list[dict[str, Any]]:
        """Read all lines in order; incomplete ones and those of other schemas are skipped."""
        return [line for _, line in self._lines() if line is not None]

    def forget(self, rows: Container[str]) -> None:
        """Remove the lines of some rows; all others stay as they are, also those of other schemas."""
        kept = [text for text, line in self._lines() if line is None or line["row"] not in rows]
        atomic_write(self.path, b"".join(text + b"\n" for text in kept))

    def append(self, line: Mapping[str, Any]) -> None:
        """Append a measurement; it is on disk when this returns.

        If it cannot be written (no permission, disk full), the file is unchanged and the error a StepError.
        """
        # Imported late: the package imports NumPy, and the step must set the number of threads first.
        from svmrepro.datasets.locks import open_locked

        data = encode(line)
        with writing(self.path), open_locked(self.path, os.O_APPEND) as descriptor:
            end = _repair(descriptor)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, end)
                raise

    def _lines(self) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
        """Yield all complete lines in order, as text and decoded; None for what is no measurement."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StepError(f"{self.path}: {one_line(error)}") from error
        for text in content.split(b"\n")[:-1]:
            try:
                yield text, decode(text)
            except ValueError:
                yield text, None


def _repair(descriptor: int) -> int:
    """Remove an incomplete last line; return the remaining length."""
    end = os.fstat(descriptor).st_size
    if not end:
        return 0
    with mmap(descriptor, end, access=ACCESS_READ) as content:
        good = content.rfind(b"\n") + 1
    if good < end:
        os.ftruncate(descriptor, good)
    return good


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
