"""The two lists that Platt's SMO keeps beside the multipliers, as compiled functions.

*Non-bound* examples lie in ``members[:count]`` in ascending order, with their cached
errors in ``errors[:count]``: a pass over them is then a pass in the order of the training
set, and both arrays are scanned without indirection. *Support vectors* lie unordered in
``support[:count]`` with their coefficients ``y_i alpha_i`` beside them; ``place[i]`` is
the position of example i, or -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def find(members, count, i):  # type: ignore[no-untyped-def]
    """Return the first position in ``members[:count]`` whose example is >= i."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if members[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def insert(members, errors, count, i, error):  # type: ignore[no-untyped-def]
    """Insert example i with its error in order; return the new count."""
    at = find(members, count, i)
    for k in range(count, at, -1):
        members[k] = members[k - 1]
        errors[k] = errors[k - 1]
    members[at] = np.uint32(i)
    errors[at] = error
    return count + 1


@njit(cache=True)
def remove(members, errors, count, i):  # type: ignore[no-untyped-def]
    """Remove example i, which is a member; return the new count."""
    at = find(members, count, i)
    for k in range(at, count - 1):
        members[k] = members[k + 1]
        errors[k] = errors[k + 1]
    return count - 1


@njit(cache=True)
def set_support(support, coefficients, place, count, i, coefficient):  # type: ignore[no-untyped-def]
    """Give example i its coefficient, listing or unlisting it; return the new count."""
    at = place[i]
    if coefficient == 0.0:
        if at >= 0:
            count -= 1
            last = support[count]
            support[at] = last
            coefficients[at] = coefficients[count]
            place[last] = at
            place[i] = -1
        return count
    if at < 0:
        at = count
        support[at] = np.uint32(i)
        place[i] = at
        count += 1
    coefficients[at] = coefficient
    return count
