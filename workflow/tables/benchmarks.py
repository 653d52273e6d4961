"""Solvers over many experiments: seconds at the largest size that each reached, and exponents.

The table of ``./run bench`` is another kind, `peers`.
"""

from __future__ import annotations

from collections.abc import Mapping

from svmrepro.workflow.analysis.results import Results, SizeRow, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import DASH, Cell, count, missing, number
from svmrepro.workflow.tables.layout.exponents import exponent_notes, fit_cells, half_columns
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.layout.size_rows import (
    flag_notes,
    paper_seconds_cell,
    ratio_cell,
    seconds_cell,
    size_cell,
)


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per contender of the artefact's experiments, in the configuration's order.

    Setting of the artefact: ``baseline``, the contender to whose seconds the others' are compared.
    """
    baseline: str = artefact.settings["baseline"]
    ratio = f"seconds relative to {display_name(baseline)}"
    rows = [
        _row(results, name, contender, baseline)
        for name in artefact.experiments
        for contender in results.experiment(name).contenders
    ]
    columns = [
        Column("experiment", "experiment", prose=True),
        Column("contender", "solver", prose=True),
        Column("n", "n", group="measured"),
        Column("seconds", "CPU s", group="measured"),
        Column("paper_n", "n", group="paper", paper=True),
        Column("paper_seconds", "CPU s", group="paper", paper=True),
        Column("ratio", "measured", group=ratio),
        Column("paper_ratio", "paper", group=ratio, paper=True),
        Column("time", "CPU seconds", group="exponent, measured"),
        *half_columns(rows),
        Column("work", "counted work", group="exponent, measured"),
        Column("paper_printed", "printed", group="exponent, paper", paper=True),
        Column("points", "sizes fitted", prose=True),
    ]
    known = any(results.compared(name) for name in artefact.experiments)
    notes = [
        "Seconds are medians of CPU seconds over the repeats with the 95 % interval of the median, at the "
        f"largest size that the solver reached at the {results.scale} scale; ratios are medians of ratios "
        "within one process, at that size.",
        "An exponent is the slope of the least-squares line through the logarithms of the medians over "
        "nested subsets. Counted work is the number of vector components and Hessian entries touched: exact, "
        "equal on every machine, and unaffected by caches.",
    ]
    if results.numbers.machine:
        notes.append(
            f"The paper's seconds are from a {results.numbers.machine}: compare ratios and exponents. "
            "Its seconds and ratios are at its own size, shown beside them."
        )
    notes += exponent_notes(results, artefact.experiments)
    notes += flag_notes(results, artefact.experiments)
    shown = [column for column in columns if known or not column.paper]
    return table_of(results, artefact, shown, rows, notes=notes)


def reached(results: Results, experiment: str, contender: str) -> SizeRow:
    """Return the largest size that a contender solved, or the experiment's smallest if it solved none.

    The cells of the smallest size give the reason for a missing result.
    """
    n = results.largest_solved(experiment, contender) or min(results.experiment(experiment).sizes)
    return SizeRow(n, results.paper_size(experiment, n))


def _row(results: Results, name: str, contender: str, baseline: str) -> Mapping[str, Cell]:
    row = reached(results, name, contender)
    experiment = results.experiment(name)
    cells = fit_cells(results, name, contender)
    first = next(iter(experiment.contenders)) == contender
    cells["experiment"] = Cell(name, experiment.title, detail=name if first else "")
    absent = results.why_missing(name, contender, row)
    cells["n"] = missing(absent, DASH) if absent else size_cell(row)
    cells["seconds"] = seconds_cell(results, name, contender, row)
    if contender != baseline and not absent:
        cells["ratio"] = ratio_cell(results, name, row, contender, baseline, CPU)
    sizes = results.numbers.sizes(name)
    if sizes and contender in results.compared(name):
        whole = SizeRow(None, max(sizes))
        cells["paper_n"] = count(whole.n_paper)
        cells["paper_seconds"] = paper_seconds_cell(results, name, contender, whole)
        if contender != baseline:
            ratio = results.numbers.seconds_ratio(name, whole.n_paper, contender, baseline)
            cells["paper_ratio"] = number(ratio)
        if cells["paper_printed"].value is None:
            cells["paper_printed"] = missing("n/a in the paper", "n/a")
    return cells
