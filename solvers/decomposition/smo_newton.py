r"""SMO over violating pairs, with Newton steps on the free variables in between.

Pairs find quickly which multipliers end at a bound, but balance the others slowly: on an ill-conditioned
problem they zigzag for millions of steps. This solver runs the iteration of
:mod:`~svmrepro.solvers.decomposition.second_order` with planning ahead. From time to time it fixes the
multipliers at their bounds and solves for the free ones by
:mod:`~svmrepro.solvers.quadratic_programs.free_set_newton`.

A *polish* with k free among m active examples costs a kernel matrix and a Cholesky factor of order k, and k
rows of m entries for the gradient. It replaces steps between two free multipliers, not those that find new
ones, so it waits while most of the active examples are not free: the first polish is made when such steps
have cost 3 m / k times as much, or 12 m / k times if rows are bytes; what a polish costs in any case is
added. The next ones become four times more frequent if the last one gained more, for its cost, than the
latest of these steps, until such steps have cost half as much as a polish; and less frequent if it gained
less. Useless polishes therefore cost little in total. Costs are counted in entries read, not in seconds, so
that a run can be repeated. Looking at the free set costs as well, so the next look comes when a polish of the
set at the last look would be due. There is also a look when examples have left the active set, since a polish
may then be cheap.

With several threads, long passes of the pair steps are divided among them, and so is the update of the
gradient after a polish, see :mod:`~svmrepro.solvers.decomposition.threads.team`.

Rows of dense data are in single precision, and the end is computed in double precision, see
:mod:`~svmrepro.solvers.decomposition._gradient_reconstruction`, unless rounding them would matter. Whether it
does also depends on how many multipliers reach their bound; if rounding turns out to matter, the run
continues in double precision.

On binary data with few distances, and where Gaussian rows are in single precision, the gradient is kept in
fixed point, see :mod:`~svmrepro.solvers.decomposition._fixed_gradient`.

Wide and sparse linear problems, such as documents, start from the multipliers of
:mod:`~svmrepro.solvers.decomposition._coordinate_start`.

When examples return to the active set, their gradient is updated from a snapshot taken when they left, see
:mod:`~svmrepro.solvers.decomposition._gradient_reconstruction`. LIBSVM's way, which `smo2` and `pasmo` keep,
has one snapshot for all and needs more rows.

Symbols:

=======  ==============================================================================================
symbol   here
=======  ==============================================================================================
beta, G  ``state.beta``, ``state.G``, those of :mod:`~svmrepro.solvers.decomposition.second_order`
m        the number of active examples, ``scalars.n_active``
k        the number of free ones among them, ``positions.size``
K, R     their kernel matrix and its factor, ``newton.K`` and ``newton.R``
d        the change of their multipliers, of all steps of a polish: ``changes``
=======  ==============================================================================================
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import types
from svmrepro.solvers.caches.feature_columns import bytes_hold
from svmrepro.solvers.caches.single_rows import single_panel
from svmrepro.solvers.compilation.compiled import compiled, direct
from svmrepro.solvers.decomposition import _coordinate_start, second_order
from svmrepro.solvers.decomposition._coordinate_start import CoordinateStart
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import STATE, look, place
from svmrepro.solvers.decomposition._rows_ahead import looks_ahead
from svmrepro.solvers.decomposition.second_order import SecondOrderRun
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.quadratic_programs import free_set_newton as newton
from svmrepro.solvers.solution import Solution
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM, transform_of
from svmrepro.solvers.storage.row_products import DOTS, MEMBERS, STORE, VECTOR, rows_of

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_MOST_FREE = 3000  # above it, the two matrices would take more than 144 MB
# Work between free multipliers, in entries read, before the first look at the free set (about 0.1 ms), and
# until the next one if the last polish was useful, or not. A look takes about 20 us.
_FIRST_LOOK, _AGAIN, _SELDOM = 1 << 19, 1 << 17, 1 << 20
_OVERHEAD = 1 << 18  # of a polish, in entries read, besides what it computes
# Cost of steps between free multipliers before the first polish, over its cost times m / k. The second is for
# linear rows of binary data: early polishes of Adult and Web took longer than the steps that they saved.
_PATIENCE, _PATIENCE_OF_BYTES = 3.0, 12.0
_MOST_PATIENCE, _LEAST_PATIENCE = 2.0**40, 0.5  # the second one over the cost of a polish alone
_SOONER, _LATER = 0.25, 1.5
_FREE_WORK = 5_000_000  # multiplications that a polish may take in any case, about 1 ms
_OVERRUN = 1.5  # work at which a polish ends that meets many bounds, as a multiple of what was expected
_TIGHTER = 0.1  # tolerance of a polish, as a share of eps
# Costs in entries read: of a kernel value, of a multiplication in the factor, of an entry of a new row.
_VALUE, _MULTIPLICATION, _ENTRY = 8.0, 0.7, 3.0


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Lay the examples out, and load the compiled loops, before the clock starts."""
    precision = _precision_of(problem, eps)
    if precision == "rounded":
        single_panel(problem)
    if _coordinate_start.pays(problem):
        _coordinate_start.prepare(problem, eps, options)
    second_order.load(problem, precision, second_order.may_be_fixed(problem, precision), options)


