"""Support vectors compared with the paper, row by row. They must agree on any machine."""

from __future__ import annotations

from collections.abc import Mapping

from svmrepro.workflow.analysis.results import Results, SizeRow
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.model import (
    BLANK,
    Cell,
    Column,
    Table,
    beside_paper,
    count,
    missing,
    percent,
    prose,
    table_of,
)
from svmrepro.workflow.tables.timing import SUPPORT, size_cell


def build(results: Results, artefact: Artefact) -> Table:
    """Build the table of the artefact's experiments that the paper counts; of all if it counts none.

    The counts are those of the first contender that the paper times ("determined from SMO", section 3.1).
    """
    names = results.shared(artefact.experiments)
    counted = any(results.compared(name) for name in names)
    columns = [Column("experiment", "experiment", prose=True), Column("n", "n")]
    for kind, header in [(kind, header) for kind, (_, header) in SUPPORT.items()] + [("total", "all")]:
        columns += beside_paper(kind, f"{header} support vectors", known=counted)
    rows: list[Mapping[str, Cell]] = []
    for name in names:
        rows += [_row(results, name, results.main(name)[0], row) for row in results.rows(name)]
    notes = ["Non-bound: strictly inside (0, C); bound: exactly at C."]
    if counted:
        notes += [
            "Difference: (measured - paper) / paper.",
            "The paper's adult sets have one row more than today's files; rows are matched by file.",
            "The paper's generated sets come from another random stream, so counts agree only roughly.",
        ]
    return table_of(results, artefact, columns, rows, notes=notes)


def _row(results: Results, name: str, contender: str, row: SizeRow) -> dict[str, Cell]:
    cells = {"experiment": prose(results.experiment(name).title), "n": size_cell(row)}
    reason = results.why_missing(name, contender, row)
    group = results.group(name, contender, row.n)
    totals: list[float | None] = [0.0, 0.0]
    for kind, (column, _) in SUPPORT.items():
        pair = (group.median(column), results.numbers.support_vectors(name, row.n_paper, kind))
        _fill(cells, kind, *pair, reason)
        totals = [
            None if total is None or part is None else total + part
            for total, part in zip(totals, pair, strict=True)
        ]
    _fill(cells, "total", totals[0], totals[1], reason)
    return cells


def _fill(cells: dict[str, Cell], kind: str, ours: float | None, theirs: float | None, reason: str) -> None:
    shown = "" if kind == "nonbound" and "not a size" not in reason else "–"
    cells[kind] = missing(reason, shown) if reason else count(ours)
    cells[f"paper_{kind}"] = count(theirs)
    comparable = ours is not None and theirs
    cells[f"{kind}_difference"] = (
        percent((ours - theirs) / theirs) if comparable and ours is not None and theirs else BLANK
    )
