"""LIBSVM files: a fast reader that names file and line of whatever is wrong, and a writer.

One example a line, ``label index:value index:value ...``, indices from 1 upwards in rising order. What
follows a ``#`` is a comment (SVM-light writes such).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.tokens import NUMBER, VALUE, brief, is_not_finite, show

DEFAULT_LABELS: Mapping[float, float] = {-1.0: -1.0, 1.0: 1.0}

# Whole-line match in C: a line that passes needs no further look at its syntax, one that does not is taken
# apart by _complain, which can say what is wrong. Index 0 passes here and is caught with the other ranges.
_LINE = re.compile(rb"[ \t]*" + NUMBER + rb"(?:[ \t]+\d{1,10}:" + NUMBER + rb")*[ \t]*\r?")


@dataclass(frozen=True, eq=False)
class LibsvmData(ExampleSet):
    """The contents of a LIBSVM file as arrays.

    Attributes
    ----------
    X : scipy CSR matrix (n, d) of float64
        Column ``j`` holds index ``j + 1``; indices are sorted, no zero is stored.
    y : ndarray (n,) of float64
        Labels, -1 or +1.
    """

    X: sparse.csr_matrix


def read_libsvm(
    path: str | Path,
    *,
    features: int | None = None,
    labels: Mapping[float, float] = DEFAULT_LABELS,
    source: str | None = None,
) -> LibsvmData:
    """Read a LIBSVM file.

    Parameters
    ----------
    path
        The file.
    features
        Number of columns; a larger index is an error. By default the largest index met.
    labels
        Label in the file -> -1 or +1; any other label is an error.
    source
        Name of the file in messages; by default ``path``.

    Raises
    ------
    DataError
        ``file:line: what``: a label that is not expected, a non-numeric or non-finite value, an index that
        is zero, out of range, repeated or out of order, a pair without its value, an empty line; or a file
        that is empty or holds one class only.
    OSError
        The file cannot be read.
    """
    where = str(path) if source is None else source
    numbers, lines = _split(Path(path).read_bytes(), where)
    raw_labels = np.empty(len(lines))
    counts = np.empty(len(lines), dtype=np.int64)
    pairs: list[bytes] = []
    for row, line in enumerate(lines):
        if _LINE.fullmatch(line) is None:
            raise DataError(f"{where}:{numbers[row]}: {_complain(line)}")
        label, *tokens = line.split()
        raw_labels[row] = float(label)
        counts[row] = len(tokens)
        pairs += tokens
    flat = b" ".join(pairs).replace(b":", b" ").split()
    index = np.array(flat[0::2], dtype="S10").astype(np.int64)
    value = np.fromiter(map(float, flat[1::2]), dtype=np.float64, count=len(flat) // 2)
    indptr = np.concatenate(([0], np.cumsum(counts)))

    y = _map_labels(raw_labels, labels, where, numbers)
    _check_pairs(index, value, indptr, features, where, numbers)
    if np.all(y == y[0]):
        only = brief(raw_labels[0])
        raise DataError(f"{where}:{numbers[0]}: one class only: every example has the label {only}")
    columns = features if features is not None else int(index.max(initial=0))
    X = sparse.csr_matrix((value, (index - 1).astype(np.int32), indptr), shape=(len(y), columns))
    X.eliminate_zeros()
    X.has_sorted_indices = True
    return LibsvmData(X=X, y=y)


def write_libsvm(path: str | Path, X: FloatArray | sparse.csr_matrix, y: FloatArray) -> None:
    """Write a LIBSVM file that :func:`read_libsvm` reads back bit for bit.

    Parameters
    ----------
    path
        The file.
    X : (n, d)
        Values are written with the shortest decimals that read back as the same double; zeros are left out.
    y : (n,)
        Labels.
    """
    rows = sparse.csr_matrix(X)
    rows.sum_duplicates()
    with Path(path).open("w", encoding="ascii") as stream:
        for i, label in enumerate(y):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            pairs = zip(rows.indices[part], rows.data[part], strict=True)
            text = [f"{label:+g}", *(f"{j + 1}:{brief(v)}" for j, v in pairs if v != 0.0)]
            stream.write(" ".join(text) + "\n")


def is_binary(X: sparse.csr_matrix) -> bool:
    """Return whether all stored values are one."""
    return bool(np.all(X.data == 1.0))


def _split(content: bytes, where: str) -> tuple[list[int] | range, list[bytes]]:
    """Return the lines that hold examples, and the number of each."""
    lines = content.rstrip().split(b"\n")
    numbers: list[int] | range = range(1, len(lines) + 1)
    if b"#" in content:
        bare = [(number, line.partition(b"#")) for number, line in zip(numbers, lines, strict=True)]
        kept = [(number, text) for number, (text, mark, _) in bare if text.strip() or not mark]
        numbers, lines = [number for number, _ in kept], [line for _, line in kept]
    if not any(line.strip() for line in lines):
        raise DataError(f"{where}:1: the file is empty")
    return numbers, lines


def _complain(line: bytes) -> str:
    """Say what is wrong with a line that does not have the form of an example."""
    tokens = line.split()
    if not tokens:
        return "empty line"
    if VALUE.fullmatch(tokens[0]) is None:
        return f"label {show(tokens[0])} is not a number"
    for token in tokens[1:]:
        index, colon, value = token.partition(b":")
        if not colon or not value:
            return f"{show(token)} is cut short: index:value expected"
        if not index.isdigit() or len(index) > 10:
            return f"index {show(index)} in {show(token)} is not a positive integer"
        if is_not_finite(value):
            return f"value {show(value)} of index {int(index)} is not finite"
        if VALUE.fullmatch(value) is None:
            return f"value {show(value)} of index {int(index)} is not a number"
    return f"{show(line)} has unexpected white space"


def _map_labels(
    raw: FloatArray, labels: Mapping[float, float], where: str, numbers: list[int] | range
) -> FloatArray:
    y = np.full(len(raw), math.nan)
    for given, sign in labels.items():
        y[raw == given] = sign
    unknown = np.flatnonzero(np.isnan(y))
    if unknown.size:
        row = int(unknown[0])
        expected = " or ".join(brief(label) for label in sorted(labels))
        raise DataError(f"{where}:{numbers[row]}: label {brief(raw[row])} where {expected} was expected")
    return y


def _check_pairs(
    index: npt.NDArray[np.int64],
    value: FloatArray,
    indptr: npt.NDArray[np.int64],
    features: int | None,
    where: str,
    numbers: list[int] | range,
) -> None:
    """Refuse indices and values that have the right form and cannot be right."""
    limit = features if features is not None else int(np.iinfo(np.int32).max)
    within = np.ones(len(index), dtype=bool)
    within[indptr[:-1][np.diff(indptr) > 0]] = False
    rising = np.diff(index, prepend=0) > 0
    # The first fault in the order of the file is the one that is told.
    bad = (index < 1) | (index > limit) | (within & ~rising) | ~np.isfinite(value)
    if not bad.any():
        return
    at = int(np.argmax(bad))
    row = int(np.searchsorted(indptr, at, side="right")) - 1
    j = int(index[at])
    if j < 1:
        what = "index 0: indices start at 1"
    elif j > limit:
        what = f"index {j} is out of range 1 to {limit}"
    elif not math.isfinite(value[at]):
        what = f"value of index {j} is not finite"
    elif j == int(index[at - 1]):
        what = f"index {j} is repeated"
    else:
        what = f"index {j} after {int(index[at - 1])}: indices must rise"
    raise DataError(f"{where}:{numbers[row]}: {what}")
