r"""Recomputation of the gradient: for examples that return, and in double precision at the end.

The end of a run whose rows are in single precision needs the gradient in double precision where it counts.
With rows whose entries are wrong by at most e, an entry of the gradient is wrong by at most
``b = e sum_i |beta_i|``, if every use of a row sees the same entries; one that was exact before, by at most e
times the changes of all multipliers since then. An example whose gradient is more than 2 b away from both
extremes can therefore not be a true extreme. When the gap has closed, the gradient of all others is computed
in double precision from all multipliers. It gives the true gap: the run ends, or continues from there. After
a few such rounds, it continues in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.feature_columns import build_panel
from svmrepro.solvers.caches.single_rows import part_of
from svmrepro.solvers.compilation.compiled import compiled, direct
from svmrepro.solvers.decomposition._gradient_rows import fixed_error
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import ROUNDING, STATE, PairState

if TYPE_CHECKING:
    from svmrepro.solvers.decomposition.second_order import SecondOrderRun

_error_of_sums = direct(fixed_error)
REFINE = -3  # reason to compute the gradient, besides those of `second_order`
ROUNDS = 3
_SHARE = 0.1  # of eps that the error in fixed point may reach here; steps may raise it to an eighth
_LEAVERS = 0.125  # share of the active examples that have to leave for another snapshot
FEWEST = 1000  # examples; with fewer, neither snapshots nor sums in fixed point gain anything
MARGIN = 1.0 / 16.0  # of eps, by which the gap is closed further than required


class Snapshot(NamedTuple):
    """Multipliers and gradient of the active examples, before some of them leave."""

    examples: Any  # int64
    beta: Any
    G: Any


class Leavers:
    """The examples outside the active set, and their gradient at earlier multipliers.

    Those that left together lie together behind the active ones. Their entries of G in the state belong to
    the multipliers of a snapshot: only the rows of what has changed since then are subtracted from them.

    Attributes
    ----------
    groups : list of (int, int, Snapshot)
        First position, end, and snapshot of examples that left after it was taken.
    often : bool
        Whether a snapshot is taken each time the active set has become much smaller, so that fewer rows are
        needed. Otherwise there is one, of all examples, as in LIBSVM.
    """

    def __init__(self, often: bool) -> None:
        self.often = often
        self.groups: list[tuple[int, int, Snapshot]] = []

    def before(self, state: PairState, order: Any) -> None:
        """Take a snapshot if it pays, before the marked examples leave; ``order`` is the panel's."""
        m = int(state.scalars.n_active)
        if self.groups:
            last, few = self.groups[-1][2].examples.size, state.scalars.leavers <= _LEAVERS * m
            if not self.often or (few and m > (1.0 - _LEAVERS) * last):
                return
        snapshot = Snapshot(order[:m].astype(np.int64), state.beta[:m].copy(), state.G[:m].copy())
        self.groups.append((m, m, snapshot))

    def after(self, state: PairState, order: Any) -> None:
        """Set the gradient of the examples that have just left to that of the last snapshot."""
        first, end, snapshot = self.groups[-1]
        m = int(state.scalars.n_active)
        if first < end:  # else it is the current one
            G = np.empty(order.size)
            G[snapshot.examples] = snapshot.G
            state.G[m:first] = G[order[m:first]]
        self.groups[-1] = m, end, snapshot

    def back(self, state: PairState, begin: int) -> tuple[Any, list[MissingRows]]:
        """Return a gradient, and the rows whose subtraction makes it current from ``begin`` on.

        If ``begin`` is 0, it is computed from all multipliers.
        """
        groups, self.groups = self.groups, []
        if begin:
            known = [MissingRows(first, last, *_changes(state, then)) for first, last, then in groups]
            # The gap of a run may be nearly closed when no example is outside.
            nothing = MissingRows(begin, begin, np.zeros(0, dtype=np.int64), np.zeros(0))
            return state.G, known or [nothing]
        positions = np.flatnonzero(state.beta)
        return state.y.copy(), [MissingRows(0, state.y.size, positions, state.beta[positions])]


class MissingRows(NamedTuple):
    """Rows to subtract from a part of the gradient.

    Attributes
    ----------
    first, last : int
        Its first position and its end.
    positions, changes : ndarray
        The multipliers that have changed since it was known, and by how much.
    """

    first: int
    last: int
    positions: Any
    changes: Any


