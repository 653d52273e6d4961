"""The state of the processor and limits on this process, which may disturb a run's seconds; pinning.

They are recorded only: `flagged_runs` decides whether seconds are doubtful. `meter` adds the stolen time.
`ProcessorState` reads them from Linux's files under ``/proc`` and ``/sys``; what cannot be read is None.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.number_text import plural

_UNLIMITED = 2**60
"""The first version of cgroups gives a limit above this where there is none."""


class ProcessorState:
    """The files of a Linux system below ``root``; the paths are found once, the contents read each time."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._cpus = root / "sys/devices/system/cpu"
        self._cpuinfo = root / "proc/cpuinfo"
        # Imported late: it imports NumPy, whose threads are to be limited before.
        from svmrepro.solvers.compilation.cgroups import cpu_limit, group_folders

        self._cpu_groups = group_folders(root, "cpu")
        self._memory_groups = group_folders(root, "memory")
        self._cpu_limit = cpu_limit

    def read(self, cpu: int | None = None) -> dict[str, Any]:
        """Return the state of a processor, by default the one that this thread runs on, and the limits.

        It takes a fraction of a millisecond. The keys and their units are described in
        `svmrepro.workflow.result_files.measurement_columns`.
        """
        cpu = _current_cpu() if cpu is None else cpu
        return {
            "cpu": cpu,
            "frequency_mhz": None if cpu is None else self._frequency(cpu),
            "governor": None if cpu is None else _text(self._cpus / f"cpu{cpu}/cpufreq/scaling_governor"),
            "turbo": self._turbo(),
            "cgroup_cpus": self._cpu_limit(self._cpu_groups),
            "cgroup_memory_bytes": _memory_limit(self._memory_groups),
        }

    def throttled(self) -> float | None:
        """Return the seconds for which limits on processors have stopped this process's cgroup so far.

        Each level counts what its own limit did. Their sum grows whichever limit is at work.
        """
        units = {"throttled_usec": 1e6, "throttled_time": 1e9}  # second and first version of cgroups
        found = [
            int(value) / units[name]
            for folder in self._cpu_groups
            for name, _, value in (
                line.partition(" ") for line in (_text(folder / "cpu.stat") or "").splitlines()
            )
            if name in units
        ]
        return sum(found) if found else None

    def processors(self, allowed: Iterable[int]) -> list[int]:
        """Order processors for pinning: one thread of each core first, from the last core to the first.

        The first core serves most interrupts.
        """
        firsts: list[int] = []
        others: list[int] = []
        cores: set[str] = set()
        for cpu in sorted(allowed, reverse=True):
            core = _text(self._cpus / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)
            (others if core in cores else firsts).append(cpu)
            cores.add(core)
        return firsts + others

    def _frequency(self, cpu: int) -> float | None:
        """Return the frequency in MHz; some virtual machines report only the nominal one."""
        with suppress(ValueError, TypeError):
            return int(_text(self._cpus / f"cpu{cpu}/cpufreq/scaling_cur_freq")) / 1000  # type: ignore[arg-type]
        with suppress(OSError, ValueError), self._cpuinfo.open(errors="replace") as stream:
            here = False
            for line in stream:
                name, _, value = line.partition(":")
                if name.strip() == "processor":
                    here = int(value) == cpu
                elif here and name.strip() == "cpu MHz":
                    return float(value)
        return None

    def _turbo(self) -> bool | None:
        for path, on in (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")):
            if (said := _text(self._cpus / path)) is not None:
                return said == on
        return None


@cache
def processor_state() -> ProcessorState:
    """Return the files for this process, found once."""
    return ProcessorState()


def pin_processor(pin: bool | Sequence[int], slot: int, jobs: int) -> None:
    """Pin this process, and those that it starts, to one processor; without ``pin`` do nothing.

    ``pin`` lists processors, one for each of ``jobs`` timed jobs that run side by side, or is True: any
    that this process may use. ``slot`` is this job's place among them.
    """
    if pin is False:
        return
    if not hasattr(os, "sched_setaffinity"):
        raise StepError("pin: this system cannot pin a process to a processor; set pin to false")
    allowed = os.sched_getaffinity(0)
    processors = processor_state().processors(allowed) if pin is True else list(pin)
    if lacking := sorted(set(processors) - allowed):
        usable = ", ".join(map(str, sorted(allowed)))
        raise StepError(f"pin: processor {lacking[0]} cannot be used here; those that can are {usable}")
    if len(processors) < jobs:
        few = plural(len(processors), "processor")
        raise StepError(f"pin: {few} for {jobs} timed jobs at once; each needs one of its own (timed_jobs)")
    os.sched_setaffinity(0, {processors[slot]})


def _text(path: Path) -> str | None:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="ascii").strip()
    return None


def _current_cpu() -> int | None:
    """Return the processor on which the main thread runs, where the system tells."""
    process = psutil.Process()
    return process.cpu_num() if hasattr(process, "cpu_num") else None


def _memory_limit(folders: Iterable[Path]) -> int | None:
    """Return the least limit in bytes."""
    said = [_text(folder / "memory.max") or _text(folder / "memory.limit_in_bytes") for folder in folders]
    limits = [int(each) for each in said if each and each.isdecimal()]
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)
