r"""SMO with second-order working sets, and with planning ahead (Glasmachers 2008).

In signed multipliers, ``beta_i = y_i alpha_i`` in ``[L_i, U_i] = [min(0, y_i C), max(0, y_i C)]`` and
``G = y - K beta``, each iteration takes

    i = argmax { G_n : n in I_up }
    j = argmax { (G_i - G_n)^2 / (2 Q_in) : n in I_down, G_n < G_i },  Q_in = K_ii + K_nn - 2 K_in
    mu = clip(l / Q_ij, L~, U~),  l = G_i - G_j,  beta_i += mu,  beta_j -= mu,  G -= mu (K_i - K_j)

until ``max over I_up - min over I_down`` of G is at most eps (Algorithm 1, which is that of LIBSVM 2.84).
*Planning ahead* (Algorithms 2 to 5) takes in place of mu the step that is best if the working set of
the last iteration comes next,

    mu = (Q_22 w_1 - Q_12 w_2) / det Q,

and offers earlier working sets to the selection. What the named solvers differ in is data, the
options ``plan``, ``offer``, ``sets`` and ``stretch`` of the registry:

``plan``
    0 never; 1 after a free SMO step (Algorithm 4); 2 after any SMO step (Algorithm 2).
``offer``
    When earlier working sets are candidates: 0 never; 1 after a planned step, as the convergence proof
    needs it; 2 after an unplanned one, as Algorithms 3 and 5 are printed; 3 always, by the Newton gain
    (section 7.2).
``sets``
    How many of the latest working sets are planned with and offered (section 7.4).
``stretch``
    Factor on the Newton step, before it is clipped (section 7.3).

Where the paper is silent:

* A curvature that is not positive counts as 1e-12, as in LIBSVM, or 1e-12 max K_ii where that is less;
  a determinant below 1e-12 Q_11 Q_22 gives the Newton step. A working set that has been shrunk is neither
  planned with nor offered.
* Shrinking is LIBSVM's rule, applied when at least a tenth of the active set can go. The gradient of
  what was shrunk is computed from the multipliers that have changed since the first of it went.
* The gradient is a sum over all steps. Where their rounding together could exceed a hundredth of eps, it
  is computed anew, in double precision, before the run ends: rows kept in single precision so cost steps,
  never the result. Where that does not come to an end the run is ``stalled``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers import row_cache
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.panel import (
    BLOCK,
    PANEL,
    SHAPE,
    block_of,
    build_panel,
    fill,
    form,
    partition,
    rearrange,
)
from svmrepro.solvers.platt import fill_diagonal
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.row_cache import CACHE, build_cache, fetch
from svmrepro.solvers.rows import STORE, VECTOR
from svmrepro.solvers.scans import DOWN, UP, best_partner, extremes, move_gradient
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

# Positions in ``State.counts``.
(
    ACTIVE,
    STEPS,
    TICKS,
    TOP,
    SHRINK_AT,
    AGES,
    PLANNED,
    FREE,
    PLANS,
    OFFERED,
    UPDATES,
    NEAR,
    LEAVERS,
    INTERVAL,
) = range(14)
# Positions in ``State.scalars``.
GMAX, GMIN, OBJECTIVE, RATIO, DRIFT, STRETCH, TINY = range(7)
# Positions in ``State.rules``.
PLAN, OFFER, SETS = range(3)

RUNNING, SHRINK, CONVERGED, NEARLY = range(4)

_ETA = 0.9
_DEGENERATE = 1e-12
_SNAP = 1e-15
_NEVER = 2**62
_WORTH = 10  # shrinks when one in so many can go
_ROUNDING = {"double": 2.3e-16, "single": 6.0e-8}  # of an entry of a kept row
_FUTILE = 30
_ENTRY_BYTES = {"bytes": 1, "columns": 8, "bits": 8, "index": 4, "csr": 12}  # of a stored entry


class State(NamedTuple):
    """Arrays by position in the active order, of length n, unless said otherwise."""

    y: Any
    beta: Any
    G: Any
    diagonal: Any
    status: Any  # uint8, bits UP and DOWN
    goes: Any  # uint8, 1 where an example leaves the active set
    position: Any  # int64, by example
    beta_then: Any  # when the first example of the present active set's complement went
    G_then: Any
    # The latest working sets, newest first, as examples, and their Q.
    first: Any  # int64, (sets + 1,)
    second: Any
    curvature: Any  # float64
    counts: Any  # (14,) int64
    scalars: Any  # (7,) float64
    rules: Any  # (3,) int64


def allocate(y: Any, sets: int) -> State:
    """Return the state at alpha = 0.

    Parameters
    ----------
    y : ndarray of float64, shape (n,)
        Labels.
    sets : int
        How many working sets are planned with.
    """
    n = y.size
    return State(
        y=y.copy(),
        beta=np.zeros(n),
        G=y.copy(),
        diagonal=np.zeros(n),
        status=np.where(y > 0, UP, DOWN).astype(np.uint8),
        goes=np.zeros(n, dtype=np.uint8),
        position=np.arange(n, dtype=np.int64),
        beta_then=np.zeros(n),
        G_then=y.copy(),
        first=np.zeros(sets + 1, dtype=np.int64),
        second=np.zeros(sets + 1, dtype=np.int64),
        curvature=np.zeros(sets + 1),
        counts=np.zeros(14, dtype=np.int64),
        scalars=np.zeros(7),
        rules=np.zeros(3, dtype=np.int64),
    )


STATE = typeof(allocate(np.ones(1), 1))
CALLS = (types.FunctionType(BLOCK), types.FunctionType(SHAPE))


@compiled(forceinline=True)
def clipped(value, low, high):  # type: ignore[no-untyped-def]
    """Return the nearest value in [low, high]."""
    return low if value < low else (high if value > high else value)


@compiled(forceinline=True)
def room(beta, y, C, i, j):  # type: ignore[no-untyped-def]
    """Return the interval of mu for which ``beta_i + mu`` and ``beta_j - mu`` stay in their boxes."""
    low_i, high_i = (0.0, C) if y[i] > 0.0 else (-C, 0.0)
    low_j, high_j = (0.0, C) if y[j] > 0.0 else (-C, 0.0)
    return max(low_i - beta[i], beta[j] - high_j), min(high_i - beta[i], beta[j] - low_j)


@compiled(forceinline=True)
def place(beta, status, y, C, i, value, scale):  # type: ignore[no-untyped-def]
    """Set a multiplier, on the bound where rounding alone keeps it off, and its status.

    ``scale`` is the size of what was added up.
    """
    alpha = y[i] * value
    if alpha <= _SNAP * scale:
        alpha = 0.0
    elif alpha >= C * (1.0 - _SNAP):
        alpha = C
    beta[i] = y[i] * alpha
    may_grow, may_fall = (UP, DOWN) if y[i] > 0.0 else (DOWN, UP)
    status[i] = (may_grow if alpha < C else 0) | (may_fall if alpha > 0.0 else 0)


@compiled()
def best_exact(G, diagonal, row, status, beta, y, C, m, i, tiny):  # type: ignore[no-untyped-def]
    """As ``best_partner``, by twice the gain of the clipped step."""
    j, best = -1, 0.0
    for k in range(m):
        slope = G[i] - G[k]
        if (status[k] & DOWN) == 0 or slope <= 0.0:
            continue
        curvature = max(diagonal[i] + diagonal[k] - 2.0 * row[k], tiny)
        low, high = room(beta, y, C, i, k)
        mu = clipped(slope / curvature, low, high)
        gain = (2.0 * slope - curvature * mu) * mu
        if gain >= best:
            best, j = gain, k
    return j, best


@compiled()
def mark_leavers(state):  # type: ignore[no-untyped-def]
    """Mark who sits at a bound, pushed against it by more than any pair may still gain; return how many.

    LIBSVM's rule (Fan, Chen and Lin 2005, section 4).
    """
    G, status, goes, m = state.G, state.status, state.goes, state.counts[ACTIVE]
    top, bottom = state.scalars[GMAX], state.scalars[GMIN]
    count = 0
    for k in range(m):
        leaves = (status[k] == DOWN and G[k] > top) or (status[k] == UP and G[k] < bottom)
        goes[k] = 1 if leaves else 0
        count += goes[k]
    state.counts[LEAVERS] = count
    return count


@compiled(
    types.int64(STATE, CACHE, STORE, PANEL, *CALLS, types.float64, types.float64, types.int64, types.int64),
)
def iterate(state, cache, store, panel, block, shape, C, eps, slice_work, step_limit):  # type: ignore[no-untyped-def]
    """Iterate until something is due that the caller sees to; return what."""
    y, beta, G, diagonal, status = state.y, state.beta, state.G, state.diagonal, state.status
    position, first, second, curvature = state.position, state.first, state.second, state.curvature
    counts, scalars, order, rows = state.counts, state.scalars, panel.order, cache.rows
    plan, offer, sets = state.rules[PLAN], state.rules[OFFER], state.rules[SETS]
    stretch, tiny = scalars[STRETCH], scalars[TINY]
    m = counts[ACTIVE]
    stop_at = counts[TICKS] + slice_work
    while True:
        gap = scalars[GMAX] - scalars[GMIN]
        if gap <= eps:
            return CONVERGED
        if counts[NEAR] and gap <= 10.0 * eps:
            return NEARLY
        if counts[STEPS] >= step_limit or counts[TICKS] >= stop_at:
            return RUNNING
        if counts[STEPS] >= counts[SHRINK_AT]:
            counts[SHRINK_AT] = counts[STEPS] + counts[INTERVAL]
            if mark_leavers(state) * _WORTH >= m:
                return SHRINK
        computed = cache.counts[row_cache.TOUCHED]
        i = counts[TOP]
        row1 = rows[fetch(cache, store, panel, block, shape, np.int64(order[i]), m, 0)]
        offering = offer == 3 or (offer == 1 and counts[PLANNED]) or (offer == 2 and not counts[PLANNED])
        exact = offering and offer != 3 and not (1.0 - _ETA <= scalars[RATIO] <= 1.0 + _ETA)
        if exact:
            j, gain = best_exact(G, diagonal, row1, status, beta, y, C, m, i, tiny)
        else:
            j, gain = best_partner(G, diagonal, row1, status, m, i, tiny)
        if offering:
            chosen = -1
            for age in range(1, counts[AGES]):
                a, b = position[first[age]], position[second[age]]
                if a >= m or b >= m:
                    continue
                slope = G[a] - G[b]
                if slope < 0.0:
                    a, b, slope = b, a, -slope
                if slope == 0.0 or (status[a] & UP) == 0 or (status[b] & DOWN) == 0:
                    continue
                newton = slope / curvature[age]
                mu = newton
                if exact:
                    low, high = room(beta, y, C, a, b)
                    mu = clipped(newton, low, high)
                value = (2.0 * slope - curvature[age] * mu) * mu
                if value > gain:
                    gain, chosen = value, age
                    i, j = a, b
            if chosen >= 0:
                counts[OFFERED] += 1
                row1 = rows[fetch(cache, store, panel, block, shape, np.int64(order[i]), m, 0)]
        row2 = rows[fetch(cache, store, panel, block, shape, np.int64(order[j]), m, 1)]
        slope = G[i] - G[j]
        Q = max(diagonal[i] + diagonal[j] - 2.0 * row1[j], tiny)
        low, high = room(beta, y, C, i, j)
        newton = slope / Q
        mu, planned = 0.0, False
        if (plan == 1 and counts[FREE]) or (plan == 2 and not counts[PLANNED]):
            most = 0.0
            for age in range(0, min(counts[AGES], sets)):
                a, b = position[first[age]], position[second[age]]
                if a >= m or b >= m:
                    continue
                Q2 = curvature[age]
                cross = row1[a] - row1[b] - row2[a] + row2[b]
                determinant = Q * Q2 - cross * cross
                if determinant <= _DEGENERATE * Q * Q2:
                    continue
                slope2 = G[a] - G[b]
                ahead = (Q2 * slope - cross * slope2) / determinant
                if not low < ahead < high:
                    continue
                after = (slope2 - cross * ahead) / Q2
                beta_a = beta[a] + (ahead if a == i else (-ahead if a == j else 0.0))
                beta_b = beta[b] + (ahead if b == i else (-ahead if b == j else 0.0))
                low_a, high_a = (0.0, C) if y[a] > 0.0 else (-C, 0.0)
                low_b, high_b = (0.0, C) if y[b] > 0.0 else (-C, 0.0)
                if not max(low_a - beta_a, beta_b - high_b) < after < min(high_a - beta_a, beta_b - low_b):
                    continue
                double_gain = slope * ahead - 0.5 * Q * ahead * ahead + 0.5 * Q2 * after * after
                if not planned or double_gain > most:
                    mu, planned, most = ahead, True, double_gain
        if not planned:
            mu = clipped(stretch * newton, low, high)
        counts[PLANNED] = 1 if planned else 0
        counts[FREE] = 1 if not planned and low < mu < high else 0
        counts[PLANS] += counts[PLANNED]
        scalars[RATIO] = mu / newton
        for age in range(first.size - 1, 0, -1):
            first[age], second[age], curvature[age] = first[age - 1], second[age - 1], curvature[age - 1]
        first[0], second[0], curvature[0] = np.int64(order[i]), np.int64(order[j]), Q
        counts[AGES] = min(counts[AGES] + 1, first.size)
        scale = abs(beta[i]) + abs(beta[j])
        place(beta, status, y, C, i, beta[i] + mu, scale)
        place(beta, status, y, C, j, beta[j] - mu, scale)
        scalars[OBJECTIVE] += (slope - 0.5 * (diagonal[i] + diagonal[j] - 2.0 * row1[j]) * mu) * mu
        scalars[DRIFT] += abs(mu)
        counts[TOP], scalars[GMAX], scalars[GMIN] = move_gradient(G, row1, row2, mu, status, m)
        counts[STEPS] += 1
        counts[UPDATES] += m
        counts[TICKS] += 4 * m + cache.counts[row_cache.TOUCHED] - computed


@compiled(
    types.void(
        STATE,
        types.uint32[::1],
        types.uint8[::1],
        types.int64,
        VECTOR,
        types.uint8[::1],
        types.uint32[::1],
    ),
)
def rearrange_state(state, order, goes, m, doubles, bytes, words):  # type: ignore[no-untyped-def]
    """Follow a change of order, see :func:`svmrepro.solvers.panel.rearrange`."""
    partition(state.y, goes, m, doubles)
    partition(state.beta, goes, m, doubles)
    partition(state.G, goes, m, doubles)
    partition(state.diagonal, goes, m, doubles)
    partition(state.beta_then, goes, m, doubles)
    partition(state.G_then, goes, m, doubles)
    partition(state.status, goes, m, bytes)
    partition(order, goes, m, words)
    for k in range(m):
        state.position[order[k]] = k


@compiled(types.int64(STATE, CACHE, STORE, PANEL, *CALLS, types.int64, VECTOR))
def restore_gradient(state, cache, store, panel, block, shape, begin, row):  # type: ignore[no-untyped-def]
    """Compute G from position ``begin`` on, from what it was then and the multipliers that changed since."""
    n = state.y.size
    G, beta, beta_then, order = state.G, state.beta, state.beta_then, panel.order
    for k in range(begin, n):
        G[k] = state.G_then[k]
    touched = 0
    for j in range(n):
        change = beta[j] - beta_then[j]
        if change == 0.0:
            continue
        i = np.int64(order[j])
        slot = cache.slot_of[i]
        if cache.single.shape[0] == 0 and slot >= 0 and cache.have[slot] >= n:
            known = cache.rows[slot]
            for k in range(begin, n):
                G[k] -= change * known[k]
            continue
        touched += fill(store, panel, block, shape, i, begin, n, row)
        for k in range(begin, n):
            G[k] -= change * row[k]
        cache.counts[row_cache.ENTRIES] += n - begin
    cache.counts[row_cache.TOUCHED] += touched
    return touched


class Run:
    """A run under way.

    Attributes
    ----------
    state, cache, panel
        See their classes. The panel is the problem's own until the first example leaves the active set.
    tried : bool
        Whether the whole set was looked at when the gap first came under ten times eps, as in LIBSVM.
    futile : int
        How often the exact gradient disagreed at the end.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        n = problem.n
        self.problem, self.eps = problem, eps
        self.store = problem.prepare()
        self.panel = problem.layout("panel", build_panel)
        self.block, self.shape = block_of(problem)
        self.shrinking = bool(options["shrinking"])
        precision = "single" if options["single"] else "double"
        self.cache = build_cache(n, float(options["cache_mb"]) * 2**20, precision)
        self.rounding = _ROUNDING[precision]
        sets = int(options["sets"])
        self.state = allocate(problem.y, sets)
        self.state.rules[:] = options["plan"], options["offer"], sets
        fill_diagonal(self.state.diagonal, problem, self.store)
        counts, scalars = self.state.counts, self.state.scalars
        counts[ACTIVE] = n
        counts[INTERVAL] = min(n, 1000)
        counts[SHRINK_AT] = counts[INTERVAL] if self.shrinking else _NEVER
        counts[PLANNED] = 0
        scalars[STRETCH] = options["stretch"]
        scalars[TINY] = _DEGENERATE * min(1.0, float(np.abs(self.state.diagonal).max()) or 1.0)
        scalars[RATIO] = 1.0
        self.own = False
        self.tried = False
        self.futile = 0
        self.shrinks = self.restores = 0
        self.smallest = n
        _look(self)


