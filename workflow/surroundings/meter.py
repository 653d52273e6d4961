"""Measurements of a run besides its seconds: peak memory, and other load and noise meanwhile."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil
from svmrepro.workflow.surroundings.flagged_runs import SHORTEST, flag_reasons
from svmrepro.workflow.surroundings.instructions import Instructions
from svmrepro.workflow.surroundings.machine import proc_field
from svmrepro.workflow.surroundings.processor_state import processor_state


class Meter:
    """Measures a solver's run as a context manager; the attributes are set on exit.

    Attributes
    ----------
    peak_memory_bytes
        Peak resident memory of this process during the run, less that at its start. None if it is not known:
        child processes worked as well, or the system cannot reset its peak and the run did not raise it.
    other_cores
        Processor seconds used by other processes, per second of wall time. Child processes that have ended
        are not others.
    noise
        State of the processor at the end, limits on this process, and what was lost to them; the columns are
        described in `result_files.measurement_columns`. ``instructions`` is counted if a counter is given.
    """

    def __init__(self, instructions: Instructions | None = None) -> None:
        self.peak_memory_bytes: int | None = None
        self.other_cores = 0.0
        self.noise: dict[str, Any] = {}
        self._instructions = instructions

    def __enter__(self) -> Meter:
        self._load = os.getloadavg()[0]
        if self._instructions is not None:
            self._instructions.start()
        self._throttled = processor_state().throttled()
        self._process = psutil.Process()
        self._reset = _reset_peak()
        self._resident = self._process.memory_info().rss
        self._old_peak = _peak()
        self._busy, self._own, self._children, self._stolen, self._clock = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        around = processor_state()
        self.noise = around.read()  # while the processor still has the run's frequency
        busy, own, children, stolen, clock = self._now()
        elapsed = clock - self._clock
        steal = None
        if elapsed >= SHORTEST:
            mine = own - self._own + children - self._children
            self.other_cores = max(0.0, busy - self._busy - mine) / elapsed
            if stolen is not None and self._stolen is not None:
                steal = max(0.0, stolen - self._stolen) / elapsed
        throttled = around.throttled()
        if throttled is not None and self._throttled is not None:
            throttled -= self._throttled
        if self._instructions is not None:
            self._instructions.stop()
            self.noise["instructions"] = self._instructions.count
        self.noise |= {"steal": steal, "throttled_seconds": throttled}
        peak = _peak()
        # Where the peak cannot be reset, it is informative only if this run raised it.
        informative = self._reset or peak > self._old_peak
        if informative and children <= self._children:
            self.peak_memory_bytes = max(0, peak - self._resident)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the seconds for which the limit on processors stops a block that is not timed."""
        before = processor_state().throttled()
        yield
        after = processor_state().throttled()
        if self._throttled is not None and before is not None and after is not None:
            self._throttled += after - before

    def fields(self, wall_seconds: float, cpu_seconds: float) -> dict[str, Any]:
        """Return the fields of a run's record on other load, once the run has ended."""
        lost = self.noise["steal"], self.noise["throttled_seconds"]
        reasons = flag_reasons(wall_seconds, cpu_seconds, self.other_cores, *lost)
        return {
            "load_before": self._load,
            "load_after": os.getloadavg()[0],
            "flagged": bool(reasons),
            "flag_reason": "; ".join(reasons) or None,
            "noise": self.noise,
        }

    def _now(self) -> tuple[float, float, float, float | None, float]:
        """Return seconds: busy, this process's, its ended children's, stolen ones, and the clock."""
        times = psutil.cpu_times()
        stolen = getattr(times, "steal", None)
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0) - (stolen or 0.0)
        # Linux already includes guest time in user time.
        busy -= getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        own = self._process.cpu_times()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return busy, own.user + own.system, children.ru_utime + children.ru_stime, stolen, perf_counter()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Turn Python's garbage collector off, as `timeit` does.

    A collection looks at all objects of the process and takes longer than many a run.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def release_memory() -> None:
    """Return freed memory to the system, so that the next run's peak counts all of its own; glibc only.

    Otherwise a run takes the memory that an earlier one freed, and its peak is too small.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> bool:
    """Reset Linux's record of peak resident memory to the current value; return whether that worked."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _peak() -> int:
    """Return peak resident memory, in bytes."""
    peak = proc_field(Path("/proc/self/status"), "VmHWM")
    if peak is not None:
        return int(peak.split()[0]) * 1024
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return resident if sys.platform == "darwin" else resident * 1024
