"""Formatting of numbers for readers."""

from __future__ import annotations

import math
import re

_HYPHEN = re.compile(r"(?<![\w.)\]])-(?=\d)")
"""A hyphen before a number that is a sign: not in a name, a date or after 1e."""

_SIZE = re.compile(r"(?<=\bn = )\d{4,}\b")
"""A number of examples without separators, as earlier versions wrote it in reasons."""


def significant(value: float, digits: int = 3) -> str:
    """Format with the given significant digits and thousands separators: 0.00712, 1.23, 20,700, 3.7e-12."""
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be shown in a table")
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - magnitude)
    magnitude = math.floor(math.log10(abs(rounded)))  # 9.996 becomes 10.0
    if magnitude < -4 or magnitude >= 9:
        return f"{value:.{digits - 1}e}"
    return f"{rounded:,.{max(0, digits - 1 - magnitude)}f}"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: 1 run, 2 runs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def signed(text: str) -> str:
    """Return a text with minus signs in place of hyphens before numbers."""
    return _HYPHEN.sub("\N{MINUS SIGN}", text)


def separated(text: str) -> str:
    """Return a text with thousands separators in its numbers of examples: n = 16,100."""
    return _SIZE.sub(lambda found: f"{int(found[0]):,}", text)
