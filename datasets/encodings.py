"""Alternative encodings of a data set's columns, to measure how much the choice of encoding matters.

Papers seldom say how the columns of a data set were turned into numbers, yet the kernel depends on it. An
encoding is computed from the whole set, before rows are selected or permuted, so that the values and ranges
of the columns do not depend on the selected rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from svmrepro.datasets.dataset import ExampleSet, FloatArray, sorted_csr
from svmrepro.datasets.errors import DataError
from svmrepro.datasets.input_checks import did_you_mean

Examples: TypeAlias = FloatArray | sparse.csr_matrix

ENCODING_VERSION: Final = 1
"""Part of the fingerprint of a measurement; incremented when an encoding returns different arrays."""


class Encoding(NamedTuple):
    """An encoding and its name in tables."""

    encode: Callable[[Examples], Examples]
    words: str


def one_hot(X: Examples) -> sparse.csr_matrix:
    """Replace each column by one indicator column per distinct value, in ascending order of the values."""
    dense = _dense(X)
    n, d = dense.shape
    places = np.empty((n, d), dtype=np.int64)
    width = 0
    for j in range(d):
        values, found = np.unique(dense[:, j], return_inverse=True)
        places[:, j] = width + found
        width += len(values)
    return sorted_csr((np.ones(n * d), places.ravel(), np.arange(0, n * d + 1, d)), (n, width))


def unit_interval(X: Examples) -> FloatArray:
    """Scale every column to [0, 1]; a constant column becomes 0."""
    dense = _dense(X)
    low, high = dense.min(axis=0), dense.max(axis=0)
    return np.asarray((dense - low) / np.where(high > low, high - low, 1.0))


def standardised(X: Examples) -> FloatArray:
    """Scale every column to mean 0 and variance 1 (divisor n, not n - 1); a constant column becomes 0."""
    dense = _dense(X)
    # The squares of small differences would underflow; powers of two change no digit.
    dense = np.ldexp(dense, -np.frexp(dense.max(axis=0) - dense.min(axis=0))[1])
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
    """Return a whole set in the encoding of this name, or ``data`` itself for None."""
    if name is None:
        return data
    if name not in ENCODINGS:
        raise DataError(f"unknown encoding {name!r}{did_you_mean(name, ENCODINGS)}")
    return ExampleSet(X=ENCODINGS[name].encode(data.X), y=data.y)


def _dense(X: Examples) -> FloatArray:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray(), dtype=np.float64)
