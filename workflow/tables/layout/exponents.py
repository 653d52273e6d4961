"""Fitted exponents in tables: of one experiment in a section of its own, of several in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svmrepro.workflow.analysis.fits import OWN_SIZES, PAPER
from svmrepro.workflow.analysis.printed_numbers import SCALING, snake
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.statistics import FEWEST_SIZES, Fit, half_slopes
from svmrepro.workflow.tables.layout.cells import BLANK, DASH, Cell, exponent, missing, printed, prose
from svmrepro.workflow.tables.layout.model import Column, TableSection

_HALVES = (
    Column("lower_half", "CPU seconds, lower half of the sizes", group="exponent, measured"),
    Column("upper_half", "CPU seconds, upper half of the sizes", group="exponent, measured"),
)

_NO_FIT = f"no fit: fewer than {FEWEST_SIZES} sizes could be fitted"


def exponent_section(results: Results, names: tuple[str, ...]) -> TableSection:
    """Return the fitted exponents; for several experiments, only those of contenders that no paper times."""
    several = len(names) > 1
    rows: list[Mapping[str, Cell]] = []
    for name in names:
        for contender in results.experiment(name).contenders:
            fit = results.fit(name, contender, CPU)
            unfit = results.shown_exponent(name, contender, CPU) is None
            if fit is None or (several and (unfit or contender in results.main(name))):
                continue
            rows.append(fit_cells(results, name, contender))
    columns = exponent_columns(rows)
    if several:
        return TableSection(columns, rows, heading="Other contenders")
    return TableSection(columns[1:], rows, heading="Fitted exponents of n")


def exponent_columns(rows: Sequence[Mapping[str, Cell]]) -> list[Column]:
    """Return the columns for `fit_cells` and the experiment; the paper's only if a row has its numbers."""
    paper = [
        Column("paper_refit", "refitted", group="exponent, paper", paper=True),
        Column("paper_printed", "printed", group="exponent, paper", paper=True),
    ]
    known = any(row.get(column.key, BLANK).value is not None for row in rows for column in paper)
    apart = any("own" in row for row in rows)
    return [
        Column("experiment", "experiment", prose=True),
        Column("contender", "solver", prose=True),
        Column("time", "CPU seconds", group="exponent, measured"),
        *half_columns(rows),
        Column("work", "counted work", group="exponent, measured"),
        *(
            [Column("own", "CPU seconds, the paper's sizes alone", group="exponent, measured")]
            if apart
            else []
        ),
        *(paper if known else []),
        Column("points", "sizes fitted", prose=True),
    ]


def half_columns(rows: Sequence[Mapping[str, Cell]]) -> Sequence[Column]:
    """Return the columns of `fit_cells` for both halves of the sizes; none if no row has so many sizes."""
    return [column for column in _HALVES if any(column.key in row for row in rows)]


def fit_cells(results: Results, experiment: str, contender: str) -> dict[str, Cell]:
    """Return the cells of a contender's exponents; see `exponent_columns`."""
    fit = results.fit(experiment, contender, CPU)
    said = results.numbers.text(SCALING, experiment, None, f"{snake(contender)}_exponent")
    cells = {
        "experiment": prose(results.experiment(experiment).title),
        "contender": prose(display_name(contender)),
        "paper_refit": exponent(results.shown_exponent(experiment, contender, CPU, PAPER)),
        "paper_printed": printed(said),
        "points": prose(_sizes(fit) if fit and fit.points else "none"),
    }
    for key, quantity in (("time", CPU), ("work", WORK)):
        fitted = results.shown_exponent(experiment, contender, quantity)
        cells[key] = exponent(fitted) if fitted else missing(_NO_FIT, DASH)
    if slopes := half_slopes(results.runs.series(experiment, contender, CPU)):
        halves = zip(_HALVES, slopes, strict=True)
        cells |= {column.key: Cell(slope, f"{slope:z.2f}") for column, slope in halves}
    if results.experiment(experiment).nested:
        fitted = results.shown_exponent(experiment, contender, CPU, OWN_SIZES)
        cells["own"] = exponent(fitted) if fitted else missing(_NO_FIT, DASH)
    return cells


def _sizes(fit: Fit) -> str:
    """Return the sizes of a fit: 6: 1,605 … 11,220; with a remark if they are too few for an exponent."""
    few = ", too few" if fit.points < FEWEST_SIZES else ""
    last = f" … {fit.n_max:,}" if fit.n_max != fit.n_min else ""
    return f"{fit.points}{few}: {fit.n_min:,}{last}"


def exponent_notes(results: Results, names: Sequence[str]) -> list[str]:
    """Say what an exponent estimates, if there are any, and explain a dash in place of one."""
    fitted = [
        results.shown_exponent(name, label, CPU) is not None
        for name in names
        for label in results.experiment(name).contenders
    ]
    notes = []
    if any(fitted):
        notes.append(
            "An exponent is the mean slope over the sizes measured; the slope at larger sizes may differ. "
            "The lower and the upper half of five sizes or more (the middle one in both) show how it changes."
        )
    if not all(fitted):
        notes.append(f"A dash in place of an exponent: fewer than {FEWEST_SIZES} sizes.")
    return notes
