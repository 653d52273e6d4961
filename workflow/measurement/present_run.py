"""A file that tells another process which call of a solver is under way, as long as it lasts.

A solver can run for ever or end its process, and neither leaves a line in the journal. The command that
started the step finds the call here, and can write that line in its place.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from svmrepro.workflow.files import atomic_write


@dataclass(frozen=True)
class Call:
    """A call of a solver: its process, its beginning by the monotonic clock, and the line of its run.

    ``own`` says that the solver is a user's, ``warming`` that it is called on a few rows, not timed.
    """

    pid: int
    began: float
    own: bool
    warming: bool
    line: Mapping[str, Any]


class PresentRun:
    """The file, written by the step that measures; without a path, nothing is written."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.line: Mapping[str, Any] = {}

    @contextmanager
    def calling(self, warming: bool = False) -> Iterator[None]:
        """Tell of a call of the solver of ``line`` until the block ends, however it does."""
        if self._path is None:
            yield
            return
        own = ":" in self.line["solver"]
        call = Call(os.getpid(), time.monotonic(), own, warming, self.line)
        atomic_write(self._path, json.dumps(asdict(call)))
        try:
            yield
        finally:
            self._path.unlink(missing_ok=True)


def present_call(path: Path, pid: int) -> Call | None:
    """Return the call that is under way in a process; None if there is none.

    A process of an earlier bench, which was killed, may still be at work and have written the file.
    """
    try:
        call = Call(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    return call if call.pid == pid else None
