r"""The dense quadratic program of a small working set, by an active-set method.

    max  g.d - 1/2 d.K d    subject to    low <= d <= high,  and sum d = 0 with a bias

starting from d = 0, which is feasible. A *face* is a set of variables that may move. The direction within it
is Newton's, from a Cholesky factor of the kernel minor. (With a bias, the minor is taken in differences to
the face's last variable, which absorbs the equality constraint.) A step stops where variables reach a bound,
and these leave the face. When the face is solved, the most violating pair (without a bias, the most violating
variable) takes a step of its own and enters the face.

Indefinite kernels are allowed. Where a pivot is not positive, the factor gives a direction along which the
objective is linear or convex. It is followed to a bound if it ascends; otherwise its variable stays fixed.
Every step increases the objective, so the method ends; a limit on the rounds guards against rounding.
Symbols:

===============  ===============================================================
symbol           here
===============  ===============================================================
K, low, high, d  ``qp.K``, ``qp.low``, ``qp.high``, ``qp.d``, by variable
g                ``qp.g``: at first the g of the formula, then g - K d
F                ``face``, its first ``count`` entries
L                ``factor``, by place in F: the Cholesky factor
p                ``p``, the direction by variable; ``v`` and ``z`` by place in F
===============  ===============================================================
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import allocated, array

NONE, NEWTON, FLAT = range(3)  # kinds of direction

_DEGENERATE = 1e-12  # a pivot below this times the diagonal is rounding, not curvature
_SOLVED = 1e-8  # solved when the violation falls to this share of the first one
_SNAP = 1e-15
_NOTHING = 1e-14  # a gain below this share of the total gain is rounding
_CLIMB = 1e-6  # a flat direction ascends if its slope is above this share of the first violation


class WorkingSetQP(NamedTuple):
    """One program over at most ``cap`` variables."""

    K: Any = array("cap", "cap")  # kernel minor, both triangles
    g: Any = array("cap")  # gradient at d
    low: Any = array("cap")  # bounds of d, low <= 0 <= high
    high: Any = array("cap")
    d: Any = array("cap")  # the solution
    p: Any = array("cap")  # direction, by variable
    factor: Any = array("cap", "cap")  # Cholesky factor by place in the face
    v: Any = array("cap")  # workspace by place in the face
    z: Any = array("cap")  # workspace by place in the face
    face: Any = array("cap", dtype=np.int64)  # variables that may move
    inside: Any = array("cap", dtype=np.uint8)  # whether a variable is in the face


def allocate(capacity: int) -> WorkingSetQP:
    """Return storage for a program."""
    return allocated(WorkingSetQP, cap=capacity)


@compiled()
def spread(qp, size, count, values):
    """Write a direction given by place in the face into p; with a bias the last variable balances the sum."""
    total = 0.0
    for j in range(size):
        qp.p[qp.face[j]] = values[j]
        total += values[j]
    if size < count:
        qp.p[qp.face[size]] = -total


@compiled()
def flat_direction(qp, j, size, count):
    """Write the direction of nonpositive curvature at pivot j into z; return its slope and 1-norm."""
    L, z, g, face = qp.factor, qp.z, qp.g, qp.face
    base = g[face[size]] if size < count else 0.0
    z[j] = 1.0
    slope, length = g[face[j]] - base, 1.0
    for k in range(j - 1, -1, -1):
        z[k] = 0.0
        if L[k, k] > 0.0:
            total = L[j, k]
            for t in range(k + 1, j):
                total += L[t, k] * z[t]
            z[k] = -total / L[k, k]
        slope += (g[face[k]] - base) * z[k]
        length += abs(z[k])
    for k in range(j + 1, size):
        z[k] = 0.0
    return slope, length


@compiled()
def direction(qp, count, equality, climb):
    """Write an ascent direction over the face into p; return its kind and the largest step along it."""
    K, g, L, v, z, face = qp.K, qp.g, qp.factor, qp.v, qp.z, qp.face
    size = count - 1 if equality else count
    last = face[count - 1]
    for j in range(size):
        row = face[j]
        pivot, value = 0.0, g[row] - (g[last] if equality else 0.0)
        for k in range(j + 1):
            entry = K[row, face[k]]
            if equality:
                entry = (entry - K[row, last]) - (K[face[k], last] - K[last, last])
            for t in range(k):
                entry -= L[j, t] * L[k, t]
            if k == j:
                pivot = entry
            else:
                L[j, k] = entry / L[k, k] if L[k, k] > 0.0 else 0.0
                value -= L[j, k] * v[k]
        v[j], L[j, j] = 0.0, 0.0
        if pivot > _DEGENERATE * (abs(K[row, row]) + (abs(K[last, last]) if equality else 0.0)):
            L[j, j] = math.sqrt(pivot)
            v[j] = value / L[j, j]
            continue
        slope, length = flat_direction(qp, j, size, count)
        if abs(slope) > climb * length:
            if slope < 0.0:
                for k in range(j + 1):
                    z[k] = -z[k]
            spread(qp, size, count, z)
            return FLAT, abs(slope) / pivot if pivot > 0.0 else np.inf
    slope = 0.0
    for j in range(size - 1, -1, -1):
        slope += v[j] * v[j]
        if L[j, j] > 0.0:
            total = v[j]
            for t in range(j + 1, size):
                total -= L[t, j] * v[t]
            v[j] = total / L[j, j]
    spread(qp, size, count, v)
    return NEWTON if slope > 0.0 else NONE, 1.0


@compiled()
def leave(qp, k, count):
    """Remove the k-th variable from the face; return the new size."""
    qp.inside[qp.face[k]] = 0
    for t in range(k, count - 1):
        qp.face[t] = qp.face[t + 1]
    return count - 1


@compiled()
def room_along(qp, i):
    """Return the largest feasible step of variable i along p."""
    step = qp.p[i]
    if step == 0.0:
        return np.inf
    return (qp.high[i] - qp.d[i]) / step if step > 0.0 else (qp.low[i] - qp.d[i]) / step


@compiled()
def moved(value, step, low, high):
    """Return ``value + step`` clipped to [low, high], snapped to a bound that it misses only by rounding.

    The tolerance is relative to the terms added: the width of the box may far exceed any multiplier.
    """
    size = abs(value) + abs(step)
    value += step
    if value <= low + _SNAP * (size + abs(low)):
        return low
    return high if value >= high - _SNAP * (size + abs(high)) else value


@compiled()
def follow(qp, m, count, reach):
    """Step along p, at most ``reach``, to the first bound; return the new size of the face and the gain."""
    d, g, p, face = qp.d, qp.g, qp.p, qp.face
    for k in range(count):
        reach = min(reach, room_along(qp, face[k]))
    slope, curvature = 0.0, 0.0
    for k in range(count):
        slope += g[face[k]] * p[face[k]]
    for i in range(m):
        change = 0.0
        for k in range(count):
            change += qp.K[i, face[k]] * p[face[k]]
        if qp.inside[i]:
            curvature += change * p[i]
        g[i] -= reach * change
    k = 0
    while k < count:
        i = face[k]
        if room_along(qp, i) <= reach:
            d[i] = qp.high[i] if p[i] > 0.0 else qp.low[i]
            count = leave(qp, k, count)
        else:
            d[i] = moved(d[i], reach * p[i], qp.low[i], qp.high[i])
            k += 1
    return count, (slope - 0.5 * reach * curvature) * reach


@compiled()
def release(qp, m, riser, faller):
    """Move the most violating pair or variable by a clipped Newton step; return the gain."""
    K, g, d = qp.K, qp.g, qp.d
    slope, curvature, room = 0.0, 0.0, np.inf
    if riser >= 0:
        slope, curvature, room = g[riser], K[riser, riser], qp.high[riser] - d[riser]
    if faller >= 0:
        slope, curvature = slope - g[faller], curvature + K[faller, faller]
        room = min(room, d[faller] - qp.low[faller])
    if riser >= 0 and faller >= 0:
        curvature -= 2.0 * K[riser, faller]
    step = slope / curvature if curvature > 0.0 and slope < room * curvature else room
    if riser >= 0:
        d[riser] = moved(d[riser], step, qp.low[riser], qp.high[riser])
    if faller >= 0:
        d[faller] = moved(d[faller], -step, qp.low[faller], qp.high[faller])
    for i in range(m):
        change = K[i, riser] if riser >= 0 else 0.0
        if faller >= 0:
            change -= K[i, faller]
        g[i] -= step * change
    return (slope - 0.5 * curvature * step) * step


@compiled()
def worst(qp, m, equality):
    """Return the violation and the variables that should rise and fall, -1 for none."""
    g, d = qp.g, qp.d
    riser, faller = -1, -1
    for i in range(m):
        if d[i] < qp.high[i] and (riser < 0 or g[i] > g[riser]):
            riser = i
        if d[i] > qp.low[i] and (faller < 0 or g[i] < g[faller]):
            faller = i
    if equality:
        return g[riser] - g[faller] if riser >= 0 and faller >= 0 else 0.0, riser, faller
    up = g[riser] if riser >= 0 else 0.0
    down = -g[faller] if faller >= 0 else 0.0
    if up >= down:
        return up, riser, -1
    return down, -1, faller


@compiled()
def solve_small(qp, m, equality):
    """Solve a program of m variables whose K, g, low and high are set, with ``sum d = 0`` if ``equality``.

    ``d``, and ``g`` at the solution, are written. Returns the number of rounds, each a factorisation.
    """
    face, inside, count = qp.face, qp.inside, m
    for i in range(m):
        face[i] = i
        inside[i] = 1
        qp.d[i] = 0.0
    first, _, _ = worst(qp, m, equality)
    total, rounds = 0.0, 0
    while rounds < 10 * (m + 2):
        rounds += 1
        kind, reach = NONE, 0.0
        if count > (1 if equality else 0):
            kind, reach = direction(qp, count, equality, _CLIMB * first)
        if kind != NONE:
            before = count
            k = 0
            while k < count:
                if room_along(qp, face[k]) <= 0.0:
                    count = leave(qp, k, count)
                else:
                    k += 1
            if count < before:
                continue
            count, gain = follow(qp, m, count, reach)
            total += gain
            if count < before or kind == FLAT:
                continue
        # The face is solved.
        violation, riser, faller = worst(qp, m, equality)
        if violation <= _SOLVED * first:
            break
        gain = release(qp, m, riser, faller)
        total += gain
        if gain <= _NOTHING * total:
            break
        for i in (riser, faller):
            if i >= 0 and inside[i] == 0:
                inside[i] = 1
                face[count] = i
                count += 1
    return rounds
