r"""The most violated constraint of ordinal regression without the pairs (Joachims 2006, Algorithm 2).

With P = {(i, j) : y_i > y_j} and scores f = X w, pair (i, j) is violated where ``f_i - f_j < 1``. The
constraint depends on the pairs only through how often each example is the higher one, and the lower one, of a
violated pair:

    c+_i = |{j : y_j < y_i, f_i - f_j < 1}|        c-_j = |{i : y_i > y_j, f_i - f_j < 1}|

The paper walks down the sorted scores once for each rank with two pointers, in O(R n). (For a lower example
its listing prints ``n_r - a + 1``; ``n_r - a``, as in its proof, is correct.) Here one walk serves all ranks:
as the score of i falls, the set of examples with ``f_j > f_i - 1`` only grows, and a Fenwick tree over the
ranks counts those of lower rank. A second walk, from below, gives c-. This takes O(n log R) besides the sort,
for R up to n. The order of ties does not affect any count.

The scores are sorted by radix sort: with the sign bit handled, the order of their bit patterns is the order
of the values. It takes linear time and is five times as fast here as a comparison sort.
Symbols:

===========  ==============================================================================
paper        here
===========  ==============================================================================
w.x_i        ``f``
r, R         ``ranks``, from 0 on; ``R``
m            ``m``
c+_i - c-_i  ``balance``, by place in the order of the scores; ``coefficients``, by example
sum of c+_i  ``violated``
a, b, n_r    not needed: ``tree`` counts for all ranks at once
===========  ==============================================================================
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.intrinsics import bits_from_float
from svmrepro.solvers.passes.row_passes import TIE
from svmrepro.solvers.storage.row_products import VECTOR

_VIOLATED = 1.0 - TIE  # a pair is violated below this; closer to 1, rounding would decide
_DIGIT = 11  # bits
_DIGITS = 6
_SIZE = 1 << _DIGIT

_COUNTS = types.int64[::1]
_KEYS = types.uint64[::1]
_ORDER = types.uint32[::1]
_RANKS = types.int32[::1]


@compiled(types.int64(VECTOR, _KEYS, _KEYS, _ORDER, _ORDER, types.int64[:, ::1]))
def sort_by_digits(f, keys, spare_keys, order, spare_order, counts):
    """Sort scores, none of them NaN, by a stable radix sort.

    The examples in ascending order of their scores are in ``order`` if the result is 0, in ``spare_order`` if
    it is 1. ``counts`` has shape (6, 2048).
    """
    n = f.size
    counts[:] = 0
    for i in range(n):
        # Adding 0 turns -0 into 0, so that the two get equal keys.
        word = bits_from_float(f[i] + 0.0)
        key = np.uint64(word) ^ (np.uint64(word >> 63) | np.uint64(1 << 63))
        keys[i] = key
        order[i] = i
        for digit in range(_DIGITS):
            counts[digit, (key >> np.uint64(digit * _DIGIT)) & np.uint64(_SIZE - 1)] += 1
    swapped = 0
    for digit in range(_DIGITS):
        shift = np.uint64(digit * _DIGIT)
        places = counts[digit]
        if places[(keys[0] >> shift) & np.uint64(_SIZE - 1)] == n:
            continue  # the same digit everywhere
        total = 0
        for value in range(_SIZE):
            count = places[value]
            places[value] = total
            total += count
        for i in range(n):
            key = keys[i]
            value = (key >> shift) & np.uint64(_SIZE - 1)
            place = places[value]
            places[value] = place + 1
            spare_keys[place] = key
            spare_order[place] = order[i]
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
        swapped = 1 - swapped
    return swapped


@compiled(forceinline=True)
def tree_add(tree, node):
    """Count one more at a place of the Fenwick tree, from 1 on."""
    while node < tree.size:
        tree[node] += 1
        node += node & -node


@compiled(forceinline=True)
def tree_sum(tree, node):
    """Return the count up to a place of the Fenwick tree."""
    count = 0
    while node > 0:
        count += tree[node]
        node &= node - 1
    return count


@compiled(types.int64(VECTOR, _RANKS, _COUNTS, _COUNTS))
def count_violations(f, ranks, tree, balance):
    """Write c+ - c- of each example to ``balance``; return the number of violated pairs.

    ``f`` ascends, ``ranks`` are those of the same examples, ``tree`` has shape (R + 1,). The number of
    violated pairs is the sum of c+ and also of c-.
    """
    n, R = f.size, tree.size - 1
    tree[:] = 0
    violated, taken = 0, n
    for i in range(n - 1, -1, -1):  # descending: the tree holds scores less than 1 below f_i
        while taken > 0 and f[i] - f[taken - 1] < _VIOLATED:
            taken -= 1
            tree_add(tree, np.int64(ranks[taken]) + 1)
        balance[i] = tree_sum(tree, np.int64(ranks[i]))
        violated += balance[i]
    tree[:] = 0
    taken = 0
    for j in range(n):  # ascending: the tree holds scores less than 1 above f_j, by rank from the top
        while taken < n and f[taken] - f[j] < _VIOLATED:
            tree_add(tree, R - np.int64(ranks[taken]))
            taken += 1
        balance[j] -= tree_sum(tree, R - 1 - np.int64(ranks[j]))
    return violated


@compiled(types.void(VECTOR, _RANKS, _ORDER, VECTOR, _RANKS))
def gather(f, ranks, order, sorted_f, sorted_ranks):
    """Write scores and ranks in the given order."""
    for place in range(f.size):
        i = order[place]
        sorted_f[place] = f[i]
        sorted_ranks[place] = ranks[i]


@compiled(types.int64(_COUNTS, _ORDER, VECTOR, VECTOR))
def spread(balance, order, coefficients, change):
    """Write balances, given by place, as coefficients by example, and the changes of these.

    Return the number of examples whose coefficient changes, less the number of nonzero new coefficients.
    """
    saved = 0
    for place in range(order.size):
        i = order[place]
        new = np.float64(balance[place])
        change[i] = new - coefficients[i]
        coefficients[i] = new
        saved += int(change[i] != 0.0) - int(new != 0.0)
    return saved


class PairCounts:
    """The violated pairs of a problem with ranks y, any numbers.

    ``coefficients`` are c+ - c- of each example, ``change`` their changes in the last :meth:`find`. There are
    R distinct ranks and m pairs, ``violated`` of them violated.
    """

    def __init__(self, y: npt.NDArray[np.float64]) -> None:
        n = y.size
        values, ranks, sizes = np.unique(y, return_inverse=True, return_counts=True)
        self._ranks, self.R = ranks.astype(np.int32).ravel(), values.size
        self.m = int((np.cumsum(sizes) - sizes) @ sizes)
        self._tree = np.zeros(self.R + 1, dtype=np.int64)
        self._keys = np.zeros((2, n), dtype=np.uint64)
        self._orders = np.zeros((2, n), dtype=np.uint32)
        self._counts = np.zeros((_DIGITS, _SIZE), dtype=np.int64)
        self._sorted_ranks = np.zeros(n, dtype=np.int32)
        self.coefficients, self.change = np.zeros(n), np.zeros(n)
        self.violated = 0

    def find(self, f: npt.NDArray[np.float64]) -> bool:
        """Count the violated pairs for scores f, and update the coefficients.

        Return whether fewer coefficients change than are nonzero, so that updating a sum over the examples
        reads less than computing it anew.
        """
        keys, orders = self._keys, self._orders
        order = orders[sort_by_digits(f, keys[0], keys[1], orders[0], orders[1], self._counts)]
        # The keys are no longer needed: reuse their memory for the sorted scores and the balances.
        sorted_f, balance = keys[0].view(np.float64), keys[1].view(np.int64)
        gather(f, self._ranks, order, sorted_f, self._sorted_ranks)
        self.violated = int(count_violations(sorted_f, self._sorted_ranks, self._tree, balance))
        return bool(spread(balance, order, self.coefficients, self.change) < 0)

    def forget(self) -> None:
        """Set the changes to the coefficients themselves, as if the last coefficients had been zero."""
        self.change[:] = self.coefficients
