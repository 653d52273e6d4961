"""Passes of cutting-plane runs, in slices of rows; on a cluster, a slice takes rows of every block."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.passes.dask_blocks import Spread

Vector = npt.NDArray[np.float64]


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

    Parameters
    ----------
    y : ndarray, shape (n,)
        Labels.
    d : int
        Number of features.
    weights : Weights
        Weights of the rows.
    """

    def __init__(self, y: Vector, d: int, weights: Weights) -> None:
        self.y, self.signed, self._weights = y, weights.signed(y), weights
        self.c = np.zeros(y.size, dtype=np.int8)
        self.g = np.zeros(d + 1)
        self.count = self.age = 0
        self.renew = False
        self.workspace = np.zeros(64)

    def begin(self) -> None:
        """Begin a pass; every ``RENEW`` passes the sum is recomputed."""
        self.count, self.renew = 0, self.age % row_passes.RENEW == 0
        self.age += 1
        if self.renew:
            self.g[:] = 0.0

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
        return self.g / weights.whole, weight / weights.whole


class SlicedPasses:
    """Passes over the rows of all blocks, and their cost so far.

    Parameters
    ----------
    problem : Problem
        The problem.

    Attributes
    ----------
    touched : int
        Entries read.
    at : int
        The row at which a pass continues.
    """

    def __init__(self, problem: Any) -> None:
        self.layout = row_passes.prepare(problem)
        self.n = problem.n
        self.at = self.touched = 0
        self._scores, self._add = row_passes.KERNELS[self.layout.storage]
        self._entries_a_row = max(self.layout.entries / problem.n, 1.0)
        self._spread: Spread | None = problem.X if isinstance(problem.X, Spread) else None
        self._change: Vector | None = None  # on a cluster, the coefficients of the current sum
        if self._spread is not None:
            self._spread.done = 0.0

    def score(self, w: Vector, f: Vector, work: int) -> bool:
        """Continue ``f = X w`` for about ``work`` entries; return whether the pass is complete."""
        if self._spread is not None:
            read, over = self._spread.scores(w, f, self._share(work))
            self.touched += read
            return over
        for block, first, last in self._pieces(work):
            out = f[block.first + first : block.first + last]
            self.touched += self._scores(block.store, w, first, last, out)
        return self._over()

    def add(self, coefficients: Vector, g: Vector, work: int) -> bool:
        """Continue ``g += X' coefficients``; return whether the pass is complete."""
        if self._spread is not None:
            read, over = self._spread.add(coefficients, g, self._share(work))
            self.touched += read
            return over
        for block, first, last in self._pieces(work):
            part = coefficients[block.first + first : block.first + last]
            self.touched += self._add(block.store, part, first, last, g)
        return self._over()

    def mend(self, found: Violators, f: Vector, work: int) -> bool:
        """Continue updating the sum of the margin violators at scores f; return whether it is complete."""
        if self._spread is not None:
            if self._change is None:
                self._change = found.changed(f)
            over = self.add(self._change, found.g, work)
            if over:
                self._change = None
            return over
        for block, first, last in self._pieces(work):
            rows = slice(block.first, block.last)
            touched, count = row_passes.mend_hinge(
                block.store, self._add, found.y[rows], found.signed[rows], found.c[rows], found.renew, first,
                last, f[rows], found.workspace, found.g,
            )  # fmt: skip
            self.touched += touched
            found.count += count
        return self._over()

    def both(self, w: Vector, found: Violators, f: Vector, work: int) -> bool:
        """Continue scores and sum of violators in one pass; return whether it is complete."""
        if self._spread is not None:
            # First the scores of all rows, then the sum over the violators.
            if self._change is None and not self.score(w, f, work):
                return False
            return self.mend(found, f, work)
        for block, first, last in self._pieces(work):
            rows = slice(block.first, block.last)
            touched, count = row_passes.score_and_mend(
                block.store, self._scores, self._add, w, found.y[rows], found.signed[rows], found.c[rows],
                found.renew, first, last, f[rows], found.workspace, found.g,
            )  # fmt: skip
            self.touched += touched
            found.count += count
        return self._over()

    def _share(self, work: int) -> float:
        """Return the share of a pass on a cluster that amounts to ``work`` entries for each worker."""
        assert self._spread is not None
        return work * self._spread.workers / max(self.layout.entries, 1)

    def _pieces(self, work: int) -> list[tuple[row_passes.Block, int, int]]:
        """Return the next ``work`` entries as blocks, each with a first and a last row."""
        found = []
        left = max(int(work / self._entries_a_row), 64)
        while left > 0 and self.at < self.n:
            block = next(block for block in self.layout.blocks if block.last > self.at)
            last = min(block.last, self.at + left)
            found.append((block, self.at - block.first, last - block.first))
            left -= last - self.at
            self.at = last
        return found

    def _over(self) -> bool:
        """Tell whether the pass is complete; if so, reset for the next one."""
        if self.at < self.n:
            return False
        self.at = 0
        return True
