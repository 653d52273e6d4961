"""Timing tables: seconds, ratio, support vectors and exponents of one experiment, compared with the paper."""

from __future__ import annotations

from svmrepro.workflow.analysis.results import Results, SizeRow, describe_problem, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import DASH, Cell, count, missing, number
from svmrepro.workflow.tables.layout.exponents import exponent_notes, exponent_section
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, beside_paper, table_of
from svmrepro.workflow.tables.layout.size_rows import (
    SUPPORT,
    flag_notes,
    paper_seconds_cell,
    ratio_cell,
    seconds_cell,
    size_cell,
)


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
        *exponent_notes(results, (name,)),
        *flag_notes(results, (name,)),
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
    contenders = results.experiment(name).contenders
    between = [SizeRow(n, None) for n in results.experiment(name).nested]
    timed = [label for label, each in contenders.items() if each.nested]
    if not any(results.group(name, label, row.n).runs for row in between for label in timed):
        return []
    rows = [_row(results, name, row, above, below) for row in between]
    absent = {f"{label}_seconds" for label in contenders if label not in timed}
    every = _columns(results, name, above, below)
    columns = [column for column in every if not column.paper and column.key not in absent]
    return [TableSection(columns, rows, "Sizes between the paper's")]


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
