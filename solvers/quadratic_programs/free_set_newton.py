r"""Newton steps on the free variables of an SVM's dual problem, for working sets of up to some thousand.

    max  g'd - 1/2 d'K d,     sum_i d_i = 0,     low <= beta + d <= high

from a point strictly between the bounds. Each step solves

    K d + t e = g,     e'd = 0

over the variables that are still free, by a Cholesky factor of K, and goes to the maximum along d or to the
first bound. A variable that reaches a bound leaves the factor (Gill, Golub, Murray and Saunders 1974, method
C1) and does not return to it; the caller's next pairs may free it again. The factor is stored with its
columns as rows of memory, in which all its loops run. A multiple of the identity keeps the factor definite
for copies of an example or too few features. Steps are repeated because of it: each one is exact along its
direction, so that the objective cannot fall.

With more free variables than features, each of these steps would end at the next bound. ``reduce`` then
replaces ``factor``: it adds the variables to the factor one by one. A variable whose row depends on those in
the factor moves with them along the null vector, which changes no output, to the first bound. At most as many
free variables as features remain, and each variable costs the square of the number of features.

Symbols:

===========  =============================================
here         meaning
===========  =============================================
K            kernel matrix of the working set
R            its upper Cholesky factor, R'R = K, over ``members``
g            gradient of the objective, for all variables
members      the free variables, in the order of R
===========  =============================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.storage.row_products import VECTOR

RUNNING, DONE = range(2)
_SHIFT = 1e-12  # added to the diagonal, as a share of its largest entry
_NEGLIGIBLE = 1e-15  # relative gain that is rounding
# Share of a diagonal entry up to which a pivot says that its variable depends on others, or is rounding.
_DEPENDENT, _NO_PIVOT = 1e-11, 1e-14


class NewtonScalars:
    """See :class:`NewtonState`."""

    n_members: int
    factored: int  # rows of R that are done
    steps: int
    gain: float  # of all steps
    work: int  # multiplications


class NewtonState(NamedTuple):
    """A working set of k variables: its quadratic program, and the factor.

    Attributes
    ----------
    K, R : ndarray of float64, shape (k, k)
        The kernel matrix, of which the upper triangle is read, and its factor.
    g, beta, low, high : ndarray of float64, shape (k,)
        Gradient, variables and bounds.
    members : ndarray of int64, shape (k,)
        The free variables: the first ``n_members``.
    direction, ones : ndarray of float64, shape (k,)
        Workspace, in the order of the members: the direction d, and a solution of ``K z = 1``.
    wide, product : ndarray of float64, shape (k,)
        Workspace, for all variables: the direction, 0 for those that are not free, and K times it.
    """

    K: Any
    R: Any
    g: Any
    beta: Any
    low: Any
    high: Any
    members: Any
    direction: Any
    ones: Any
    wide: Any
    product: Any
    scalars: NewtonScalars


def allocate(g: Any, beta: Any, low: Any, high: Any) -> NewtonState:
    """Return the state of a working set at ``beta``, strictly between the bounds; K is still to be filled."""
    k = g.size
    scalars = zeroed(NewtonScalars)
    scalars.n_members = k
    return NewtonState(
        K=np.zeros((k, k)),
        R=np.zeros((k, k)),
        g=g.copy(),
        beta=beta.copy(),
        low=low,
        high=high,
        members=np.arange(k),
        direction=np.zeros(k),
        ones=np.zeros(k),
        wide=np.zeros(k),
        product=np.zeros(k),
        scalars=scalars,
    )


NEWTON = typeof(allocate(*np.zeros((4, 1))))
_REASSOCIATE = {"reassoc", "contract", "nsz"}


# The loops below run from 0: with an offset in their index they would not be vectorised.


@compiled(forceinline=True, fastmath=_REASSOCIATE)
def _subtract_four(row, a, one, b, two, c, three, d, four):
    for i in range(row.size):
        row[i] -= (a * one[i] + b * two[i]) + (c * three[i] + d * four[i])


@compiled(forceinline=True, fastmath=_REASSOCIATE)
def _subtract(row, factor, other):
    for i in range(row.size):
        row[i] -= factor * other[i]


@compiled(types.boolean(NEWTON, types.int64))
def factor(state, work):
    """Continue the Cholesky factor of K for about ``work`` multiplications.

    Return False if K is not positive definite.
    """
    K, R, scalars = state.K, state.R, state.scalars
    k, largest = scalars.n_members, 0.0
    for i in range(k):
        largest = max(largest, abs(K[i, i]))
    done = 0
    while scalars.factored < k and done < work:
        c = scalars.factored
        row, given = R[c, c:k], K[c, c:k]
        for i in range(row.size):
            row[i] = given[i]
        whole = c - c % 4
        for t in range(0, whole, 4):
            one, two, three, four = R[t, c:k], R[t + 1, c:k], R[t + 2, c:k], R[t + 3, c:k]
            _subtract_four(row, one[0], one, two[0], two, three[0], three, four[0], four)
        for t in range(whole, c):
            _subtract(row, R[t, c], R[t, c:k])
        pivot = row[0] + _SHIFT * largest
        if not pivot > 0.0:
            return False
        row[0] = pivot
        root = np.sqrt(pivot)
        for i in range(row.size):
            row[i] /= root
        scalars.factored += 1
        done += c * (k - c) + 1
    scalars.work += done
    return True


@compiled(forceinline=True, fastmath=_REASSOCIATE)
def _subtract_from_both(x, y, a, b, row):
    for i in range(row.size):
        x[i] -= a * row[i]
        y[i] -= b * row[i]


@compiled(forceinline=True, fastmath=_REASSOCIATE)
def _dot_both(x, y, row):
    a, b = 0.0, 0.0
    for i in range(row.size):
        a += x[i] * row[i]
        b += y[i] * row[i]
    return a, b


@compiled(forceinline=True)
def _solve(R, x, y, m):
    """Solve ``R'R x = b`` in place, and the same for y."""
    for c in range(m):
        x[c] /= R[c, c]
        y[c] /= R[c, c]
        _subtract_from_both(x[c + 1 : m], y[c + 1 : m], x[c], y[c], R[c, c + 1 : m])
    for c in range(m - 1, -1, -1):
        a, b = _dot_both(x[c + 1 : m], y[c + 1 : m], R[c, c + 1 : m])
        x[c] = (x[c] - a) / R[c, c]
        y[c] = (y[c] - b) / R[c, c]


