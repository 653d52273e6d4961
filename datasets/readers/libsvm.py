"""LIBSVM files: a reader and a writer.

One example per line, ``label index:value index:value ...``, with ascending indices from 1. Text after a ``#``
is a comment, as in files of SVM-light. `_index_value_lines` is the parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.readers._index_value_lines import Rows, read_blocks
from svmrepro.datasets.readers._parsing import LARGEST, brief, map_labels, refuse_one_class
from svmrepro.datasets.readers.other_formats import complain_of_format

DEFAULT_LABELS: Mapping[float, float] = {-1.0: -1.0, 1.0: 1.0}


def read_libsvm(
    path: str | Path, *, features: int | None = None, labels: Mapping[float, float] = DEFAULT_LABELS
) -> ExampleSet:
    """Read a LIBSVM file.

    Parameters
    ----------
    path
        The file.
    features
        Number of columns; a larger index is an error. By default the largest index in the file.
    labels
        Label in the file -> -1 or +1; any other label is an error.

    Returns
    -------
    ExampleSet
        ``X`` is a CSR matrix (n, d) of float64, ``y`` an array (n,) of -1 and +1. Column ``j`` holds index
        ``j + 1`` of the file; column indices are sorted and no zeros are stored.

    Raises
    ------
    DataError
        ``file:line: what``: an unexpected label, a value that is not a number or beyond 1e150 in size, an
        index that is zero, out of range, repeated or out of order, a pair without its value, an empty line,
        an empty file, no value at all, or one class only. For a file of another format, there is no line.
    OSError
        The file cannot be read.
    """
    rows = Rows(features)
    firsts = []
    signs = []
    try:
        for block in read_blocks(path):
            firsts.append((block.numbers[0], block.head[0]))
            signs.append(map_labels(block.head, labels, f"{path}:", block.numbers))
            rows.add(block, path)
    except DataError:
        if other := complain_of_format(path):
            raise DataError(f"{path}{other}") from None
        raise
    y = np.concatenate(signs)
    line, label = firsts[0]
    refuse_one_class(y, f"{path}:{line}", f"label {brief(label)}")
    X = rows.matrix()
    if X.shape[1] == 0:
        raise DataError(f"{path}:{line}: no example has a value; 'label index:value ...' was expected")
    return ExampleSet(X=X, y=y)


def write_libsvm(path: str | Path, X: FloatArray | sparse.csr_matrix, y: FloatArray) -> None:
    """Write a LIBSVM file that :func:`read_libsvm` reads back bit for bit.

    The format does not store the number of columns. If the last ones hold zeros only, give ``features`` when
    reading.

    Parameters
    ----------
    path
        The file.
    X : (n, d)
        Examples. Values are written with the shortest decimals that read back as the same double; zeros are
        omitted.
    y : (n,)
        Labels, written as exactly as the values.

    Raises
    ------
    DataError
        A value is not finite or beyond 1e150 in size, a label is not finite, or there are not as many labels
        as examples.
    """
    rows = sparse.csr_matrix(X)
    rows.sum_duplicates()
    if len(y) != rows.shape[0]:
        raise DataError(f"{path}: {len(y)} labels for {rows.shape[0]} examples")
    if not np.isfinite(y).all():
        raise DataError(f"{path}: a label is not finite")
    if not (np.abs(rows.data) <= LARGEST).all():
        raise DataError(f"{path}: a value is not finite or beyond {LARGEST:g}: squares would overflow")
    with Path(path).open("w", encoding="ascii") as stream:
        for i, label in enumerate(y):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            pairs = zip(rows.indices[part], rows.data[part], strict=True)
            text = [
                f"{'+' if label > 0 else ''}{brief(label)}",
                *(f"{j + 1}:{brief(v)}" for j, v in pairs if v != 0.0),
            ]
            stream.write(" ".join(text) + "\n")
