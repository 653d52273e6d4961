r"""Multipliers to start from, by dual coordinate descent, for wide and sparse linear problems.

A step on a pair costs two kernel rows, so two passes over all examples; a step on one multiplier costs one
example (Hsieh et al. 2008). On documents, whose examples are nearly orthogonal, some twenty sweeps of such
steps leave nothing to do for the pairs. On examples with few features they take hundreds.

The bias demands ``s = sum_i y_i alpha_i = 0``. By the method of multipliers (Hestenes 1969, Powell 1969)
sweeps minimise

    1/2 w.w - sum_i alpha_i + b s + rho/2 s^2    over 0 <= alpha_i <= C_i,

and after each of them b grows by rho s; at the end it is the bias. What remains of s is then taken off the
free multipliers. The descent ends when the projected gradients of a sweep over all examples are within a
quarter of eps of each other, or after a number of sweeps. In either case the pairs continue from its
multipliers, and judge the result. From given multipliers, b starts at the bias that they have; if they are
optimal, there is no sweep.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.coordinate_steps import ALPHA, LABEL, STORAGES, C, SweepState, sweep, table
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import Vector

_DENSEST = 0.01  # share of stored entries up to which the descent is tried
_PENALTY = 0.1  # the share of the mean squared norm in rho
_TIGHTER = 0.25  # tolerance on the gradients, as a share of eps
_BALANCED = 0.05  # share of eps by which taking s off may change a gradient
# Sweeps before the descent gives up: as many as kernel rows that the pairs would need in any case.
_LEAST_SWEEPS, _SHARE = 50, 0.05

prepare = row_passes.prepare


def pays(problem: Problem) -> bool:
    """Tell whether a problem is linear, sparse and wide enough."""
    X = problem.X
    sparse = problem.kernel.name == "linear" and problem.storage in ("csr", "index") and sp.issparse(X)
    finite = math.isfinite(float(problem.bounds.sum()))  # s and rho are sums of multipliers
    return bool(sparse and finite and X.nnz <= _DENSEST * problem.n * problem.d)


class CoordinateStart:
    """A descent in progress, from given multipliers or from 0."""

    def __init__(self, problem: Problem, eps: float, given: Vector | None) -> None:
        n = problem.n
        layout = row_passes.layout_of(problem)
        store = layout.blocks[0].store
        alpha = np.zeros(n) if given is None else given
        self.tolerance, self.most = eps, max(_LEAST_SWEEPS, int(_SHARE * n))
        self.examples = table(problem, store, alpha)
        self.length = math.sqrt(float(store.norms.max()))
        v = np.zeros(problem.d + 1)
        bias, self.optimal = 0.0, False
        if given is not None:
            scores, add = row_passes.passes_of(layout.storage)
            add(store, problem.y * alpha, 0, n, v)
            v[problem.d] = 0.0  # where index lists are padded
            G = np.empty(n)
            scores(store, v, 0, n, G)
            np.subtract(problem.y, G, out=G)
            above, below = alpha < problem.bounds, alpha > 0.0
            top = G[np.where(problem.y > 0.0, above, below)].max(initial=-math.inf)
            bottom = G[np.where(problem.y > 0.0, below, above)].min(initial=math.inf)
            bias = 0.5 * (top + bottom) if math.isfinite(top + bottom) else 0.0
            self.optimal = bool(top - bottom <= eps)
        order, random = np.arange(n, dtype=np.uint32), np.zeros(1, dtype=np.uint64)
        self.state = state = zeroed(SweepState)
        # |s| is at most sum C, so that a small C would move b by little in a sweep without the second term.
        state.penalty = _PENALTY * float(store.norms.mean()) + 1.0 / float(problem.bounds.sum())
        state.bias, state.imbalance = bias, math.fsum(problem.y * alpha)
        self.calls = store, STORAGES[layout.storage], self.examples, v, np.zeros_like(v), order, random, state
        self.whole = True  # whether the sweep visits all examples
        self.everyone()

    @property
    def sweeps(self) -> int:
        """Sweeps so far."""
        return int(self.state.sweeps)

    def everyone(self) -> None:
        """Begin a sweep over all examples."""
        self.state.active = len(self.examples)
        self.state.above, self.state.below = math.inf, -math.inf

    def advance(self, work: int, step_limit: int) -> bool:
        """Continue for about ``work`` entries read, up to a number of sweeps; return whether it is done."""
        state = self.state
        if self.optimal:
            return True
        if state.at == 0:
            self.whole = state.active == len(self.examples)
        if not sweep(*self.calls, True, 0.0, 0, work, min(step_limit, self.most)):
            return self.sweeps >= self.most
        state.bias += state.penalty * state.imbalance
        spread = max(float(state.largest), 0.0) - min(float(state.smallest), 0.0)
        done = spread <= _TIGHTER * self.tolerance
        done = done and abs(state.imbalance) * self.length**2 <= _BALANCED * self.tolerance
        if done and not self.whole:
            self.everyone()
        return (done and self.whole) or self.sweeps >= self.most

    def multipliers(self) -> Vector | None:
        """Return multipliers with ``sum_i y_i alpha_i = 0``, shape (n,); None if there are none nearby."""
        alpha, y, most = self.examples[:, ALPHA].copy(), self.examples[:, LABEL], self.examples[:, C]
        off = math.fsum(y * alpha)
        room = np.where(y * off > 0.0, alpha, most - alpha)
        free = room * ((alpha > 0.0) & (alpha < most))
        if free.sum() >= abs(off):  # otherwise some at a bound have to move, too
            room = free
        if off != 0.0:
            alpha -= y * room * (off / max(float(room.sum()), abs(off)))
            np.clip(alpha, 0.0, most, out=alpha)
        # What rounding has left is taken off one of them.
        widest = int(np.minimum(alpha, most - alpha).argmax())
        alpha[widest] = min(max(alpha[widest] - y[widest] * math.fsum(y * alpha), 0.0), most[widest])
        return alpha if np.isfinite(alpha).all() else None
