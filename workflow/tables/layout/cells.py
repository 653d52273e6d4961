"""Cells of a table.

A cell keeps its value and its text separately: the CSV has full precision, readers see three digits, or two
decimals of an exponent. A cell without a value gives the reason (``not run: ...``), or a dash if there is
none. It never shows "nan" or "None".
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import FEWEST_SPREAD, Interval, median_interval

DASH = "–"

ALL_FLAGGED = "†"
"""Mark of seconds of which all repeats are flagged, and of a ratio of which all pairs are."""


@dataclass(frozen=True)
class Cell:
    """One cell: a value for the CSV, a text for readers."""

    value: float | int | str | None
    text: str
    interval: tuple[float, float] | None = None  # its 95 % interval, the CSV's columns ``_low`` and ``_high``
    detail: str = ""  # the interval as text, in small type beside or below the main text
    reason: str = ""  # why there is no value; the CSV's column ``_reason``
    mark: str = ""  # "good", "bad" or "open": colour of a verdict in HTML (the text says the same)


BLANK = Cell(None, DASH)


def number(value: float | int | None, *, digits: int = 3) -> Cell:
    """Return the cell of a measured number."""
    return BLANK if value is None else Cell(value, significant(float(value), digits))


def estimate(interval: Interval | None, *, digits: int = 3) -> Cell:
    """Return the cell of an estimate with its interval."""
    return BLANK if interval is None else shown_by(interval, lambda number: significant(number, digits))


def shown_by(interval: Interval, text: Callable[[float], str]) -> Cell:
    """Return the cell of an estimate with its interval, formatted by ``text``; an exact one shows none."""
    detail = "" if interval.low == interval.high else " … ".join(map(text, interval.ends or ()))
    return Cell(interval.value, text(interval.value), interval.ends, detail)


def median(values: Sequence[float], interval: Interval | None = None, *, noun: str = "run") -> Cell:
    """Return the cell of the median of timed values, with its interval from three values on.

    Two values are shown themselves, because their interval adds little. One value gives no interval.
    ``interval`` is that of the median, if it was computed before.
    """
    if not values:
        return BLANK
    if len(values) >= FEWEST_SPREAD:
        return estimate(interval or median_interval(values))
    cell = number(statistics.median(values) if interval is None else interval.value)
    if len(values) == 1:
        return replace(cell, detail="" if noun == "run" else f"1 {noun}")
    low, high = (significant(value) for value in sorted(values))
    return replace(cell, detail=f"2 {noun}s: {low}, {high}")


def exponent(interval: Interval | None) -> Cell:
    """Return the cell of an exponent with two decimals and its interval, never "-0.00"."""
    if interval is None:
        return BLANK
    detail = "no interval" if interval.ends is None else "{:z.2f} … {:z.2f}".format(*interval.ends)
    return Cell(interval.value, f"{interval.value:z.2f}", interval.ends, detail)


def count(value: float | int | None) -> Cell:
    """Return the cell of an exact count, or of a median of counts, with thousands separators."""
    if value is None:
        return BLANK
    whole = int(value)
    return Cell(whole, f"{whole:,}") if whole == value else Cell(value, f"{value:,}")


def printed(text: str) -> Cell:
    """Return the cell of a printed number, with its own digits and thousands separators; "" gives a dash."""
    if not text:
        return BLANK
    digits = len(text.lower().partition("e")[0].partition(".")[2])
    return Cell(float(text), f"{float(text):,.{digits}f}")


def percent(value: float | None) -> Cell:
    """Return the cell of a signed relative difference: +1.2 %."""
    if value is None:
        return BLANK
    text = f"{100 * value:+.1f} %"
    return Cell(value, "0.0 %" if text[1:] == "0.0 %" else text)


def prose(text: str, mark: str = "") -> Cell:
    """Return a cell of text."""
    return Cell(text, text, mark=mark if text else "")


def problem(described: str) -> Cell:
    """Return the cell of a described problem, without first words that repeat the header."""
    return Cell(described, described.removeprefix("Data set "))


def missing(reason: str, text: str = "") -> Cell:
    """Return a cell with the reason for a missing number."""
    return Cell(None, text or reason, reason=reason)
