r"""Conjugate gradient over the multipliers strictly between their bounds, on kernel rows.

A remedy for SMO on ill-conditioned problems (linear kernels of few features, large C, overlapping classes),
where the non-bound multipliers zigzag for millions of steps. With the other multipliers fixed, the dual is an
unconstrained quadratic in ``beta_i = y_i alpha_i``,

    min  1/2 beta.K beta - y.beta    subject to    sum beta = const (only with a free threshold)

whose negative gradient is the negative error ``-(u_i - y_i)``. If the K_ii span many orders of magnitude it
is divided by them, as in :mod:`svmrepro.solvers.quadratic_programs.projected_cg`. A product with K costs
about as much as one pass of SMO steps over the same multipliers. Every step stays in the box and decreases
the objective, so the passes of SMO that follow keep their guarantee. The descent runs in slices, which may
end within a product.
Symbols:

==========  ============================================================================
symbol      here
==========  ============================================================================
beta, y, C  ``descent.beta``, ``descent.y``, ``descent.C``, by place in ``descent.free``
K beta - y  ``g``, the gradient: u_i - y_i without the threshold b
d, K d      ``d``, ``q``
p_i, h_i    ``p``, the weights of the gradient; ``h``, the absolute K_ii
==========  ============================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import allocated, array, record
from svmrepro.solvers.platt._example_lists import extremes, set_support
from svmrepro.solvers.platt._state import CALLS, STATE, SmoRun
from svmrepro.solvers.quadratic_programs.chunk_qp import weights_of
from svmrepro.solvers.storage.row_products import STORE

_POLISH_EVERY = 20  # steps per example between two descents
_POLISH_ENTRIES = 20_000_000  # kernel evaluations in one descent

_FLAT = 1e-12  # curvature below this times sum d_i^2 K_ii is rounding
_IDLE = 20  # steps in a row that gain nothing in double precision end the descent
_BLOCK = 4096

GRADIENT, DIRECTION, FOLD, PRODUCT, LINE, ENDED = range(6)  # stages


class FreeSetScalars:
    """The scalars of a descent."""

    stage: int
    at: int  # progress within the stage
    n_inside: int  # variables that have not reached a bound
    taken: int  # steps
    limit: int  # largest number of steps
    idle: int  # steps in a row that gained nothing
    fresh: bool  # whether the next direction is steepest descent
    equality: bool  # whether the sum of beta is fixed
    residual: float  # squared length of the projected gradient of the last step
    slope: float  # slope of the objective along d
    gain: float  # total gain of all steps
    target: float  # entry of the projected gradient that counts as zero
    length: float  # sum of |d|, times the step once it is taken


class Descent(NamedTuple):
    """A descent in progress, over m free multipliers."""

    free: Any = array("m", dtype=np.uint32)  # their examples
    y: Any = array("m")  # labels
    C: Any = array("m")  # bounds
    p: Any = array("m")  # weights of the gradient
    h: Any = array("m")  # |K_ii|
    beta: Any = array("m")  # y_i alpha_i
    g: Any = array("m")  # u_i - y_i without b
    d: Any = array("m")  # direction
    q: Any = array("m")  # K d
    row: Any = array("m")  # workspace
    inside: Any = array("m", dtype=np.bool_)  # whether a variable has not reached a bound
    weights: Any = array("weights")  # folded weight vector of d, or empty
    scalars: FreeSetScalars = record(FreeSetScalars)


def allocate(m: int, features: int) -> Descent:
    """Return an empty descent; ``features`` is the length of a folded weight vector, or 0."""
    return allocated(Descent, m=m, weights=features)


DESCENT = typeof(allocate(1, 1))


@compiled()
def room_along(beta, y, d, C):
    """Return the largest feasible step of a signed multiplier along d != 0."""
    top = C if y > 0.0 else 0.0
    return (top - beta) / d if d > 0.0 else (top - C - beta) / d


@compiled()
def choose_direction(descent):
    """Write the next direction; return False if the gradient is small enough or there is none."""
    scalars, g, d, p, inside = descent.scalars, descent.g, descent.d, descent.p, descent.inside
    m = g.size
    while True:
        mean, scale = 0.0, 0.0
        if scalars.equality:
            # projected twice, see projected_cg.next_direction
            for k in range(m):
                if inside[k]:
                    mean += p[k] * g[k]
                    scale += p[k]
            mean /= scale
            shift = 0.0
            for k in range(m):
                shift += p[k] * (g[k] - mean) if inside[k] else 0.0
            mean += shift / scale
        worst, residual = 0.0, 0.0
        for k in range(m):
            if inside[k]:
                residual += p[k] * (mean - g[k]) ** 2
                worst = max(worst, abs(mean - g[k]))
        if not worst > scalars.target:
            return False
        momentum = 0.0 if scalars.fresh else residual / scalars.residual
        scalars.residual = residual
        inner, length = 0.0, 0.0
        for k in range(m):
            if inside[k]:
                d[k] = p[k] * (mean - g[k]) + momentum * d[k]
                inner += (mean - g[k]) * d[k]
                length += abs(d[k])
            else:
                d[k] = 0.0
        scalars.slope, scalars.length = inner, length
        if inner > 0.0:
            return True
        if scalars.fresh:
            return False
        scalars.fresh = True


@compiled()
def step_along(descent):
    """Step along the direction to the minimum or the first bound; return whether that is possible."""
    scalars, beta, g, d, q = descent.scalars, descent.beta, descent.g, descent.d, descent.q
    y, C, inside = descent.y, descent.C, descent.inside
    m, slope = g.size, scalars.slope
    curvature, flat, reach = 0.0, 0.0, np.inf
    for k in range(m):
        if inside[k] and d[k] != 0.0:
            curvature += d[k] * q[k]
            flat += d[k] * d[k] * descent.h[k]
            reach = min(reach, room_along(beta[k], y[k], d[k], C[k]))
    blocked = not (curvature > _FLAT * flat and slope < reach * curvature)
    step = reach if blocked else slope / curvature
    gain = step * slope - 0.5 * step * step * curvature
    if not (0.0 <= step < np.inf and abs(gain) < np.inf):
        return False
    for k in range(m):
        g[k] += step * q[k]
        if not inside[k] or d[k] == 0.0:
            continue
        top = C[k] if y[k] > 0.0 else 0.0
        if blocked and room_along(beta[k], y[k], d[k], C[k]) <= step:
            beta[k] = top if d[k] > 0.0 else top - C[k]
            inside[k] = False
            scalars.n_inside -= 1
        else:
            beta[k] = min(max(beta[k] + step * d[k], top - C[k]), top)
    scalars.gain += gain
    scalars.idle = scalars.idle + 1 if gain <= 1e-16 * abs(scalars.gain) else 0
    scalars.fresh = blocked
    scalars.length *= step
    return True


@compiled(forceinline=True)
def add_outputs(descent, scalars, store, products, weights, out):
    """Write the outputs of a weight vector for the next block of examples."""
    own, k = descent.scalars, descent.scalars.at
    part = min(_BLOCK, out.size - k)
    scalars.touched += products(store, weights, descent.free[k : k + part], part, out[k : k + part])
    scalars.evaluations += part
    own.at += part


@compiled(forceinline=True)
def compute_gradient(descent, scalars, store, products, weights):
    """Continue computing the gradient from the folded weight vector."""
    g, y = descent.g, descent.y
    if descent.scalars.at < g.size:
        add_outputs(descent, scalars, store, products, weights, g)
        return
    for k in range(g.size):
        g[k] -= y[k]
    descent.scalars.stage = DIRECTION


@compiled(forceinline=True)
def select(descent, scalars):
    """Choose the next direction, or end the descent."""
    own = descent.scalars
    scalars.ticks += 4 * descent.free.size
    going = own.taken < own.limit and own.n_inside > 0 and own.idle < _IDLE
    if not going or not choose_direction(descent):
        own.stage = ENDED
        return
    descent.q[:] = 0.0
    descent.weights[:] = 0.0
    own.at = 0
    own.stage = FOLD if descent.weights.size else PRODUCT


@compiled(forceinline=True)
def fold_direction(descent, scalars, store, update):
    """Add the next example to the weight vector of d."""
    own, free, d = descent.scalars, descent.free, descent.d
    k = own.at
    if k == free.size:
        own.at = 0
        own.stage = PRODUCT
        scalars.evaluations += free.size
        return
    own.at += 1
    if d[k] != 0.0:
        scalars.touched += update(store, np.int64(free[k]), d[k], descent.weights)


@compiled(forceinline=True)
def multiply(descent, scalars, store, dots, transform, products):
    """Continue ``K d``: a block of outputs of the weight vector, or a kernel row."""
    own, free, row = descent.scalars, descent.free, descent.row
    d, q, k, m = descent.d, descent.q, own.at, free.size
    if k >= m:
        own.stage = LINE
    elif descent.weights.size:
        add_outputs(descent, scalars, store, products, descent.weights, q)
    else:
        own.at += 1
        if d[k] != 0.0:
            scalars.touched += dots(store, np.int64(free[k]), free, m, row)
            transform(store, np.int64(free[k]), free, m, row)
            scalars.evaluations += m
            scalars.ticks += m
            for j in range(m):
                q[j] += d[k] * row[j]


@compiled(forceinline=True)
def step(descent, scalars):
    """Step along the direction, or end the descent if that is impossible."""
    own = descent.scalars
    scalars.ticks += 4 * descent.free.size
    if not step_along(descent):
        own.stage = ENDED
        return
    own.stage = DIRECTION
    own.taken += 1
    scalars.drift += own.length


@compiled(types.void(DESCENT, STATE, STORE, *CALLS, types.int64))
def descend(descent, state, store, dots, transform, products, update, total, slice_work):
    """Minimise over the free multipliers for about ``slice_work`` entries; fix those that reach a bound."""
    own, scalars = descent.scalars, state.scalars
    stop_at = scalars.touched + scalars.ticks + slice_work
    while own.stage != ENDED and scalars.touched + scalars.ticks < stop_at:
        if own.stage == GRADIENT:
            compute_gradient(descent, scalars, store, products, state.weights)
        elif own.stage == DIRECTION:
            select(descent, scalars)
        elif own.stage == FOLD:
            fold_direction(descent, scalars, store, update)
        elif own.stage == PRODUCT:
            multiply(descent, scalars, store, dots, transform, products)
        else:
            step(descent, scalars)


@compiled(types.void(DESCENT, STATE, STORE, *CALLS))
def settle(descent, state, store, dots, transform, products, update, total):
    """Copy the multipliers of a descent to the state, and update what depends on them."""
    scalars, alpha = state.scalars, state.alpha
    free, y, C, beta, g, m = descent.free, descent.y, descent.C, descent.beta, descent.g, descent.free.size
    left = 0
    b = 0.0
    for k in range(m):
        i = np.int64(free[k])
        old, new = alpha[i], y[k] * beta[k]
        if new != old:
            alpha[i] = new
            if state.weights.size:
                scalars.touched += update(store, i, y[k] * (new - old), state.weights)
            else:
                scalars.n_support = set_support(
                    state.support, state.coefficients, state.place, scalars.n_support, i, beta[k]
                )
            if state.margin.size:
                state.margin[i] = -np.inf  # invalid for the new multiplier
        if 0.0 < new < C[k]:
            state.members[left] = np.uint32(i)
            state.errors[left] = g[k]
            b += g[k]
            left += 1
    scalars.n_nonbound = left
    if descent.scalars.equality and left > 0:
        scalars.b = b / left
    for k in range(left):
        state.errors[k] -= scalars.b
    scalars.lowest, scalars.highest = extremes(state.errors, left)
    scalars.objective += descent.scalars.gain
    # Count a step even if none was taken, to invalidate outputs computed ahead.
    scalars.steps += descent.scalars.taken + 1
    scalars.updates += descent.scalars.taken * m
    scalars.polishes += 1
    scalars.polish_at = scalars.steps + _POLISH_EVERY * alpha.size


def begin(run: SmoRun, step_limit: int) -> Descent:
    """Return a descent over the non-bound multipliers."""
    state = run.state
    scalars = state.scalars
    m = int(scalars.n_nonbound)
    folded = state.weights.size > 0
    descent = allocate(m, state.weights.size)
    descent.free[:] = state.members[:m]
    descent.inside[:] = True
    free = descent.free
    descent.y[:] = state.y[free]
    descent.C[:] = state.C[free]
    descent.h[:] = np.abs(state.diagonal[free])
    descent.p[:] = weights_of(descent.h)
    descent.beta[:] = descent.y * state.alpha[free]
    descent.g[:] = state.errors[:m] + scalars.b
    limit = min(10 * m + 100, step_limit - int(scalars.steps) - 1)
    if not folded:
        limit = min(limit, 1 + _POLISH_ENTRIES // (m * m + 1))
    # With a folded weight vector, not every program keeps the errors.
    descent.scalars.stage = GRADIENT if folded else DIRECTION
    descent.scalars.limit = limit
    descent.scalars.n_inside = m
    descent.scalars.fresh = True
    descent.scalars.equality = run.problem.bias
    descent.scalars.target = 0.1 * run.eps
    return descent


def advance(run: SmoRun, work: int) -> None:
    """Continue for about ``work`` entries read."""
    descend(run.descent, run.state, *run.calls, work)
    if run.descent.scalars.stage == ENDED:
        finish(run)


def finish(run: SmoRun) -> None:
    """End the descent at its current point."""
    if run.descent.scalars.stage != GRADIENT:
        settle(run.descent, run.state, *run.calls)
    run.descent = None