def _precision_of(problem: Problem, eps: float) -> str:
    """Return the precision of kernel rows, which may be rounded."""
    precision = second_order.precision_of(problem)
    return "rounded" if precision == "double" and second_order.rounds(problem, eps) else precision


@compiled(
    types.UniTuple(types.int64, 2)(
        STORE,
        types.FunctionType(DOTS),
        types.FunctionType(TRANSFORM),
        types.float64[:, ::1],
        MEMBERS,
        types.int64,
        types.int64,
        VECTOR,
    )
)
def fill_kernel(store, dots, transform, K, members, at, work, row):
    """Write the upper triangle of the kernel matrix of some examples, from row ``at`` on.

    Return the row reached within about ``work`` entries, and the entries read. ``row`` is workspace.
    """
    touched, done = 0, 0
    while at < members.size and done + touched < work:
        rest, size = members[at:], members.size - at
        touched += dots(store, np.int64(members[at]), rest, size, row)
        transform(store, np.int64(members[at]), rest, size, row)
        for k in range(size):
            K[at, at + k] = row[k]
        at += 1
        done += 8 * size
    return at, touched


@compiled(types.void(STATE, types.int64[::1], VECTOR))
def settle(state, positions, values):
    """Set the multipliers at some positions, and their status."""
    beta = state.beta
    for k in range(positions.size):
        i = positions[k]
        place(beta, state.status, state.y, state.C, i, values[k], abs(beta[i]) + abs(values[k]))


class Polish:
    """Newton steps on the free variables of the active set, in slices.

    Attributes
    ----------
    positions : ndarray of int64, shape (k,)
        Positions of the free variables in the active order.
    cost : float
        Cost so far, in entries read.
    updates : int
        Updates of entries of the gradient.
    changes : ndarray of float64, shape (k,)
        Changes of the multipliers, once they are known.
    before : tuple
        Gradient of the active set, the multipliers, drift and objective before these changes.
    """

    def __init__(self, run: SmoNewtonRun, positions: Any) -> None:
        state = run.pairs.state
        y, C = state.y[positions], state.C[positions]
        self.positions = positions
        self.examples = run.pairs.panel.order[positions]
        self.newton = newton.allocate(
            state.G[positions], state.beta[positions], np.minimum(0.0, y * C), np.maximum(0.0, y * C)
        )
        self.filled = self.moved = self.updates = 0
        self.cost = 0.0
        self.changes: Any = None
        self.before: Any = None
        self.row = np.empty(run.problem.n)

    def advance(self, run: SmoNewtonRun, work: int, most: int) -> bool:
        """Continue for about ``work`` entries read and at most ``most`` steps; return whether it is done."""
        pairs, qp = run.pairs, self.newton
        k = self.positions.size
        if self.filled < k:
            dots = rows_of(run.problem)[0]
            transform = transform_of(run.problem.kernel.name, pairs.store)
            self.filled, touched = fill_kernel(
                pairs.store, dots, transform, qp.K, self.examples, self.filled, work, self.row
            )
            pairs.cache.counts.touched += touched
            self.cost += touched
            if self.filled == k:
                pairs.cache.counts.entries += k * (k + 1) // 2
                self.cost += _VALUE * k * (k + 1) / 2
            return False
        if qp.scalars.factored < k:
            if k > _rank(run.problem):  # else Newton steps would end at one bound each
                newton.reduce(qp, pairs.state.beta[self.positions], work)
                return False
            return not newton.factor(qp, work)
        if self.changes is None:
            scale = abs(second_order.objective(pairs))
            limit = int(_OVERRUN * _multiplications(run.problem, k)) + _FREE_WORK
            if newton.iterate(qp, _TIGHTER * run.eps, scale, work, most, limit) == newton.DONE:
                s, m = pairs.state, int(pairs.state.scalars.n_active)
                self.before = (
                    s.G[:m].copy(),
                    s.beta[self.positions],
                    float(s.scalars.drift),
                    float(s.scalars.objective),
                )
                self.changes = _take(run, self)
                self.cost += _MULTIPLICATION * qp.scalars.work
                return not self.changes.any()  # then the gradient stays as it is
            return False
        return self._move(run, work)

    def undo(self, run: SmoNewtonRun) -> None:
        """Take the changes back: updating the rest of the gradient could far exceed a time limit."""
        state = run.pairs.state
        G, beta, state.scalars.drift, state.scalars.objective = self.before
        state.G[: G.size] = G
        settle(state, self.positions, beta)

    def _move(self, run: SmoNewtonRun, work: int) -> bool:
        """Continue the update of the gradient; return whether it is done."""
        pairs, state = run.pairs, run.pairs.state
        m = int(state.scalars.n_active)
        before = int(pairs.cache.counts.touched)
        self.moved = pairs.subtract_rows(
            state.G, self.positions, self.changes, 0, m, self.moved, work, self.row
        )
        self.cost += int(pairs.cache.counts.touched) - before
        if self.moved >= 0:
            return False
        self.updates = m if run.problem.kernel.name == "linear" else m * self.positions.size
        self.cost += self.updates
        look(state)
        return True


