r"""Sequential minimal optimisation as Platt published it (TR-98-14, sections 2.1 to 2.5).

Two multipliers per step, solved analytically. With ``s = y1 y2``, ``E_i = u_i - y_i`` and
``u_i = sum_j y_j alpha_j K_ij - b``:

    y1 != y2:  L = max(0, a2 - a1),       H = min(C2, C1 + a2 - a1)       (13)
    y1 == y2:  L = max(0, a2 + a1 - C1),  H = min(C2, a2 + a1)            (14)
    a2 += y2 (E1 - E2) / eta, clipped;   eta = K11 + K22 - 2 K12          (15)-(17)

The first multiplier comes from passes over all examples that alternate with passes over the non-bound ones.
The second comes from the cached errors, then from the non-bound examples, then from all, the latter two from
a random start (section 2.2). A linear kernel is folded into its weight vector (section 2.4). The report has
one bound C for all; here each example has its own.

Where the report is silent or stops short:

* The report gives no value for the step tolerance ("eps" of the pseudo-code). It is ``step_tol`` here; its
  default is in ``svmrepro.solvers.registry``. The stopping tolerance, elsewhere ``eps`` in this package,
  is the report's tol.
* A pass over all examples that changes nothing ends the report's program even if a violator found no partner.
  Here that pass also computes ``min E`` over I_up and ``max E`` over I_low (Keerthi et al. 2001). If these
  are within 2 tol of each other, the threshold is set halfway between them, and every example satisfies its
  condition. Otherwise this most violating pair takes a step without a step tolerance, ``step_tol`` is divided
  by ten, and the passes continue. ``info["rescues"]`` counts such steps: zero on every data set of the
  report.
* With overlapping classes, a large C and few features, the steps zigzag, by the million. After 500 n of them,
  and again every 20 n steps, conjugate gradient solves for the non-bound multipliers alone
  (:mod:`svmrepro.solvers.platt._free_set_cg`). ``info["polishes"]`` counts this: zero on every data set of
  the report, whose runs take at most about 100 n steps.
* ``shrinking`` and ``cache_mb`` are those of the 1999 paper, off by default as in the report. After a full
  pass, bound examples whose slack exceeds the largest violation leave the full passes and are not searched
  for partners either. A full pass over the rest that changes nothing returns all examples and is followed by
  one over all. The cache stores kernel rows, see :mod:`svmrepro.solvers.caches.smo_rows`: it saves work and
  changes no step.
* Rounding leaves tiny multipliers. If a step ends where the partner reaches its bound, the partner is set
  exactly to it. Otherwise a multiplier is set to 0 if it is less than 1e-14 of the sum of the pair, or to its
  bound if it is within a share 1e-14 of it, provided that no output changes by more than a hundredth of
  tol.
* The step tolerance has an absolute part, ``step_tol^2`` in the pseudo-code. It is multiplied by 1000 times
  the smallest bound, or by 1000 over the largest K_ii, if that is less than 1, so that multipliers near 1e-12
  can move, too.
* For eta <= 0 the gain at both ends is computed relative to the current point, which is equation (19) without
  its cancellation. If both ends improve equally, the lower one is taken. If neither end improves although the
  slope is not 0, the curvature is taken as the largest that rounding could hide, 1e-12 (K11 + K22): such a
  step is too short rather than too long.

Symbols:

===============  ======================================================================
paper            here
===============  ======================================================================
a1, a2, C        ``alpha[i1]``, ``alpha[i2]``; ``C1``, ``C2`` of the two examples
E_i = u_i - y_i  ``errors`` of the non-bound examples, ``error_of`` of any
s, L, H, eta     ``s``, ``low``, ``high`` (13, 14), ``eta`` (15), in ``take_step``
a2 new, a1 new   ``new2`` (16, 17), ``new1`` (18); ``d1``, ``d2``: changes times labels
b, b1, b2        ``scalars.b``, subtracted; ``b1`` (20), ``b2`` (21)
w                ``weights`` of a linear kernel that is folded (section 2.4)
tol, eps         ``tol``, ``scalars.step_tol``
examineAll       ``scalars.full``
numChanged       ``scalars.changed``
===============  ======================================================================
"""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.caches.smo_rows import SPARE, kept_row
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.random_numbers import draw
from svmrepro.solvers.platt import _free_set_cg as free_set_cg
from svmrepro.solvers.platt._example_lists import extremes, find
from svmrepro.solvers.platt._state import (
    CALLS,
    CRAMPED,
    DONE,
    RUNNING,
    STATE,
    STUCK,
    ZIGZAGGING,
    SmoRun,
    advance_by,
    bound_error,
    error_of,
    finish,
    move,
    next_nonbound,
    objective,
    renew,
    shrink,
    start,
    start_pass,
    start_renewal,
    steps,
    unshrink,
    violates,
)
from svmrepro.solvers.storage.kernel_transforms import prepare
from svmrepro.solvers.storage.row_products import STORE, dots_of_two

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]  # what the driver calls

