"""The particle physics file of KDD Cup 2004: lines ``example target value ... value`` with 78 values.

According to the cup's page, some values mean "not available": 999 in attributes 20, 21, 22, 44, 45 and 46,
and 9999 in attributes 29 and 55 (counted from 1). Joachims 2006 does not say how it treated them or scaled
the others. The sparsity of 38.42 % in its Table 1 implies that most values were zero, which no scaling of the
file's values gives. Here each attribute is centred and divided by its standard deviation, both computed over
the available values in the whole file; values that are not available become 0, the mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._parsing import (
    NUMBER,
    brief,
    complain_of_number,
    line_blocks,
    map_labels,
    refuse_one_class,
    show,
)

NOT_AVAILABLE: Final[Mapping[int, float]] = {
    **dict.fromkeys((20, 21, 22, 44, 45, 46), 999.0),
    **dict.fromkeys((29, 55), 9999.0),
}
"""Attribute, counted from 1 -> the code for a value that is not available."""


def read_physics(path: str | Path, *, features: int, labels: Mapping[float, float]) -> ExampleSet:
    """Read a file of labelled examples with ``features`` values each, scaled as the module says.

    ``labels`` maps the targets to -1 or +1; any other target is an error, including the ``?`` of the cup's
    test file. A fault raises a DataError, ``file:line: what``.
    """
    form = re.compile(rb"[ \t]*\d{1,9}(?:[ \t]+" + NUMBER + rb"){%d}[ \t]*\r?\n?" % (features + 1))
    blocks: list[FloatArray] = []
    for first, lines in line_blocks(path):
        for number, line in enumerate(lines, start=first):
            if form.fullmatch(line) is None:
                raise DataError(f"{path}:{number}: {_complain(line, features)}")
        # The lines match `form`, so all tokens are numbers.
        flat = np.fromstring(b" ".join(lines).decode("ascii"), dtype=np.float64, sep=" ")
        blocks.append(flat.reshape(len(lines), features + 2))
    if not blocks:
        raise DataError(f"{path}:1: the file is empty")
    table = np.concatenate(blocks)
    bad = np.argwhere(~np.isfinite(table))
    if bad.size:
        row, column = bad[0].tolist()
        raise DataError(f"{path}:{row + 1}: field {column + 1} is not finite")
    order = np.argsort(table[:, 0], kind="stable")
    again = order[1:][np.diff(table[order, 0]) == 0.0]
    if again.size:
        row = int(again.min())
        raise DataError(f"{path}:{row + 1}: example {brief(table[row, 0])} is repeated")
    targets = table[:, 1]
    y = map_labels(targets, labels, f"{path}:", what="target")
    refuse_one_class(y, f"{path}:1", f"target {brief(targets[0])}")
    return ExampleSet(X=_scaled(table[:, 2:]), y=y)


def _scaled(values: FloatArray) -> FloatArray:
    X = np.empty(values.shape)
    for j in range(values.shape[1]):
        column = values[:, j]
        code = NOT_AVAILABLE.get(j + 1)
        known = np.ones(len(column), dtype=bool) if code is None else column != code
        mean = column[known].mean() if known.any() else 0.0
        spread = column[known].std() if known.any() else 0.0
        # Rounding of the mean gives a constant column a tiny spread, hence the relative tolerance.
        steady = spread <= 1e-12 * abs(mean)
        X[:, j] = np.where(known & (not steady), (column - mean) / (1.0 if steady else spread), 0.0)
    return X


def _complain(line: bytes, features: int) -> str:
    """Return what is wrong with a malformed line."""
    tokens = line.split()
    if not tokens:
        return "empty line"
    if len(tokens) != features + 2:
        return f"{len(tokens)} fields where {features + 2} were expected"
    if not (tokens[0].isdigit() and len(tokens[0]) <= 9):
        return f"{show(tokens[0])} is not an example number"
    for column, token in enumerate(tokens[1:], start=2):
        complaint = complain_of_number(token, f"field {column}: {show(token)}")
        if complaint:
            return complaint
    return f"{show(line.strip())} has unexpected white space"
