"""Cells common to the tables over permutations: problem names, means, p-values."""

from __future__ import annotations

from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.analysis.permutations import PermutedProblem, p_text
from svmrepro.workflow.tables.model import BLANK, Cell, Column, number, prose


def name_columns() -> list[Column]:
    """Return the columns of `name_cells`."""
    return [
        Column("experiment", "data set", prose=True),
        Column("n", "n"),
        Column("paper_n", "n", paper=True, shown=False),
    ]


def name_cells(problem: PermutedProblem) -> dict[str, Cell]:
    """Return the name of a problem and its size, with the paper's size if that differs."""
    cells = {"experiment": prose(problem.title)}
    printed = problem.n_printed
    cells["paper_n"] = BLANK if printed is None else Cell(printed, f"{printed:,}")
    if problem.n is None:
        cells["n"] = BLANK if printed is None else Cell(None, f"{printed:,}", detail="paper only")
    elif printed is not None and printed != problem.n:
        cells["n"] = Cell(problem.n, f"{problem.n:,}", detail=f"paper: {printed:,}")
    else:
        cells["n"] = Cell(problem.n, f"{problem.n:,}")
    return cells


def mean_cell(interval: Interval | None, digits: int = 3) -> Cell:
    """Return the cell of a mean with its interval; a dash for None."""
    return BLANK if interval is None else number(interval.value, interval, digits=digits)


def p_cell(p: float | None, corrected: float | None) -> Cell:
    """Return the cell of a p-value, with Holm's corrected p-value below it."""
    return BLANK if p is None else Cell(p, p_text(p), detail=f"Holm {p_text(corrected)}")
