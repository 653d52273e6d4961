"""The iteration of SMO with second-order working sets and planning ahead, see `second_order`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import CACHE, entry, fetch, kept, row_of
from svmrepro.solvers.caches.feature_columns import PANEL
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition._fixed_gradient import begin, recall
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import (
    CALLS,
    STATE,
    clipped,
    place,
    room,
)
from svmrepro.solvers.decomposition._shrinking import mark_leavers
from svmrepro.solvers.decomposition.threads.passes import fetch_rows, find_partner, move
from svmrepro.solvers.storage.row_products import STORE

RUNNING, SHRINK, CONVERGED, NEARLY = range(4)

_ETA = 0.9
_DEGENERATE = 1e-12
_WORTH = 10  # shrink if at least one active example in this many can leave
ITERATION, ENTRIES = 100, 4  # cost of an iteration in entries read: fixed, and for each active example

RATIO_BINS = 51
"""Number of bins for step lengths relative to Newton's, see :func:`tally`."""
_LOW, _WIDTH = -2.05, 0.1


@compiled(forceinline=True)
def tally(lengths, ratio, planned):
    """Count a step ``ratio`` times as long as Newton's in the histogram.

    The axis is that of Figure 3, ``ratio - 1 = sign(t) (10^(t^2 / 2) - 1)``, in bins of width 0.1, one of
    them centred at t = 0. The first and last bins include everything beyond them.
    """
    t = math.sqrt(2.0 * math.log10(1.0 + abs(ratio - 1.0)))
    t = -t if ratio < 1.0 else t
    bin_ = min(max((t - _LOW) / _WIDTH, 0.0), lengths.shape[1] - 1.0)
    lengths[1 if planned else 0, int(bin_)] += 1


@compiled(forceinline=True)
def pair_gains(scalars, planned, gained, newton_gain):
    """Keep the least gain of a planned step and the next one, relative to Newton's gain in its place."""
    if scalars.newton_gain > 0.0:
        both = (scalars.planned_gain + gained) / scalars.newton_gain
        scalars.least_double_gain = min(scalars.least_double_gain, both)
    scalars.planned_gain, scalars.newton_gain = gained, newton_gain if planned else 0.0


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
def step_ahead(state, row1, row2, m, i, j, slope, Q, low, high):
    """Return the planned step of (i, j), and whether one exists within [low, high] (eq. 8, Algorithm 4).

    Among the latest working sets, the one with the largest double-step gain is used. Both steps must stay
    inside the box.
    """
    y, C, beta, G, position = state.y, state.C, state.beta, state.G, state.position
    first, second, curvature = state.first, state.second, state.curvature
    mu, planned, most = 0.0, False, 0.0
    for age in range(0, min(state.scalars.ages, state.scalars.sets)):
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


@compiled(forceinline=True)
def remember(state, i, j, Q):
    """Insert the working set of two examples as the newest of the latest ones."""
    first, second, curvature = state.first, state.second, state.curvature
    for age in range(first.size - 1, 0, -1):
        first[age], second[age], curvature[age] = first[age - 1], second[age - 1], curvature[age - 1]
    first[0], second[0], curvature[0] = i, j, Q
    state.scalars.ages = min(state.scalars.ages + 1, first.size)


def signature(cache: Any, state: Any = STATE) -> Any:
    """Return the signature of :func:`iterate` for a type of cache, and of state."""
    return types.int64(state, cache, STORE, PANEL, *CALLS, types.float64, types.int64, types.int64)


