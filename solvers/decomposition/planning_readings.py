r"""Variant readings of planning ahead, with what its paper leaves open as options (Glasmachers 2008).

The solver `pasmo` itself is :mod:`~svmrepro.solvers.decomposition.second_order`, its planned step
:mod:`~svmrepro.solvers.decomposition._planned_step`.

The text of the paper allows several programs, and none is certain to be the one that made its Table 2. Here
one loop covers them all. The defaults are those of `pasmo`; the notation and the silent points not listed
here are those of :mod:`~svmrepro.solvers.decomposition.second_order`.

``plan``
    The step before a planned one: a ``free`` SMO step (Algorithm 4); any ``smo`` step (Algorithm 2); a step
    ``inside`` the box, planned or not; ``any`` step; ``never``: no step is planned.
``guess``
    The working set assumed to come next: ``t-1``, as in the paper; ``t-2``; ``either``, whichever promises
    the larger gain of both steps; or ``shared``, the latest of 20 that has an example of the present one.
``slope``
    The slope w_2 of the set assumed: at ``present``, as in eq. (8), or what it was at the set's ``own`` step.
``this_box``
    "if the current or the planned step ends at the box boundary": the step that must end inside the box now
    is the ``planned`` one, the ``newton`` step of the same working set, or ``none``. A step that leaves the
    box is clipped.
``next_box``
    The step of the assumed set must end inside the box ``moved`` by this step, inside the ``present`` one, or
    is not tested, ``none``.
``clip``
    Whether a step is clipped ``before`` the next one is computed, or ``after``.
``offer``
    When earlier working sets are candidates: after a ``planned`` step, as the proof requires; after an
    ``unplanned`` one, as Algorithms 3 and 5 are printed; ``always``; or ``never``.
``candidates``
    Which ones: ``t-1``, ``t-2``, ``t-1 and t-2``, or ``t-2 and t-3``.
``direction``
    A candidate is turned ``uphill``, or keeps its ``own`` order and must point uphill, or keeps it in ``any``
    case, which may end in a step of length 0.
``gain``
    Candidates are compared by the exact gain outside the ``interval`` of Lemma 3, by ``newton``'s gain
    always, or by the ``exact`` gain always.
``eta``
    Half the length of that interval.
``stretch``
    Factor on steps that are not planned (section 7.3).
``unshrink``
    Whether all examples are checked once when the gap falls below ten times eps, as in LIBSVM.
``single``
    Kernel rows are rounded to single precision, as in LIBSVM, whatever the examples are.

Some readings may cycle for ever; such a run ends at the limit of its steps.

Symbols of the paper, beside those of :mod:`~svmrepro.solvers.decomposition.second_order`:

====================  =========================================================================
paper                 here
====================  =========================================================================
l, Q, mu              ``slope``, ``Q``, ``mu``; the Newton step l / Q is ``newton``
L~, U~                ``low``, ``high``
B(t-1), B(t-2), ...   ``first[age]`` and ``second[age]`` with ``age`` 0, 1, ...
w_1, w_2              ``slope``, ``slope2``
Q_11, Q_22, Q_12      ``Q``, ``Q2``, ``cross``
mu(1), mu(2)          ``ahead`` (8), ``taken`` when clipped; ``after`` (6)
g^2-step              ``gain_of_both``
mu Q / l              ``scalars.ratio``
eta                   ``reading.eta``
====================  =========================================================================
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
from svmrepro.solvers.caches.single_rows import in_single_range
from svmrepro.solvers.compilation.compiled import compiled, compiled_for
from svmrepro.solvers.compilation.records import allocated, array, record
from svmrepro.solvers.decomposition import second_order
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP, best_partner, move_gradient
from svmrepro.solvers.decomposition._pair_state import CALLS, STATE, clipped, place, room
from svmrepro.solvers.decomposition._planned_step import best_exact, remember
from svmrepro.solvers.decomposition._second_order_iteration import (
    CONVERGED,
    ENTRIES,
    ITERATION,
    NEARLY,
    RUNNING,
    SHRINK,
    WORTH,
    tally,
)
from svmrepro.solvers.decomposition._shrinking import mark_leavers
from svmrepro.solvers.decomposition.second_order import SecondOrderRun, advance, objective, steps
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import READING_CHOICES
from svmrepro.solvers.solution import Solution
from svmrepro.solvers.storage.row_products import STORE

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_AGES = 20  # working sets remembered
_MOST_OFFERED = 3  # of which the latest may be candidates
_GUESSED = np.array([0b01, 0b10, 0b11, 0])  # the ages of each value of ``guess``, as bits; 0: `sharing`
_OFFERED = np.array([0b001, 0b010, 0b011, 0b110])  # and of ``candidates``
_DEGENERATE = 1e-12


class Reading(NamedTuple):
    """The options, each as its place in `READING_CHOICES`; ``guess`` and ``candidates`` as bits by age."""

    plan: int
    guess: int
    slope: int
    this_box: int
    next_box: int
    clip: int
    offer: int
    candidates: int
    direction: int
    gain: int
    eta: float


def reading_of(options: dict[str, Any]) -> Reading:
    """Return the reading that options describe."""
    places = {key: values.index(options[key]) for key, values in READING_CHOICES.items()}
    places["guess"] = int(_GUESSED[places["guess"]])
    places["candidates"] = int(_OFFERED[places["candidates"]])
    return Reading(**places, eta=float(options["eta"]))


class PastScalars:
    """What is remembered of earlier steps, see :mod:`svmrepro.solvers.compilation.records`."""

    inside: bool  # whether the last step, planned or not, ended inside the box
    longest: float  # the longest planned step relative to Newton's
    shortest: float  # the shortest


class Past(NamedTuple):
    """Earlier steps: the slopes of the latest working sets, newest first, at their own steps; and scalars."""

    slopes: Any = array("ages")
    scalars: Any = record(PastScalars)


PAST = typeof(allocated(Past, ages=_AGES))
READING = types.NamedTuple([types.int64] * 10 + [types.float64], Reading)


@compiled(forceinline=True)
def offered(state, reading, m, exact, i, j, gain):
    """Return the pair of largest gain among (i, j) and the candidates, and its age, -1 for (i, j)."""
    scalars, G, status, position = state.scalars, state.G, state.status, state.position
    first, second, curvature = state.first, state.second, state.curvature
    chosen = -1
    for age in range(min(scalars.ages, _MOST_OFFERED)):
        a, b = position[first[age]], position[second[age]]
        if (reading.candidates >> age) & 1 == 0 or a >= m or b >= m:
            continue
        slope = G[a] - G[b]
        if slope < 0.0 and reading.direction == 0:
            a, b, slope = b, a, -slope
        if slope == 0.0 or (slope < 0.0 and reading.direction != 2):
            continue
        if (status[a] & UP) == 0 or (status[b] & DOWN) == 0:
            continue
        mu = slope / curvature[age]
        if exact:
            low, high = room(state.beta, state.y, state.C, a, b)
            mu = clipped(mu, low, high)
        value = (2.0 * slope - curvature[age] * mu) * mu
        if value > gain:
            gain, chosen = value, age
            i, j = a, b
    return i, j, chosen


@compiled(forceinline=True)
def sharing(state, i, j):
    """Return the age of the latest working set with i or j, as a bit; 0 if there is none."""
    position, first, second = state.position, state.first, state.second
    for age in range(state.scalars.ages):
        a, b = position[first[age]], position[second[age]]
        if a in (i, j) or b in (i, j):
            return 1 << age
    return 0


@compiled(forceinline=True)
def step_ahead(state, reading, past, row1, row2, m, i, j, slope, Q, low, high):
    """Return the planned step of (i, j), and whether one exists (eqs. 6 and 8)."""
    y, C, beta, G, position = state.y, state.C, state.beta, state.G, state.position
    first, second, curvature = state.first, state.second, state.curvature
    mu, planned, most = 0.0, False, 0.0
    guessed = reading.guess if reading.guess != 0 else sharing(state, i, j)
    for age in range(state.scalars.ages):
        a, b = position[first[age]], position[second[age]]
        if (guessed >> age) & 1 == 0 or a >= m or b >= m:
            continue
        Q2 = curvature[age]
        cross = 1.0 * entry(row1, a) - entry(row1, b) - entry(row2, a) + entry(row2, b)
        determinant = Q * Q2 - cross * cross
        if determinant <= _DEGENERATE * Q * Q2:
            continue
        slope2 = G[a] - G[b] if reading.slope == 0 else past.slopes[age]
        ahead = (Q2 * slope - cross * slope2) / determinant
        if reading.this_box < 2 and not low < (ahead if reading.this_box == 0 else slope / Q) < high:
            continue
        taken = clipped(ahead, low, high)
        ahead = taken if reading.clip == 0 else ahead
        after = (slope2 - cross * ahead) / Q2
        if reading.next_box < 2:
            change = ahead if reading.next_box == 0 else 0.0
            beta_a = beta[a] + (change if a == i else (-change if a == j else 0.0))
            beta_b = beta[b] + (change if b == i else (-change if b == j else 0.0))
            low_a, high_a = (0.0, C[a]) if y[a] > 0.0 else (-C[a], 0.0)
            low_b, high_b = (0.0, C[b]) if y[b] > 0.0 else (-C[b], 0.0)
            if not max(low_a - beta_a, beta_b - high_b) < after < min(high_a - beta_a, beta_b - low_b):
                continue
        gain_of_both = slope * taken - 0.5 * Q * taken * taken + 0.5 * Q2 * after * after
        if not planned or gain_of_both > most:
            mu, planned, most = taken, True, gain_of_both
    return mu, planned


def signature(cache: Any) -> Any:
    """Return the signature of :func:`iterate` for a type of cache."""
    rest = STATE, cache, STORE, PANEL, *CALLS, types.float64, types.int64, types.int64
    return types.int64(PAST, READING, *rest)


@compiled()
def iterate(past, reading, state, cache, store, panel, block, shape, eps, slice_work, step_limit):
    """Iterate until the caller has to act.

    Steps and return values are those of
    :func:`svmrepro.solvers.decomposition._second_order_iteration.iterate`.
    """
    y, C, beta, G = state.y, state.C, state.beta, state.G
    diagonal, status = state.diagonal, state.status
    scalars, order = state.scalars, panel.order
    tiny = scalars.tiny
    m = scalars.n_active
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
        offering = (
            reading.offer == 3
            or (reading.offer == 1 and scalars.planned)
            or (reading.offer == 2 and not scalars.planned)
        )
        outside = not (1.0 - reading.eta <= scalars.ratio <= 1.0 + reading.eta)
        exact = offering and (reading.gain == 2 or (reading.gain == 0 and outside))
        if exact:
            j, gain = best_exact(G, diagonal, row1, status, beta, y, C, m, i, tiny)
        else:
            j, gain = best_partner(
                G, diagonal, row1, status, m, i, tiny, cache.rows, state.screen, scalars.bottom
            )
        if offering:
            i, j, chosen = offered(state, reading, m, exact, i, j, gain)
            if chosen >= 0:
                scalars.offered_taken += 1
                slot = fetch(cache, store, panel, block, shape, np.int64(order[i]), m, 0)
                row1 = row_of(cache, panel, slot)
        slot = kept(cache, order[j], m)
        if slot < 0:
            slot = fetch(cache, store, panel, block, shape, np.int64(order[j]), m, 1)
        row2 = row_of(cache, panel, slot)
        # Find the step.
        slope = G[i] - G[j]
        own = diagonal[i] + diagonal[j] - 2.0 * entry(row1, j)
        Q = max(own, tiny)
        low, high = room(beta, y, C, i, j)
        newton = slope / Q
        mu, planned = 0.0, False
        plan = reading.plan
        if (
            plan == 4
            or (plan == 1 and scalars.free)
            or (plan == 2 and not scalars.planned)
            or (plan == 3 and past.scalars.inside)
        ):
            mu, planned = step_ahead(state, reading, past, row1, row2, m, i, j, slope, Q, low, high)
        if not planned:
            mu = clipped(scalars.stretch * newton, low, high)
        inside = low < mu < high
        scalars.planned = planned
        scalars.free = not planned and inside
        past.scalars.inside = inside
        scalars.ratio = mu / newton
        if planned:
            scalars.planned_steps += 1
            past.scalars.longest = max(past.scalars.longest, scalars.ratio)
            past.scalars.shortest = min(past.scalars.shortest, scalars.ratio)
        if state.lengths.shape[1]:
            tally(state.lengths, scalars.ratio, planned)
        remember(state, np.int64(order[i]), np.int64(order[j]), Q)
        for age in range(past.slopes.size - 1, 0, -1):
            past.slopes[age] = past.slopes[age - 1]
        past.slopes[0] = slope
        # Take it.
        place(beta, status, y, C, i, beta[i] + mu, abs(beta[i]) + abs(mu))
        place(beta, status, y, C, j, beta[j] - mu, abs(beta[j]) + abs(mu))
        scalars.objective += (slope - 0.5 * own * mu) * mu
        scalars.drift += abs(mu)
        scalars.top, scalars.g_max, scalars.bottom, scalars.g_min = move_gradient(
            G, row1, row2, G[:0], 0.0, mu, status, m, cache.rows, state.screen.low
        )
        scalars.steps += 1
        scalars.updates += m
        scalars.ticks += ITERATION + ENTRIES * m + cache.counts.touched - computed


def loop_of(precision: str) -> Any:
    """Return :func:`iterate`, compiled for rows of a given precision."""
    return compiled_for(iterate, signature(CACHES[precision]))


class ReadingRun(SecondOrderRun):
    """A run in progress, with its reading and its past.

    Its options are those of :class:`SecondOrderRun` but ``sets``, and those described in the module.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        precision = _precision_of(problem, options)
        own = {"plan": 0, "offer": 0, "sets": _AGES - 1, "precision": precision}
        super().__init__(problem, eps, {**options, **own})
        self.tried = not options["unshrink"]
        self.past = allocated(Past, ages=_AGES)
        self.past.scalars.longest, self.past.scalars.shortest = -np.inf, np.inf
        loop = partial(loop_of(precision), self.past, reading_of(options))
        self.loops = self.loops._replace(iterate=loop)


start = ReadingRun


def _precision_of(problem: Problem, options: dict[str, Any]) -> str:
    """Return the precision of kernel rows; with ``single``, not even binary data have them in bytes."""
    if options["single"] and in_single_range(problem):
        return "single"
    return second_order.precision_of(problem)


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Lay the examples out, and load the compiled loop, before the clock starts."""
    precision = _precision_of(problem, options)
    second_order.load(problem, precision, False, options)
    loop_of(precision)


def finish(run: ReadingRun, status: str) -> Solution:
    """Return the current solution, with the longest and the shortest planned step relative to Newton's."""
    solution, past = second_order.finish(run, status), run.past.scalars
    if not run.state.scalars.planned_steps:
        return solution
    info = {**solution.info, "longest_planned": float(past.longest), "shortest_planned": float(past.shortest)}
    return dataclasses.replace(solution, info=info)
