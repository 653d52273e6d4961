"""Dot products of binary data, from examples laid out feature by feature as bits.

The ones that x_i shares with others are counted for a vector register of words of 64 examples at once, see
:mod:`svmrepro.solvers.vector_code.bit_planes`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.vector_code.bit_planes import MOST, TOGETHER, add_counts

STRETCH = 4096  # examples counted at a time: the workspace fits into the first-level cache
_WORDS = STRETCH // 64 + 1  # a stretch may begin within a word


class BitColumns(NamedTuple):
    """Binary examples in the order of a panel.

    Attributes
    ----------
    words : ndarray of uint64, shape (d + 1, >= ceil(n / 64) + TOGETHER)
        Each nonempty feature of all examples; and one of zeros.
    ones : ndarray of uint8, shape (64 words,)
        Number of ones of each example.
    starts : ndarray of int64, shape (MOST + 3,)
        Workspace: where the features of an example begin.
    sums : ndarray of uint8
        Workspace and output of :func:`add_common`.
    """

    words: Any
    ones: Any
    starts: Any
    sums: Any


def allocate(n: int, d: int, norms: Any) -> BitColumns:
    """Return the columns of n examples with d features, all bits 0 and the given numbers of ones."""
    # An odd number of cache lines: features that are read together do not compete for the same sets.
    lines = -(-(-(-n // 64) + TOGETHER) // 8) | 1
    ones = np.zeros(64 * 8 * lines, dtype=np.uint8)
    ones[:n] = np.minimum(norms, MOST)
    return BitColumns(
        words=np.zeros((d + 1, 8 * lines) if d else (0, 0), dtype=np.uint64),
        ones=ones,
        starts=np.zeros(MOST + 3, dtype=np.int64),
        sums=np.zeros(64 * (_WORDS + TOGETHER), dtype=np.uint8),
    )


BIT_COLUMNS = typeof(allocate(1, 1, np.zeros(1)))


@compiled(types.void(BIT_COLUMNS, types.int64[::1], types.uint32[::1], types.int64))
def set_bits(columns, at, features, n):
    """Set the bits of n examples in their original order; ``at`` and ``features`` are a panel's."""
    words = columns.words
    for f in range(words.shape[0]):
        for k in range(words.shape[1]):
            words[f, k] = 0
    for i in range(n):
        for p in range(at[i], at[i + 1]):
            words[features[p], i >> 6] |= np.uint64(1) << np.uint64(i & 63)
        columns.ones[i] = np.uint8(at[i + 1] - at[i])


@compiled()
def exchange_bits(columns, at, features, order, pairs):
    """Exchange positions, before ``order`` changes: flip what differs in the features of either example."""
    words, ones = columns.words, columns.ones
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        bit_a, bit_b = np.uint64(1) << np.uint64(a & 63), np.uint64(1) << np.uint64(b & 63)
        for i in (order[a], order[b]):
            for p in range(at[i], at[i + 1]):
                words[features[p], a >> 6] ^= bit_a
                words[features[p], b >> 6] ^= bit_b
        ones[a], ones[b] = ones[b], ones[a]


@compiled()
def add_common(columns, at, features, i, first, last, base, own, unit):
    """Write ``base[j] + own + unit * c``, modulo 256, to ``columns.sums[j]`` for first <= k < last.

    c is the number of ones that x_i shares with example k; j is its place, counted from the first example in
    the word of ``first``. At most ``STRETCH`` examples are allowed. Returns the entries read.
    """
    words, starts, begin = columns.words, columns.starts, first >> 6
    count, width = at[i + 1] - at[i], words.shape[1]
    for p in range(count):
        starts[p] = np.int64(features[at[i] + p]) * width + begin
    fours, planes = (count + 3) // 4, 2
    for p in range(count, 4 * fours):
        starts[p] = (words.shape[0] - 1) * width + begin
    while (1 << planes) <= count:
        planes += 1
    add_counts(words, starts, fours, planes, ((last + 63) >> 6) - begin, base, own, unit, columns.sums)
    return count * (last - first)