@compiled(forceinline=True)
def _find_direction(state):
    """Write the Newton direction of the members, with sum 0."""
    m, g, members, d, z = state.scalars.n_members, state.g, state.members, state.direction, state.ones
    mean = 0.0
    for k in range(m):
        mean += g[members[k]] / m
    for k in range(m):
        d[k] = g[members[k]] - mean  # the same direction, with less cancellation
        z[k] = 1.0
    _solve(state.R, d, z, m)
    above, below = 0.0, 0.0
    for k in range(m):
        above += d[k]
        below += z[k]
    threshold, rest = above / below, 0.0
    for k in range(m):
        d[k] -= threshold * z[k]
        rest += d[k] / m
    for k in range(m):
        d[k] -= rest
        state.wide[members[k]] = d[k]


@compiled(forceinline=True, fastmath=_REASSOCIATE)
def _add_and_dot(product, own, row, wide):
    total = 0.0
    for j in range(row.size):
        product[j] += own * row[j]
        total += wide[j] * row[j]
    return total


@compiled(forceinline=True)
def _multiply(state):
    """Write K times the direction; it is complete for the members."""
    K, members, wide, product = state.K, state.members, state.wide, state.product
    product[:] = 0.0
    for k in range(state.scalars.n_members):
        i = members[k]
        total = _add_and_dot(product[i + 1 :], wide[i], K[i, i + 1 :], wide[i + 1 :])
        product[i] += wide[i] * K[i, i] + total


