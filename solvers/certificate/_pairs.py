"""Pairs of examples of different ranks: their loss, those that are violated, and their multipliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.reference_kernels import UNIT

Vector = npt.NDArray[np.float64]


class PairLoss(NamedTuple):
    """The loss of all pairs of examples of different ranks."""

    total: float
    pairs: int
    error: float  # bound on the rounding of the total


def pair_loss(y: Vector, f: Vector) -> PairLoss:
    """Return the sum of ``max(0, 1 - f_i + f_j)`` over the pairs with y_i > y_j, and their number.

    The ranks are halved recursively; the pairs between two halves are summed by sorting. Scores are taken
    relative to their median, which changes no pair: their sums would otherwise lose the differences.
    """
    f = f - np.median(f)
    total, m, error = 0.0, 0, 2.0 * UNIT * float(np.abs(f).max(initial=0.0))  # of a difference of two scores
    wrong = 0.0
    for low_at, high_at in _halves(y):
        low, high = np.sort(f[low_at]), f[high_at]
        # A lower example contributes to a higher one if its score exceeds the higher one's minus 1.
        from_here = np.searchsorted(low, high - 1.0, side="right")
        above = np.concatenate((np.cumsum(low[::-1])[::-1], [0.0]))
        counts = low.size - from_here
        parts = counts * (1.0 - high)
        total += float((above[from_here] + parts).sum())
        m += low.size * high.size
        # A sum of k terms has k roundings, each of at most the sum of the absolute terms.
        sizes = np.concatenate((np.cumsum(np.abs(low)[::-1])[::-1], [0.0]))[from_here] + np.abs(parts)
        wrong += UNIT * (low.size + high.size + 4.0) * float(sizes.sum())
    return PairLoss(max(total, 0.0), m, 1.01 * (wrong + error * m))


class PairPlane(NamedTuple):
    """The pairs that violate their margin at some scores."""

    coefficients: Vector  # (n,) how often an example is the higher one of such a pair, less the lower one
    violated: int
    pairs: int  # of different ranks, violated or not


def pair_plane(y: Vector, f: Vector) -> PairPlane:
    """Return the violated pairs: ``y_i > y_j`` with ``f_i - 1 < f_j``."""
    coefficients, violated, m = np.zeros(y.size), 0, 0
    for low_at, high_at in _halves(y):
        low, bar = f[low_at], f[high_at] - 1.0
        above = low.size - np.searchsorted(np.sort(low), bar, side="right")
        below = np.searchsorted(np.sort(bar), low, side="left")
        coefficients[high_at] += above
        coefficients[low_at] -= below
        violated += int(above.sum())
        m += low.size * bar.size
    return PairPlane(coefficients, violated, m)


def pair_coefficients(y: Vector, alpha: Vector) -> tuple[Vector, Vector]:
    """Return each example's coefficient in ``sum alpha_ij (x_i - x_j)``, and its sum of multipliers.

    There is a multiplier for each pair with y_i > y_j, in the order of i and then of j.
    """
    coefficients, sizes, at = np.zeros(y.size), np.zeros(y.size), 0
    for i in range(y.size):
        lower = np.flatnonzero(y < y[i])
        part = alpha[at : at + lower.size]
        coefficients[i] += part.sum()
        coefficients[lower] -= part
        sizes[i] += part.sum()
        sizes[lower] += part
        at += lower.size
    return coefficients, sizes


def _halves(y: Vector) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Return pairs of sets of lower and higher examples; each pair of different ranks is in exactly one."""
    order = np.argsort(y, kind="stable")
    ranks = y[order]
    found, todo = [], [(0, y.size)]
    while todo:
        first, last = todo.pop()
        if ranks[first] == ranks[last - 1]:
            continue
        starts = np.flatnonzero(np.diff(ranks[first:last])) + first + 1
        cut = int(starts[np.abs(starts - (first + last) // 2).argmin()])
        found.append((order[first:cut], order[cut:last]))
        todo += [(first, cut), (cut, last)]
    return found
