r"""SMO with the threshold held at zero (Platt 1998, section 2.6).

Without a free threshold there is no equality constraint, and one multiplier a step is
enough: with ``E1' = y1 - u1`` (the sign that moves u1 towards y1; the report's equation
23 leaves it open)

    a1 = clip(a1 + y1 E1' / K11, 0, C1)

The order of the examples is that of the first choice of section 2.2: passes over all
examples alternate with passes over the non-bound ones. Where K11 = 0 (an empty row) the
objective is linear in a1 and the better end is taken; where K11 < 0, the lower end of
the concave line.

With a linear kernel an output is one product with the folded weight vector, made when it
is asked for; other kernels keep the errors of the non-bound examples up to date. A pass
over all examples in which violators stay because their steps are below ``step_tol`` is
followed by passes with a hundredth of it (``info["rescues"]``); its absolute part is that of
:mod:`svmrepro.solvers.platt.smo`. After 500 n steps conjugate
gradient over the non-bound multipliers helps out (``info["polishes"]``, see
:mod:`svmrepro.solvers.platt.smo`).
"""

from __future__ import annotations

import numpy as np
from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.platt import free_set_cg
from svmrepro.solvers.platt.example_lists import locate
from svmrepro.solvers.platt.state import (
    ALL,
    CALLS,
    CHANGED,
    DONE,
    DRIFT,
    EVALUATIONS,
    HINT,
    LOOKING,
    NEXT,
    NONBOUND,
    OBJECTIVE,
    POLISH_AT,
    RENEW_AT,
    RESCUES,
    RUNNING,
    STATE,
    STEP_TOL,
    STEPS,
    STUCK,
    TICKS,
    TOUCHED,
    UNIT,
    UPDATES,
    VIOLATORS,
    ZIGZAGGING,
    Run,
    W,
    advance_by,
    bound_error,
    drifted,
    error_of,
    finish,
    kernel_output,
    move,
    objective,
    renew,
    start,
    start_pass,
    start_renewal,
    steps,
)
from svmrepro.solvers.storage.row_products import STORE

__all__ = ["advance", "finish", "objective", "start", "steps"]  # what the driver calls


@compiled(forceinline=True)
def step_one(state, store, dots, transform, products, update, i, E, step_tol):  # type: ignore[no-untyped-def]
    """Move alpha[i] to its optimum in [0, C_i]; return whether it moved (equation 23)."""
    counts, a, y, curvature = state.counts, state.alpha[i], state.y[i], state.diagonal[i]
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
    if step == 0.0 or abs(step) < step_tol * (new + a + step_tol * state.scalars[UNIT]):
        return False
    change = y * step
    move(state, store, dots, transform, products, update, i, a, new, E)
    m = counts[NONBOUND]
    if state.weights.size == 0:
        members, errors, row = state.members, state.errors, state.row1
        counts[TOUCHED] += dots(store, i, members, m, row)
        transform(store, i, members, m, row)
        counts[EVALUATIONS] += m
        counts[UPDATES] += m
        for k in range(m):
            errors[k] += change * row[k]
    state.scalars[OBJECTIVE] -= (slope + 0.5 * curvature * step) * step
    state.scalars[DRIFT] += abs(step)
    counts[STEPS] += 1
    return True


@compiled(
    types.int64(STATE, STORE, *CALLS, types.float64, types.int64, types.int64),
)
def passes(state, store, dots, transform, products, update, total, tol, slice_work, step_limit):  # type: ignore[no-untyped-def]
    """Run passes until done, or until a slice or the step limit is used up."""
    counts, alpha, y, scalars = state.counts, state.alpha, state.y, state.scalars
    C, members, weights, one, out = state.C, state.members, state.weights, state.one, state.row1
    n = y.size
    folded = weights.size > 0
    stop_at = counts[TOUCHED] + counts[TICKS] + slice_work
    while True:
        if counts[RENEW_AT] >= 0:
            renew(state, store, dots, transform, products, update, total, stop_at)
            if counts[RENEW_AT] >= 0:
                return RUNNING
        looking = counts[LOOKING] > 0
        while counts[NEXT] < n:
            if counts[STEPS] >= step_limit or counts[TOUCHED] + counts[TICKS] >= stop_at:
                return RUNNING
            i = counts[NEXT]
            if not counts[ALL]:
                at = locate(members, counts[NONBOUND], i, counts[HINT])
                if at == counts[NONBOUND]:
                    counts[NEXT] = n
                    break
                counts[HINT] = at + 1
                i = np.int64(members[at])
            counts[NEXT] = i + 1
            counts[TICKS] += 1
            if folded and counts[ALL]:
                E = bound_error(state, store, dots, transform, products, total, i)
            elif folded:
                one[0] = np.uint32(i)
                counts[TOUCHED] += products(store, weights, one, 1, out)
                counts[EVALUATIONS] += 1
                E = out[0] - y[i]
            elif 0.0 < alpha[i] < C[i]:
                E = error_of(state, store, dots, transform, products, total, i)
            else:
                E = kernel_output(state, store, dots, transform, total, i) - y[i]
            r = E * y[i]
            if looking and alpha[i] > 0.0:
                scalars[W] += alpha[i] * (1.0 - 0.5 * y[i] * (E + y[i]))
            if (r < -tol and alpha[i] < C[i]) or (r > tol and alpha[i] > 0):
                counts[VIOLATORS] += 1
                if looking:
                    continue
                if step_one(state, store, dots, transform, products, update, i, E, scalars[STEP_TOL]):
                    counts[CHANGED] += 1
        if counts[CHANGED] > 0 and counts[POLISH_AT] <= counts[STEPS] < step_limit:
            return ZIGZAGGING
        if counts[ALL]:
            if counts[CHANGED] == 0:
                if counts[LOOKING]:
                    scalars[OBJECTIVE] = scalars[W]
                    counts[LOOKING] = 0
                    if counts[VIOLATORS] > 0:
                        start_pass(state, 1)
                        continue
                if counts[VIOLATORS] == 0 or scalars[STEP_TOL] == 0.0:
                    if not drifted(state):
                        return DONE if counts[VIOLATORS] == 0 else STUCK
                    if not start_renewal(state):
                        return STUCK
                    continue
                counts[RESCUES] += 1
                scalars[STEP_TOL] = 0.01 * scalars[STEP_TOL] if scalars[STEP_TOL] > 1e-16 else 0.0
                start_pass(state, 1)
            else:
                start_pass(state, 0)
        else:
            start_pass(state, 0 if counts[CHANGED] > 0 else 1)


def advance(run: Run, work: int, step_limit: int) -> str | None:
    """Go on for about ``work`` entries read; return a status when the run has ended."""
    return advance_by(passes, free_set_cg, run, work, step_limit)
