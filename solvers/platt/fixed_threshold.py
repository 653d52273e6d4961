r"""SMO with the threshold held at zero (Platt 1998, section 2.6).

Without a free threshold there is no equality constraint, and one multiplier per step is enough: with
``E1' = y1 - u1`` (the sign that moves u1 towards y1; the report's equation 23 leaves it open)

    a1 = clip(a1 + y1 E1' / K11, 0, C1)

The order of the examples is that of the first choice of section 2.2: passes over all examples alternate with
passes over the non-bound ones. If K11 = 0 (an empty row) the objective is linear in a1 and the better end is
taken; if K11 < 0, the end with the lower Psi = -W.

With a linear kernel an output is one product with the folded weight vector, computed when it is needed; for
other kernels the errors of the non-bound examples are kept up to date. If violators remain after a pass over
all examples because their steps are below ``step_tol``, passes with a hundredth of it follow
(``info["rescues"]``). The absolute part of ``step_tol`` is as in :mod:`svmrepro.solvers.platt.smo`. After 500
n steps conjugate gradient is run over the non-bound multipliers (``info["polishes"]``, see
:mod:`svmrepro.solvers.platt.smo`).

Symbols:

===============  ============================================================
paper            here
===============  ============================================================
a1, C1, y1, K11  ``a``, ``C``, ``y``, ``curvature`` in ``step_one``
E1 = u1 - y1     ``E``; the step of equation 23 is ``a - y E / K11``, clipped
w                ``weights`` of a linear kernel that is folded (section 2.4)
tol              ``tol``
===============  ============================================================
"""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.platt import _free_set_cg as free_set_cg
from svmrepro.solvers.platt._state import (
    CALLS,
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
    output_of,
    renew,
    start,
    start_pass,
    start_renewal,
    steps,
    violates,
)
from svmrepro.solvers.storage.kernel_transforms import prepare
from svmrepro.solvers.storage.row_products import STORE

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]  # what the driver calls


@compiled(forceinline=True)
def step_one(state, store, dots, transform, products, update, i, E, step_tol):
    """Move alpha[i] to its optimum in [0, C_i]; return whether it moved (equation 23)."""
    scalars, a, y, curvature = state.scalars, state.alpha[i], state.y[i], state.diagonal[i]
    C = state.C[i]
    slope = y * E  # derivative of Psi = -W along alpha_i
    if curvature > 0.0:
        new = min(max(a - slope / curvature, 0.0), C)
    else:
        at_zero = -(slope - 0.5 * curvature * a) * a
        at_top = (slope + 0.5 * curvature * (C - a)) * (C - a)
        new = 0.0 if at_zero <= at_top else C
        if min(at_zero, at_top) >= 0.0:
            return False
    step = new - a
    if step == 0.0 or abs(step) < step_tol * (new + a + step_tol * state.scalars.unit):
        return False
    change = y * step
    move(state, store, dots, transform, products, update, i, a, new, E)
    m = scalars.n_nonbound
    if state.weights.size == 0:
        members, errors, row = state.members, state.errors, state.row1
        scalars.touched += dots(store, i, members, m, row)
        transform(store, i, members, m, row)
        scalars.evaluations += m
        scalars.updates += m
        for k in range(m):
            errors[k] += change * row[k]
    state.scalars.objective -= (slope + 0.5 * curvature * step) * step
    state.scalars.drift += abs(step)
    scalars.steps += 1
    return True


@compiled(forceinline=True)
def error_without_threshold(state, store, dots, transform, products, total, i):
    """Return ``E_i = u_i - y_i``."""
    if state.weights.size == 0:
        return error_of(state, store, dots, transform, products, total, i)
    if state.scalars.full:
        return bound_error(state, store, dots, transform, products, total, i)
    return output_of(state, store, dots, transform, products, total, i) - state.y[i]


@compiled(forceinline=True)
def after_pass(state):
    """Start the next pass, or return how the run ends."""
    scalars = state.scalars
    if not scalars.full:
        start_pass(state, full=scalars.changed == 0)
        return RUNNING
    if scalars.changed > 0:
        start_pass(state, full=False)
        return RUNNING
    if scalars.looking:
        scalars.objective = scalars.objective_sum
        scalars.looking = False
        if scalars.violators > 0:
            start_pass(state, full=True)
            return RUNNING
    if scalars.violators == 0 or scalars.step_tol == 0.0:
        if scalars.drift <= scalars.most_drift:
            return DONE if scalars.violators == 0 else STUCK
        return RUNNING if start_renewal(state) else STUCK
    scalars.rescues += 1
    scalars.step_tol = 0.01 * scalars.step_tol if scalars.step_tol > 1e-16 else 0.0
    start_pass(state, full=True)
    return RUNNING


@compiled(types.int64(STATE, STORE, *CALLS, types.float64, types.int64, types.int64))
def passes(state, store, dots, transform, products, update, total, tol, slice_work, step_limit):
    """Run passes until done, or until a slice or the step limit is used up."""
    scalars, n = state.scalars, state.y.size
    stop_at = scalars.touched + scalars.ticks + slice_work
    while True:
        if scalars.renew_at >= 0:
            renew(state, store, dots, transform, products, update, total, stop_at)
            if scalars.renew_at >= 0:
                return RUNNING
        while scalars.next < n:
            if scalars.steps >= step_limit or scalars.touched + scalars.ticks >= stop_at:
                return RUNNING
            i = scalars.next
            if scalars.full:
                scalars.next = i + 1
            else:
                at = next_nonbound(state)
                if at < 0:
                    break
                i = np.int64(state.members[at])
            scalars.ticks += 1
            E = error_without_threshold(state, store, dots, transform, products, total, i)
            if violates(state, i, E, tol) and step_one(
                state, store, dots, transform, products, update, i, E, scalars.step_tol
            ):
                scalars.changed += 1
        if scalars.changed > 0 and scalars.polish_at <= scalars.steps < step_limit:
            return ZIGZAGGING
        verdict = after_pass(state)
        if verdict != RUNNING:
            return verdict


def advance(run: SmoRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    return advance_by(passes, free_set_cg, run, work, step_limit)
