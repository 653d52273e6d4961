"""Encodings of the columns of a data set other than its own, to see what the choice of one decides.

A paper that names a data set seldom says how its columns became numbers, and a kernel sees nothing else. An
encoding is made from a whole set, before a subset or an order of its rows is drawn: which values a column
has, and how far they reach, does not depend on the rows that happen to be taken.
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
"""Part of what decides whether a measurement is out of date: raised when an encoding gives other arrays."""


class Encoding(NamedTuple):
    """An encoding and what it is called in tables."""

    encode: Callable[[Examples], Examples]
    words: str


def one_hot(X: Examples) -> sparse.csr_matrix:
    """Make every distinct value of a column a column of its own that is 1 where the value stands.

    Parameters
    ----------
    X : ndarray or CSR matrix (n, d)
        Examples.

    Returns
    -------
    CSR matrix (n, number of distinct values, column by column)
        Binary, d ones a row; the values of a column are in ascending order.
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
    """Shift and scale every column so that its least value is 0 and its largest 1; a constant one is 0.

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
    """Shift and scale every column to mean 0 and variance 1 (over n, not n - 1); a constant one is 0.

    Parameters
    ----------
    X : ndarray or CSR matrix (n, d)
        Examples.

    Returns
    -------
    ndarray (n, d) of float64
    """
    dense = _dense(X)
    # The mean of equal numbers may differ from them by a rounding, which must not be blown up to 1.
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
        A whole set; it stays as it is.
    name
        One of `ENCODINGS`, or None for the examples as they are.

    Raises
    ------
    DataError
        Unknown name; the message has the nearest known one.
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
