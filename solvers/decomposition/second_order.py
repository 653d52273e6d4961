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
    (section 7.2); 4 after a planned step, always by the Newton gain, which takes one pass less.
``sets``
    How many of the latest working sets are used for planning and as candidates (section 7.4).
``stretch``
    Factor on the Newton step, before it is clipped (section 7.3).

Where the paper is silent:

* A curvature below 1e-12, or below 1e-12 max K_ii if that is less, is replaced by this bound; LIBSVM replaces
  only one that is not positive. A determinant below 1e-12 Q_11 Q_22 gives the Newton step. A working set with
  a shrunk example is neither used for planning nor a candidate.
* Shrinking follows LIBSVM's rule, applied when at least a tenth of the active set can leave, or a seventh if
  rows are in single precision. The gradient of the shrunk examples is computed from the multipliers that have
  changed since the first of them left.
* The gradient is a sum over all steps. If their total rounding error could exceed a hundredth of eps, the
  gradient is recomputed in double precision before the run ends. Rows in single precision therefore cost
  steps, but never change the result. If this does not terminate, the run is ``stalled``. The rounding of
  the recomputed gradient is left to the driver's verification.

Symbols of the paper in :mod:`~svmrepro.solvers.decomposition._second_order_iteration`, whose ``iterate`` is
Algorithm 1, and in :mod:`~svmrepro.solvers.decomposition._planned_step`:

================  =============================================================================
paper             here
================  =============================================================================
Algorithms 2, 4   ``step_ahead``, after the steps that ``plan`` names
Algorithm 3       ``offered`` and ``best_exact``, after the steps that ``offer`` names
Algorithm 5       3 and 4 together
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
g^2-step          ``gain_of_both``
eta               ``_ETA``, 0.9
================  =============================================================================
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from svmrepro.solvers.caches import active_set_rows
from svmrepro.solvers.caches.feature_columns import (
    block_of,
    build_panel,
    bytes_hold,
    cheap_rows,
    copied,
    exchanges,
    rearrange,
)
from svmrepro.solvers.caches.lru import CACHES, build_cache, drop
from svmrepro.solvers.caches.single_rows import (
    SINGLE_ROUNDING,
    in_single_range,
    may_be_single,
    part_of,
    rounds_well,
    row_error,
    single_panel,
)
from svmrepro.solvers.compilation.compiled import compiled_for, direct
from svmrepro.solvers.compilation.loading import loading
from svmrepro.solvers.decomposition import _gradient_rows as gradient_rows
from svmrepro.solvers.decomposition import _second_order_iteration as second_order_iteration
from svmrepro.solvers.decomposition._fixed_gradient import FIXED_STATE, FixedGradient, build_fixed
from svmrepro.solvers.decomposition._gradient_reconstruction import (
    FEWEST,
    MARGIN,
    REFINE,
    ROUNDS,
    Leavers,
    PairReconstruction,
    Refinement,
    gradient_error,
)
from svmrepro.solvers.decomposition._gradient_rows import subtract_rows, subtract_sums
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP, build_screen
from svmrepro.solvers.decomposition._pair_state import ROUNDING, STATE, allocate, in_original_order, look
from svmrepro.solvers.decomposition._second_order_iteration import (
    CONVERGED,
    NEARLY,
    RATIO_BINS,
    RUNNING,
    SHRINK,
    WORTH,
    WORTH_OF_SINGLES,
    iterate,
)
from svmrepro.solvers.decomposition._shrinking import rearrange_state
from svmrepro.solvers.decomposition._statistics import bytes_moved, lengths
from svmrepro.solvers.decomposition.threads.helpers import Helpers, loops_for
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution, Start
from svmrepro.solvers.storage import kernel_transforms
from svmrepro.solvers.storage.kernel_transforms import fill_diagonal, positive_bound
from svmrepro.solvers.storage.row_products import rows_of

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_DEGENERATE = 1e-12
_NEVER = 2**62
LEAST = 4096  # entries from which on a pass is divided among threads
BEGIN, RENEW = -1, -2  # reasons to compute the gradient, besides return values of the iteration
_ROUNDING = {"double": ROUNDING, "single": 6.0e-8, "byte": ROUNDING, "distance": ROUNDING}  # of a kept entry
_FUTILE = 30
_SHARE = 0.4  # of eps that rounding one multiplier's row may change
_MOST_NOISE = 0.15  # of eps by which rounding the rows of all may change the gradient, see rounding_matters
_MOST_NOISE_OF_MANY = 1.0  # the same where many support vectors are free
_MANY_FREE = 0.2  # of the support vectors
_FEWEST = 1000  # examples; with fewer, the end in double precision takes longer than single precision saves