def prepare(problem: Problem) -> None:
    """Lay the examples out before the clock starts."""
    problem.layout("panel", build_panel)


def start(problem: Problem, eps: float, options: dict[str, Any]) -> Run:
    """Return a run at alpha = 0.

    Parameters
    ----------
    problem : Problem
        With a bias.
    eps : float
        Tolerance on the maximal violation of a pair.
    options : dict
        ``cache_mb``: megabytes (2^20) of kernel rows. ``single``: whether they are kept in single precision.
        ``shrinking``: whether examples at a bound may leave the active set. ``plan``, ``offer``, ``sets``,
        ``stretch``: see the module.
    """
    return Run(problem, eps, options)


def advance(run: Run, work: int, step_limit: int) -> str | None:
    """Go on for about ``work`` entries read; return a status when the run has ended."""
    state, n = run.state, run.problem.n
    counts, scalars = state.counts, state.scalars
    verdict = iterate(
        state, run.cache, run.store, run.panel, run.block, run.shape, run.problem.C, run.eps, work, step_limit
    )
    if verdict == SHRINK:
        _shrink(run)
    elif verdict == NEARLY:
        counts[NEAR] = 0
        _restore(run)
        counts[SHRINK_AT] = counts[STEPS]
    elif verdict == CONVERGED:
        if counts[ACTIVE] < n:
            _restore(run)
            counts[SHRINK_AT] = counts[STEPS] + 1  # as LIBSVM: at once, should it go on
            counts[INTERVAL] *= 2  # the set was taken for too small
        elif scalars[DRIFT] * float(np.abs(state.diagonal).max()) * run.rounding > 0.01 * run.eps:
            _renew(run)
        else:
            return OPTIMAL
        if scalars[GMAX] - scalars[GMIN] > run.eps and run.futile > _FUTILE:
            return STALLED
    return None


