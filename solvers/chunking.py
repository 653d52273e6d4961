r"""Chunking (Vapnik 1982; Platt 1998, sections 1.2 and 3).

Each step solves a dense quadratic program over every non-zero multiplier of the last one and
the ``chunk_size`` worst violators of the KKT conditions, from the last solution on, by
:mod:`svmrepro.solvers.projected_cg`. The Hessian stays in memory and its rows are used again: a
variable keeps its *slot* for as long as its multiplier is non-zero, and a new one takes over
the slot of one that has left. Outputs of all examples are kept up to date: through the folded
weight vector for a linear kernel, else by one kernel row for each multiplier that the step changed.

The report's rule for the tolerance of the conjugate gradient is kept: 3e-10 at first, divided by
three from the next chunk on when the thresholds that the non-bound multipliers propose are more
than 2 eps apart.

Where the report is silent:

* Done when a threshold exists for which no example violates its condition by more than eps:
  ``max F over I_low - min F over I_up <= 2 eps`` with ``F_i = u_i + b - y_i`` (Keerthi et al. 2001); the
  threshold returned is the middle. In between, b is the middle of the thresholds proposed,
  or of the bounds that the bound multipliers set where none is non-bound.
* Ties among the worst violators go by the order of the training set. The pair that violates most
  is always part of the sub-problem, so that each has something to gain (the first 500 rows may be
  of one class).
* A step that gains nothing divides the tolerance by ten.
* The memory limit counts 4 bytes an entry of the sub-problem's square, a packed triangle of
  doubles. This program keeps both triangles, for products at the speed of memory, and a spare quarter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from svmrepro.solvers import projected_cg as pcg
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.projected_cg import QP
from svmrepro.solvers.rows import DOTS, MEMBERS, PRODUCTS, STORE, UPDATE, VECTOR, rows_of
from svmrepro.solvers.solution import MEMORY_LIMIT, OPTIMAL, STALLED, Solution
from svmrepro.solvers.transforms import TRANSFORM, transform_of

MEMORY_LIMITED = True
BYTES_PER_ENTRY = 4
_FUTILE = 40  # steps in a row that gain nothing before the run is given up
_ROUNDING = 1e-15  # a relative gain up to this is none
_PATIENCE = 50  # CG steps a variable; more of them work on rounding
_FIRST_CAPACITY = 1024


@compiled(
    types.int64(
        STORE,
        types.FunctionType(DOTS),
        types.FunctionType(TRANSFORM),
        types.float64[:, ::1],
        VECTOR,
        MEMBERS,
        types.int64,
        types.int64[::1],
        VECTOR,
    ),
)
def fill_hessian(store, dots, transform, Q, y, members, m, slots, row):  # type: ignore[no-untyped-def]
    """Write rows and columns ``slots`` of ``Q_ij = y_i y_j K_ij`` over m slots; return entries read."""
    touched = 0
    for s in slots:
        i = np.int64(members[s])
        touched += dots(store, i, members, m, row)
        transform(store, i, members, m, row)
        for k in range(m):
            entry = y[s] * y[k] * row[k]
            Q[s, k] = entry
            Q[k, s] = entry
    return touched


@compiled(
    types.int64(
        STORE,
        types.FunctionType(DOTS),
        types.FunctionType(TRANSFORM),
        MEMBERS,
        VECTOR,
        MEMBERS,
        VECTOR,
        VECTOR,
    ),
)
def add_rows(store, dots, transform, changed, change, every, row, outputs):  # type: ignore[no-untyped-def]
    """Add ``change[k] K[changed[k], :]`` to the outputs for every k; return entries read."""
    touched = 0
    n = every.size
    for k in range(changed.size):
        i = np.int64(changed[k])
        touched += dots(store, i, every, n, row)
        transform(store, i, every, n, row)
        for j in range(n):
            outputs[j] += change[k] * row[j]
    return touched


@compiled(
    types.int64(
        STORE,
        types.FunctionType(PRODUCTS),
        types.FunctionType(UPDATE),
        MEMBERS,
        VECTOR,
        MEMBERS,
        VECTOR,
        VECTOR,
    ),
)
def add_folded(store, products, update, changed, change, every, weights, outputs):  # type: ignore[no-untyped-def]
    """Fold the changes into the weights and compute all outputs anew; return entries read."""
    touched = 0
    for k in range(changed.size):
        touched += update(store, np.int64(changed[k]), change[k], weights)
    return touched + products(store, weights, every, every.size, outputs)


class Run:
    """A run under way.

    Attributes
    ----------
    alpha, outputs : ndarray of float64, shape (n,)
        Multipliers, and ``sum_j y_j alpha_j K_ij`` of every example.
    slot : ndarray of int64, shape (n,)
        Where an example stands in the sub-problem, or -1.
    members : ndarray of uint32, shape (capacity,)
        The example in each slot.
    used : int
        Slots in use or empty, a prefix of the arrays of ``qp``.
    empty : list of int
        Slots in that prefix whose variable has left.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem = problem
        self.eps = eps
        self.chunk_size = max(int(options["chunk_size"]), 1)
        self.cg_tol = float(options["cg_tol"])
        self.bends = bool(options["bends"])
        self.whole = bool(options["whole"])
        self.limit_bytes = options["memory_limit_bytes"]
        self.store = problem.prepare()
        self.dots, self.products, self.update = rows_of(problem)
        self.transform = transform_of(problem.kernel.name, self.store)
        n = problem.n
        self.alpha = np.zeros(n)
        self.outputs = np.zeros(n)
        self.weights = np.zeros(problem.d + 1) if problem.kernel.name == "linear" else None
        self.every = np.arange(n, dtype=np.uint32)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.qp: QP = pcg.allocate(min(_FIRST_CAPACITY, n))
        self.members = np.zeros(self.qp.y.size, dtype=np.uint32)
        self.row = np.zeros(n)
        self.used = 0
        self.empty: list[int] = []
        self.b = 0.0
        self.solving = False
        self.futile = 0
        self.best = 0.0
        self.begun_at = 0
        self.largest = 0.0
        self.chunks = self.touched = self.evaluations = self.updates = self.subproblem_max = 0


