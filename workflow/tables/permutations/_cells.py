"""Cells common to the tables over permutations: problems, counts, p-values; marks: `paired`, `variants`."""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.paired_contenders import Family, PermutedProblem
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import Interval, mean_interval
from svmrepro.workflow.tables.layout.cells import BLANK, Cell, count, estimate, prose, shown_by
from svmrepro.workflow.tables.layout.model import Column


def name_columns() -> list[Column]:
    """Return the columns of `name_cells`."""
    return [
        Column("experiment", "data set", prose=True),
        Column("n", "n"),
        Column("paper_n", "n", paper=True, shown=False),
    ]


def name_cells(problem: PermutedProblem) -> dict[str, Cell]:
    """Return the name of a problem and its size, with the paper's size if that differs."""
    n, paper = count(problem.n), count(problem.n_printed)
    if problem.n is None and problem.n_printed is not None:
        n = Cell(None, paper.text, detail="paper only")
    elif problem.n_printed not in (None, problem.n):
        n = Cell(problem.n, n.text, detail=f"paper: {paper.text}")
    return {"experiment": prose(problem.title), "paper_n": paper, "n": n}


def mean_cell(values: Sequence[float], digits: int) -> Cell:
    """Return the cell of a mean with its interval; a dash if there are no values."""
    return estimate(mean_interval(values), digits=digits) if values else BLANK


def count_cell(mean: Interval, decimals: int = 1) -> Cell:
    """Return the cell of a mean count with its interval, which is omitted if the count is exact."""
    return shown_by(mean, lambda value: f"{value:,.{decimals}f}")


def p_cells(compared: Family, place: int, name: str) -> dict[str, Cell]:
    """Return the cells of a p-value, with Holm's corrected p-value below it, and of the latter alone."""
    p, corrected = compared.pairings[place].test.p, compared.corrected[place]
    if p is None or corrected is None:
        return {}
    return {
        f"{name}_p": Cell(p, p_text(p), detail=f"Holm {p_text(corrected)}"),
        f"{name}_p_holm": Cell(corrected, f"{corrected:g}"),
    }


def p_text(p: float | None) -> str:
    """Format a p-value: "0.03", "< 0.0001"."""
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else significant(p, 2)
