"""The helper threads of a run over pairs: how many there are, how they begin and end.

Their work is in :mod:`svmrepro.solvers.decomposition.threads.team`.

Helpers are called when a slice begins, and end by themselves when there has been nothing to do for some 20
milliseconds: because the active set is small, or the run has ended, was interrupted, raised, or was left
behind in the parent process by a fork. They need not be stopped, and without any the solving thread does
everything.
"""

from __future__ import annotations

import threading
import time
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import typeof
from svmrepro.solvers.caches.feature_columns import Panel
from svmrepro.solvers.caches.lru import CACHES, Counts
from svmrepro.solvers.compilation.atomics import COMPILED
from svmrepro.solvers.compilation.compiled import compiled_for
from svmrepro.solvers.compilation.processor import processors
from svmrepro.solvers.compilation.records import with_copies, zeroed
from svmrepro.solvers.decomposition import _second_order_iteration as second_order_iteration
from svmrepro.solvers.decomposition._fixed_gradient import EXAMPLE
from svmrepro.solvers.decomposition._pair_state import allocate
from svmrepro.solvers.decomposition.threads import team
from svmrepro.solvers.storage.stores import Store

if TYPE_CHECKING:
    from svmrepro.solvers.decomposition.second_order import SecondOrderRun


class SharedLoops(NamedTuple):
    """The compiled loops for several threads."""

    iterate: Any
    share: Any
    assist: Any


@cache
def loops_for(precision: str, fixed: bool) -> SharedLoops:
    """Return the loops for rows of a given precision, loaded at the first call.

    ``fixed``: whether the gradient is in fixed point.
    """
    kind = CACHES[precision]
    example = EXAMPLE if fixed else allocate(np.ones(1), np.ones(1), 1, 1)
    state = typeof(team.with_team(example, team.allocate(2, 2, 1)))
    return SharedLoops(
        compiled_for(
            second_order_iteration.iterate, second_order_iteration.signature(kind, state), nogil=True
        ),
        compiled_for(team.share_rarely, team.signature_of_share(state, kind), nogil=True),
        compiled_for(team.assist, team.signature_of_assist(state, kind), nogil=True),
    )


class Helpers:
    """The helpers of a run.

    Attributes
    ----------
    state : PairState
        The run's, with the team.
    """

    def __init__(self, run: SecondOrderRun, threads: int, precision: str, least: int) -> None:
        self._run: SecondOrderRun = weakref.proxy(run)  # a cycle would keep an interrupted run's rows
        # Another Python thread may solve the same problem meanwhile: the loops do not hold the lock.
        run.panel, run.store = with_own_workspace(run.panel), with_own_scratch(run.store)
        self.team = team.allocate(run.problem.n, min(threads, processors()), least)
        self.state = team.with_team(run.iterated, self.team)
        self._loops = loops_for(precision, run.iterated is not run.state)
        parts = self.team.at.size
        self._threads: list[threading.Thread | None] = [None] * parts
        self._seconds = [0.0] * parts

    def called(self) -> Any:
        """Start the missing helpers; return the loop that divides its passes."""
        if COMPILED:
            self.team.words[team.ENDS] = 0
            for part in range(1, len(self._threads)):
                thread = self._threads[part]
                if thread is None or not thread.is_alive():
                    thread = threading.Thread(
                        target=self._help,
                        args=(part, *self._arguments()),
                        name=f"svmrepro-{part}",
                        daemon=True,
                    )
                    try:
                        thread.start()
                    except RuntimeError:  # no more threads can be started: the existing ones do all parts
                        break
                    self._threads[part] = thread
        return self._loops.iterate

    def dismiss(self) -> None:
        """End the helpers and wait for them."""
        self.team.words[team.ENDS] = 1
        for thread in self._threads:
            if thread is not None:
                thread.join()

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the helpers that have ended."""
        return sum(self._seconds)

    def subtract_rows(
        self, G: Any, positions: Any, changes: Any, begin: int, last: int, at: int, work: int, fixed: bool
    ) -> int:
        """Subtract kernel rows as :meth:`SecondOrderRun.subtract_rows` does; return -1 when all are done."""
        shared, count, whole = self.team, positions.size, G is not self._run.state.G
        if at == 0:
            shared.positions[:count], shared.changes[:count], shared.at[:] = positions, changes, 0
            if whole:
                shared.whole[begin:last] = G[begin:last]
        self._share(team.SUBTRACT, begin, last, count, int(fixed), work, 1.0 if whole else 0.0)
        if (shared.at >= 0).any():
            return 1
        if whole:
            G[begin:last] = shared.whole[begin:last]
        return -1

    def rearrange_rows(self, pairs: Any) -> None:
        """Apply a change of order to the rows of the cache."""
        self.team.pairs[: len(pairs)] = pairs
        self._share(team.EXCHANGE, 0, int(self._run.cache.counts.slots), 0, len(pairs), 0, 0.0)

    def _share(self, *job: float) -> None:
        """Do a pass that takes long."""
        self.called()
        run = self._run
        self._loops.share(self.state, run.cache, run.store, run.panel, run.block, run.shape, *job)

    def _help(self, part: int, *arguments: Any) -> None:
        """Help, in a thread."""
        begin = time.thread_time()
        self._loops.assist(part, *arguments)
        self._seconds[part] += time.thread_time() - begin

    def _arguments(self) -> tuple[Any, ...]:
        """Return the arrays of the run, with counts and workspace for another thread."""
        run = self._run
        cache = run.cache._replace(counts=zeroed(Counts))
        panel = with_own_workspace(run.panel)
        store = with_own_scratch(run.store)
        return team.for_helper(self.state), cache, store, panel, run.block, run.shape


def with_own_scratch(store: Store) -> Store:
    """Return a store of the same examples for another thread."""
    return with_copies(store, "scratch", "scratch2")


def with_own_workspace(panel: Panel) -> Panel:
    """Return a panel of the same examples for another thread."""
    tiles = with_copies(
        panel.tiles, "dots", "part", "powers", "own", "own_levels", "own_scaled", "used", "added", "mates",
        "slots", "worst",
    )  # fmt: skip
    bits = with_copies(panel.bits, "starts", "sums")
    return with_copies(panel, "distances")._replace(bits=bits, tiles=tiles)
