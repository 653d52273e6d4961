"""What Platt's two programs share: the state of a run, outputs, errors, passes.

:mod:`svmrepro.solvers.platt.smo` optimises two multipliers a step,
:mod:`svmrepro.solvers.platt.fixed_threshold` one. Both keep the errors of the non-bound examples,
walk over the examples in the order of the first choice heuristic and, for a linear kernel,
fold the support vectors into one weight vector (Platt 1998, sections 2.2 and 2.4).

The errors, and the folded weights, are sums over all steps. Where the rounding of all steps together could
exceed a hundredth of eps, both are computed anew before a run ends, and a full pass that takes no step looks
whether the conditions hold; if not, the run goes on (``info["renewals"]``), thirty times at most. A run that
begins with given multipliers begins with the same: errors from the multipliers, then the threshold, halfway
between the extreme errors of all examples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.caches import lru
from svmrepro.solvers.caches.smo_rows import first_cache, longer
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.platt.example_lists import extremes, find, insert, remove, set_support
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.storage.kernel_sums import PART, TOTAL, folded_weights, total_of
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM, fill_diagonal, transform_of
from svmrepro.solvers.storage.row_products import DOTS, PRODUCTS, UPDATE, rows_of

# Positions in ``State.counts``.
NEXT, ALL, CHANGED, VIOLATORS, NONBOUND, SUPPORT, STEPS, EVALUATIONS, TOUCHED, TICKS = range(10)
LOWEST, HIGHEST, UP, LOW, BLOCK_AT, BLOCK_END, BLOCK_STEP, BLOCK_SIZE, RESCUES, UPDATES, HINT = range(10, 21)
POLISH_AT, POLISHES, ACTIVE, COLUMNS, SHRINKS, RETURNS, SMALLEST = range(21, 28)
# The violator whose partner is looked for, or -1, and how far the search is; how far the renewal of the
# weights (below n) and of the errors (from n on) is, or -1; whether a full pass takes no steps.
VIOLATOR, ATTEMPT, ORIGIN, RENEW_AT, LOOKING, RENEWALS = range(28, 34)
# Positions in ``State.scalars``. UNIT: of the absolute part of the step tolerance. HARMLESS: a change of a
# multiplier that changes no output by more than a hundredth of eps. DRIFT: the length of all steps since the
# errors were last computed anew; MOST_DRIFT: from where that is due. W: the objective, being summed up.
B, UP_ERROR, LOW_ERROR, STEP_TOL, OBJECTIVE, WORST, VIOLATOR_ERROR, UNIT, HARMLESS, DRIFT, MOST_DRIFT, W = (
    range(12)
)

RUNNING, DONE, STUCK, ZIGZAGGING, CRAMPED = range(5)  # what a slice ends with
BLOCK = 512
POLISH_AFTER = 500  # steps an example before conjugate gradient comes to help
NEVER = 2**62
_ROUNDING = 2.3e-16
_UNITS = 1000.0
_FUTILE = 30  # renewals after which the conditions did not hold: then the run is given up


class State(NamedTuple):
    """Everything a run holds between slices (n examples, d features)."""

    y: Any  # (n,) labels
    C: Any  # (n,) bounds
    alpha: Any  # (n,) multipliers
    diagonal: Any  # (n,) K_ii
    weights: Any  # (d + 1,) folded weight vector, or empty
    members: Any  # (n,) uint32, non-bound examples in ascending order
    errors: Any  # (n,) their errors
    support: Any  # (n,) uint32, support vectors (kernels that are not folded)
    coefficients: Any  # (n,) their y alpha
    place: Any  # (n,) int64, position in support or -1
    every: Any  # (n,) uint32, the examples of a full pass in ascending order: all that were not shrunk
    row1: Any  # (n,) workspace
    row2: Any  # (n,) workspace
    block: Any  # (BLOCK,) outputs computed ahead of a pass
    one: Any  # (1,) uint32 workspace
    margin: Any  # (n,) by how much a bound example fulfilled its condition in the last full pass, or empty
    cache: Any  # kernel rows, see step_rows
    column: Any  # (n,) int32, an example's place in them or -1, or empty
    lacking: Any  # (n,) uint32, workspace, or empty
    fresh: Any  # (n,) workspace, or empty
    counts: Any  # (34,) int64
    scalars: Any  # (12,) float64
    random: Any  # (1,) uint64


def allocate(n: int, d: int, folded: bool, shrinking: bool = False, cache_bytes: float = 0.0) -> State:
    """Return a zeroed state."""
    kernel_n = 0 if folded else n
    cache_n = n if cache_bytes > 0.0 else 0
    return State(
        y=np.zeros(n),
        C=np.zeros(n),
        alpha=np.zeros(n),
        diagonal=np.zeros(n),
        weights=np.zeros(d if folded else 0),
        members=np.zeros(n, dtype=np.uint32),
        errors=np.zeros(n),
        support=np.zeros(kernel_n, dtype=np.uint32),
        coefficients=np.zeros(kernel_n),
        place=np.full(kernel_n, -1, dtype=np.int64),
        every=np.arange(n, dtype=np.uint32),
        row1=np.zeros(max(n, PART)),
        row2=np.zeros(max(n, PART)),
        block=np.zeros(BLOCK),
        one=np.zeros(1, dtype=np.uint32),
        margin=np.full(n if shrinking else 0, -np.inf),
        cache=first_cache(n, cache_bytes),
        column=np.full(cache_n, -1, dtype=np.int32),
        lacking=np.zeros(cache_n, dtype=np.uint32),
        fresh=np.zeros(cache_n),
        counts=np.zeros(34, dtype=np.int64),
        scalars=np.zeros(12),
        random=np.zeros(1, dtype=np.uint64),
    )


STATE = typeof(allocate(1, 1, True))
CALLS = (
    types.FunctionType(DOTS),
    types.FunctionType(TRANSFORM),
    types.FunctionType(PRODUCTS),
    types.FunctionType(UPDATE),
    types.FunctionType(TOTAL),
)


@compiled(forceinline=True)
def kernel_output(state, store, dots, transform, total, i):  # type: ignore[no-untyped-def]
    """Return ``sum_j y_j alpha_j K_ij`` over the support vectors, without b."""
    counts, out = state.counts, state.row1
    count = counts[SUPPORT]
    counts[TOUCHED] += total(store, dots, transform, i, state.support, state.coefficients, count, out)
    counts[EVALUATIONS] += count
    return out[0]


@compiled(forceinline=True)
def error_of(state, store, dots, transform, products, total, i):  # type: ignore[no-untyped-def]
    """Return E_i: from the cache for a non-bound example, else evaluated."""
    counts = state.counts
    if 0.0 < state.alpha[i] < state.C[i]:
        return state.errors[find(state.members, counts[NONBOUND], i)]
    if state.weights.size:
        state.one[0] = np.uint32(i)
        counts[TOUCHED] += products(store, state.weights, state.one, 1, state.row1)
        counts[EVALUATIONS] += 1
        output = state.row1[0]
    else:
        output = kernel_output(state, store, dots, transform, total, i)
    return output - state.scalars[B] - state.y[i]


@compiled(forceinline=True)
def move(state, store, dots, transform, products, update, i, old, new, error):  # type: ignore[no-untyped-def]
    """Store a new multiplier and keep weights, support vectors and non-bound list in step."""
    counts, y, C = state.counts, state.y[i], state.C[i]
    state.alpha[i] = new
    if state.weights.size:
        counts[TOUCHED] += update(store, i, y * (new - old), state.weights)
    else:
        counts[SUPPORT] = set_support(
            state.support, state.coefficients, state.place, counts[SUPPORT], i, y * new
        )
    was, now = 0.0 < old < C, 0.0 < new < C
    if was != now:
        counts[TICKS] += counts[NONBOUND] // 2  # as many places of a sorted list are moved
    if state.margin.size:
        state.margin[i] = -np.inf  # not of this multiplier
    if now and not was:
        if state.column.size and state.column[i] < 0:
            state.column[i] = counts[COLUMNS]
            counts[COLUMNS] += 1
        counts[NONBOUND] = insert(state.members, state.errors, counts[NONBOUND], i, error)
    elif was and not now:
        counts[NONBOUND] = remove(state.members, state.errors, counts[NONBOUND], i)


@compiled(forceinline=True)
def bound_error(state, store, dots, transform, products, total, p):  # type: ignore[no-untyped-def]
    """Return the error of a bound example, the p-th of a full pass.

    With a folded weight vector the outputs of the examples ahead are computed a block at a
    time and thrown away when a step changes the weights; a block doubles with every one
    used up, so that at most about half of the products are wasted.
    """
    counts = state.counts
    i = np.int64(state.every[p])
    if state.weights.size == 0:
        return kernel_output(state, store, dots, transform, total, i) - state.scalars[B] - state.y[i]
    if not (counts[BLOCK_STEP] == counts[STEPS] and counts[BLOCK_AT] <= p < counts[BLOCK_END]):
        size = min(2 * counts[BLOCK_SIZE], BLOCK) if counts[BLOCK_STEP] == counts[STEPS] else 4
        m = min(size, counts[ACTIVE] - p)
        counts[TOUCHED] += products(store, state.weights, state.every[p : p + m], m, state.block)
        counts[EVALUATIONS] += m
        counts[BLOCK_STEP], counts[BLOCK_SIZE] = counts[STEPS], size
        counts[BLOCK_AT], counts[BLOCK_END] = p, p + m
    return state.block[p - counts[BLOCK_AT]] - state.scalars[B] - state.y[i]


@compiled()
def start_pass(state, everything):  # type: ignore[no-untyped-def]
    """Begin a pass over all examples, or over the non-bound ones."""
    state.counts[NEXT] = 0
    state.counts[ALL] = everything
    state.counts[CHANGED] = 0
    state.counts[VIOLATORS] = 0
    state.counts[VIOLATOR] = -1
    state.scalars[UP_ERROR] = np.inf
    state.scalars[LOW_ERROR] = -np.inf
    state.scalars[WORST] = 0.0


@compiled(forceinline=True)
def drifted(state):  # type: ignore[no-untyped-def]
    """Tell whether the rounding of all steps together could matter."""
    return state.scalars[DRIFT] > state.scalars[MOST_DRIFT]


@compiled()
def start_renewal(state):  # type: ignore[no-untyped-def]
    """Begin to compute weights and errors anew; return whether the run may go on."""
    counts = state.counts
    counts[RENEW_AT] = 0
    counts[RENEWALS] += 1
    state.scalars[DRIFT] = 0.0
    if state.weights.size:
        state.weights[:] = 0.0
    else:
        counts[RENEW_AT] = state.y.size
    start_pass(state, 1)
    counts[LOOKING] = 1
    state.scalars[W] = 0.0
    return counts[RENEWALS] <= _FUTILE


@compiled(forceinline=True)
def renew(state, store, dots, transform, products, update, total, stop_at):  # type: ignore[no-untyped-def]
    """Go on with the renewal until the slice is used up."""
    counts, members, errors, alpha, y = state.counts, state.members, state.errors, state.alpha, state.y
    n, b = y.size, state.scalars[B]
    while counts[RENEW_AT] >= 0 and counts[TOUCHED] + counts[TICKS] < stop_at:
        at = counts[RENEW_AT]
        k = at - n
        counts[TICKS] += 1
        if at < n:
            if alpha[at] > 0.0:
                counts[TOUCHED] += update(store, at, y[at] * alpha[at], state.weights)
            counts[RENEW_AT] += 1
        elif k >= counts[NONBOUND]:
            counts[RENEW_AT] = -1
            counts[LOWEST], counts[HIGHEST] = extremes(errors, counts[NONBOUND])
            counts[BLOCK_END] = 0  # outputs computed ahead were those of other weights
        elif state.weights.size:
            m = min(BLOCK, counts[NONBOUND] - k)
            counts[TOUCHED] += products(store, state.weights, members[k : k + m], m, state.block)
            counts[EVALUATIONS] += m
            for j in range(m):
                errors[k + j] = state.block[j] - b - y[members[k + j]]
            counts[RENEW_AT] += m
        else:
            i = np.int64(members[k])
            errors[k] = kernel_output(state, store, dots, transform, total, i) - b - y[i]
            counts[RENEW_AT] += 1


@compiled()
def shrink(state):  # type: ignore[no-untyped-def]
    """Drop from the full passes who fulfilled its condition by more than the worst violated its own."""
    counts, every, alpha, margin, C = state.counts, state.every, state.alpha, state.margin, state.C
    kept = 0
    for p in range(counts[ACTIVE]):
        i = every[p]
        if margin[i] > state.scalars[WORST] and not 0.0 < alpha[i] < C[i]:
            continue
        every[kept] = i
        kept += 1
    counts[SHRINKS] += 1 if kept < counts[ACTIVE] else 0
    counts[ACTIVE] = kept
    counts[SMALLEST] = min(counts[SMALLEST], kept)
    counts[BLOCK_END] = 0  # outputs computed ahead were those of other positions


@compiled()
def unshrink(state):  # type: ignore[no-untyped-def]
    """Put all examples back into the full passes."""
    counts, every = state.counts, state.every
    for i in range(every.size):
        every[i] = np.uint32(i)
    counts[ACTIVE] = every.size
    counts[RETURNS] += 1
    counts[BLOCK_END] = 0


@dataclass
class Run:
    """A run under way: the problem, the compiled calls, the state, and conjugate gradient where it helps."""

    problem: Problem
    calls: tuple[Any, ...]
    state: State
    eps: float
    polish: Any = None
    descent: Any = None


def start(problem: Problem, eps: float, options: dict[str, Any]) -> Run:
    """Return a run at alpha = 0, or at given multipliers.

    Parameters
    ----------
    problem : Problem
        The problem.
    eps : float
        KKT tolerance (Platt's "tol").
    options : dict
        ``step_tol``: relative step below which a pair makes no progress. ``fold``: keep the weight
        vector of a linear kernel. ``polish``: see :mod:`svmrepro.solvers.platt.free_set_cg`. ``seed``: of the
        random starts of the second choice. ``shrinking``: whether full passes leave out who fulfils its
        condition by more than the worst violates its own. ``cache_mb``: megabytes (2^20) of kernel rows, 0
        for none; without use where the weight vector is kept. ``start``: multipliers to begin with, feasible,
        or None.
    """
    store = problem.prepare()
    folded = problem.kernel.name == "linear" and bool(options["fold"])
    dots, products, update = rows_of(problem)
    transform = transform_of(problem.kernel.name, store)
    cache_bytes = 0.0 if folded else float(options.get("cache_mb", 0.0)) * 2**20
    state = allocate(problem.n, problem.d + 1, folded, bool(options.get("shrinking", False)), cache_bytes)
    state.y[:] = problem.y
    state.C[:] = problem.bounds
    fill_diagonal(state.diagonal, problem.kernel, store)
    largest = float(np.abs(state.diagonal).max()) or 1.0
    # One on ordinary problems; multipliers live at the bounds, or near 1 / K_ii where that is less.
    state.scalars[UNIT] = min(1.0, _UNITS * float(problem.bounds.min()), _UNITS / largest)
    state.scalars[HARMLESS] = 0.01 * eps / largest
    state.scalars[MOST_DRIFT] = 0.01 * eps / (_ROUNDING * largest)
    state.random[0] = np.uint64(options.get("seed", 0))
    state.scalars[STEP_TOL] = options["step_tol"]
    state.counts[BLOCK_STEP] = -1
    state.counts[ACTIVE] = state.counts[SMALLEST] = problem.n
    state.counts[POLISH_AT] = POLISH_AFTER * problem.n if options["polish"] else NEVER
    state.counts[RENEW_AT] = -1
    start_pass(state, 1)
    if options.get("start") is not None:
        _begin_at(state, options["start"])
    total = total_of(problem.storage, problem.kernel.name, store)
    return Run(problem, (store, dots, transform, products, update, total), state, eps)


def _begin_at(state: State, alpha: Any) -> None:
    """Take given multipliers over; their errors are computed by the first slices."""
    counts = state.counts
    state.alpha[:] = alpha
    members = np.flatnonzero((alpha > 0) & (alpha < state.C))
    counts[NONBOUND] = members.size
    state.members[: members.size] = members
    if state.column.size:
        # More columns than a row has room for: the first slice finds it cramped.
        state.column[members] = np.arange(members.size)
        counts[COLUMNS] = members.size
    if not state.weights.size:
        support = np.flatnonzero(alpha)
        counts[SUPPORT] = support.size
        state.support[: support.size] = support
        state.coefficients[: support.size] = state.y[support] * alpha[support]
        state.place[support] = np.arange(support.size)
    start_renewal(state)
    counts[RENEWALS] = 0


def advance_by(passes: Callable[..., int], polish: Any, run: Run, work: int, step_limit: int) -> str | None:
    """Run compiled passes for about ``work`` entries read, or the polish where it is due.

    Returns
    -------
    str or None
        A status when the run has ended.
    """
    if run.descent is not None:
        polish.advance(run, work)
        return None
    verdict = passes(run.state, *run.calls, run.eps, work, step_limit)
    if verdict == ZIGZAGGING:
        run.polish = polish
        run.descent = polish.begin(run, step_limit)
        return None
    if verdict == CRAMPED:
        run.state = run.state._replace(cache=longer(run.state.cache))
        return None
    return {RUNNING: None, DONE: OPTIMAL, STUCK: STALLED}[verdict]


def objective(run: Run) -> float:
    """Return the present dual objective W."""
    return float(run.state.scalars[OBJECTIVE])


def steps(run: Run) -> int:
    """Return the number of steps taken so far."""
    return int(run.state.counts[STEPS])


def finish(run: Run, status: str) -> Solution:
    """Return the solution as it stands; the weights are those of its multipliers."""
    if run.descent is not None:
        run.polish.finish(run)
    state, problem = run.state, run.problem
    counts = state.counts
    weights = None
    if problem.kernel.name == "linear":
        weights = folded_weights(problem, state.alpha)
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
            "renewals": float(counts[RENEWALS]),
            "step_tol_final": float(state.scalars[STEP_TOL]),
            "objective": float(state.scalars[OBJECTIVE]),
            **_axes(state),
        },
    )


def _axes(state: State) -> dict[str, float]:
    """Return what shrinking and the cache did, where they are on."""
    counts, kept = state.counts, state.cache.counts
    found: dict[str, float] = {}
    if state.margin.size:
        found |= {
            "shrinks": float(counts[SHRINKS]),
            "active_min": float(counts[SMALLEST]),
            "returns": float(counts[RETURNS]),
        }
    if state.column.size:
        found |= {"cache_hits": float(kept[lru.HITS]), "cache_misses": float(kept[lru.MISSES])}
    return found
