"""Support vectors compared with the paper, row by row. They must agree on any machine."""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.results import Results, SizeRow
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import DASH, Cell, count, missing, percent, prose
from svmrepro.workflow.tables.layout.model import Column, Table, beside_paper, table_of
from svmrepro.workflow.tables.layout.size_rows import SUPPORT, size_cell


def build(results: Results, artefact: Artefact) -> Table:
    """Build the table of the artefact's experiments that the paper counts; of all if it counts none.

    The counts are those of the first contender that the paper times ("determined from SMO", section 3.1).
    """
    names = results.shared(artefact.experiments)
    counted = any(results.compared(name) for name in names)
    columns = [Column("experiment", "experiment", prose=True), Column("n", "n")]
    for kind, header in (*((kind, header) for kind, (_, header) in SUPPORT.items()), ("total", "all")):
        columns += beside_paper(kind, f"{header} support vectors", known=counted)
    rows = [
        _row(results, name, results.main(name)[0], row) for name in names for row in results.own_rows(name)
    ]
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
    ours = {kind: group.median(column) for kind, (column, _) in SUPPORT.items()}
    theirs = {kind: results.numbers.support_vectors(name, row.n_paper, kind) for kind in SUPPORT}
    for kind in (*SUPPORT, "total"):
        parts = SUPPORT if kind == "total" else (kind,)
        own, said = (_sum([counts[part] for part in parts]) for counts in (ours, theirs))
        shown = "" if kind == "nonbound" and row.n is not None else DASH
        cells[kind] = missing(reason, shown) if reason else count(own)
        cells[f"paper_{kind}"] = count(said)
        if own is not None and said:
            cells[f"{kind}_difference"] = percent((own - said) / said)
    return cells


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
