"""A table read back from its HTML page.

The page is the only form that has everything a reader needs: headers with units and groups, intervals, notes
and provenance, as `svmrepro.workflow.tables` wrote them. Every version of the program wrote it, so committed
and packed runs can be shown too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from svmrepro.workflow.errors import StepError, one_line

_MAIN = re.compile(r"<main>.*</main>", re.DOTALL)
_NUMBER = re.compile(r"[-+\u2212]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)


@dataclass
class PageCell:
    """A cell: text, the interval or remark in small type, and its classes."""

    text: str = ""
    detail: str = ""
    classes: tuple[str, ...] = ()

    @property
    def order(self) -> str:
        """The number by which the cell is sorted; "" if it has none."""
        found = _NUMBER.match(self.text)
        return found[0].replace(",", "").replace("\N{MINUS SIGN}", "-") if found else ""


@dataclass
class PageColumn:
    """A column: header, unit, spanning header and classes."""

    header: str = ""
    unit: str = ""
    group: str = ""
    classes: tuple[str, ...] = ()

    @property
    def prose(self) -> bool:
        """Whether it holds text, and is sorted as text."""
        return "prose" in self.classes


@dataclass
class PageSection:
    """Columns and rows under an optional heading."""

    heading: str = ""
    columns: list[PageColumn] = field(default_factory=list)
    rows: list[list[PageCell]] = field(default_factory=list)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The spanning headers with the number of columns of each; empty if there are none."""
        names = [column.group for column in self.columns]
        return [(name, len(list(group))) for name, group in groupby(names)] if any(names) else []


@dataclass
class PageTable:
    """A table: title, caption, sections, notes and provenance."""

    title: str = ""
    caption: str = ""
    sections: list[PageSection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    provenance: str = ""


def read_table(path: Path) -> PageTable:
    """Read a table's page; a file that cannot be read raises a StepError."""
    try:
        return parse_table(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StepError(f"{path}: {one_line(error)}") from None
    except ElementTree.ParseError as error:
        raise StepError(f"{path}: is not the page of a table ({error})") from None


def parse_table(page: str) -> PageTable:
    """Read a table from the text of its page, whose main part is well-formed; without one it is empty."""
    found = _MAIN.search(page)
    table, heading = PageTable(), ""
    for element in ElementTree.fromstring(found[0]).iter() if found else ():
        said = _words(element.itertext())
        if element.tag == "h1":
            table.title = said
        elif element.tag == "p":
            table.caption = said
        elif element.tag == "h2":
            heading = said
        elif element.tag == "table":
            table.sections.append(_section(element, heading))
            heading = ""
        elif element.tag == "li":
            table.notes.append(said)
        elif element.tag == "footer":
            table.provenance = said
    return table


def _section(table: Element, heading: str) -> PageSection:
    section = PageSection(heading)
    groups: list[str] = []
    for cell in table.iterfind("thead/tr/*"):
        text, unit, classes, width = _cell(cell)
        if cell.tag == "th" and "group" not in classes:
            place = len(section.columns)
            group = groups[place] if place < len(groups) else ""
            section.columns.append(PageColumn(text, unit, group, classes))
        else:
            groups += [text] * width
    first: PageCell | None = None
    for row in table.iterfind("tbody/tr"):
        cells = []
        for text, detail, classes, width in map(_cell, row):
            cells += [PageCell(text, detail, classes)] * width
        section.rows.append(cells)
        if cells and cells[0].text:
            first = cells[0]
        elif cells and first is not None:
            # It was left blank because it repeats the one above; rows get sorted.
            cells[0] = PageCell(first.text, "", (*cells[0].classes, "repeated"))
    return section


def _cell(cell: Element) -> tuple[str, str, tuple[str, ...], int]:
    """Return a cell's text, the text in small type, its classes and the number of columns that it spans."""
    small = [text for span in cell.iterfind("span") for text in span.itertext()]
    return (
        _words([cell.text or ""]),
        _words(small),
        tuple(cell.get("class", "").split()),
        int(cell.get("colspan", 1)),
    )


def _words(texts: Iterable[str]) -> str:
    return " ".join("".join(texts).split())