@compiled(forceinline=True, fastmath={"contract"})
def _rotate(upper, lower, cosine, sine):
    for i in range(upper.size):
        a, b = upper[i], lower[i]
        upper[i] = cosine * a + sine * b
        lower[i] = cosine * b - sine * a


@compiled(forceinline=True)
def _close(row):
    """Move the entries of a row, but for the first, to the place before."""
    for i in range(row.size - 1):
        row[i] = row[i + 1]


@compiled(forceinline=True)
def _remove(state, r):
    """Remove member r from the list and from the factor."""
    R, members, scalars = state.R, state.members, state.scalars
    m = scalars.n_members - 1
    state.wide[members[r]] = 0.0
    _close(members[r : m + 1])
    for c in range(m + 1):
        _close(R[c, max(r, c - 1) : m + 1])
    # Row c > r now begins one column before its diagonal. Rotations of rows c and c + 1 remove that entry.
    for c in range(r, m):
        a, b = R[c, c], R[c + 1, c]
        length = np.sqrt(a * a + b * b)
        R[c, c] = length
        _rotate(R[c, c + 1 : m], R[c + 1, c + 1 : m], a / length, b / length)
    scalars.n_members = m


@compiled(forceinline=True)
def _append(state, i, shift):
    """Write the next column of the factor, that of variable i, and return the square of its pivot.

    ``direction`` becomes the combination of the members that is nearest to variable i.
    """
    K, R, members, v = state.K, state.R, state.members, state.direction
    m = state.scalars.n_members
    pivot = K[i, i] + shift
    for t in range(m):
        v[t] = K[min(members[t], i), max(members[t], i)] + shift
    for t in range(m):
        v[t] /= R[t, t]
        R[t, m] = v[t]
        pivot -= v[t] * v[t]
        _subtract(v[t + 1 : m], v[t], R[t, t + 1 : m])
    for t in range(m - 1, -1, -1):
        a, _ = _dot_both(v[t + 1 : m], v[t + 1 : m], R[t, t + 1 : m])
        v[t] = (v[t] - a) / R[t, t]
    return pivot


@compiled(forceinline=True)
def _slide(state, i, curvature):
    """Move variable i and the members along the null vector that is in ``direction``.

    Return the place of the member that has met its bound, ``n_members`` if variable i has, or -1.
    """
    g, beta, low, high = state.g, state.beta, state.low, state.high
    members, d, m = state.members, state.direction, state.scalars.n_members
    rest = 1.0
    for t in range(m):
        rest -= d[t]
    rest /= m + 1
    d[m], members[m] = 1.0 - rest, i
    slope = g[i] * d[m]
    for t in range(m):
        d[t] = -d[t] - rest
        slope += g[members[t]] * d[t]
    sign = 1.0 if slope >= 0.0 else -1.0
    length, blocks = (abs(slope) / curvature if curvature > 0.0 else np.inf), -1
    for t in range(m + 1):
        d[t] *= sign
        k = members[t]
        if d[t] != 0.0:
            room = ((high[k] if d[t] > 0.0 else low[k]) - beta[k]) / d[t]
            if room < length:
                length, blocks = room, t
    for t in range(m + 1):
        k = members[t]
        beta[k] = min(max(beta[k] + length * d[t], low[k]), high[k])
    if blocks >= 0:
        k = members[blocks]
        beta[k] = high[k] if d[blocks] > 0.0 else low[k]
    return blocks


