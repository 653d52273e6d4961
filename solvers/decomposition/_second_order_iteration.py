"""The iteration of SMO with second-order working sets and planning ahead (Algorithms 1 to 5).

``iterate`` is the whole loop, for all the solvers of `second_order`; there are the symbols of the paper. The
planned step and the earlier working sets that are candidates are computed in `_planned_step`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import entry, fetch, kept, row_of
from svmrepro.solvers.caches.feature_columns import PANEL
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition._fixed_gradient import begin, recall
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import CALLS, STATE, clipped, place, room
from svmrepro.solvers.decomposition._planned_step import best_exact, offered, remember, step_ahead
from svmrepro.solvers.decomposition._shrinking import mark_leavers
from svmrepro.solvers.decomposition.threads.divided_passes import complete, fetch_rows, find_partner, move
from svmrepro.solvers.storage.row_products import STORE

RUNNING, SHRINK, CONVERGED, NEARLY = range(4)

_ETA = 0.9
WORTH = 10  # shrink if at least one active example in this many can leave
WORTH_OF_SINGLES = 7  # the same for kept rows in single precision: rearranging them takes long
ITERATION, ENTRIES = 300, 4  # cost of an iteration in entries read: fixed, and for each active example
BETWEEN_FREE = 600  # fixed cost of one between free multipliers, in entries that a polish would read

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


def signature(cache: Any, state: Any = STATE) -> Any:
    """Return the signature of :func:`iterate` for a type of cache, and of state."""
    return types.int64(state, cache, STORE, PANEL, *CALLS, types.float64, types.int64, types.int64)


@compiled()
def iterate(state, cache, store, panel, block, shape, eps, slice_work, step_limit):
    """Iterate until the caller has to act.

    Returns
    -------
    int
        ``CONVERGED``: the gap over the active set is at most eps. ``NEARLY``: it is at most 10 eps, and the
        whole set is still to be checked near the end. ``SHRINK``: enough of the active set is marked to
        leave. ``RUNNING``: the slice, the step limit or the allowed work between free multipliers
        is used up.
    """
    y, C, beta, G = state.y, state.C, state.beta, state.G
    diagonal, status = state.diagonal, state.status
    scalars, order = state.scalars, panel.order
    plan, offer = scalars.plan, scalars.offer
    stretch, tiny = scalars.stretch, scalars.tiny
    m = scalars.n_active
    stop_at = scalars.ticks + slice_work
    while True:
        begin(state, eps, m)
        gap = scalars.g_max - scalars.g_min
        if gap <= eps:
            return CONVERGED
        if scalars.near_end and gap <= 10.0 * eps:
            return NEARLY
        if scalars.steps >= step_limit or scalars.ticks >= stop_at:
            return RUNNING
        if scalars.between_free >= scalars.between_free_stop:
            return RUNNING
        if scalars.steps >= scalars.shrink_at:
            scalars.shrink_at = scalars.steps + scalars.shrink_interval
            recall(state, 0, m)
            if mark_leavers(state) * scalars.worth >= m:
                return SHRINK
        computed = cache.counts.touched
        # Select the working set.
        i = scalars.top
        slot = kept(cache, order[i], m)
        if slot < 0:
            slot = fetch_rows(state, cache, store, panel, block, shape, np.int64(order[i]), m, 0)
        row1 = row_of(cache, panel, slot)
        after_planned = (offer == 1 or offer == 4) and scalars.planned
        offering = offer == 3 or after_planned or (offer == 2 and not scalars.planned)
        exact = offering and offer < 3 and not (1.0 - _ETA <= scalars.ratio <= 1.0 + _ETA)
        if exact:
            complete(state, cache, store, panel, block, shape, m)
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
            complete(state, cache, store, panel, block, shape, m)
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
            scalars.between_free += BETWEEN_FREE + ENTRIES * m
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
