"""Tables with a column of labels: comma, semicolon or tab separated, with or without a header.

They are a user's own files. The registry's comma-separated files have rules of their own and a faster reader
(:mod:`svmrepro.datasets.readers._delimited`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError, UnknownLabelError
from svmrepro.datasets.readers._parsing import (
    LARGEST,
    NUMBER,
    complain_of_number,
    refuse_one_class,
    show,
    sign_of,
)
from svmrepro.datasets.readers.other_formats import complain_of_binary
from svmrepro.datasets.registry import Label

_POSITIONS = {"first": 0, "last": -1}

# One match per line, in C; only a line that fails is examined field by field.
_NUMBERS = re.compile(f"{NUMBER.decode()}(?:\\n{NUMBER.decode()})*", re.ASCII)

_MISSING = frozenset({"NA", "N/A", "?"})

_SEPARATORS = "\t;,"
"""In order of preference: the first that the first line with text contains."""

_Line = tuple[int, list[str]]
"""Number of a line in the file, from 1, and its fields."""


def read_table(
    path: str | Path, *, labels: Mapping[Label, float], label: str = "last", features: int | None = None
) -> ExampleSet:
    """Read a table as an array.

    The first line is a header if its fields, besides the label, are no numbers and not all missing. Fields
    may be quoted; blanks around them are ignored, but not behind a quote. The column ``label`` has a name in
    the header, or is ``first`` or ``last``; ``features`` is by default the number of the others. A fault
    raises a DataError, ``file:line: what``.
    """
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}:1: the file is empty")
    number, fields = first
    columns, place = len(fields), _POSITIONS.get(label)
    others = fields if place is None else _without(fields, place)
    if "" in fields and _is_header([field for field in others if field] or [""]):
        raise DataError(f"{path}:{number}: {_complain_of_nameless(fields.index(''))}")
    header = fields if place is None or _is_header(others) else []
    # With two columns, 0 and 1 are more likely an example.
    if not header and columns > 2 and fields == [str(j) for j in range(columns)]:
        raise DataError(f"{path}:{number}: numbers the columns (by pandas?): write names or header=False")
    if place is None:
        if label not in fields:
            raise DataError(f"{path}:{number}: no column {label!r}; there are: {', '.join(fields)[:200]}")
        if fields.count(label) > 1:
            raise DataError(
                f"{path}:{number}: {fields.count(label)} columns are called {label!r}; rename all but one"
            )
        place = fields.index(label)
    if columns < 2:
        raise DataError(
            f"{path}:{number}: one field where a label and values were expected, "
            "separated by commas, semicolons or tabs"
        )
    if features not in (None, columns - 1):
        raise DataError(
            f"{path}:{number}: {columns} fields where a label and {features} values were expected"
        )
    place %= columns
    signs: list[float] = []
    rows: list[FloatArray] = []
    for number, fields in lines if header else chain([first], lines):
        if len(fields) != columns:
            raise DataError(f"{path}:{number}: {len(fields)} fields where {columns} were expected")
        try:
            signs.append(sign_of(fields[place], labels))
            rows.append(_values(fields, place, header))
        except UnknownLabelError as error:
            raise UnknownLabelError(f"{path}:{number}: {error}") from None
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    if not rows:
        raise DataError(f"{path}:1: no example follows the header")
    y = np.array(signs)
    refuse_one_class(y, f"{path}:1", f"sign {y[0]:+g}")
    return ExampleSet(X=np.stack(rows), y=y)


def column_names(path: str | Path, label: str) -> list[str]:
    """Return the names in the header of a table, without a ``label`` found by name; none without a header."""
    _, fields = next(_lines(path), (1, []))
    place = _POSITIONS.get(label)
    if place is None:
        return [field for field in fields if field != label]
    return fields if _is_header(_without(fields, place)) else []


def _lines(path: str | Path) -> Iterator[_Line]:
    """Yield the lines that are not blank; text that is not UTF-8 or badly quoted raises a DataError."""
    reader = None
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            start = next(filter(str.strip, stream), "")
            stream.seek(0)
            separator = next((each for each in _SEPARATORS if each in start), ",")
            reader = csv.reader(stream, delimiter=separator, skipinitialspace=True, strict=True)
            for fields in reader:
                if len(fields) > 1 or any(map(str.strip, fields)):
                    yield reader.line_num, [field.strip() for field in fields]
    except UnicodeDecodeError:
        with Path(path).open("rb") as binary:
            bad = next(
                n for n, text in enumerate(binary, start=1) if text.decode(errors="ignore").encode() != text
            )
        what = complain_of_binary(path) or f":{bad}: is not UTF-8 text: store it as UTF-8"
        raise DataError(f"{path}{what}") from None
    except csv.Error as error:
        line = reader.line_num if reader is not None else 1
        raise DataError(f"{path}:{line}: is not a text table: {error}") from None


def _without(fields: list[str], place: int) -> list[str]:
    """Return the fields without the one at a place, which may be -1; an empty line has none."""
    others = fields.copy()
    if others:
        del others[place]
    return others


def _is_header(fields: list[str]) -> bool:
    """Whether the fields are names: not one is a number or not finite, and not all are missing values."""
    return not _MISSING.issuperset(fields) and all(
        field and complain_of_number(field.encode(), "") == " is not a number" for field in fields
    )


def _complain_of_nameless(place: int) -> str:
    if place == 0:
        return "the first column has no name (the index of pandas?): write it with index=False"
    return f"column {place + 1} has no name"


def _values(fields: list[str], place: int, header: list[str]) -> FloatArray:
    texts = _without(fields, place)
    if _NUMBERS.fullmatch("\n".join(texts)):
        with suppress(ValueError):  # a quoted line break joins two numbers
            row = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
            if (np.abs(row) <= LARGEST).all():
                return row
    names = header or [str(j + 1) for j in range(len(fields))]
    for j, (name, text) in enumerate(zip(names, fields, strict=True)):
        if j == place:
            continue
        if not text:
            raise ValueError(f"column {show(name.encode())} has no value")
        what = f"column {show(name.encode())}: {show(text.encode())}"
        if complaint := complain_of_number(text.encode(), what):
            comma = re.fullmatch(r"[-+]?\d+,\d+", text)
            raise ValueError(f"{complaint}; write it with a decimal point" if comma else complaint)
        if not np.isfinite(float(text)):
            raise ValueError(f"{what} is not finite")
        if abs(float(text)) > LARGEST:
            raise ValueError(f"{what} is beyond {LARGEST:g}: squares would overflow")
    raise AssertionError("one of the fields is at fault")
