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
from svmrepro.solvers.caches.smo_rows import first_cache, longer
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.platt.example_lists import extremes, find, insert, remove, set_support
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.storage.kernel_sums import PART, TOTAL, folded_weights, total_of
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM, fill_diagonal, transform_of
from svmrepro.solvers.storage.row_products import DOTS, PRODUCTS, UPDATE, rows_of

RUNNING, DONE, STUCK, ZIGZAGGING, CRAMPED = range(5)  # what a slice ends with
BLOCK = 512
POLISH_AFTER = 500  # steps an example before conjugate gradient comes to help
NEVER = 2**62
_ROUNDING = 2.3e-16
_UNITS = 1000.0
_FUTILE = 30  # renewals after which the conditions did not hold: then the run is given up


class Scalars:
    """The scalars of a run, see :mod:`svmrepro.solvers.compilation.records`."""

    # The pass under way.
    full: bool  # over all examples, not the non-bound ones alone
    looking: bool  # takes no step: a full pass over errors that were computed anew
    next: int  # where it goes on: a place in ``every`` if full, else an example
    hint: int  # where in ``members`` that is, perhaps
    changed: int  # steps that it has taken
    violators: int  # examples that it found to violate their conditions
    up: int  # of a full pass, argmin E over I_up
    low: int  # and argmax E over I_low
    up_error: float
    low_error: float
    worst: float  # the largest violation that a full pass has met
    objective_sum: float  # the objective W, being summed up by a pass that looks
    # The search for a partner.
    violator: int  # whose partner is looked for, or -1
    violator_error: float
    attempt: int  # where the search goes on
    origin: int  # its random start
    # Sizes of lists.
    n_nonbound: int
    n_support: int
    n_active: int  # examples in full passes
    n_columns: int  # examples that have a column in the cache
    lowest: int  # place of the smallest error in ``errors``
    highest: int  # and of the largest
    # Outputs computed ahead: those of ``every[block_at:block_end]``, valid at step ``block_step``.
    block_at: int
    block_end: int
    block_step: int
    block_size: int
    # The run.
    b: float  # threshold
    objective: float  # W
    step_tol: float
    steps: int
    rescues: int
    polish_at: int  # the step at which conjugate gradient comes to help
    polishes: int
    shrinks: int
    returns: int  # of all that was shrunk
    smallest: int  # fewest examples in a full pass
    # Rounding.
    unit: float  # of the absolute part of the step tolerance
    harmless: float  # a change of a multiplier that changes no output by more than a hundredth of eps
    drift: float  # length of all steps since the errors were last computed anew
    most_drift: float  # from where that is due
    renew_at: int  # how far the renewal of weights (below n) and errors (from n on) is, or -1
    renewals: int
    # Work.
    evaluations: int  # kernel values, or products with the weight vector
    touched: int  # stored entries read
    ticks: int  # other work, in entries read
    updates: int  # errors brought up to date


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
    scalars: Scalars
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
        scalars=zeroed(Scalars),
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
    scalars, out = state.scalars, state.row1
    count = scalars.n_support
    scalars.touched += total(store, dots, transform, i, state.support, state.coefficients, count, out)
    scalars.evaluations += count
    return out[0]


@compiled(forceinline=True)
def error_of(state, store, dots, transform, products, total, i):  # type: ignore[no-untyped-def]
    """Return E_i: from the cache for a non-bound example, else evaluated."""
    scalars = state.scalars
    if 0.0 < state.alpha[i] < state.C[i]:
        return state.errors[find(state.members, scalars.n_nonbound, i)]
    if state.weights.size:
        state.one[0] = np.uint32(i)
        scalars.touched += products(store, state.weights, state.one, 1, state.row1)
        scalars.evaluations += 1
        output = state.row1[0]
    else:
        output = kernel_output(state, store, dots, transform, total, i)
    return output - state.scalars.b - state.y[i]


