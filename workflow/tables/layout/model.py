"""Format-independent description of a table: sections of columns and rows, notes, a line of provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from svmrepro.workflow.tables.layout.cells import ALL_FLAGGED, DASH, Cell

if TYPE_CHECKING:
    from svmrepro.workflow.analysis.results import Results
    from svmrepro.workflow.configuration.model import Artefact


_NOT_RUN, _NOT_INSTALLED, _NOT_A_SIZE = "not run", "not installed", "not run: not a size"
"""Prefixes of reasons that move a group last, a row last within its group, or neither."""


@dataclass(frozen=True)
class Column:
    """One column: CSV key, header, unit, spanning header, and flags.

    ``paper`` columns hold the paper's numbers; they are tinted and slanted in HTML and end in " (paper)" in
    Markdown. ``prose`` columns are left-aligned text, ``short`` ones a word or two. Columns not ``shown``
    appear in the CSV only.
    """

    key: str
    header: str
    unit: str = ""
    group: str = ""
    paper: bool = False
    prose: bool = False
    short: bool = False
    shown: bool = True


@dataclass(frozen=True)
class TableSection:
    """Columns and rows under an optional heading; a row may omit cells."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    heading: str = ""

    @property
    def shown(self) -> list[Column]:
        """The columns that readers see."""
        return [column for column in self.columns if column.shown]


@dataclass(frozen=True)
class Table:
    """A complete table: title, one-line caption, sections, notes and provenance.

    ``record`` is the machine-readable content of the rows; most tables have none.
    """

    title: str
    sections: Sequence[TableSection]
    caption: str = ""
    notes: Sequence[str] = ()
    provenance: str = ""
    record: Mapping[str, Any] | None = None


def table_of(
    results: Results,
    artefact: Artefact,
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Cell]],
    *more: TableSection,
    notes: Sequence[str],
    problem: str = "",
    heading: str = "",
) -> Table:
    """Return an artefact's table with the provenance of its data; `problem` is added to the caption.

    The first section, with `columns` and `rows` under `heading`, is followed by those of `more`.
    A note that explains a mark is left out if no cell has it.
    """
    caption = f"{artefact.caption} {problem}.".strip() if problem else artefact.caption
    sections = (TableSection(columns, absent_last(columns, rows), heading), *more)
    marked = any(ALL_FLAGGED in cell.text for each in sections for row in each.rows for cell in row.values())
    kept = [note for note in notes if marked or not note.startswith(ALL_FLAGGED)]
    return Table(artefact.title, sections, caption, kept, results.provenance())


def absent_last(columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> list[Mapping[str, Cell]]:
    """Return the rows, with groups that were not run and, within a group, missing packages moved to the end.

    A group of rows has the same first cell, a name. Rows that begin with a number (a size) keep their order.
    """
    if not columns or not columns[0].prose:
        return list(rows)
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row[columns[0].key].text)]
    inside = [sorted(group, key=lambda row: _lacks(row, _NOT_INSTALLED)) for group in groups]
    ordered = sorted(inside, key=lambda group: all(_lacks(row, _NOT_RUN, _NOT_INSTALLED) for row in group))
    return [row for group in ordered for row in group]


def _lacks(row: Mapping[str, Cell], *reasons: str) -> bool:
    found = [cell.reason for cell in row.values() if cell.text != DASH]
    return any(each.startswith(reasons) and not each.startswith(_NOT_A_SIZE) for each in found)


def beside_paper(
    key: str, group: str, *, known: bool = True, difference: bool = True, unit: str = ""
) -> list[Column]:
    """Return columns for a measured number and, if the paper's is `known`, for that and the difference."""
    measured = Column(key, "measured", unit, group)
    paper = Column(f"paper_{key}", "paper", unit, group, paper=True)
    apart = Column(f"{key}_difference", "difference", group=group)
    return [measured, *([paper] if known else []), *([apart] if known and difference else [])]
