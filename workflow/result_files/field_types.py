"""Valid contents of the fields of result files, which may come from elsewhere or be corrupt.

A kind parses the text of a field, or raises ValueError with a short reason. Impossible measurements are
rejected here, so that later code need not expect them: numbers that are not finite or are absurdly large,
negative counts, names with line breaks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from svmrepro.workflow.journal.journal_line import counted, shown
from svmrepro.workflow.statistics import Interval

Kind = Callable[[str], object]
"""Parses a text; raises ValueError."""

MOST, LEAST = 1e100, 1e-100
"""Largest magnitude of a measured number, and smallest except zero: products of a few stay finite."""

LONGEST = 300
"""Maximum length of a name, in characters."""

_DATE = re.compile(r"(?:\d{4}-\d\d-\d\d(?:T[0-9:.]{1,20}(?:Z|[+-]\d\d:\d\d)?)?)?", re.ASCII)
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}", re.ASCII)
# Control characters, line and paragraph separators, and lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def told(columns: Sequence[str], texts: Sequence[str | None]) -> str:
    """Identify a row in a message: ``n 50, contender smo``."""
    return ", ".join(f"{column} {shown(text)}" for column, text in zip(columns, texts, strict=True) if text)


@lru_cache(4096)  # the same texts recur in every row
def words(text: str) -> str:
    """Read a text, possibly empty."""
    if _UNPRINTABLE.search(text):
        raise ValueError(f"{shown(text)} holds a character that cannot be printed")
    return text


def name(text: str) -> str:
    """Read the name of a paper, experiment, contender or claim."""
    if not text.strip() or len(text) > LONGEST:
        raise ValueError(f"{shown(text)} is not a valid name")
    return words(text)


def slug(text: str) -> str:
    """Read a name that becomes that of a file."""
    if not _SLUG.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a name of letters, digits, '.', '_' and '-'")
    return text


def date(text: str) -> str:
    """Read an ISO 8601 time, or an empty text."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a date")
    return text


def number(text: str) -> float:
    """Read a number."""
    return _at_least(-MOST, text)


def _at_least(least: float, text: str) -> float:
    try:
        # Python also reads 1_000 and digits of other scripts.
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not least <= value <= MOST:
        raise ValueError(f"{shown(text)} is not a number between {least:g} and {MOST:g}")
    return value


def positive(text: str) -> float:
    """Read a positive number, such as a ratio."""
    return _at_least(LEAST, text)


def seconds(text: str) -> float:
    """Read zero or a positive number, of which quotients stay finite."""
    return number(text) and positive(text)


def count(text: str) -> int:
    """Read a non-negative integer."""
    return counted(number(text))


def size(text: str) -> int:
    """Read a number of examples, without sign, decimal point or leading zero."""
    if not text.isdecimal() or not text.isascii() or text[0] == "0" or len(text) > 15:
        raise ValueError(f"{shown(text)} is not a number of examples")
    return int(text)


def flag(text: str) -> bool:
    """Read a truth value."""
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError(f"{shown(text)} is neither true nor false")
    return text.lower() in ("true", "1")


def one_of(known: Collection[str]) -> Kind:
    """Return the kind of a field with a fixed set of values."""

    def read(text: str) -> str:
        if text not in known:
            raise ValueError(f"{shown(text)} is not one of {', '.join(sorted(known))}")
        return text

    return read


def optional(kind: Kind) -> Kind:
    """Return the kind of a field that may be empty."""
    return lambda text: kind(text) if text else None


def interval(value: str, low: str, high: str) -> Interval:
    """Read an estimate and the ends of its interval; the ends may both be empty."""
    return Interval(number(value), *(number(end) if end else None for end in (low, high)))


def check(key: str, value: Any, kind: Callable[[Any], object]) -> None:
    """Check a value; the error names its key."""
    try:
        kind(value)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


@dataclass(frozen=True)
class FieldType:
    """Requirements on the rows of a table."""

    kind_of: Callable[[str], Kind | None] = lambda column: None
    """Kind of a column's fields, or None for any text."""
    unique: tuple[str, ...] = ()
    """Columns that identify a row: no two rows agree in all of them. Empty: rows may repeat."""
    whole: Callable[[Mapping[str, str]], object] = lambda row: None
    """Called with a row whose fields are valid; raises ValueError if they contradict each other."""


ANY = FieldType()
"""Rows of arbitrary texts."""
