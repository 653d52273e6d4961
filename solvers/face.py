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
from numba import njit

_FLAT = 1e-12  # curvature below this times |d|^2 max K_ii is none
_IDLE = 20  # steps in a row that gain nothing in double precision end the descent


@njit(cache=True)
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


@njit(cache=True)
def room_along(beta, y, d, C):  # type: ignore[no-untyped-def]
    """Return how far a signed multiplier may go along d != 0."""
    top = C if y > 0.0 else 0.0
    return (top - beta) / d if d > 0.0 else (top - C - beta) / d


@njit(cache=True)
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
