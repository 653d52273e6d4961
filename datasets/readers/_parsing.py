"""Common parts of the readers: the syntax of numbers, blocks of lines, labels, and excerpts for messages."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from svmrepro.datasets.dataset import FloatArray
from svmrepro.datasets.errors import OneClassError, UnknownLabelError
from svmrepro.datasets.registry import Label

Sign = TypeVar("Sign", float, float | None)

NUMBER: Final = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
"""Pattern of a finite decimal number.

No two adjacent repetitions can match the same digits, so matching takes time linear in the input's length.
"""

VALUE: Final = re.compile(NUMBER)

LARGEST: Final = 1e150
"""Largest value of an example: the sum of 1e8 squares, as kernels form it, is still finite."""

_BLOCK: Final = 1 << 22


def line_blocks(path: str | Path) -> Iterator[tuple[int, list[bytes]]]:
    """Yield a file in blocks of whole lines, each with the number of its first line, counted from 1.

    The mark with which some editors begin a UTF-8 text is left out.
    """
    first = 1
    with Path(path).open("rb") as stream:
        while lines := stream.readlines(_BLOCK):
            if first == 1:
                lines[0] = lines[0].removeprefix(BOM_UTF8)
            yield first, lines
            first += len(lines)


def map_labels(
    given: npt.NDArray[Any],
    labels: Mapping[float, float],
    where: str,
    numbers: npt.NDArray[np.int64] | None = None,
    what: str = "label",
) -> FloatArray:
    """Return the sign of each label of a file; the error about another one names its row.

    The message begins with ``where`` and the row's number, which counts from 1 unless ``numbers`` are given.
    """
    y = np.full(len(given), np.nan)
    for label, sign in labels.items():
        y[given == label] = sign
    unknown = np.flatnonzero(np.isnan(y))
    if unknown.size:
        row = int(unknown[0])
        expected = " or ".join(brief(label) for label in sorted(labels))
        number = row + 1 if numbers is None else numbers[row]
        raise UnknownLabelError(f"{where}{number}: {what} {brief(given[row])} where {expected} was expected")
    return y


def sign_of(text: str, labels: Mapping[Label, Sign]) -> Sign:
    """Return what a label of a table means: a number matches all its spellings, a text only itself."""
    if text in labels:
        return labels[text]
    if VALUE.fullmatch(text.encode()) and float(text) in labels:
        return labels[float(text)]
    expected = " or ".join(label if isinstance(label, str) else brief(label) for label in labels)
    raise UnknownLabelError(f"label {show(text.encode())} where {expected} was expected")


def refuse_one_class(y: FloatArray, where: str, what: str) -> None:
    """Raise a OneClassError if only one class occurs; ``what`` tells what all examples have."""
    if np.all(y == y[0]):
        raise OneClassError(f"{where}: one class only: every example has the {what}")


def complain_of_number(token: bytes, what: str) -> str | None:
    """Return what is wrong with a number, which the message calls ``what``; None for a valid one."""
    if VALUE.fullmatch(token) is not None:
        return None
    infinite = token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity")
    return f"{what} is not {'finite' if infinite else 'a number'}"


def show(token: bytes) -> str:
    """Format a token for a message: quoted and cut to forty characters."""
    text = token.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def brief(value: float) -> str:
    """Return the shortest decimal form of a double; whole numbers have no decimal point."""
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
