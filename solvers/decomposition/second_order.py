r"""SMO with second-order working sets, and with planning ahead (Glasmachers 2008).

In signed multipliers, ``beta_i = y_i alpha_i`` in ``[L_i, U_i] = [min(0, y_i C), max(0, y_i C)]`` and
``G = y - K beta``, each iteration takes

    i = argmax { G_n : n in I_up }
    j = argmax { (G_i - G_n)^2 / (2 Q_in) : n in I_down, G_n < G_i },  Q_in = K_ii + K_nn - 2 K_in
    mu = clip(l / Q_ij, L~, U~),  l = G_i - G_j,  beta_i += mu,  beta_j -= mu,  G -= mu (K_i - K_j)

until ``max over I_up - min over I_down`` of G is at most eps (Algorithm 1, which is that of LIBSVM 2.84).
*Planning ahead* (Algorithms 2 to 5) replaces mu by the step that is best if the working set of the last
iteration comes next,

    mu = (Q_22 w_1 - Q_12 w_2) / det Q,

and adds earlier working sets to the candidates. The named solvers differ only in data: the options ``plan``,
``offer``, ``sets`` and ``stretch`` of the registry.

``plan``
    0 never; 1 after a free SMO step (Algorithm 4); 2 after any SMO step (Algorithm 2).
``offer``
    When earlier working sets are candidates: 0 never; 1 after a planned step, as the convergence proof
    requires; 2 after an unplanned one, as Algorithms 3 and 5 are printed; 3 always, by the Newton gain
    (section 7.2).
``sets``
    How many of the latest working sets are used for planning and as candidates (section 7.4).
``stretch``
    Factor on the Newton step, before it is clipped (section 7.3).

Where the paper is silent:

* A curvature that is not positive is replaced by 1e-12, as in LIBSVM, or by 1e-12 max K_ii if that is less. A
  determinant below 1e-12 Q_11 Q_22 gives the Newton step. A working set with a shrunk example is neither used
  for planning nor a candidate.
* Shrinking follows LIBSVM's rule, applied when at least a tenth of the active set can leave. The gradient of
  the shrunk examples is computed from the multipliers that have changed since the first of them left.
* The gradient is a sum over all steps. If their total rounding error could exceed a hundredth of eps, the
  gradient is recomputed in double precision before the run ends. Rows in single precision therefore cost
  steps, but never change the result. If this does not terminate, or if the rounding error of the recomputed
  gradient could exceed eps, the run is ``stalled``.

Symbols of the paper in :mod:`~svmrepro.solvers.decomposition._second_order_iteration`:

================  =============================================================================
paper             here
================  =============================================================================
alpha_i           ``beta``, signed as in the paper; ``alpha`` is unsigned in this package
gradient of f     ``G``
i, j              ``i``, ``j``: positions in the active order (3)
l, Q, mu          ``slope``, ``Q``, ``mu`` (2); the Newton step l / Q is ``newton``
L~, U~            ``low``, ``high``
g~                half of ``gain`` (3); of the clipped step in ``best_exact`` (4)
B(1), B(2)        (i, j) and one of the latest working sets, ``first[age]`` and ``second[age]``
w_1, w_2          ``slope``, ``slope2``
Q_11, Q_22, Q_12  ``Q``, ``Q2``, ``cross``
mu(1), mu(2)      ``ahead`` (8), ``after`` (6) in ``step_ahead``
g^2-step          ``double_gain``
eta               ``_ETA``, 0.9
================  =============================================================================
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import typeof
from svmrepro.solvers.caches import active_set_rows
from svmrepro.solvers.caches.active_set_rows import build_cache
from svmrepro.solvers.caches.feature_columns import (
    block_of,
    build_panel,
    bytes_hold,
    cheap_rows,
    copied,
    exchanges,
    form,
    rearrange,
)
from svmrepro.solvers.caches.lru import CACHE, CACHES
from svmrepro.solvers.compilation.compiled import version
from svmrepro.solvers.decomposition import _gradient_rows as gradient_rows
from svmrepro.solvers.decomposition import _second_order_iteration as second_order_iteration
from svmrepro.solvers.decomposition._fixed_gradient import UNIT, FixedGradient, build_fixed
from svmrepro.solvers.decomposition._gradient_rows import restore_folded, subtract_rows
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP, build_screen
from svmrepro.solvers.decomposition._pair_state import ROUNDING, STATE, PairState, allocate, known, look
from svmrepro.solvers.decomposition._second_order_iteration import (
    CONVERGED,
    NEARLY,
    RATIO_BINS,
    RUNNING,
    SHRINK,
    iterate,
)
from svmrepro.solvers.decomposition._shrinking import rearrange_state
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution, Start
from svmrepro.solvers.storage.kernel_transforms import fill_diagonal
from svmrepro.solvers.storage.row_products import rows_of

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_DEGENERATE = 1e-12
_NEVER = 2**62
BEGIN, RENEW = -1, -2  # reasons to compute the gradient, besides return values of the iteration
_ROUNDING = {"double": ROUNDING, "single": 6.0e-8, "byte": ROUNDING, "distance": ROUNDING}  # of a kept entry
_FUTILE = 30
_ENTRY_BYTES = {
    "bytes": 1 / 8,
    "columns": 8,
    "levels": 1,
    "bits": 8,
    "index": 4,
    "csr": 12,
    "precomputed": 8,
}  # of a stored entry


FIXED_STATE = typeof(
    allocate(np.ones(1), np.ones(1), 1, 1)._replace(screen=build_fixed(1, np.ones(256), 1.0, 1))
)


class Loops(NamedTuple):
    """The compiled loops for one type of cache."""

    iterate: Any
    rearrange_rows: Any
    subtract_rows: Any


def loops_of(precision: str, fixed: bool = False) -> Loops:
    """Return the loops for rows of a given precision, loaded at the first call.

    ``fixed``: whether the gradient is in fixed point, which needs distances.
    """
    kind, rearrange_rows = CACHES[precision], active_set_rows.rearrange_rows
    if kind == CACHE:
        return Loops(iterate, rearrange_rows, subtract_rows)
    return Loops(
        version(iterate, second_order_iteration.signature(kind, FIXED_STATE if fixed else STATE)),
        version(rearrange_rows, active_set_rows.signature(kind)),
        # Entries are bytes under a linear kernel only, whose gradient is computed from weights.
        None if precision == "byte" else version(subtract_rows, gradient_rows.signature(kind)),
    )


class PairRestoring:
    """The computation of G from a position on, in slices.

    Attributes
    ----------
    G
        Output: the end of the gradient itself, or an array that replaces the gradient once it is complete.
    at
        How far it is; -1 when it is done.
    positions, changes
        The multipliers that have changed since G was last known everywhere, and by how much.
    why
        The reason: BEGIN, NEARLY, CONVERGED or RENEW.
    """

    def __init__(self, run: SecondOrderRun, begin: int, why: int) -> None:
        state = run.state
        if begin == 0:
            state.beta_then[:] = 0.0
            state.G_then[:] = state.y
        self.begin, self.why, self.at = begin, why, 0
        self.G = state.G if begin else np.empty(run.problem.n)
        self.G[begin:] = state.G_then[begin:]
        self.row = np.empty(run.problem.n)
        self.positions = np.flatnonzero(state.beta != state.beta_then)
        self.changes = (state.beta - state.beta_then)[self.positions]

    def advance(self, run: SecondOrderRun, work: int) -> bool:
        """Continue for about ``work`` entries read; return whether it is done."""
        problem, state, cache, order = run.problem, run.state, run.cache, run.panel.order
        if problem.kernel.name == "linear":
            _, products, update = rows_of(problem)
            weights = np.empty(problem.d + 1)
            changed = int(np.count_nonzero(state.beta != state.beta_then))
            touched = restore_folded(
                state, self.G, run.store, products, update, order, self.begin, weights, self.row
            )
            cache.counts.touched += touched
            cache.counts.entries += problem.n - self.begin + changed
            self.at = -1
        else:
            self.at = run.loops.subtract_rows(
                self.G, cache, run.store, run.panel, run.block, run.shape, self.positions, self.changes,
                self.begin, problem.n, self.at, work, self.row,
            )  # fmt: skip
        if self.at >= 0:
            return False
        state.G[self.begin :] = self.G[self.begin :]
        return True


class SecondOrderRun:
    """A run in progress.

    Attributes
    ----------
    state, cache, panel
        See their classes. The panel is the problem's own until the first example leaves the active set.
    tried : bool
        Whether the whole set was checked when the gap first fell below ten times eps, as in LIBSVM.
    futile : int
        How often the recomputed gradient contradicted convergence.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        n = problem.n
        self.problem, self.eps = problem, eps
        self.store = problem.prepare()
        self.panel = problem.layout("panel", build_panel)
        self.block, self.shape = block_of(problem)
        self.shrinking = bool(options["shrinking"])
        precision = precision_of(problem, bool(options["single"]))
        fixed = precision == "distance" and bool(options.get("fixed"))
        self.loops = loops_of(precision, fixed)
        limit = float(options["cache_mb"]) * 2**20
        self.cache = build_cache(n, limit, precision, cheap=cheap_rows(problem))
        self.rounding = _ROUNDING[precision]
        sets = int(options["sets"])
        bins = RATIO_BINS if options["lengths"] else 0
        self.state = allocate(problem.y, problem.bounds, sets, bins, options["start"])
        fill_diagonal(self.state.diagonal, problem.kernel, self.store)
        scalars = self.state.scalars
        scalars.plan, scalars.offer, scalars.sets = options["plan"], options["offer"], sets
        scalars.n_active = n
        scalars.shrink_interval = min(n, 1000)
        scalars.shrink_at = scalars.shrink_interval if self.shrinking else _NEVER
        scalars.stretch = options["stretch"]
        scalars.tiny = _DEGENERATE * min(1.0, float(np.abs(self.state.diagonal).max()) or 1.0)
        scalars.ratio = 1.0
        if precision == "distance":
            screen = build_screen(n, self.panel.table, float(scalars.tiny))
            self.state = self.state._replace(screen=screen)
        self.iterated = self.state
        if fixed:
            used = self.store.table.size
            gradient_of = build_fixed(n, self.panel.table, float(scalars.tiny), used)
            self.iterated = self.state._replace(screen=gradient_of)
        self.own = False
        self.tried = False
        self.restoring: PairRestoring | None = None
        self.futile = 0
        self.shrinks = self.restores = 0
        self.smallest = n
        gradient = options.get("gradient")
        if gradient is not None:
            self.state.G[:], scalars.drift = gradient
            scalars.objective = 0.5 * self.state.beta @ (self.state.y + self.state.G)
        if options["start"] is None or gradient is not None:
            look(self.state)
        else:
            self.restoring = PairRestoring(self, 0, BEGIN)


