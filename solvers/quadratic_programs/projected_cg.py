r"""Projected conjugate gradient on the dense quadratic program of one chunk.

    min  1/2 a.Q a - sum a    subject to    y.a = const,  0 <= a_i <= C_i

(Gill, Murray and Wright 1981; Burges; Platt 1998, section 3.) A *face* is a set F of variables that may move.
Within it the search directions are conjugate gradients projected on ``y.d = 0``. A step stops at the first
bound, and the variables that reach it leave F. With ``bends``, the direction is then projected on the rest of
F and followed further as long as the objective falls (the projected search of More and Toraldo 1991), after
which conjugate gradient restarts from the projected gradient. Without ``bends`` it restarts at the first
bound. Bound variables whose multipliers have the wrong sign are released together, either when their part of
the projected gradient outweighs the part of the face or when the face is solved.

Every product ``Q d`` covers all rows of the chunk, so that the gradient is known at bound variables too. It
reads |F| rows of Q; or all rows (``whole``), as a plain matrix-vector routine does. These products dominate
the cost. A bend reads only one row: when variable i leaves, ``d_i Q_i`` is subtracted from ``Q d``, and a
multiple of ``Q y_F`` accounts for the new projection of d.

All gradients are multiplied by weights ``p_i``. They are 1 unless the diagonal of Q spans many orders of
magnitude, see :mod:`svmrepro.solvers.quadratic_programs.chunk_qp`. The curvature of d is compared with
``sum d_i^2 Q_ii``, to which its rounding error is relative.

The loop is a state machine of *stages*, so that a slice can end in the middle of a product over a large face.
The multipliers and the gradient are consistent between any two stages.
Symbols:

==========  ===========================================================
symbol      here
==========  ===========================================================
Q, y, C, a  ``qp.Q``, ``qp.y``, ``qp.C``, ``qp.a``, by slot
Q a - 1     ``g``, the gradient
F           ``free``, its first ``scalars.n_free`` entries
d, Q d      ``d``, ``q``
Q y_F       ``qy``, with weights
p_i         ``p``; ``py`` is p_i y_i
beta        ``scalars.beta``, the multiplier of the equality constraint
==========  ===========================================================
"""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.quadratic_programs._faces import (
    drop,
    drop_blocked,
    mean_multiplier,
    outweighed,
    release,
    weight_of_face,
)
from svmrepro.solvers.quadratic_programs.chunk_qp import CHUNK_QP, MET
from svmrepro.solvers.storage.row_products import REASSOCIATE, VECTOR

RUNNING, DONE = 0, 1
DIRECTION, DROPPING, AIM, PRODUCT, LINE, COMPANION, MEETING, CLOSE = range(8)  # stages
_LOOK = 8  # CG steps between checks of the bound variables
_FLAT = 1e-12  # curvature below this times sum d_i^2 Q_ii is rounding
_SHORT = 1e-6  # |d|^2 of a bent direction over its first value; below this rounding may look like curvature
_STRETCH = 1024  # entries of q that fit into the first-level cache


# Reassociation only regroups the eight terms of an entry and lets them fuse; see row_products.
@compiled(
    types.void(
        types.float64[:, ::1], types.int64[::1], types.int64, VECTOR, types.int64, types.int64, VECTOR
    ),
    fastmath=REASSOCIATE,
)
def multiply(Q, rows, count, d, begin, m, q):
    """``q[begin:m] = sum over k < count of d[rows[k]] Q[rows[k], begin:m]`` (Q symmetric).

    Eight rows at a time, in stretches of q that stay in the first-level cache.
    """
    q[begin:m] = 0.0
    for first in range(begin, m, _STRETCH):
        last = min(first + _STRETCH, m)
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
def next_direction(qp, beta):
    """Write the next direction (Fletcher and Reeves) into d; return ``r.d``.

    The projection is applied twice. Near a solution of the face the residual is the rounding error of much
    larger gradients. A flat or concave direction is still followed to a bound, so it must satisfy ``y.d = 0``
    to the precision of d, not of the gradients.
    """
    scalars, y, g, d, p, free = qp.scalars, qp.y, qp.g, qp.d, qp.p, qp.free
    shift = 0.0
    for k in range(scalars.n_free):
        shift += p[free[k]] * (beta - y[free[k]] * g[free[k]])
    shift /= weight_of_face(qp)
    residual = 0.0
    for k in range(scalars.n_free):
        r = beta - y[free[k]] * g[free[k]] - shift
        residual += p[free[k]] * r * r
    scale = 0.0
    if scalars.fresh:
        d[: scalars.m] = 0.0
    elif scalars.residual > 0.0:
        scale = residual / scalars.residual
    scalars.residual = residual
    slope = 0.0
    for k in range(scalars.n_free):
        i = free[k]
        r = y[i] * (beta - y[i] * g[i] - shift)
        d[i] = p[i] * r + scale * d[i]
        slope += r * d[i]
    return slope