class Loops(NamedTuple):
    """The compiled loops for one type of cache."""

    iterate: Any
    rearrange_rows: Any
    subtract_rows: Any
    subtract_sums: Any
    drop: Any


@cache
def loops_of(precision: str, fixed: bool = False) -> Loops:
    """Return the loops for rows of a given precision, loaded at the first call.

    ``fixed``: whether the gradient is in fixed point, see :func:`may_be_fixed`.
    """
    kind = CACHES[precision]
    loop = compiled_for(iterate, second_order_iteration.signature(kind, FIXED_STATE if fixed else STATE))
    return Loops(
        direct(loop),
        compiled_for(active_set_rows.rearrange_rows, active_set_rows.signature(kind)),
        # Entries are bytes under a linear kernel only, whose gradient is computed from weights.
        None if precision == "byte" else direct(compiled_for(subtract_rows, gradient_rows.signature(kind))),
        direct(compiled_for(subtract_sums, gradient_rows.SUMS)) if precision == "rounded" else None,
        compiled_for(drop, types.void(kind, types.int64[::1])) if precision == "rounded" else None,
    )


class SecondOrderRun:
    """A run in progress, at first at the initial multipliers; the problem has a bias.

    Its options are ``start``: initial multipliers, or None; ``gradient``, optional: the gradient there and
    its drift, see :class:`~svmrepro.solvers.solution.Start`; ``lengths``: whether to count step lengths
    relative to Newton's, as in Figure 3; ``cache_mb``: megabytes (2^20) of kernel rows; ``single``: whether
    rows are cached in single precision; ``shrinking``: whether examples at a bound may leave the active set;
    ``threads``, optional: among how many threads passes over large active sets are divided; ``plan``,
    ``offer``, ``sets``, ``stretch``: see the module. Optional are also ``precision``: of the rows, a name in
    ``CACHES``; ``rounded``, ``fixed``: whether rows may be rounded and the gradient be in fixed point, where
    that is safe; ``snapshots``: whether gradients are kept from which that of shrunk examples is restored.

    Attributes
    ----------
    state, cache, panel
        See their classes. The panel is the problem's own until the first example leaves the active set.
    rounded : bool
        Whether rows are in single precision, and the end is refined.
    largest : float
        A bound on all kernel values, not 0.
    target : float
        Gap at which the iteration ends.
    most_noise : float
        Share of eps up to which rounded rows may change the gradient, see :func:`rounding_matters`.
    mixed, drift_then : bool, float
        Whether some entries of G are not sums of rows from the first step on, and the drift until then.
    sums_are_fixed : bool
        Whether rows of distances may be summed in fixed point when examples return.
    leavers : Leavers
        The examples outside the active set.
    tried : bool
        Whether the whole set was checked when the gap first fell below ten times eps, as in LIBSVM.
    helpers : Helpers, optional
        The other threads.
    helped : float
        Their CPU seconds, once they have ended, less those of loading other loops.
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
        precision = options.get("precision") or precision_of(problem, bool(options.get("single")))
        self.rounded = bool(options.get("rounded")) and precision == "double" and rounds(problem, eps)
        if self.rounded:
            precision, self.panel = "rounded", single_panel(problem)
        self.target = eps * (1.0 - MARGIN) if self.rounded else eps
        self.most_noise = _MOST_NOISE
        fixed = bool(options.get("fixed")) and may_be_fixed(problem, precision)
        self.loops = loops_of(precision, fixed)
        self.limit = float(options["cache_mb"]) * 2**20
        self.cache = build_cache(n, self.limit, precision, cheap=cheap_rows(problem))
        sets = int(options["sets"])
        bins = RATIO_BINS if options["lengths"] else 0
        self.state = allocate(problem.y, problem.bounds, sets, bins, options["start"])
        fill_diagonal(self.state.diagonal, problem.kernel, self.store)
        self.largest = positive_bound(problem.kernel, self.store)
        if self.rounded:  # of the matrix of the rows; with another, a step between two copies could miss
            self.state.diagonal[:] = self.state.diagonal.astype(np.float32)
        scalars = self.state.scalars
        scalars.plan, scalars.offer = options["plan"], options["offer"]
        scalars.n_active = n
        scalars.worth = WORTH_OF_SINGLES if self.rounded else WORTH
        scalars.shrink_interval = min(n, 1000)
        scalars.shrink_at = scalars.shrink_interval if self.shrinking else _NEVER
        scalars.between_free_stop = _NEVER
        scalars.stretch = options["stretch"]
        scalars.tiny = _DEGENERATE * min(1.0, float(np.abs(self.state.diagonal).max()) or 1.0)
        self.rounding = row_error(problem) / self.largest if self.rounded else _ROUNDING[precision]
        scalars.ratio, scalars.least_double_gain = 1.0, math.inf
        if precision == "distance":
            screen = build_screen(n, self.panel.table, float(scalars.tiny))
            self.state = self.state._replace(screen=screen)
        self.iterated = self.state
        if fixed:
            used = self.store.table.size
            table = self.panel.table if precision == "distance" else np.zeros(0)
            wrong = row_error(problem) if self.rounded else 0.0
            gradient_of = build_fixed(table, float(scalars.tiny), used, wrong, n, self.state.screen)
            self.iterated = self.state._replace(screen=gradient_of)
        self.sums_are_fixed = fixed and precision == "distance" and n >= FEWEST
        # From weights, the gradient of all is computed as fast as that of some.
        often = bool(options.get("snapshots")) and n >= FEWEST and problem.kernel.name != "linear"
        self.leavers = Leavers(often)
        threads = int(options.get("threads", 1))
        self.helpers = Helpers(self, threads, precision, LEAST) if threads > 1 and n >= LEAST else None
        self.helped = 0.0
        self.own = False
        self.tried = False
        self.reconstruction: PairReconstruction | Refinement | None = None
        self.futile = 0
        self.shrinks = self.restores = 0
        self.smallest = n
        gradient = options.get("gradient")
        self.mixed, self.drift_then = gradient is not None, 0.0
        if gradient is not None:
            self.state.G[:], scalars.drift = gradient
            self.drift_then = float(scalars.drift)
            scalars.objective = 0.5 * self.state.beta @ (self.state.y + self.state.G)
        if options["start"] is None or gradient is not None:
            look(self.state)
        else:
            self.reconstruction = PairReconstruction(self, 0, BEGIN)

    def iterate(self, work: int, step_limit: int) -> int:
        """Iterate until the caller has to act, with the helpers if the active set is large."""
        loop, state = self.loops.iterate, self.iterated
        if self.helpers and state.scalars.n_active >= LEAST:
            loop, state = self.helpers.called(), self.helpers.state
        return loop(  # type: ignore[no-any-return]
            state, self.cache, self.store, self.panel, self.block, self.shape, self.target, work, step_limit
        )

    def subtract_rows(
        self,
        G: Any,
        positions: Any,
        changes: Any,
        begin: int,
        last: int,
        at: int,
        work: int,
        row: Any,
        fixed: bool = False,
    ) -> int:
        """Perform ``subtract_rows`` of :mod:`~svmrepro.solvers.decomposition._gradient_rows`."""
        if self.problem.kernel.name == "linear":
            _, products, update = rows_of(self.problem)
            weights, counts = np.zeros(self.problem.d + 1), self.cache.counts
            counts.touched += gradient_rows.subtract_folded(
                G, self.store, products, update, self.panel.order, positions, changes, begin, last, weights,
                row,
            )  # fmt: skip
            counts.entries += last - begin + positions.size
            return -1
        if self.helpers and last - begin >= LEAST:
            return self.helpers.subtract_rows(G, positions, changes, begin, last, at, work, fixed)
        return self.loops.subtract_rows(  # type: ignore[no-any-return]
            G, self.cache, self.store, self.panel, self.block, self.shape, positions, changes, begin, last,
            at, work, row, fixed,
        )  # fmt: skip


start = SecondOrderRun


def precision_of(problem: Problem, single: bool = False) -> str:
    """Return the precision in which kernel rows are kept; ``single`` counts if bytes do not hold them."""
    plain = "single" if single and in_single_range(problem) else "double"
    return {"entries": "byte", "distances": "distance", None: plain}[bytes_hold(problem)]


def may_be_fixed(problem: Problem, precision: str) -> bool:
    """Tell whether the gradient can be in fixed point."""
    return precision == "distance" or (precision == "rounded" and problem.kernel.name == "gaussian")


def rounds(problem: Problem, eps: float) -> bool:
    """Tell whether kernel rows can be in single precision."""
    return problem.n >= _FEWEST and may_be_single(problem) and rounds_well(problem, eps, _SHARE)


def load(problem: Problem, precision: str, fixed: bool, options: dict[str, Any]) -> None:
    """Lay the examples out, and load :func:`loops_of` these, before the clock starts."""
    problem.layout("panel", build_panel)
    block_of(problem)
    kernel_transforms.prepare(problem, 0.0, options)
    loops_of(precision, fixed)
    if options.get("threads", 1) > 1 and problem.n >= LEAST:
        loops_for(precision, fixed)


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Lay the examples out, and load the compiled loops, before the clock starts."""
    load(problem, precision_of(problem, bool(options.get("single"))), False, options)


