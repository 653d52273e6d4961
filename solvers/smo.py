r"""Sequential minimal optimisation as Platt published it (TR-98-14, sections 2.1 to 2.5).

Two multipliers a step, solved analytically. With ``s = y1 y2``, ``E_i = u_i - y_i`` and
``u_i = sum_j y_j alpha_j K_ij - b``:

    y1 != y2:  L = max(0, a2 - a1),      H = min(C, C + a2 - a1)          (13)
    y1 == y2:  L = max(0, a2 + a1 - C),  H = min(C, a2 + a1)              (14)
    a2 += y2 (E1 - E2) / eta, clipped;   eta = K11 + K22 - 2 K12          (15)-(17)

The first multiplier comes from passes over all examples that alternate with passes over
the non-bound ones; the second from the cached errors, then from the non-bound examples,
then from all, each from a random start (section 2.2). A linear kernel is folded into its
weight vector (section 2.4).

Where the report is silent or stops short:

* The step tolerance ("eps" of the pseudo-code) has no number in the report; it is
  ``step_tol`` here, 1e-8.
* A pass over all examples that changes nothing ends the report's program even where a
  violator found no partner. Here that pass also yields ``min E`` over I_up and ``max E``
  over I_low (Keerthi et al. 2001). Within 2 eps of each other, the threshold is put halfway
  between them and every example obeys its condition; else that pair, the most violating
  one, takes a step that no step tolerance forbids, ``step_tol`` is divided by ten, and the passes go on.
  ``info["rescues"]`` counts such steps: zero on every data set of the report.
* Where overlapping classes, a large C and few features make the steps zigzag, they number millions.
  After 500 n of them conjugate gradient solves in the face of the non-bound multipliers
  (:mod:`svmrepro.solvers.face`), and again every 20 n steps. ``info["polishes"]`` counts it: zero on
  every data set of the report, whose runs take at most some 100 n steps.
* For eta <= 0 the gain at both ends is written relative to the present point, which is
  equation (19) without its cancellation; on a tie of two improving ends the lower one is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof, types
from svmrepro.solvers.face import descend
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.rows import DOTS, PRODUCTS, ROWS, STORE, UPDATE
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.transforms import TRANSFORM, transform_of
from svmrepro.solvers.working_sets import extremes, find, insert, locate, remove, set_support

# Positions in ``State.counts``.
NEXT, ALL, CHANGED, VIOLATORS, NONBOUND, SUPPORT, STEPS, EVALUATIONS, TOUCHED, TICKS = range(10)
LOWEST, HIGHEST, UP, LOW, BLOCK_AT, BLOCK_END, BLOCK_STEP, BLOCK_SIZE, RESCUES, UPDATES, HINT = range(10, 21)
POLISH_AT, POLISHES = range(21, 23)
# Positions in ``State.scalars``.
B, UP_ERROR, LOW_ERROR, STEP_TOL, OBJECTIVE = range(5)

RUNNING, DONE, STUCK = 0, 1, 2
BLOCK = 512
_PART = (
    1024  # an output is summed over parts of this many support vectors: they stay in the first-level cache
)
_DEGENERATE = 1e-12  # eta below this times K11 + K22 is rounding, not curvature
_SLOPE = 1e-10  # a flat or concave pair moves only if it gains more than this per unit of alpha
_POLISH_AFTER = 500  # steps an example before conjugate gradient comes to help
_POLISH_EVERY = 20  # and steps an example from then on
_POLISH_ENTRIES = 20_000_000  # kernel evaluations in one go
_SNAP = 1e-14  # multipliers this close to a bound, relative to C, are put on it


class State(NamedTuple):
    """Everything a run holds between slices (n examples, d features).

    Compiled loops take its arrays out before they begin: each access inside costs two
    atomic operations on the array's reference count.
    """

    y: Any  # (n,) labels
    alpha: Any  # (n,) multipliers
    diagonal: Any  # (n,) K_ii
    weights: Any  # (d,) folded weight vector, or empty
    members: Any  # (n,) uint32, non-bound examples in ascending order
    errors: Any  # (n,) their errors
    support: Any  # (n,) uint32, support vectors (kernels that are not folded)
    coefficients: Any  # (n,) their y alpha
    place: Any  # (n,) int64, position in support or -1
    every: Any  # (n,) uint32, 0 ... n - 1
    row1: Any  # (n,) workspace
    row2: Any  # (n,) workspace
    block: Any  # (BLOCK,) outputs computed ahead of a pass
    one: Any  # (1,) uint32 workspace
    counts: Any  # (23,) int64
    scalars: Any  # (5,) float64
    random: Any  # (1,) uint64


def _allocate(n: int, d: int, folded: bool) -> State:
    """Return a zeroed state."""
    kernel_n = 0 if folded else n
    return State(
        y=np.zeros(n),
        alpha=np.zeros(n),
        diagonal=np.zeros(n),
        weights=np.zeros(d if folded else 0),
        members=np.zeros(n, dtype=np.uint32),
        errors=np.zeros(n),
        support=np.zeros(kernel_n, dtype=np.uint32),
        coefficients=np.zeros(kernel_n),
        place=np.full(kernel_n, -1, dtype=np.int64),
        every=np.arange(n, dtype=np.uint32),
        row1=np.zeros(max(n, _PART)),
        row2=np.zeros(max(n, _PART)),
        block=np.zeros(BLOCK),
        one=np.zeros(1, dtype=np.uint32),
        counts=np.zeros(23, dtype=np.int64),
        scalars=np.zeros(5),
        random=np.zeros(1, dtype=np.uint64),
    )


_STATE = typeof(_allocate(1, 1, True))
_CALLS = (
    types.FunctionType(DOTS),
    types.FunctionType(TRANSFORM),
    types.FunctionType(PRODUCTS),
    types.FunctionType(UPDATE),
)


@njit(cache=True)
def draw(random, bound):  # type: ignore[no-untyped-def]
    """Return a pseudo-random integer in [0, bound): splitmix64, its state passed in."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(z % np.uint64(bound))


