"""What the readers of text files have in common: how a number looks, and how a piece of a file is shown."""

from __future__ import annotations

import re
from typing import Final

NUMBER: Final = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
"""Pattern of a finite decimal number.

No two repetitions in a row can match the same digits, so a match is linear in the length of any input.
"""

VALUE: Final = re.compile(NUMBER)


def is_not_finite(token: bytes) -> bool:
    """Return whether a piece that is no ``NUMBER`` spells infinity or not-a-number."""
    return token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity")


def show(token: bytes) -> str:
    """Return a piece of a file for a message, quoted and cut to forty characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def brief(value: float) -> str:
    """Return the shortest decimals of a double, whole numbers without a point."""
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