def advance(run: SecondOrderRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    state, n = run.state, run.problem.n
    scalars = state.scalars
    if run.reconstruction is not None:
        return _restored(run, run.reconstruction) if run.reconstruction.advance(run, work) else None
    verdict = run.iterate(work, step_limit)
    if verdict == RUNNING:
        return None
    settle_gradient(run)
    if verdict == SHRINK:
        _shrink(run)
    elif verdict == NEARLY:
        scalars.near_end = False
        run.reconstruction = PairReconstruction(run, int(scalars.n_active), NEARLY)
    elif verdict == CONVERGED:
        if scalars.n_active < n:
            run.reconstruction = PairReconstruction(run, int(scalars.n_active), CONVERGED)
        elif run.rounded:
            run.reconstruction = Refinement(run)
        elif scalars.drift * run.largest * run.rounding > 0.01 * run.eps:
            run.reconstruction = PairReconstruction(run, 0, RENEW)
        else:
            return OPTIMAL
    return None


def _restored(run: SecondOrderRun, done: PairReconstruction | Refinement) -> str | None:
    """Continue with the complete gradient; return a status if the run has stalled."""
    state = run.state
    scalars = state.scalars
    run.reconstruction, scalars.n_active = None, run.problem.n
    if done.why in (NEARLY, CONVERGED):
        run.restores += 1
    elif done.why != REFINE:
        scalars.drift = scalars.error = scalars.noise = scalars.noise_squares = 0.0
    look(state)
    if done.why not in (NEARLY, CONVERGED):
        scalars.objective = 0.5 * state.beta @ (state.y + state.G)  # rows may have been rounded until now
    if done.why == REFINE:
        run.futile += 1
        if scalars.g_max - scalars.g_min <= run.eps:
            return OPTIMAL
        if run.futile == ROUNDS:
            widen(run)
        return None
    if done.why == NEARLY:
        scalars.shrink_at = scalars.steps
        return None
    if done.why == BEGIN:
        return None
    if done.why == CONVERGED:
        scalars.shrink_at = scalars.steps + 1  # as in LIBSVM: at once if the run continues
        scalars.shrink_interval = min(2 * int(scalars.shrink_interval), _NEVER)  # the set was too small
    else:
        run.futile += 1
    return STALLED if scalars.g_max - scalars.g_min > run.eps and run.futile > _FUTILE else None


def rounding_matters(run: SecondOrderRun) -> bool:
    """Tell whether rows in single precision make the gradient wrong by a large share of eps.

    With many multipliers at a large bound they do, if the errors of the rows add up like steps of a random
    walk. Where few support vectors are free, the matrix is nearly of low rank: the pairs then follow these
    errors, for up to a hundred times as many steps as in double precision. Where many are free when the
    errors begin to matter, they change the steps little.
    """
    if not run.rounded:
        return False
    state = run.state
    noise = SINGLE_ROUNDING * run.largest * math.sqrt(float(state.beta @ state.beta)) / run.eps
    if noise > _MOST_NOISE and run.most_noise == _MOST_NOISE:  # for the first time
        free = np.count_nonzero(state.status == UP | DOWN)
        if free > _MANY_FREE * np.count_nonzero(state.beta):
            run.most_noise = _MOST_NOISE_OF_MANY
    return noise > run.most_noise


def widen(run: SecondOrderRun) -> None:
    """Continue with rows in double precision, once the gradient has been computed from them."""
    settle_gradient(run)
    # If the run is stopped before that, this says how wrong the gradient still is.
    run.state.scalars.drift = gradient_error(run) / (ROUNDING * run.largest)
    problem, n, before = run.problem, run.problem.n, run.cache.counts
    diagonal = np.empty(n)
    fill_diagonal(diagonal, problem.kernel, run.store)
    run.state.diagonal[:] = diagonal[run.panel.order]
    base = problem.layout("panel", build_panel)
    run.panel, run.own = part_of(run.panel, base, np.arange(n)), True
    with loading():
        run.loops = loops_of("double")
    run.iterated = run.state
    _go_on_alone(run)  # this is rare, and loading the other loops for several threads takes seconds
    del run.cache  # the next one takes its memory
    run.cache = build_cache(n, run.limit, "double", cheap=cheap_rows(problem))
    counts = run.cache.counts
    counts.hits, counts.misses = before.hits, before.misses
    counts.entries, counts.touched = before.entries, before.touched
    run.rounded, run.target, run.rounding, run.futile = False, run.eps, ROUNDING, 0
    run.reconstruction = PairReconstruction(run, 0, RENEW)


def _go_on_alone(run: SecondOrderRun) -> None:
    """Continue without helpers."""
    if run.helpers:
        run.helpers.dismiss()
        run.helped += run.helpers.cpu_seconds
        run.helpers = None


def settle_gradient(run: SecondOrderRun) -> None:
    """Convert the gradient of the active examples to double precision."""
    fixed = run.iterated.screen
    if isinstance(fixed, FixedGradient) and fixed.scalars.valid:
        m = int(run.state.scalars.n_active)
        np.multiply(fixed.G[:m], float(fixed.scalars.unit), out=run.state.G[:m])
        fixed.scalars.valid = False


def objective(run: SecondOrderRun) -> float:
    """Return the current dual objective W; nan while that of given multipliers is being computed."""
    if run.reconstruction is not None and run.reconstruction.why == BEGIN:
        return math.nan
    return float(run.state.scalars.objective)


def steps(run: SecondOrderRun) -> int:
    """Return the number of iterations so far."""
    return int(run.state.scalars.steps)


_in_original_order = direct(in_original_order)


def finish(run: SecondOrderRun, status: str) -> Solution:
    """Return the current solution; its bias is the mean of G over the free multipliers, if there are any."""
    settle_gradient(run)
    state, problem, cache = run.state, run.problem, run.cache
    scalars = state.scalars
    # After a limit G may be valid for the active examples only, or for none at a given start.
    valid = 0 if run.reconstruction is not None and run.reconstruction.why == BEGIN else int(scalars.n_active)
    alpha, beta, gradient = np.empty((3, problem.n))
    free, bias = _in_original_order(state, run.panel.order, valid, alpha, beta, gradient)
    if not free:
        bias = 0.5 * float(scalars.g_max + scalars.g_min)
    whole_gradient = valid == problem.n
    weights = np.asarray(problem.X.T @ beta).ravel() if problem.kernel.name == "linear" else None
    entries = int(cache.counts.entries)
    # Another run may keep its rows in double precision; and the last gradient computed was itself rounded.
    if run.rounded:
        error = gradient_error(run)
    else:  # the second one is that of fixed point
        error = float(scalars.drift) * run.rounding * run.largest + float(scalars.error)
    drift = error / (ROUNDING * run.largest) + float(alpha.sum())
    _go_on_alone(run)
    return Solution(
        alpha=alpha,
        end=Start(alpha, gradient, drift) if whole_gradient else None,
        weights=weights,
        bias=bias,
        status=status,
        iterations=int(scalars.steps),
        kernel_evaluations=entries,
        cpu_seconds=run.helped,
        work={"nonzeros": int(cache.counts.touched), "gradient_updates": int(scalars.updates)},
        info={
            "cache_hits": float(cache.counts.hits),
            "cache_misses": float(cache.counts.misses),
            "planned_steps": float(scalars.planned_steps),
            "offered_taken": float(scalars.offered_taken),
            "shrinks": float(run.shrinks),
            "active_min": float(run.smallest),
            "gradient_restores": float(run.restores),
            "objective": float(0.5 * state.beta @ (state.y + state.G) if whole_gradient else objective(run)),
            "bytes_moved": float(bytes_moved(run)),
            **lengths(state),
        },
    )


def _shrink(run: SecondOrderRun) -> None:
    """Remove the marked examples from the active set."""
    state, n = run.state, run.problem.n
    scalars = state.scalars
    m, count = int(scalars.n_active), int(scalars.leavers)
    run.leavers.before(state, run.panel.order)
    if m == n:
        scalars.near_end = not run.tried
        run.tried = True
    if not run.own:
        run.own = True
        if run.helpers:
            run.helpers.dismiss()  # they have the other panel
        run.panel = copied(run.panel)
    pairs = exchanges(state.goes, m)
    if run.rounded:  # they are requested again much later, if at all; computing them then takes less time
        run.loops.drop(run.cache, run.panel.order[:m][state.goes[:m] != 0].astype(np.int64))
    rearrange(run.panel, pairs)
    if run.helpers and m >= LEAST:
        run.helpers.rearrange_rows(pairs)
    else:
        run.loops.rearrange_rows(run.cache, pairs)
    rearrange_state(state, run.panel.order, pairs)
    scalars.n_active = m - count
    run.leavers.after(state, run.panel.order)
    run.shrinks += 1
    run.smallest = min(run.smallest, m - count)
    look(run.state)