@njit(cache=True)
def kernel_output(state, store, dots, transform, i):  # type: ignore[no-untyped-def]
    """Return ``sum_j y_j alpha_j K_ij`` over the support vectors, without b."""
    counts, buffer, support, coefficients = state.counts, state.row1, state.support, state.coefficients
    total = 0.0
    count = counts[SUPPORT]
    for first in range(0, count, _PART):
        m = min(_PART, count - first)
        part = support[first : first + m]
        counts[TOUCHED] += dots(store, i, part, m, buffer)
        transform(store, i, part, m, buffer)
        for k in range(m):
            total += coefficients[first + k] * buffer[k]
    counts[EVALUATIONS] += count
    return total


@njit(cache=True)
def error_of(state, store, dots, transform, products, i, C):  # type: ignore[no-untyped-def]
    """Return E_i: from the cache for a non-bound example, else evaluated."""
    counts = state.counts
    if 0.0 < state.alpha[i] < C:
        return state.errors[find(state.members, counts[NONBOUND], i)]
    if state.weights.size:
        state.one[0] = np.uint32(i)
        counts[TOUCHED] += products(store, state.weights, state.one, 1, state.row1)
        counts[EVALUATIONS] += 1
        output = state.row1[0]
    else:
        output = kernel_output(state, store, dots, transform, i)
    return output - state.scalars[B] - state.y[i]


@njit(cache=True)
def pair_kernel(state, store, dots, transform, i, j):  # type: ignore[no-untyped-def]
    """Return K_ij."""
    state.one[0] = np.uint32(j)
    state.counts[TOUCHED] += dots(store, i, state.one, 1, state.row1)
    transform(store, i, state.one, 1, state.row1)
    state.counts[EVALUATIONS] += 1
    return state.row1[0]


