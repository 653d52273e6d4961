"""Sums over the stored entries of one row, for the functions that loop over rows.

They are inlined before optimisation: as separate functions they are unrolled in a way that makes short rows a
tenth slower. Values in single precision are summed in double.
"""

from __future__ import annotations

import numpy as np
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.intrinsics import trailing_zeros


@compiled(inline="always")
def gather_product(values, indices, first, last, w):
    """Return ``sum of values[p] w[indices[p]]`` for first <= p < last."""
    # Four sums hide the latency of the additions.
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    p, end = np.uint64(first), np.uint64(last)
    while p + np.uint64(4) <= end:
        s0 += np.float64(values[p]) * w[indices[p]]
        s1 += np.float64(values[p + np.uint64(1)]) * w[indices[p + np.uint64(1)]]
        s2 += np.float64(values[p + np.uint64(2)]) * w[indices[p + np.uint64(2)]]
        s3 += np.float64(values[p + np.uint64(3)]) * w[indices[p + np.uint64(3)]]
        p += np.uint64(4)
    while p < end:
        s0 += np.float64(values[p]) * w[indices[p]]
        p += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


@compiled(inline="always")
def gather_sum(indices, first, last, w):
    """Return ``sum of w[indices[p]]`` for first <= p < last, in whole groups of four."""
    # With padded rows, most loops end where the branch predictor expects it.
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    p, end = np.uint64(first), np.uint64(last)
    while p < end:
        s0 += w[indices[p]]
        s1 += w[indices[p + np.uint64(1)]]
        s2 += w[indices[p + np.uint64(2)]]
        s3 += w[indices[p + np.uint64(3)]]
        p += np.uint64(4)
    return (s0 + s1) + (s2 + s3)


@compiled(inline="always")
def scatter_product(values, indices, first, last, a, g):
    """``g[indices[p]] += a values[p]`` for first <= p < last; the indices must be distinct."""
    # Since the indices are distinct, four sums can be read before the first is written.
    p, end = np.uint64(first), np.uint64(last)
    while p + np.uint64(4) <= end:
        c0, c1 = indices[p], indices[p + np.uint64(1)]
        c2, c3 = indices[p + np.uint64(2)], indices[p + np.uint64(3)]
        g0, g1, g2, g3 = g[c0], g[c1], g[c2], g[c3]
        g[c0] = g0 + a * np.float64(values[p])
        g[c1] = g1 + a * np.float64(values[p + np.uint64(1)])
        g[c2] = g2 + a * np.float64(values[p + np.uint64(2)])
        g[c3] = g3 + a * np.float64(values[p + np.uint64(3)])
        p += np.uint64(4)
    while p < end:
        g[indices[p]] += a * np.float64(values[p])
        p += np.uint64(1)


@compiled(inline="always")
def sum_at_bits(words, w):
    """Return the sum of w at the set bits of a packed row, one bit after the other."""
    total = 0.0
    for c in range(words.size):
        word = words[c]
        base = np.uint64(64 * c)
        while word != np.uint64(0):
            total += w[base + trailing_zeros(word)]
            word &= word - np.uint64(1)
    return total


@compiled(inline="always")
def add_at_bits(words, a, g):
    """Add ``a`` to g at the set bits of a packed row."""
    for c in range(words.size):
        word = words[c]
        base = np.uint64(64 * c)
        while word != np.uint64(0):
            g[base + trailing_zeros(word)] += a
            word &= word - np.uint64(1)
