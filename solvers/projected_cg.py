r"""Projected conjugate gradient on the dense quadratic program of one chunk.

    min  1/2 a.Q a - sum a    subject to    y.a = const,  0 <= a <= C

(Gill, Murray and Wright 1981; Burges; Platt 1998, section 3.) A *face* is a set F of
variables that may move. Inside it the search directions are conjugate gradients projected
on ``y.d = 0``. A step that meets a bound stops there and drops the variables that met it from
F. Then the direction, projected on what is left of F, is followed further for as long as the objective
falls (``bends``; the projected search of More and Toraldo 1991), and conjugate gradient starts
afresh from the projected gradient where that ends; or, without bends, it starts afresh at the first bound.
Bound variables whose multipliers have the wrong sign are released together when their part of
the projected gradient outweighs that of the face, and when the face is solved.

The multiplier beta of the equality constraint is the mean of ``y_i g_i`` over the variables between
their bounds. Where there is none, it is that of the projection of the antigradient on the cone of
feasible directions, ``d_i = -(g_i - beta y_i)`` where that is feasible and 0 elsewhere, with beta such
that ``y.d = 0``: a monotone equation in one unknown, whose d is zero at a solution only.

Every product ``Q d`` covers all rows of the chunk, so that the gradient is known at bound
variables too, and reads |F| rows of Q; or all rows, as a matrix-vector routine that knows nothing of
faces does. It is the cost of the method. A bend reads one row: where
variable i leaves, ``Q d`` loses ``d_i Q_i`` and the shift along ``Q y_F`` that projects d again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compiled import compiled

# Positions in ``QP.counts``.
M, FREE, FRESH, CG_STEPS, ENTRIES, RELEASES, FACE_STEPS, BENDS, HAS_QY = range(9)
# Positions in ``QP.scalars``.
OBJECTIVE, RESIDUAL, GAIN = range(3)  # GAIN: since the face was made

RUNNING, DONE = 0, 1
_LOOK = 8  # CG steps between looks at the bound variables
_FLAT = 1e-12  # curvature below this times |d|^2 max Q_ii is none
_SHORT = 1e-6  # |d|^2 of a bent direction over what it was: from here rounding could pass for curvature


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
    qy: Any  # (cap,) Q y over the face, where ``counts[HAS_QY]``
    free: Any  # (cap,) int64, the slots of the face
    every: Any  # (cap,) int64, all slots
    inside: Any  # (cap,) uint8, whether a slot is in the face
    counts: Any  # (9,) int64
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
        qy=np.zeros(capacity),
        free=np.zeros(capacity, dtype=np.int64),
        every=np.arange(capacity, dtype=np.int64),
        inside=np.zeros(capacity, dtype=np.uint8),
        counts=np.zeros(9, dtype=np.int64),
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
    counts[HAS_QY] = 0
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
def mean_multiplier(qp):  # type: ignore[no-untyped-def]
    """Return beta, the mean of ``y_i g_i`` over the face."""
    free, y, g, count = qp.free, qp.y, qp.g, qp.counts[FREE]
    total = 0.0
    for k in range(count):
        total += y[free[k]] * g[free[k]]
    return total / max(count, 1)


@compiled()
def drop(qp, k):  # type: ignore[no-untyped-def]
    """Take the k-th variable out of the face."""
    counts, qy, free = qp.counts, qp.qy, qp.free
    i = free[k]
    qp.inside[i] = 0
    counts[FREE] -= 1
    free[k] = free[counts[FREE]]
    if counts[HAS_QY]:
        row, label = qp.Q[i], qp.y[i]
        for j in range(counts[M]):
            qy[j] -= label * row[j]
        counts[ENTRIES] += counts[M]


@compiled()
def drop_blocked(qp, C):  # type: ignore[no-untyped-def]
    """Take out of the face what sits at a bound and is pushed against it; return beta of the rest.

    Each round changes beta, the mean of ``y_i g_i`` over the face, so rounds go on until none leaves.
    """
    counts, a, y, g, free = qp.counts, qp.a, qp.y, qp.g, qp.free
    while True:
        beta = mean_multiplier(qp)
        before = counts[FREE]
        k = 0
        while k < counts[FREE]:
            i = free[k]
            direction = beta * y[i] - g[i]
            if (a[i] <= 0.0 and direction < 0.0) or (a[i] >= C and direction > 0.0):
                drop(qp, k)
            else:
                k += 1
        if counts[FREE] == before:
            return beta


@compiled()
def next_direction(qp, beta):  # type: ignore[no-untyped-def]
    """Write the next direction into d (Fletcher and Reeves); return ``r.d``.

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
    slope = 0.0
    for k in range(counts[FREE]):
        i = free[k]
        r = y[i] * (beta - y[i] * g[i] - shift)
        d[i] = r + scale * d[i]
        slope += r * d[i]
    return slope


@compiled()
def room_along(a, d, C):  # type: ignore[no-untyped-def]
    """Return how far a multiplier may go along d != 0."""
    return (C - a) / d if d > 0.0 else -a / d