_SNAP = 1e-14  # multipliers this close to C, or to 0 relative to the pair's sum, are put on the bound
_DEGENERATE = 1e-12  # eta below this times K11 + K22 is rounding, not curvature
_SLOPE = 1e-10  # a flat or concave pair moves only if it gains more than this per unit of alpha
_ATTEMPT = 200  # cost of trying a partner, in entries read: as much as 200 of a long row

MOVED, ALONE, INTERRUPTED = range(3)  # how the search for a partner ends


@compiled(forceinline=True)
def pair_kernel(state, store, dots, transform, i, j):
    """Return K_ij."""
    state.one[0] = np.uint32(j)
    state.scalars.touched += dots(store, i, state.one, 1, state.row1)
    transform(store, i, state.one, 1, state.row1)
    state.scalars.evaluations += 1
    return state.row1[0]


@compiled(forceinline=True)
def refresh_errors(state, store, dots, transform, products, i1, d1, i2, d2, db):
    """Update the errors of the non-bound examples after a step, and their extremes.

    ``d1 = y1 (change of a1)``, ``d2`` likewise, and ``db`` is the change of b.
    """
    scalars, errors, members = state.scalars, state.errors, state.members
    m = scalars.n_nonbound
    if state.weights.size:
        scalars.touched += products(store, state.weights, members, m, errors)
        scalars.evaluations += m
        b, y = state.scalars.b, state.y
        for k in range(m):
            errors[k] -= b + y[members[k]]
    else:
        row1, row2 = state.row1, state.row2
        if state.column.size == 0:
            scalars.touched += dots_of_two(store, dots, i1, i2, members, m, row1, row2)
            transform(store, i1, members, m, row1)
            transform(store, i2, members, m, row2)
            scalars.evaluations += 2 * m
        else:
            for which in range(2):
                i, row = (i2, row2) if which else (i1, row1)
                computed, touched = kept_row(
                    state.cache,
                    state.column,
                    scalars.n_columns,
                    store,
                    dots,
                    transform,
                    i,
                    members,
                    m,
                    row,
                    state.lacking,
                    state.fresh,
                )
                scalars.touched += touched
                scalars.evaluations += computed
        for k in range(m):
            errors[k] += d1 * row1[k] + d2 * row2[k] - db
    scalars.updates += m
    scalars.lowest, scalars.highest = extremes(errors, m)


