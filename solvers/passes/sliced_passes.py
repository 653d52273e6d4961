"""Passes of cutting-plane runs, in slices of rows; on a cluster, a slice takes rows of every block.

With several threads, a pass is divided into as many parts, each with a sum of its own. The parts and the
order in which their sums are added depend only on the requested number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.dask_blocks import Spread
from svmrepro.solvers.passes.row_threads import RowThreads
from svmrepro.solvers.solution import Vector

#: Takes a part's number, and a block with its first and last row; returns entries read, and violators found.
Visit: TypeAlias = Callable[[int, row_passes.Block, int, int], tuple[int, int]]

_LEAST = 20_000  # entries from which on a slice of a part is worth handing to a thread
_MOST_PARTS = 64  # each has a sum as long as w


class Weights:
    """The weights of the examples' losses relative to the largest; equal weights cost nothing.

    Attributes
    ----------
    C : float
        The bound of all examples, or the largest one.
    shares : ndarray
        ``C_i / C``, shape (n,); a single one, shape (1,), if all are equal.
    whole : float
        Sum of the shares over the examples, so that ``C * whole`` is the weight of the mean loss.
    """

    def __init__(self, problem: Any) -> None:
        bounds = problem.bounds
        self.C = float(bounds.max())
        self.same = bool((bounds == self.C).all())
        self.shares = np.ones(1) if self.same else bounds / self.C
        self.whole = float(bounds.size if self.same else self.shares.sum())

    def signed(self, y: Vector) -> Vector:
        """Return ``y_i C_i / C``, shape (n,)."""
        return y if self.same else y * self.shares


class Violators:
    """The rows that violate their margin, as c in {0, 1}^n, and the weighted sum of their ``y_i x_i``.

    There are d features; the rows are added up in ``parts`` sums.
    """

    def __init__(self, y: Vector, d: int, weights: Weights, parts: int = 1) -> None:
        self.y, self.signed, self._weights = y, weights.signed(y), weights
        self.c = np.zeros(y.size, dtype=np.int8)
        self.sums = np.zeros((parts, d + 1))
        self.count = self.age = 0
        self.renew = False
        self.workspaces = np.zeros((parts, 64))

    def begin(self) -> None:
        """Begin a pass; every ``RENEW`` passes the sum is recomputed."""
        self.count, self.renew = 0, self.age % row_passes.RENEW == 0
        self.age += 1
        if self.renew:
            self.sums[:] = 0.0

    def changed(self, f: Vector) -> Vector:
        """Update c for scores f; return the change of each row's coefficient in the sum."""
        new = (self.y * f < 1.0 - row_passes.TIE).astype(np.int8)
        old = np.int8(0) if self.renew else self.c
        change = self.signed * (new - old)
        self.c[:] = new
        self.count += int(np.count_nonzero(new))
        return change

    def plane(self) -> tuple[Vector, float]:
        """Return the plane's normal, shape (d + 1,), and its offset."""
        weights = self._weights
        weight = float(self.count) if weights.same else float(weights.shares @ self.c)
        return self.sums.sum(axis=0) / weights.whole, weight / weights.whole


