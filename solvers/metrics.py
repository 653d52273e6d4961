r"""Measures of how well decision values predict labels, as the papers report them on test sets.

Each takes labels -1 and +1 and finite decision values, both of shape (n,), and returns a share between 0 and
1. ``swapped-pairs`` takes ranks (any finite numbers) as labels. Ties are treated exactly: the result is the
mean over all orders of equal decision values. Other arguments raise ValueError. So do labels that are all
equal, except for the accuracy.

accuracy
    The share of examples with the right sign; 0 counts as negative, as in SVM-light and LIBSVM.
prbep
    The precision/recall break-even point (Joachims 1998): if as many examples are called positive as there
    are positive ones, taking those with the largest decision values, precision equals recall.
roc-area
    The area under the ROC curve: the share of pairs of a positive and a negative example that are in the
    right order, a tie counting half.
swapped-pairs
    The share of pairs of examples of different rank that are in the wrong order, a tie counting half; with
    two ranks, 1 minus the ROC area.

They are not taken from scikit-learn, on which the solvers do not depend, and which has neither the break-even
point nor the pairs of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def accuracy(y: Any, values: Any) -> float:
    """Return the share of examples with the right sign.

    Parameters
    ----------
    y : array_like, shape (n,)
        Labels -1 and +1.
    values : array_like, shape (n,)
        Decision values.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If there are other labels, values that are not finite, or other shapes.
    """
    y, values = _binary(y, values, both=False)
    return float(np.mean((values > 0) == (y > 0)))


def prbep(y: Any, values: Any) -> float:
    """Return the precision/recall break-even point, see the module.

    Parameters
    ----------
    y, values : array_like, shape (n,)
        Labels -1 and +1, both present, and decision values.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        As :func:`accuracy`, or if all labels are equal.
    """
    y, values = _binary(y, values, both=True)
    positive = y > 0
    called = int(np.count_nonzero(positive))
    threshold = np.partition(values, values.size - called)[values.size - called]
    above, level = values > threshold, values == threshold
    # Examples exactly at the threshold are equally likely to be called positive.
    room = called - int(np.count_nonzero(above))
    share = np.count_nonzero(positive & level) / np.count_nonzero(level)
    return float((np.count_nonzero(positive & above) + room * share) / called)


def roc_area(y: Any, values: Any) -> float:
    """Return the area under the ROC curve, see the module.

    Parameters
    ----------
    y, values : array_like, shape (n,)
        Labels -1 and +1, both present, and decision values.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        As :func:`accuracy`, or if all labels are equal.
    """
    return 1.0 - swapped_pairs(*_binary(y, values, both=True))


def swapped_pairs(y: Any, values: Any) -> float:
    """Return the share of pairs of different rank that are in the wrong order, in O(n log n).

    Parameters
    ----------
    y, values : array_like, shape (n,)
        Ranks, any finite numbers, and decision values.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If all ranks are equal, numbers are not finite, or shapes are wrong.
    """
    y, values = _checked(y, values)
    _, ranks, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if sizes.size < 2:
        raise ValueError("the measure needs examples of two ranks or more")
    pairs = (y.size**2 - int((sizes.astype(np.int64) ** 2).sum())) // 2
    # The first sort puts all pairs of equal values in the right order, the second in the wrong one.
    kind = _inversions(ranks[np.lexsort((ranks, values))])
    harsh = _inversions(ranks[np.lexsort((-ranks, values))])
    return float((kind + harsh) / (2 * pairs))


def _inversions(ranks: npt.NDArray[np.intp]) -> int:
    """Count the pairs whose higher rank comes first, by the highest digit in which two ranks differ.

    For each digit, ranks that agree in all higher digits are grouped in their order, and pairs of a one
    before a zero are counted.
    """
    total = 0
    for digit in range(int(ranks.max()).bit_length()):
        group = ranks >> (digit + 1)
        order = np.argsort(group, kind="stable")
        one = (ranks[order] >> digit) & 1
        before = np.cumsum(one) - one
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        lengths = np.diff(starts, append=ranks.size)
        before -= np.repeat(before[starts], lengths)
        total += int(before[one == 0].sum())
    return total


def _checked(y: Any, values: Any) -> tuple[Vector, Vector]:
    """Return labels and values as arrays of equal length and of finite numbers."""
    y, values = np.asarray(y, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if y.ndim != 1 or y.shape != values.shape or y.size == 0:
        raise ValueError(f"labels and values must have one shape (n,), got {y.shape} and {values.shape}")
    if not (np.isfinite(y).all() and np.isfinite(values).all()):
        raise ValueError("labels and decision values must be finite")
    return y, values


def _binary(y: Any, values: Any, both: bool) -> tuple[Vector, Vector]:
    """Return labels, checked to be -1 and +1 (and both to be there), and values."""
    y, values = _checked(y, values)
    if not (np.abs(y) == 1).all():
        raise ValueError("the measure needs labels -1 and +1")
    if both and (y == y[0]).all():
        raise ValueError("the measure needs examples of both classes")
    return y, values


MEASURES: Mapping[str, Callable[[Any, Any], float]] = MappingProxyType(
    {"accuracy": accuracy, "prbep": prbep, "roc-area": roc_area, "swapped-pairs": swapped_pairs}
)