def objective(run: Run) -> float:
    """Return the present dual objective W."""
    return float(run.state.scalars[OBJECTIVE])


def steps(run: Run) -> int:
    """Return the number of iterations so far."""
    return int(run.state.counts[STEPS])


def finish(run: Run, status: str) -> Solution:
    """Return the solution as it stands."""
    state, problem, cache = run.state, run.problem, run.cache
    counts, scalars = state.counts, state.scalars
    if counts[ACTIVE] < problem.n:
        _restore(run)
    beta = np.empty(problem.n)
    beta[run.panel.order] = state.beta
    free = state.status == UP | DOWN
    middle = 0.5 * float(scalars[GMAX] + scalars[GMIN])
    bias = float(state.G[free].mean()) if free.any() else middle
    weights = np.asarray(problem.X.T @ beta).ravel() if problem.kernel.name == "linear" else None
    entries = int(cache.counts[row_cache.ENTRIES])
    return Solution(
        alpha=problem.y * beta,
        weights=weights,
        bias=bias,
        status=status,
        iterations=int(counts[STEPS]),
        kernel_evaluations=entries,
        work={
            "nonzeros": int(cache.counts[row_cache.TOUCHED]),
            "gradient_updates": int(counts[UPDATES]),
        },
        info={
            "cache_hits": float(cache.counts[row_cache.HITS]),
            "cache_misses": float(cache.counts[row_cache.MISSES]),
            "planned_steps": float(counts[PLANS]),
            "offered_taken": float(counts[OFFERED]),
            "shrinks": float(run.shrinks),
            "active_min": float(run.smallest),
            "gradient_restores": float(run.restores),
            "objective": float(0.5 * state.beta @ (state.y + state.G)),
            "bytes_moved": float(_bytes_moved(run)),
        },
    )


