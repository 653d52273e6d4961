r"""Chunking (Vapnik 1982; Platt 1998, sections 1.2 and 3).

Each step solves a dense quadratic program over the nonzero multipliers of the last one and the ``chunk_size``
worst violators of the KKT conditions, starting from the last solution, by
:mod:`svmrepro.solvers.quadratic_programs.projected_cg`. The Hessian stays in memory and its rows are reused:
a variable keeps its *slot* as long as its multiplier is nonzero, and a new variable takes a slot that has
become empty. Outputs of all examples are kept up to date: through the folded weight vector for a linear
kernel, else by one kernel row for each multiplier that the step changed.

The report's rule for the tolerance of the conjugate gradient is kept: 3e-10 at first, divided by three from
the next chunk on whenever the thresholds that the non-bound multipliers propose are more than 2 eps apart.

Where the report is silent:

* The run is done when a threshold exists for which no example violates its condition by more than eps:
  ``max F over I_low - min F over I_up <= 2 eps`` with ``F_i = u_i + b - y_i`` (Keerthi et al. 2001); the
  threshold returned is the midpoint. Before that, b is the midpoint of the proposed thresholds, or, without
  non-bound multipliers, of the limits set by the bound ones.
* Ties among the worst violators are broken by the order of the training set. The most violating pair is
  always part of the sub-problem, so that each sub-problem can make progress (the first 500 rows may be of one
  class).
* A step that changes no multiplier divides the tolerance by ten.
* With initial multipliers, the first sub-problem contains all nonzero ones.
* Outputs, and folded weights, are sums over all chunks. If the total rounding of the changes could exceed a
  hundredth of eps, they are recomputed from the multipliers before the run ends, and the run continues if the
  conditions then fail (``info["renewals"]``), at most thirty times.
* The memory limit counts 4 bytes per entry of the sub-problem's square, a packed triangle of doubles. This
  program stores both triangles, for products at memory speed, and a spare quarter.

Every *phase* of a chunk runs in slices: choosing, moving the Hessian into larger arrays, filling it, solving,
and absorbing the solution into the outputs.

Symbols:

===========  =====================================
paper        here
===========  =====================================
M            ``chunk_size`` (section 1.2)
Q, alpha, y  ``qp.Q``, ``qp.a``, ``qp.y``, by slot
u_i + b      ``outputs``
b            ``b``, subtracted
===========  =====================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.quadratic_programs import projected_cg as pcg
from svmrepro.solvers.quadratic_programs.chunk_qp import ChunkQP, allocate, weigh
from svmrepro.solvers.solution import MEMORY_LIMIT, OPTIMAL, STALLED, Solution
from svmrepro.solvers.storage.kernel_sums import fold, folded_weights
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM, positive_bound, prepare, transform_of
from svmrepro.solvers.storage.row_products import DOTS, MEMBERS, STORE, VECTOR, rows_of

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

BYTES_PER_ENTRY = 4
_FUTILE = 40  # consecutive steps without a gain after which the run stalls
_RETRIES = 5  # steps left to such a run after its outputs are recomputed
_RENEWALS = 30
_UNIT_ROUNDING = 2.3e-16
_ROUNDING = 1e-15  # a relative gain up to this is rounding
_PATIENCE = 50  # CG steps per variable; more of them only work on rounding
_FIRST_CAPACITY = 1024
_PART = 1 << 16  # examples whose outputs are updated at a time
# Cost of a kernel value besides its dot product, in entries read: the transform and a strided write.
_VALUE = 16

CHOOSING, GROWING, FILLING, SOLVING, ABSORBING = range(5)  # phases


_INT, _CALLS = types.int64, (STORE, types.FunctionType(DOTS), types.FunctionType(TRANSFORM))
_REACHED = types.UniTuple(types.int64, 2)
_MATRIX, _SLOTS = types.float64[:, ::1], types.int64[::1]


@compiled(_REACHED(*_CALLS, _MATRIX, VECTOR, VECTOR, MEMBERS, _INT, _SLOTS, _INT, _INT, VECTOR))
def fill_hessian(store, dots, transform, Q, h, y, members, m, slots, at, work, row):
    """Write rows and columns ``slots[at:]`` of ``Q_ij = y_i y_j K_ij`` over m slots, and the diagonal to h.

    Return the position reached within ``work``, and the entries read.
    """
    touched, begin = 0, at
    while at < slots.size and (at == begin or touched + _VALUE * m * (at - begin) < work):
        s = slots[at]
        i = np.int64(members[s])
        touched += dots(store, i, members, m, row)
        transform(store, i, members, m, row)
        for k in range(m):
            entry = y[s] * y[k] * row[k]
            Q[s, k] = entry
            Q[k, s] = entry
        h[s] = abs(Q[s, s])
        at += 1
    return at, touched


@compiled(_REACHED(*_CALLS, MEMBERS, VECTOR, _INT, _INT, MEMBERS, VECTOR, VECTOR))
def add_rows(store, dots, transform, changed, change, at, work, every, row, outputs):
    """Add ``change[k] K[changed[k], :]`` to the outputs for k from ``at`` on; see :func:`fill_hessian`."""
    touched, begin = 0, at
    n = every.size
    while at < changed.size and (at == begin or touched + _VALUE * n * (at - begin) < work):
        i = np.int64(changed[at])
        touched += dots(store, i, every, n, row)
        transform(store, i, every, n, row)
        scale = change[at]
        for j in range(n):
            outputs[j] += scale * row[j]
        at += 1
    return at, touched


class ChunkingRun:
    """A run in progress, at first at alpha = 0, or at given multipliers.

    Its options are ``chunk_size``: violators added per step (the report's M); ``bends``: whether a search
    direction that reaches a bound is followed further, else conjugate gradient restarts at each bound;
    ``whole``: whether products read the whole matrix, or only rows of variables that may move;
    ``memory_limit_bytes``: limit on the Hessian, counted as above; ``start``: feasible initial
    multipliers, or None.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps = problem, eps
        self.chunk_size = max(int(options["chunk_size"]), 1)
        self.cg_tol = 3e-10  # initial stopping tolerance of the conjugate gradient
        self.bends, self.whole = bool(options["bends"]), bool(options["whole"])
        self.limit_bytes = options["memory_limit_bytes"]
        self.store = problem.prepare()
        self.dots, self.products, self.update = rows_of(problem)
        self.transform = transform_of(problem.kernel.name, self.store)
        n = problem.n
        # While absorbing, only a part of the outputs is up to date.
        self.alpha, self.outputs, self.row = np.zeros(n), np.zeros(n), np.zeros(n)
        self.weights = np.zeros(problem.d + 1) if problem.kernel.name == "linear" else None
        self.every = np.arange(n, dtype=np.uint32)
        self.slot = np.full(n, -1, dtype=np.int64)  # of each example in the sub-problem, or -1
        self.qp: ChunkQP = allocate(min(_FIRST_CAPACITY, n))
        self.larger: ChunkQP | None = None
        self.members = np.zeros(self.qp.y.size, dtype=np.uint32)  # the example in each slot
        self.used = 0  # length of the prefix of the arrays of ``qp`` that holds all slots
        self.empty: list[int] = []  # slots in that prefix
        self.slots = np.zeros(0, dtype=np.int64)  # those of new examples
        self.b = 0.0
        self.phase, self.at, self.part = CHOOSING, 0, 0  # the phase, and the progress within it
        self.changed, self.change = np.zeros(0, dtype=np.uint32), np.zeros(0)
        self.drift = 0.0  # total length of the changes since the outputs were last recomputed
        self.renewing = False
        largest = positive_bound(problem.kernel, self.store)
        self.most_drift = 0.01 * eps / (_UNIT_ROUNDING * largest)
        self.futile, self.best, self.begun_at = 0, 0.0, 0
        self.chunks = self.touched = self.evaluations = self.updates = self.subproblem_max = self.renewals = 0
        if options.get("start") is not None:
            self.alpha[:] = options["start"]
            _renew(self)


start = ChunkingRun


def advance(run: ChunkingRun, work: int, step_limit: int) -> str | None:
    """Continue the current phase for about ``work`` entries; return a status at the end."""
    if run.phase == CHOOSING:
        return _choose(run)
    if run.phase == GROWING:
        _move_rows(run, work)
    elif run.phase == FILLING:
        _fill(run, work)
    elif run.phase == SOLVING:
        tolerance = run.cg_tol if run.cg_tol > 1e-16 else 0.0
        patience = run.begun_at + _PATIENCE * (run.used + _PATIENCE) // (1 + run.futile)
        verdict = pcg.solve_face(run.qp, tolerance, run.bends, run.whole, work, min(step_limit, patience))
        between = run.qp.scalars.stage == pcg.DIRECTION
        if verdict == pcg.DONE or (between and patience <= steps(run) < step_limit):
            _take(run)
    else:
        _absorb(run, work)
    return None


def objective(run: ChunkingRun) -> float:
    """Return the dual objective W at the last CG step; nan before that of given multipliers is known."""
    if run.renewing and not run.chunks:
        return math.nan
    return float(run.qp.scalars.objective + run.qp.scalars.line_gain)


def steps(run: ChunkingRun) -> int:
    """Return the number of CG steps taken so far."""
    return int(run.qp.scalars.cg_steps)


def finish(run: ChunkingRun, status: str) -> Solution:
    """Return the current solution, even within a sub-problem; the weights are computed from alpha.

    If the outputs are not up to date, the threshold is computed from the examples of the sub-problem.
    """
    problem, alpha = run.problem, run.alpha
    if run.phase in (SOLVING, ABSORBING):
        occupied, examples = _occupied(run)
        if run.phase == SOLVING:
            alpha[examples] = run.qp.a[occupied]
        if occupied.size:
            run.b = _threshold(run, examples, run.qp.y[occupied] * run.qp.g[occupied])[0]
    else:
        run.b = _threshold(run, slice(None), run.outputs - problem.y)[0]
    scalars = run.qp.scalars
    return Solution(
        alpha=alpha,
        weights=None if run.weights is None else folded_weights(problem, alpha),
        bias=-run.b,
        status=status,
        iterations=int(scalars.cg_steps),
        kernel_evaluations=run.evaluations,
        work={
            "nonzeros": run.touched,
            "gradient_updates": run.updates,
            "hessian_entries": int(scalars.entries),
        },
        info={
            "chunks": float(run.chunks),
            "cg_steps": float(scalars.cg_steps),
            "faces": float(scalars.releases),
            "bends": float(scalars.bends),
            "cg_tol_final": run.cg_tol,
            "subproblem_max": float(run.subproblem_max),
            "renewals": float(run.renewals),
            "objective": objective(run),
        },
    )


def _threshold(run: ChunkingRun, examples: Any, F: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Return b, the pair gap and the spread of the proposed thresholds, for examples with values F."""
    alpha, C = run.alpha[examples], run.problem.bounds[examples]
    up, low = _movable(run, examples)
    if not (up.any() and low.any()):  # examples of one class only
        return float(F.mean()), 0.0, 0.0
    smallest, largest = F[up].min(), F[low].max()
    gap = float(largest - smallest)
    proposed = F[(alpha > 0) & (alpha < C)]
    spread = float(np.ptp(proposed)) if proposed.size else 0.0
    if gap <= 2 * run.eps or not proposed.size:
        b = 0.5 * (largest + smallest)
    else:
        b = 0.5 * (proposed.max() + proposed.min())
    return float(b), gap, spread


def _movable(run: ChunkingRun, examples: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which of the examples are in I_up and in I_low."""
    alpha, y, C = run.alpha[examples], run.problem.y[examples], run.problem.bounds[examples]
    return np.where(y > 0, alpha < C, alpha > 0), np.where(y > 0, alpha > 0, alpha < C)


def _choose(run: ChunkingRun) -> str | None:
    """Stop, or choose the next sub-problem and assign slots to its examples."""
    F = run.outputs - run.problem.y
    run.b, gap, spread = _threshold(run, slice(None), F)
    solved = gap <= 2 * run.eps
    if solved or run.futile >= _FUTILE:
        if run.drift <= run.most_drift:
            return OPTIMAL if solved else STALLED
        if run.renewals >= _RENEWALS:
            return STALLED
        run.renewals += 1
        run.futile = min(run.futile, _FUTILE - _RETRIES)
        _renew(run)
        return None
    if run.chunks and spread > 2 * run.eps:
        run.cg_tol /= 3.0
    new = _joining(run, F)
    size = run.used - len(run.empty) + new.size
    if BYTES_PER_ENTRY * size * size > run.limit_bytes:
        return MEMORY_LIMIT
    run.chunks += 1
    run.begun_at = steps(run)
    run.subproblem_max = max(run.subproblem_max, size)
    _admit(run, new)
    return None


def _joining(run: ChunkingRun, F: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the examples that join: the ``chunk_size`` worst violators, the worst pair, given nonzeros."""
    outside = run.slot < 0
    # Outside the sub-problem alpha is 0, so an example violates only if y_i u_i < 1.
    violation = np.where(outside, -run.problem.y * (F - run.b), -np.inf)
    candidates = np.flatnonzero(violation > run.eps)
    if candidates.size > run.chunk_size:
        worst = violation[candidates]
        bar = -np.partition(-worst, run.chunk_size - 1)[run.chunk_size - 1]
        candidates = candidates[worst >= bar]
    order = np.argsort(-violation[candidates], kind="stable")
    chosen = candidates[order[: run.chunk_size]]
    up, low = map(np.flatnonzero, _movable(run, slice(None)))
    pair = np.array([up[F[up].argmin()], low[F[low].argmax()]])
    chosen = np.union1d(chosen, pair[run.slot[pair] < 0])
    given = np.flatnonzero(outside & (run.alpha > 0.0))  # only before the first chunk
    return np.union1d(chosen, given) if given.size else chosen


def _admit(run: ChunkingRun, new: npt.NDArray[np.int64]) -> None:
    """Assign slots to new examples."""
    reused = [run.empty.pop() for _ in range(min(len(run.empty), new.size))]
    run.slots = np.array([*reused, *range(run.used, run.used + new.size - len(reused))], dtype=np.int64)
    run.used += new.size - len(reused)
    run.slot[new] = run.slots
    run.at, run.phase = 0, FILLING
    if run.used > run.qp.y.size:
        run.phase = GROWING
        run.larger = allocate(max(min(run.used + run.used // 4, run.problem.n), run.used))
        run.members = np.concatenate((run.members, np.zeros(run.larger.y.size - run.members.size, np.uint32)))
    run.members[run.slots] = new


def _move_rows(run: ChunkingRun, work: int) -> None:
    """Continue moving the sub-problem into arrays a quarter larger than now needed (at most n)."""
    old, larger, m = run.qp, run.larger, run.qp.y.size
    assert larger is not None
    last = min(m, run.at + max(work // (4 * larger.y.size), 1))
    larger.Q[run.at : last, :m] = old.Q[run.at : last]
    run.at = last
    if last < m:
        return
    for name in set(ChunkQP._fields) - {"Q", "every", "scalars"}:
        getattr(larger, name)[:m] = getattr(old, name)
    run.qp, run.larger = larger._replace(scalars=old.scalars), None
    run.at, run.phase = 0, FILLING


def _fill(run: ChunkingRun, work: int) -> None:
    """Continue computing the new rows of the Hessian; when complete, set up the sub-problem."""
    problem, qp, m, slots = run.problem, run.qp, run.used, run.slots
    if run.at == 0:
        qp.y[slots] = problem.y[run.members[slots]]
        qp.C[slots] = problem.bounds[run.members[slots]]
    calls, program = (run.store, run.dots, run.transform), (qp.Q, qp.h, qp.y)
    run.at, touched = fill_hessian(*calls, *program, run.members, m, slots, run.at, work, run.row)
    run.touched += touched
    if run.at < slots.size:
        return
    run.evaluations += slots.size * m
    occupied, examples = _occupied(run)
    weigh(qp, m)
    qp.a[:m] = qp.g[:m] = 0.0
    qp.a[occupied] = run.alpha[examples]
    qp.g[occupied] = problem.y[examples] * run.outputs[examples] - 1.0
    qp.inside[:m] = 0
    qp.scalars.m, qp.scalars.n_free, qp.scalars.stage = m, 0, pcg.DIRECTION
    qp.scalars.objective = qp.a[:m].sum() - 0.5 * (qp.a[:m] @ (qp.g[:m] + 1.0))
    run.phase = SOLVING


def _occupied(run: ChunkingRun) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Return the slots in use, and their examples."""
    slots = np.flatnonzero(run.qp.y[: run.used])
    return slots, run.members[slots]


def _take(run: ChunkingRun) -> None:
    """Copy the multipliers of the sub-problem to the run."""
    qp, y = run.qp, run.problem.y
    occupied, examples = _occupied(run)
    before, after = run.alpha[examples], qp.a[occupied]
    moved = np.flatnonzero(after != before)
    run.changed = examples[moved]
    run.change = y[run.changed] * (after - before)[moved]
    run.alpha[examples] = after
    run.drift += float(np.abs(run.change).sum())
    run.at, run.part, run.phase = 0, 0, ABSORBING


def _renew(run: ChunkingRun) -> None:
    """Start recomputing the outputs from the multipliers."""
    run.changed = np.flatnonzero(run.alpha).astype(np.uint32)
    run.change = run.problem.y[run.changed] * run.alpha[run.changed]
    run.outputs[:] = 0.0
    if run.weights is not None:
        run.weights[:] = 0.0
    run.drift, run.renewing = 0.0, True
    run.at, run.part, run.phase = 0, 0, ABSORBING


def _absorb(run: ChunkingRun, work: int) -> None:
    """Continue updating the outputs, in parts of the examples; when complete, free empty slots."""
    n, end = run.problem.n, min(run.part + _PART, run.problem.n)
    every, outputs, row = run.every[run.part : end], run.outputs[run.part : end], run.row
    if run.weights is None:
        calls = run.store, run.dots, run.transform
        run.at, touched = add_rows(*calls, run.changed, run.change, run.at, work, every, row, outputs)
    elif run.at < run.changed.size:
        run.at, touched = fold(run.store, run.update, run.changed, run.change, run.at, work, run.weights)
        run.touched += touched
        return
    else:
        touched = run.products(run.store, run.weights, every, every.size, outputs)
    run.touched += touched
    if run.at < run.changed.size:
        return
    if end < n:
        run.part = end
        if run.weights is None:
            run.at = 0
        return
    run.evaluations += n if run.weights is not None else run.changed.size * n
    run.updates += n
    _settle(run)


def _settle(run: ChunkingRun) -> None:
    """Finish a chunk whose outputs are up to date."""
    problem, qp = run.problem, run.qp
    reached = float(run.alpha.sum() - 0.5 * ((problem.y * run.alpha) @ run.outputs))
    run.phase = CHOOSING
    if run.renewing:
        run.renewing = False
        run.best = reached
        qp.scalars.objective = reached
        return
    occupied, _ = _occupied(run)
    left = occupied[qp.a[occupied] == 0.0]
    run.slot[run.members[left]] = -1
    qp.y[left] = 0.0
    run.empty.extend(left.tolist())
    run.futile = run.futile + 1 if reached <= run.best + _ROUNDING * abs(run.best) else 0
    run.best = max(run.best, reached)
    if run.changed.size == 0:
        run.cg_tol *= 0.1
