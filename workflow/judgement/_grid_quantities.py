"""Quantities of claims about grids of C and gamma: shares of cells, and ratios of sums over them.

Each function is a kind of quantity, as in `svmrepro.workflow.judgement.quantities`. Only cells that both
contenders have certified count. ``of`` is cpu_seconds (the default), iterations, or seconds-per-iteration.
If all runs of a contender are flagged, an interval is open at one end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from svmrepro.workflow.analysis.grids import SolvedCell, flagged_sides, shared_cells
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.judgement._findings import FLAGGED, Finding, Spec, without_ends
from svmrepro.workflow.statistics import (
    PROCESS_SPREAD,
    Interval,
    across_processes,
    mean_interval,
    median_interval,
    student_quantile,
)

PER_ITERATION = "seconds-per-iteration"

Shared = Sequence[tuple[SolvedCell, SolvedCell]]
"""The cells that two contenders have both certified."""


def grid_share(results: Results, spec: Spec) -> list[Finding]:
    """Share of the cells in which the first of ``contenders`` needs less than the second.

    In another process, the seconds of a contender differ by one factor in all cells. The interval includes
    the shares in which the first one wins if its seconds are larger or smaller by that factor.
    """

    def found(factor: float) -> list[Finding]:
        def share(both: Shared, of: str) -> float:
            return sum(factor * _amount([one], of) < _amount([other], of) for other, one in both) / len(both)

        # The share grows with the seconds of the second one.
        return _by_grid(results, spec, spec["contenders"][::-1], share, mean_interval)

    if spec.get("of", CPU) == "iterations":
        return found(1.0)
    factor = math.exp(student_quantile(math.inf) * PROCESS_SPREAD)
    return [
        replace(item, found=_hull([item, *others]) or item.found)
        for item, *others in zip(found(1.0), found(factor), found(1.0 / factor), strict=True)
    ]


def grid_ratio(results: Results, spec: Spec) -> list[Finding]:
    """Ratio ``above`` / ``below`` of two contenders, of sums over the cells."""

    def ratio(both: Shared, of: str) -> float | None:
        top, bottom = (_amount(each, of) for each in zip(*both, strict=True))
        return top / bottom if top and bottom else None

    def interval(ratios: Sequence[float]) -> Interval:
        found = median_interval(ratios)
        return found if spec.get("of", CPU) == "iterations" else across_processes(found)

    return _by_grid(results, spec, (spec["above"], spec["below"]), ratio, interval)


def _hull(findings: Sequence[Finding]) -> Interval | None:
    """Return the first number with the lowest and the highest end of all; None if one of them has no ends."""
    known = [item.interval for item in findings if item.interval is not None]
    ends = [each.ends for each in known if each.ends is not None]
    if len(ends) < len(findings):
        return None
    return Interval(known[0].value, min(low for low, _ in ends), max(high for _, high in ends))


def _amount(cells: Sequence[SolvedCell], of: str) -> float:
    """Return the seconds, iterations, or seconds per iteration of some cells together."""
    seconds, iterations = sum(cell.seconds for cell in cells), sum(cell.iterations for cell in cells)
    return {CPU: seconds, "iterations": iterations, PER_ITERATION: seconds / max(iterations, 1)}[of]


def _by_grid(
    results: Results,
    spec: Spec,
    contenders: Sequence[str],
    number: Callable[[Shared, str], float | None],
    interval: Callable[[Sequence[float]], Interval],
) -> list[Finding]:
    """Return a finding for each experiment and size, from one number for each pair of runs.

    The number grows with the seconds of the first of ``contenders``, and decreases with those of the second.
    """
    findings, timed = [], spec.get("of", CPU) != "iterations"
    for name in spec["experiments"]:
        experiment = results.experiment(name)
        for n in experiment.sizes:
            first, second = (results.group(name, label, n) for label in contenders)
            numbers = [number(both, spec.get("of", CPU)) for both in shared_cells(first, second)]
            values = [each for each in numbers if each is not None]
            found: Interval | str = first.reason or second.reason or "no cell was certified for both"
            if values:
                found = Interval.exact(values[0]) if len(set(values)) == 1 and not timed else interval(values)
                found = without_ends(found, *flagged_sides(first, second)) if timed else found
            label = f"{experiment.title}, n = {n:,}"
            findings.append(Finding(label, found, None, name, n, bounded_by=FLAGGED))
    return findings
