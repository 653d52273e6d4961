"""Calls of the two passes of an iteration over pairs, on one thread or divided by a team.

`team.share` divides a pass and computes its parts; this module calls it and combines the results. The type of
the state decides between one thread and several: the code for several is compiled when it is used.
A pass over fewer entries than the team's limit is not divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from svmrepro.solvers.caches.active_set_rows import row_of
from svmrepro.solvers.caches.lru import claim
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition import _fixed_gradient as fixed_gradient
from svmrepro.solvers.decomposition._fixed_gradient import extremes_of, gain_of, is_fixed, stays_fixed
from svmrepro.solvers.decomposition._pair_selection import NONE, SPAN
from svmrepro.solvers.decomposition._rows_ahead import claim_rows, fetch_ahead
from svmrepro.solvers.decomposition.threads.team import (
    BELOW,
    BOTTOM,
    LARGEST,
    LEAST,
    LINE,
    MOVE,
    PARTNER,
    TOP,
    WHERE,
    fields_of,
    fill_part,
    share,
)

_LEAD = 1024  # entries by which the first part of a scan is longer: its thread neither waits nor answers


def _is_shared(state: Any) -> bool:
    return "team" in fields_of(state)["screen"].fields


@compiled()
def _claim(state, cache, panel, i, have, m):
    """Have slots for the row of i, and for others that are computed with it; return how many."""
    team, counts = state.screen.team, cache.counts
    if state.scalars.ahead:
        count = claim_rows(state, cache, panel, i, have, m, team.slots)
        for r in range(count):
            team.mates[r] = panel.tiles.mates[r]
        return count
    team.mates[0], team.slots[0] = i, claim(cache, i)
    counts.misses += 1
    counts.entries += m - have
    cache.have[team.slots[0]] = m
    cache.called[i] = counts.misses
    return 1


@compiled()
def _request_shared(state, cache, store, panel, block, shape, position, m, which):
    """Have a slot for the row of an example; return it, from where on the row is missing, and ``count``.

    The next pass fills it, and ``count - 1`` others. A short end is filled at once; ``count`` is 0 then.
    """
    i = np.int64(panel.order[position])
    slot = cache.slot_of[i]
    have = cache.have[slot] if slot >= 0 else 0
    if m - have < state.screen.team.words[LEAST] or (cache.packed.shape[0] > 0 and cache.packed.itemsize > 1):
        return fetch_ahead(state, cache, store, panel, block, shape, i, m, which), m, 0
    count = _claim(state, cache, panel, i, have, m)
    return state.screen.team.slots[0], have, count


@compiled()
def _second_row_shared(state, cache, store, panel, block, shape, position, m):
    """Request the row of the second example; have the entries that planning needs."""
    slot, have, count = _request_shared(state, cache, store, panel, block, shape, position, m, 1)
    request = state.screen.team.request
    request[0], request[1], request[2] = position, have, count
    if count and (state.scalars.free or state.scalars.plan == 2):
        touched = cache.counts.touched
        for age in range(0, min(state.scalars.ages, state.scalars.sets)):
            for example in (state.first[age], state.second[age]):
                at = state.position[example]
                if have <= at < m:
                    fill_part(state, cache, store, panel, block, shape, position, slot, 1, at, at + 1)
        cache.counts.touched = touched  # the pass reads them again
    return slot


@compiled()
def _partner_shared(state, cache, store, panel, block, shape, slot, m, i, fixed):
    words, values = state.screen.team.words, state.screen.team.values
    have, count = m, 0
    if slot < 0:
        slot, have, count = _request_shared(state, cache, store, panel, block, shape, i, m, 0)
    share(
        state, cache, store, panel, block, shape, PARTNER, fixed, 0, m, SPAN, _LEAD, slot, 0, i, have, count,
        0.0,
    )  # fmt: skip
    j, best = np.int64(-1), 0.0
    for at in range(LINE, words.size, LINE):
        if words[at + WHERE] >= 0 and values[at + TOP] >= best:
            j, best = words[at + WHERE], values[at + TOP]
    return slot, j, best


@compiled()
def _move_shared(state, cache, store, panel, block, shape, slot1, slot2, mu, m, fixed):
    words, values = state.screen.team.words, state.screen.team.values
    request = state.screen.team.request
    j, have, count = request[0], request[1], request[2]
    request[2] = 0
    share(
        state, cache, store, panel, block, shape, MOVE, fixed, 0, m, SPAN, _LEAD, slot1, slot2, j, have,
        count, mu,
    )  # fmt: skip
    above, top, below, bottom, largest = np.int64(-1), NONE, np.int64(-1), -NONE, np.int64(0)
    for at in range(LINE, words.size, LINE):
        if words[at + WHERE] >= 0 and values[at + TOP] >= top:
            above, top = words[at + WHERE], values[at + TOP]
        if values[at + BOTTOM] < bottom:
            below, bottom = words[at + BELOW], values[at + BOTTOM]
        largest = max(largest, words[at + LARGEST])
    return above, top, below, bottom, largest


def request(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, position: int, m: int
) -> int:
    """Return the slot of a row that is not kept, to be filled by :func:`move` at the latest.

    Entries at the positions of earlier working sets are there at once.
    """
    if hasattr(state.screen, "team"):
        return int(_second_row_shared(state, cache, store, panel, block, shape, position, m))
    return int(fetch_ahead(state, cache, store, panel, block, shape, panel.order[position], m, 1))


@overload(request, inline="always")
def _request(state, cache, store, panel, block, shape, position, m):
    if _is_shared(state):
        return lambda state, cache, store, panel, block, shape, position, m: _second_row_shared(
            state, cache, store, panel, block, shape, position, m
        )
    return lambda state, cache, store, panel, block, shape, position, m: fetch_ahead(
        state, cache, store, panel, block, shape, np.int64(panel.order[position]), m, 1
    )


@compiled()
def _partner_of_team(state, cache, store, panel, block, shape, slot, m, i):
    return _partner_shared(state, cache, store, panel, block, shape, slot, m, i, False)


@compiled()
def _partner_of_team_fixed(state, cache, store, panel, block, shape, slot, m, i):
    fixed = state.screen.scalars.valid
    slot, j, gain = _partner_shared(state, cache, store, panel, block, shape, slot, m, i, fixed)
    if fixed:
        j, gain = gain_of(state, row_of(cache, panel, slot), i, j, state.scalars.tiny)
    return slot, j, gain


def find_partner(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, slot: int, m: int, i: int
) -> Any:
    """Return the slot of i's row, which is computed if it is -1, and the best partner and its gain.

    See :func:`~svmrepro.solvers.decomposition._fixed_gradient.partner`.
    """
    if hasattr(state.screen, "team"):
        find = _partner_of_team_fixed if is_fixed(state) else _partner_of_team
        return find(state, cache, store, panel, block, shape, slot, m, i)
    if slot < 0:
        slot = fetch_ahead(state, cache, store, panel, block, shape, np.int64(panel.order[i]), m, 0)
    row, scalars = row_of(cache, panel, slot), state.scalars
    return slot, *fixed_gradient.partner(state, row, m, i, scalars.tiny, cache.rows, scalars.bottom)


@overload(find_partner, inline="always")
def _find_partner(state, cache, store, panel, block, shape, slot, m, i):
    def alone(state, cache, store, panel, block, shape, slot, m, i):
        if slot < 0:
            slot = fetch_ahead(state, cache, store, panel, block, shape, np.int64(panel.order[i]), m, 0)
        j, gain = fixed_gradient.partner(
            state, row_of(cache, panel, slot), m, i, state.scalars.tiny, cache.rows, state.scalars.bottom
        )
        return slot, j, gain

    if _is_shared(state):
        find = _partner_of_team_fixed if is_fixed(state) else _partner_of_team
        return lambda state, cache, store, panel, block, shape, slot, m, i: find(
            state, cache, store, panel, block, shape, slot, m, i
        )
    return alone


@compiled()
def _step_of_team(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps):
    return _move_shared(state, cache, store, panel, block, shape, slot1, slot2, mu, m, False)[:4]


@compiled()
def _step_of_team_fixed(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps):
    fixed = stays_fixed(state, mu, Q, m, eps)
    above, top, below, bottom, largest = _move_shared(
        state, cache, store, panel, block, shape, slot1, slot2, mu, m, fixed
    )
    if fixed:
        return extremes_of(state, top, above, bottom, largest)
    error = state.scalars.error
    return above, top + error, below, bottom - error


def move(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, slot1: int, slot2: int, mu: float,
    Q: float, m: int, eps: float,
) -> Any:  # fmt: skip
    """Do what :func:`~svmrepro.solvers.decomposition._fixed_gradient.move` does, for two slots' rows."""
    if hasattr(state.screen, "team"):
        step = _step_of_team_fixed if is_fixed(state) else _step_of_team
        return step(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps)
    row1, row2 = row_of(cache, panel, slot1), row_of(cache, panel, slot2)
    return fixed_gradient.move(state, row1, row2, mu, Q, m, cache.rows, eps)


@overload(move, inline="always")
def _move(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps):
    if _is_shared(state):
        step = _step_of_team_fixed if is_fixed(state) else _step_of_team
        return lambda state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps: step(
            state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps
        )
    return lambda state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps: fixed_gradient.move(
        state, row_of(cache, panel, slot1), row_of(cache, panel, slot2), mu, Q, m, cache.rows, eps
    )