class SlicedPasses:
    """Passes over the rows of all blocks, divided among some threads, and their cost so far.

    Several threads raise ValueError if the examples are on a cluster.

    Attributes
    ----------
    touched : int
        Entries read.
    at : int
        The row at which a pass continues, counted in the longest part; the others are at the same share.
    parts : int
        In how many parts a pass is divided, of consecutive rows with about as many entries each.
    threads : RowThreads
        The threads, and their time.
    """

    def __init__(self, problem: Any, threads: int = 1) -> None:
        self.layout = row_passes.layout_of(problem)
        self.n = problem.n
        self.at = self.touched = 0
        self._scores, self._add = row_passes.passes_of(self.layout.storage)
        self._entries_a_row = max(self.layout.entries / problem.n, 1.0)
        self._spread: Spread | None = problem.X if isinstance(problem.X, Spread) else None
        self._change: Vector | None = None  # on a cluster, the coefficients of the current sum
        if self._spread is not None:
            self._spread.done = 0.0
            if threads > 1:
                raise ValueError("threads must be 1 for examples on a cluster: its workers divide the passes")
        self._borders = _borders(self.layout, self.n, min(threads, self.n, _MOST_PARTS))
        self.parts = len(self._borders) - 1
        self._longest = max(last - first for first, last in pairwise(self._borders))
        self.threads = RowThreads(self.parts)

    def score(self, w: Vector, f: Vector, work: int) -> bool:
        """Continue ``f = X w`` for about ``work`` entries; return whether the pass is complete."""
        if self._spread is not None:
            read, over = self._spread.scores(w, f, self._share(work))
            self.touched += read
            return over

        def visit(part: int, block: row_passes.Block, first: int, last: int) -> tuple[int, int]:
            out = f[block.first + first : block.first + last]
            return self._scores(block.store, w, first, last, out), 0

        self._visit(work, visit)
        return self._over()

    def add(self, coefficients: Vector, sums: Vector, work: int) -> bool:
        """Continue adding ``X' coefficients`` to ``sums``, shape (parts, d + 1); return whether all is."""
        if self._spread is not None:
            read, over = self._spread.add(coefficients, sums[0], self._share(work))
            self.touched += read
            return over

        def visit(part: int, block: row_passes.Block, first: int, last: int) -> tuple[int, int]:
            some = coefficients[block.first + first : block.first + last]
            return self._add(block.store, some, first, last, sums[part]), 0

        self._visit(work, visit)
        return self._over()

    def mend(self, found: Violators, f: Vector, work: int) -> bool:
        """Continue updating the sums of the margin violators at scores f; return whether that is complete."""
        if self._spread is not None:
            if self._change is None:
                self._change = found.changed(f)
            over = self.add(self._change, found.sums, work)
            if over:
                self._change = None
            return over

        def visit(part: int, block: row_passes.Block, first: int, last: int) -> tuple[int, int]:
            rows = slice(block.first, block.last)
            touched, count = row_passes.mend_hinge(
                block.store, self._add, found.y[rows], found.signed[rows], found.c[rows], found.renew, first,
                last, f[rows], found.workspaces[part], found.sums[part],
            )  # fmt: skip
            return touched, count

        found.count += self._visit(work, visit)
        return self._over()

    def both(self, w: Vector, found: Violators, f: Vector, work: int) -> bool:
        """Continue scores and sums of violators in one pass; return whether it is complete."""
        if self._spread is not None:
            # First the scores of all rows, then the sum over the violators.
            if self._change is None and not self.score(w, f, work):
                return False
            return self.mend(found, f, work)

        def visit(part: int, block: row_passes.Block, first: int, last: int) -> tuple[int, int]:
            rows = slice(block.first, block.last)
            touched, count = row_passes.score_and_mend(
                block.store, self._scores, self._add, w, found.y[rows], found.signed[rows], found.c[rows],
                found.renew, first, last, f[rows], found.workspaces[part], found.sums[part],
            )  # fmt: skip
            return touched, count

        found.count += self._visit(work, visit)
        return self._over()

    def _share(self, work: int) -> float:
        """Return the share of a pass on a cluster that amounts to ``work`` entries for each worker."""
        assert self._spread is not None
        return work * self._spread.workers / max(self.layout.entries, 1)

    def _visit(self, work: int, visit: Visit) -> int:
        """Visit the next ``work`` entries, and as many of each further part; return the violators found."""
        entries_a_row = self._entries_a_row * self.n / (self.parts * self._longest)  # of the longest part
        until = min(self.at + max(int(work / entries_a_row), 64), self._longest)

        def one(part: int) -> tuple[int, int]:
            touched = count = 0
            for block, first, last in self._pieces(part, until):
                read, violators = visit(part, block, first, last)
                touched += read
                count += violators
            return touched, count

        results = self.threads.run(one, (until - self.at) * entries_a_row >= _LEAST)
        self.at = until
        self.touched += sum(touched for touched, _ in results)
        return sum(count for _, count in results)

    def _pieces(self, part: int, until: int) -> Iterator[tuple[row_passes.Block, int, int]]:
        """Yield a part's next rows as blocks, each with a first and a last row."""
        begin, end = self._borders[part], self._borders[part + 1]
        first, last = (begin + (end - begin) * at // self._longest for at in (self.at, until))
        for block in self.layout.blocks:
            if block.first < last and first < block.last:
                yield block, max(first, block.first) - block.first, min(last, block.last) - block.first

    def _over(self) -> bool:
        """Tell whether the pass is complete; if so, reset for the next one."""
        if self.at < self._longest:
            return False
        self.at = 0
        return True


def _borders(layout: row_passes.Layout, n: int, parts: int) -> list[int]:
    """Return the first row of each part, and the number n of rows; no part is empty."""
    if parts == 1:
        return [0, n]
    rows = [row_passes.entries_by_row(block) for block in layout.blocks]
    before = np.cumsum(np.concatenate(rows) + 1)  # a row without entries takes time, too
    borders = [0]
    for part in range(1, parts):
        border = int(np.searchsorted(before, before[-1] * part // parts, side="right"))
        borders.append(min(max(border, borders[-1] + 1), n - parts + part))
    return [*borders, n]
