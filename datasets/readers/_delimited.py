"""Comma-separated files, read by the rules in the registry.

One example per line with its label first or last; no header, no quotes. Blanks around values are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._parsing import NUMBER, complain_of_number, refuse_one_class, show, sign_of
from svmrepro.datasets.registry import Columns, Label

# One match per line, in C, as for LIBSVM files; only a line that fails is examined field by field.
_NUMBERS = re.compile(NUMBER + rb"(?:," + NUMBER + rb")*")


def read_delimited(
    path: str | Path, *, features: int, labels: Mapping[Label, float | None], columns: Columns
) -> ExampleSet:
    """Read a comma-separated file with ``features`` values per line besides the label, as an array.

    ``labels`` maps a label in the file to -1, +1, or None to omit its rows; any other label is an error. A
    number matches all its spellings (1, +1, 1.0), a text only itself. The rows are in the file's order; those
    with a missing value or an omitted label are dropped. A fault raises a DataError, ``file:line: what``.
    """
    lines = Path(path).read_bytes().rstrip().split(b"\n")
    if lines == [b""]:
        raise DataError(f"{path}:1: the file is empty")
    parser = _Parser(features, labels, columns)
    rows: list[FloatArray] = []
    signs: list[float] = []
    for number, line in enumerate(lines, start=1):
        try:
            sign, row = parser.parse(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        if sign is not None and row is not None:
            rows.append(row)
            signs.append(sign)
    if not rows:
        raise DataError(f"{path}:1: no row is left: each lacks a value or has a label that is left out")
    y = np.array(signs)
    refuse_one_class(y, f"{path}:1", f"sign {y[0]:+g}")
    return ExampleSet(X=np.stack(rows), y=y)


class _Parser:
    """Parser for the lines of one file."""

    def __init__(self, features: int, labels: Mapping[Label, float | None], columns: Columns) -> None:
        self._features = features
        self._labels = labels
        self._label_first = columns.label == "first"
        self._missing = columns.missing.encode() if columns.missing is not None else None
        tables = [{text.encode(): value for text, value in table.items()} for table in columns.tables]
        self._tables = [tables[j % len(tables)] for j in range(features)] if tables else []

    def parse(self, line: bytes) -> tuple[float | None, FloatArray | None]:
        """Return a line's sign (None if its label is omitted) and its values (None if one is missing)."""
        fields = [field.strip(b" \t\r") for field in line.split(b",")]
        if fields == [b""]:
            raise ValueError("empty line")
        if len(fields) != self._features + 1:
            raise ValueError(f"{len(fields)} fields where {self._features + 1} were expected")
        sign = sign_of(fields.pop(0 if self._label_first else -1).decode("utf-8", "replace"), self._labels)
        # Lines with a missing value are checked, too: they may contain other faults.
        known = [j for j, field in enumerate(fields) if field != self._missing]
        row = self._looked_up(fields, known) if self._tables else self._numbers(fields, known)
        return sign, row if len(known) == self._features else None

    def _shown(self, fields: Sequence[bytes], j: int) -> str:
        return f"column {j + 1 + self._label_first}: {show(fields[j])}"

    def _looked_up(self, fields: Sequence[bytes], known: Sequence[int]) -> FloatArray:
        try:
            return np.array([self._tables[j][fields[j]] for j in known])
        except KeyError:
            j = next(j for j in known if fields[j] not in self._tables[j])
            texts = b", ".join(self._tables[j]).decode()
            raise ValueError(f"{self._shown(fields, j)} is not one of {texts}") from None

    def _numbers(self, fields: Sequence[bytes], known: Sequence[int]) -> FloatArray:
        tokens = fields if len(known) == len(fields) else [fields[j] for j in known]
        if tokens and _NUMBERS.fullmatch(b",".join(tokens)) is None:
            complaints = (complain_of_number(fields[j], self._shown(fields, j)) for j in known)
            raise ValueError(next(filter(None, complaints)))
        row = np.fromiter(map(float, tokens), dtype=np.float64, count=len(tokens))
        if not np.isfinite(row).all():
            raise ValueError(f"{self._shown(fields, known[int(np.argmin(np.isfinite(row)))])} is not finite")
        return row
