r"""The gradient in fixed point: its passes take a fraction of the time of double precision.

*Rows of distances.* G is kept as whole multiples of 2^-28. A step ``G -= mu (K_i - K_j)`` first rounds mu K
to such multiples, for each distance once; everything after it is exact, and the same in any order. An entry
is therefore wrong by at most 2^-28 a step. The state's ``error`` counts this, and the extremes that end a run
are widened by it, so that a gap is never found too small.

*Rows of a Gaussian kernel in single precision.* The unit is the power of two that suits the largest entry.
The change of an entry is computed in single precision and truncated to a whole number of units, so that it is
wrong by less than a unit and 2^-22 of mu times the difference of the rows. The state's ``noise`` counts this.
Nothing is widened by it: the end of such a run is computed in double precision, see
:mod:`~svmrepro.solvers.decomposition._gradient_reconstruction`.

The run continues in double precision when the error becomes too large a share of eps, when an entry or a step
is too large, and when few examples are active.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from svmrepro.solvers.caches.active_set_rows import entry
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded
from svmrepro.solvers.compilation.intrinsics import larger
from svmrepro.solvers.compilation.llvm_code import LANES
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
from svmrepro.solvers.decomposition._pair_state import allocate
from svmrepro.solvers.vector_code import fixed_point, fixed_point_rows

UNIT = 2.0**-28
_RANGE = 7.5  # of entries of rows of distances; 2^31 units are 8
_LONGEST = 2.0**16  # step whose multiples of a unit are exact in double precision
_SHARE = 0.125  # of eps that the error may reach
_FEWEST = 256  # active examples; with fewer, the table takes longer than the rest of a step
_RANGE_OF_ROWS = 0.9 * 2.0**30  # units, of entries of rows in single precision: differences are below 2^31
_LARGEST_UNIT = 2.0**-14
_ROUNDING_OF_ROWS = 2.0**-22  # of a change, relative: three roundings to single precision
_SHARE_OF_ROWS = 0.6  # of eps that the noise may reach if its terms add up like steps of a random walk
_BOUND_OF_ROWS = 64.0  # times eps: the same for the bound on their sum, which makes the end take longer
_FEWEST_OF_ROWS = 64
_PAUSE = 32  # steps in double precision before fixed point is tried again


class FixedScalars:
    """The scalars of a gradient in fixed point."""

    valid: bool  # whether it, and not the state's G, is up to date
    again: int  # step from which it is tried again
    unit: float
    used: int  # distances below it occur; 0 if rows are in single precision
    largest: float  # absolute value of an entry
    wrong: float  # bound on the error of an entry of a row; 0 for distances


class FixedGradient(NamedTuple):
    """A gradient in fixed point; a state has it in place of its screen, which it contains.

    Attributes
    ----------
    G : ndarray of int32, shape (n,)
        The gradient of the active examples, in units.
    changes : ndarray of int32, shape (256,)
        Workspace for rows of distances: the change of the last step by distance.
    inverses : ndarray of float32, shape (256,)
        For rows of distances: inverse curvatures of pairs by distance.
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


def build_fixed(table: Any, tiny: float, used: int, wrong: float, n: int, screen: Screen) -> FixedGradient:
    """Return the gradient in fixed point of n examples, not yet valid.

    ``table``, shape (256,), has the kernel values of distances, of which those below ``used`` occur; it is
    empty if rows are in single precision, whose entries are wrong by at most ``wrong``. ``tiny`` replaces a
    smaller curvature. ``screen``: the state's, which is kept up to date.
    """
    curvatures = np.maximum(2.0 * (table[:1] - table), tiny)
    fixed = FixedGradient(
        G=np.zeros(n, dtype=np.int32),
        changes=np.zeros(table.size, dtype=np.int32),
        inverses=(1.0 / curvatures).astype(np.float32),
        scalars=zeroed(FixedScalars),
        screen=screen,
    )
    if table.size:
        fixed.scalars.used, fixed.scalars.unit = used, UNIT
    fixed.scalars.wrong = wrong
    return fixed


#: A state with a gradient in fixed point, and its type.
EXAMPLE = allocate(np.ones(1), np.ones(1), 1, 1)._replace(
    screen=build_fixed(np.ones(256), 1.0, 1, 0.0, 1, build_screen(1, np.ones(256), 1.0))
)
FIXED_STATE = typeof(EXAMPLE)


@compiled(fastmath={"nnan"})
def _largest(G):
    largest = 0.0
    for k in range(G.size):
        largest = larger(abs(G[k]), largest)
    return largest


