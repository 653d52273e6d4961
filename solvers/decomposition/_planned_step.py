"""Planning ahead (Glasmachers 2008): the planned step, and earlier working sets as candidates.

- ``step_ahead``: the planned step, of the largest double-step gain (eq. 8, Algorithm 4).
- ``offered``: the working set of largest gain among the new one and earlier ones (Algorithms 3 and 5).
- ``best_exact``: the partner of largest gain of the clipped step (eq. 4), which Algorithm 3 uses.
- ``remember``: keeps a working set for both.

When they are called: :mod:`~svmrepro.solvers.decomposition._second_order_iteration`. The symbols are those of
:mod:`~svmrepro.solvers.decomposition.second_order`.
"""

from __future__ import annotations

from svmrepro.solvers.caches.active_set_rows import entry
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition._fixed_gradient import recall
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import clipped, room

_DEGENERATE = 1e-12


@compiled(forceinline=True)
def step_ahead(state, row1, row2, m, i, j, slope, Q, low, high):
    """Return the planned step of (i, j), and whether one exists within [low, high] (eq. 8, Algorithm 4).

    Among the latest working sets, the one with the largest double-step gain is used. Both steps must stay
    inside the box.
    """
    y, C, beta, G, position = state.y, state.C, state.beta, state.G, state.position
    first, second, curvature = state.first, state.second, state.curvature
    mu, planned, most = 0.0, False, 0.0
    for age in range(0, min(state.scalars.ages, state.first.size - 1)):
        a, b = position[first[age]], position[second[age]]
        if a >= m or b >= m:
            continue
        Q2 = curvature[age]
        cross = 1.0 * entry(row1, a) - entry(row1, b) - entry(row2, a) + entry(row2, b)
        determinant = Q * Q2 - cross * cross
        if determinant <= _DEGENERATE * Q * Q2:
            continue
        recall(state, a, a + 1)
        recall(state, b, b + 1)
        slope2 = G[a] - G[b]
        ahead = (Q2 * slope - cross * slope2) / determinant
        if not low < ahead < high:
            continue
        after = (slope2 - cross * ahead) / Q2
        beta_a = beta[a] + (ahead if a == i else (-ahead if a == j else 0.0))
        beta_b = beta[b] + (ahead if b == i else (-ahead if b == j else 0.0))
        low_a, high_a = (0.0, C[a]) if y[a] > 0.0 else (-C[a], 0.0)
        low_b, high_b = (0.0, C[b]) if y[b] > 0.0 else (-C[b], 0.0)
        if not max(low_a - beta_a, beta_b - high_b) < after < min(high_a - beta_a, beta_b - low_b):
            continue
        gain_of_both = slope * ahead - 0.5 * Q * ahead * ahead + 0.5 * Q2 * after * after
        if not planned or gain_of_both > most:
            mu, planned, most = ahead, True, gain_of_both
    return mu, planned


@compiled()
def best_exact(G, diagonal, row, status, beta, y, C, m, i, tiny):
    """Return the partner j of i with the largest gain of the clipped step, and twice that gain; or -1 and 0.

    The exact counterpart of :func:`~svmrepro.solvers.decomposition._pair_selection.best_partner`, which
    ignores the bounds. ``tiny`` replaces a curvature that is smaller.
    """
    j, best = -1, 0.0
    for k in range(m):
        slope = G[i] - G[k]
        if (status[k] & DOWN) == 0 or slope <= 0.0:
            continue
        curvature = max(diagonal[i] + diagonal[k] - 2.0 * entry(row, k), tiny)
        low, high = room(beta, y, C, i, k)
        mu = clipped(slope / curvature, low, high)
        twice_gain = (2.0 * slope - curvature * mu) * mu
        if twice_gain >= best:
            best, j = twice_gain, k
    return j, best


@compiled(forceinline=True)
def offered(state, m, exact, i, j, gain):
    """Return the pair of largest gain among (i, j) and earlier working sets, and its age, -1 for (i, j)."""
    scalars, G, status, position = state.scalars, state.G, state.status, state.position
    first, second, curvature = state.first, state.second, state.curvature
    chosen = -1
    for age in range(1, scalars.ages):
        a, b = position[first[age]], position[second[age]]
        if a >= m or b >= m:
            continue
        recall(state, a, a + 1)
        recall(state, b, b + 1)
        slope = G[a] - G[b]
        if slope < 0.0:
            a, b, slope = b, a, -slope
        if slope == 0.0 or (status[a] & UP) == 0 or (status[b] & DOWN) == 0:
            continue
        mu = slope / curvature[age]
        if exact:
            low, high = room(state.beta, state.y, state.C, a, b)
            mu = clipped(mu, low, high)
        value = (2.0 * slope - curvature[age] * mu) * mu
        if value > gain:
            gain, chosen = value, age
            i, j = a, b
    return i, j, chosen


@compiled(forceinline=True)
def remember(state, i, j, Q):
    """Insert the working set of two examples as the newest of the latest ones."""
    first, second, curvature = state.first, state.second, state.curvature
    for age in range(first.size - 1, 0, -1):
        first[age], second[age], curvature[age] = first[age - 1], second[age - 1], curvature[age - 1]
    first[0], second[0], curvature[0] = i, j, Q
    state.scalars.ages = min(state.scalars.ages + 1, first.size)