class SmoNewtonRun:
    """A run in progress; the problem has a bias.

    Its options are ``start``, ``cache_mb``, ``shrinking`` and ``threads``, see :class:`SecondOrderRun`.

    Attributes
    ----------
    descent : CoordinateStart, optional
        The descent before the pairs, until it is done.
    sweeps, visits, touched : int
        Its sweeps, visits of an example, and entries read, once it is done.
    pairs : SecondOrderRun
        The run over pairs; there is none during the descent.
    polish : Polish, optional
        The polish in progress.
    shrink_interval : int
        Steps from one shrinking to the next.
    patience : float
        Cost of steps between free multipliers from one polish to the next, as a multiple of that of a polish.
    useful : bool
        Whether the last polish gained more for its cost than the latest steps before it.
    begun : float
        Work of the steps between free multipliers at the end of the last polish.
    divided : int
        Work of the pairs that was divided among threads.
    marks : list of (float, float)
        This work and the gain of these steps then, and at each look since.
    updates, multiplications : int
        Work of the polishes that have ended: updates of entries of the gradient, and multiplications.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        # Linear rows of binary data are so fast that planning costs more than it saves.
        ahead = bytes_hold(problem) != "entries"
        fixed = {
            "plan": int(ahead),
            "offer": 4 if ahead else 0,
            "sets": 1,
            "stretch": 1.0,
            "lengths": False,
            "fixed": True,
            "rounded": True,
            "snapshots": True,
        }
        self.problem, self.eps, self.options = problem, eps, {**fixed, **options}
        self.sweeps = self.visits = self.touched = 0
        self.polish: Polish | None = None
        self.patience = _PATIENCE if ahead else _PATIENCE_OF_BYTES
        self.begun = 0.0
        self.marks = [(0.0, 0.0)]
        self.useful = False
        self.polishes = self.newton_steps = self.divided = self.updates = self.multiplications = 0
        self.descent: CoordinateStart | None = None
        if _coordinate_start.pays(problem):
            self.descent = CoordinateStart(problem, eps, options["start"])
        else:
            self.begin_pairs()

    def begin_pairs(self) -> None:
        """Begin the steps of pairs, from the multipliers of the descent if there was one."""
        if self.descent is not None:
            state, self.sweeps = self.descent.state, self.descent.sweeps
            self.visits, self.touched = int(state.visits), int(state.entries - state.visits)
            if not self.descent.optimal:
                self.options |= {"start": self.descent.multipliers(), "gradient": None}
            self.descent = None
        self.pairs: SecondOrderRun = second_order.start(self.problem, self.eps, self.options)
        self.pairs.tried = True  # checking the whole set near the end costs more than it saves
        scalars = self.pairs.state.scalars
        scalars.rows_ahead = looks_ahead(self.pairs.cache, self.pairs.panel)
        self.shrink_interval = int(scalars.shrink_interval)
        # It does not depend on the slices in which the run is made, so that a run can be repeated.
        scalars.between_free_stop = _FIRST_LOOK


start = SmoNewtonRun


def advance(run: SmoNewtonRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    if run.descent is not None:
        if run.descent.advance(work, step_limit):
            run.begin_pairs()
        return None
    if run.polish is not None:
        if run.polish.advance(run, work, step_limit - steps(run)):
            _rate(run, run.polish)
            run.polish = None
        return None
    pairs_limit = step_limit - run.newton_steps - run.sweeps
    if run.pairs.reconstruction is not None:
        status = second_order.advance(run.pairs, work, pairs_limit)
        # Shrinking stays as frequent: a polish finds the end of a set that was too small soon.
        run.pairs.state.scalars.shrink_interval = run.shrink_interval
        return status
    scalars, shrinks = run.pairs.state.scalars, run.pairs.shrinks
    ticks = int(scalars.ticks)
    shared = run.pairs.helpers is not None and scalars.n_active >= second_order.LEAST
    status = second_order.advance(run.pairs, work, pairs_limit)
    if shared:
        run.divided += int(scalars.ticks) - ticks
    due = scalars.between_free >= scalars.between_free_stop or run.pairs.shrinks > shrinks
    if status is None and run.pairs.reconstruction is None and due:
        if second_order.rounding_matters(run.pairs):
            second_order.widen(run.pairs)
        else:
            _consider(run)
    return status


def objective(run: SmoNewtonRun) -> float:
    """Return the current dual objective W; a polish counts when the gradient has followed it.

    It is nan during the descent, whose multipliers do not satisfy the equality constraint.
    """
    if run.descent is not None:
        return math.nan
    if run.polish is not None and run.polish.before is not None:
        return float(run.polish.before[3])
    return second_order.objective(run.pairs)


def steps(run: SmoNewtonRun) -> int:
    """Return the number of steps so far: of pairs and of Newton, and sweeps of the descent."""
    if run.descent is not None:
        return run.descent.sweeps
    return second_order.steps(run.pairs) + run.newton_steps + run.sweeps


def finish(run: SmoNewtonRun, status: str) -> Solution:
    """Return the current solution.

    ``divided_share`` is that of the pairs' work divided among threads, ``descent_sweeps`` the number of
    sweeps before the pairs.
    """
    if run.descent is not None:
        run.begin_pairs()
        while run.pairs.reconstruction is not None:  # a pass or two: of the bias and the objective
            second_order.advance(run.pairs, 2**62, 0)
    if run.polish is not None and run.polish.changes is not None:
        run.polish.undo(run)  # the multipliers have moved already, and the gradient is in between
    solution = second_order.finish(run.pairs, status)
    info = {**solution.info, "newton_polishes": float(run.polishes), "newton_steps": float(run.newton_steps)}
    if run.sweeps:
        info["descent_sweeps"] = float(run.sweeps)
    if run.divided:
        info["divided_share"] = run.divided / float(run.pairs.state.scalars.ticks)
    work = {
        **solution.work,
        "nonzeros": solution.work["nonzeros"] + run.touched,
        "gradient_updates": solution.work["gradient_updates"] + run.updates,
        "hessian_entries": run.multiplications,
    }
    # An update reads a value of a row and reads and writes the gradient; a multiplication reads an entry, and
    # a visit the value of an entry and its column.
    entry = 4 if run.problem.storage == "index" else 12
    update = 2 * 8 + run.pairs.cache.rows.itemsize
    info["bytes_moved"] += update * run.updates + 8 * run.multiplications + entry * run.touched
    evaluations = solution.kernel_evaluations + run.visits
    return dataclasses.replace(
        solution, iterations=steps(run), kernel_evaluations=evaluations, work=work, info=info
    )


@compiled(types.UniTuple(types.int64, 2)(types.uint8[::1], types.int64, types.int64[::1], MEMBERS))
def count_free(status, m, slot_of, order):
    """Return the number of free multipliers in the active set, and of those whose row is kept."""
    free = kept = 0
    for k in range(m):
        if status[k] == UP | DOWN:
            free += 1
            kept += slot_of[order[k]] >= 0
    return free, kept


_count_free = direct(count_free)


def _consider(run: SmoNewtonRun) -> None:
    """Begin a polish if the pairs have cost enough since the last one, or say when to look again."""
    state, cache = run.pairs.state, run.pairs.cache
    m = int(state.scalars.n_active)
    k, kept = _count_free(state.status, m, cache.slot_of, run.pairs.panel.order)
    entry = 1.0
    if run.problem.kernel.name != "linear":
        entry += _ENTRY * (1.0 - kept / max(k, 1))
    value = _VALUE + _stored_entries(run.problem)
    cost = k * m * entry + value * k * k / 2 + _MULTIPLICATION * _multiplications(run.problem, k)
    now = float(state.scalars.between_free)
    run.marks.append((now, float(state.scalars.between_free_gain)))
    due = run.begun + run.patience * (cost * m / max(k, 1) + _OVERHEAD)
    if now >= due and 2 <= k <= _MOST_FREE:
        second_order.settle_gradient(run.pairs)
        run.polish = Polish(run, np.flatnonzero(state.status[:m] == UP | DOWN))
    else:
        _look_again(run, due - now)


def _rank(problem: Problem) -> float:
    """Return the largest rank that a kernel matrix can have, with a constant feature."""
    kernel = problem.kernel
    if kernel.name == "linear":
        return problem.d + 1.0
    if kernel.name == "polynomial" and kernel.degree <= problem.n:
        return float(min(math.comb(problem.d + kernel.degree, kernel.degree), problem.n)) + 1.0
    return math.inf


def _multiplications(problem: Problem, k: int) -> float:
    """Return about how many multiplications the factor and the steps of k free multipliers take."""
    r = min(float(k), _rank(problem))
    return r**3 / 6 + 20.0 * r**2 + (3.0 * k * r**2 + k**2 if r < k else 0.0)


def _stored_entries(problem: Problem) -> float:
    """Return the stored entries that a dot product reads."""
    if problem.storage in ("bits", "precomputed"):
        return 1.0 + problem.d / 64 if problem.storage == "bits" else 1.0
    return problem.X.nnz / problem.n if sp.issparse(problem.X) else float(problem.d)


def _look_again(run: SmoNewtonRun, work: float) -> None:
    """Set when to look at the free set again: after some work, and not so often that looking costs much."""
    scalars = run.pairs.state.scalars
    least = _AGAIN if run.useful else _SELDOM
    scalars.between_free_stop = int(scalars.between_free) + int(min(max(work, least), 2.0**60))


def _take(run: SmoNewtonRun, polish: Polish) -> Any:
    """Set the multipliers and their status; return their changes."""
    state, qp = run.pairs.state, polish.newton
    before = state.beta[polish.positions]
    members = qp.members[: int(qp.scalars.n_members)]
    if members.size:
        # Rounding must not add up in the sum of the multipliers.
        room = np.minimum(qp.beta - qp.low, qp.high - qp.beta)[members]
        widest = members[room.argmax()]
        rest = float((qp.beta - before).sum())
        if room.max() > abs(rest):
            qp.beta[widest] -= rest
    settle(state, polish.positions, qp.beta)
    changes = state.beta[polish.positions] - before
    scalars = state.scalars
    scalars.drift += float(np.abs(changes).sum())
    scalars.objective += qp.scalars.gain
    scalars.planned, scalars.free, scalars.ratio = False, False, 1.0
    return changes


def _rate(run: SmoNewtonRun, polish: Polish) -> None:
    """Compare the gain of a polish with that of the pairs before it; set when to look again."""
    scalars = run.pairs.state.scalars
    gain, cost = float(polish.newton.scalars.gain), max(polish.cost, 1.0)
    now, gained = float(scalars.between_free), float(scalars.between_free_gain)
    then, gain_then = next((mark for mark in reversed(run.marks) if now - mark[0] >= cost), run.marks[0])
    work, pairs_gain = now - then, gained - gain_then
    run.useful = gain * work > pairs_gain * (cost + _OVERHEAD)
    factor = _SOONER if run.useful else _LATER
    least = _LEAST_PATIENCE * polish.positions.size / float(scalars.n_active)
    run.patience = min(max(run.patience * factor, least), _MOST_PATIENCE)
    run.begun, run.marks = now, [(now, gained)]
    run.polishes += 1
    run.newton_steps += int(polish.newton.scalars.steps)
    run.updates += polish.updates
    run.multiplications += int(polish.newton.scalars.work)
    _look_again(run, run.patience * cost)
