"""Timing tables: seconds, ratio, support vectors and exponents of one experiment, compared with the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from svmrepro.workflow.analysis.fits import OWN_SIZES, PAPER
from svmrepro.workflow.analysis.printed_numbers import SCALING, TIMINGS, snake
from svmrepro.workflow.analysis.results import Results, SizeRow, describe_problem, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.statistics import FEWEST_SIZES, Fit
from svmrepro.workflow.tables.layout.cells import (
    BLANK,
    DASH,
    Cell,
    count,
    estimate,
    exponent,
    median,
    missing,
    number,
    printed,
    prose,
)
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, beside_paper, table_of

SUPPORT = {"nonbound": ("certificate.n_nonbound", "non-bound"), "bound": ("certificate.n_bound", "bound")}
"""Kind of support vector -> column of the measurements, header."""

SUSPECT = "†"

_NO_FIT = f"no fit: fewer than {FEWEST_SIZES} sizes could be fitted"


def build(results: Results, artefact: Artefact) -> Table:
    """Build the timing table of the artefact's experiment.

    The ratio is that of the last over the first contender that the paper times; the support vectors are those
    of the first.
    """
    name = artefact.experiments[0]
    timed = results.main(name)
    below, above = timed[0], timed[-1]
    ratio = "; ratios are medians of ratios within one process" if above != below else ""
    seconds = (
        f"Seconds are medians of CPU seconds over the repeats with the 95 % interval of the median{ratio}."
    )
    if results.compared(name):
        machine = f"a {results.numbers.machine}" if results.numbers.machine else "another machine"
        seconds += f" The paper's seconds are from {machine}: compare ratios and exponents, not seconds."
    notes = [seconds]
    notes += [
        f"Support vectors: those of {display_name(below)}; non-bound means strictly between 0 and C.",
        *dash_notes(results, (name,)),
        *suspect_notes(results, (name,)),
    ]
    return table_of(
        results,
        artefact,
        _columns(results, name, above, below),
        [_row(results, name, row, above, below) for row in results.own_rows(name)],
        *nested_section(results, name, above, below),
        exponent_section(results, (name,)),
        notes=notes,
        problem=describe_problem(results.experiment(name)),
    )


def dash_notes(results: Results, names: Sequence[str]) -> list[str]:
    """Explain a dash in place of an exponent; empty if every contender has one."""
    absent = any(
        results.shown_exponent(name, label, CPU) is None
        for name in names
        for label in results.experiment(name).contenders
    )
    return [f"A dash in place of an exponent: fewer than {FEWEST_SIZES} sizes."] if absent else []


def suspect_notes(results: Results, names: Sequence[str]) -> list[str]:
    """Explain `SUSPECT`, or say that it applies to every run; empty if it applies to none."""
    met = "met other load on the machine"
    if not any(group.suspect for name in names for group in results.timed_groups(name)):
        return []
    if all(results.all_suspect(name) for name in names):
        return [
            f"Every run {met}: seconds are upper bounds; ratios and exponents are less certain than shown."
        ]
    return [f"{SUSPECT} All repeats {met}: their seconds are upper bounds."]


def size_cell(row: SizeRow) -> Cell:
    """Return the cell of n, with the paper's size if it differs, or a remark if only the paper has it."""
    cell = count(row.size)
    if row.n is None:
        return replace(cell, detail="paper only")
    return cell if row.n_paper in (None, row.n) else replace(cell, detail=f"paper: {row.n_paper:,}")