@compiled(signature(CACHE))
def iterate(state, cache, store, panel, block, shape, eps, slice_work, step_limit):
    """Iterate until the caller has to act.

    Returns
    -------
    int
        ``CONVERGED``: the gap over the active set is at most eps. ``NEARLY``: it is at most 10 eps, and the
        whole set is still to be checked near the end. ``SHRINK``: at least a tenth of the active set is
        marked to leave. ``RUNNING``: the slice or the step limit is used up.
    """
    y, C, beta, G = state.y, state.C, state.beta, state.G
    diagonal, status = state.diagonal, state.status
    scalars, order = state.scalars, panel.order
    plan, offer = scalars.plan, scalars.offer
    stretch, tiny = scalars.stretch, scalars.tiny
    m = scalars.n_active
    begin(state, eps, m)
    stop_at = scalars.ticks + slice_work
    while True:
        gap = scalars.g_max - scalars.g_min
        if gap <= eps:
            return CONVERGED
        if scalars.near_end and gap <= 10.0 * eps:
            return NEARLY
        if scalars.steps >= step_limit or scalars.ticks >= stop_at:
            return RUNNING
        if scalars.steps >= scalars.shrink_at:
            scalars.shrink_at = scalars.steps + scalars.shrink_interval
            recall(state, 0, m)
            if mark_leavers(state) * _WORTH >= m:
                return SHRINK
        computed = cache.counts.touched
        # Select the working set.
        i = scalars.top
        slot = kept(cache, order[i], m)
        if slot < 0:
            slot = fetch_rows(state, cache, store, panel, block, shape, np.int64(order[i]), m, 0)
        row1 = row_of(cache, panel, slot)
        offering = offer == 3 or (offer == 1 and scalars.planned) or (offer == 2 and not scalars.planned)
        exact = offering and offer != 3 and not (1.0 - _ETA <= scalars.ratio <= 1.0 + _ETA)
        if exact:
            recall(state, 0, m)
            j, gain = best_exact(G, diagonal, row1, status, beta, y, C, m, i, tiny)
        else:
            j, gain = find_partner(state, cache, store, panel, block, shape, slot, m, i)
        if offering:
            i, j, chosen = offered(state, m, exact, i, j, gain)
            if chosen >= 0:
                scalars.offered_taken += 1
                slot = fetch(cache, store, panel, block, shape, np.int64(order[i]), m, 0)
                row1 = row_of(cache, panel, slot)
        slot2 = kept(cache, order[j], m)
        if slot2 < 0:
            slot2 = fetch_rows(state, cache, store, panel, block, shape, np.int64(order[j]), m, 1)
        row2 = row_of(cache, panel, slot2)
        # Find the step.
        recall(state, i, i + 1)
        recall(state, j, j + 1)
        slope = G[i] - G[j]
        Q = max(diagonal[i] + diagonal[j] - 2.0 * entry(row1, j), tiny)
        low, high = room(beta, y, C, i, j)
        newton = slope / Q
        mu, planned = 0.0, False
        if (plan == 1 and scalars.free) or (plan == 2 and not scalars.planned):
            mu, planned = step_ahead(state, row1, row2, m, i, j, slope, Q, low, high)
        if not planned:
            mu = clipped(stretch * newton, low, high)
        scalars.planned = planned
        scalars.free = not planned and low < mu < high
        scalars.planned_steps += 1 if planned else 0
        scalars.ratio = mu / newton
        remember(state, np.int64(order[i]), np.int64(order[j]), Q)
        # Take it.
        gained = (slope - 0.5 * (diagonal[i] + diagonal[j] - 2.0 * entry(row1, j)) * mu) * mu
        if status[i] == UP | DOWN and status[j] == UP | DOWN:
            scalars.between_free += 1
            scalars.between_free_entries += m
            scalars.between_free_gain += gained
        if state.lengths.shape[1]:
            tally(state.lengths, scalars.ratio, planned)
            pair_gains(scalars, planned, gained, 0.5 * slope * newton)
        place(beta, status, y, C, i, beta[i] + mu, abs(beta[i]) + abs(mu))
        place(beta, status, y, C, j, beta[j] - mu, abs(beta[j]) + abs(mu))
        scalars.objective += gained
        scalars.drift += abs(mu)
        scalars.top, scalars.g_max, scalars.bottom, scalars.g_min = move(
            state, cache, store, panel, block, shape, slot, slot2, mu, Q, m, eps
        )
        scalars.steps += 1
        scalars.updates += m
        scalars.ticks += ITERATION + ENTRIES * m + cache.counts.touched - computed