def start(problem: Problem, eps: float, options: dict[str, Any]) -> Run:
    """Return a run at alpha = 0.

    Parameters
    ----------
    problem : Problem
        With a bias.
    eps : float
        KKT tolerance.
    options : dict
        ``chunk_size``: violators added a step (the report's M). ``cg_tol``: the first stopping
        tolerance of the conjugate gradient. ``bends``: whether a search direction that meets a bound is
        followed further, or conjugate gradient starts afresh at each bound. ``whole``: whether products read
        the whole matrix, or the rows of those variables that may move.
        ``memory_limit_bytes``: of the Hessian, counted as above.
    """
    return Run(problem, eps, options)


def advance(run: Run, work: int, step_limit: int) -> str | None:
    """Choose a chunk, or read about ``work`` entries of the Hessian; return a status at the end."""
    if not run.solving:
        return _next_chunk(run)
    tolerance = run.cg_tol if run.cg_tol > 1e-16 else 0.0
    patience = run.begun_at + _PATIENCE * (run.used + _PATIENCE)
    verdict = pcg.solve_face(
        run.qp, run.problem.C, tolerance, run.largest, run.bends, run.whole, work, min(step_limit, patience)
    )
    if verdict == pcg.DONE or patience <= steps(run) < step_limit:
        _absorb(run)
        run.solving = False
    return None


def objective(run: Run) -> float:
    """Return the dual objective W as of the last CG step."""
    return float(run.qp.scalars[pcg.OBJECTIVE])


def steps(run: Run) -> int:
    """Return the number of CG steps taken so far."""
    return int(run.qp.counts[pcg.CG_STEPS])


def finish(run: Run, status: str) -> Solution:
    """Return the solution as it stands, also in the middle of a sub-problem."""
    if run.solving:
        _absorb(run)
        run.b = _threshold(run)[0]
    counts = run.qp.counts
    return Solution(
        alpha=run.alpha,
        weights=None if run.weights is None else run.weights[: run.problem.d],
        bias=-run.b,
        status=status,
        iterations=int(counts[pcg.CG_STEPS]),
        kernel_evaluations=run.evaluations,
        work={
            "nonzeros": run.touched,
            "gradient_updates": run.updates,
            "hessian_entries": int(counts[pcg.ENTRIES]),
        },
        info={
            "chunks": float(run.chunks),
            "cg_steps": float(counts[pcg.CG_STEPS]),
            "faces": float(counts[pcg.RELEASES]),
            "bends": float(counts[pcg.BENDS]),
            "cg_tol_final": run.cg_tol,
            "subproblem_max": float(run.subproblem_max),
            "objective": objective(run),
        },
    )


def _threshold(run: Run) -> tuple[float, float, float, npt.NDArray[np.float64]]:
    """Return b, the pair gap, the spread of the proposed thresholds, and F of every example."""
    alpha, y, C = run.alpha, run.problem.y, run.problem.C
    F = run.outputs - y
    up = np.where(y > 0, alpha < C, alpha > 0)
    low = np.where(y > 0, alpha > 0, alpha < C)
    smallest, largest = F[up].min(), F[low].max()
    gap = float(largest - smallest)
    proposed = F[(alpha > 0) & (alpha < C)]
    spread = float(np.ptp(proposed)) if proposed.size else 0.0
    if gap <= 2 * run.eps or not proposed.size:
        b = 0.5 * (largest + smallest)
    else:
        b = 0.5 * (proposed.max() + proposed.min())
    return float(b), gap, spread, F


