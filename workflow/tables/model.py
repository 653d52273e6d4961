"""One description of a table for all forms in which it is written.

A `Table` is a title, one or more `TableSection` of columns and rows, notes, and a line of provenance. Cells
carry their value and their text apart, so that the CSV keeps full precision while people read three digits.
A cell without a value always says why (``not run: ...``) or is a dash where there is nothing to say; "nan"
and "None" cannot appear.
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
    """One cell: a value for the CSV, a text for people.

    Attributes
    ----------
    value : float, int, str or None
        As written to the CSV, in full precision.
    text : str
        What people read.
    interval : (float, float) or None
        Ends of the value's 95 % interval, for the CSV's ``_low`` and ``_high`` columns.
    detail : str
        The interval as people read it, set small beside or below the text.
    reason : str
        Why there is no value; CSV column ``_reason``.
    mark : str
        "" or one of "good", "bad", "open": a verdict's colour in HTML (its text says the same).
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
    """One column: CSV key, header, unit, spanning header, and whose numbers it holds.

    ``paper`` columns are set apart in HTML (tinted, slanted) and end in " (paper)" in Markdown.
    ``prose`` columns are left-aligned text, ``short`` ones a word or two; those not ``shown`` are for the CSV
    alone.
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
    """Columns and rows under an optional heading; a row lacks the cells that it does not mention."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    heading: str = ""


@dataclass(frozen=True)
class Table:
    """All that is rendered: title, one line of caption, sections, notes and provenance."""

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
    """Return the table of an artefact with the provenance of its measurements; `problem` ends its caption."""
    caption = f"{artefact.caption} {problem}.".strip() if problem else artefact.caption
    return Table(artefact.title, (TableSection(columns, rows), *more), caption, notes, results.provenance())


def beside_paper(key: str, header: str, *, known: bool = True, difference: bool = True) -> list[Column]:
    """Return columns of a measured number and, if the paper's is `known`, of that and the difference."""
    measured = Column(key, "measured", group=header)
    paper = Column(f"paper_{key}", "paper", group=header, paper=True)
    apart = Column(f"{key}_difference", "difference", group=header)
    return [measured, *([paper] if known else []), *([apart] if known and difference else [])]


# -- cells ----------------------------------------------------------------------------------------------


def number(value: float | int | None, interval: Interval | None = None, *, digits: int = 3) -> Cell:
    """Cell of a measured number; with `interval`, its ends beside it."""
    if value is None:
        return BLANK
    text = significant(float(value), digits)
    if interval is None or interval.low is None or interval.high is None:
        return Cell(value, text)
    low, high = interval.low, interval.high
    detail = "" if low == high else f"{significant(low, digits)} … {significant(high, digits)}"
    return Cell(value, text, (low, high), detail)


def exponent(interval: Interval | None, reason: str = "") -> Cell:
    """Cell of an exponent, two decimals, with its interval."""
    if interval is None:
        return missing(reason) if reason else BLANK
    text = f"{interval.value:.2f}"
    if interval.low is None or interval.high is None:
        return Cell(interval.value, text, None, "no interval")
    ends = (interval.low, interval.high)
    return Cell(interval.value, text, ends, f"{ends[0]:.2f} … {ends[1]:.2f}")


def count(value: float | int | None) -> Cell:
    """Cell of an exact count, thousands separated."""
    return BLANK if value is None else Cell(int(value), f"{int(value):,}")


def printed(text: str) -> Cell:
    """Cell of a number of the paper, with the digits that it prints, thousands separated; "" is a dash."""
    if not text:
        return BLANK
    whole, point, decimals = text.partition(".")
    return Cell(float(text), f"{int(whole):,}{point}{decimals}")


def percent(value: float | None, digits: int = 1) -> Cell:
    """Cell of a relative difference, with its sign: +1.2 %."""
    if value is None:
        return BLANK
    text = f"{100 * value:+.{digits}f} %"
    return Cell(value, "0 %" if value == 0 else text)


def prose(text: str, mark: str = "") -> Cell:
    """Cell of words."""
    return Cell(text, text, mark=mark) if text else Cell("", "")


def missing(reason: str, text: str = "") -> Cell:
    """Cell that says why there is no number."""
    return Cell(None, text or reason, reason=reason)