@compiled()
def room_along(a, d, C):
    """Return the largest feasible step of a multiplier along d != 0."""
    return (C - a) / d if d > 0.0 else -a / d


@compiled()
def step_along(qp, bends):
    """Follow d, with ``q = Q d``, to the minimum or to the first bound; return the next stage.

    Variables that reach their bound are marked. If the gain is not finite, no step is taken.
    """
    scalars, a, g, d, q, C, free = qp.scalars, qp.a, qp.g, qp.d, qp.q, qp.C, qp.free
    # Of d: slope, curvature, the scale of its rounding, squared length, and feasible step.
    slope, curvature, against, length, reach = 0.0, 0.0, 0.0, 0.0, np.inf
    for k in range(scalars.n_free):
        i = free[k]
        slope -= g[i] * d[i]
        curvature += d[i] * q[i]
        against += d[i] * d[i] * qp.h[i]
        length += d[i] * d[i] * qp.r[i]
        if d[i] != 0.0:
            room = room_along(a[i], d[i], C[i])
            reach = room if room < reach else reach
    if not (slope > 0.0 and length > scalars.shortest):
        return CLOSE
    free_step = curvature > _FLAT * against and slope / curvature < reach
    step = slope / curvature if free_step else reach
    gain = step * slope - 0.5 * step * step * curvature
    if not (step < np.inf and abs(gain) < np.inf):
        return CLOSE
    scalars.line_gain += gain
    for i in range(scalars.m):
        g[i] += step * q[i]
    if free_step:
        for k in range(scalars.n_free):
            i = free[k]
            a[i] = min(max(a[i] + step * d[i], 0.0), C[i])
        return CLOSE
    scalars.n_met = 0
    for k in range(scalars.n_free):
        i = free[k]
        if d[i] != 0.0 and room_along(a[i], d[i], C[i]) <= step:
            a[i] = C[i] if d[i] > 0.0 else 0.0
            qp.inside[i] = MET
            qp.met[scalars.n_met] = k
            scalars.n_met += 1
        else:
            a[i] = min(max(a[i] + step * d[i], 0.0), C[i])
    scalars.direction_length = length
    return COMPANION if bends and not scalars.has_qy else MEETING


@compiled()
def meet(qp, stop_at):
    """Remove variables that reached a bound from the face and from ``Q d``; return whether all are done."""
    scalars, d, q, free = qp.scalars, qp.d, qp.q, qp.free
    while scalars.at < scalars.n_met and scalars.entries + scalars.ticks < stop_at:
        k = qp.met[scalars.at]
        if k >= scalars.n_free or qp.inside[free[k]] != MET:
            scalars.at += 1
            continue
        i = free[k]
        if scalars.has_qy:
            row, share = qp.Q[i], d[i]
            for j in range(scalars.m):
                q[j] -= share * row[j]
            scalars.ticks += scalars.m
        d[i] = 0.0
        drop(qp, k)  # moves another variable to place k, perhaps one that is also marked
    return scalars.at == scalars.n_met


@compiled()
def project(qp):
    """Project d on ``y.d = 0`` within the remaining face, and update ``Q d``."""
    scalars, y, d, q, qy, free = qp.scalars, qp.y, qp.d, qp.q, qp.qy, qp.free
    shift = 0.0
    for k in range(scalars.n_free):
        shift += y[free[k]] * d[free[k]]
    shift /= weight_of_face(qp)
    for k in range(scalars.n_free):
        d[free[k]] -= shift * qp.py[free[k]]
    for j in range(scalars.m):
        q[j] -= shift * qy[j]


