"""Flagged runs: other load on the machine may have increased their seconds.

`meter` calls `flag_reasons` for each run. Beside wall time and other processes, only steal and throttling can
flag a run; the recorded state of the processor cannot.
"""

from __future__ import annotations

WALL_EXCESS = 0.1
"""A run is flagged if its wall time exceeds its CPU time by more than this share ..."""

WALL_GRAIN = 0.001
"""... and by more than this many seconds, the resolution of the clocks."""

OTHER_CORES = 0.2
"""A run is flagged if other processes used more than this many cores meanwhile."""

SHORTEST = 0.25
"""Seconds. For shorter runs, the kernel's clock (10 ms) is too coarse to measure other load and steal."""

STEAL = 0.05
"""A run is flagged if the hypervisor took more than this share of its time for other machines."""


THROTTLED = 0.05
"""A run is flagged if its cgroup's limit on processors stopped it for more than this share of its wall time.

CPU time sums all threads, so the wall-time test misses throttling of threaded runs."""


def flag_reasons(
    wall_seconds: float, cpu_seconds: float, other_cores: float, steal: float | None, throttled: float | None
) -> list[str]:
    """Return why the seconds of a run are doubtful; empty if it is not flagged.

    ``other_cores`` is the average number of cores used by other processes meanwhile, ``steal`` the share of
    the time that the hypervisor took. Depending on the kernel, the CPU clock runs on in that time.
    ``throttled`` are the seconds for which the limit on processors stopped the run.
    """
    reasons = []
    if wall_seconds - cpu_seconds > max(WALL_EXCESS * cpu_seconds, WALL_GRAIN):
        reasons.append(f"wall time {wall_seconds:.3g} s against {cpu_seconds:.3g} s of CPU")
    if other_cores > OTHER_CORES:
        reasons.append(f"other processes used {other_cores:.1f} cores")
    if steal is not None and steal > STEAL:
        reasons.append(f"the hypervisor took {100 * steal:.0f} % of the time")
    if throttled is not None and throttled > THROTTLED * wall_seconds:
        reasons.append(f"the limit on processors stopped it for {throttled:.2g} s")
    return reasons