def seconds_cell(results: Results, experiment: str, contender: str, row: SizeRow) -> Cell:
    """Return the median seconds of a contender at one size, or the reason why there are none."""
    reason = results.why_missing(experiment, contender, row)
    if reason:
        return missing(reason, DASH if row.n is None else "")
    group = results.group(experiment, contender, row.n)
    interval = group.interval(CPU)
    if interval is None:
        return missing(group.untimed or "not run: no seconds")
    if interval.value <= 0:
        return Cell(interval.value, "below clock")
    cell = median(group.values(CPU), interval)
    if not group.suspect or results.all_suspect(experiment):
        return cell  # a mark in every cell would tell nothing; a note explains it once
    return replace(cell, text=f"{cell.text}{SUSPECT}")


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
    return median(results.ratio_values(experiment, row.size, above, below, quantity), ratio, noun="pair")


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
        Column("work", "counted work", group="exponent, measured"),
        *(
            [Column("own", "CPU seconds, the paper's sizes alone", group="exponent, measured")]
            if apart
            else []
        ),
        *(paper if known else []),
        Column("points", "sizes fitted", prose=True),
    ]


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
    if results.experiment(experiment).nested:
        fitted = results.shown_exponent(experiment, contender, CPU, OWN_SIZES)
        cells["own"] = exponent(fitted) if fitted else missing(_NO_FIT, DASH)
    return cells


def _sizes(fit: Fit) -> str:
    """Return the sizes of a fit: 6: 1,605 … 11,220; those too few for an exponent are called so."""
    few = ", too few" if fit.points < FEWEST_SIZES else ""
    last = f" … {fit.n_max:,}" if fit.n_max != fit.n_min else ""
    return f"{fit.points}{few}: {fit.n_min:,}{last}"


def _columns(results: Results, name: str, above: str, below: str) -> list[Column]:
    """Return columns in the paper's order: its solvers, their ratio, support vectors; then ours."""
    compared = results.compared(name)
    columns: list[Column] = []
    for contender in compared:
        group = display_name(contender)
        columns.append(Column(f"{contender}_seconds", "measured", "CPU s", group))
        columns.append(Column(f"{contender}_paper_seconds", "paper", "CPU s", group, paper=True))
    shown = {kind: f"{header} SVs" for kind, (_, header) in SUPPORT.items()}
    if above != below:
        shown = {"ratio": f"{display_name(above)} / {display_name(below)}", **shown}
    for key, group in shown.items():
        columns += beside_paper(key, group, known=bool(compared), difference=False)
    others = [
        Column(f"{contender}_seconds", "measured", "CPU s", display_name(contender))
        for contender in results.experiment(name).contenders
        if contender not in compared
    ]
    # If the paper times no contender, seconds come first for all.
    return [Column("n", "n"), *(columns + others if compared else others + columns)]


def nested_section(results: Results, name: str, above: str, below: str) -> list[TableSection]:
    """Return the sizes between the paper's own, without its columns; empty if none of them was run."""
    between = [SizeRow(n, None) for n in results.experiment(name).nested]
    timed = [label for label, each in results.experiment(name).contenders.items() if each.nested]
    if not any(results.group(name, label, row.n).runs for row in between for label in timed):
        return []
    rows = [_row(results, name, row, above, below) for row in between]
    absent = {
        f"{label}_seconds" for label, each in results.experiment(name).contenders.items() if not each.nested
    }
    every = _columns(results, name, above, below)
    columns = [column for column in every if not column.paper and column.key not in absent]
    return [TableSection(columns, rows, "Sizes between the paper's")] if rows else []


def _row(results: Results, name: str, row: SizeRow, above: str, below: str) -> dict[str, Cell]:
    numbers = results.numbers
    cells = {"n": size_cell(row)}
    for contender in results.experiment(name).contenders:
        cells[f"{contender}_seconds"] = seconds_cell(results, name, contender, row)
        cells[f"{contender}_paper_seconds"] = paper_seconds_cell(results, name, contender, row)
    cells["ratio"] = ratio_cell(results, name, row, above, below, CPU)
    cells["paper_ratio"] = number(numbers.seconds_ratio(name, row.n_paper, above, below))
    group = results.group(name, below, row.n)
    reason = results.why_missing(name, below, row)
    for kind, (column, _) in SUPPORT.items():
        cells[kind] = missing(reason, DASH) if reason else count(group.median(column))
        cells[f"paper_{kind}"] = count(numbers.support_vectors(name, row.n_paper, kind))
    return cells