@compiled(types.boolean(NEWTON, VECTOR, types.int64))
def reduce(state, before, work):
    """Continue for about ``work`` multiplications to build the factor of as many variables as it can hold.

    The others move to a bound. ``before`` are the variables at the beginning. Return whether it is done.
    """
    K, R, g, beta, members = state.K, state.R, state.g, state.beta, state.members
    scalars, k, done, shift = state.scalars, beta.size, 0, 0.0
    for i in range(k):
        shift = max(shift, abs(K[i, i]))  # with it, null vectors have the sum 0
    if scalars.factored == 0:
        scalars.n_members = 0
    while scalars.factored < k and done < work:
        i = scalars.factored
        pivot = _append(state, i, shift)
        m = scalars.n_members
        done += 2 * m * m + 4 * m + 1
        least = _DEPENDENT * (K[i, i] + shift)
        if not pivot > least:
            curvature = pivot if pivot > _NO_PIVOT * (K[i, i] + shift) else 0.0
            blocks, pivot = _slide(state, i, curvature), 0.0
            if 0 <= blocks < m:
                _remove(state, blocks)
                pivot = _append(state, i, shift)
                done += 3 * m * m
        if pivot > least:
            m = scalars.n_members
            R[m, m], members[m] = np.sqrt(pivot), i
            scalars.n_members += 1
        scalars.factored += 1
    scalars.work += done
    if scalars.factored < k:
        return False
    wide, product, gain = state.wide, state.product, 0.0
    for i in range(k):
        wide[i], product[i] = beta[i] - before[i], 0.0
    for i in range(k):
        total = _add_and_dot(product[i + 1 :], wide[i], K[i, i + 1 :], wide[i + 1 :])
        product[i] += wide[i] * K[i, i] + total
    for i in range(k):
        gain += wide[i] * (g[i] - 0.5 * product[i])
    for i in range(k):
        wide[i] = 0.0
        if gain >= 0.0:
            g[i] -= product[i]
        else:  # by rounding
            beta[i] = before[i]
    if gain < 0.0:
        scalars.n_members = 0
    scalars.gain += max(gain, 0.0)
    scalars.work += k * k
    return True


@compiled(forceinline=True)
def _spread(state):
    """Return the difference of the largest and the smallest gradient of the members."""
    g, members = state.g, state.members
    top, bottom = g[members[0]], g[members[0]]
    for k in range(1, state.scalars.n_members):
        value = g[members[k]]
        top, bottom = max(top, value), min(bottom, value)
    return top - bottom


@compiled(types.int64(NEWTON, types.float64, types.float64, types.int64, types.int64, types.int64))
def iterate(state, eps, objective, work, most, limit):
    """Take Newton steps until the gradient of the members is constant.

    Parameters
    ----------
    eps : float
        Largest difference of two of their gradients at which to end.
    objective : float
        Size of the objective; a relative gain of 1e-15 is rounding.
    work : int
        About how many multiplications may be made.
    most : int
        Number of steps at which to end.
    limit : int
        Number of multiplications, the factor's included, at which to end.

    Returns
    -------
    int
        ``DONE`` or ``RUNNING``.
    """
    scalars, g, beta, low, high = state.scalars, state.g, state.beta, state.low, state.high
    members, d, product = state.members, state.direction, state.product
    done = 0
    while done < work:
        m = scalars.n_members
        if m < 2 or scalars.steps >= most or scalars.work >= limit or _spread(state) <= eps:
            return DONE
        _find_direction(state)
        _multiply(state)
        cost = 4 * m * m
        slope, curvature = 0.0, 0.0
        for k in range(m):
            slope += g[members[k]] * d[k]
            curvature += product[members[k]] * d[k]
        if not slope > 0.0:
            return DONE
        length, blocks = (slope / curvature if curvature > 0.0 else np.inf), -1
        for k in range(m):
            i = members[k]
            if d[k] != 0.0:
                room = ((high[i] if d[k] > 0.0 else low[i]) - beta[i]) / d[k]
                if room < length:
                    length, blocks = room, k
        if blocks < 0 and not curvature > 0.0:
            return DONE
        for k in range(m):
            i = members[k]
            beta[i] = min(max(beta[i] + length * d[k], low[i]), high[i])
            g[i] -= length * product[i]
        gain = length * (slope - 0.5 * length * curvature)
        scalars.gain += gain
        scalars.steps += 1
        if blocks >= 0:
            i = members[blocks]
            beta[i] = high[i] if d[blocks] > 0.0 else low[i]
            _remove(state, blocks)
            cost += m * (m - blocks)
        elif gain <= _NEGLIGIBLE * objective:
            return DONE
        done += cost
        scalars.work += cost
    return RUNNING
