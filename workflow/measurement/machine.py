"""The machine of a measurement, and other load on it during the measurement."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import resource
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from svmrepro.workflow.measurement.instructions import Instructions
from svmrepro.workflow.measurement.noise import surroundings

#: Packages whose versions can affect a result.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "svmrepro")

#: Environment variables that set the number of threads of numerical libraries.
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)

_COPIED = 2**26


def pin_threads() -> None:
    """Limit every library to one thread. Call this before any of them is imported.

    Snakemake exports its own thread counts to jobs; they must not decide how the solvers run.
    """
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"


def describe() -> dict[str, Any]:
    """Describe the machine: processor, memory, system, versions of packages, BLAS and thread settings.

    ``cores`` are physical, ``threads`` logical. The project's ``commit`` ends in ``+`` if the checkout was
    modified; it is None outside a checkout.
    """
    return {
        "cpu": _cpu_model(),
        "cpu_id": cpu_kind(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "os": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "commit": _commit(),
        "blas": _blas(),
        "thread_settings": {name: os.environ.get(name) for name in THREAD_VARIABLES},
    }


@cache
def copy_bandwidth() -> float:
    """Return the memory bandwidth of a copy, in bytes read and written per second; the best of five copies.

    The two blocks together exceed a core's share of any cache. The measurement takes a tenth of a second and
    is made once.
    """
    import numpy as np

    source = np.ones(_COPIED, dtype=np.uint8)
    target = np.empty_like(source)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - begin)
    return 2 * _COPIED / min(seconds)


def release_memory() -> None:
    """Return freed memory to the system, so that the next run's peak counts all of its own; glibc only.

    Otherwise a run takes the memory that an earlier one freed, and its peak is too small.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def load_average() -> float:
    """Return the one-minute load average of the system."""
    return os.getloadavg()[0]


class Meter:
    """Measures a solver's run as a context manager; the attributes are set on exit.

    Attributes
    ----------
    peak_memory_bytes
        Peak resident memory of this process during the run, less that at its start.
    other_cores
        Processor seconds used by other processes, per second of wall time.
    noise
        State of the processor at the end, limits on this process, and what was lost to them; see
        `svmrepro.workflow.analysis.columns`. ``instructions`` is counted if a counter is given.
    """

    #: For shorter runs, in seconds, the kernel's clock ticks (10 ms) are too coarse to detect other load.
    SHORTEST = 0.25

    def __init__(self, instructions: Instructions | None = None) -> None:
        self.peak_memory_bytes = 0
        self.other_cores = 0.0
        self.noise: dict[str, Any] = {}
        self._instructions = instructions

    def __enter__(self) -> Meter:
        if self._instructions is not None:
            self._instructions.start()
        self._throttled = surroundings().throttled()
        self._process = psutil.Process()
        self._reset = _reset_peak()
        self._resident = self._process.memory_info().rss
        self._old_peak = _peak()
        self._busy, self._own, self._stolen, self._clock = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        around = surroundings()
        self.noise = around.read()  # while the processor still has the run's frequency
        busy, own, stolen, clock = self._now()
        elapsed = clock - self._clock
        steal = None
        if elapsed >= self.SHORTEST:
            self.other_cores = max(0.0, (busy - self._busy) - (own - self._own)) / elapsed
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
        if self._reset or peak > self._old_peak:
            self.peak_memory_bytes = max(0, peak - self._resident)

    def _now(self) -> tuple[float, float, float | None, float]:
        """Return busy seconds of all processors, this process's, those that were stolen, and the clock."""
        times = psutil.cpu_times()
        stolen = getattr(times, "steal", None)
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0) - (stolen or 0.0)
        # Linux already includes guest time in user time.
        busy -= getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        own = self._process.cpu_times()
        return busy, own.user + own.system, stolen, time.perf_counter()


def _reset_peak() -> bool:
    """Reset Linux's record of peak resident memory to the current value; return whether that worked."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _peak() -> int:
    """Return peak resident memory, in bytes."""
    peak = _field(Path("/proc/self/status"), "VmHWM")
    if peak is not None:
        return int(peak.split()[0]) * 1024
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return resident if sys.platform == "darwin" else resident * 1024


def _field(path: Path, name: str) -> str | None:
    """Return a field of one of Linux's files of lines ``name: value``; None if there is none."""
    with suppress(OSError), path.open(errors="replace") as stream:
        for line in stream:
            if line.partition(":")[0].strip() == name:
                return line.partition(":")[2].strip()
    return None


def _cpu_model() -> str:
    return _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine()


def cpu_kind(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Identify the kind of processor: family, model, stepping and a hash of the instruction sets.

    Hypervisors often give one model name to several generations. None if the file has none of these.
    """
    *numbers, flags = (_field(path, name) for name in ("cpu family", "model", "stepping", "flags"))
    if flags is None and not any(numbers):
        return None
    hashed = hashlib.sha256(" ".join(sorted((flags or "").split())).encode()).hexdigest()[:8]
    return "-".join([*(number or "?" for number in numbers), hashed])


def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from."""
    here = str(Path(__file__).resolve().parent)
    command = ["git", "-C", here, "describe", "--always", "--abbrev=12", "--dirty=+"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> str | None:
    """Return name and version of the BLAS that numpy was built with."""
    import numpy as np

    config = np.show_config(mode="dicts")
    if not isinstance(config, dict):
        return None
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