def precision_of(problem: Problem, single: bool = False) -> str:
    """Return the precision in which kernel rows are kept; ``single`` counts if they do not fit into bytes."""
    plain = "single" if single else "double"
    return {"entries": "byte", "distances": "distance", None: plain}[bytes_hold(problem)]


def prepare(problem: Problem) -> None:
    """Lay the examples out, and load the compiled loops, before the clock starts."""
    lay_out(problem, fixed=False)


def lay_out(problem: Problem, fixed: bool) -> None:
    """Do what :func:`prepare` does; ``fixed``: for a gradient in fixed point where rows are distances."""
    problem.layout("panel", build_panel)
    precision = precision_of(problem)
    loops_of(precision, fixed and precision == "distance")


def start(problem: Problem, eps: float, options: dict[str, Any]) -> SecondOrderRun:
    """Return a run at the initial multipliers.

    Parameters
    ----------
    problem : Problem
        With a bias.
    eps : float
        Tolerance on the maximal violation of a pair.
    options : dict
        ``start``: initial multipliers, or None. ``gradient``, optional: the gradient there and its drift, see
        :class:`~svmrepro.solvers.solution.Start`. ``lengths``: whether to count step lengths relative to
        Newton's, as in Figure 3. ``cache_mb``: megabytes (2^20) of kernel rows. ``single``: whether rows are
        cached in single precision. ``shrinking``: whether examples at a bound may leave the active set.
        ``plan``, ``offer``, ``sets``, ``stretch``: see the module.
    """
    return SecondOrderRun(problem, eps, options)


