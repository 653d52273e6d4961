"""The machine of a measurement: what does not change during it, and the threads that libraries use.

What changes is in `processor_state`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

#: Packages whose versions can affect a result.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "svmrepro")

#: Environment variables that set the number of threads of numerical libraries.
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)

_NUMBERS = (
    *("cpu family", "model", "stepping"),
    *("CPU implementer", "CPU part", "CPU variant", "CPU revision"),
)
"""Fields of ``/proc/cpuinfo`` that identify a processor: on x86 and on ARM."""

_INSTRUCTION_SETS = frozenset(
    [
        *("sse", "sse2", "pni", "ssse3", "sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2"),
        *("abm", "popcnt", "avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma"),
        *("avx512vbmi", "avx512_vbmi2", "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq"),
        *("asimd", "asimdhp", "asimddp", "asimdrdm", "asimdfhm", "fphp", "fcma", "atomics", "sve", "sve2"),
    ]
)
"""Those that affect numerical code, on x86 and on ARM; others come and go with the kernel and microcode."""

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
        "cpu": cpu_name(),
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


def proc_field(path: Path, name: str) -> str | None:
    """Return a field of one of Linux's files of lines ``name: value``; None if there is none."""
    with suppress(OSError), path.open(errors="replace") as stream:
        for line in stream:
            if line.partition(":")[0].strip() == name:
                return line.partition(":")[2].strip()
    return None


def cpu_name(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor; Linux on ARM tells only the architecture."""
    name = proc_field(path, "model name") or _said("sysctl", "-n", "machdep.cpu.brand_string")  # macOS
    return name or platform.processor() or platform.machine()


def cpu_kind(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Identify the kind of processor: its numbers, such as family and model, and a hash of instruction sets.

    Hypervisors often give one model name to several generations. None if the file has none of these.
    """
    numbers = [number for name in _NUMBERS if (number := proc_field(path, name))]
    flags = proc_field(path, "flags") or proc_field(path, "Features")
    if not numbers and flags is None:
        return None
    sets = _INSTRUCTION_SETS.intersection((flags or "").split())
    hashed = hashlib.sha256(" ".join(sorted(sets)).encode()).hexdigest()[:8]
    return "-".join([*numbers, hashed])


def _commit() -> str | None:
    """Return the commit of the checkout that this code runs from, None if it is installed elsewhere."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None  # installed, perhaps below the checkout of another project
    # Without tags, so that the answer is the hash alone.
    return _said("git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+")


def _said(*command: str) -> str | None:
    """Return what a program prints, None if it fails."""
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
