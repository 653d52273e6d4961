"""Runs of two contenders that were measured side by side."""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.runs import CPU, WALL, Group, MeasuredRun, Runs


def pairs(
    first: Group, second: Group, quantity: str, *, anywhere: bool = False
) -> tuple[list[float], list[float]]:
    """Return the values of two contenders that ran side by side, in the same order.

    A pair shares process, seed and repeat. With ``anywhere``, counts may also be paired across processes,
    since a count is the same in each. For seconds, unflagged pairs are preferred, and an experiment measured
    under several conditions uses only one of them (`Runs.timing_conditions`). Seconds of two processes are
    paired only if no pair shares a process (a job was killed in the middle of a row) and the conditions are
    the same.
    """
    numbers = [
        (a.number(quantity), b.number(quantity)) for a, b in _paired(first, second, quantity, anywhere)
    ]
    kept = [(a, b) for a, b in numbers if a is not None and b is not None and a > 0 and b > 0]
    return [a for a, _ in kept], [b for _, b in kept]


def ratio_series(
    runs: Runs, experiment: str, contenders: Sequence[str], quantity: str
) -> dict[float, list[float]]:
    """Return size -> ratios of the first of two contenders to the second, at the sizes that both series have.

    The sizes are those of `Runs.series`. Of seconds, those whose pairs all have a flagged run are omitted.
    """
    series = [runs.series(experiment, label, quantity) for label in contenders]
    groups = [runs.groups_of_series(experiment, label) for label in contenders]
    found = {}
    for at in series[0]:
        if at not in series[1]:
            continue
        first, second = (each[at] for each in groups)
        flagged = quantity in (CPU, WALL) and any(flagged_sides(first, second))
        ratios = [a / b for a, b in zip(*pairs(first, second, quantity, anywhere=True), strict=True)]
        if ratios and not flagged:
            found[at] = ratios
    return found


def processes(first: Group, second: Group) -> int:
    """Return the number of processes that measured the pairs of two contenders' seconds, at least 1."""
    both = _paired(first, second, CPU, anywhere=True)
    return max(1, min(len({pair[side].pair[0] for pair in both}) for side in (0, 1)))


def flagged_sides(first: Group, second: Group) -> tuple[bool, bool]:
    """Tell whose seconds are upper bounds in a ratio of two contenders, as each pair has a flagged run."""
    return sides_flagged(_paired(first, second, CPU, anywhere=True))


def sides_flagged(both: Sequence[tuple[MeasuredRun, MeasuredRun]]) -> tuple[bool, bool]:
    """Tell on which sides pairs of runs have flagged ones, if each pair has one."""
    if not all(a.flagged or b.flagged for a, b in both):
        return False, False
    return any(a.flagged for a, _ in both), any(b.flagged for _, b in both)


def unknown_ends(first: Group, second: Group) -> tuple[bool, bool]:
    """Tell whether a ratio of two contenders' seconds may lie below its interval, and whether above it.

    Seconds of flagged runs are upper bounds. If the time limit stopped a repeat, the rest are lower bounds.
    """
    over, under = flagged_sides(first, second)
    return over or bool(second.stopped), under or bool(first.stopped)


def _paired(
    first: Group, second: Group, quantity: str, anywhere: bool
) -> list[tuple[MeasuredRun, MeasuredRun]]:
    """Return the runs that `pairs` compares."""
    if quantity not in (CPU, WALL):
        return _matched(first, second, 1 if anywhere else 0)
    if not (first.timed and second.timed):
        return []

    def comparable(start: int) -> list[tuple[MeasuredRun, MeasuredRun]]:
        """Return the pairs that share their conditions, which must be those whose seconds count."""
        both = _matched(first, second, start)
        both = [(a, b) for a, b in both if first.conditions in (None, a.conditions)]
        return [(a, b) for a, b in both if a.conditions == b.conditions]

    both = comparable(0) or comparable(1)
    return [(a, b) for a, b in both if not (a.flagged or b.flagged)] or both


def _matched(first: Group, second: Group, start: int) -> list[tuple[MeasuredRun, MeasuredRun]]:
    """Pair the solved runs of two contenders that agree in `MeasuredRun.pair[start:]`."""
    right = {run.pair[start:]: run for run in second.solved}
    return [(run, right[run.pair[start:]]) for run in first.solved if run.pair[start:] in right]