@njit(cache=True)
def refresh_errors(state, store, dots, transform, products, i1, d1, i2, d2, db):  # type: ignore[no-untyped-def]
    """Bring the errors of the non-bound examples up to date after a step; find their extremes.

    ``d1 = y1 (change of a1)`` and ``d2`` alike, ``db`` the change of b.
    """
    counts, errors, members = state.counts, state.errors, state.members
    m = counts[NONBOUND]
    if state.weights.size:
        counts[TOUCHED] += products(store, state.weights, members, m, errors)
        counts[EVALUATIONS] += m
        b, y = state.scalars[B], state.y
        for k in range(m):
            errors[k] -= b + y[members[k]]
    else:
        row1, row2 = state.row1, state.row2
        counts[TOUCHED] += dots(store, i1, members, m, row1)
        transform(store, i1, members, m, row1)
        counts[TOUCHED] += dots(store, i2, members, m, row2)
        transform(store, i2, members, m, row2)
        counts[EVALUATIONS] += 2 * m
        for k in range(m):
            errors[k] += d1 * row1[k] + d2 * row2[k] - db
    counts[UPDATES] += m
    counts[LOWEST], counts[HIGHEST] = extremes(errors, m)


@njit(cache=True)
def move(state, store, dots, transform, products, update, i, old, new, error, C):  # type: ignore[no-untyped-def]
    """Store a new multiplier and keep weights, support vectors and non-bound list in step."""
    counts, y = state.counts, state.y[i]
    state.alpha[i] = new
    if state.weights.size:
        counts[TOUCHED] += update(store, i, y * (new - old), state.weights)
    else:
        counts[SUPPORT] = set_support(
            state.support, state.coefficients, state.place, counts[SUPPORT], i, y * new
        )
    was, now = 0.0 < old < C, 0.0 < new < C
    if now and not was:
        counts[NONBOUND] = insert(state.members, state.errors, counts[NONBOUND], i, error)
    elif was and not now:
        counts[NONBOUND] = remove(state.members, state.errors, counts[NONBOUND], i)


@njit(cache=True)
def take_step(state, store, dots, transform, products, update, i1, i2, E2, C, step_tol):  # type: ignore[no-untyped-def]
    """Optimise alpha[i1] and alpha[i2] jointly; return whether they moved (``takeStep``)."""
    if i1 == i2:
        return False
    alpha, y, scalars = state.alpha, state.y, state.scalars
    a1, a2, y1, y2 = alpha[i1], alpha[i2], y[i1], y[i2]
    s = y1 * y2
    if s < 0:
        low, high = max(0.0, a2 - a1), min(C, C + a2 - a1)
    else:
        low, high = max(0.0, a2 + a1 - C), min(C, a2 + a1)
    if low >= high:
        return False
    E1 = error_of(state, store, dots, transform, products, i1, C)
    k11, k22 = state.diagonal[i1], state.diagonal[i2]
    k12 = pair_kernel(state, store, dots, transform, i1, i2)
    eta = k11 + k22 - 2.0 * k12
    slope = y2 * (E2 - E1)  # derivative of Psi = -W along a2
    if eta > _DEGENERATE * (abs(k11) + abs(k22)):
        new2 = min(max(a2 - slope / eta, low), high)
    else:
        at_low = (slope + 0.5 * eta * (low - a2)) * (low - a2)
        at_high = (slope + 0.5 * eta * (high - a2)) * (high - a2)
        new2 = low if at_low <= at_high else high
        if min(at_low, at_high) >= -_SLOPE * abs(new2 - a2):
            return False
    if new2 < _SNAP * C:
        new2 = 0.0
    elif new2 > C * (1.0 - _SNAP):
        new2 = C
    step = new2 - a2
    if step == 0.0 or abs(step) < step_tol * (new2 + a2 + step_tol):
        return False
    new1 = a1 - s * step
    if new1 < _SNAP * C:
        new1 = 0.0
    elif new1 > C * (1.0 - _SNAP):
        new1 = C
    d1, d2 = y1 * (new1 - a1), y2 * step
    b = scalars[B]
    b1 = E1 + d1 * k11 + d2 * k12 + b
    b2 = E2 + d1 * k12 + d2 * k22 + b
    if 0.0 < new1 < C:
        scalars[B] = b1
    elif 0.0 < new2 < C:
        scalars[B] = b2
    else:
        scalars[B] = 0.5 * (b1 + b2)
    db = scalars[B] - b
    # Errors before the step: refresh_errors adds the change to every listed example.
    move(state, store, dots, transform, products, update, i1, a1, new1, E1, C)
    move(state, store, dots, transform, products, update, i2, a2, new2, E2, C)
    scalars[OBJECTIVE] -= (slope + 0.5 * eta * step) * step
    refresh_errors(state, store, dots, transform, products, i1, d1, i2, d2, db)
    state.counts[STEPS] += 1
    return True