class PairReconstruction:
    """The computation of G from a position on, in slices.

    Attributes
    ----------
    G
        Output: the end of the gradient itself, or an array that replaces the gradient once it is complete.
    at
        Progress in the last of ``parts``.
    parts : list of MissingRows
        The parts that remain.
    why
        The reason: BEGIN, NEARLY, CONVERGED or RENEW.
    error : float
        Bound on the error of sums in fixed point; 0.0 if they are in double precision.
    """

    def __init__(self, run: SecondOrderRun, begin: int, why: int) -> None:
        self.begin, self.why, self.at = begin, why, 0
        self.row = np.empty(run.problem.n)
        self.G, self.parts = run.leavers.back(run.state, begin)
        self.error = self._fixed_error(run)

    def _fixed_error(self, run: SecondOrderRun) -> float:
        """Return a bound on the error of sums in fixed point, or 0.0 if double precision is needed."""
        if not (self.begin and run.sums_are_fixed):
            return 0.0
        error = max(_error_of_sums(part.changes, run.largest) for part in self.parts)
        finite = all(np.isfinite(np.abs(part.changes).sum() * run.largest) for part in self.parts)
        return error if finite and run.state.scalars.error + error <= _SHARE * run.eps else 0.0

    def advance(self, run: SecondOrderRun, work: int) -> bool:
        """Continue for about ``work`` entries read; return whether it is done."""
        first, last, positions, changes = self.parts[-1]
        self.at = run.subtract_rows(
            self.G, positions, changes, first, last, self.at, work, self.row, self.error > 0.0
        )
        if self.at >= 0:
            return False
        self.parts.pop()
        self.at = 0
        if self.parts:
            return False
        run.state.scalars.error += self.error
        run.state.G[self.begin :] = self.G[self.begin :]
        return True


def _changes(state: PairState, then: Snapshot) -> tuple[Any, Any]:
    """Return the positions of the multipliers that have changed since a snapshot, and by how much."""
    positions = state.position[then.examples]
    changes = state.beta[positions] - then.beta
    changed = np.flatnonzero(changes)
    changed = changed[np.argsort(positions[changed])]
    return positions[changed], changes[changed]


class Refinement:
    """The computation in double precision of the gradient near its extremes, in slices.

    Attributes
    ----------
    why
        REFINE, see :class:`PairReconstruction`.
    places : ndarray of int64
        The positions of the examples near the extremes, first those of the ``shared`` support vectors.
    examples : ndarray of int64
        The examples there.
    changes : ndarray of float64
        All multipliers that are not 0, in the order of ``places`` where they are there; the panel is of their
        examples.
    """

    def __init__(self, run: SecondOrderRun) -> None:
        state, order = run.state, run.panel.order
        self.why, self.at = REFINE, 0
        places, changed = np.empty((2, run.problem.n), dtype=np.int64)
        self.shared, near, count = _near_extremes(state, 2.0 * gradient_error(run), places, changed)
        self.places, changed = places[:near], changed[:count]
        self.panel = part_of(run.panel, run.problem.layout("panel", build_panel), changed)
        self.examples = order[self.places].astype(np.int64)
        self.changes = state.beta[changed]
        self.G = state.y[self.places]
        self.row = np.empty(STRETCH)

    def advance(self, run: SecondOrderRun, work: int) -> bool:
        """Continue for about ``work`` entries read; return whether it is done."""
        counts = run.cache.counts
        self.at, entries, touched = run.loops.subtract_sums(
            self.G, run.store, self.panel, run.block, run.shape, self.examples, self.changes,
            self.shared, self.at, work, self.row,
        )  # fmt: skip
        counts.touched += touched
        counts.entries += entries
        if self.at < self.examples.size:
            return False
        run.state.G[self.places] = self.G
        if not run.mixed:
            run.mixed, run.drift_then = True, float(run.state.scalars.drift)
        return True


def gradient_error(run: SecondOrderRun) -> float:
    """Return the bound b on the error of the gradient of a run whose rows are rounded."""
    state = run.state
    scalars = state.scalars
    changes = float(np.abs(state.beta).sum())
    if run.mixed:  # some entries come from elsewhere, and have been updated by two rows a step since then
        changes = max(changes, 2.0 * (float(scalars.drift) - run.drift_then))
    rounding = run.largest * (run.rounding * changes + ROUNDING * float(scalars.drift))
    return rounding + float(scalars.noise)


@compiled(forceinline=True)
def _is_near(status, slope, top, bottom):
    return ((status & UP) != 0 and slope >= top) or ((status & DOWN) != 0 and slope <= bottom)


@compiled(types.UniTuple(types.int64, 3)(STATE, types.float64, types.int64[::1], types.int64[::1]))
def near_extremes(state, bound, places, changed):
    """Find all examples whose true gradient may be an extreme, and all whose multiplier is not 0.

    ``bound`` is twice that on the error of the gradient. The positions are written to ``places`` and to
    ``changed``. Both begin with those of the examples that are in both. Returns the numbers of these, of
    ``places`` and of ``changed``.
    """
    G, beta, status = state.G, state.beta, state.status
    top, bottom = state.scalars.g_max - bound, state.scalars.g_min + bound
    shared = 0
    for k in range(G.size):
        if beta[k] != 0.0 and _is_near(status[k], G[k], top, bottom):
            places[shared] = changed[shared] = k
            shared += 1
    near_count = count = shared
    for k in range(G.size):
        near = _is_near(status[k], G[k], top, bottom)
        if near and beta[k] == 0.0:
            places[near_count] = k
            near_count += 1
        elif not near and beta[k] != 0.0:
            changed[count] = k
            count += 1
    return shared, near_count, count


_near_extremes = direct(near_extremes)
