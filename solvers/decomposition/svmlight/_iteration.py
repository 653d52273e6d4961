"""The iteration with small working sets; see :mod:`.classification`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.caches.active_set_rows import fetch
from svmrepro.solvers.caches.feature_columns import PANEL
from svmrepro.solvers.caches.lru import CACHE, forget
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.intrinsics import larger
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.decomposition._pair_selection import DOWN, NONE, UP
from svmrepro.solvers.decomposition._pair_state import CALLS, SNAP, STATE, place
from svmrepro.solvers.quadratic_programs.working_set_qp import WorkingSetQP, release, solve_small, worst
from svmrepro.solvers.quadratic_programs.working_set_qp import allocate as allocate_qp
from svmrepro.solvers.storage.row_products import DOTS, MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR

RUNNING, SHRINK, CONVERGED, STUCK, ZIGZAGGING = range(5)  # how a slice ends
SPAN = 256
_STRETCH = 1024  # entries of G updated at a time: a multiple of SPAN
LOOK = 10  # iterations between checks for examples resting at a bound, as in SVM-light
_WORTH = 4  # shrink if at least one active example in this many can leave
_MEMORY = 0.7  # decay of the running mean of the violation, as in SVM-light
_LONGEST = 255  # largest count of checks
_ITERATION = 800  # fixed cost of an iteration, in entries read


class SvmLightScalars:
    """The scalars of an iteration that SMO over pairs does not have."""

    q: int  # size of the working set
    equality: bool  # whether there is a bias
    folded: bool  # whether G comes from a weight vector
    forgets: bool  # whether rows are discarded after each iteration
    prefers_kept: bool  # whether half of the working set is chosen among cached rows
    patience: int  # iterations that an example must rest at a bound before it leaves
    margin: float  # running mean of the violation
    widen_at: int  # the step at which the working set grows
    qp_rounds: int
    pair_steps: int  # steps of the worst pair, after the small program gained nothing


class Work(NamedTuple):
    """Workspace of an iteration beyond the state of SMO over pairs; q is the working set's size."""

    qp: WorkingSetQP
    calm: Any  # uint8, (n,), consecutive checks at which an example rested at its bound
    peaks: Any  # (2, spans), largest G over I_up and largest -G over I_down of each span
    values: Any  # (q,)
    tops: Any  # int64, (q,), positions of the largest G over I_up; bottoms: of the smallest over I_down
    bottoms: Any
    chosen: Any  # int64, (q,), positions of the working set
    slots: Any  # int64, (q,), slots of their rows
    steps: Any  # (q,), changes of beta
    moved: Any  # int64, (q,), rows of the multipliers that changed
    weights: Any  # (d + 1,) folded weight vector, or empty
    outputs: Any  # (n,) w.x if folded
    one: Any  # uint32, (1,)
    scalars: SvmLightScalars


def of_size(q: int) -> dict[str, Any]:
    """Return the workspace that depends on the size of the working set."""
    return {
        "qp": allocate_qp(q),
        "values": np.zeros(q),
        "tops": np.zeros(q, dtype=np.int64),
        "bottoms": np.zeros(q, dtype=np.int64),
        "chosen": np.zeros(q, dtype=np.int64),
        "slots": np.zeros(q, dtype=np.int64),
        "steps": np.zeros(q),
        "moved": np.zeros(q, dtype=np.int64),
    }


