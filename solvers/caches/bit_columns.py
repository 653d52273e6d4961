"""Dot products of binary data, from examples laid out feature by feature as bits.

The ones that x_i shares with 64 examples are counted at once: each feature of x_i is a word of 64 bits, and
words are added by logical operations, bit by bit of the sum (a carry-save adder). Four features take about
twenty operations for a whole vector register of words. The bits of the sums become bytes at the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.bit_planes import add_planes
from svmrepro.solvers.compilation.compiled import compiled

STRETCH = 4096  # examples counted at a time: the workspace fits into the first-level cache
_WORDS = STRETCH // 64 + 1  # a stretch may begin within a word


class BitColumns(NamedTuple):
    """Binary examples in the order of a panel.

    Attributes
    ----------
    words : ndarray of uint64, shape (d + 1, ceil(n / 64))
        Each nonempty feature of all examples; and one of zeros.
    ones : ndarray of uint8, shape (64 ceil(n / 64),)
        Number of ones of each example.
    planes : ndarray of uint64, shape (8, words of a stretch)
        Workspace: the bits of the sums.
    carry : ndarray of uint64, shape (words of a stretch,)
        Workspace.
    sums : ndarray of uint8, shape (64 words of a stretch,)
        Workspace and output of :func:`add_common`.
    """

    words: Any
    ones: Any
    planes: Any
    carry: Any
    sums: Any


def allocate(n: int, d: int, norms: Any) -> BitColumns:
    """Return the columns of n examples with d features, all bits 0 and the given numbers of ones."""
    words = -(-n // 64)
    ones = np.zeros(64 * words, dtype=np.uint8)
    ones[:n] = np.minimum(norms, 255)
    return BitColumns(
        words=np.zeros((d + 1, words) if d else (0, 0), dtype=np.uint64),
        ones=ones,
        planes=np.zeros((8, _WORDS), dtype=np.uint64),
        carry=np.zeros(_WORDS, dtype=np.uint64),
        sums=np.zeros(64 * _WORDS, dtype=np.uint8),
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
    words, planes, carry = columns.words, columns.planes, columns.carry
    begin, nothing = first >> 6, words.shape[0] - 1
    size = ((last + 63) >> 6) - begin
    p, end = at[i], at[i + 1]
    count = 2
    while (1 << count) <= end - p:
        count += 1
    for r in range(count):
        plane = planes[r, :size]
        for k in range(size):
            plane[k] = np.uint64(0)
    ones, twos = planes[0, :size], planes[1, :size]
    while p < end:
        c0 = words[features[p], begin : begin + size]
        c1 = words[features[p + 1] if p + 1 < end else nothing, begin : begin + size]
        c2 = words[features[p + 2] if p + 2 < end else nothing, begin : begin + size]
        c3 = words[features[p + 3] if p + 3 < end else nothing, begin : begin + size]
        for k in range(size):
            a, b, c, d, e, f = ones[k], c0[k], c1[k], c2[k], c3[k], twos[k]
            half = a ^ b
            total, carry1 = half ^ c, (a & b) | (half & c)
            half = total ^ d
            ones[k], carry2 = half ^ e, (total & d) | (half & e)
            half = f ^ carry1
            twos[k], carry[k] = half ^ carry2, (f & carry1) | (half & carry2)
        for r in range(2, count):
            plane = planes[r, :size]
            for k in range(size):
                a, b = plane[k], carry[k]
                plane[k], carry[k] = a ^ b, a & b
        p += 4
    for k in range(size):
        add_planes(
            planes, count, k, base[64 * k : 64 * k + 64], own, unit, columns.sums[64 * k : 64 * k + 64]
        )
    return (end - at[i]) * (last - first)
