"""The face of a chunk's quadratic program: which variables may move.

The multiplier beta of the equality constraint is the mean of ``y_i g_i`` over the variables strictly between
their bounds. If there are none, beta is taken from the projection of the negative gradient on the cone of
feasible directions: ``d_i = -(g_i - beta y_i)`` where that is feasible and 0 elsewhere, with beta such that
``y.d = 0``. This is a monotone equation in one unknown, and d = 0 only at a solution.
"""

from __future__ import annotations

import numpy as np
from svmrepro.solvers.compilation.compiled import compiled


@compiled()
def feasible(a, y, direction, C):
    """Tell whether a multiplier can move along ``direction``."""
    return y != 0.0 and ((direction > 0.0 and a < C) or (direction < 0.0 and a > 0.0))


@compiled()
def multiplier_of_equality(qp):
    """Return beta with ``sum y_i d_i = 0`` for the projected gradient d, by bisection.

    The sum increases with beta: each term is ``p_i (beta - y_i g_i)`` where feasible, else 0.
    """
    m, a, y, g, C = qp.scalars.m, qp.a, qp.y, qp.g, qp.C
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
            if feasible(a[i], y[i], direction, C[i]):
                total += qp.py[i] * direction
        if total > 0.0:
            high = beta
        else:
            low = beta
    return 0.5 * (low + high)


@compiled()
def release(qp):
    """Make a new face; return the number of variables that entered.

    Beta is the mean over the variables between their bounds, like the threshold. A bound variable enters if
    its multiplier has the wrong sign. If fewer than two variables could then move, beta is taken from the
    projected gradient instead.
    """
    scalars, a, y, g, C = qp.scalars, qp.a, qp.y, qp.g, qp.C
    total, between = 0.0, 0.0
    for i in range(scalars.m):
        if y[i] != 0.0 and 0.0 < a[i] < C[i]:
            total += qp.py[i] * g[i]
            between += qp.p[i]
    entered = 0
    if between > 0.0:
        entered = enter(qp, total / between)
    if scalars.n_free < 2 or between == 0.0:
        entered = enter(qp, multiplier_of_equality(qp))
    scalars.fresh = True
    scalars.face_steps = 0
    scalars.has_qy = False
    scalars.releases += 1
    scalars.ticks += 4 * scalars.m
    scalars.gain = 0.0
    return entered


@compiled()
def enter(qp, beta):
    """Form the face for beta: variables between their bounds, and bound ones of the wrong sign."""
    scalars, a, y, g, inside, free, C = qp.scalars, qp.a, qp.y, qp.g, qp.inside, qp.free, qp.C
    entered, count = 0, 0
    for i in range(scalars.m):
        was = inside[i]
        inside[i] = 0
        if y[i] == 0.0:
            continue
        if 0.0 < a[i] < C[i] or feasible(a[i], y[i], beta * y[i] - g[i], C[i]):
            inside[i] = 1
            free[count] = i
            count += 1
            entered += 1 - was
    scalars.n_free = count
    return entered


@compiled()
def weight_of_face(qp):
    """Return the sum of the weights over the face, 1 if it is empty."""
    weight = 0.0 if qp.scalars.n_free else 1.0
    for k in range(qp.scalars.n_free):
        weight += qp.p[qp.free[k]]
    return weight


@compiled()
def mean_multiplier(qp):
    """Return beta, the weighted mean of ``y_i g_i`` over the face."""
    free, py, g, count = qp.free, qp.py, qp.g, qp.scalars.n_free
    total = 0.0
    for k in range(count):
        total += py[free[k]] * g[free[k]]
    return total / weight_of_face(qp)


@compiled()
def drop(qp, k):
    """Remove the k-th variable from the face."""
    scalars, qy, free = qp.scalars, qp.qy, qp.free
    i = free[k]
    qp.inside[i] = 0
    scalars.n_free -= 1
    free[k] = free[scalars.n_free]
    if scalars.has_qy:
        row, label = qp.Q[i], qp.py[i]
        for j in range(scalars.m):
            qy[j] -= label * row[j]
        scalars.entries += scalars.m


@compiled()
def drop_blocked(qp, stop_at):
    """Remove variables at a bound whose direction is infeasible from the face, and update beta.

    Each removal changes beta, the mean of ``y_i g_i`` over the face, so rounds repeat until none leaves.
    Return whether this finished within the slice.
    """
    scalars, a, y, g, C, free = qp.scalars, qp.a, qp.y, qp.g, qp.C, qp.free
    while True:
        if scalars.at == 0:
            scalars.beta = mean_multiplier(qp)
            scalars.n_before = scalars.n_free
        beta, k = scalars.beta, scalars.at
        scalars.ticks += scalars.n_free - k
        while k < scalars.n_free and scalars.entries + scalars.ticks < stop_at:
            i = free[k]
            direction = beta * y[i] - g[i]
            if (a[i] <= 0.0 and direction < 0.0) or (a[i] >= C[i] and direction > 0.0):
                drop(qp, k)
            else:
                k += 1
        scalars.at = k
        if k < scalars.n_free:
            return False
        scalars.at = 0
        if scalars.n_free == scalars.n_before:
            return True


@compiled()
def outweighed(qp, beta):
    """Tell whether the projected gradient is larger over the bound variables than over the face."""
    scalars, a, y, g, C, p, inside = qp.scalars, qp.a, qp.y, qp.g, qp.C, qp.p, qp.inside
    inner, outer = 0.0, 0.0
    for i in range(scalars.m):
        direction = beta * y[i] - g[i]
        if inside[i]:
            inner += p[i] * direction * direction
        elif feasible(a[i], y[i], direction, C[i]):
            outer += p[i] * direction * direction
    return outer > inner
