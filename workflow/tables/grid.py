"""Problems over a grid of C and gamma: certified cells, seconds and iterations of each contender."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from svmrepro.workflow.analysis.grids import cells, grid_runs, shared_cells
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.statistics import across_processes, median_interval
from svmrepro.workflow.tables.layout.cells import BLANK, Cell, count, median, missing, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.layout.size_rows import flag_notes

COLUMNS = (
    Column("experiment", "data set", prose=True),
    Column("n", "n"),
    Column("solver", "solver", prose=True),
    Column("certified", "certified"),
    Column("cells", "of cells"),
    Column("seconds", "CPU seconds"),
    Column("ratio", "relative to the first row"),
    Column("iterations", "iterations"),
    Column("slowest", "slowest cell", "CPU seconds"),
)


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per data set, size and contender; the first contender is the reference."""
    rows = [
        _row(results, name, label, n)
        for name in artefact.experiments
        for n in results.experiment(name).sizes
        for label in results.experiment(name).contenders
    ]
    notes = [
        "CPU seconds: of all cells together, certified or not, the median over the repeats. With warm starts "
        "they include the layout of the examples and the kernel matrices that the cells share; otherwise "
        "only the solver's own. Relative to the first row: over the cells that both have certified.",
        "Iterations of oneDAL are rounds of many steps.",
        *flag_notes(results, artefact.experiments),
    ]
    return table_of(results, artefact, COLUMNS, rows, notes=notes)


def _row(results: Results, name: str, label: str, n: int) -> dict[str, Cell]:
    experiment = results.experiment(name)
    row = {"experiment": prose(experiment.title), "n": count(n), "solver": prose(display_name(label))}
    group = results.group(name, label, n)
    runs = grid_runs(group)
    if not runs:
        return {**row, "seconds": missing(group.untimed or "not run")}
    found = [list(cells(run).values()) for run in runs]
    first = next(iter(experiment.contenders))
    shared = shared_cells(group, results.group(name, first, n))
    seconds = [[sum(cell.seconds for cell in each) for each in zip(*both, strict=True)] for both in shared]
    ratios = [one / other for one, other in seconds if other > 0]
    return {
        **row,
        "certified": count(min(sum(cell.certified for cell in each) for each in found)),
        "cells": count(len(found[0])),
        "seconds": median([sum(cell.seconds for cell in each) for each in found]),
        "ratio": BLANK if label == first else _ratio(ratios),
        "iterations": count(statistics.median(sum(cell.iterations for cell in each) for each in found)),
        "slowest": median([max(cell.seconds for cell in each) for each in found]),
    }


def _ratio(ratios: Sequence[float]) -> Cell:
    """Return the cell of the median of some ratios of seconds."""
    return median(ratios, across_processes(median_interval(ratios)) if ratios else None, noun="pair")