def _next_chunk(run: Run) -> str | None:
    """Stop, or choose the next sub-problem and make it ready."""
    run.b, gap, spread, F = _threshold(run)
    if gap <= 2 * run.eps:
        return OPTIMAL
    if run.futile >= _FUTILE:
        return STALLED
    if spread > 2 * run.eps:
        run.cg_tol /= 3.0
    new = _worst(run, F)
    size = run.used - len(run.empty) + new.size
    if BYTES_PER_ENTRY * size * size > run.limit_bytes:
        return MEMORY_LIMIT
    _admit(run, new)
    run.chunks += 1
    run.begun_at = steps(run)
    run.subproblem_max = max(run.subproblem_max, size)
    run.solving = True
    return None


def _worst(run: Run, F: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the worst violators outside the sub-problem, at most ``chunk_size`` and the worst pair."""
    y, alpha, C = run.problem.y, run.alpha, run.problem.C
    # Outside the sub-problem alpha is 0, and only y_i u_i < 1 violates.
    violation = np.where(run.slot < 0, -y * (F - run.b), -np.inf)
    candidates = np.flatnonzero(violation > run.eps)
    order = np.argsort(-violation[candidates], kind="stable")
    chosen = candidates[order[: run.chunk_size]]
    up = np.flatnonzero(np.where(y > 0, alpha < C, alpha > 0))
    low = np.flatnonzero(np.where(y > 0, alpha > 0, alpha < C))
    pair = np.array([up[F[up].argmin()], low[F[low].argmax()]])
    return np.union1d(chosen, pair[run.slot[pair] < 0])


def _admit(run: Run, new: npt.NDArray[np.int64]) -> None:
    """Give new examples slots, compute their rows of the Hessian and set the sub-problem up."""
    problem = run.problem
    reused = [run.empty.pop() for _ in range(min(len(run.empty), new.size))]
    slots = np.array([*reused, *range(run.used, run.used + new.size - len(reused))], dtype=np.int64)
    run.used += new.size - len(reused)
    if run.used > run.qp.y.size:
        _grow(run)
    qp, m = run.qp, run.used
    run.slot[new] = slots
    run.members[slots] = new
    qp.y[slots] = problem.y[new]
    run.touched += fill_hessian(
        run.store, run.dots, run.transform, qp.Q, qp.y, run.members, m, slots, run.row
    )
    run.evaluations += slots.size * m
    occupied = np.flatnonzero(qp.y[:m])
    examples = run.members[occupied]
    run.largest = float(np.abs(np.diagonal(qp.Q)[occupied]).max())
    qp.a[:m] = 0.0
    qp.a[occupied] = run.alpha[examples]
    qp.g[:m] = 0.0
    qp.g[occupied] = problem.y[examples] * run.outputs[examples] - 1.0
    qp.inside[:m] = 0
    qp.counts[pcg.M] = m
    qp.counts[pcg.FREE] = 0
    qp.scalars[pcg.OBJECTIVE] = qp.a[:m].sum() - 0.5 * (qp.a[:m] @ (qp.g[:m] + 1.0))


def _grow(run: Run) -> None:
    """Move the sub-problem into arrays a quarter larger than now needed (at most n)."""
    old, m = run.qp, run.qp.y.size
    capacity = min(run.used + run.used // 4, run.problem.n)
    grown = pcg.allocate(max(capacity, run.used))
    grown.Q[:m, :m] = old.Q
    for name in ("y", "a", "g", "d", "q", "qy", "free", "inside"):
        getattr(grown, name)[:m] = getattr(old, name)
    grown.counts[:] = old.counts
    grown.scalars[:] = old.scalars
    members = np.zeros(grown.y.size, dtype=np.uint32)
    members[:m] = run.members
    run.qp, run.members = grown, members


def _absorb(run: Run) -> None:
    """Take the solution of the sub-problem over: multipliers, outputs, slots that fell empty."""
    problem, qp, m = run.problem, run.qp, run.used
    occupied = np.flatnonzero(qp.y[:m])
    examples = run.members[occupied]
    before = run.alpha[examples]
    after = qp.a[occupied]
    moved = np.flatnonzero(after != before)
    changed = examples[moved]
    change = problem.y[changed] * (after - before)[moved]
    run.alpha[examples] = after
    if run.weights is not None:
        run.touched += add_folded(
            run.store, run.products, run.update, changed, change, run.every, run.weights, run.outputs
        )
        run.evaluations += problem.n
    else:
        run.touched += add_rows(
            run.store, run.dots, run.transform, changed, change, run.every, run.row, run.outputs
        )
        run.evaluations += changed.size * problem.n
    run.updates += problem.n
    left = occupied[after == 0.0]
    run.slot[run.members[left]] = -1
    qp.y[left] = 0.0
    run.empty.extend(left.tolist())
    reached = float(run.alpha.sum() - 0.5 * ((problem.y * run.alpha) @ run.outputs))
    run.futile = run.futile + 1 if reached <= run.best + _ROUNDING * abs(run.best) else 0
    run.best = max(run.best, reached)
    if moved.size == 0:
        run.cg_tol *= 0.1
