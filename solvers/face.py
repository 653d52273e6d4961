r"""Conjugate gradient over the multipliers that lie between their bounds, on kernel rows.

A rescue for SMO on ill-conditioned problems (linear kernels of few features, large C, classes
that overlap): there the non-bound multipliers zigzag for millions of steps. Inside the face of
the non-bound multipliers the dual is an unconstrained quadratic in ``beta_i = y_i alpha_i``,

    min  1/2 beta.K beta - y.beta    subject to    sum beta = const (only with a free threshold)

and its antigradient is the negative error ``-(u_i - y_i)``. A product with K costs about
what one pass of SMO steps over the same multipliers does. Every step stays in the box and
lowers the objective, so the passes of SMO that follow keep their guarantee.
"""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.platt import (
    CALLS,
    EVALUATIONS,
    HIGHEST,
    LOWEST,
    NONBOUND,
    OBJECTIVE,
    POLISH_AT,
    POLISHES,
    STATE,
    STEPS,
    TOUCHED,
    UPDATES,
    B,
    move,
)
from svmrepro.solvers.rows import STORE
from svmrepro.solvers.working_sets import extremes, find

_POLISH_EVERY = 20  # steps an example between two polishes
_POLISH_ENTRIES = 20_000_000  # kernel evaluations in one go

_FLAT = 1e-12  # curvature below this times |d|^2 max K_ii is none
_IDLE = 20  # steps in a row that gain nothing in double precision end the descent


@compiled(allocates=True)
def kernel_times(store, dots, transform, products, update, face, d, folded, features, row, out):  # type: ignore[no-untyped-def]
    """``out = K d`` over the face, through the weight vector of ``d`` where folded; return entries read."""
    touched, m = 0, face.size
    out[:m] = 0.0
    if folded:
        weights = np.zeros(features)
        for k in range(m):
            if d[k] != 0.0:
                touched += update(store, np.int64(face[k]), d[k], weights)
        return touched + products(store, weights, face, m, out)
    for k in range(m):
        if d[k] != 0.0:
            touched += dots(store, np.int64(face[k]), face, m, row)
            transform(store, np.int64(face[k]), face, m, row)
            for j in range(m):
                out[j] += d[k] * row[j]
    return touched


@compiled(allocates=True)
def room_along(beta, y, d, C):  # type: ignore[no-untyped-def]
    """Return how far a signed multiplier may go along d != 0."""
    top = C if y > 0.0 else 0.0
    return (top - beta) / d if d > 0.0 else (top - C - beta) / d


