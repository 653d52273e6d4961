"""State, outputs, errors and passes, shared by Platt's two programs.

:mod:`svmrepro.solvers.platt.smo` optimises two multipliers per step,
:mod:`svmrepro.solvers.platt.fixed_threshold` one. Both cache the errors of the non-bound examples, visit the
examples in the order of the first choice heuristic and, for a linear kernel, fold the support vectors into
one weight vector (Platt 1998, sections 2.2 and 2.4).

The errors and the folded weights are sums over all steps. If the total rounding of the steps could exceed a
hundredth of tol, both are recomputed before a run ends, and a full pass without steps checks the conditions.
If they do not hold, the run continues (``info["renewals"]``), at most thirty times. A run with given initial
multipliers starts in the same way: it computes the errors from the multipliers, then sets the threshold
halfway between the extreme errors of all examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.caches.smo_rows import first_cache, longer
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.records import allocated, array, record
from svmrepro.solvers.platt._example_lists import extremes, find, insert, locate, remove, set_support
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.storage.kernel_sums import PART, TOTAL, folded_weights, total_of
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM, fill_diagonal, positive_bound, transform_of
from svmrepro.solvers.storage.row_products import DOTS, PRODUCTS, UPDATE, rows_of

RUNNING, DONE, STUCK, ZIGZAGGING, CRAMPED = range(5)  # how a slice ends
BLOCK = 512
POLISH_AFTER = 500  # steps per example before conjugate gradient is used
NEVER = 2**62
_ROUNDING = 2.3e-16
_UNITS = 1000.0
_FUTILE = 30  # the run stalls after this many renewals


class SmoScalars:
    """The scalars of a run, see :mod:`svmrepro.solvers.compilation.records`."""

    # The current pass.
    full: bool  # over all examples, not only the non-bound ones
    looking: bool  # takes no step: a full pass that checks recomputed errors
    next: int  # where it continues: a place in ``every`` if full, else an example
    hint: int  # guess of its place in ``members``
    changed: int  # number of its steps
    violators: int  # number of violating examples found
    up: int  # of a full pass, argmin E over I_up
    low: int  # of a full pass, argmax E over I_low
    up_error: float
    low_error: float
    worst: float  # the largest violation found by a full pass
    objective_sum: float  # the objective W, summed by a checking pass
    # The search for a partner.
    violator: int  # the example that needs a partner, or -1
    violator_error: float
    attempt: int  # where the search continues
    origin: int  # its random start
    # Sizes of lists.
    n_nonbound: int
    n_support: int
    n_active: int  # examples in full passes
    n_columns: int  # examples with a column in the cache
    lowest: int  # place of the smallest error in ``errors``
    highest: int  # place of the largest error
    # Outputs computed ahead: for ``every[block_at:block_end]``, valid at step ``block_step``.
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
    polish_at: int  # the step at which conjugate gradient is used next
    polishes: int
    shrinks: int
    returns: int  # how often all shrunk examples returned
    smallest: int  # smallest number of examples in a full pass
    # Rounding.
    unit: float  # scale of the absolute part of the step tolerance
    harmless: float  # largest change of a multiplier that changes no output by more than tol / 100
    drift: float  # total length of the steps since the errors were last recomputed
    most_drift: float  # above this the errors have to be recomputed
    renew_at: int  # progress of the renewal of weights (below n) and errors (from n on), or -1
    renewals: int
    # Work.
    evaluations: int  # kernel values, or products with the weight vector
    touched: int  # stored entries read
    ticks: int  # other work, in entries read
    updates: int  # errors updated


class SmoState(NamedTuple):
    """The complete state of a run between slices (n examples, d features)."""

    y: Any = array("n")  # labels
    C: Any = array("n")  # bounds
    alpha: Any = array("n")  # multipliers
    diagonal: Any = array("n")  # K_ii
    weights: Any = array("weights")  # folded weight vector, or empty
    members: Any = array("n", dtype=np.uint32)  # non-bound examples in ascending order
    errors: Any = array("n")  # their errors
    support: Any = array("support", dtype=np.uint32)  # support vectors (kernels that are not folded)
    coefficients: Any = array("support")  # their y alpha
    place: Any = array("support", dtype=np.int64)  # position in support or -1
    # The examples of a full pass in ascending order: all that are not shrunk.
    every: Any = array("n", dtype=np.uint32)
    row1: Any = array("row")  # workspace
    row2: Any = array("row")  # workspace
    block: Any = array("block")  # outputs computed ahead of a pass
    one: Any = array("one", dtype=np.uint32)  # workspace
    # Slack of a bound example's condition in the last full pass, or empty.
    margin: Any = array("shrinking")
    cache: Any = array()  # kernel rows, see smo_rows
    column: Any = array("cached", dtype=np.int32)  # an example's column in them or -1; or empty
    lacking: Any = array("cached", dtype=np.uint32)  # workspace, or empty
    fresh: Any = array("cached")  # workspace, or empty
    scalars: SmoScalars = record(SmoScalars)
    random: Any = array("one", dtype=np.uint64)


def allocate(n: int, d: int, folded: bool, shrinking: bool = False, cache_bytes: float = 0.0) -> SmoState:
    """Return the state at alpha = 0."""
    state = allocated(
        SmoState,
        n=n,
        weights=d if folded else 0,
        support=0 if folded else n,
        row=max(n, PART),
        block=BLOCK,
        one=1,
        shrinking=n if shrinking else 0,
        cached=n if cache_bytes > 0.0 else 0,
    )
    state.place[:] = state.column[:] = -1
    state.every[:] = np.arange(n)
    state.margin[:] = -np.inf
    return state._replace(cache=first_cache(n, cache_bytes))


STATE = typeof(allocate(1, 1, True))
CALLS = (
    types.FunctionType(DOTS),
    types.FunctionType(TRANSFORM),
    types.FunctionType(PRODUCTS),
    types.FunctionType(UPDATE),
    types.FunctionType(TOTAL),
)


@compiled(forceinline=True)
def kernel_output(state, store, dots, transform, total, i):
    """Return ``sum_j y_j alpha_j K_ij`` over the support vectors, without b."""
    scalars, out = state.scalars, state.row1
    count = scalars.n_support
    scalars.touched += total(store, dots, transform, i, state.support, state.coefficients, count, out)
    scalars.evaluations += count
    return out[0]


@compiled(forceinline=True)
def output_of(state, store, dots, transform, products, total, i):
    """Return u_i + b."""
    if state.weights.size == 0:
        return kernel_output(state, store, dots, transform, total, i)
    state.one[0] = np.uint32(i)
    state.scalars.touched += products(store, state.weights, state.one, 1, state.row1)
    state.scalars.evaluations += 1
    return state.row1[0]


@compiled(forceinline=True)
def error_of(state, store, dots, transform, products, total, i):
    """Return E_i: the cached error of a non-bound example, else computed."""
    if 0.0 < state.alpha[i] < state.C[i]:
        return state.errors[find(state.members, state.scalars.n_nonbound, i)]
    return output_of(state, store, dots, transform, products, total, i) - state.scalars.b - state.y[i]


@compiled(forceinline=True)
def move(state, store, dots, transform, products, update, i, old, new, error):
    """Store a new multiplier, and update weights, support vectors and the non-bound list."""
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
        scalars.ticks += scalars.n_nonbound // 2  # average number of list entries moved
    if state.margin.size:
        state.margin[i] = -np.inf  # invalid for the new multiplier
    if now and not was:
        if state.column.size and state.column[i] < 0:
            state.column[i] = scalars.n_columns
            scalars.n_columns += 1
        scalars.n_nonbound = insert(state.members, state.errors, scalars.n_nonbound, i, error)
    elif was and not now:
        scalars.n_nonbound = remove(state.members, state.errors, scalars.n_nonbound, i)


@compiled(forceinline=True)
def bound_error(state, store, dots, transform, products, total, p):
    """Return the error of a bound example, the p-th of a full pass.

    With a folded weight vector, outputs are computed ahead, a block of examples at a time, and discarded when
    a step changes the weights. The block size doubles whenever a block is used up, so that at most about half
    of the products are wasted.
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


