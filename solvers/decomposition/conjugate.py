r"""Conjugate SMO (Torres-Barran, Alaiz and Dorronsoro 2021, arXiv 2003.08719).

The working set (i, j) of each iteration is that of :mod:`~svmrepro.solvers.decomposition.second_order`, and
the step goes along a direction that is conjugate to the last one,

    p = d + gamma p',   gamma = -(d'K p') / (p''K p'),   d = e_i - e_j,

in place of d itself. Since the last step was exact, ``G'p = G'd``, and the curvature is
``Q_ij - (d'K p')^2 / (p''K p')``, never more than SMO's. An iteration takes one more vector, ``K p``, and no
more kernel rows.

Where the abstract and the available report are silent: all multipliers that p changes limit the step. A step
that meets such a limit, a change of the active set, or a curvature below 1e-10 Q_ij begins a new sequence
with p = d. If p cannot move at all, d is taken.

Symbols:

===========  =================================
paper        here
===========  =================================
d, p, p'     (i, j); ``p``; ``p`` before
Q p          ``product``, without labels
gamma        ``mix``
p'Qp         ``curvature``
rho          ``mu``
===========  =================================
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from svmrepro.solvers.caches.active_set_rows import entry, fetch, kept, row_of
from svmrepro.solvers.caches.feature_columns import PANEL
from svmrepro.solvers.caches.lru import CACHES
from svmrepro.solvers.compilation.compiled import compiled, compiled_for, direct
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.decomposition import second_order
from svmrepro.solvers.decomposition._pair_selection import best_partner, move_gradient
from svmrepro.solvers.decomposition._pair_state import CALLS, STATE, place
from svmrepro.solvers.decomposition._second_order_iteration import (
    CONVERGED,
    ENTRIES,
    ITERATION,
    NEARLY,
    RUNNING,
    SHRINK,
    WORTH,
)
from svmrepro.solvers.decomposition._shrinking import mark_leavers
from svmrepro.solvers.decomposition.second_order import SecondOrderRun
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import Solution
from svmrepro.solvers.storage.row_products import STORE

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_DEGENERATE = 1e-10
_NEGLIGIBLE = 1e-20  # entry of p, whose newest are 1

objective, steps = second_order.objective, second_order.steps


class ConjugateScalars:
    """See :class:`Conjugate`."""

    count: int  # multipliers that p changes; 0 before a new sequence
    curvature: float  # p'K p
    conjugate_steps: int  # steps along a direction other than d


class Conjugate(NamedTuple):
    """The last direction.

    Attributes
    ----------
    p, product : ndarray of float64, shape (n,)
        p and K p, by position; p is zero except at ``support``.
    support : ndarray of int64, shape (n,)
        The positions that p changes, of which ``count`` are valid.
    """

    p: Any
    product: Any
    support: Any
    scalars: ConjugateScalars


def allocate(n: int) -> Conjugate:
    """Return the state before the first step."""
    return Conjugate(np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64), zeroed(ConjugateScalars))


CONJUGATE = typeof(allocate(1))


@compiled(types.void(CONJUGATE))
def forget(last):
    """Begin a new sequence of directions."""
    for k in range(last.scalars.count):
        last.p[last.support[k]] = 0.0
    last.scalars.count = 0


@compiled(forceinline=True)
def _extend(last, mix, i, j):
    """Replace p by ``mix p + e_i - e_j``."""
    p, support, scalars = last.p, last.support, last.scalars
    count = 0
    for k in range(scalars.count):
        at = support[k]
        p[at] *= mix
        # Entries decay; without an end they would become subnormal numbers, which are slow.
        if abs(p[at]) > _NEGLIGIBLE:
            support[count] = at
            count += 1
        else:
            p[at] = 0.0
    scalars.count = count
    for sign, at in ((1.0, i), (-1.0, j)):
        if p[at] == 0.0:
            known = False
            for k in range(scalars.count):
                known = known or support[k] == at
            if not known:
                support[scalars.count] = at
                scalars.count += 1
        p[at] += sign


@compiled(forceinline=True)
def _limit(last, beta, y, C, mu):
    """Return the longest step along p, at most ``mu``, that keeps all multipliers in their boxes."""
    for k in range(last.scalars.count):
        at = last.support[k]
        low, high = (0.0, C[at]) if y[at] > 0.0 else (-C[at], 0.0)
        change = last.p[at]
        if change > 0.0:
            mu = min(mu, (high - beta[at]) / change)
        elif change < 0.0:
            mu = min(mu, (low - beta[at]) / change)
    return mu


def signature(cache: Any) -> Any:
    """Return the signature of :func:`iterate` for a type of cache."""
    return types.int64(CONJUGATE, STATE, cache, STORE, PANEL, *CALLS, types.float64, types.int64, types.int64)


@compiled()
def iterate(last, state, cache, store, panel, block, shape, eps, slice_work, step_limit):
    """Iterate until the caller has to act; return as ``_second_order_iteration.iterate``."""
    y, C, beta, G = state.y, state.C, state.beta, state.G
    diagonal, status = state.diagonal, state.status
    scalars, order = state.scalars, panel.order
    tiny, m = scalars.tiny, scalars.n_active
    stop_at = scalars.ticks + slice_work
    while True:
        gap = scalars.g_max - scalars.g_min
        if gap <= eps:
            return CONVERGED
        if scalars.near_end and gap <= 10.0 * eps:
            return NEARLY
        if scalars.steps >= step_limit or scalars.ticks >= stop_at:
            return RUNNING
        if scalars.steps >= scalars.shrink_at:
            scalars.shrink_at = scalars.steps + scalars.shrink_interval
            if mark_leavers(state) * WORTH >= m:
                return SHRINK
        computed = cache.counts.touched
        # Select the working set.
        i = scalars.top
        slot = kept(cache, order[i], m)
        if slot < 0:
            slot = fetch(cache, store, panel, block, shape, np.int64(order[i]), m, 0)
        row1 = row_of(cache, panel, slot)
        j, _ = best_partner(G, diagonal, row1, status, m, i, tiny, cache.rows, state.screen, scalars.bottom)
        slot = kept(cache, order[j], m)
        if slot < 0:
            slot = fetch(cache, store, panel, block, shape, np.int64(order[j]), m, 1)
        row2 = row_of(cache, panel, slot)
        # Find the direction and the step.
        slope = G[i] - G[j]
        own = diagonal[i] + diagonal[j] - 2.0 * entry(row1, j)
        Q = max(own, tiny)
        mix, curvature = 0.0, Q
        if last.scalars.count > 0:
            shared = last.product[i] - last.product[j]
            mix = -shared / last.scalars.curvature
            curvature = Q + mix * shared
            if curvature <= _DEGENERATE * Q:
                forget(last)
                mix, curvature = 0.0, Q
        _extend(last, mix, i, j)
        newton = slope / curvature
        mu = _limit(last, beta, y, C, newton)
        if mu <= 0.0:
            forget(last)
            mix, curvature = 0.0, Q
            _extend(last, mix, i, j)
            newton = slope / curvature
            mu = _limit(last, beta, y, C, newton)
        last.scalars.curvature = curvature
        last.scalars.conjugate_steps += 1 if mix != 0.0 else 0
        # Take it.
        for k in range(last.scalars.count):
            at = last.support[k]
            change = mu * last.p[at]
            place(beta, status, y, C, at, beta[at] + change, abs(beta[at]) + abs(change))
            scalars.drift += abs(change)
        scalars.objective += (slope - 0.5 * (curvature - Q + own) * mu) * mu
        scalars.top, scalars.g_max, scalars.bottom, scalars.g_min = move_gradient(
            G, row1, row2, last.product, mix, mu, status, m, cache.rows, state.screen.low
        )
        if mu < newton:
            forget(last)
        scalars.steps += 1
        scalars.updates += m
        scalars.ticks += ITERATION + (ENTRIES + 2) * m + last.scalars.count + cache.counts.touched - computed


def loop_of(precision: str) -> Any:
    """Return :func:`iterate`, compiled for rows of a given precision."""
    return direct(compiled_for(iterate, signature(CACHES[precision])))


class ConjugateRun(SecondOrderRun):
    """A run in progress; ``last`` is the last direction.

    Its options are ``start``, ``cache_mb`` and ``shrinking``, see :class:`SecondOrderRun`.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        fixed = {"plan": 0, "offer": 0, "sets": 1, "stretch": 1.0, "lengths": False}
        super().__init__(problem, eps, {**fixed, **options})
        self.last = allocate(problem.n)
        loop = loop_of(second_order.precision_of(problem))
        self.loops = self.loops._replace(iterate=partial(loop, self.last))


start = ConjugateRun


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Lay the examples out, and load the compiled loop, before the clock starts."""
    second_order.prepare(problem, eps, options)
    loop_of(second_order.precision_of(problem))


def advance(run: ConjugateRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    before = run.shrinks, run.reconstruction
    status = second_order.advance(run, work, step_limit)
    if before != (run.shrinks, run.reconstruction):
        forget(run.last)  # positions or the gradient have changed
    return status


def finish(run: ConjugateRun, status: str) -> Solution:
    """Return the current solution."""
    solution = second_order.finish(run, status)
    info = {**solution.info, "conjugate_steps": float(run.last.scalars.conjugate_steps)}
    return dataclasses.replace(solution, info=info)
