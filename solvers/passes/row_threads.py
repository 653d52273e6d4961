"""Threads for the parts of a pass over rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from svmrepro.solvers.compilation.processor import processors

T = TypeVar("T")


class RowThreads:
    """Threads that do parts of a pass beside the thread that runs it.

    They end when this object is no longer used. What they call must not hold Python's lock.

    Parameters
    ----------
    parts : int
        Number of parts. There are no more threads than processors.

    Attributes
    ----------
    helped, divided : float
        CPU seconds of the helper threads, and of all threads in parts that were handed out.
    """

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.helped = self.divided = 0.0
        helpers = min(parts, processors()) - 1
        self._pool = ThreadPoolExecutor(helpers, "svmrepro") if helpers else None

    def run(self, do: Callable[[int], T], worthwhile: bool) -> list[T]:
        """Return ``do(part)`` for each part; side by side if that is ``worthwhile``."""
        if self._pool is None or not worthwhile:
            return [do(part) for part in range(self.parts)]
        others = [self._pool.submit(_timed, do, part) for part in range(1, self.parts)]
        own = {0: _timed(do, 0)}
        for part in range(self.parts - 1, 0, -1):
            if others[part - 1].cancel():  # no helper has begun it
                own[part] = _timed(do, part)
        results = []
        for part in range(self.parts):
            result, seconds = own[part] if part in own else others[part - 1].result()
            self.helped += 0.0 if part in own else seconds
            self.divided += seconds
            results.append(result)
        return results


def _timed(do: Callable[[int], T], part: int) -> tuple[T, float]:
    """Return ``do(part)`` and its CPU seconds."""
    began = time.thread_time()
    result = do(part)
    return result, time.thread_time() - began
