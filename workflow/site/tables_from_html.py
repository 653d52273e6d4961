"""A table read back from its HTML page.

The page is the only form that has everything a reader needs: headers with units and groups, intervals, notes
and provenance, as `svmrepro.workflow.tables` wrote them. Every version of the program wrote it, so committed
and packed runs can be shown too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.site.records import read_text
from svmrepro.workflow.tables.layout.cells import Cell
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection

_MAIN = re.compile(r"<main>.*</main>", re.DOTALL)
_MARKS = ("good", "bad", "open")

_WIDEST = 1000
"""Most columns that a cell spans, as in browsers."""


def read_table(path: Path) -> Table:
    """Read a table's page; a file that cannot be read raises a StepError."""
    try:
        return parse_table(read_text(path))
    except (ElementTree.ParseError, ValueError) as error:
        raise StepError(f"{path}: is not the page of a table ({one_line(error)})") from None


def parse_table(page: str) -> Table:
    """Read a table from the text of its page, whose main part is well-formed; without one it is empty."""
    found = _MAIN.search(page)
    main = ElementTree.fromstring(found[0] if found else "<main/>")
    sections, heading = [], ""
    for element in main.iter():
        if element.tag == "h2":
            heading = _words(element.itertext())
        elif element.tag == "table":
            sections.append(_section(element, heading))
            heading = ""
    title, caption, provenance = (
        next((_words(element.itertext()) for element in main.iter(tag)), "") for tag in ("h1", "p", "footer")
    )
    notes = [_words(element.itertext()) for element in main.iter("li")]
    return Table(title, sections, caption, notes, provenance)


def _section(table: Element, heading: str) -> TableSection:
    groups: list[str] = []
    columns: list[Column] = []
    for cell in table.iterfind("thead/tr/*"):
        text, unit, classes, width = _cell(cell)
        if cell.tag == "th" and "group" not in classes:
            place = len(columns)
            flags = {name: name in classes for name in ("paper", "prose", "short")}
            group = groups[place] if place < len(groups) else ""
            columns.append(Column(str(place), text, unit, group, **flags))
        else:
            groups += [text] * width
    rows = []
    above = ""
    for row in table.iterfind("tbody/tr"):
        cells: list[Cell] = []
        for text, detail, classes, width in map(_cell, row):
            reason = text if "absent" in classes else ""
            mark = next((name for name in _MARKS if name in classes), "")
            cells += [Cell(None, text, detail=detail, reason=reason, mark=mark)] * width
        if cells and not cells[0].text:
            # It was left blank because it repeats the one above.
            cells[0] = replace(cells[0], text=above)
        above = cells[0].text if cells else above
        rows.append({column.key: cell for column, cell in zip(columns, cells, strict=False)})
    return TableSection(columns, rows if columns else [], heading)


def _cell(cell: Element) -> tuple[str, str, tuple[str, ...], int]:
    """Return a cell's text, the text in small type, its classes and the number of columns that it spans."""
    small = [text for span in cell.iterfind("span") for text in span.itertext()]
    return (
        _words([cell.text or ""]),
        _words(small),
        tuple(cell.get("class", "").split()),
        min(int(cell.get("colspan", 1)), _WIDEST),
    )


def _words(texts: Iterable[str]) -> str:
    return " ".join("".join(texts).split())
