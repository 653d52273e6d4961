"""Contenders side by side: what a setting (or a solver) changes in seconds, steps, work and objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svmrepro.workflow.config import Artefact
from svmrepro.workflow.render import (
    BLANK,
    Cell,
    Column,
    Section,
    Table,
    count,
    missing,
    number,
    prose,
    significant,
)
from svmrepro.workflow.results import Results, describe_problem, display_name
from svmrepro.workflow.runs import WORK
from svmrepro.workflow.table_timing import seconds_cell, suspect_notes


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line for each contender and size of the artefact's experiments.

    Where the contenders differ in one option alone, its value stands in place of their names.
    """
    option = varying_option(results, artefact.experiments)
    columns = [Column("experiment", "problem", prose=True), Column("n", "n")]
    columns.append(Column("contender", option or "solver", prose=not option))
    columns += [
        Column("seconds", "CPU seconds"),
        Column("iterations", "steps"),
        Column("kernel_evaluations", "kernel evaluations"),
        Column("work", "counted work"),
        Column("objective", "dual objective"),
        Column("violation", "largest KKT violation"),
    ]
    rows: list[Mapping[str, Cell]] = []
    for name in artefact.experiments:
        for row in results.rows(name):
            if row.n is not None:
                rows += [
                    _row(results, name, label, row.n, option) for label in results.experiment(name).contenders
                ]
    return Table(
        title=artefact.title,
        caption=artefact.caption,
        sections=(Section(columns, rows),),
        notes=[
            "Medians over the repeats; seconds with the 95 % interval of the median.",
            *suspect_notes(results, artefact.experiments),
        ],
        provenance=results.provenance(),
    )


def varying_option(results: Results, names: Sequence[str]) -> str:
    """Return the one solver option in which the contenders differ; "" if they differ otherwise too."""
    contenders = [contender for name in names for contender in results.experiment(name).contenders.values()]
    if len({(contender.solver, contender.storage, contender.bias) for contender in contenders}) != 1:
        return ""
    options = {key for contender in contenders for key in contender.options}
    varying = [
        key for key in options if len({repr(contender.options.get(key)) for contender in contenders}) > 1
    ]
    return varying[0] if len(varying) == 1 else ""


def _row(results: Results, name: str, contender: str, n: int, option: str) -> dict[str, Cell]:
    experiment = results.experiment(name)
    cells = {"experiment": prose(describe_problem(experiment)), "n": count(n)}
    cells["contender"] = prose(display_name(contender))
    if option:
        setting = experiment.contenders[contender].options.get(option)
        cells["contender"] = Cell(contender, "default") if setting is None else Cell(setting, f"{setting:g}")
    row = next(row for row in results.rows(name) if row.n == n)
    group = results.group(name, contender, n)
    cells["seconds"] = seconds_cell(results, name, contender, row)
    if group.reason:
        return {
            **cells,
            **dict.fromkeys(("iterations", "kernel_evaluations", "objective"), missing(group.reason, "–")),
        }
    cells["iterations"] = count(group.median("iterations"))
    # Other people's solvers do not say how many they made.
    cells["kernel_evaluations"] = count(group.median("kernel_evaluations") or None)
    cells["work"] = count(group.median(WORK))
    dual = group.median("certificate.dual")
    cells["objective"] = BLANK if dual is None else Cell(dual, significant(dual, 8))
    violation = group.median("certificate.max_violation")
    cells["violation"] = BLANK if violation is None else number(violation, digits=2)
    return cells