def allocate(n: int, d: int, q: int, folded: bool) -> Work:
    """Return workspace for n examples of d features."""
    scalars = zeroed(SvmLightScalars)
    scalars.margin = 2.0  # the violation at alpha = 0 of labels -1 and +1
    return Work(
        **of_size(q),
        calm=np.zeros(n, dtype=np.uint8),
        peaks=np.full((2, n // SPAN + 1), NONE),
        weights=np.zeros(d + 1 if folded else 0),
        outputs=np.zeros(n if folded else 0),
        one=np.zeros(1, dtype=np.uint32),
        scalars=scalars,
    )


WORK = typeof(allocate(1, 1, 2, True))
FOLD = (types.FunctionType(DOTS), types.FunctionType(PRODUCTS), types.FunctionType(UPDATE))


@compiled(fastmath={"nnan", "nsz"})
def survey(G, status, peaks, first, size):
    """Record the extremes of one span."""
    g, s = G[first : first + size], status[first : first + size]
    highest, lowest = NONE, NONE
    for k in range(size):
        rises = g[k] if (s[k] & UP) != 0 else NONE
        falls = -g[k] if (s[k] & DOWN) != 0 else NONE
        highest = larger(rises, highest)
        lowest = larger(falls, lowest)
    peaks[0, first // SPAN] = highest
    peaks[1, first // SPAN] = lowest


@compiled()
def shift(G, rows, moved, steps, count, status, peaks, m):
    """``G -= sum of steps[j] rows[moved[j]]``, and record the extremes of each span."""
    for first in range(0, m, _STRETCH):
        size = min(_STRETCH, m - first)
        g = G[first : first + size]
        j = 0
        while j + 4 <= count:
            a0, a1, a2, a3 = steps[j], steps[j + 1], steps[j + 2], steps[j + 3]
            r0 = rows[moved[j], first : first + size]
            r1 = rows[moved[j + 1], first : first + size]
            r2 = rows[moved[j + 2], first : first + size]
            r3 = rows[moved[j + 3], first : first + size]
            for k in range(size):
                g[k] -= (a0 * r0[k] + a1 * r1[k]) + (a2 * r2[k] + a3 * r3[k])
            j += 4
        while j < count:
            a0, r0 = steps[j], rows[moved[j], first : first + size]
            for k in range(size):
                g[k] -= a0 * r0[k]
            j += 1
        for begin in range(first, first + size, SPAN):
            survey(G, status, peaks, begin, min(SPAN, m - begin))


@compiled()
def extremes_of(state, work, m):
    """Compute the largest G over I_up and the smallest over I_down from the extremes of the spans."""
    top, bottom = NONE, NONE
    for s in range((m + SPAN - 1) // SPAN):
        top, bottom = max(top, work.peaks[0, s]), max(bottom, work.peaks[1, s])
    state.scalars.g_max, state.scalars.g_min = top, -bottom


@compiled(types.void(STATE, WORK, types.int64))
def survey_all(state, work, m):
    """Record the extremes of every span, and overall."""
    for first in range(0, m, SPAN):
        survey(state.G, state.status, work.peaks, first, min(SPAN, m - first))
    extremes_of(state, work, m)


@compiled()
def violation(scalars, equality):
    """Return the largest violation of an example's condition, at the best threshold."""
    if equality:
        return 0.5 * (scalars.g_max - scalars.g_min)
    return max(scalars.g_max, -scalars.g_min)


@compiled()
def insert(values, places, count, most, value, where):
    """Insert into a descending list of the ``most`` largest values, ties in order; return its length."""
    if count < most:
        at = count
        count += 1
    elif value > values[count - 1]:
        at = count - 1
    else:
        return count
    while at > 0 and values[at - 1] < value:
        values[at], places[at] = values[at - 1], places[at - 1]
        at -= 1
    values[at], places[at] = value, where
    return count


@compiled()
def best_of_all(G, status, peaks, bit, sign, most, m, values, places):
    """List the ``most`` movable examples with the largest ``sign G``; return their number."""
    spans = (m + SPAN - 1) // SPAN
    count = 0
    for s in range(spans):
        if peaks[s] > NONE:
            count = insert(values, places, count, most, peaks[s], s)
    # At least ``most`` spans have a value this large.
    bar = values[count - 1] if count == most else NONE
    count = 0
    for s in range(spans):
        if peaks[s] < bar or peaks[s] <= NONE:
            continue
        for k in range(s * SPAN, min((s + 1) * SPAN, m)):
            value = sign * G[k]
            if (status[k] & bit) != 0 and (count < most or value > values[count - 1]):
                count = insert(values, places, count, most, value, k)
    return count


@compiled()
def best_of_cached(G, status, cache, position, bit, sign, most, m, values, places):
    """List examples like :func:`best_of_all`, among those with a cached kernel row."""
    count = 0
    for slot in range(cache.owner.size):
        if cache.owner[slot] < 0:
            continue
        k = position[cache.owner[slot]]
        if k < m and (status[k] & bit) != 0:
            value = sign * G[k]
            if count < most or value > values[count - 1]:
                count = insert(values, places, count, most, value, k)
    return count


@compiled()
def admit(work, count, most, k):
    """Add a position to the working set unless it is in it or the set is full; return its size."""
    if count >= most:
        return count
    for t in range(count):
        if work.chosen[t] == k:
            return count
    work.chosen[count] = k
    return count + 1


@compiled()
def admit_listed(G, work, count, most, risers, fallers, fills):
    """Add tops and bottoms in turn while they violate, or always if ``fills``; return the set's size."""
    tops, bottoms = work.tops, work.bottoms
    if work.scalars.equality:
        for k in range(min(risers, fallers)):
            if G[tops[k]] <= G[bottoms[k]] and not fills:
                break
            count = admit(work, count, most, tops[k])
            count = admit(work, count, most, bottoms[k])
        return count
    up, down = 0, 0
    while up < risers or down < fallers:
        rises = G[tops[up]] if up < risers else NONE
        falls = -G[bottoms[down]] if down < fallers else NONE
        if rises <= 0.0 and falls <= 0.0 and not fills:
            break
        if rises >= falls:
            count = admit(work, count, most, tops[up])
            up += 1
        else:
            count = admit(work, count, most, bottoms[down])
            down += 1
    return count


@compiled()
def choose_working_set(state, work, cache, m):
    """Write the working set, the steepest feasible direction of q nonzero entries; return its size.

    The worst pair comes first. If rows are cached, half of the set is then chosen among their examples.
    """
    G, status, peaks, values = state.G, state.status, work.peaks, work.values
    q = work.scalars.q
    most = q // 2 if work.scalars.equality else q
    count = 0
    for part in range(0 if work.scalars.prefers_kept else 2, 3):
        reach, room, fills = (1 if part == 0 else most), q, part == 2
        if part == 1:
            reach, room = most // 2, 2 + q // 2
            risers = best_of_cached(G, status, cache, state.position, UP, 1.0, reach, m, values, work.tops)
            fallers = best_of_cached(
                G, status, cache, state.position, DOWN, -1.0, reach, m, values, work.bottoms
            )
        else:
            risers = best_of_all(G, status, peaks[0], UP, 1.0, reach, m, values, work.tops)
            fallers = best_of_all(G, status, peaks[1], DOWN, -1.0, reach, m, values, work.bottoms)
        count = admit_listed(G, work, count, room, risers, fallers, fills)
    return count


@compiled()
def mark_calm(state, work, m):
    """Mark the examples that have rested at a bound for long enough; return how many.

    An example rests if it satisfies its condition by more than the running mean of the largest violation, at
    the midpoint threshold.
    """
    G, status, calm, goes = state.G, state.status, work.calm, state.goes
    middle = 0.5 * (state.scalars.g_max + state.scalars.g_min) if work.scalars.equality else 0.0
    low, high = middle - work.scalars.margin, middle + work.scalars.margin
    enough = min(work.scalars.patience // LOOK, _LONGEST)
    count = 0
    for k in range(m):
        rests = (status[k] == UP and G[k] < low) or (status[k] == DOWN and G[k] > high)
        calm[k] = min(np.int64(calm[k]) + 1, _LONGEST) if rests else 0
        leaves = rests and calm[k] >= enough
        goes[k] = 1 if leaves else 0
        count += 1 if leaves else 0
    state.scalars.leavers = count
    return count


@compiled(types.void(STATE, WORK, CACHE, STORE, types.FunctionType(PRODUCTS), MEMBERS, types.int64))
def fold_gradient(state, work, cache, store, products, order, m):
    """Compute G of the first m positions from the folded weight vector."""
    G, y, outputs = state.G, state.y, work.outputs
    cache.counts.touched += products(store, work.weights, order, m, outputs)
    cache.counts.entries += m
    for k in range(m):
        G[k] = y[k] - outputs[k]


@compiled()
def optimise(state, work, size, eps):
    """Solve for the working set, whose kernel minor is set, and move its multipliers.

    Returns
    -------
    gain : float
        Increase of W.
    count : int
        Number of multipliers that changed; ``work.steps`` and ``work.moved`` hold the changes and their
        places in the set.
    """
    qp, chosen, steps = work.qp, work.chosen, work.steps
    G, beta, y, C = state.G, state.beta, state.y, state.C
    scale = 0.0
    for a in range(size):
        k = chosen[a]
        low, high = (0.0, C[k]) if y[k] > 0.0 else (-C[k], 0.0)
        qp.low[a], qp.high[a], qp.g[a] = low - beta[k], high - beta[k], G[k]
        scale += abs(beta[k])
    work.scalars.qp_rounds += solve_small(qp, size, work.scalars.equality)
    gain = 0.0
    for a in range(size):
        gain += 0.5 * (qp.g[a] + G[chosen[a]]) * qp.d[a]
    if not gain > 0.0:
        work.scalars.pair_steps += 1
        for a in range(size):
            qp.d[a], qp.g[a] = 0.0, G[chosen[a]]
        _, riser, faller = worst(qp, size, work.scalars.equality)
        gain = release(qp, size, riser, faller)
        if not gain > 0.0:
            return 0.0, 0
    count = 0
    for a in range(size):
        k = chosen[a]
        before = beta[k]
        if qp.d[a] != 0.0:
            # Rounding of the others in the set is removed, unless that would change an output by much.
            harmless = SNAP * scale * abs(qp.K[a, a]) <= 0.01 * eps
            terms = scale if harmless else abs(before) + abs(qp.d[a])
            place(beta, state.status, y, C, k, before + qp.d[a], terms)
        if beta[k] != before:
            steps[count], work.moved[count] = beta[k] - before, a
            state.scalars.drift += abs(steps[count])
            count += 1
    return gain, count


@compiled(forceinline=True)
def kernel_minor(work, cache, store, panel, block, shape, dots, m, size):
    """Write the kernel values between examples of the working set into the small program."""
    K, chosen, order = work.qp.K, work.chosen, panel.order
    for a in range(size):
        i = np.int64(order[chosen[a]])
        if not work.scalars.folded:
            work.slots[a] = fetch(cache, store, panel, block, shape, i, m, a)
            for b in range(a + 1):
                K[a, b] = cache.rows[work.slots[a], chosen[b]]
                K[b, a] = K[a, b]
            continue
        for b in range(a + 1):
            work.one[0] = order[chosen[b]]
            cache.counts.touched += dots(store, i, work.one, 1, work.values)
            cache.counts.entries += 1
            K[a, b], K[b, a] = work.values[0], work.values[0]


@compiled(forceinline=True)
def follow_step(state, work, cache, store, products, update, order, m, count):
    """Update G for the multipliers that have changed, and record the extremes of each span."""
    moved, steps = work.moved, work.steps
    if work.scalars.folded:
        for j in range(count):
            i = np.int64(order[work.chosen[moved[j]]])
            cache.counts.touched += update(store, i, steps[j], work.weights)
        fold_gradient(state, work, cache, store, products, order, m)
        for first in range(0, m, SPAN):
            survey(state.G, state.status, work.peaks, first, min(SPAN, m - first))
    else:
        for j in range(count):
            moved[j] = work.slots[moved[j]]
        shift(state.G, cache.rows, moved, steps, count, state.status, work.peaks, m)


@compiled(
    types.int64(STATE, WORK, CACHE, STORE, PANEL, *CALLS, *FOLD, types.float64, types.int64, types.int64),
)
def iterate(
    state, work, cache, store, panel, block, shape, dots, products, update, eps, slice_work, step_limit
):
    """Iterate until the caller has to act.

    Returns
    -------
    int
        ``CONVERGED``: the largest violation over the active set is at most eps. ``SHRINK``: at least a
        quarter of the active set is marked to leave. ``ZIGZAGGING``: the working set is due to grow.
        ``STUCK``: no multiplier changed. ``RUNNING``: the slice or the step limit is used up.
    """
    scalars, order, equality = state.scalars, panel.order, work.scalars.equality
    m = scalars.n_active
    stop_at = scalars.ticks + slice_work
    while True:
        off = violation(scalars, equality)
        if off <= eps:
            return CONVERGED
        if scalars.steps >= step_limit or scalars.ticks >= stop_at:
            return RUNNING
        if scalars.steps >= work.scalars.widen_at:
            return ZIGZAGGING
        if scalars.steps >= scalars.shrink_at:
            scalars.shrink_at = scalars.steps + LOOK
            if mark_calm(state, work, m) * _WORTH >= m:
                return SHRINK
        work.scalars.margin = _MEMORY * work.scalars.margin + (1.0 - _MEMORY) * off
        touched, rounds = cache.counts.touched, work.scalars.qp_rounds
        size = choose_working_set(state, work, cache, m)
        if work.scalars.forgets:
            forget(cache)
        kernel_minor(work, cache, store, panel, block, shape, dots, m, size)
        gain, count = optimise(state, work, size, eps)
        if count == 0:
            return STUCK
        scalars.objective += gain
        follow_step(state, work, cache, store, products, update, order, m, count)
        extremes_of(state, work, m)
        scalars.steps += 1
        scalars.updates += m
        scalars.ticks += _ITERATION + (2 + count) * m + cache.counts.touched - touched
        # A round of the small program factors a minor (cubic cost) and follows a direction (quadratic).
        scalars.ticks += (work.scalars.qp_rounds - rounds) * size * size * (6 + size // 2)


@compiled(types.int64(STORE, types.FunctionType(UPDATE), MEMBERS, VECTOR, VECTOR))
def fold_all(store, update, order, beta, weights):
    """Recompute the folded weight vector from all multipliers; return entries read."""
    touched = 0
    for c in range(weights.size):
        weights[c] = 0.0
    for k in range(beta.size):
        if beta[k] != 0.0:
            touched += update(store, np.int64(order[k]), beta[k], weights)
    return touched