def _bytes_moved(run: Run) -> int:
    """Return the bytes that the run read and wrote, were there no caches.

    A pass for the partner reads G, K_ii, a row and a status of each example of the active set; the change
    of the gradient reads it, two rows and the status and writes it; a row reads what it touches of the
    examples and is written.
    """
    counts = run.cache.counts
    entry = _ENTRY_BYTES[form(run.problem)]
    steps = (3 * 8 + 1) + (4 * 8 + 1)
    kept = 4 if run.cache.single.shape[0] else 0
    return int(
        steps * run.state.counts[UPDATES]
        + entry * counts[row_cache.TOUCHED]
        + (8 + kept) * counts[row_cache.ENTRIES]
    )


def _look(run: Run) -> None:
    """Find the extremes of the gradient over the active set."""
    counts, scalars = run.state.counts, run.state.scalars
    counts[TOP], scalars[GMAX], scalars[GMIN] = extremes(run.state.G, run.state.status, counts[ACTIVE])


def _shrink(run: Run) -> None:
    """Let those leave who are marked."""
    state, n = run.state, run.problem.n
    counts = state.counts
    m, count, goes = int(counts[ACTIVE]), int(counts[LEAVERS]), state.goes
    if m == n:
        state.beta_then[:] = state.beta
        state.G_then[:] = state.G
        counts[NEAR] = 0 if run.tried else 1
        run.tried = True
    if not run.own:
        run.own = True
        panel = run.panel
        run.panel = panel._replace(
            order=panel.order.copy(),
            norms=panel.norms.copy(),
            ones=panel.ones.copy(),
            columns=panel.columns.copy(),
            bytes=panel.bytes.copy(),
        )
    doubles, bytes_ = np.empty(m), np.empty(m, dtype=np.uint8)
    rearrange(run.panel, goes, m, doubles, bytes_)
    row_cache.rearrange_rows(run.cache, goes, m, doubles, np.empty(m, dtype=np.float32))
    rearrange_state(state, run.panel.order, goes, m, doubles, bytes_, np.empty(m, dtype=np.uint32))
    counts[ACTIVE] = m - count
    run.shrinks += 1
    run.smallest = min(run.smallest, m - count)
    _look(run)


def _restore(run: Run) -> None:
    """Take all examples back into the active set."""
    state, n = run.state, run.problem.n
    begin = int(state.counts[ACTIVE])
    restore_gradient(state, run.cache, run.store, run.panel, run.block, run.shape, begin, np.empty(n))
    state.counts[ACTIVE] = n
    run.restores += 1
    _look(run)


def _renew(run: Run) -> None:
    """Compute the whole gradient anew from the multipliers."""
    state = run.state
    state.beta_then[:] = 0.0
    state.G_then[:] = state.y
    restore_gradient(state, run.cache, run.store, run.panel, run.block, run.shape, 0, np.empty(run.problem.n))
    state.scalars[DRIFT] = 0.0
    run.futile += 1
    _look(run)
