"""The data sets of a paper: parameters, and mean numbers of support vectors compared with the paper's."""

from __future__ import annotations

from svmrepro.workflow.analysis.paired_contenders import COUNTS, PermutedProblem, mean_count, problems
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import BLANK, DASH, Cell, count, missing, percent
from svmrepro.workflow.tables.layout.model import Column, Table, beside_paper, table_of
from svmrepro.workflow.tables.permutations._cells import count_cell, name_cells, name_columns
from svmrepro.workflow.tables.permutations._notes import size_notes


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per data set.

    Settings of the artefact: ``table`` (the paper's file with the same columns) and ``contender`` (whose
    solutions are counted).
    """
    table, contender = artefact.settings["table"], artefact.settings["contender"]
    shown = problems(results, artefact.experiments, table)
    columns = [
        *name_columns(),
        Column("C", "C"),
        Column("gamma", "γ"),
        Column("permutations", "permutations"),
    ]
    for key, (_, header) in COUNTS.items():
        columns += beside_paper(key, header)
    rows = [_row(results, problem, table, contender) for problem in shown]
    notes = [
        f"Means over the permutations of the solutions of {display_name(contender)}, with 95 % "
        "intervals. The paper rounds its means.",
        "Difference: (measured - paper) / paper, where the size is the paper's.",
        *size_notes(shown, results),
    ]
    return table_of(results, artefact, columns, rows, notes=notes)


def _row(results: Results, problem: PermutedProblem, table: str, contender: str) -> dict[str, Cell]:
    numbers, cells = results.numbers, name_cells(problem)
    experiment = results.paper.experiments.get(problem.name)
    for key in ("C", "gamma"):
        value = None
        if experiment is not None and problem.n is not None:
            value = experiment.bound(problem.n) if key == "C" else experiment.kernel.get("gamma")
        if value is None:
            value = numbers.value(table, problem.name, problem.n_printed, key)
        cells[key] = BLANK if value is None else Cell(value, f"{value:,.10g}")
    reason = results.why_missing(problem.name, contender, problem)
    group = results.group(problem.name, contender, problem.n)
    cells["permutations"] = BLANK if reason else count(len(group.solved))
    for key in COUNTS:
        said = numbers.value(table, problem.name, problem.n_printed, key)
        cells[f"paper_{key}"] = count(said)
        mean = mean_count(group, key)
        if mean is None:
            cells[key] = missing(reason or "not run", "" if key == "support_vectors" else DASH)
            continue
        cells[key] = count_cell(mean)
        if said and problem.n_paper is not None:
            cells[f"{key}_difference"] = percent((mean.value - said) / said)
    return cells
