"""Cells of a row of one experiment at one size: n, seconds, the paper's seconds, ratios; flagged seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from svmrepro.workflow.analysis.printed_numbers import TIMINGS, snake
from svmrepro.workflow.analysis.results import Results, SizeRow
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.tables.layout.cells import (
    ALL_FLAGGED,
    BLANK,
    DASH,
    Cell,
    count,
    estimate,
    median,
    missing,
    printed,
)

SUPPORT = {"nonbound": ("certificate.n_nonbound", "non-bound"), "bound": ("certificate.n_bound", "bound")}
"""Kind of support vector -> column of the measurements, header."""


def size_cell(row: SizeRow) -> Cell:
    """Return the cell of n, with the paper's size if it differs, or a remark if only the paper has it."""
    cell = count(row.size)
    if row.n is None:
        return replace(cell, detail="paper only")
    return cell if row.n_paper in (None, row.n) else replace(cell, detail=f"paper: {row.n_paper:,}")


def seconds_cell(
    results: Results, experiment: str, contender: str, row: SizeRow, point: float | None = None
) -> Cell:
    """Return the median seconds of a contender at one size, or the reason why there are none."""
    reason = results.why_missing(experiment, contender, row, point)
    if reason:
        return missing(reason, DASH if row.n is None else "")
    group = results.group(experiment, contender, row.n, point)
    interval = group.interval(CPU)
    if interval is None:
        return missing(group.untimed or "not run: no seconds")
    if interval.value <= 0:
        return Cell(interval.value, "below clock")
    cell = median(group.values(CPU), interval)
    if group.stopped:
        number = len(group.stopped) + len(group.timed)
        cell = replace(cell, detail=f"{len(group.stopped)} of {number} runs stopped, counted as the slowest")
    if not group.all_flagged or results.all_runs_flagged(experiment):
        return cell  # marking every cell would be useless; a note explains it once
    return replace(cell, text=f"{cell.text}{ALL_FLAGGED}")


def paper_seconds_cell(results: Results, experiment: str, contender: str, row: SizeRow) -> Cell:
    """Return the paper's seconds as printed: N/A if its table says so, a dash if it has no such row."""
    if row.n_paper is None:
        return BLANK
    text = results.numbers.text(TIMINGS, experiment, row.n_paper, f"{snake(contender)}_seconds")
    return printed(text) if text else missing("N/A in the paper", "N/A")


def ratio_cell(
    results: Results, experiment: str, row: SizeRow, above: str, below: str, quantity: str
) -> Cell:
    """Return the ratio of two contenders at one size; a dash if either was not measured."""
    if results.why_any_missing(experiment, (below, above), row):
        return BLANK
    ratio = results.ratio(experiment, row.size, above, below, quantity)
    if ratio is None or quantity != CPU:
        return estimate(ratio)
    cell = median(results.ratio_values(experiment, row.size, above, below, quantity), ratio, noun="pair")
    flagged = results.ratio_flagged(experiment, row.size, above, below)
    return replace(cell, text=f"{cell.text}{ALL_FLAGGED}") if flagged else cell


def flag_notes(results: Results, names: Sequence[str]) -> list[str]:
    """Explain `ALL_FLAGGED`, for tables in which it occurs, or say that it applies to every run."""
    met = "met other load on the machine"
    if not any(results.timed_groups(name) for name in names):
        return []
    if all(results.all_runs_flagged(name) for name in names):
        return [
            f"Every run {met}: seconds are upper bounds; ratios and exponents are less certain than shown."
        ]
    return [
        f"{ALL_FLAGGED} All repeats, or all pairs of a ratio, {met}: seconds are upper bounds, and fits "
        "leave them out."
    ]