@compiled(forceinline=True)
def take_step(state, store, dots, transform, products, update, total, i1, i2, E2, step_tol):
    """Optimise alpha[i1] and alpha[i2] jointly; return whether they moved (``takeStep``)."""
    if i1 == i2:
        return False
    alpha, y, scalars = state.alpha, state.y, state.scalars
    a1, a2, y1, y2 = alpha[i1], alpha[i2], y[i1], y[i2]
    C1, C2 = state.C[i1], state.C[i2]
    s = y1 * y2
    if s < 0:
        low, high = max(0.0, a2 - a1), min(C2, C1 + a2 - a1)
    else:
        low, high = max(0.0, a2 + a1 - C1), min(C2, a2 + a1)
    if low >= high:
        return False
    E1 = error_of(state, store, dots, transform, products, total, i1)
    k11, k22 = state.diagonal[i1], state.diagonal[i2]
    k12 = pair_kernel(state, store, dots, transform, i1, i2)
    eta = k11 + k22 - 2.0 * k12
    slope = y2 * (E2 - E1)  # derivative of Psi = -W along a2
    least = _DEGENERATE * (abs(k11) + abs(k22))
    if eta > least:
        new2 = min(max(a2 - slope / eta, low), high)
    else:
        at_low = (slope + 0.5 * eta * (low - a2)) * (low - a2)
        at_high = (slope + 0.5 * eta * (high - a2)) * (high - a2)
        new2 = low if at_low <= at_high else high
        if min(at_low, at_high) >= -_SLOPE * abs(new2 - a2):
            if not (abs(slope) > _SLOPE and eta > 0.0):
                return False
            new2 = min(max(a2 - slope / least, low), high)
    # The exact bound that the partner reaches after clipping.
    end1 = -1.0
    if new2 == low and low > 0.0:
        end1 = 0.0 if s < 0 else C1
    elif new2 == high and high < C2:
        end1 = C1 if s < 0 else 0.0
    if new2 < _SNAP * (a1 + a2) and new2 <= scalars.harmless:
        new2 = 0.0
    elif new2 > C2 * (1.0 - _SNAP) and C2 - new2 <= scalars.harmless:
        new2 = C2
    step = new2 - a2
    if step == 0.0 or abs(step) < step_tol * (new2 + a2 + step_tol * scalars.unit):
        return False
    new1 = min(max(a1 - s * step, 0.0), C1)
    if end1 >= 0.0:
        new1 = end1
    elif new1 < _SNAP * (a1 + a2) and new1 <= scalars.harmless:
        new1 = 0.0
    elif new1 > C1 * (1.0 - _SNAP) and C1 - new1 <= scalars.harmless:
        new1 = C1
    d1, d2 = y1 * (new1 - a1), y2 * step
    b = scalars.b
    b1 = E1 + d1 * k11 + d2 * k12 + b
    b2 = E2 + d1 * k12 + d2 * k22 + b
    if 0.0 < new1 < C1:
        scalars.b = b1
    elif 0.0 < new2 < C2:
        scalars.b = b2
    else:
        scalars.b = 0.5 * (b1 + b2)
    db = scalars.b - b
    # These are errors before the step: refresh_errors adds the change to every listed example.
    move(state, store, dots, transform, products, update, i1, a1, new1, E1)
    move(state, store, dots, transform, products, update, i2, a2, new2, E2)
    scalars.objective -= (slope + 0.5 * eta * step) * step
    scalars.drift += abs(d1) + abs(d2)
    refresh_errors(state, store, dots, transform, products, i1, d1, i2, d2, db)
    state.scalars.steps += 1
    return True


@compiled(forceinline=True)
def examine(state, store, dots, transform, products, update, total, stop_at):
    """Search a partner for the violator through the hierarchy of section 2.2.

    Attempt 0 is the second choice heuristic; then come the non-bound examples and the bound ones, each from a
    random start. A single loop covers all attempts, so that the step is inlined only once. The search is
    interrupted when the slice is used up, and continues there later; no step is taken in between.
    """
    scalars, members, alpha = state.scalars, state.members, state.alpha
    nonbound, n = scalars.n_nonbound, scalars.n_active
    step_tol = scalars.step_tol
    i2, E2 = scalars.violator, scalars.violator_error
    for attempt in range(scalars.attempt, 1 + nonbound + n):
        if attempt == 0:
            i1 = np.int64(members[scalars.lowest if E2 > 0 else scalars.highest])
        elif attempt <= nonbound:
            if attempt == 1:
                scalars.origin = draw(state.random, nonbound)
            i1 = np.int64(members[(scalars.origin + attempt - 1) % nonbound])
        else:
            if attempt == nonbound + 1:
                scalars.origin = draw(state.random, n)
            i1 = np.int64(state.every[(scalars.origin + attempt - nonbound - 1) % n])
            if 0.0 < alpha[i1] < state.C[i1]:
                continue  # already tried
        scalars.ticks += _ATTEMPT
        if take_step(state, store, dots, transform, products, update, total, i1, i2, E2, step_tol):
            return MOVED
        if scalars.touched + scalars.ticks >= stop_at:
            scalars.attempt = attempt + 1
            return INTERRUPTED
    return ALONE


@compiled(forceinline=True)
def note_extremes(state, i, error):
    """Record min E over I_up and max E over I_low during a full pass."""
    a, C, positive, scalars = state.alpha[i], state.C[i], state.y[i] > 0, state.scalars
    if ((positive and a < C) or (not positive and a > 0)) and error < scalars.up_error:
        scalars.up_error = error
        state.scalars.up = i
    if ((positive and a > 0) or (not positive and a < C)) and error > scalars.low_error:
        scalars.low_error = error
        state.scalars.low = i


@compiled(forceinline=True)
def note_margin(state, i, r):
    """Record the slack of an example's condition during a full pass, and the largest violation."""
    a, C, scalars = state.alpha[i], state.C[i], state.scalars
    state.margin[i] = r if a <= 0.0 else (-r if a >= C else -np.inf)
    if a < C:
        scalars.worst = max(scalars.worst, -r)
    if a > 0.0:
        scalars.worst = max(scalars.worst, r)