@compiled(forceinline=True)
def _may_add(state, noise, eps):
    """Add to the noise of rows, unless it becomes too large a share of eps; return whether it was added."""
    scalars = state.scalars
    bound, squares = scalars.noise + noise, scalars.noise_squares + noise * noise
    if bound > _BOUND_OF_ROWS * eps or squares > (_SHARE_OF_ROWS * eps) ** 2:
        return False
    scalars.noise, scalars.noise_squares = bound, squares
    return True


@compiled()
def _begin(state, eps, m):
    """Round G to fixed point, if it may be."""
    fixed, G, scalars = state.screen, state.G, state.screen.scalars
    scalars.again = state.scalars.steps + _PAUSE
    if scalars.used > 0:
        if m < _FEWEST or state.scalars.error + UNIT > _SHARE * eps:
            return
        largest = _largest(G[:m])
        if not largest < _RANGE:
            return
        state.scalars.error += 0.5 * UNIT
    else:
        if m < _FEWEST_OF_ROWS:
            return
        largest, unit = _largest(G[:m]), UNIT
        while unit < _LARGEST_UNIT and not 2.0 * largest < _RANGE_OF_ROWS * unit:
            unit *= 2.0
        fits = 2.0 * largest < _RANGE_OF_ROWS * unit and unit <= _SHARE * eps
        if not (fits and _may_add(state, unit, eps)):
            return
        scalars.unit = unit
    inverse, rounded = 1.0 / scalars.unit, fixed.G[:m]
    for k in range(rounded.size):
        rounded[k] = np.int32(np.rint(G[k] * inverse))
    scalars.largest, scalars.valid, scalars.again = largest, True, 0


@compiled()
def _recall(state, first, last):
    scalars = state.screen.scalars
    if scalars.valid:
        G, rounded, unit = state.G[first:last], state.screen.G[first:last], scalars.unit
        for k in range(G.size):
            G[k] = unit * rounded[k]


@compiled()
def _best_by_distance(fixed, status, row, first, m, i, tiny):
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
def _best_in_row(fixed, status, row, first, m, i, tiny):
    entries, G = row[0], fixed.G
    top, full, two = G[i], m - (m - first) % LANES, np.float32(2.0)
    best, j = fixed_point_rows.best(entries[first:], G[first:], status[first:], full - first, top, DOWN, tiny)
    j = j + first if j >= 0 else j
    for k in range(full, m):
        if (status[k] & DOWN) != 0 and G[k] < top:
            slope = np.float32(np.int64(top) - np.int64(G[k]))
            curvature = max(np.float32(two - np.float32(two * entries[k])), np.float32(tiny))
            gain = float(np.float32(np.float32(slope * slope) / curvature))
            if gain >= best:
                best, j = gain, np.int64(k)
    return best, j


def best_in(fixed: Any, status: Any, row: Any, first: int, m: int, i: int, tiny: float) -> Any:
    """Return the largest gain with i from position ``first`` to m, and its last position; or 0 and -1."""
    best = _best_in_row if len(row) == 1 else _best_by_distance
    return best(fixed, status, row, first, m, i, tiny)


@overloaded(best_in)
def _best_in(fixed, status, row, first, m, i, tiny):
    best = _best_in_row if len(row) == 1 else _best_by_distance
    return lambda fixed, status, row, first, m, i, tiny: best(fixed, status, row, first, m, i, tiny)


@compiled()
def gain_of(state, row, i, j, tiny):
    """Return a partner and its gain in double precision."""
    if j < 0:
        return -1, 0.0
    G, diagonal = state.screen.G, state.diagonal
    slope = state.screen.scalars.unit * (np.int64(G[i]) - np.int64(G[j]))
    return j, slope * slope / max(diagonal[i] + diagonal[j] - 2.0 * entry(row, j), tiny)


@compiled()
def _partner(state, row, m, i, tiny, wide, hint):
    fixed, status = state.screen, state.status
    if not fixed.scalars.valid:
        return best_partner(state.G, state.diagonal, row, status, m, i, tiny, wide, fixed.screen, hint)
    return gain_of(state, row, i, best_in(fixed, status, row, 0, m, i, tiny)[1], tiny)