@njit(cache=True)
def examine(state, store, dots, transform, products, update, i2, E2, C):  # type: ignore[no-untyped-def]
    """Look for a partner of the violator i2 through the hierarchy of section 2.2."""
    counts, members, alpha = state.counts, state.members, state.alpha
    nonbound = counts[NONBOUND]
    step_tol = state.scalars[STEP_TOL]
    if nonbound > 1:
        at = counts[LOWEST] if E2 > 0 else counts[HIGHEST]
        i1 = np.int64(members[at])
        if take_step(state, store, dots, transform, products, update, i1, i2, E2, C, step_tol):
            return True
    if nonbound > 0:
        start = draw(state.random, nonbound)
        for k in range(nonbound):
            i1 = np.int64(members[(start + k) % nonbound])
            if take_step(state, store, dots, transform, products, update, i1, i2, E2, C, step_tol):
                return True
    n = alpha.size
    start = draw(state.random, n)
    for k in range(n):
        i1 = (start + k) % n
        if 0.0 < alpha[i1] < C:
            continue  # tried just now
        counts[TICKS] += 1
        if take_step(state, store, dots, transform, products, update, i1, i2, E2, C, step_tol):
            return True
    return False


@njit(cache=True)
def bound_error(state, store, dots, transform, products, i):  # type: ignore[no-untyped-def]
    """Return E_i of a bound example met in a full pass.

    With a folded weight vector the outputs of the examples ahead are computed a block at a
    time and thrown away when a step changes the weights; a block doubles with every one
    used up, so that at most about half of the products are wasted.
    """
    counts = state.counts
    if state.weights.size == 0:
        return kernel_output(state, store, dots, transform, i) - state.scalars[B] - state.y[i]
    if not (counts[BLOCK_STEP] == counts[STEPS] and counts[BLOCK_AT] <= i < counts[BLOCK_END]):
        size = min(2 * counts[BLOCK_SIZE], BLOCK) if counts[BLOCK_STEP] == counts[STEPS] else 4
        m = min(size, state.y.size - i)
        counts[TOUCHED] += products(store, state.weights, state.every[i : i + m], m, state.block)
        counts[EVALUATIONS] += m
        counts[BLOCK_STEP], counts[BLOCK_SIZE] = counts[STEPS], size
        counts[BLOCK_AT], counts[BLOCK_END] = i, i + m
    return state.block[i - counts[BLOCK_AT]] - state.scalars[B] - state.y[i]


@njit(cache=True)
def note_extremes(state, i, error, C):  # type: ignore[no-untyped-def]
    """Keep min E over I_up and max E over I_low of a full pass."""
    a, positive, scalars = state.alpha[i], state.y[i] > 0, state.scalars
    if ((positive and a < C) or (not positive and a > 0)) and error < scalars[UP_ERROR]:
        scalars[UP_ERROR] = error
        state.counts[UP] = i
    if ((positive and a > 0) or (not positive and a < C)) and error > scalars[LOW_ERROR]:
        scalars[LOW_ERROR] = error
        state.counts[LOW] = i


