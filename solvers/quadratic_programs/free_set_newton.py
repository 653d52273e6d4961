r"""Newton steps on the free variables of an SVM's dual problem, for working sets of up to some thousand.

    max  g'd - 1/2 d'K d,     sum_i d_i = 0,     low <= beta + d <= high

from a point strictly between the bounds. Each step solves

    K d + t e = g,     e'd = 0

over the variables that are still free, by a Cholesky factor of K, and goes to the maximum along d or to the
first bound. A variable that reaches a bound leaves the factor (Gill, Golub, Murray and Saunders 1974, method
C1) and does not come back: the caller's next pairs decide about it. A multiple of the identity keeps the
factor definite for copies of an example or too few features. Steps are repeated because of it: each one is
exact along its direction, so that the objective cannot fall.

Symbols:

===========  =============================================
here         meaning
===========  =============================================
K            kernel matrix of the working set
L            its lower Cholesky factor, over ``members``
g            gradient of the objective, for all variables
members      the free variables, in the order of L
===========  =============================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import zeroed

RUNNING, DONE = range(2)
_SHIFT = 1e-12  # added to the diagonal, as a share of its largest entry
_NEGLIGIBLE = 1e-15  # relative gain that is rounding


class NewtonScalars:
    """See :class:`NewtonState`."""

    n_members: int
    factored: int  # rows of L that are done
    steps: int
    gain: float  # of all steps
    work: int  # multiplications


class NewtonState(NamedTuple):
    """A working set of k variables: its quadratic program, and the factor.

    Attributes
    ----------
    K, L : ndarray of float64, shape (k, k)
        The kernel matrix, of which the lower triangle is read, and its factor.
    g, beta, low, high : ndarray of float64, shape (k,)
        Gradient, variables and bounds.
    members : ndarray of int64, shape (k,)
        The free variables: the first ``n_members``.
    first, second : ndarray of float64, shape (k,)
        Workspace: the direction and K times it.
    """

    K: Any
    L: Any
    g: Any
    beta: Any
    low: Any
    high: Any
    members: Any
    first: Any
    second: Any
    scalars: NewtonScalars


def allocate(g: Any, beta: Any, low: Any, high: Any) -> NewtonState:
    """Return the state of a working set at ``beta``, strictly between the bounds; K is still to be filled."""
    k = g.size
    scalars = zeroed(NewtonScalars)
    scalars.n_members = k
    return NewtonState(
        K=np.zeros((k, k)),
        L=np.zeros((k, k)),
        g=g.copy(),
        beta=beta.copy(),
        low=low,
        high=high,
        members=np.arange(k),
        first=np.zeros(k),
        second=np.zeros(k),
        scalars=scalars,
    )


NEWTON = typeof(allocate(*np.zeros((4, 1))))
_REASSOCIATE = {"reassoc", "contract", "nsz"}


@compiled(forceinline=True, fastmath=_REASSOCIATE)
def _dot(a, b, m):
    total = 0.0
    for k in range(m):
        total += a[k] * b[k]
    return total


@compiled(types.boolean(NEWTON, types.int64))
def factor(state, work):
    """Continue the Cholesky factor of K for about ``work`` multiplications.

    Returns
    -------
    bool
        False if K is not positive definite.
    """
    K, L, scalars = state.K, state.L, state.scalars
    k, largest = scalars.n_members, 0.0
    for i in range(k):
        largest = max(largest, abs(K[i, i]))
    done = 0
    while scalars.factored < k and done < work:
        i = scalars.factored
        row = L[i]
        for j in range(i):
            row[j] = (K[i, j] - _dot(row, L[j], j)) / L[j, j]
        pivot = K[i, i] + _SHIFT * largest - _dot(row, row, i)
        if not pivot > 0.0:
            return False
        row[i] = np.sqrt(pivot)
        scalars.factored += 1
        done += (i * i) // 2 + 1
    scalars.work += done
    return True


@compiled(forceinline=True)
def _solve(L, x, m):
    """Solve ``L L' x = b`` in place."""
    for i in range(m):
        x[i] = (x[i] - _dot(L[i], x, i)) / L[i, i]
    for i in range(m - 1, -1, -1):
        row = L[i]
        x[i] /= row[i]
        value = x[i]
        for j in range(i):
            x[j] -= value * row[j]


@compiled(forceinline=True)
def _direction(state):
    """Write the Newton direction of the members to ``first``, with sum 0."""
    m, g, members, d, z = state.scalars.n_members, state.g, state.members, state.first, state.second
    mean = 0.0
    for k in range(m):
        mean += g[members[k]] / m
    for k in range(m):
        d[k] = g[members[k]] - mean  # the same direction, with less cancellation
        z[k] = 1.0
    _solve(state.L, d, m)
    _solve(state.L, z, m)
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


@compiled(forceinline=True)
def _times(state):
    """Write K times the direction, over the members, to ``second``."""
    K, m, members, d, product = state.K, state.scalars.n_members, state.members, state.first, state.second
    for k in range(m):
        product[k] = 0.0
    for k in range(m):
        row, own, total = K[members[k]], d[k], 0.0
        for j in range(k):
            entry = row[members[j]]
            product[j] += own * entry
            total += d[j] * entry
        product[k] += total + own * row[members[k]]


@compiled(forceinline=True)
def _remove(state, r):
    """Remove member r from the list and from the factor."""
    L, members, scalars = state.L, state.members, state.scalars
    m = scalars.n_members - 1
    for i in range(r, m):
        members[i] = members[i + 1]
        lower, upper = L[i + 1], L[i]
        for j in range(i + 2):
            upper[j] = lower[j]
    # Row i >= r now has i + 2 entries. Rotations of columns c and c + 1 make it i + 1.
    for c in range(r, m):
        a, b = L[c, c], L[c, c + 1]
        length = np.sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        L[c, c] = length
        for i in range(c + 1, m):
            a, b = L[i, c], L[i, c + 1]
            L[i, c] = cosine * a + sine * b
            L[i, c + 1] = cosine * b - sine * a
    scalars.n_members = m


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
    members, d, product = state.members, state.first, state.second
    done = 0
    while done < work:
        m = scalars.n_members
        if m < 2 or scalars.steps >= most or scalars.work >= limit or _spread(state) <= eps:
            return DONE
        _direction(state)
        _times(state)
        cost = 4 * m * m
        slope, curvature = 0.0, 0.0
        for k in range(m):
            slope += g[members[k]] * d[k]
            curvature += product[k] * d[k]
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
            g[i] -= length * product[k]
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
