r"""Projected conjugate gradient on the dense quadratic program of one chunk.

    min  1/2 a.Q a - sum a    subject to    y.a = const,  0 <= a <= C

(Gill, Murray and Wright 1981; Burges; Platt 1998, section 3.) A *face* is a set F of
variables that may move. Inside it the search directions are conjugate gradients projected
on ``y.d = 0``; a step that meets a bound stops there, drops the variables that met it from
F and starts afresh from the projected gradient. Bound variables whose multipliers have the wrong
sign are released together when their part of the projected gradient outweighs that of the face,
and when the face is solved.

The multiplier beta of the equality constraint is the mean of ``y_i g_i`` over the variables between
their bounds. Where there is none, it is that of the projection of the antigradient on the cone of
feasible directions, ``d_i = -(g_i - beta y_i)`` where that is feasible and 0 elsewhere, with beta such
that ``y.d = 0``: a monotone equation in one unknown, whose d is zero at a solution only.

Every product ``Q d`` covers all rows of the chunk, so that the gradient is known at bound
variables too, and reads |F| rows of Q. It is the cost of the method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compiled import compiled

# Positions in ``QP.counts``.
M, FREE, FRESH, CG_STEPS, ENTRIES, RELEASES, FACE_STEPS = range(7)
# Positions in ``QP.scalars``.
OBJECTIVE, RESIDUAL, GAIN = range(3)  # GAIN: since the face was made

RUNNING, DONE = 0, 1
_LOOK = 8  # CG steps between looks at the bound variables
_FLAT = 1e-12  # curvature below this times |d|^2 max Q_ii is none


class QP(NamedTuple):
    """One sub-problem over ``m`` slots of arrays of capacity ``cap``.

    Compiled loops take its arrays out before they begin (see :class:`svmrepro.solvers.smo.State`).
    """

    Q: Any  # (cap, cap) y_i y_j K_ij, both triangles
    y: Any  # (cap,) labels, 0 in an empty slot
    a: Any  # (cap,) multipliers
    g: Any  # (cap,) gradient Q a - 1
    d: Any  # (cap,) direction, 0 outside the face
    q: Any  # (cap,) Q d
    free: Any  # (cap,) int64, the slots of the face
    inside: Any  # (cap,) uint8, whether a slot is in the face
    counts: Any  # (7,) int64
    scalars: Any  # (3,) float64


def allocate(capacity: int) -> QP:
    """Return an empty sub-problem."""
    return QP(
        Q=np.zeros((capacity, capacity)),
        y=np.zeros(capacity),
        a=np.zeros(capacity),
        g=np.zeros(capacity),
        d=np.zeros(capacity),
        q=np.zeros(capacity),
        free=np.zeros(capacity, dtype=np.int64),
        inside=np.zeros(capacity, dtype=np.uint8),
        counts=np.zeros(7, dtype=np.int64),
        scalars=np.zeros(3),
    )


QP_TYPE = typeof(allocate(1))


# Reassociation only regroups the eight terms of an entry and lets them fuse; see rows.py.
@compiled(
    types.void(
        types.float64[:, ::1],
        types.int64[::1],
        types.int64,
        types.float64[::1],
        types.int64,
        types.float64[::1],
    ),
    fastmath={"reassoc", "contract", "nsz"},
)
def multiply(Q, rows, count, d, m, q):  # type: ignore[no-untyped-def]
    """``q[:m] = sum over k < count of d[rows[k]] Q[rows[k], :m]`` (Q symmetric).

    Eight rows at a time, in stretches of q that stay in the first-level cache.
    """
    q[:m] = 0.0
    stretch = 1024
    for first in range(0, m, stretch):
        last = min(first + stretch, m)
        k = 0
        while k + 8 <= count:
            r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            r4, r5, r6, r7 = rows[k + 4], rows[k + 5], rows[k + 6], rows[k + 7]
            d0, d1, d2, d3 = d[r0], d[r1], d[r2], d[r3]
            d4, d5, d6, d7 = d[r4], d[r5], d[r6], d[r7]
            Q0, Q1, Q2, Q3 = Q[r0, first:last], Q[r1, first:last], Q[r2, first:last], Q[r3, first:last]
            Q4, Q5, Q6, Q7 = Q[r4, first:last], Q[r5, first:last], Q[r6, first:last], Q[r7, first:last]
            out = q[first:last]
            for c in range(last - first):
                out[c] += (
                    d0 * Q0[c]
                    + d1 * Q1[c]
                    + d2 * Q2[c]
                    + d3 * Q3[c]
                    + d4 * Q4[c]
                    + d5 * Q5[c]
                    + d6 * Q6[c]
                    + d7 * Q7[c]
                )
            k += 8
        while k < count:
            scale = d[rows[k]]
            row = Q[rows[k], first:last]
            out = q[first:last]
            for c in range(last - first):
                out[c] += scale * row[c]
            k += 1


@compiled()
def feasible(a, y, direction, C):  # type: ignore[no-untyped-def]
    """Tell whether a multiplier may move along ``direction``."""
    return y != 0.0 and ((direction > 0.0 and a < C) or (direction < 0.0 and a > 0.0))


@compiled()
def multiplier_of_equality(qp, C):  # type: ignore[no-untyped-def]
    """Return beta with ``sum y_i d_i = 0`` for the projected gradient d, by bisection.

    The sum rises with beta: each of its terms is ``beta - y_i g_i`` where feasible, else 0.
    """
    m, a, y, g = qp.counts[M], qp.a, qp.y, qp.g
    low, high = np.inf, -np.inf
    for i in range(m):
        if y[i] != 0.0:
            t = y[i] * g[i]
            low = t if t < low else low
            high = t if t > high else high
    for _ in range(100):
        beta = 0.5 * (low + high)
        if not low < beta < high:
            break
        total = 0.0
        for i in range(m):
            direction = beta * y[i] - g[i]
            if feasible(a[i], y[i], direction, C):
                total += y[i] * direction
        if total > 0.0:
            high = beta
        else:
            low = beta
    return 0.5 * (low + high)


@compiled()
def release(qp, C):  # type: ignore[no-untyped-def]
    """Make a new face; return the number of variables that came in.

    Beta is the mean over the variables between their bounds, as the threshold is; a bound variable
    comes in where its multiplier has the wrong sign. Where no two variables could then move, beta is
    that of the projected gradient.
    """
    counts, a, y, g = qp.counts, qp.a, qp.y, qp.g
    total, between = 0.0, 0
    for i in range(counts[M]):
        if y[i] != 0.0 and 0.0 < a[i] < C:
            total += y[i] * g[i]
            between += 1
    entered = 0
    if between > 0:
        entered = enter(qp, total / between, C)
    if counts[FREE] < 2 or between == 0:
        entered = enter(qp, multiplier_of_equality(qp, C), C)
    counts[FRESH] = 1
    counts[FACE_STEPS] = 0
    counts[RELEASES] += 1
    qp.scalars[GAIN] = 0.0
    return entered


@compiled()
def enter(qp, beta, C):  # type: ignore[no-untyped-def]
    """Make the face of beta: all between their bounds, and the bound ones of the wrong sign."""
    counts, a, y, g, inside, free = qp.counts, qp.a, qp.y, qp.g, qp.inside, qp.free
    entered, count = 0, 0
    for i in range(counts[M]):
        was = inside[i]
        inside[i] = 0
        if y[i] == 0.0:
            continue
        if 0.0 < a[i] < C or feasible(a[i], y[i], beta * y[i] - g[i], C):
            inside[i] = 1
            free[count] = i
            count += 1
            entered += 1 - was
    counts[FREE] = count
    return entered


@compiled()
def drop_blocked(qp, C):  # type: ignore[no-untyped-def]
    """Take out of the face what sits at a bound and is pushed against it; return beta of the rest.

    Each round changes beta, the mean of ``y_i g_i`` over the face, so rounds go on until none leaves.
    """
    counts, a, y, g, free, inside = qp.counts, qp.a, qp.y, qp.g, qp.free, qp.inside
    while True:
        total = 0.0
        for k in range(counts[FREE]):
            total += y[free[k]] * g[free[k]]
        beta = total / max(counts[FREE], 1)
        kept = 0
        for k in range(counts[FREE]):
            i = free[k]
            direction = beta * y[i] - g[i]
            if (a[i] <= 0.0 and direction < 0.0) or (a[i] >= C and direction > 0.0):
                inside[i] = 0
            else:
                free[kept] = i
                kept += 1
        if kept == counts[FREE]:
            return beta
        counts[FREE] = kept


@compiled()
def mean_multiplier(qp):  # type: ignore[no-untyped-def]
    """Return beta, the mean of ``y_i g_i`` over the face."""
    free, y, g, count = qp.free, qp.y, qp.g, qp.counts[FREE]
    total = 0.0
    for k in range(count):
        total += y[free[k]] * g[free[k]]
    return total / max(count, 1)


@compiled()
def next_direction(qp, beta):  # type: ignore[no-untyped-def]
    """Write the next direction into d (Fletcher and Reeves); return ``r.d`` and ``d.d``.

    The projection is done twice. Near a solution of the face its residual is what rounding left of
    much larger gradients; a flat or concave direction is followed to a bound all the same, and must
    obey ``y.d = 0`` to the precision of d, not to that of the gradients.
    """
    counts, y, g, d, free = qp.counts, qp.y, qp.g, qp.d, qp.free
    shift = 0.0
    for k in range(counts[FREE]):
        shift += beta - y[free[k]] * g[free[k]]
    shift /= max(counts[FREE], 1)
    residual = 0.0
    for k in range(counts[FREE]):
        r = beta - y[free[k]] * g[free[k]] - shift
        residual += r * r
    scale = 0.0
    if counts[FRESH]:
        d[: counts[M]] = 0.0
    elif qp.scalars[RESIDUAL] > 0.0:
        scale = residual / qp.scalars[RESIDUAL]
    qp.scalars[RESIDUAL] = residual
    inner, length = 0.0, 0.0
    for k in range(counts[FREE]):
        i = free[k]
        r = y[i] * (beta - y[i] * g[i] - shift)
        d[i] = r + scale * d[i]
        inner += r * d[i]
        length += d[i] * d[i]
    return inner, length


@compiled()
def room_along(a, d, C):  # type: ignore[no-untyped-def]
    """Return how far a multiplier may go along d != 0."""
    return (C - a) / d if d > 0.0 else -a / d


@compiled()
def move(qp, step, blocked, C):  # type: ignore[no-untyped-def]
    """Take a step; if it was cut short, put what met a bound on it and out of the face."""
    counts, a, d, free, inside = qp.counts, qp.a, qp.d, qp.free, qp.inside
    kept = 0
    for k in range(counts[FREE]):
        i = free[k]
        if blocked and d[i] != 0.0 and room_along(a[i], d[i], C) <= step:
            a[i] = C if d[i] > 0.0 else 0.0
            inside[i] = 0
            continue
        a[i] = min(max(a[i] + step * d[i], 0.0), C)
        free[kept] = i
        kept += 1
    counts[FREE] = kept


@compiled()
def outweighed(qp, beta, C):  # type: ignore[no-untyped-def]
    """Tell whether bound variables pull harder on the objective than the face does."""
    counts, a, y, g, inside = qp.counts, qp.a, qp.y, qp.g, qp.inside
    inner, outer = 0.0, 0.0
    for i in range(counts[M]):
        direction = beta * y[i] - g[i]
        if inside[i]:
            inner += direction * direction
        elif feasible(a[i], y[i], direction, C):
            outer += direction * direction
    return outer > inner


@compiled(
    types.int64(QP_TYPE, types.float64, types.float64, types.float64, types.int64, types.int64),
)
def solve_face(qp, C, tolerance, largest, slice_entries, step_limit):  # type: ignore[no-untyped-def]
    """Run CG steps until the relative gain of one is below ``tolerance``, or a slice is used up.

    Parameters
    ----------
    qp : QP
        ``counts[FREE] = 0`` asks for a new face.
    C : float
        Upper bound.
    tolerance : float
        The report's stopping rule: relative improvement of the objective by a step.
    largest : float
        Largest diagonal entry of Q.
    slice_entries, step_limit : int
        Entries of Q to read in this slice, and the limit on ``counts[CG_STEPS]``.

    Returns
    -------
    int
        ``RUNNING`` or ``DONE``.
    """
    counts, scalars = qp.counts, qp.scalars
    a, g, d, q, free = qp.a, qp.g, qp.d, qp.q, qp.free
    m = counts[M]
    stop_at = counts[ENTRIES] + slice_entries
    if counts[FREE] == 0:
        release(qp, C)
    while counts[ENTRIES] < stop_at and counts[CG_STEPS] < step_limit:
        beta = drop_blocked(qp, C) if counts[FRESH] else mean_multiplier(qp)
        inner, length = next_direction(qp, beta)
        gained = scalars[GAIN] > tolerance * abs(scalars[OBJECTIVE])
        if inner <= 0.0:
            # Solved to rounding in this face.
            if not gained or release(qp, C) == 0:
                return DONE
            continue
        multiply(qp.Q, free, counts[FREE], d, m, q)
        counts[ENTRIES] += counts[FREE] * m
        counts[CG_STEPS] += 1
        counts[FACE_STEPS] += 1
        curvature, reach = 0.0, np.inf
        for k in range(counts[FREE]):
            i = free[k]
            curvature += d[i] * q[i]
            if d[i] != 0.0:
                room = room_along(a[i], d[i], C)
                reach = room if room < reach else reach
        blocked = not (curvature > _FLAT * largest * length and inner / curvature < reach)
        step = reach if blocked else inner / curvature
        gain = step * inner - 0.5 * step * step * curvature
        for i in range(m):
            g[i] += step * q[i]
        move(qp, step, blocked, C)
        counts[FRESH] = 1 if blocked else 0
        scalars[OBJECTIVE] += gain
        scalars[GAIN] += gain
        bar = tolerance * abs(scalars[OBJECTIVE])
        if blocked:
            if counts[FREE] == 0 and (scalars[GAIN] <= bar or release(qp, C) == 0):
                return DONE
        elif gain <= bar:
            if scalars[GAIN] <= bar or release(qp, C) == 0:
                return DONE
        elif counts[FACE_STEPS] % _LOOK == 0 and outweighed(qp, beta, C):
            release(qp, C)
    return RUNNING