@njit(cache=True)
def start_pass(state, everything):  # type: ignore[no-untyped-def]
    """Begin a pass over all examples, or over the non-bound ones."""
    state.counts[NEXT] = 0
    state.counts[ALL] = everything
    state.counts[CHANGED] = 0
    state.counts[VIOLATORS] = 0
    state.scalars[UP_ERROR] = np.inf
    state.scalars[LOW_ERROR] = -np.inf


@njit(cache=True)
def conclude(state, store, dots, transform, products, update, C, tol):  # type: ignore[no-untyped-def]
    """Decide after a full pass that changed nothing: done, stuck, or one more step."""
    counts, scalars = state.counts, state.scalars
    if counts[VIOLATORS] == 0:
        return DONE
    if scalars[LOW_ERROR] - scalars[UP_ERROR] <= 2.0 * tol:
        shift = 0.5 * (scalars[LOW_ERROR] + scalars[UP_ERROR])
        scalars[B] += shift
        errors = state.errors
        for k in range(counts[NONBOUND]):
            errors[k] -= shift
        return DONE
    scalars[STEP_TOL] *= 0.1
    counts[RESCUES] += 1
    i1, i2 = counts[UP], counts[LOW]
    E2 = scalars[LOW_ERROR]
    moved = take_step(state, store, dots, transform, products, update, i1, i2, E2, C, 0.0)
    return RUNNING if moved else STUCK


