r"""The dual of the relaxed problem of SVM-perf and other cutting-plane solvers, warm-started as planes come.

    max  b.a - 1/2 a.K a    subject to    a >= 0,  sum a = total

An active-set method. The *face* is the set of variables that may move; the direction within it is Newton's. A
step stops where variables reach zero, and these leave the face. When the face is solved, the variable with
the steepest ascent enters. Because the sum is constant, K may be replaced by ``K + s`` (s added to every
entry) without changing the problem. That matrix is positive definite on a face unless one normal is a mean of
others, so one Cholesky factor suffices; a second solve gives the multiplier of the sum. The factor is kept
across rounds and calls: a variable that enters the face adds a row; when one leaves, the rows after its own
are recomputed.

A pivot at the level of rounding is raised to a small positive value. The direction is then still one of
ascent and follows the flat direction to a bound; the next round corrects for the change. The method ends
when the violation is small, or neither it nor the objective has improved for long.
Symbols of OP3 (Joachims 2006):

===========  =============================================================================
paper        here
===========  =============================================================================
W            the places with ``b > -inf``
alpha_c      ``a``
1/n sum c_i  ``b``
x_c.x_c'     ``K``, with both x_c divided by n
C            the sum of ``a``, ``total``; one place is the slack of the paper's inequality
===========  =============================================================================
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import allocated, array, record
from svmrepro.solvers.storage.row_products import REASSOCIATE, VECTOR

_DEGENERATE = 1e-12  # a pivot below this times the diagonal is rounding, not curvature
_SOLVED = 1e-9  # solved when the violation falls to this share of the first one
_NOTHING = 1e-14  # a gain below this share of the total gain is rounding
_FUTILE = 30  # solved faces without progress: where normals differ much in scale, computed gains are rounding


class PlaneScalars:
    """The scalars of a program."""

    count: int  # variables in the face
    valid: int  # leading rows of its factor that are up to date
    s: float  # added to every entry of K


class PlaneQP(NamedTuple):
    """One program over at most ``cap`` variables."""

    K: Any = array("cap", "cap")  # products, both triangles
    b: Any = array("cap")  # -inf in an unused place
    a: Any = array("cap")  # the solution
    g: Any = array("cap")  # b - K a, 0 in an unused place
    factor: Any = array("cap", "cap")  # Cholesky factor of K + s by place in the face
    p: Any = array("cap")  # workspace by place in the face, as are u and v
    u: Any = array("cap")
    v: Any = array("cap")
    face: Any = array("cap", dtype=np.int64)
    inside: Any = array("cap", dtype=np.uint8)
    scalars: PlaneScalars = record(PlaneScalars)


def allocate(capacity: int) -> PlaneQP:
    """Return storage for a program with no place in use."""
    qp = allocated(PlaneQP, cap=capacity)
    qp.b[:] = -np.inf
    return qp


def grown(old: PlaneQP) -> PlaneQP:
    """Return the same program with twice the capacity."""
    m = old.a.size
    new = allocate(2 * m)
    for name in ("K", "factor"):
        getattr(new, name)[:m, :m] = getattr(old, name)
    for name in ("b", "a", "g", "face", "inside"):
        getattr(new, name)[:m] = getattr(old, name)
    return new._replace(scalars=old.scalars)


PLANE_QP = typeof(allocate(1))


@compiled(types.float64(VECTOR, VECTOR, types.int64), fastmath=REASSOCIATE)
def product(one, two, count):
    """Return the inner product of the first ``count`` entries."""
    total = 0.0
    for k in range(count):
        total += one[k] * two[k]
    return total


@compiled(types.void(PLANE_QP, types.int64))
def enter(qp, i):
    """Add a variable to the face."""
    if qp.inside[i] == 0:
        qp.inside[i] = 1
        qp.face[qp.scalars.count] = i
        qp.scalars.count += 1


@compiled()
def leave(qp):
    """Remove from the face the variables marked as not inside."""
    kept = 0
    for k in range(qp.scalars.count):
        i = qp.face[k]
        if qp.inside[i]:
            qp.face[kept] = i
            kept += 1
        else:
            qp.scalars.valid = min(qp.scalars.valid, kept)
    qp.scalars.count = kept


@compiled()
def factorise(qp):
    """Compute the rows of the factor that are out of date."""
    K, L, face, s = qp.K, qp.factor, qp.face, qp.scalars.s
    for j in range(qp.scalars.valid, qp.scalars.count):
        row = L[j]
        for k in range(j):
            row[k] = (K[face[j], face[k]] + s - product(row, L[k], k)) / L[k, k]
        diagonal = K[face[j], face[j]] + s
        row[j] = math.sqrt(max(diagonal - product(row, row, j), _DEGENERATE * diagonal))
    qp.scalars.valid = qp.scalars.count


@compiled()
def back_solve(L, count, x):
    """Solve ``L L' x = x`` in place."""
    for j in range(count):
        x[j] = (x[j] - product(L[j], x, j)) / L[j, j]
    for j in range(count - 1, -1, -1):
        x[j] /= L[j, j]
        for k in range(j):
            x[k] -= L[j, k] * x[j]