@compiled()
def line_of(qp, C):  # type: ignore[no-untyped-def]
    """Return slope, curvature and squared length of d, and how far it can be followed."""
    counts, a, g, d, q, free = qp.counts, qp.a, qp.g, qp.d, qp.q, qp.free
    slope, curvature, length, reach = 0.0, 0.0, 0.0, np.inf
    for k in range(counts[FREE]):
        i = free[k]
        slope -= g[i] * d[i]
        curvature += d[i] * q[i]
        length += d[i] * d[i]
        if d[i] != 0.0:
            room = room_along(a[i], d[i], C)
            reach = room if room < reach else reach
    return slope, curvature, length, reach


@compiled()
def meet(qp, step, C):  # type: ignore[no-untyped-def]
    """Step to the first bound; take what met it out of the face and out of ``Q d``."""
    counts, a, d, q, free = qp.counts, qp.a, qp.d, qp.q, qp.free
    k = 0
    while k < counts[FREE]:
        i = free[k]
        if d[i] != 0.0 and room_along(a[i], d[i], C) <= step:
            a[i] = C if d[i] > 0.0 else 0.0
            if counts[HAS_QY]:
                row, share = qp.Q[i], d[i]
                for j in range(counts[M]):
                    q[j] -= share * row[j]
            d[i] = 0.0
            drop(qp, k)
        else:
            a[i] = min(max(a[i] + step * d[i], 0.0), C)
            k += 1


@compiled()
def project(qp):  # type: ignore[no-untyped-def]
    """Project d on ``y.d = 0`` in what is left of the face, and ``Q d`` with it."""
    counts, y, d, q, qy, free = qp.counts, qp.y, qp.d, qp.q, qp.qy, qp.free
    shift = 0.0
    for k in range(counts[FREE]):
        shift += y[free[k]] * d[free[k]]
    shift /= max(counts[FREE], 1)
    for k in range(counts[FREE]):
        d[free[k]] -= shift * y[free[k]]
    for j in range(counts[M]):
        q[j] -= shift * qy[j]


@compiled()
def follow(qp, C, largest, bends):  # type: ignore[no-untyped-def]
    """Follow d, with ``q = Q d``, to where the objective stops falling.

    Returns
    -------
    gain : float
        By how much the objective W rose.
    blocked : bool
        Whether a bound was met.
    """
    counts, a, g, d, q, free, m = qp.counts, qp.a, qp.g, qp.d, qp.q, qp.free, qp.counts[M]
    gain, blocked, shortest = 0.0, False, 0.0
    while True:
        slope, curvature, length, reach = line_of(qp, C)
        if slope <= 0.0 or length <= shortest:
            return gain, blocked
        free_step = curvature > _FLAT * largest * length and slope / curvature < reach
        step = slope / curvature if free_step else reach
        gain += step * slope - 0.5 * step * step * curvature
        for i in range(m):
            g[i] += step * q[i]
        if free_step:
            for k in range(counts[FREE]):
                i = free[k]
                a[i] = min(max(a[i] + step * d[i], 0.0), C)
            return gain, blocked
        if bends and not counts[HAS_QY]:
            multiply(qp.Q, free, counts[FREE], qp.y, m, qp.qy)
            counts[ENTRIES] += counts[FREE] * m
            counts[HAS_QY] = 1
        meet(qp, step, C)
        if not bends or counts[FREE] == 0:
            return gain, True
        shortest = shortest if blocked else _SHORT * length
        blocked = True
        counts[BENDS] += 1
        project(qp)


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
    types.int64(
        QP_TYPE,
        types.float64,
        types.float64,
        types.float64,
        types.boolean,
        types.boolean,
        types.int64,
        types.int64,
    ),
)
def solve_face(qp, C, tolerance, largest, bends, whole, slice_entries, step_limit):  # type: ignore[no-untyped-def]
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
    bends : bool
        Whether a direction that meets a bound is followed further.
    whole : bool
        Whether products read all of Q, also the rows of variables that do not move.
    slice_entries, step_limit : int
        Entries of Q to read in this slice, and the limit on ``counts[CG_STEPS]``.

    Returns
    -------
    int
        ``RUNNING`` or ``DONE``.
    """
    counts, scalars = qp.counts, qp.scalars
    m = counts[M]
    stop_at = counts[ENTRIES] + slice_entries
    if counts[FREE] == 0:
        release(qp, C)
    while counts[ENTRIES] < stop_at and counts[CG_STEPS] < step_limit:
        beta = drop_blocked(qp, C) if counts[FRESH] else mean_multiplier(qp)
        slope = next_direction(qp, beta)
        gained = scalars[GAIN] > tolerance * abs(scalars[OBJECTIVE])
        if slope <= 0.0:
            # Solved to rounding in this face.
            if not gained or release(qp, C) == 0:
                return DONE
            continue
        if whole:
            multiply(qp.Q, qp.every, m, qp.d, m, qp.q)
            counts[ENTRIES] += m * m
        else:
            multiply(qp.Q, qp.free, counts[FREE], qp.d, m, qp.q)
            counts[ENTRIES] += counts[FREE] * m
        counts[CG_STEPS] += 1
        counts[FACE_STEPS] += 1
        gain, blocked = follow(qp, C, largest, bends)
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