@compiled(forceinline=True)
def next_nonbound(state):
    """Move a pass over the non-bound examples on; return the place of the next in ``members``, or -1."""
    scalars, members = state.scalars, state.members
    at = locate(members, scalars.n_nonbound, scalars.next, scalars.hint)
    if at == scalars.n_nonbound:
        scalars.next = state.y.size
        return -1
    scalars.hint = at + 1
    scalars.next = np.int64(members[at]) + 1
    return at


@compiled(forceinline=True)
def violates(state, i, error, tol):
    """Count example i if it violates its condition; return whether it then needs a step."""
    scalars, y, a = state.scalars, state.y[i], state.alpha[i]
    r = error * y
    if scalars.looking and a > 0.0:
        scalars.objective_sum += a * (1.0 - 0.5 * y * (error + scalars.b + y))
    if not ((r < -tol and a < state.C[i]) or (r > tol and a > 0)):
        return False
    scalars.violators += 1
    return not scalars.looking


@compiled()
def start_pass(state, full):
    """Start a pass over all examples, or over the non-bound ones."""
    scalars = state.scalars
    scalars.next = 0
    scalars.full = full
    scalars.changed = 0
    scalars.violators = 0
    scalars.violator = -1
    scalars.up_error = np.inf
    scalars.low_error = -np.inf
    scalars.worst = 0.0


