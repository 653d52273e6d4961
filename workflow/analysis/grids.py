"""The cells of a run over a grid of C and gamma."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from svmrepro.workflow.analysis.run_pairs import sides_flagged
from svmrepro.workflow.analysis.runs import Group, MeasuredRun
from svmrepro.workflow.journal.journal_line import OPTIMAL

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
            each["status"] == OPTIMAL, float(each["cpu_seconds"]), int(each["iterations"])
        )
        for each in json.loads(run.fields.get("info.cells") or "[]")
    }


def grid_runs(group: Group) -> Sequence[MeasuredRun]:
    """Return the runs whose seconds count, certified everywhere or not: the unflagged ones, if any."""
    found = _measured(group)
    return [run for run in found if not run.flagged] or found


def shared_cells(above: Group, below: Group) -> Iterator[Sequence[tuple[SolvedCell, SolvedCell]]]:
    """Yield the cells that both have certified, for each pair of runs of one process and repeat.

    Pairs without a flagged run are preferred.
    """
    for run, its in _paired(above, below):
        one, other = cells(run), cells(its)
        places = [place for place in one if one[place].certified and place in other]
        both = [(one[place], other[place]) for place in places if other[place].certified]
        if both:
            yield both


def flagged_sides(above: Group, below: Group) -> tuple[bool, bool]:
    """Tell whose seconds are upper bounds in :func:`shared_cells`, as each pair has a flagged run."""
    return sides_flagged(_paired(above, below))


def _paired(above: Group, below: Group) -> list[tuple[MeasuredRun, MeasuredRun]]:
    others = {run.pair: run for run in _measured(below)}
    pairs = [(run, others[run.pair]) for run in _measured(above) if run.pair in others]
    return [each for each in pairs if not (each[0].flagged or each[1].flagged)] or pairs


def _measured(group: Group) -> list[MeasuredRun]:
    return [run for run in group.runs if cells(run) and group.conditions in (None, run.conditions)]
