"""How a pass over the active set is cut into parts for several threads, and how these are handed over.

A *team* is the thread that solves and its helpers. The solving thread cuts a pass over the active set into a
part for each thread, does the first one, and then each other one that no helper has begun. It waits for
helpers that are in the middle of a part, and half a microsecond for one that has not begun. Threads wait by
looking at a word of memory, because waking one would take longer than a pass.

The pass is sent in lines of the processors' caches that the solving thread writes, and the results in others
that the helper writes. Every entry is computed as by one thread, and the results of parts are combined by the
rule for ties within a part. Solutions therefore are the same, bit for bit, for any number of threads.

The team is part of a state's screen. Without one, the passes compile to the code for one thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import fill_row, rearrange_slots, row_of
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.feature_columns import PANEL, fill_distances
from svmrepro.solvers.compilation.atomics import (
    load_word,
    pause,
    replace_word,
    sleep_microseconds,
    store_word,
    yield_processor,
)
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded
from svmrepro.solvers.decomposition._fixed_gradient import FixedGradient, best_in, is_fixed, move_in
from svmrepro.solvers.decomposition._gradient_rows import subtract_part
from svmrepro.solvers.decomposition._pair_selection import SPAN, best_partner, move_gradient
from svmrepro.solvers.decomposition._pair_state import CALLS
from svmrepro.solvers.decomposition._rows_ahead import fill_together
from svmrepro.solvers.storage.row_products import STORE
from svmrepro.solvers.vector_code.vector_loops import TOGETHER

FILL, PARTNER, MOVE, SUBTRACT, EXCHANGE = range(5)
IN_FIXED_POINT = 8  # added to PARTNER and MOVE
ROWS = 16  # added to PARTNER and MOVE if each part first computes its own of the rows that are wanted
_OPEN, _TAKEN, _OWN = range(3)  # a turn is four times the number of the pass, plus one of these
# Words from one part's to the next one's. What the solving thread writes and what the helper writes are two
# lines apart, since processors fetch lines in pairs: each waits for the other's without taking its own away.
LINE = 32
# Words of line 0: whether the helpers end; entries from which a pass is divided; the next slot to rearrange.
ENDS, LEAST, NEXT = range(3)
_SLOTS = 16  # that a thread takes at a time: rows differ in length
# The words of a part: of the pass, and of its results, with the turn that is done.
TURN, _KIND, _FIRST, _LAST, _SLOT, _OTHER, _EXAMPLE, _STEP = range(8)
_DONE, WHERE, TOP, BELOW, BOTTOM, LARGEST, _TOUCHED, _ENTRIES = range(16, 24)
# Further words of the first part: how many rows are wanted, for which example, and how much of them is there.
WANTED, EXAMPLE, HAVE = range(LINE + 8, LINE + 11)
_PATIENCE = 10  # looks in a pass, about 0.5 us, before the solving thread does what no helper has begun
_SPINS = 20_000  # looks at a word, about 0.3 ms, before a thread that waits leaves its processor to others
_SLEEPS, _SLEEP = 200, 50  # then a helper sleeps this often for these microseconds, and ends


class Team(NamedTuple):
    """What the threads of a team share.

    Attributes
    ----------
    words : ndarray of int64, shape (32 + 32 parts,)
        Line 0, and the words of each part.
    values : ndarray of float64, shape (32 + 32 parts,)
        The same memory.
    mates, slots : ndarray of int64, shape (TOGETHER,)
        Examples whose rows are computed, and their slots.
    at : ndarray of int64, shape (parts,)
        Progress of the subtraction of rows.
    positions, changes : ndarray of int64 and float64, shape (n,)
        Rows to subtract from the gradient, and their factors.
    whole : ndarray of float64, shape (n,)
        A gradient that is computed anew.
    pairs : ndarray of int64, shape (n // 2, 2)
        Positions to exchange.
    wide, row : ndarray of float64, shapes (2, SPAN) and (STRETCH,)
        Workspace; each thread has its own.
    """

    words: Any
    values: Any
    mates: Any
    slots: Any
    at: Any
    positions: Any
    changes: Any
    whole: Any
    pairs: Any
    wide: Any
    row: Any


class SharedScreen(NamedTuple):
    """A :class:`~svmrepro.solvers.decomposition._pair_selection.Screen`, and the team."""

    low: Any
    floors: Any
    team: Team


class SharedFixedGradient(NamedTuple):
    """A :class:`~svmrepro.solvers.decomposition._fixed_gradient.FixedGradient`, and the team."""

    G: Any
    changes: Any
    inverses: Any
    scalars: Any
    screen: Any
    team: Team


def allocate(n: int, parts: int, least: int) -> Team:
    """Return a team for n examples, with a part for each thread; ``least`` entries are divided."""
    memory = np.zeros(LINE * (parts + 2), dtype=np.int64)
    begin = -memory.ctypes.data // 8 % LINE  # the first word of a line
    words = memory[begin : begin + LINE * (parts + 1)]
    words[LEAST] = least
    return Team(
        words=words,
        values=words.view(np.float64),
        mates=np.zeros(TOGETHER, dtype=np.int64),
        slots=np.zeros(TOGETHER, dtype=np.int64),
        at=np.zeros(parts, dtype=np.int64),
        positions=np.zeros(n, dtype=np.int64),
        changes=np.zeros(n),
        whole=np.zeros(n),
        pairs=np.zeros((n // 2, 2), dtype=np.int64),
        wide=np.zeros((2, SPAN)),
        row=np.zeros(STRETCH),
    )


def with_team(state: Any, team: Team) -> Any:
    """Return a state whose passes are divided."""
    kind: Any = SharedFixedGradient if isinstance(state.screen, FixedGradient) else SharedScreen
    return state._replace(screen=kind(*state.screen, team))


def for_helper(state: Any) -> Any:
    """Return a state with a team, with workspace for another thread."""
    screen = state.screen
    team = screen.team._replace(wide=np.zeros((2, SPAN)), row=np.zeros(STRETCH))
    if is_fixed(state):
        screen = screen._replace(changes=screen.changes.copy())  # the scalars are read only
    return state._replace(screen=screen._replace(team=team))


def fields_of(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a type of tuples."""
    return dict(zip(kind.fields, kind.types, strict=True))


def _fill_part(
    state: Any, cache: Any, store: Any, panel: Any, block: Any, shape: Any, i: Any, slot: Any, count: Any,
    first: int, last: int,
) -> None:  # fmt: skip
    """Compute ``count`` rows, of i and of the team's ``mates``, from position ``first`` to ``last``."""
    if cache.packed.dtype == np.uint8:
        cache.counts.touched += fill_distances(panel, i, first, last, cache.packed[slot])
    elif cache.rows.dtype != np.uint8 and state.scalars.rows_ahead:
        panel.tiles.mates[:] = state.screen.team.mates
        fill_together(cache, store, panel, shape, state.screen.team.slots, count, first, last)
    else:
        cache.counts.touched += fill_row(store, panel, block, shape, i, first, last, cache.rows[slot])


@overloaded(_fill_part)
def _fill_part_of(state, cache, store, panel, block, shape, i, slot, count, first, last):
    def distances(state, cache, store, panel, block, shape, i, slot, count, first, last):
        cache.counts.touched += fill_distances(panel, i, first, last, cache.packed[slot])

    def entries(state, cache, store, panel, block, shape, i, slot, count, first, last):
        cache.counts.touched += fill_row(store, panel, block, shape, i, first, last, cache.rows[slot])

    def several(state, cache, store, panel, block, shape, i, slot, count, first, last):
        if state.scalars.rows_ahead:
            for r in range(count):
                panel.tiles.mates[r] = state.screen.team.mates[r]
            fill_together(cache, store, panel, shape, state.screen.team.slots, count, first, last)
        else:
            cache.counts.touched += fill_row(store, panel, block, shape, i, first, last, cache.rows[slot])

    if fields_of(cache)["packed"].dtype == types.uint8:
        return distances
    return several if fields_of(cache)["rows"].dtype != types.uint8 else entries


def _partner_part(state: Any, row: Any, i: int, fixed: bool, first: int, last: int) -> Any:
    """Return the best partner from position ``first`` to ``last``, and its gain as parts compare it."""
    if fixed:
        gain, j = best_in(state.screen, state.status, row, first, last, i, state.scalars.tiny)
        return j, gain
    low = state.screen.screen if is_fixed(state) else state.screen
    return best_partner(
        state.G, state.diagonal, row, state.status, last, i, state.scalars.tiny, state.screen.team.wide, low,
        state.scalars.bottom, first,
    )  # fmt: skip


@overloaded(_partner_part)
def _partner_part_of(state, row, i, fixed, first, last):
    def plain(state, row, i, fixed, first, last):
        return best_partner(
            state.G, state.diagonal, row, state.status, last, i, state.scalars.tiny, state.screen.team.wide,
            state.screen, state.scalars.bottom, first,
        )  # fmt: skip

    def either(state, row, i, fixed, first, last):
        if fixed:
            gain, j = best_in(state.screen, state.status, row, first, last, i, state.scalars.tiny)
        else:
            j, gain = best_partner(
                state.G, state.diagonal, row, state.status, last, i, state.scalars.tiny,
                state.screen.team.wide, state.screen.screen, state.scalars.bottom, first,
            )  # fmt: skip
        return j, gain

    return either if is_fixed(state) else plain


def _move_part(state: Any, row1: Any, row2: Any, mu: float, fixed: bool, first: int, last: int) -> Any:
    """Take a step from position ``first`` to ``last``; return what :func:`perform` writes."""
    if fixed:
        best, top, least, largest = move_in(state.screen, state.status, row1, row2, mu, first, last)
        return top, float(best), -1, float(least), largest
    low = state.screen.screen.low if is_fixed(state) else state.screen.low
    wide = state.screen.team.wide
    return *move_gradient(state.G, row1, row2, state.G[:0], 0.0, mu, state.status, last, wide, low, first), 0


@overloaded(_move_part)
def _move_part_of(state, row1, row2, mu, fixed, first, last):
    def plain(state, row1, row2, mu, fixed, first, last):
        top, highest, bottom, lowest = move_gradient(
            state.G, row1, row2, state.G[:0], 0.0, mu, state.status, last, state.screen.team.wide,
            state.screen.low, first,
        )  # fmt: skip
        return top, highest, bottom, lowest, 0

    def either(state, row1, row2, mu, fixed, first, last):
        if fixed:
            best, top, least, largest = move_in(state.screen, state.status, row1, row2, mu, first, last)
            highest, bottom, lowest = float(best), np.int64(-1), float(least)
        else:
            largest = np.int64(0)
            top, highest, bottom, lowest = move_gradient(
                state.G, row1, row2, state.G[:0], 0.0, mu, state.status, last, state.screen.team.wide,
                state.screen.screen.low, first,
            )  # fmt: skip
        return top, highest, bottom, lowest, largest

    return either if is_fixed(state) else plain


@compiled(forceinline=True)
def perform(part, kind, state, cache, store, panel, block, shape):
    """Do a part of a pass of an iteration."""
    team = state.screen.team
    words, values, at = team.words, team.values, LINE * (part + 1)
    first, last, slot = words[at + _FIRST], words[at + _LAST], words[at + _SLOT]
    other, example, step = words[at + _OTHER], words[at + _EXAMPLE], values[at + _STEP]
    base, fixed = kind & (IN_FIXED_POINT - 1), kind & IN_FIXED_POINT != 0
    if kind & ROWS:
        begin, count = max(first, words[HAVE]), words[WANTED]
        if begin < last:
            _fill_part(
                state, cache, store, panel, block, shape, words[EXAMPLE], team.slots[0], count, begin, last
            )
    if base == FILL:
        _fill_part(state, cache, store, panel, block, shape, example, slot, other, first, last)
    elif base == PARTNER:
        words[at + WHERE], values[at + TOP] = _partner_part(
            state, row_of(cache, panel, slot), example, fixed, first, last
        )
    else:
        top, highest, bottom, lowest, largest = _move_part(
            state, row_of(cache, panel, slot), row_of(cache, panel, other), step, fixed, first, last
        )
        words[at + WHERE], values[at + TOP] = top, highest
        words[at + BELOW], values[at + BOTTOM], words[at + LARGEST] = bottom, lowest, largest


@compiled(forceinline=True)
def perform_rarely(part, kind, state, cache, store, panel, block, shape):
    """Do a part of another pass."""
    team = state.screen.team
    words, values, at = team.words, team.values, LINE * (part + 1)
    first, last, slot = words[at + _FIRST], words[at + _LAST], words[at + _SLOT]
    other, example, step = words[at + _OTHER], words[at + _EXAMPLE], values[at + _STEP]
    if kind == SUBTRACT:
        if team.at[part] >= 0:
            G = team.whole if step != 0.0 else state.G
            team.at[part] = subtract_part(
                G, cache, store, panel, block, shape, team.positions[:slot], team.changes[:slot], first, last,
                team.at[part], example, team.row, other != 0, part, team.at.size,
            )  # fmt: skip
        return
    while True:
        start = words[NEXT]
        if start >= last:
            break
        if replace_word(words, NEXT, start, start + _SLOTS):
            rearrange_slots(cache, team.pairs[:other], start, min(start + _SLOTS, last))


@compiled(forceinline=True)
def border(begin, end, part, parts, unit):
    """Return where one of some equal parts of a pass begins: some ``unit`` from ``begin``, or at the end."""
    if part == 0 or unit == 0:
        return begin
    return min(begin + ((end - begin) * part // parts + unit // 2) // unit * unit, end)


@compiled(forceinline=True)
def share(do, state, cache, store, panel, block, shape, kind, begin, end, unit, slot, other, example, step):
    """Do a pass from position ``begin`` to ``end``, with the helpers that are there.

    ``do`` does a part: :func:`perform`, or :func:`perform_rarely`, which takes seconds to compile.

    Parts begin at multiples of ``unit`` from ``begin``, and may be empty. If ``unit`` is 0, all parts have
    the whole pass, and divide it in another way.
    """
    words, values = state.screen.team.words, state.screen.team.values
    parts = words.size // LINE - 1
    turn = words[LINE + TURN] + 4
    last = end
    for part in range(parts - 1, -1, -1):
        at, first = LINE * (part + 1), border(begin, end, part, parts, unit)
        words[at + _KIND], words[at + _FIRST], words[at + _LAST] = kind, first, last
        words[at + _SLOT], words[at + _OTHER], words[at + _EXAMPLE] = slot, other, example
        values[at + _STEP] = step
        store_word(words, at + TURN, turn)
        last = first if unit else end
    waits = 0
    for look in range(2 * parts):  # first at parts that have not begun, then at unfinished ones
        part, own = look % parts, look == 0
        at = LINE * (part + 1)
        if 0 < look < parts:
            while waits < _PATIENCE and load_word(words, at + _DONE) != turn:
                waits += 1
                pause()
            if load_word(words, at + _DONE) != turn and load_word(words, at + TURN) == turn:
                own = replace_word(words, at + TURN, turn, turn + _OWN)
        elif look > parts:
            while load_word(words, at + _DONE) != turn and load_word(words, at + TURN) != turn + _OWN:
                waits += 1
                if waits < _SPINS:
                    pause()
                else:
                    yield_processor()
            if load_word(words, at + _DONE) == turn:
                cache.counts.touched += words[at + _TOUCHED]
                cache.counts.entries += words[at + _ENTRIES]
        if own:
            do(part, kind, state, cache, store, panel, block, shape)


def signature_of_share(state: Any, cache: Any) -> Any:
    """Return the signature of :func:`share_rarely`."""
    return types.void(state, cache, STORE, PANEL, *CALLS, *[types.int64] * 6, types.float64)


@compiled()
def share_rarely(state, cache, store, panel, block, shape, kind, begin, end, slot, other, example, step):
    """Do a pass that takes long, ``SUBTRACT`` or ``EXCHANGE``, from ``begin`` to ``end`` in each part."""
    state.screen.team.words[NEXT] = begin
    do = perform_rarely
    share(do, state, cache, store, panel, block, shape, kind, begin, end, 0, slot, other, example, step)


def signature_of_assist(state: Any, cache: Any) -> Any:
    """Return the signature of :func:`assist`."""
    return types.void(types.int64, state, cache, STORE, PANEL, *CALLS)


@compiled()
def assist(part, state, cache, store, panel, block, shape):
    """Do one part of each pass; return when told to, or after some time without a pass."""
    words, counts, waits = state.screen.team.words, cache.counts, 0
    at = LINE * (part + 1)
    while load_word(words, ENDS) == 0:
        turn = load_word(words, at + TURN)
        if turn > 0 and turn % 4 == _OPEN and replace_word(words, at + TURN, turn, turn + _TAKEN):
            counts.touched = counts.entries = 0
            kind = words[at + _KIND]
            if kind in (SUBTRACT, EXCHANGE):
                perform_rarely(part, kind, state, cache, store, panel, block, shape)
            else:
                perform(part, kind, state, cache, store, panel, block, shape)
            words[at + _TOUCHED], words[at + _ENTRIES] = counts.touched, counts.entries
            store_word(words, at + _DONE, turn)
            waits = 0
            continue
        waits += 1
        if waits < _SPINS:
            pause()
        elif waits < _SPINS + _SLEEPS:
            sleep_microseconds(np.uint32(_SLEEP))
        else:
            return
