"""Calls each pass of an iteration over pairs on one thread, or in parts on several, and combines the results.

`team.share` cuts a pass into parts and computes them. The type of the state decides between one thread and
several: the code for several is compiled when it is used. A pass over fewer entries than the team's limit is
not divided.

Functions are inlined where it matters: a call would copy some four hundred words of the state, the cache and
the examples, which takes longer than handing a pass over.

A row is computed by the pass that needs it, if each part of it needs no more of the row than it computes. A
pass of its own computes it before a planned step, and before a search that begins with a known partner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from svmrepro.solvers.caches.active_set_rows import row_of
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.lru import claim
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded
from svmrepro.solvers.decomposition import _fixed_gradient as fixed_gradient
from svmrepro.solvers.decomposition._fixed_gradient import extremes_of, gain_of, is_fixed, stays_fixed
from svmrepro.solvers.decomposition._pair_selection import NONE, SPAN
from svmrepro.solvers.decomposition._rows_ahead import claim_rows, fetch_ahead
from svmrepro.solvers.decomposition.threads.team import (
    BELOW,
    BOTTOM,
    EXAMPLE,
    FILL,
    HAVE,
    IN_FIXED_POINT,
    LARGEST,
    LEAST,
    LINE,
    MOVE,
    PARTNER,
    ROWS,
    TOP,
    WANTED,
    WHERE,
    fields_of,
    perform,
    share,
)


def _is_shared(state: Any) -> bool:
    return "team" in fields_of(state)["screen"].fields


@compiled(forceinline=True)
def _unit(store):
    """Return the multiple at which parts begin.

    For each stretch of a row, the entries of its own sparse example are read anew: no stretch is cut, so that
    the work, on which the time of a polish depends, is that of one thread.
    """
    return STRETCH if store.indices.size > 0 else SPAN


@compiled(forceinline=True)
def _claim(state, cache, panel, i, have, m):
    """Reserve slots for the row of i, and for others that are computed with it; return how many."""
    team, counts = state.screen.team, cache.counts
    if state.scalars.rows_ahead:
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
def _complete_shared(state, cache, store, panel, block, shape, m):
    words, slot = state.screen.team.words, state.screen.team.slots[0]
    have, count, i = words[HAVE], words[WANTED], words[EXAMPLE]
    share(perform, state, cache, store, panel, block, shape, FILL, have, m, _unit(store), slot, count, i, 0.0)
    words[WANTED] = 0


@compiled(forceinline=True)
def _fetch_shared(state, cache, store, panel, block, shape, i, m, which):
    team, slot = state.screen.team, cache.slot_of[i]
    have = cache.have[slot] if slot >= 0 else 0
    short = m - have < team.words[LEAST] or (have > 0 and store.indices.size > 0)
    if short or (cache.packed.shape[0] > 0 and cache.packed.itemsize > 1):
        return fetch_ahead(state, cache, store, panel, block, shape, i, m, which)
    # The cache has the row from now on, so nothing may ask it before the row is computed.
    team.words[WANTED] = _claim(state, cache, panel, i, have, m)
    team.words[EXAMPLE], team.words[HAVE] = i, have
    return team.slots[0]


@compiled(forceinline=True)
def _partner_shared(state, cache, store, panel, block, shape, slot, m, i, fixed):
    words, values = state.screen.team.words, state.screen.team.values
    if words[WANTED] > 0 and not fixed:  # the search begins with a partner that may be another part's
        _complete_shared(state, cache, store, panel, block, shape, m)
    kind = PARTNER + (IN_FIXED_POINT if fixed else 0) + (ROWS if words[WANTED] > 0 else 0)
    share(perform, state, cache, store, panel, block, shape, kind, 0, m, _unit(store), slot, 0, i, 0.0)
    words[WANTED] = 0
    j, best = np.int64(-1), 0.0
    for at in range(LINE, words.size, LINE):
        if words[at + WHERE] >= 0 and values[at + TOP] >= best:
            j, best = words[at + WHERE], values[at + TOP]
    return j, best


@compiled(forceinline=True)
def _move_shared(state, cache, store, panel, block, shape, slot1, slot2, mu, m, fixed):
    words, values = state.screen.team.words, state.screen.team.values
    kind = MOVE + (IN_FIXED_POINT if fixed else 0) + (ROWS if words[WANTED] > 0 else 0)
    share(perform, state, cache, store, panel, block, shape, kind, 0, m, _unit(store), slot1, slot2, 0, mu)
    words[WANTED] = 0
    above, top, below, bottom, largest = np.int64(-1), NONE, np.int64(-1), -NONE, np.int64(0)
    for at in range(LINE, words.size, LINE):
        if words[at + WHERE] >= 0 and values[at + TOP] >= top:
            above, top = words[at + WHERE], values[at + TOP]
        if values[at + BOTTOM] < bottom:
            below, bottom = words[at + BELOW], values[at + BOTTOM]
        largest = max(largest, words[at + LARGEST])
    return above, top, below, bottom, largest


def fetch_rows(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, i: Any, m: Any, which: int
) -> int:
    """Perform :func:`~svmrepro.solvers.decomposition._rows_ahead.fetch_ahead`.

    With several threads, a row of which much is missing is computed by the next pass, or by :func:`complete`.
    """
    fetch_of = _fetch_shared if hasattr(state.screen, "team") else fetch_ahead
    return int(fetch_of(state, cache, store, panel, block, shape, i, m, which))


@overloaded(fetch_rows)
def _fetch_rows(state, cache, store, panel, block, shape, i, m, which):
    fetch_of = _fetch_shared if _is_shared(state) else fetch_ahead
    return lambda state, cache, store, panel, block, shape, i, m, which: fetch_of(
        state, cache, store, panel, block, shape, i, m, which
    )


def complete(state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, m: int) -> None:
    """Compute the latest row of :func:`fetch_rows`, if that is still to be done."""
    if hasattr(state.screen, "team") and state.screen.team.words[WANTED] > 0:
        _complete_shared(state, cache, store, panel, block, shape, m)


@overloaded(complete)
def _complete(state, cache, store, panel, block, shape, m):
    def shared(state, cache, store, panel, block, shape, m):
        if state.screen.team.words[WANTED] > 0:
            _complete_shared(state, cache, store, panel, block, shape, m)

    return shared if _is_shared(state) else lambda state, cache, store, panel, block, shape, m: None


@compiled(forceinline=True)
def _partner_of_team(state, cache, store, panel, block, shape, slot, m, i):
    return _partner_shared(state, cache, store, panel, block, shape, slot, m, i, False)


@compiled(forceinline=True)
def _partner_of_team_fixed(state, cache, store, panel, block, shape, slot, m, i):
    fixed = state.screen.scalars.valid
    j, best = _partner_shared(state, cache, store, panel, block, shape, slot, m, i, fixed)
    return gain_of(state, row_of(cache, panel, slot), i, j, state.scalars.tiny) if fixed else (j, best)


def find_partner(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, slot: int, m: int, i: int
) -> Any:
    """Perform :func:`~svmrepro.solvers.decomposition._fixed_gradient.partner` for a slot's row."""
    if hasattr(state.screen, "team"):
        find = _partner_of_team_fixed if is_fixed(state) else _partner_of_team
        return find(state, cache, store, panel, block, shape, slot, m, i)
    return fixed_gradient.partner(
        state, row_of(cache, panel, slot), m, i, state.scalars.tiny, cache.rows, state.scalars.bottom
    )


