"""Shares the call of a solver in progress with the process that supervises the step.

A solver can run for ever or end its process, and neither leaves a line in the journal. `supervision` finds
the call here, and writes that line in its place.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

#: Bytes of the shared memory, of which a call fills a few thousand.
_MOST = 1 << 20


@dataclass(frozen=True)
class Call:
    """A call of a solver: its beginning by the monotonic clock, and the line of its run.

    ``own`` says that the solver is a user's, ``warming`` that it is called on a few rows, not timed.
    """

    began: float
    own: bool
    warming: bool
    line: Mapping[str, Any]


class PresentRun:
    """Memory that a process shares with those forked from it: whether there is a call, and which."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _MOST)
        self.line: Mapping[str, Any] = {}

    @contextmanager
    def calling(self, warming: bool = False) -> Iterator[None]:
        """Share the call of the solver of ``line`` until the block ends, normally or by an exception."""
        own = ":" in self.line.get("solver", "")
        text = json.dumps(asdict(Call(monotonic(), own, warming, self.line))).encode() + b"\n"
        self._memory[1 : 1 + len(text)] = text
        self._memory[0] = True
        try:
            yield
        finally:
            self.clear()

    def clear(self) -> None:
        """Forget a call, also that of a process that has ended."""
        self._memory[0] = False

    def call(self) -> Call | None:
        """Return the call that is under way; None if there is none, or it has just begun."""
        if not self._memory[0]:
            return None
        try:
            return Call(**json.loads(self._memory[1 : self._memory.find(b"\n", 1)]))
        except ValueError:  # it is being written
            return None