@njit(cache=True)
def polish(state, store, dots, transform, products, update, C, tol, equality):  # type: ignore[no-untyped-def]
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
    limit = 10 * m + 100
    if not folded:
        limit = min(limit, 1 + _POLISH_ENTRIES // (m * m + 1))
    steps, gain, touched, evaluations = descend(
        store, dots, transform, products, update, face, y, state.diagonal, beta, g,
        folded, state.weights.size, equality, C, 0.1 * tol, limit,
    )
    for k in range(m):
        i = np.int64(face[k])
        new = y[i] * beta[k]
        if new < _SNAP * C:
            new = 0.0
        elif new > C * (1.0 - _SNAP):
            new = C
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


@njit(
    [types.int64(_STATE, STORE, *_CALLS, types.float64, types.float64, types.int64, types.int64)],
    cache=True,
)
def run(state, store, dots, transform, products, update, C, tol, slice_work, step_limit):  # type: ignore[no-untyped-def]
    """Run the main routine until done, or until a slice or the step limit is used up."""
    counts, alpha, y, members, errors = state.counts, state.alpha, state.y, state.members, state.errors
    n = y.size
    stop_at = counts[TOUCHED] + counts[TICKS] + slice_work
    while True:
        while counts[NEXT] < n:
            if counts[STEPS] >= step_limit or counts[TOUCHED] + counts[TICKS] >= stop_at:
                return RUNNING
            i = counts[NEXT]
            at = -1
            if counts[ALL]:
                counts[NEXT] += 1
                if 0.0 < alpha[i] < C:
                    at = find(members, counts[NONBOUND], i)
            else:
                at = locate(members, counts[NONBOUND], i, counts[HINT])
                if at == counts[NONBOUND]:
                    counts[NEXT] = n
                    break
                counts[HINT] = at + 1
                i = np.int64(members[at])
                counts[NEXT] = i + 1
            counts[TICKS] += 1
            error = errors[at] if at >= 0 else bound_error(state, store, dots, transform, products, i)
            if counts[ALL]:
                note_extremes(state, i, error, C)
            r = error * y[i]
            if (r < -tol and alpha[i] < C) or (r > tol and alpha[i] > 0):
                counts[VIOLATORS] += 1
                if examine(state, store, dots, transform, products, update, i, error, C):
                    counts[CHANGED] += 1
        if counts[CHANGED] > 0 and counts[STEPS] >= counts[POLISH_AT]:
            polish(state, store, dots, transform, products, update, C, tol, True)
        if counts[ALL]:
            if counts[CHANGED] > 0:
                start_pass(state, 0)
                continue
            verdict = conclude(state, store, dots, transform, products, update, C, tol)
            if verdict != RUNNING:
                return verdict
            start_pass(state, 1)
        else:
            start_pass(state, 0 if counts[CHANGED] > 0 else 1)


class Run(NamedTuple):
    """A run under way: the problem, the compiled calls and the state."""

    problem: Problem
    calls: tuple[Any, ...]
    state: State
    eps: float


def start(problem: Problem, eps: float, options: dict[str, Any]) -> Run:
    """Return a run at alpha = 0.

    Parameters
    ----------
    problem : Problem
        With a bias.
    eps : float
        KKT tolerance (Platt's "tol").
    options : dict
        ``step_tol``: relative step below which a pair makes no progress. ``fold``: keep the weight
        vector of a linear kernel. ``seed``: of the random starts of the second choice.
    """
    store = problem.prepare()
    folded = problem.kernel.name == "linear" and bool(options["fold"])
    dots, products, update = ROWS[problem.storage]
    transform = transform_of(problem.kernel.name, store)
    state = _allocate(problem.n, problem.d + 1, folded)
    state.y[:] = problem.y
    fill_diagonal(state.diagonal, problem, store)
    state.random[0] = np.uint64(options["seed"])
    state.scalars[STEP_TOL] = options["step_tol"]
    state.counts[BLOCK_STEP] = -1
    state.counts[POLISH_AT] = _POLISH_AFTER * problem.n
    start_pass(state, 1)
    return Run(problem, (store, dots, transform, products, update), state, eps)


def fill_diagonal(diagonal: Any, problem: Problem, store: Any) -> None:
    """Write K_ii into ``diagonal``, shape (n,)."""
    kernel = problem.kernel
    if kernel.name == "gaussian":
        diagonal[:] = 1.0
    elif kernel.name == "polynomial":
        diagonal[:] = (kernel.a * store.norms + kernel.c) ** kernel.degree
    else:
        diagonal[:] = store.norms


def advance(run_: Run, work: int, step_limit: int) -> str | None:
    """Go on for about ``work`` entries read; return a status when the run has ended."""
    verdict = run(run_.state, *run_.calls, run_.problem.C, run_.eps, work, step_limit)
    return {RUNNING: None, DONE: OPTIMAL, STUCK: STALLED}[verdict]


def objective(run_: Run) -> float:
    """Return the present dual objective W."""
    return float(run_.state.scalars[OBJECTIVE])


def steps(run_: Run) -> int:
    """Return the number of steps taken so far."""
    return int(run_.state.counts[STEPS])


def finish(run_: Run, status: str) -> Solution:
    """Return the solution as it stands."""
    state, problem = run_.state, run_.problem
    counts = state.counts
    weights = None
    if problem.kernel.name == "linear":
        weights = state.weights if state.weights.size else problem.X.T @ (problem.y * state.alpha)
        weights = np.asarray(weights)[: problem.d]
    return Solution(
        alpha=state.alpha,
        weights=weights,
        bias=-float(state.scalars[B]),
        status=status,
        iterations=int(counts[STEPS]),
        kernel_evaluations=int(counts[EVALUATIONS]),
        work={"nonzeros": int(counts[TOUCHED]), "gradient_updates": int(counts[UPDATES])},
        info={
            "rescues": float(counts[RESCUES]),
            "polishes": float(counts[POLISHES]),
            "step_tol_final": float(state.scalars[STEP_TOL]),
            "objective": float(state.scalars[OBJECTIVE]),
        },
    )