@compiled()
def start_renewal(state):
    """Start recomputing weights and errors; return whether the run may continue."""
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
def renew(state, store, dots, transform, products, update, total, stop_at):
    """Continue the renewal until the slice is used up."""
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
            scalars.block_end = 0  # outputs computed ahead used the old weights
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
def shrink(state):
    """Drop examples from full passes whose slack exceeds the largest violation."""
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
    scalars.block_end = 0  # outputs computed ahead belong to the old positions


@compiled()
def unshrink(state):
    """Return all examples to the full passes."""
    scalars, every = state.scalars, state.every
    for i in range(every.size):
        every[i] = np.uint32(i)
    scalars.n_active = every.size
    scalars.returns += 1
    scalars.block_end = 0


@dataclass
class SmoRun:
    """A run in progress: problem, compiled functions, state, the report's tol, and any CG descent."""

    problem: Problem
    calls: tuple[Any, ...]
    state: SmoState
    eps: float
    polish: Any = None
    descent: Any = None


def start(problem: Problem, eps: float, options: dict[str, Any]) -> SmoRun:
    """Return a run at alpha = 0, or at given multipliers.

    The options are ``step_tol``: relative step below which a pair makes no progress; ``fold``: keep the
    weight vector of a linear kernel; ``polish``: see :mod:`svmrepro.solvers.platt._free_set_cg`; ``seed``:
    seed of the random starts of the second choice; ``shrinking``: whether full passes skip examples whose
    slack exceeds the largest violation; ``cache_mb``: megabytes (2^20) of kernel rows, 0 for none, unused if
    the weight vector is kept; ``start``: feasible initial multipliers, or None.
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
    scale = float(np.abs(state.diagonal).max()) or 1.0
    # 1 on ordinary problems; multipliers are of the size of the bounds, or of 1 / K_ii if that is less.
    state.scalars.unit = min(1.0, _UNITS * float(problem.bounds.min()), _UNITS / scale)
    largest = positive_bound(problem.kernel, store)
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
    return SmoRun(problem, (store, dots, transform, products, update, total), state, eps)


def _begin_at(state: SmoState, alpha: Any) -> None:
    """Set the initial multipliers; the first slices compute their errors."""
    scalars = state.scalars
    state.alpha[:] = alpha
    members = np.flatnonzero((alpha > 0) & (alpha < state.C))
    scalars.n_nonbound = members.size
    state.members[: members.size] = members
    if state.column.size:
        # If these are more columns than a row has, the first slice returns CRAMPED.
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


def advance_by(
    passes: Callable[..., int], polish: Any, run: SmoRun, work: int, step_limit: int
) -> str | None:
    """Run compiled passes for about ``work`` entries read, or the CG descent if one is active."""
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


def objective(run: SmoRun) -> float:
    """Return the current dual objective W; nan while that of given multipliers is being computed."""
    scalars = run.state.scalars
    return math.nan if scalars.looking and not scalars.renewals else float(scalars.objective)


def steps(run: SmoRun) -> int:
    """Return the number of steps taken so far."""
    return int(run.state.scalars.steps)


def finish(run: SmoRun, status: str) -> Solution:
    """Return the current solution, with weights computed from its multipliers."""
    if run.descent is not None:
        run.polish.finish(run)
    state, scalars = run.state, run.state.scalars
    info = {
        "rescues": scalars.rescues,
        "polishes": scalars.polishes,
        "renewals": scalars.renewals,
        "step_tol_final": scalars.step_tol,
        "objective": objective(run),
    }
    if state.margin.size:
        info |= {"shrinks": scalars.shrinks, "active_min": scalars.smallest, "returns": scalars.returns}
    if state.column.size:
        info |= {"cache_hits": state.cache.counts.hits, "cache_misses": state.cache.counts.misses}
    return Solution(
        alpha=state.alpha,
        weights=folded_weights(run.problem, state.alpha) if run.problem.kernel.name == "linear" else None,
        bias=-float(scalars.b),
        status=status,
        iterations=int(scalars.steps),
        kernel_evaluations=int(scalars.evaluations),
        work={"nonzeros": int(scalars.touched), "gradient_updates": int(scalars.updates)},
        info={name: float(value) for name, value in info.items()},
    )