@compiled(forceinline=True)
def move(state, store, dots, transform, products, update, i, old, new, error):  # type: ignore[no-untyped-def]
    """Store a new multiplier and keep weights, support vectors and non-bound list in step."""
    scalars, y, C = state.scalars, state.y[i], state.C[i]
    state.alpha[i] = new
    if state.weights.size:
        scalars.touched += update(store, i, y * (new - old), state.weights)
    else:
        scalars.n_support = set_support(
            state.support, state.coefficients, state.place, scalars.n_support, i, y * new
        )
    was, now = 0.0 < old < C, 0.0 < new < C
    if was != now:
        scalars.ticks += scalars.n_nonbound // 2  # as many places of a sorted list are moved
    if state.margin.size:
        state.margin[i] = -np.inf  # not of this multiplier
    if now and not was:
        if state.column.size and state.column[i] < 0:
            state.column[i] = scalars.n_columns
            scalars.n_columns += 1
        scalars.n_nonbound = insert(state.members, state.errors, scalars.n_nonbound, i, error)
    elif was and not now:
        scalars.n_nonbound = remove(state.members, state.errors, scalars.n_nonbound, i)


@compiled(forceinline=True)
def bound_error(state, store, dots, transform, products, total, p):  # type: ignore[no-untyped-def]
    """Return the error of a bound example, the p-th of a full pass.

    With a folded weight vector the outputs of the examples ahead are computed a block at a
    time and thrown away when a step changes the weights; a block doubles with every one
    used up, so that at most about half of the products are wasted.
    """
    scalars = state.scalars
    i = np.int64(state.every[p])
    if state.weights.size == 0:
        return kernel_output(state, store, dots, transform, total, i) - state.scalars.b - state.y[i]
    if not (scalars.block_step == scalars.steps and scalars.block_at <= p < scalars.block_end):
        size = min(2 * scalars.block_size, BLOCK) if scalars.block_step == scalars.steps else 4
        m = min(size, scalars.n_active - p)
        scalars.touched += products(store, state.weights, state.every[p : p + m], m, state.block)
        scalars.evaluations += m
        scalars.block_step, scalars.block_size = scalars.steps, size
        scalars.block_at, scalars.block_end = p, p + m
    return state.block[p - scalars.block_at] - state.scalars.b - state.y[i]


@compiled()
def start_pass(state, full):  # type: ignore[no-untyped-def]
    """Begin a pass over all examples, or over the non-bound ones."""
    scalars = state.scalars
    scalars.next = 0
    scalars.full = full
    scalars.changed = 0
    scalars.violators = 0
    scalars.violator = -1
    scalars.up_error = np.inf
    scalars.low_error = -np.inf
    scalars.worst = 0.0


@compiled(forceinline=True)
def drifted(state):  # type: ignore[no-untyped-def]
    """Tell whether the rounding of all steps together could matter."""
    return state.scalars.drift > state.scalars.most_drift


@compiled()
def start_renewal(state):  # type: ignore[no-untyped-def]
    """Begin to compute weights and errors anew; return whether the run may go on."""
    scalars = state.scalars
    scalars.renew_at = 0
    scalars.renewals += 1
    scalars.drift = 0.0
    if state.weights.size:
        state.weights[:] = 0.0
    else:
        scalars.renew_at = state.y.size
    start_pass(state, full=True)
    scalars.looking = True
    scalars.objective_sum = 0.0
    return scalars.renewals <= _FUTILE


@compiled(forceinline=True)
def renew(state, store, dots, transform, products, update, total, stop_at):  # type: ignore[no-untyped-def]
    """Go on with the renewal until the slice is used up."""
    scalars, members, errors, alpha, y = state.scalars, state.members, state.errors, state.alpha, state.y
    n, b = y.size, state.scalars.b
    while scalars.renew_at >= 0 and scalars.touched + scalars.ticks < stop_at:
        at = scalars.renew_at
        k = at - n
        scalars.ticks += 1
        if at < n:
            if alpha[at] > 0.0:
                scalars.touched += update(store, at, y[at] * alpha[at], state.weights)
            scalars.renew_at += 1
        elif k >= scalars.n_nonbound:
            scalars.renew_at = -1
            scalars.lowest, scalars.highest = extremes(errors, scalars.n_nonbound)
            scalars.block_end = 0  # outputs computed ahead were those of other weights
        elif state.weights.size:
            m = min(BLOCK, scalars.n_nonbound - k)
            scalars.touched += products(store, state.weights, members[k : k + m], m, state.block)
            scalars.evaluations += m
            for j in range(m):
                errors[k + j] = state.block[j] - b - y[members[k + j]]
            scalars.renew_at += m
        else:
            i = np.int64(members[k])
            errors[k] = kernel_output(state, store, dots, transform, total, i) - b - y[i]
            scalars.renew_at += 1