@compiled()
def stays_fixed(state, mu, Q, m, eps):
    """Tell whether the gradient stays in fixed point after a step; if not, convert it to double precision."""
    scalars = state.screen.scalars
    if scalars.valid:
        # |K_ik - K_jk| <= |phi(x_i) - phi(x_j)| |phi(x_k)| <= sqrt(Q), by Cauchy and Schwarz; Q and the
        # entries of the rows are wrong themselves.
        wrong = 2.0 * scalars.wrong
        most = abs(mu) * (math.sqrt(Q + wrong) + wrong)
        if scalars.used > 0:
            fits = scalars.largest + most < _RANGE and abs(mu) < _LONGEST
            exact = state.scalars.error + UNIT <= _SHARE * eps
        else:
            fits = scalars.largest + most < _RANGE_OF_ROWS * scalars.unit
            exact = fits and _may_add(state, scalars.unit + _ROUNDING_OF_ROWS * most, eps)
        if not (fits and exact):
            _recall(state, 0, m)
            scalars.valid, scalars.again = False, state.scalars.steps + _PAUSE
    state.scalars.fixed_updates += m if scalars.valid else 0
    return scalars.valid


@compiled()
def _move_by_distance(fixed, status, row1, row2, mu, first, m):
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
def _move_by_row(fixed, status, row1, row2, mu, first, m):
    G, near, far = fixed.G, row1[0], row2[0]
    scale = mu / fixed.scalars.unit
    full = m - (m - first) % LANES
    best, top, least, largest = fixed_point_rows.move(
        near[first:], far[first:], scale, G[first:], status[first:], full - first, UP, DOWN
    )
    top = top + first if top >= 0 else top
    for k in range(full, m):
        G[k] -= np.int32(np.float32(np.float32(scale) * np.float32(near[k] - far[k])))
        value = np.int64(G[k])
        largest = max(largest, abs(value))
        if (status[k] & UP) != 0 and value >= best:
            best, top = value, np.int64(k)
        if (status[k] & DOWN) != 0:
            least = min(least, value)
    return best, top, least, largest


def move_in(fixed: Any, status: Any, row1: Any, row2: Any, mu: float, first: int, m: int) -> Any:
    """Take a step from position ``first`` to m.

    Return the largest value over I_up, its last position, or -1, the smallest one over I_down, and the
    largest absolute one.
    """
    move_ = _move_by_row if len(row1) == 1 else _move_by_distance
    return move_(fixed, status, row1, row2, mu, first, m)


@overloaded(move_in)
def _move_in(fixed, status, row1, row2, mu, first, m):
    move_ = _move_by_row if len(row1) == 1 else _move_by_distance
    return lambda fixed, status, row1, row2, mu, first, m: move_(fixed, status, row1, row2, mu, first, m)


@compiled()
def extremes_of(state, best, top, least, largest):
    """Return the extremes after a step, from the results of :func:`move_in`."""
    scalars = state.screen.scalars
    unit, scalars.largest = scalars.unit, scalars.unit * largest
    if scalars.used > 0:
        state.scalars.error += UNIT
    error = state.scalars.error
    return top, unit * best + error if top >= 0 else NONE, -1, unit * least - error


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


@compiled(forceinline=True)
def _is_due(state):
    scalars = state.screen.scalars
    return not scalars.valid and state.scalars.steps >= scalars.again


def begin(state: Any, eps: float, m: int) -> None:
    """Round the gradient to fixed point, if the state has one, it pays, and it was not tried just before."""
    if is_fixed(state) and _is_due(state):
        _begin(state, eps, m)


@overloaded(begin)
def _begin_of(state, eps, m):
    def due(state, eps, m):
        if _is_due(state):
            _begin(state, eps, m)

    return due if is_fixed(state) else lambda state, eps, m: None


def recall(state: Any, first: int, last: int) -> None:
    """Convert ``G[first:last]`` to double precision."""
    if is_fixed(state):
        _recall(state, first, last)


@overloaded(recall)
def _recall_of(state, first, last):
    if is_fixed(state):
        return lambda state, first, last: _recall(state, first, last)
    return lambda state, first, last: None


def partner(state: Any, row: Any, m: int, i: int, tiny: float, wide: Any, hint: int) -> Any:
    """Perform :func:`~svmrepro.solvers.decomposition._pair_selection.best_partner`.

    In fixed point, gains are compared in single precision.
    """
    if is_fixed(state):
        return _partner(state, row, m, i, tiny, wide, hint)
    return best_partner(state.G, state.diagonal, row, state.status, m, i, tiny, wide, state.screen, hint)


@overloaded(partner)
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


@overloaded(move)
def _move_of(state, row1, row2, mu, Q, m, wide, eps):
    if is_fixed(state):
        return lambda state, row1, row2, mu, Q, m, wide, eps: _move(state, row1, row2, mu, Q, m, wide, eps)
    return lambda state, row1, row2, mu, Q, m, wide, eps: move_gradient(
        state.G, row1, row2, state.G[:0], 0.0, mu, state.status, m, wide, state.screen.low
    )