@compiled(forceinline=True)
def multiply_on(qp, whole, stop_at):
    """Continue ``Q d`` or ``Q (p y)`` by as many stretches as the slice allows, at least one."""
    scalars, m, companion = qp.scalars, qp.scalars.m, qp.scalars.stage == COMPANION
    first = scalars.at
    count = m if whole and not companion else scalars.n_free
    room = (stop_at - scalars.entries - scalars.ticks) // max(count * _STRETCH, 1)
    last = min(m, first + _STRETCH * max(room, 1))
    if companion:
        multiply(qp.Q, qp.free, count, qp.py, first, last, qp.qy)
    else:
        multiply(qp.Q, qp.every if whole else qp.free, count, qp.d, first, last, qp.q)
    scalars.entries += count * (last - first)
    scalars.at = last
    if last < m:
        return
    scalars.at = 0
    if companion:
        scalars.has_qy = True
        scalars.stage = MEETING
    else:
        scalars.cg_steps += 1
        scalars.face_steps += 1
        scalars.stage = LINE


@compiled(forceinline=True)
def close_line(qp, tolerance):
    """Add the gain of a finished direction; return whether the program is solved."""
    scalars = qp.scalars
    gain = scalars.line_gain
    scalars.stage = DIRECTION
    scalars.fresh = scalars.blocked
    scalars.line_gain = 0.0
    scalars.objective += gain
    scalars.gain += gain
    bar = tolerance * abs(scalars.objective)
    if scalars.blocked:
        return scalars.n_free == 0 and (scalars.gain <= bar or release(qp) == 0)
    if gain <= bar:
        return scalars.gain <= bar or release(qp) == 0
    if scalars.face_steps % _LOOK == 0 and outweighed(qp, scalars.beta):
        release(qp)
    return False


@compiled(types.int64(CHUNK_QP, types.float64, types.boolean, types.boolean, types.int64, types.int64))
def solve_face(qp, tolerance, bends, whole, slice_entries, step_limit):
    """Run CG steps until the relative gain of one is below ``tolerance``, or a slice is used up.

    The relative improvement of the objective by a step is the report's stopping rule. ``slice_entries``
    counts entries of Q read or the equivalent, ``step_limit`` limits ``scalars.cg_steps``. ``scalars.n_free =
    0`` requests a new face. Returns ``RUNNING`` or ``DONE``.
    """
    scalars = qp.scalars
    m = scalars.m
    stop_at = scalars.entries + scalars.ticks + slice_entries
    if scalars.n_free == 0 and scalars.stage == DIRECTION:
        release(qp)
    while scalars.entries + scalars.ticks < stop_at:
        stage = scalars.stage
        if stage == DIRECTION:
            if scalars.cg_steps >= step_limit:
                return RUNNING
            scalars.at = 0
            scalars.stage = DROPPING if scalars.fresh else AIM
            if not scalars.fresh:
                scalars.beta = mean_multiplier(qp)
        elif stage == DROPPING:
            if drop_blocked(qp, stop_at):
                scalars.stage = AIM
        elif stage == AIM:
            slope = next_direction(qp, scalars.beta)
            scalars.ticks += 4 * scalars.n_free
            if not slope > 0.0:
                # The face is solved up to rounding.
                scalars.stage = DIRECTION
                gained = scalars.gain > tolerance * abs(scalars.objective)
                if not gained or release(qp) == 0:
                    return DONE
                continue
            scalars.line_gain, scalars.shortest = 0.0, 0.0
            scalars.blocked = False
            scalars.at = 0
            scalars.stage = PRODUCT
        elif stage in (PRODUCT, COMPANION):
            multiply_on(qp, whole, stop_at)
        elif stage == LINE:
            scalars.ticks += m + 4 * scalars.n_free
            scalars.stage = step_along(qp, bends)
        elif stage == MEETING:
            if not meet(qp, stop_at):
                continue
            scalars.at = 0
            if not bends or scalars.n_free == 0:
                scalars.blocked = True
                scalars.stage = CLOSE
                continue
            if not scalars.blocked:
                scalars.shortest = _SHORT * scalars.direction_length
            scalars.blocked = True
            scalars.bends += 1
            project(qp)
            scalars.ticks += m
            scalars.stage = LINE
        else:
            if close_line(qp, tolerance):
                return DONE
    return RUNNING
