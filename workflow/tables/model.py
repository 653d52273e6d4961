"""Format-independent description of a table.

A `Table` has a title, one or more `TableSection` of columns and rows, notes, and a line of provenance. A cell
keeps its value and its text separately: the CSV has full precision, readers see three digits. A cell without
a value gives the reason (``not run: ...``), or a dash if there is nothing to say. It never shows "nan" or
"None".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.analysis.number_text import significant

if TYPE_CHECKING:
    from svmrepro.workflow.analysis.results import Results
    from svmrepro.workflow.configuration.model import Artefact

DASH = "–"

Value = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """One cell: a value for the CSV, a text for readers.

    Attributes
    ----------
    value : float, int, str or None
        Value in the CSV, in full precision.
    text : str
        Text for readers.
    interval : (float, float) or None
        Ends of the 95 % interval, for the CSV's columns ``_low`` and ``_high``.
    detail : str
        The interval as text, in small type beside or below the main text.
    reason : str
        Why there is no value; the CSV's column ``_reason``.
    mark : str
        "" or one of "good", "bad", "open": colour of a verdict in HTML (the text says the same).
    """

    value: Value
    text: str
    interval: tuple[float, float] | None = None
    detail: str = ""
    reason: str = ""
    mark: str = ""


BLANK = Cell(None, DASH)


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


@dataclass(frozen=True)
class Table:
    """A complete table: title, one-line caption, sections, notes and provenance."""

    title: str
    sections: Sequence[TableSection]
    caption: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    provenance: str = ""


def table_of(
    results: Results,
    artefact: Artefact,
    columns: Sequence[Column],
    rows: Sequence[Mapping[str, Cell]],
    *more: TableSection,
    notes: Sequence[str],
    problem: str = "",
) -> Table:
    """Return an artefact's table with the provenance of its data; `problem` is added to the caption."""
    caption = f"{artefact.caption} {problem}.".strip() if problem else artefact.caption
    return Table(artefact.title, (TableSection(columns, rows), *more), caption, notes, results.provenance())


def beside_paper(key: str, header: str, *, known: bool = True, difference: bool = True) -> list[Column]:
    """Return columns for a measured number and, if the paper's is `known`, for that and the difference."""
    measured = Column(key, "measured", group=header)
    paper = Column(f"paper_{key}", "paper", group=header, paper=True)
    apart = Column(f"{key}_difference", "difference", group=header)
    return [measured, *([paper] if known else []), *([apart] if known and difference else [])]


# -- cells ----------------------------------------------------------------------------------------------


def number(value: float | int | None, interval: Interval | None = None, *, digits: int = 3) -> Cell:
    """Return the cell of a measured number, with its interval if given."""
    if value is None:
        return BLANK
    text = significant(float(value), digits)
    if interval is None or interval.low is None or interval.high is None:
        return Cell(value, text)
    low, high = interval.low, interval.high
    detail = "" if low == high else f"{significant(low, digits)} … {significant(high, digits)}"
    return Cell(value, text, (low, high), detail)


def exponent(interval: Interval | None, reason: str = "") -> Cell:
    """Return the cell of an exponent with two decimals and its interval."""
    if interval is None:
        return missing(reason) if reason else BLANK
    text = f"{interval.value:.2f}"
    if interval.low is None or interval.high is None:
        return Cell(interval.value, text, None, "no interval")
    ends = (interval.low, interval.high)
    return Cell(interval.value, text, ends, f"{ends[0]:.2f} … {ends[1]:.2f}")


def count(value: float | int | None) -> Cell:
    """Return the cell of an exact count, with thousands separators."""
    return BLANK if value is None else Cell(int(value), f"{int(value):,}")


def printed(text: str) -> Cell:
    """Return the cell of a printed number, with its own digits and thousands separators; "" gives a dash."""
    if not text:
        return BLANK
    whole, point, decimals = text.partition(".")
    return Cell(float(text), f"{int(whole):,}{point}{decimals}")


def percent(value: float | None, digits: int = 1) -> Cell:
    """Return the cell of a signed relative difference: +1.2 %."""
    if value is None:
        return BLANK
    text = f"{100 * value:+.{digits}f} %"
    return Cell(value, "0 %" if value == 0 else text)


def prose(text: str, mark: str = "") -> Cell:
    """Return a cell of text."""
    return Cell(text, text, mark=mark) if text else Cell("", "")


def missing(reason: str, text: str = "") -> Cell:
    """Return a cell with the reason for a missing number."""
    return Cell(None, text or reason, reason=reason)