@compiled(allocates=True)
def descend(  # type: ignore[no-untyped-def]
    store,
    dots,
    transform,
    products,
    update,
    face,
    y,
    diagonal,
    beta,
    g,
    folded,
    features,
    equality,
    C,
    target,
    limit,
):
    """Minimise over the face, dropping what meets a bound from it.

    Parameters
    ----------
    face : ndarray of uint32, shape (m,)
        The examples.
    y, diagonal : ndarray of float64, shape (n,)
        Labels and K_ii of all examples.
    beta, g : ndarray of float64, shape (m,)
        ``y_i alpha_i`` and ``u_i - y_i`` without b; both are brought up to date, bounds hit exactly.
    folded, features : bool, int
        Whether products go through a weight vector, and its length.
    equality : bool
        Whether the sum of beta is kept.
    C, target : float
        Upper bound of alpha; stop when no (projected) gradient entry exceeds ``target``.
    limit : int
        Largest number of steps.

    Returns
    -------
    steps, gain, touched, evaluations : int, float, int, int
    """
    m = face.size
    d, q, row = np.zeros(m), np.zeros(m), np.zeros(m)
    inside = np.ones(m, dtype=np.bool_)
    count, steps, idle, touched, evaluations = m, 0, 0, 0, 0
    total, previous, fresh = 0.0, 0.0, True
    largest = 0.0
    for k in range(m):
        largest = max(largest, abs(diagonal[face[k]]))
    while steps < limit and count > 0 and idle < _IDLE:
        mean = 0.0
        if equality:
            # Twice: see projected_cg.next_direction.
            for k in range(m):
                mean += g[k] if inside[k] else 0.0
            mean /= count
            shift = 0.0
            for k in range(m):
                shift += g[k] - mean if inside[k] else 0.0
            mean += shift / count
        worst, residual = 0.0, 0.0
        for k in range(m):
            if inside[k]:
                residual += (mean - g[k]) ** 2
                worst = max(worst, abs(mean - g[k]))
        if worst <= target:
            break
        scale = 0.0 if fresh else residual / previous
        previous = residual
        inner, length = 0.0, 0.0
        for k in range(m):
            if inside[k]:
                d[k] = mean - g[k] + scale * d[k]
                inner += (mean - g[k]) * d[k]
                length += d[k] * d[k]
            else:
                d[k] = 0.0
        if inner <= 0.0:
            if fresh:
                break
            fresh = True
            continue
        touched += kernel_times(store, dots, transform, products, update, face, d, folded, features, row, q)
        evaluations += 2 * m if folded else count * m
        steps += 1
        curvature, reach = 0.0, np.inf
        for k in range(m):
            if inside[k] and d[k] != 0.0:
                curvature += d[k] * q[k]
                reach = min(reach, room_along(beta[k], y[face[k]], d[k], C))
        blocked = not (curvature > _FLAT * largest * length and inner < reach * curvature)
        step = reach if blocked else inner / curvature
        for k in range(m):
            g[k] += step * q[k]
            if not inside[k] or d[k] == 0.0:
                continue
            top = C if y[face[k]] > 0.0 else 0.0
            if blocked and room_along(beta[k], y[face[k]], d[k], C) <= step:
                beta[k] = top if d[k] > 0.0 else top - C
                inside[k] = False
                count -= 1
            else:
                beta[k] = min(max(beta[k] + step * d[k], top - C), top)
        gain = step * inner - 0.5 * step * step * curvature
        total += gain
        idle = idle + 1 if gain <= 1e-16 * abs(total) else 0
        fresh = blocked
    return steps, total, touched, evaluations


@compiled(
    types.void(STATE, STORE, *CALLS, types.float64, types.float64, types.int64, types.boolean), allocates=True
)
def polish(state, store, dots, transform, products, update, total, C, tol, step_limit, equality):  # type: ignore[no-untyped-def]
    """Solve in the face of the non-bound multipliers, see :mod:`svmrepro.solvers.face`."""
    counts, scalars, alpha, y = state.counts, state.scalars, state.alpha, state.y
    m, n = counts[NONBOUND], y.size
    face = state.members[:m].copy()
    beta, g = np.empty(m), np.empty(m)
    folded = state.weights.size > 0
    if folded:
        counts[TOUCHED] += products(store, state.weights, face, m, g)
        counts[EVALUATIONS] += m
    for k in range(m):
        i = face[k]
        beta[k] = y[i] * alpha[i]
        g[k] = g[k] - y[i] if folded else state.errors[k] + scalars[B]
    limit = min(10 * m + 100, step_limit - counts[STEPS] - 1)
    if not folded:
        limit = min(limit, 1 + _POLISH_ENTRIES // (m * m + 1))
    steps, gain, touched, evaluations = descend(
        store,
        dots,
        transform,
        products,
        update,
        face,
        y,
        state.diagonal,
        beta,
        g,
        folded,
        state.weights.size,
        equality,
        C,
        0.1 * tol,
        limit,
    )
    for k in range(m):
        i = np.int64(face[k])
        new = y[i] * beta[k]
        if new != alpha[i]:
            move(state, store, dots, transform, products, update, i, alpha[i], new, 0.0, C)
    left = counts[NONBOUND]
    if equality and left > 0:
        b = 0.0
        for k in range(m):
            if 0.0 < alpha[face[k]] < C:
                b += g[k]
        scalars[B] = b / left
    for k in range(m):
        if 0.0 < alpha[face[k]] < C:
            state.errors[find(state.members, left, face[k])] = g[k] - scalars[B]
    counts[LOWEST], counts[HIGHEST] = extremes(state.errors, left)
    scalars[OBJECTIVE] += gain
    counts[STEPS] += steps + 1  # also where none was possible: outputs computed ahead are void
    counts[UPDATES] += steps * m
    counts[TOUCHED] += touched
    counts[EVALUATIONS] += evaluations
    counts[POLISHES] += 1
    counts[POLISH_AT] = counts[STEPS] + _POLISH_EVERY * n