@compiled()
def shift_threshold(state):
    """Set the threshold halfway between the extreme errors of a full pass."""
    shift = 0.5 * (state.scalars.low_error + state.scalars.up_error)
    state.scalars.b += shift
    errors = state.errors
    for k in range(state.scalars.n_nonbound):
        errors[k] -= shift


@compiled()
def conclude(state, store, dots, transform, products, update, total, tol):
    """Decide after a full pass that changed nothing: done, stuck, or one more step."""
    scalars = state.scalars
    if scalars.violators == 0:
        return DONE
    if scalars.low_error - scalars.up_error <= 2.0 * tol:
        shift_threshold(state)
        return DONE
    if scalars.looking:
        shift_threshold(state)
        return RUNNING
    scalars.step_tol *= 0.1
    scalars.rescues += 1
    i1, i2 = scalars.up, scalars.low
    E2 = scalars.low_error
    moved = take_step(state, store, dots, transform, products, update, total, i1, i2, E2, 0.0)
    return RUNNING if moved else STUCK


@compiled(forceinline=True)
def find_violator(state, store, dots, transform, products, total, tol):
    """Examine the next example of the pass; return whether it violates its condition (section 2.2)."""
    scalars = state.scalars
    p, at = scalars.next, -1
    if scalars.full:
        i = np.int64(state.every[p])
        scalars.next += 1
        if 0.0 < state.alpha[i] < state.C[i]:
            at = find(state.members, scalars.n_nonbound, i)
    else:
        at = next_nonbound(state)
        if at < 0:
            return False
        i = np.int64(state.members[at])
    scalars.ticks += 1
    error = state.errors[at] if at >= 0 else bound_error(state, store, dots, transform, products, total, p)
    if scalars.full:
        note_extremes(state, i, error)
        if state.margin.size:
            note_margin(state, i, error * state.y[i])
    if not violates(state, i, error, tol):
        return False
    scalars.violator = i
    scalars.attempt = 0 if scalars.n_nonbound > 1 else 1
    scalars.violator_error = error
    return True


@compiled(forceinline=True)
def after_pass(state, store, dots, transform, products, update, total, tol):
    """Start the next pass, or return how the run ends."""
    scalars = state.scalars
    if not scalars.full:
        start_pass(state, full=scalars.changed == 0)
        return RUNNING
    if scalars.changed > 0:
        if state.margin.size:
            shrink(state)
        start_pass(state, full=False)
        return RUNNING
    if scalars.n_active < state.y.size:
        unshrink(state)
        start_pass(state, full=True)
        return RUNNING
    if scalars.looking:
        scalars.objective = scalars.objective_sum
    verdict = conclude(state, store, dots, transform, products, update, total, tol)
    scalars.looking = False
    if verdict == RUNNING:
        start_pass(state, full=True)
    elif scalars.drift > scalars.most_drift:
        verdict = RUNNING if start_renewal(state) else STUCK
    return verdict


@compiled(types.int64(STATE, STORE, *CALLS, types.float64, types.int64, types.int64))
def passes(state, store, dots, transform, products, update, total, tol, slice_work, step_limit):
    """Run the main routine until done, or until a slice or the step limit is used up."""
    scalars, n = state.scalars, state.y.size
    cached, length = state.column.size > 0, state.cache.rows.shape[1]
    stop_at = scalars.touched + scalars.ticks + slice_work
    while True:
        if scalars.renew_at >= 0:
            renew(state, store, dots, transform, products, update, total, stop_at)
            if scalars.renew_at >= 0:
                return RUNNING
        end = scalars.n_active if scalars.full else n
        while scalars.next < end or scalars.violator >= 0:
            if scalars.steps >= step_limit or scalars.touched + scalars.ticks >= stop_at:
                return RUNNING
            if cached and length < n and scalars.n_columns + SPARE > length:
                return CRAMPED
            if scalars.violator < 0 and not find_violator(
                state, store, dots, transform, products, total, tol
            ):
                continue
            found = examine(state, store, dots, transform, products, update, total, stop_at)
            if found == INTERRUPTED:
                return RUNNING
            scalars.violator = -1
            if found == MOVED:
                scalars.changed += 1
        if scalars.changed > 0 and scalars.polish_at <= scalars.steps < step_limit:
            return ZIGZAGGING
        verdict = after_pass(state, store, dots, transform, products, update, total, tol)
        if verdict != RUNNING:
            return verdict


def advance(run: SmoRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    return advance_by(passes, free_set_cg, run, work, step_limit)