@compiled()
def slopes(qp, m):
    """Compute the gradient ``g = b - K a``."""
    face, count = qp.face, qp.scalars.count
    for i in range(m):
        qp.g[i] = 0.0
        if qp.b[i] != -np.inf:
            total = 0.0
            for k in range(count):
                total += qp.K[i, face[k]] * qp.a[face[k]]
            qp.g[i] = qp.b[i] - total


@compiled()
def objective(qp):
    """Return the objective, from the gradient."""
    total = 0.0
    for k in range(qp.scalars.count):
        i = qp.face[k]
        total += 0.5 * qp.a[i] * (qp.b[i] + qp.g[i])
    return total


@compiled()
def newton(qp):
    """Write the Newton direction over the face into p; return its slope and the feasible step, at most 1."""
    p, u, v, face, count = qp.p, qp.u, qp.v, qp.face, qp.scalars.count
    for k in range(count):
        u[k], v[k] = qp.g[face[k]], 1.0
    back_solve(qp.factor, count, u)
    back_solve(qp.factor, count, v)
    above, below = 0.0, 0.0
    for k in range(count):
        above += u[k]
        below += v[k]
    left, slope, reach = 0.0, 0.0, 1.0
    for k in range(count):
        p[k] = u[k] - above / below * v[k]
        left += p[k]
    for k in range(count):
        p[k] -= left / count
        slope += p[k] * qp.g[face[k]]
        if p[k] < 0.0:
            reach = min(reach, -qp.a[face[k]] / p[k])
    return slope, reach


@compiled()
def follow(qp, reach):
    """Step along p and drop variables that reach zero from the face; return whether any did."""
    met = False
    for k in range(qp.scalars.count):
        i = qp.face[k]
        if qp.p[k] < 0.0 and -qp.a[i] / qp.p[k] <= reach:
            qp.a[i] = 0.0
            qp.inside[i] = 0
            met = True
        else:
            qp.a[i] = max(qp.a[i] + reach * qp.p[k], 0.0)
    if met:
        leave(qp)
    return met


@compiled()
def worst(qp, m):
    """Return the violation of the optimality conditions, and the variable that should enter, or -1."""
    top, least, riser = -np.inf, np.inf, -1
    for k in range(qp.scalars.count):
        i = qp.face[k]
        top = max(top, qp.g[i])
        if qp.a[i] > 0.0:
            least = min(least, qp.g[i])
    for i in range(m):
        if qp.inside[i] == 0 and qp.b[i] != -np.inf and qp.g[i] > top:
            top, riser = qp.g[i], i
    return top - least, riser


@compiled()
def rescale(qp):
    """Reset s to the size of the face's diagonal where the two differ by more than a factor of 10."""
    total, count = 0.0, 0
    for k in range(qp.scalars.count):
        diagonal = qp.K[qp.face[k], qp.face[k]]
        if diagonal > 0.0:
            total += diagonal
            count += 1
    size = total / count if count > 0 else 1.0
    if not 0.1 * size <= qp.scalars.s <= 10.0 * size:
        qp.scalars.s = size
        qp.scalars.valid = 0


@compiled(types.int64(PLANE_QP, types.int64, types.int64[::1]))
def optimise(qp, m, entering):
    """Bring the multipliers of the planes in m places to their optimum; return the number of rounds.

    ``a`` must be feasible, and ``face`` as the last call left it; ``entering`` variables join it at the
    start.
    """
    slopes(qp, m)
    first, _ = worst(qp, m)
    for i in entering:
        enter(qp, i)
    rescale(qp)
    total, lately, rounds = 0.0, np.inf, 0
    best, least, futile = -np.inf, np.inf, 0
    while rounds < 10 * (m + 2):
        rounds += 1
        factorise(qp)
        slope, reach = newton(qp)
        met = False
        if slope > 0.0:
            met = follow(qp, reach)
            slopes(qp, m)
            gain = slope * reach * (1.0 - 0.5 * reach)
            total += gain
            lately += gain
        if met:
            continue
        # The face is solved.
        violation, riser = worst(qp, m)
        if violation <= _SOLVED * first or lately <= _NOTHING * total:
            break
        reached = objective(qp)
        futile = 0 if reached > best or violation < 0.5 * least else futile + 1
        best = max(best, reached)
        least = min(least, violation)
        if futile >= _FUTILE:
            break
        lately = 0.0
        if riser >= 0:
            enter(qp, riser)
    for k in range(qp.scalars.count):
        if qp.a[qp.face[k]] <= 0.0:
            qp.inside[qp.face[k]] = 0
    leave(qp)
    return rounds
