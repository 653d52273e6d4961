"""What the fields of files of results may hold: such a file may be a stranger's, or spoilt.

A kind takes a field's text, returns what it means and raises ValueError in a few words if it means nothing.
What no measurement can have is refused here, so that nothing behind has to expect it: a number that is not
finite or beyond all measure, a count below zero, a name with a line break.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.measurement.journal_line import counted, shown

Kind = Callable[[str], object]
"""Reads a text; raises ValueError."""

MOST, LEAST = 1e100, 1e-100
"""No number of a measurement is larger, and none but zero smaller: products of a few stay finite."""

LONGEST = 300
"""Characters of a name."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"(?:\d{4}-\d\d-\d\d(?:T[0-9:.]{1,20}(?:Z|[+-]\d\d:\d\d)?)?)?", re.ASCII)
# Control characters, line and paragraph separators, and halves of pairs that no encoding writes.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def told(columns: Sequence[str], texts: Sequence[str | None]) -> str:
    """Return what a row is about, for a message: ``n 50, contender smo``."""
    return ", ".join(f"{column} {shown(text)}" for column, text in zip(columns, texts, strict=True) if text)


@lru_cache(4096)  # the same ones stand in every row
def words(text: str) -> str:
    """Read words, which may be none."""
    if _UNPRINTABLE.search(text):
        raise ValueError(f"{shown(text)} holds a character that cannot be printed")
    return text


def name(text: str) -> str:
    """Read a name: of a paper, an experiment, a contender, a claim."""
    if not text.strip() or len(text) > LONGEST:
        raise ValueError(f"{shown(text)} is no name")
    return words(text)


def date(text: str) -> str:
    """Read a time as ISO 8601 writes it, or nothing."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{shown(text)} is no date")
    return text


def number(text: str) -> float:
    """Read a number."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a number")
    return measured(float(text))


def measured(value: float) -> float:
    """Return a number that a measurement can have."""
    if not abs(value) <= MOST:  # nan too
        raise ValueError(f"{shown(value)} is beyond all measure")
    return value


def positive(text: str) -> float:
    """Read a number above zero, such as a ratio."""
    value = number(text)
    if value < LEAST:
        raise ValueError(f"{shown(text)} is not positive")
    return value


def seconds(text: str) -> float:
    """Read a number that is not negative."""
    value = number(text)
    if value < 0:
        raise ValueError(f"{shown(text)} is negative")
    return value


def count(text: str) -> int:
    """Read a whole number that is not negative."""
    return counted(number(text))


def size(text: str) -> int:
    """Read a number of examples, as it is written: without sign, point or leading zero."""
    if not text.isdecimal() or not text.isascii() or text[0] == "0" or len(text) > 15:
        raise ValueError(f"{shown(text)} is no number of examples")
    return int(text)


def flag(text: str) -> bool:
    """Read whether something is so."""
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError(f"{shown(text)} is neither true nor false")
    return text.lower() in ("true", "1")


def one_of(known: Collection[str]) -> Kind:
    """Return the kind of a word that is one of those."""

    def read(text: str) -> str:
        if text not in known:
            raise ValueError(f"{shown(text)} is none of {', '.join(sorted(known))}")
        return text

    return read


def optional(kind: Kind) -> Kind:
    """Return the kind of a field that may be empty."""
    return lambda text: kind(text) if text else None


def interval(value: str, low: str, high: str) -> Interval:
    """Read an estimate and the ends of its interval, which are both there or not.

    Raises
    ------
    ValueError
        If one of them is no number, or the ends do not hold the estimate.
    """
    middle = number(value)
    if not low and not high:
        return Interval(middle)
    if not low or not high:
        raise ValueError("an interval has both ends or none")
    return Interval(middle, number(low), number(high))


@dataclass(frozen=True)
class FieldType:
    """What the rows of a table have to be.

    Attributes
    ----------
    kind_of : callable
        Column -> what its fields hold; None: any text.
    unique : tuple of str
        Columns in which no two rows agree; none: rows may be alike.
    whole : callable
        Called with a row whose fields are as they have to be; raises ValueError if they do not fit together.
    """

    kind_of: Callable[[str], Kind | None] = lambda column: None
    unique: tuple[str, ...] = ()
    whole: Callable[[Mapping[str, str]], object] = lambda row: None

    def fault(self, row: Mapping[str, str], checks: Sequence[tuple[str, Kind]]) -> str | None:
        """Return what is wrong with a row, None if nothing is."""
        for column, kind in checks:
            try:
                kind(row[column])
            except ValueError as error:
                return f"{column}: {error}"
        try:
            self.whole(row)
        except ValueError as error:
            return str(error)
        return None

    def checks(self, columns: Sequence[str]) -> list[tuple[str, Kind]]:
        """Return the columns that hold something, each with its kind."""
        return [(column, kind) for column in columns if (kind := self.kind_of(column)) is not None]


ANY = FieldType()
"""Rows of texts, whatever they are."""
