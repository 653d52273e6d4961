"""Threads for the parts of a pass over rows."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import count
from queue import SimpleQueue
from typing import Any

from svmrepro.solvers.compilation.processor import processors


class RowThreads:
    """Threads that do parts of a pass beside the thread that runs it.

    A part is done by whichever thread takes it first, so no thread waits for a helper that has not begun,
    could not be started, or was left behind in the parent process by a fork. Helpers end when this object is
    no longer used. There are no more threads than processors.

    Attributes
    ----------
    helped, divided : float
        CPU seconds of the helper threads, and of all threads in parts that were done side by side.
    """

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.helped = self.divided = 0.0
        self._helpers = min(parts, processors()) - 1
        self._passes: SimpleQueue[_Pass | None] = SimpleQueue()
        self._started = False

    def run(self, do: Callable[[int], Any], worthwhile: bool) -> list[Any]:
        """Return ``do(part)`` for each part; side by side if that is ``worthwhile``.

        ``do`` must release Python's lock where it works.
        """
        if self._helpers < 1 or not worthwhile:
            return [do(part) for part in range(self.parts)]
        self._start()
        work = _Pass(do, self.parts)
        for _ in range(self._helpers):
            self._passes.put(work)
        results = {}
        try:
            for part, result, seconds in work.take_parts():
                results[part] = result
                self.divided += seconds
            while len(results) < self.parts:
                part, result, seconds = work.answer()
                results[part] = result
                self.divided += seconds
                self.helped += seconds
        finally:  # after an interrupt or an error, too, helpers need not begin another part
            work.parts = 0
        return [results[part] for part in range(self.parts)]

    def _start(self) -> None:
        """Start the helpers at the first call."""
        if self._started:
            return
        self._started = True
        for _ in range(self._helpers):
            helper = threading.Thread(target=_help, args=(self._passes,), name="svmrepro-rows", daemon=True)
            try:
                helper.start()
            except RuntimeError:  # no more threads can be started: the existing ones do the parts
                return
            weakref.finalize(self, self._passes.put, None)


class _Pass:
    """A pass, each part of which is taken by one thread."""

    def __init__(self, do: Callable[[int], Any], parts: int) -> None:
        self.parts = parts
        self._do, self._numbers = do, count()
        self._answers: SimpleQueue[tuple[int, Any, float] | BaseException] = SimpleQueue()

    def take_parts(self) -> Iterator[tuple[int, Any, float]]:
        """Do the parts that no thread has taken; yield each with its result and CPU seconds."""
        while (part := next(self._numbers)) < self.parts:
            began = time.thread_time()
            result = self._do(part)
            yield part, result, time.thread_time() - began

    def help(self) -> None:
        """Do the parts that no thread has taken, for :meth:`answer`."""
        try:
            for done in self.take_parts():
                self._answers.put(done)
        except BaseException as error:
            self.parts = 0
            self._answers.put(error)

    def answer(self) -> tuple[int, Any, float]:
        """Wait for a part that a helper has taken; return it as `take_parts` does, or raise its error."""
        found = self._answers.get()
        if isinstance(found, BaseException):
            raise found
        return found


def _help(passes: SimpleQueue[_Pass | None]) -> None:
    """Help with each pass until there are no more."""
    while (work := passes.get()) is not None:
        work.help()
        del work  # it would keep the run alive, for whose end this thread waits
