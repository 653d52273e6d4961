"""The state of SMO over pairs of examples, shared by its iteration, its shrinking and its end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.caches.feature_columns import BLOCK, SHAPE
from svmrepro.solvers.compilation.compiled import compiled, direct
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP, build_screen, extremes
from svmrepro.solvers.storage.row_products import VECTOR

ROUNDING = 2.3e-16  # of a number in double precision
SNAP = 1e-15


class PairScalars:
    """The scalars of a run, see :mod:`svmrepro.solvers.compilation.records`."""

    # The solver's options, see `second_order`.
    plan: int
    offer: int
    stretch: float
    tiny: float  # replaces a smaller curvature
    rows_ahead: bool  # whether rows are computed before they are requested
    # The active set.
    n_active: int
    leavers: int  # number of examples marked to leave it
    worth: int  # shrink if at least one active example in this many can leave
    shrink_at: int  # the step of the next attempt to shrink
    shrink_interval: int
    near_end: bool  # whether the whole set is still to be checked near the end
    # The extremes of G over the active set.
    top: int  # argmax over I_up
    g_max: float
    bottom: int  # argmin over I_down, or -1 if it is not known
    g_min: float  # over I_down
    # The last step.
    planned: bool  # whether it was planned ahead
    free: bool  # whether it was a Newton step that met no bound
    ratio: float  # its length relative to Newton's
    ages: int  # number of latest working sets stored
    # The run.
    objective: float  # W
    drift: float  # total length of the steps since G was last recomputed
    error: float  # bound on the error of G in fixed point, since then; the extremes are widened by it
    noise: float  # the same for rows in single precision; the extremes are not
    noise_squares: float  # sum of the squares of its terms
    steps: int
    planned_steps: int
    offered_taken: int  # steps with an earlier working set
    # If lengths are counted, for the planned steps and their successors (Lemma 3):
    planned_gain: float  # gain of the last step if it was planned
    newton_gain: float  # the gain of Newton's step in its place; 0 if it was not planned
    least_double_gain: float  # least gain of two such steps, relative to Newton's gain
    updates: int  # entries of G updated
    fixed_updates: int  # those in fixed point
    between_free: int  # work of the steps between two free multipliers, without kernel rows
    between_free_stop: int  # that work at which the iteration returns to its caller
    between_free_gain: float  # gain of these steps in W
    ticks: int  # work, in entries read


class PairState(NamedTuple):
    """Arrays by position in the active order, of length n, unless noted otherwise."""

    y: Any
    C: Any  # bounds of alpha
    beta: Any
    G: Any
    diagonal: Any
    status: Any  # uint8, bits UP and DOWN
    goes: Any  # uint8, 1 where an example leaves the active set
    position: Any  # int64, by example
    # The latest working sets, newest first, as examples, and their Q.
    first: Any  # int64, (sets + 1,)
    second: Any
    curvature: Any  # float64
    scalars: PairScalars
    lengths: Any  # int64, (2, bins or 0), step lengths relative to Newton's: plain, planned
    screen: Any  # Screen, or FixedGradient


@compiled(types.void(*5 * (VECTOR,), *2 * (types.uint8[::1],), types.int64[::1]))
def begin(y, C, beta, G, diagonal, status, goes, position):
    """Fill the arrays of a state, of which y and C are known, and alpha is in ``beta``, by one call."""
    for k in range(y.size):
        alpha = beta[k]
        may_grow, may_fall = (UP, DOWN) if y[k] > 0.0 else (DOWN, UP)
        status[k] = (may_grow if alpha < C[k] else 0) | (may_fall if alpha > 0.0 else 0)
        beta[k], G[k] = y[k] * alpha, y[k]
        diagonal[k], goes[k], position[k] = 0.0, 0, k


_begin = direct(begin)


def allocate(y: Any, C: Any, sets: int, bins: int, start: Any = None) -> PairState:
    """Return the state at given multipliers, or at alpha = 0; G is the gradient at 0 in both cases.

    The labels are y, the bounds C. Planning uses ``sets`` working sets; histograms of step lengths have
    ``bins``, 0 for none.
    """
    n = y.size
    labels, bounds, beta, G, diagonal = np.empty((5, n))
    status, goes = np.empty((2, n), dtype=np.uint8)
    position = np.empty(n, dtype=np.int64)
    labels[:], bounds[:], beta[:] = y, C, 0.0 if start is None else start
    _begin(labels, bounds, beta, G, diagonal, status, goes, position)
    return PairState(
        y=labels,
        C=bounds,
        beta=beta,
        G=G,
        diagonal=diagonal,
        status=status,
        goes=goes,
        position=position,
        first=np.zeros(sets + 1, dtype=np.int64),
        second=np.zeros(sets + 1, dtype=np.int64),
        curvature=np.zeros(sets + 1),
        scalars=zeroed(PairScalars),
        lengths=np.zeros((2, bins), dtype=np.int64),
        screen=build_screen(0, np.zeros(0), 0.0),
    )


STATE = typeof(allocate(np.ones(1), np.ones(1), 1, 1))
CALLS = (types.FunctionType(BLOCK), types.FunctionType(SHAPE))


@compiled(forceinline=True)
def clipped(value, low, high):
    """Return ``value`` clipped to [low, high]."""
    return low if value < low else (high if value > high else value)


@compiled(forceinline=True)
def room(beta, y, C, i, j):
    """Return the interval of mu for which ``beta_i + mu`` and ``beta_j - mu`` stay in their boxes."""
    low_i, high_i = (0.0, C[i]) if y[i] > 0.0 else (-C[i], 0.0)
    low_j, high_j = (0.0, C[j]) if y[j] > 0.0 else (-C[j], 0.0)
    return max(low_i - beta[i], beta[j] - high_j), min(high_i - beta[i], beta[j] - low_j)


@compiled(forceinline=True)
def place(beta, status, y, C, i, value, scale):
    """Set a multiplier and its status, snapping it to a bound that it misses only by rounding.

    ``scale`` is the size of the terms added: the multiplier before, and its change.
    """
    alpha, top = y[i] * value, C[i]
    if alpha <= SNAP * scale:
        alpha = 0.0
    elif alpha >= top * (1.0 - SNAP):
        alpha = top
    beta[i] = y[i] * alpha
    may_grow, may_fall = (UP, DOWN) if y[i] > 0.0 else (DOWN, UP)
    status[i] = (may_grow if alpha < top else 0) | (may_fall if alpha > 0.0 else 0)


_extremes = direct(extremes)


@compiled(
    types.Tuple((types.int64, types.float64))(STATE, types.uint32[::1], types.int64, VECTOR, VECTOR, VECTOR)
)
def in_original_order(state, order, valid, alpha, beta, gradient):
    """Write alpha, the signed multipliers and G by example; return how many are free, and their mean of G.

    The mean is the bias. Only the first ``valid`` examples of the active order count there.
    """
    free, total = 0, 0.0
    for k in range(order.size):
        i = order[k]
        beta[i], alpha[i], gradient[i] = state.beta[k], state.y[k] * state.beta[k], state.G[k]
        if k < valid and state.status[k] == UP | DOWN:
            free += 1
            total += state.G[k]
    return free, total / max(free, 1)


def look(state: PairState) -> None:
    """Update the extremes of the gradient over the active set."""
    scalars = state.scalars
    scalars.top, scalars.g_max, scalars.bottom, scalars.g_min = _extremes(
        state.G, state.status, scalars.n_active, state.screen.low
    )
    scalars.g_max += scalars.error
    scalars.g_min -= scalars.error
