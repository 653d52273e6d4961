r"""The computation of the gradient anew: of examples that return, and in double precision at the end.

The end of a run whose rows are in single precision needs the gradient in double precision where it counts.
With rows whose entries are wrong by at most e, an entry of the gradient is wrong by at most
``b = e sum_i |beta_i|``, if every use of a row sees the same entries; one that was exact before, by at most
e times the changes of all multipliers since then. An example whose gradient is more than
2 b away from both extremes is therefore none of the true extremes. When the gap has closed, the gradient of
all others is computed in double precision from all multipliers. It gives the true gap: the run ends, or goes
on from there. After a few such rounds, it goes on in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import types
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.caches.feature_columns import build_panel
from svmrepro.solvers.caches.single_rows import part_of
from svmrepro.solvers.compilation.compiled import compiled, direct
from svmrepro.solvers.decomposition._gradient_rows import subtract_sums
from svmrepro.solvers.decomposition._pair_selection import DOWN, UP
from svmrepro.solvers.decomposition._pair_state import ROUNDING, STATE

if TYPE_CHECKING:
    from svmrepro.solvers.decomposition.second_order import SecondOrderRun

_subtract_sums = direct(subtract_sums)
REFINE = -3  # reason to compute the gradient, besides those of `second_order`
ROUNDS = 3
MARGIN = 1.0 / 32.0  # of eps, by which the gap is closed further than required


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
        self.at = run.subtract_rows(
            self.G, self.positions, self.changes, self.begin, run.problem.n, self.at, work, self.row
        )
        if self.at >= 0:
            return False
        run.state.G[self.begin :] = self.G[self.begin :]
        return True


class Refinement:
    """The computation in double precision of the gradient near its extremes, in slices.

    Attributes
    ----------
    why
        REFINE, see :class:`PairRestoring`.
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
        self.at, entries, touched = _subtract_sums(
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