def advance(run: SecondOrderRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    state, n = run.state, run.problem.n
    scalars = state.scalars
    if run.restoring is not None:
        return _restored(run, run.restoring) if run.restoring.advance(run, work) else None
    verdict = run.loops.iterate(
        run.iterated, run.cache, run.store, run.panel, run.block, run.shape, run.eps, work, step_limit
    )
    if verdict == RUNNING:
        return None
    settle_gradient(run)
    if verdict == SHRINK:
        _shrink(run)
    elif verdict == NEARLY:
        scalars.near_end = False
        run.restoring = PairRestoring(run, int(scalars.n_active), NEARLY)
    elif verdict == CONVERGED:
        if scalars.n_active < n:
            run.restoring = PairRestoring(run, int(scalars.n_active), CONVERGED)
        elif scalars.drift * float(np.abs(state.diagonal).max()) * run.rounding > 0.01 * run.eps:
            run.restoring = PairRestoring(run, 0, RENEW)
        else:
            return OPTIMAL if known(state, run.eps) else STALLED
    return None


def _restored(run: SecondOrderRun, done: PairRestoring) -> str | None:
    """Continue with the complete gradient; return a status if the run has stalled."""
    state = run.state
    scalars = state.scalars
    run.restoring = None
    if done.why in (NEARLY, CONVERGED):
        scalars.n_active = run.problem.n
        run.restores += 1
    else:
        scalars.drift = scalars.error = 0.0
    look(state)
    if done.why == NEARLY:
        scalars.shrink_at = scalars.steps
        return None
    if done.why == BEGIN:
        scalars.objective = 0.5 * state.beta @ (state.y + state.G)
        return None
    if done.why == CONVERGED:
        scalars.shrink_at = scalars.steps + 1  # as in LIBSVM: at once if the run continues
        scalars.shrink_interval = min(2 * int(scalars.shrink_interval), _NEVER)  # the set was too small
    else:
        run.futile += 1
    return STALLED if scalars.g_max - scalars.g_min > run.eps and run.futile > _FUTILE else None


def settle_gradient(run: SecondOrderRun) -> None:
    """Have the gradient of the active examples in double precision only."""
    fixed = run.iterated.screen
    if isinstance(fixed, FixedGradient) and fixed.scalars.valid:
        m = int(run.state.scalars.n_active)
        np.multiply(fixed.G[:m], UNIT, out=run.state.G[:m])
        fixed.scalars.valid = False


def objective(run: SecondOrderRun) -> float:
    """Return the current dual objective W; nan while that of given multipliers is being computed."""
    if run.restoring is not None and run.restoring.why == BEGIN:
        return math.nan
    return float(run.state.scalars.objective)


def steps(run: SecondOrderRun) -> int:
    """Return the number of iterations so far."""
    return int(run.state.scalars.steps)


def finish(run: SecondOrderRun, status: str) -> Solution:
    """Return the current solution."""
    settle_gradient(run)
    state, problem, cache = run.state, run.problem, run.cache
    scalars = state.scalars
    beta, gradient = np.empty((2, problem.n))
    beta[run.panel.order], gradient[run.panel.order] = state.beta, state.G
    # After a limit G may be valid for the active examples only, or for none at a given start.
    valid = 0 if run.restoring is not None and run.restoring.why == BEGIN else int(scalars.n_active)
    free = state.status[:valid] == UP | DOWN
    middle = 0.5 * float(scalars.g_max + scalars.g_min)
    bias = float(state.G[:valid][free].mean()) if free.any() else middle
    whole_gradient = valid == problem.n
    weights = np.asarray(problem.X.T @ beta).ravel() if problem.kernel.name == "linear" else None
    entries = int(cache.counts.entries)
    alpha = problem.y * beta
    # Another run may keep its rows in double precision; and the last gradient computed was itself rounded.
    error = float(scalars.error) / (float(np.abs(state.diagonal).max()) or 1.0)  # that of fixed point
    drift = (float(scalars.drift) * run.rounding + error) / ROUNDING + float(alpha.sum())
    return Solution(
        alpha=alpha,
        end=Start(alpha, gradient, drift) if whole_gradient else None,
        weights=weights,
        bias=bias,
        status=status,
        iterations=int(scalars.steps),
        kernel_evaluations=entries,
        work={
            "nonzeros": int(cache.counts.touched),
            "gradient_updates": int(scalars.updates),
        },
        info={
            "cache_hits": float(cache.counts.hits),
            "cache_misses": float(cache.counts.misses),
            "planned_steps": float(scalars.planned_steps),
            "offered_taken": float(scalars.offered_taken),
            "shrinks": float(run.shrinks),
            "active_min": float(run.smallest),
            "gradient_restores": float(run.restores),
            "objective": float(0.5 * state.beta @ (state.y + state.G) if whole_gradient else objective(run)),
            "bytes_moved": float(_bytes_moved(run)),
            **_lengths(state),
        },
    )


def _bytes_moved(run: SecondOrderRun) -> int:
    """Return the bytes that the run reads and writes, without processor caches.

    Selecting the partner reads G, K_ii, a row and a status for each active example; of distances, the screen
    and the row. The gradient update reads G, two rows and the status, and writes G, and the screen. Computing
    a row reads stored entries of examples and writes the row.
    """
    counts = run.cache.counts
    entry = _ENTRY_BYTES[form(run.problem)]
    row = new_entry = run.cache.rows.itemsize
    steps = (2 * 8 + row + 1) + (2 * 8 + 2 * row + 1)
    if run.state is not run.iterated:
        new_entry = 1
        steps = (4 + 1 + 1) + (2 * 4 + 2 * 1 + 1)
    elif run.state.screen.low.size:
        new_entry = 1
        steps = (4 + 1) + (2 * 8 + 2 * 1 + 1 + 4)
    elif run.cache.packed.shape[0]:  # widened for each step
        new_entry = run.cache.packed.itemsize
        steps += 2 * (new_entry + row)
    return int(steps * run.state.scalars.updates + entry * counts.touched + new_entry * counts.entries)


def _shrink(run: SecondOrderRun) -> None:
    """Remove the marked examples from the active set."""
    state, n = run.state, run.problem.n
    scalars = state.scalars
    m, count = int(scalars.n_active), int(scalars.leavers)
    if m == n:
        state.beta_then[:] = state.beta
        state.G_then[:] = state.G
        scalars.near_end = not run.tried
        run.tried = True
    if not run.own:
        run.own = True
        run.panel = copied(run.panel)
    pairs = exchanges(state.goes, m)
    rearrange(run.panel, pairs)
    run.loops.rearrange_rows(run.cache, pairs)
    rearrange_state(state, run.panel.order, pairs)
    scalars.n_active = m - count
    run.shrinks += 1
    run.smallest = min(run.smallest, m - count)
    look(run.state)


def _lengths(state: PairState) -> dict[str, list[int]]:
    """Return the histograms of step lengths: of unplanned and of planned steps."""
    if not state.lengths.size:
        return {}
    plain, planned = state.lengths.tolist()
    return {"plain_lengths": plain, "planned_lengths": planned}
