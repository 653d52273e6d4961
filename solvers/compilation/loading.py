"""Seconds in which a run loaded or compiled code, which its results and its time limit do not count.

Most code is loaded before the clock starts. This is for code that few runs need.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Loaded", "loaded", "loading"]


class Loaded(threading.local):
    """CPU and wall seconds that this thread has spent on loading code so far."""

    cpu = 0.0
    wall = 0.0


loaded = Loaded()


@contextmanager
def loading() -> Iterator[None]:
    """Count the seconds of a block as loading, those of a block within it only once."""
    cpu, wall = time.thread_time() - loaded.cpu, time.perf_counter() - loaded.wall
    try:
        yield
    finally:
        loaded.cpu, loaded.wall = time.thread_time() - cpu, time.perf_counter() - wall
