"""A table read back from its HTML page.

The page is the only form that has everything a reader needs: headers with units and groups, intervals, notes
and provenance. Every version of the program wrote it, so committed and packed runs can be shown too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path

from svmrepro.workflow.errors import StepError, one_line

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
    """Read a table's page; a file that cannot be read is a StepError."""
    try:
        return parse_table(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StepError(f"{path}: {one_line(error)}") from None


def parse_table(page: str) -> PageTable:
    """Read a table from the text of its page."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    for section in reader.table.sections:
        section.rows = [list(_filled(row, before)) for row, before in _with_first(section)]
    return reader.table


def _with_first(section: PageSection) -> Iterator[tuple[list[PageCell], PageCell | None]]:
    """Yield each row with the first cell of the row that it continues."""
    first: PageCell | None = None
    for row in section.rows:
        if row and row[0].text:
            first = row[0]
        yield row, first


def _filled(row: list[PageCell], first: PageCell | None) -> Iterator[PageCell]:
    """Yield a row; a first cell left blank, because it repeats the one above, is filled: rows get sorted."""
    for place, cell in enumerate(row):
        repeats = place == 0 and not cell.text and first is not None
        yield PageCell(first.text, "", (*cell.classes, "repeated")) if repeats and first else cell


class _Reader(HTMLParser):
    """Collects the parts of a page in the order of its elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.table = PageTable()
        self._text: list[str] = []
        self._heading = ""
        self._groups: list[str] = []
        self._part = ""  # of a cell: "", "unit" or "detail"
        self._head = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        classes = tuple(given.get("class", "").split())
        width = int(given.get("colspan") or 1)
        sections = self.table.sections
        if tag in ("h1", "h2", "p", "li", "footer"):
            self._text = []
        elif tag == "table":
            sections.append(PageSection(self._heading))
            self._heading, self._groups = "", []
        elif tag in ("thead", "tbody"):
            self._head = tag == "thead"
        elif tag == "tr" and not self._head:
            sections[-1].rows.append([])
        elif tag in ("td", "th") and self._head:
            self._text = []
            if tag == "th" and "group" not in classes:
                place = len(sections[-1].columns)
                group = self._groups[place] if place < len(self._groups) else ""
                sections[-1].columns.append(PageColumn(group=group, classes=classes))
            else:
                self._groups += [""] * width
                self._width = width
        elif tag == "td":
            self._text = []
            sections[-1].rows[-1] += [PageCell(classes=classes) for _ in range(width)]
            self._width = width
        elif tag == "span":
            self._end_of_text()
            self._part = classes[0] if classes else ""

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        said = " ".join("".join(self._text).split())
        if tag == "h1":
            self.table.title = said
        elif tag == "h2":
            self._heading = said
        elif tag == "p":
            self.table.caption = said
        elif tag == "li":
            self.table.notes.append(said)
        elif tag == "footer":
            self.table.provenance = said
        elif tag in ("td", "th", "span"):
            self._end_of_text()
            self._part = ""

    def _end_of_text(self) -> None:
        """Store the text since the last tag in the present cell, and start anew."""
        said = " ".join("".join(self._text).split())
        self._text = []
        if not said or not self.table.sections:
            return
        section = self.table.sections[-1]
        if not self._head:
            for cell in section.rows[-1][-self._width :]:
                setattr(cell, "detail" if self._part == "detail" else "text", said)
        elif section.columns:
            setattr(section.columns[-1], "unit" if self._part == "unit" else "header", said)
        else:
            self._groups[-self._width :] = [said] * self._width