@compiled()
def shrink(state):  # type: ignore[no-untyped-def]
    """Drop from the full passes who fulfilled its condition by more than the worst violated its own."""
    scalars, every, alpha, margin, C = state.scalars, state.every, state.alpha, state.margin, state.C
    kept = 0
    for p in range(scalars.n_active):
        i = every[p]
        if margin[i] > state.scalars.worst and not 0.0 < alpha[i] < C[i]:
            continue
        every[kept] = i
        kept += 1
    scalars.shrinks += 1 if kept < scalars.n_active else 0
    scalars.n_active = kept
    scalars.smallest = min(scalars.smallest, kept)
    scalars.block_end = 0  # outputs computed ahead were those of other positions


@compiled()
def unshrink(state):  # type: ignore[no-untyped-def]
    """Put all examples back into the full passes."""
    scalars, every = state.scalars, state.every
    for i in range(every.size):
        every[i] = np.uint32(i)
    scalars.n_active = every.size
    scalars.returns += 1
    scalars.block_end = 0


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
    state.scalars.unit = min(1.0, _UNITS * float(problem.bounds.min()), _UNITS / largest)
    state.scalars.harmless = 0.01 * eps / largest
    state.scalars.most_drift = 0.01 * eps / (_ROUNDING * largest)
    state.random[0] = np.uint64(options.get("seed", 0))
    state.scalars.step_tol = options["step_tol"]
    state.scalars.block_step = -1
    state.scalars.n_active = state.scalars.smallest = problem.n
    state.scalars.polish_at = POLISH_AFTER * problem.n if options["polish"] else NEVER
    state.scalars.renew_at = -1
    start_pass(state, full=True)
    if options.get("start") is not None:
        _begin_at(state, options["start"])
    total = total_of(problem.storage, problem.kernel.name, store)
    return Run(problem, (store, dots, transform, products, update, total), state, eps)


def _begin_at(state: State, alpha: Any) -> None:
    """Take given multipliers over; their errors are computed by the first slices."""
    scalars = state.scalars
    state.alpha[:] = alpha
    members = np.flatnonzero((alpha > 0) & (alpha < state.C))
    scalars.n_nonbound = members.size
    state.members[: members.size] = members
    if state.column.size:
        # More columns than a row has room for: the first slice finds it cramped.
        state.column[members] = np.arange(members.size)
        scalars.n_columns = members.size
    if not state.weights.size:
        support = np.flatnonzero(alpha)
        scalars.n_support = support.size
        state.support[: support.size] = support
        state.coefficients[: support.size] = state.y[support] * alpha[support]
        state.place[support] = np.arange(support.size)
    start_renewal(state)
    scalars.renewals = 0


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
    return float(run.state.scalars.objective)


def steps(run: Run) -> int:
    """Return the number of steps taken so far."""
    return int(run.state.scalars.steps)


def finish(run: Run, status: str) -> Solution:
    """Return the solution as it stands; the weights are those of its multipliers."""
    if run.descent is not None:
        run.polish.finish(run)
    state, problem = run.state, run.problem
    scalars = state.scalars
    weights = None
    if problem.kernel.name == "linear":
        weights = folded_weights(problem, state.alpha)
    return Solution(
        alpha=state.alpha,
        weights=weights,
        bias=-float(state.scalars.b),
        status=status,
        iterations=int(scalars.steps),
        kernel_evaluations=int(scalars.evaluations),
        work={"nonzeros": int(scalars.touched), "gradient_updates": int(scalars.updates)},
        info={
            "rescues": float(scalars.rescues),
            "polishes": float(scalars.polishes),
            "renewals": float(scalars.renewals),
            "step_tol_final": float(state.scalars.step_tol),
            "objective": float(state.scalars.objective),
            **_axes(state),
        },
    )


def _axes(state: State) -> dict[str, float]:
    """Return what shrinking and the cache did, where they are on."""
    scalars, kept = state.scalars, state.cache.counts
    found: dict[str, float] = {}
    if state.margin.size:
        found |= {
            "shrinks": float(scalars.shrinks),
            "active_min": float(scalars.smallest),
            "returns": float(scalars.returns),
        }
    if state.column.size:
        found |= {"cache_hits": float(kept.hits), "cache_misses": float(kept.misses)}
    return found
