"""The cells of a run over a grid of C and gamma."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from svmrepro.workflow.analysis.runs import Group, MeasuredRun

Place = tuple[float, float]
"""gamma and C."""


@dataclass(frozen=True)
class SolvedCell:
    """One problem of a grid."""

    certified: bool
    seconds: float
    iterations: int


def cells(run: MeasuredRun) -> Mapping[Place, SolvedCell]:
    """Return the cells of a run, in the order in which they were solved; empty if it was not made."""
    return {
        (each["gamma"], each["C"]): SolvedCell(
            each["status"] == "optimal", float(each["cpu_seconds"]), int(each["iterations"])
        )
        for each in json.loads(run.fields.get("info.cells") or "[]")
    }


def grid_runs(group: Group) -> Sequence[MeasuredRun]:
    """Return the runs whose seconds count, certified everywhere or not: the unflagged ones, if any."""
    found = [run for run in group.runs if cells(run) and group.hardware in (None, run.hardware)]
    return [run for run in found if not run.flagged] or found


def compared(above: Group, below: Group) -> tuple[list[float], list[float], int]:
    """Return the seconds of two contenders over the cells that both have certified, and their number.

    One pair for each pair of runs of one process and repeat.
    """
    others = {run.pair: run for run in grid_runs(below)}
    first, second, count = [], [], 0
    for run in grid_runs(above):
        if run.pair in others:
            one, other = cells(run), cells(others[run.pair])
            both = [
                place for place in one if one[place].certified and place in other and other[place].certified
            ]
            count = len(both)
            if both:
                first.append(sum(one[place].seconds for place in both))
                second.append(sum(other[place].seconds for place in both))
    return first, second, count
