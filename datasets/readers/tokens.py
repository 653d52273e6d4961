"""Common parts of the text readers: the syntax of numbers, and excerpts for messages."""

from __future__ import annotations

import re
from typing import Final

NUMBER: Final = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
"""Pattern of a finite decimal number.

No two adjacent repetitions can match the same digits, so matching takes time linear in the input's length.
"""

VALUE: Final = re.compile(NUMBER)


def is_not_finite(token: bytes) -> bool:
    """Return whether a token that does not match ``NUMBER`` spells infinity or not-a-number."""
    return token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity")


def show(token: bytes) -> str:
    """Format a token for a message: quoted and cut to forty characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def brief(value: float) -> str:
    """Return the shortest decimal form of a double; whole numbers have no decimal point."""
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
