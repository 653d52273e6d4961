"""Blocks of examples held and read by the workers of a Dask cluster.

This is the parallel out-of-core version that Joachims 2006 proposes in its conclusion. Each block is loaded
by a worker and stays there. A pass sends the worker the weights and receives the block's scores, or sends
coefficients and receives the block's sum of rows. The sums are always added in the order of the blocks, so
the iterates do not depend on the number of workers::

    X = Spread(distributed.Client(n_workers=4), [functools.partial(load, k) for k in range(40)])
    solve(Problem(X, y, C, bias=False), "svmperf")

Nothing here imports Dask; all calls go through the given client (extra ``spread``).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from svmrepro.solvers.solution import Vector
from svmrepro.solvers.storage.blocks import Blocks, loaded, product, transposed_product

Loader = str | os.PathLike[str] | Callable[[], Any]


class Keeper:
    """One block, held by a worker. A pass over it may be cut into consecutive slices of rows.

    Parameters
    ----------
    load : callable or path-like
        Returns the block, see :class:`~svmrepro.solvers.Blocks`; or the path of a saved block.
    """

    def __init__(self, load: Loader) -> None:
        from svmrepro.solvers.passes import row_passes

        blocks = Blocks([loaded(load)])
        self._X = blocks.parts[0]
        self._largest, self._sizes = blocks.radius, blocks.sizes
        self._store = blocks.stores()[0]
        self._scores, self._add = row_passes.passes_of(blocks.storage)
        self._about = (*blocks.shape, blocks.sparse, blocks.single, row_passes.entries_of(self._store))
        self._w, self._g = np.zeros(0), np.zeros(0)

    def about(self) -> tuple[int, int, bool, bool, int]:
        """Return rows, columns, whether it is sparse, whether in single precision, and stored entries."""
        return self._about

    def sizes(self) -> tuple[float, Vector]:
        """Return a bound on the norm of a row, and the sum of the absolute values in each column."""
        return self._largest, self._sizes

    def product(self, w: Vector) -> Vector:
        """Return ``X w`` of the block, shape (rows,), by SciPy, for the certificate, which shares no pass."""
        return product(self._X, w)

    def transposed_product(self, v: Vector) -> Vector:
        """Return ``X' v`` of the block, shape (d,), also by SciPy."""
        return transposed_product(self._X, v)

    def scores(self, w: Vector | None, first: int, last: int) -> tuple[Vector, int]:
        """Return ``X w`` for some rows, and entries read; w None means the weights of the last slice."""
        if w is not None:
            self._w = np.array(w)
        out = np.zeros(last - first)
        return out, int(self._scores(self._store, self._w, first, last, out))

    def add(self, coefficients: Vector, first: int, end: bool) -> tuple[Vector | None, int]:
        """Add rows to ``X' coefficients``; return the sum, shape (d + 1,), if complete, and entries read."""
        if first == 0:
            self._g = np.zeros(self._about[1] + 1)
        last = first + coefficients.size
        read = int(self._add(self._store, np.array(coefficients), first, last, self._g))
        return (self._g if end else None), read


class Spread(Blocks):
    """Blocks that are read by the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    loaders : sequence of callables or paths
        A callable returns a block and is called once, by a worker. A path is that of a saved block, which the
        worker maps into its memory. Rows never pass through the scheduler.

    Raises
    ------
    ValueError
        If a block is invalid, see :class:`~svmrepro.solvers.Blocks`, or differs from the others in type.
    """

    elsewhere = True

    def __init__(self, client: Any, loaders: Sequence[Loader]) -> None:
        if not loaders:
            raise ValueError("Blocks: at least one block is needed")
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        made = [
            client.submit(Keeper, load, actor=True, workers=[workers[k % len(workers)]], pure=False)
            for k, load in enumerate(loaders)
        ]
        self._keepers = [future.result() for future in made]
        about = [keeper.about().result() for keeper in self._keepers]
        if len({entry[1:4] for entry in about}) > 1:
            raise ValueError(
                "Blocks: the blocks differ in their columns or their precision, or some are dense and others "
                "sparse"
            )
        self.parts = ()
        self.sparse, self.single = about[0][2:4]
        self.firsts = np.concatenate(([0], np.cumsum([entry[0] for entry in about])))
        self.shape = (int(self.firsts[-1]), about[0][1])
        self.entries = sum(entry[4] for entry in about)
        found = [keeper.sizes().result() for keeper in self._keepers]
        self.radius = max(radius for radius, _ in found)
        self.sizes = np.sum([sizes for _, sizes in found], axis=0)
        self.workers = len(workers)
        #: Share of each block's rows that the current pass has read.
        self.done = 0.0

    def scores(self, w: Vector, f: Vector, share: float) -> tuple[int, bool]:
        """Continue ``f = X w`` by a share of each block's rows.

        Parameters
        ----------
        w : ndarray, shape (d + 1,)
            Weights.
        f : ndarray, shape (n,)
            Receives the scores of the rows read.
        share : float
            Share of each block's rows, at most 1.

        Returns
        -------
        (int, bool)
            Entries read, and whether the pass is complete.
        """
        pieces, weights = self._pieces(share), w if self.done == 0.0 else None
        read = 0
        for answer, first, last in [(k.scores(weights, a, b), o + a, o + b) for k, o, a, b in pieces]:
            f[first:last], entries = answer.result()
            read += entries
        return read, self._over(share)

    def add(self, coefficients: Vector, g: Vector, share: float) -> tuple[int, bool]:
        """Continue ``g += X' coefficients`` by a share of each block's rows.

        Parameters
        ----------
        coefficients : ndarray, shape (n,)
            A coefficient for each row.
        g : ndarray, shape (d + 1,)
            Receives the sum when the pass is complete.
        share : float
            Share of each block's rows, at most 1.

        Returns
        -------
        (int, bool)
            Entries read, and whether the pass is complete.
        """
        read, end = 0, self.done + share >= 1.0
        for answer in [k.add(coefficients[o + a : o + b], a, end) for k, o, a, b in self._pieces(share)]:
            part, entries = answer.result()
            read += entries
            if part is not None:
                g += part
        return read, self._over(share)

    def _pieces(self, share: float) -> list[tuple[Any, int, int, int]]:
        """Return each keeper with the index of its first row, and the range of its rows that comes next."""
        until = min(self.done + share, 1.0)
        found = []
        for keeper, offset, end in zip(self._keepers, self.firsts, self.firsts[1:], strict=False):
            rows = int(end - offset)
            first = math.ceil(self.done * rows)
            found.append((keeper, int(offset), first, rows if until == 1.0 else math.ceil(until * rows)))
        return found

    def _over(self, share: float) -> bool:
        """Tell whether the pass is complete; if so, reset for the next one."""
        self.done = min(self.done + share, 1.0)
        if self.done < 1.0:
            return False
        self.done = 0.0
        return True

    def stores(self) -> list[Any]:
        """Return an empty list: the blocks are on the workers."""
        return []

    def __matmul__(self, w: Vector) -> Vector:
        asked = [keeper.product(np.asarray(w)) for keeper in self._keepers]
        return np.concatenate([answer.result() for answer in asked])

    def transposed_product(self, v: Vector) -> Vector:
        """Return ``X' v`` for ``v`` of shape (n,): shape (d,), summed in the order of the blocks."""
        bounds = zip(self._keepers, self.firsts, self.firsts[1:], strict=False)
        total = np.zeros(self.shape[1])
        for answer in [keeper.transposed_product(np.asarray(v[a:b])) for keeper, a, b in bounds]:
            total += answer.result()
        return total
