"""Sparse / non-sparse tables: the effect of index lists and packed bits on a solver's time and work."""

from __future__ import annotations

from svmrepro.workflow.analysis.printed_numbers import SPARSE, snake
from svmrepro.workflow.analysis.results import Results, SizeRow, describe_problem, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import BLANK, Cell, missing, number, printed
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.layout.size_rows import flag_notes, ratio_cell, seconds_cell, size_cell

FORMS = ("dense", "bits")
"""Suffixes of contenders that solve the same problem with another storage."""


def build(results: Results, artefact: Artefact) -> Table:
    """Build the table of the artefact's experiment.

    A contender L is included if the experiment also has ``L-dense``; ``L-bits`` is shown if it exists.
    """
    name = artefact.experiments[0]
    experiment = results.experiment(name)
    solvers = [label for label in experiment.contenders if f"{label}-dense" in experiment.contenders]
    columns = [Column("n", "n")]
    for solver in solvers:
        columns += _columns(results, name, solver)
    notes = [
        "Sparse: lists of the positions of ones, as in the paper. Dense: vectors of floats. Bits: one bit "
        "per component. Medians of CPU seconds with 95 % intervals.",
        "Ratios are dense / sparse within one process: the gain of sparse code. Work is the number of vector "
        "components and Hessian entries touched.",
        *flag_notes(results, (name,)),
    ]
    rows = [_row(results, name, row, solvers) for row in results.own_rows(name)]
    return table_of(results, artefact, columns, rows, notes=notes, problem=describe_problem(experiment))


def _columns(results: Results, name: str, solver: str) -> list[Column]:
    shown = display_name(solver)
    columns = [Column(f"{solver}_sparse", "sparse", unit="CPU s", group=shown)]
    for form in FORMS:
        if f"{solver}-{form}" in results.experiment(name).contenders:
            columns.append(Column(f"{solver}_{form}", form, unit="CPU s", group=shown))
    printed_too = any(
        results.numbers.text(SPARSE, name, n, f"{snake(solver)}_{form}_seconds")
        for n in results.numbers.sizes(name, SPARSE)
        for form in ("sparse", "dense")
    )
    if printed_too:
        for form in ("sparse", "dense"):
            key = f"{solver}_paper_{form}"
            columns.append(Column(key, form, "CPU s", f"{shown}, paper", paper=True))
    gain = f"{shown}, dense / sparse"
    columns += [
        Column(f"{solver}_ratio", "time", group=gain),
        Column(f"{solver}_work_ratio", "work", group=gain),
    ]
    if printed_too:
        columns.append(Column(f"{solver}_paper_ratio", "paper", group=gain, paper=True))
    return columns


def _row(results: Results, name: str, row: SizeRow, solvers: list[str]) -> dict[str, Cell]:
    cells = {"n": size_cell(row)}
    absent = missing("N/A in the paper", "N/A") if row.n_paper is not None else BLANK
    for solver in solvers:
        cells[f"{solver}_sparse"] = seconds_cell(results, name, solver, row)
        for form in FORMS:
            cells[f"{solver}_{form}"] = seconds_cell(results, name, f"{solver}-{form}", row)
        said = {}
        for form in ("sparse", "dense"):
            text = results.numbers.text(SPARSE, name, row.n_paper, f"{snake(solver)}_{form}_seconds")
            cells[f"{solver}_paper_{form}"] = printed(text) if text else absent
            said[form] = float(text or 0)
        for key, quantity in (("ratio", CPU), ("work_ratio", WORK)):
            cells[f"{solver}_{key}"] = ratio_cell(results, name, row, f"{solver}-dense", solver, quantity)
        if said["sparse"] and said["dense"]:
            cells[f"{solver}_paper_ratio"] = number(said["dense"] / said["sparse"])
    return cells
