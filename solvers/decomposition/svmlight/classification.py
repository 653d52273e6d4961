r"""Decomposition with small working sets, as in SVM-light (Joachims 1999).

In signed multipliers, ``beta_i = y_i alpha_i`` and ``G = y - K beta``, each iteration picks q variables,
solves the dual over these alone by :mod:`svmrepro.solvers.quadratic_programs.working_set_qp`, and updates G
from their q kernel rows.

*Working set.* The steepest feasible direction with q nonzero entries: the q / 2 largest G of examples that
may rise and the q / 2 smallest of examples that may fall. Without a bias there is no equality constraint, and
the set takes the q largest values of G (may rise) and -G (may fall) together. With q = 2 this is first-order
SMO, the maximal violating pair. As in SVM-light, half of the set (q / 4 each way) is taken first from
examples with a cached kernel row; the most violating pair is always included.

*Shrinking.* At every tenth iteration, the examples are noted that sit at a bound and satisfy their condition
by more than the running mean of the largest violation. An example that does so for ``patience`` iterations
can leave the active set; this happens once a quarter of the set can leave. When the remaining problem is
solved, G of the others is computed from the multipliers that changed, all examples return, and the run
continues if necessary, with twice the patience.

*Cache.* Least-recently-used kernel rows over the active set (:mod:`svmrepro.solvers.caches.active_set_rows`),
which are short while it is small and extended when it grows. With ``cache_mb = 0`` no row outlives its
iteration.

*Folding* (``fold``, linear kernel): G is computed from the weight vector, one product per example, instead of
from q rows.

The run stops when a threshold exists at which no example violates its condition by more than eps: with a bias
``max G over I_up - min G over I_down <= 2 eps``, and the threshold is their midpoint.

Where the paper and SVM-light's documentation are silent:

* Equal values of G are taken in the order of the active set.
* If the small program gains nothing because of rounding, the most violating pair takes its clipped Newton
  step (``info["pairs"]``). If that changes nothing either, G is recomputed; if that does not help, the run is
  ``stalled``.
* With large C, few features and overlapping classes, first-order steps zigzag for millions of iterations.
  After 50 n of them, and again every 10 n, the working set doubles, to 64 at most (``widen``;
  ``info["q_final"]``). No problem of the papers takes that many.
* If the rounding of all steps together could exceed a hundredth of eps, G is recomputed before the run ends.

Symbols of the paper in :mod:`~svmrepro.solvers.decomposition.svmlight._iteration`:

================  ===================================
paper             here
================  ===================================
alpha_i           ``y_i beta_i``
gradient          ``-y_i G_i``
working set B, q  ``chosen``, ``scalars.q``
Hessian over B    ``qp.K``, without labels
d                 ``qp.d``, the change of beta over B
================  ===================================
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from svmrepro.solvers.caches import active_set_rows
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.feature_columns import (
    Panel,
    block_of,
    build_panel,
    cheap_rows,
    copied,
    exchanges,
    rearrange,
)
from svmrepro.solvers.caches.lru import CACHE, build_cache
from svmrepro.solvers.caches.single_rows import in_single_range
from svmrepro.solvers.compilation.compiled import compiled_for
from svmrepro.solvers.decomposition import _gradient_rows as gradient_rows
from svmrepro.solvers.decomposition import _pair_state as pair_state
from svmrepro.solvers.decomposition._gradient_reconstruction import Leavers
from svmrepro.solvers.decomposition._gradient_rows import subtract_rows
from svmrepro.solvers.decomposition._shrinking import rearrange_state
from svmrepro.solvers.decomposition.svmlight import _iteration as parts
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, STALLED, Solution
from svmrepro.solvers.storage.kernel_transforms import fill_diagonal, largest_value
from svmrepro.solvers.storage.row_products import rows_of

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_NEVER = 2**62
_subtract_rows = compiled_for(subtract_rows, gradient_rows.signature(CACHE))
_rearrange_rows = compiled_for(active_set_rows.rearrange_rows, active_set_rows.signature(CACHE))
BEGIN, RESTORE, RENEW = range(3)  # reasons to compute the gradient
_ROUNDING = {"double": 2.3e-16, "single": 6.0e-8}  # relative error of a cached entry
_FUTILE = 30
_WIDEN_AFTER = 50  # iterations per example before the working set grows
_WIDEN_EVERY = 10
_WIDEST = 64


class SvmLightRestoring:
    """The computation of G from a position on, in slices, as in `second_order`."""

    def __init__(self, run: SvmLightRun, begin: int, why: int) -> None:
        self.begin, self.why, self.at = begin, why, 0
        self.row = np.empty(STRETCH)
        self.G, (self.part,) = run.leavers.back(run.state, begin)

    def advance(self, run: SvmLightRun, work: int) -> bool:
        """Continue for about ``work`` entries read; return whether it is done."""
        state, part = run.state, self.part
        if run.folded:
            parts.fold_gradient(
                state, run.work, run.cache, run.store, run.calls[-2], run.panel.order, part.last
            )
            return True
        self.at = _subtract_rows(
            self.G, run.cache, run.store, run.panel, *run.calls[:2], part.positions, part.changes, part.first,
            part.last, self.at, work, self.row, False,
        )  # fmt: skip
        if self.at >= 0:
            return False
        state.G[self.begin :] = self.G[self.begin :]
        return True


class SvmLightRun:
    """A run in progress, at first at the initial multipliers.

    Its options are ``start``: initial multipliers, or None (the key may be missing); ``q``: size of the
    working set, even; ``cache_mb``: megabytes (2^20) of kernel rows, 0 for none; q rows are held in any case;
    ``single``: whether rows are cached in single precision, if it holds their values; ``shrinking``: whether
    examples at a bound may leave the active set, after ``patience`` iterations; ``fold``: whether a linear
    kernel is folded into its weight vector; ``widen``: see the module; ``plain``: whether kernel rows of
    packed bits or index lists are computed by the dot products of :mod:`svmrepro.solvers.platt.smo`, one
    example after the other, instead of many at once from the columns of the features.

    Attributes
    ----------
    state, work, cache, panel
        See their classes. The panel is the problem's own until the first example leaves the active set.
    futile : int
        How often G was recomputed at the end.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        n, q = problem.n, int(options["q"])
        if q < 2 or q % 2:
            raise ValueError(f"solver 'svmlight': option 'q' must be even and at least 2, got {q}")
        self.problem, self.eps = problem, eps
        self.store = problem.prepare()
        self.plain = bool(options.get("plain", False))
        self.panel = _panel_of(problem, self.plain)
        self.folded = bool(options["fold"]) and problem.kernel.name == "linear"
        self.calls = (*block_of(problem, self.plain), *rows_of(problem))
        precision = "single" if options["single"] and in_single_range(problem) else "double"
        megabytes = 0.0 if self.folded else float(options["cache_mb"])
        # With folding no row is ever requested.
        least = 0 if self.folded else q
        self.cache_bytes, self.precision = megabytes * 2**20, precision
        self.cache = build_cache(
            n, self.cache_bytes, precision, cheap=cheap_rows(problem, self.plain), least=least
        )
        self.rounding = _ROUNDING[precision]
        self.state = pair_state.allocate(problem.y, problem.bounds, 1, 0, options.get("start"))
        fill_diagonal(self.state.diagonal, problem.kernel, self.store)
        self.work = parts.allocate(n, problem.d, q, self.folded)
        scalars = self.work.scalars
        scalars.q, scalars.equality, scalars.folded = q, problem.bias, self.folded
        scalars.forgets = not self.folded and megabytes == 0.0
        scalars.prefers_kept = megabytes > 0.0 and q >= 4 and self.cache.owner.size < n
        scalars.patience = options["patience"]
        scalars.widen_at = _WIDEN_AFTER * n if options["widen"] else _NEVER
        self.state.scalars.n_active = n
        self.state.scalars.shrink_at = parts.LOOK if options["shrinking"] else _NEVER
        self.own = False
        self.futile = self.shrinks = self.restores = 0
        self.smallest = n
        self.leavers = Leavers(often=False)
        self.reconstruction: SvmLightRestoring | None = None
        if options.get("start") is None:
            parts.survey_all(self.state, self.work, n)
        else:
            _renew(self, BEGIN)


