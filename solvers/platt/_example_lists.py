"""The two lists that Platt's SMO maintains besides the multipliers, as compiled functions.

*Non-bound* examples are in ``members[:count]`` in ascending order, with their cached errors in
``errors[:count]``. A pass over them then follows the order of the training set, and both arrays are scanned
without indirection. *Support vectors* are unordered in ``support[:count]``, with their coefficients
``y_i alpha_i`` in a parallel array; ``place[i]`` is the position of example i, or -1.
"""

from __future__ import annotations

import numpy as np
from svmrepro.solvers.compilation.compiled import compiled


@compiled()
def find(members, count, i):
    """Return the first position in ``members[:count]`` whose example is >= i."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if members[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@compiled()
def locate(members, count, i, hint):
    """Return the result of :func:`find`, in constant time if ``hint`` is right."""
    if 0 <= hint <= count and (hint == count or members[hint] >= i) and (hint == 0 or members[hint - 1] < i):
        return hint
    return find(members, count, i)


@compiled(fastmath={"nnan", "nsz"})
def extremes(errors, count):
    """Return the positions of the smallest and the largest of ``errors[:count]``, the first of equals.

    The values are found first, in vector registers (errors are never NaN), then their places.
    """
    low, high = np.inf, -np.inf
    for k in range(count):
        low = errors[k] if errors[k] < low else low
        high = errors[k] if errors[k] > high else high
    lowest, highest = 0, 0
    while lowest < count - 1 and errors[lowest] != low:
        lowest += 1
    while highest < count - 1 and errors[highest] != high:
        highest += 1
    return lowest, highest


@compiled()
def insert(members, errors, count, i, error):
    """Insert example i with its error, keeping the order; return the new count.

    The entries behind it are moved. That takes less time than the step that makes i non-bound, which updates
    the error of every member.
    """
    at = find(members, count, i)
    for k in range(count, at, -1):
        members[k] = members[k - 1]
        errors[k] = errors[k - 1]
    members[at] = np.uint32(i)
    errors[at] = error
    return count + 1


@compiled()
def remove(members, errors, count, i):
    """Remove example i, which must be a member; return the new count."""
    at = find(members, count, i)
    for k in range(at, count - 1):
        members[k] = members[k + 1]
        errors[k] = errors[k + 1]
    return count - 1


@compiled()
def set_support(support, coefficients, place, count, i, coefficient):
    """Set the coefficient of example i, adding it to or removing it from the list; return the new count."""
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
