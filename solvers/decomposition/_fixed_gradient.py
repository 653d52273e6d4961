r"""The gradient in fixed point, for rows of distances: a quarter of the time of double precision.

G is kept as whole multiples of 2^-28. A step ``G -= mu (K_i - K_j)`` first rounds mu K to such multiples, for
each distance once; everything after it is exact, and the same in any order. An entry is therefore wrong by at
most 2^-28 a step. The state's ``error`` counts this, and the extremes that end a run are widened by it, so
that a gap is never found too small. The run goes on in double precision when the error becomes a large share
of eps, when an entry is too large, and when few examples are active.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from svmrepro.solvers.compilation import fixed_point
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.fixed_point import LANES
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.decomposition._pair_selection import (
    DOWN,
    NONE,
    UP,
    Screen,
    best_partner,
    build_screen,
    move_gradient,
)

UNIT = 2.0**-28
_RANGE = 7.5  # of entries; 2^31 units are 8
_LONGEST = 2.0**16  # step whose multiples of a unit are exact in double precision
_SHARE = 0.125  # of eps that the error may reach
_FEWEST = 256  # active examples; with fewer, the table takes longer than the rest of a step


class FixedScalars:
    """The scalars of a gradient in fixed point."""

    valid: bool  # whether it, and not the state's G, is up to date
    used: int  # distances below it occur
    largest: float  # absolute value of an entry


class FixedGradient(NamedTuple):
    """A gradient in fixed point; a state has it in place of its screen, which it contains.

    Attributes
    ----------
    G : ndarray of int32, shape (n,)
        The gradient of the active examples, in units.
    changes : ndarray of int32, shape (256,)
        Workspace: the change of the last step by distance.
    inverses : ndarray of float32, shape (256,)
        Inverse curvatures of pairs by distance.
    scalars : FixedScalars
        See its class.
    screen : Screen
        For double precision.
    """

    G: Any
    changes: Any
    inverses: Any
    scalars: FixedScalars
    screen: Screen


def build_fixed(n: int, table: Any, tiny: float, used: int) -> FixedGradient:
    """Return the gradient in fixed point of n examples, not yet valid.

    ``table``, shape (256,), has the kernel values of distances, of which those below ``used`` occur;
    ``tiny`` replaces a smaller curvature.
    """
    curvatures = np.maximum(2.0 * (table[0] - table), tiny)
    fixed = FixedGradient(
        G=np.zeros(n, dtype=np.int32),
        changes=np.zeros(256, dtype=np.int32),
        inverses=(1.0 / curvatures).astype(np.float32),
        scalars=zeroed(FixedScalars),
        screen=build_screen(n, table, tiny),
    )
    fixed.scalars.used = used
    return fixed


@compiled()
def _begin(state, eps, m):
    """Round G to fixed point, if it is not so already and may be."""
    fixed, G = state.screen, state.G
    if fixed.scalars.valid or m < _FEWEST or state.scalars.error + UNIT > _SHARE * eps:
        return
    largest = 0.0
    for k in range(m):
        largest = max(largest, abs(G[k]))
    if not largest < _RANGE:
        return
    for k in range(m):
        fixed.G[k] = np.int32(np.rint(G[k] * (1.0 / UNIT)))
    fixed.scalars.largest, fixed.scalars.valid = largest, True
    state.scalars.error += 0.5 * UNIT


@compiled()
def _recall(state, first, last):
    if state.screen.scalars.valid:
        for k in range(first, last):
            state.G[k] = UNIT * state.screen.G[k]


@compiled()
def best_in(fixed, status, row, first, m, i):
    """Return the largest gain with i from position ``first`` to m, and its last position; or 0 and -1."""
    distances, G = row[0], fixed.G
    top, full = G[i], m - (m - first) % LANES
    best, j = fixed_point.best(
        distances[first:], fixed.inverses, G[first:], status[first:], full - first, fixed.scalars.used, top,
        DOWN,
    )  # fmt: skip
    j = j + first if j >= 0 else j
    for k in range(full, m):
        if (status[k] & DOWN) != 0 and G[k] < top:
            slope = float(np.float32(np.int64(top) - np.int64(G[k])))
            gain = slope * slope * fixed.inverses[distances[k]]
            if gain >= best:
                best, j = gain, np.int64(k)
    return best, j


@compiled()
def gain_of(state, row, i, j, tiny):
    """Return a partner and its gain in double precision."""
    if j < 0:
        return -1, 0.0
    G = state.screen.G
    slope = UNIT * (np.int64(G[i]) - np.int64(G[j]))
    return j, slope * slope / max(2.0 * (row[1][0] - row[1][row[0][j]]), tiny)


@compiled()
def _partner(state, row, m, i, tiny, wide, hint):
    fixed, status = state.screen, state.status
    if not fixed.scalars.valid:
        return best_partner(state.G, state.diagonal, row, status, m, i, tiny, wide, fixed.screen, hint)
    return gain_of(state, row, i, best_in(fixed, status, row, 0, m, i)[1], tiny)


@compiled()
def stays_fixed(state, mu, Q, m, eps):
    """Tell whether the gradient is in fixed point, also after a step; else have it in double precision."""
    scalars = state.screen.scalars
    if scalars.valid:
        # |K_ik - K_jk| <= |phi(x_i) - phi(x_j)| |phi(x_k)| <= sqrt(Q), by Cauchy and Schwarz.
        fits = scalars.largest + abs(mu) * math.sqrt(Q) < _RANGE and abs(mu) < _LONGEST
        if not (fits and state.scalars.error + UNIT <= _SHARE * eps):
            _recall(state, 0, m)
            scalars.valid = False
    return scalars.valid


@compiled()
def move_in(fixed, status, row1, row2, mu, first, m):
    """Take a step from position ``first`` to m.

    Return the largest value over I_up, its last position, or -1, the smallest one over I_down, and the
    largest absolute one.
    """
    G, changes, table, used = fixed.G, fixed.changes, row1[1], fixed.scalars.used
    near, far = row1[0], row2[0]
    for k in range(used):
        changes[k] = np.int64(np.rint(mu * table[k] * (1.0 / UNIT)))  # modulo 2^32
    full = m - (m - first) % LANES
    best, top, least, largest = fixed_point.move(
        near[first:], far[first:], changes, G[first:], status[first:], full - first, used, UP, DOWN
    )
    top = top + first if top >= 0 else top
    for k in range(full, m):
        G[k] = np.int64(G[k]) - (np.int64(changes[near[k]]) - np.int64(changes[far[k]]))
        value = np.int64(G[k])
        largest = max(largest, abs(value))
        if (status[k] & UP) != 0 and value >= best:
            best, top = value, np.int64(k)
        if (status[k] & DOWN) != 0:
            least = min(least, value)
    return best, top, least, largest


@compiled()
def extremes_of(state, best, top, least, largest):
    """Return the extremes after a step, from the results of :func:`move_in`."""
    state.screen.scalars.largest = UNIT * largest
    state.scalars.error += UNIT
    error = state.scalars.error
    return top, UNIT * best + error if top >= 0 else NONE, -1, UNIT * least - error


@compiled()
def _move(state, row1, row2, mu, Q, m, wide, eps):
    fixed, status = state.screen, state.status
    if not stays_fixed(state, mu, Q, m, eps):
        error = state.scalars.error
        top, highest, bottom, lowest = move_gradient(
            state.G, row1, row2, state.G[:0], 0.0, mu, status, m, wide, fixed.screen.low
        )
        return top, highest + error, bottom, lowest - error
    best, top, least, largest = move_in(fixed, status, row1, row2, mu, 0, m)
    return extremes_of(state, best, top, least, largest)


def is_fixed(state: Any) -> bool:
    """Tell whether a state, or a type of states, has a gradient in fixed point."""
    screen = (
        state.types[state.fields.index("screen")].fields if hasattr(state, "types") else state.screen._fields
    )
    return "inverses" in screen


def begin(state: Any, eps: float, m: int) -> None:
    """Round the gradient to fixed point, if the state has one and it pays."""
    if is_fixed(state):
        _begin(state, eps, m)


@overload(begin, inline="always")
def _begin_of(state, eps, m):
    if is_fixed(state):
        return lambda state, eps, m: _begin(state, eps, m)
    return lambda state, eps, m: None


def recall(state: Any, first: int, last: int) -> None:
    """Have ``G[first:last]`` in double precision."""
    if is_fixed(state):
        _recall(state, first, last)


@overload(recall, inline="always")
def _recall_of(state, first, last):
    if is_fixed(state):
        return lambda state, first, last: _recall(state, first, last)
    return lambda state, first, last: None


def partner(state: Any, row: Any, m: int, i: int, tiny: float, wide: Any, hint: int) -> Any:
    """Do what :func:`~svmrepro.solvers.decomposition._pair_selection.best_partner` does.

    In fixed point, gains are compared in single precision.
    """
    if is_fixed(state):
        return _partner(state, row, m, i, tiny, wide, hint)
    return best_partner(state.G, state.diagonal, row, state.status, m, i, tiny, wide, state.screen, hint)


@overload(partner, inline="always")
def _partner_of(state, row, m, i, tiny, wide, hint):
    if is_fixed(state):
        return lambda state, row, m, i, tiny, wide, hint: _partner(state, row, m, i, tiny, wide, hint)
    return lambda state, row, m, i, tiny, wide, hint: best_partner(
        state.G, state.diagonal, row, state.status, m, i, tiny, wide, state.screen, hint
    )


def move(state: Any, row1: Any, row2: Any, mu: float, Q: float, m: int, wide: Any, eps: float) -> Any:
    """``G -= mu (row1 - row2)``; return the extremes as ``extremes`` does, widened by the state's error.

    Q is the curvature of the step.
    """
    if is_fixed(state):
        return _move(state, row1, row2, mu, Q, m, wide, eps)
    G, low = state.G, state.screen.low
    return move_gradient(G, row1, row2, G[:0], 0.0, mu, state.status, m, wide, low)


@overload(move, inline="always")
def _move_of(state, row1, row2, mu, Q, m, wide, eps):
    if is_fixed(state):
        return lambda state, row1, row2, mu, Q, m, wide, eps: _move(state, row1, row2, mu, Q, m, wide, eps)
    return lambda state, row1, row2, mu, Q, m, wide, eps: move_gradient(
        state.G, row1, row2, state.G[:0], 0.0, mu, state.status, m, wide, state.screen.low
    )
