"""Alternative encodings of a data set's columns, to measure how much the choice of encoding matters.

Papers seldom say how the columns of a data set were turned into numbers, yet the kernel depends on it. An
encoding is computed from the whole set, before rows are selected or permuted, so that the values and ranges
of the columns do not depend on the selected rows.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray
from svmrepro.datasets.errors import DataError

Examples: TypeAlias = FloatArray | sparse.csr_matrix

ENCODING_VERSION: Final = 1
"""Part of the fingerprint of a measurement; incremented when an encoding returns different arrays."""


class Encoding(NamedTuple):
    """An encoding and its name in tables."""

    encode: Callable[[Examples], Examples]
    words: str


def one_hot(X: Examples) -> sparse.csr_matrix:
    """Replace each column by one indicator column per distinct value.

    Parameters
    ----------
    X : ndarray or CSR matrix (n, d)
        Examples.

    Returns
    -------
    CSR matrix (n, total number of distinct values over all columns)
        Binary, with d ones per row; the values of a column are in ascending order.
    """
    dense = _dense(X)
    n, d = dense.shape
    places = np.empty((n, d), dtype=np.int64)
    width = 0
    for j in range(d):
        values, found = np.unique(dense[:, j], return_inverse=True)
        places[:, j] = width + found
        width += len(values)
    parts = (np.ones(n * d), places.ravel(), np.arange(0, n * d + 1, d))
    rows = sparse.csr_matrix(parts, shape=(n, width))
    rows.has_sorted_indices = True
    return rows


def unit_interval(X: Examples) -> FloatArray:
    """Scale every column to [0, 1]; a constant column becomes 0.

    Parameters
    ----------
    X : ndarray or CSR matrix (n, d)
        Examples.

    Returns
    -------
    ndarray (n, d) of float64
    """
    dense = _dense(X)
    low, high = dense.min(axis=0), dense.max(axis=0)
    return np.asarray((dense - low) / np.where(high > low, high - low, 1.0))


def standardised(X: Examples) -> FloatArray:
    """Scale every column to mean 0 and variance 1 (divisor n, not n - 1); a constant column becomes 0.

    Parameters
    ----------
    X : ndarray or CSR matrix (n, d)
        Examples.

    Returns
    -------
    ndarray (n, d) of float64
    """
    dense = _dense(X)
    # The computed mean of equal numbers may differ from them by a rounding error, which must not be scaled to
    # 1.
    varies = dense.max(axis=0) > dense.min(axis=0)
    deviation = np.where(varies, dense.std(axis=0), 1.0)
    return np.where(varies, (dense - dense.mean(axis=0)) / deviation, 0.0)


ENCODINGS: Final[dict[str, Encoding]] = {
    "one-hot": Encoding(one_hot, "one-hot"),
    "unit-interval": Encoding(unit_interval, "scaled to [0, 1]"),
    "standardised": Encoding(standardised, "standardised"),
}


def encoded(data: ExampleSet, name: str | None) -> ExampleSet:
    """Return examples in another encoding.

    Parameters
    ----------
    data
        A whole set; it is not modified.
    name
        One of `ENCODINGS`, or None to return ``data`` itself.

    Raises
    ------
    DataError
        Unknown name; the message suggests a known one.
    """
    if name is None:
        return data
    if name not in ENCODINGS:
        near = difflib.get_close_matches(name, ENCODINGS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(ENCODINGS)}"
        raise DataError(f"unknown encoding {name!r}; {hint}")
    return ExampleSet(X=ENCODINGS[name].encode(data.X), y=data.y)


def _dense(X: Examples) -> FloatArray:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray(), dtype=np.float64)
