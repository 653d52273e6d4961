"""Output of tables as CSV for programs, and as Markdown and HTML for readers.

The CSV contains only the first section; the others are excerpts of separate files (fits.csv).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from svmrepro.workflow.analysis import tidy
from svmrepro.workflow.tables.layout.cells import BLANK, DASH, Cell, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def to_csv(table: Table) -> str:
    """Return the first section as CSV with one header line.

    A column with intervals is followed by ``<key>_low`` and ``<key>_high``, and a column with reasons by
    ``<key>_reason``.
    """
    section = table.sections[0]
    columns: dict[str, list[object]] = {}
    for key in (column.key for column in section.columns):
        cells = [row.get(key, BLANK) for row in section.rows]
        columns[key] = [cell.value for cell in cells]
        if any(cell.interval for cell in cells):
            columns[f"{key}_low"] = [cell.interval and cell.interval[0] for cell in cells]
            columns[f"{key}_high"] = [cell.interval and cell.interval[1] for cell in cells]
        if any(cell.reason for cell in cells):
            columns[f"{key}_reason"] = [cell.reason for cell in cells]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return tidy.to_csv(rows, list(columns))


def to_markdown(table: Table) -> str:
    """Return the table as GitHub-flavoured Markdown."""
    lines = [f"# {table.title}", ""]
    if table.caption:
        lines += [table.caption, ""]
    for section in table.sections:
        if section.heading:
            lines += [f"## {section.heading}", ""]
        columns = section.shown
        lines.append(_markdown_line(_markdown_header(column) for column in columns))
        lines.append(_markdown_line(":--" if column.prose else "--:" for column in columns))
        for row in section.rows:
            cells = [row.get(column.key, BLANK) for column in columns]
            lines.append(_markdown_line(f"{c.text} ({c.detail})" if c.detail else c.text for c in cells))
        lines.append("")
    lines += [f"- {_escaped(note)}" for note in table.notes]
    if table.notes:
        lines.append("")
    if table.provenance:
        lines += [f"*{_escaped(table.provenance)}*", ""]
    return "\n".join(lines)


def to_html(table: Table) -> str:
    """Return a self-contained HTML page: no scripts, no external files, light background."""
    return render("table.html.j2", table=table)


def to_json(table: Table) -> str:
    """Return the table's record as JSON."""
    return json.dumps(table.record, indent=1, ensure_ascii=False) + "\n"


def render(template: str, **values: object) -> str:
    """Render a template of ``workflow/templates``; text is escaped."""
    return html_environment(TEMPLATES).get_template(template).render(**values)


@cache
def html_environment(folder: Path) -> Environment:
    """Return an environment for a folder's templates: text is escaped, and a missing value is an error.

    Its filters ``columns``, ``groups`` and ``rows`` take a section of a table.
    """
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"columns": _columns, "groups": _groups, "rows": _rows}
    return environment


_MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "*": "\\*", "\r": " ", "\n": " "})


def _escaped(text: str) -> str:
    """Return a text in which nothing is markup; GitHub would hide ``<locals>`` as a tag."""
    return re.sub("<(?=[A-Za-z/!?])", r"\\<", text.translate(_MARKDOWN))


def _markdown_line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escaped, texts))} |"


def _markdown_header(column: Column) -> str:
    name = f"{column.group}: {column.header}" if column.group else column.header
    if column.unit:
        name += f" [{column.unit}]"
    return f"{name} (paper)" if column.paper and "paper" not in name.lower() else name


class _HtmlCell(NamedTuple):
    """A cell with its CSS classes and the number of columns it spans."""

    cell: Cell
    classes: str
    width: int


def _columns(section: TableSection) -> list[tuple[Column, str]]:
    """Return the visible columns with their CSS classes."""
    return [(column, classes_of(column, first=place == 0)) for place, column in enumerate(section.shown)]


def _groups(section: TableSection) -> list[tuple[str, int]]:
    """Return the spanning headers with the number of columns of each; empty if there are none."""
    names = [column.group for column in section.shown]
    return [(name, len(list(group))) for name, group in groupby(names)] if any(names) else []


def _rows(section: TableSection) -> Iterator[tuple[bool, list[_HtmlCell]]]:
    """Yield rows as (whether it starts a group of rows with the same first cell, cells)."""
    columns = section.shown
    key, grouped = columns[0].key, columns[0].prose
    before = None
    for row in section.rows:
        first = row.get(key, BLANK)
        starts = grouped and before is not None and first.text != before
        # A repeated first cell is left blank, so that groups stand out.
        repeats = grouped and first.text == before and not first.detail
        before = first.text
        yield starts, _cells(columns, {**row, key: prose("")} if repeats else row)


def _cells(columns: Sequence[Column], row: Mapping[str, Cell]) -> list[_HtmlCell]:
    """Return the cells of a row; adjacent cells under one header with the same missing value are merged."""
    found: list[_HtmlCell] = []
    before: Column | None = None
    for place, column in enumerate(columns):
        cell = row.get(column.key, BLANK)
        if before is not None and (before.group, before.paper) == (column.group, column.paper):
            last = found[-1]
            if _absent(last.cell) and last.cell.text == cell.text:
                found[-1] = last._replace(width=last.width + 1)
                continue
        before = column
        found.append(_HtmlCell(cell, classes_of(column, cell, first=place == 0), 1))
    return found


def _absent(cell: Cell) -> bool:
    return bool(cell.reason) and cell.text != DASH


def classes_of(column: Column, cell: Cell | None = None, *, first: bool) -> str:
    """Return the CSS classes of a cell, or of a column's header."""
    names = {"paper": column.paper, "prose": column.prose, "short": column.short, "first": first}
    if cell is not None:
        names |= {"absent": _absent(cell), "dash": cell.text == DASH, cell.mark: bool(cell.mark)}
    return " ".join(name for name, given in names.items() if given)
