"""LIBSVM files: a reader and a writer.

One example per line, ``label index:value index:value ...``, with ascending indices from 1. Text after a ``#``
is a comment, as in files of SVM-light. `index_value_lines` parses the lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers.index_value_lines import LineBlock, Rows, read_blocks
from svmrepro.datasets.readers.tokens import brief

DEFAULT_LABELS: Mapping[float, float] = {-1.0: -1.0, 1.0: 1.0}


@dataclass(frozen=True, eq=False)
class LibsvmData(ExampleSet):
    """The contents of a LIBSVM file as arrays.

    Attributes
    ----------
    X : scipy CSR matrix (n, d) of float64
        Column ``j`` holds index ``j + 1`` of the file; column indices are sorted and no zeros are stored.
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
        Number of columns; a larger index is an error. By default the largest index in the file.
    labels
        Label in the file -> -1 or +1; any other label is an error.
    source
        Name of the file in messages; by default ``path``.

    Raises
    ------
    DataError
        ``file:line: what``: an unexpected label, a non-numeric or non-finite value, an index that is zero,
        out of range, repeated or out of order, a pair without its value, an empty line, an empty file, or one
        class only.
    OSError
        The file cannot be read.
    """
    where = str(path) if source is None else source
    rows = Rows(features)
    first: tuple[int, float] | None = None
    signs = []
    for block in read_blocks(path, where):
        first = first or (int(block.numbers[0]), float(block.head[0]))
        signs.append(_map_labels(block, labels, where))
        rows.add(block, where)
    assert first is not None  # read_blocks refuses an empty file
    y = np.concatenate(signs)
    if np.all(y == y[0]):
        line, only = first
        raise DataError(f"{where}:{line}: one class only: every example has the label {brief(only)}")
    return LibsvmData(X=rows.matrix(), y=y)


def write_libsvm(path: str | Path, X: FloatArray | sparse.csr_matrix, y: FloatArray) -> None:
    """Write a LIBSVM file that :func:`read_libsvm` reads back bit for bit.

    Parameters
    ----------
    path
        The file.
    X : (n, d)
        Examples. Values are written with the shortest decimals that read back as the same double; zeros are
        omitted.
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


def _map_labels(block: LineBlock, labels: Mapping[float, float], where: str) -> FloatArray:
    y = np.full(len(block.head), math.nan)
    for given, sign in labels.items():
        y[block.head == given] = sign
    unknown = np.flatnonzero(np.isnan(y))
    if unknown.size:
        row = int(unknown[0])
        expected = " or ".join(brief(label) for label in sorted(labels))
        raise DataError(
            f"{where}:{block.numbers[row]}: label {brief(block.head[row])} where {expected} was expected"
        )
    return y