start = SvmLightRun


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Lay the examples out, and load the functions for their rows, before the clock starts."""
    plain = bool(options.get("plain", False))
    _panel_of(problem, plain)
    block_of(problem, plain)
    rows_of(problem)


def _panel_of(problem: Problem, plain: bool) -> Panel:
    """Return the problem's panel, built once for all runs."""
    panel: Panel = problem.layout("plain panel" if plain else "panel", partial(build_panel, plain=plain))
    return panel


def advance(run: SvmLightRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    state, n = run.state, run.problem.n
    scalars = state.scalars
    if run.reconstruction is not None:
        if run.reconstruction.advance(run, work):
            _restored(run, run.reconstruction)
        return None
    verdict = parts.iterate(
        state, run.work, run.cache, run.store, run.panel, *run.calls, run.eps, work, step_limit
    )
    if verdict == parts.SHRINK:
        _shrink(run)
    elif verdict == parts.ZIGZAGGING:
        _widen(run)
    elif verdict in (parts.CONVERGED, parts.STUCK):
        if scalars.n_active < n:
            run.reconstruction = SvmLightRestoring(run, int(scalars.n_active), RESTORE)
        elif verdict == parts.STUCK or (
            scalars.drift * largest_value(run.problem.kernel, run.store) * run.rounding > 0.01 * run.eps
        ):
            if run.futile > _FUTILE or (verdict == parts.STUCK and scalars.drift == 0.0):
                return STALLED
            _renew(run, RENEW)
        else:
            return OPTIMAL
    return None


def objective(run: SvmLightRun) -> float:
    """Return the current dual objective W; nan while that of given multipliers is being computed."""
    if run.reconstruction is not None and run.reconstruction.why == BEGIN:
        return math.nan
    return float(run.state.scalars.objective)


def steps(run: SvmLightRun) -> int:
    """Return the number of iterations so far."""
    return int(run.state.scalars.steps)


def finish(run: SvmLightRun, status: str) -> Solution:
    """Return the current solution."""
    state, problem, cache, work = run.state, run.problem, run.cache, run.work
    scalars = state.scalars
    beta = np.empty(problem.n)
    beta[run.panel.order] = state.beta
    # After a limit G may not be valid for all examples.
    whole = scalars.n_active == problem.n and run.reconstruction is None
    value = float(0.5 * state.beta @ (state.y + state.G)) if whole else objective(run)
    weights = None
    if problem.kernel.name == "linear":
        weights = np.asarray(problem.X.T @ beta).ravel()  # the folded ones have the rounding of every step
    return Solution(
        alpha=problem.y * beta,
        weights=weights,
        bias=0.5 * float(scalars.g_max + scalars.g_min) if problem.bias else 0.0,
        status=status,
        iterations=int(scalars.steps),
        kernel_evaluations=int(cache.counts.entries),
        work={"nonzeros": int(cache.counts.touched), "gradient_updates": int(scalars.updates)},
        info={
            "cache_hits": float(cache.counts.hits),
            "cache_misses": float(cache.counts.misses),
            "shrinks": float(run.shrinks),
            "active_min": float(run.smallest),
            "gradient_restores": float(run.restores),
            "qp_rounds": float(work.scalars.qp_rounds),
            "pairs": float(work.scalars.pair_steps),
            "q_final": float(work.scalars.q),
            "objective": value,
        },
    )


def _widen(run: SvmLightRun) -> None:
    """Double the working set, up to its limit."""
    scalars, n = run.work.scalars, run.problem.n
    q = min(2 * int(scalars.q), _WIDEST, n)
    scalars.widen_at = steps(run) + _WIDEN_EVERY * n if q < min(_WIDEST, n) else _NEVER
    if q <= scalars.q:
        return
    scalars.q = q
    run.work = run.work._replace(**parts.of_size(q))
    # A step holds q rows at once, but the cache may use fewer slots than it has.
    if min(run.cache.rows.shape[0], int(run.cache.counts.slots)) < q and not run.folded:
        kept = run.cache.counts
        cheap = cheap_rows(run.problem, run.plain)
        del run.cache  # the next one takes its memory
        run.cache = build_cache(n, run.cache_bytes, run.precision, cheap=cheap, least=q)
        for name in ("hits", "misses", "entries", "touched"):
            setattr(run.cache.counts, name, getattr(kept, name))
        scalars.prefers_kept = False


def _shrink(run: SvmLightRun) -> None:
    """Remove the marked examples from the active set."""
    state = run.state
    scalars, m = state.scalars, int(state.scalars.n_active)
    run.leavers.before(state, run.panel.order)
    if not run.own:
        run.own = True
        # Folding moves no examples.
        run.panel = run.panel._replace(order=run.panel.order.copy()) if run.folded else copied(run.panel)
    pairs = exchanges(state.goes, m)
    if not run.folded:
        rearrange(run.panel, pairs)
        _rearrange_rows(run.cache, pairs)
    rearrange_state(state, run.panel.order, pairs)
    calm = run.work.calm
    calm[pairs] = calm[pairs[:, ::-1]]
    m -= int(scalars.leavers)
    scalars.n_active = m
    run.leavers.after(state, run.panel.order)
    run.shrinks += 1
    run.smallest = min(run.smallest, m)
    parts.survey_all(state, run.work, m)


def _restored(run: SvmLightRun, done: SvmLightRestoring) -> None:
    """Continue with the complete gradient."""
    state, n = run.state, run.problem.n
    run.reconstruction = None
    if done.why == RESTORE:
        state.scalars.n_active = n
        run.work.calm[:] = 0
        run.restores += 1
        run.work.scalars.patience *= 2  # the active set was too small
    else:
        state.scalars.drift = 0.0
        run.futile += 1 if done.why == RENEW else 0
    if done.why == BEGIN:
        state.scalars.objective = 0.5 * state.beta @ (state.y + state.G)
    parts.survey_all(state, run.work, n)


def _renew(run: SvmLightRun, why: int) -> None:
    """Recompute G from the multipliers, starting with the next slice."""
    if run.folded:
        run.cache.counts.touched += parts.fold_all(
            run.store, run.calls[-1], run.panel.order, run.state.beta, run.work.weights
        )
    run.reconstruction = SvmLightRestoring(run, 0, why)