@overloaded(find_partner)
def _find_partner(state, cache, store, panel, block, shape, slot, m, i):
    if _is_shared(state):
        find = _partner_of_team_fixed if is_fixed(state) else _partner_of_team
        return lambda state, cache, store, panel, block, shape, slot, m, i: find(
            state, cache, store, panel, block, shape, slot, m, i
        )
    return lambda state, cache, store, panel, block, shape, slot, m, i: fixed_gradient.partner(
        state, row_of(cache, panel, slot), m, i, state.scalars.tiny, cache.rows, state.scalars.bottom
    )


@compiled(forceinline=True)
def _step_of_team(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps):
    return _move_shared(state, cache, store, panel, block, shape, slot1, slot2, mu, m, False)[:4]


@compiled(forceinline=True)
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
    """Perform :func:`~svmrepro.solvers.decomposition._fixed_gradient.move` for two slots' rows."""
    if hasattr(state.screen, "team"):
        step = _step_of_team_fixed if is_fixed(state) else _step_of_team
        return step(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps)
    row1, row2 = row_of(cache, panel, slot1), row_of(cache, panel, slot2)
    return fixed_gradient.move(state, row1, row2, mu, Q, m, cache.rows, eps)


@overloaded(move)
def _move(state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps):
    if _is_shared(state):
        step = _step_of_team_fixed if is_fixed(state) else _step_of_team
        return lambda state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps: step(
            state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps
        )
    return lambda state, cache, store, panel, block, shape, slot1, slot2, mu, Q, m, eps: fixed_gradient.move(
        state, row_of(cache, panel, slot1), row_of(cache, panel, slot2), mu, Q, m, cache.rows, eps
    )
