"""Blocks of examples that lie with the workers of a Dask cluster, and are read there.

The parallel out-of-core version that Joachims 2006 proposes in its conclusion. Each block is loaded by a
worker and stays there; a pass sends it the weights and gets its scores, or sends it coefficients and gets its
sum of rows. The sums are added in the order of the blocks, whoever computes them and whenever, so that the
iterates do not depend on the number of workers.

>>> from functools import partial
>>> from distributed import Client  # doctest: +SKIP
>>> X = Spread(Client(n_workers=4), [partial(load, k) for k in range(40)])  # doctest: +SKIP
>>> solve(Problem(X, y, C, bias=False), "svmperf")  # doctest: +SKIP

Nothing here imports Dask: the client that is given does the work (extra ``spread``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.blocks import Blocks, loaded

Vector = npt.NDArray[np.float64]
Loader = str | os.PathLike[str] | Callable[[], Any]


class Keeper:
    """One block, with a worker.

    Parameters
    ----------
    load : callable or path-like
        Returns the block, see :class:`~svmrepro.solvers.Blocks`, or is where it was saved.
    """

    def __init__(self, load: Loader) -> None:
        from svmrepro.solvers import passes

        blocks = Blocks([loaded(load)])
        self._rows, self._X = blocks.shape[0], blocks.parts[0]
        self._largest, self._sizes = blocks.radius, blocks.sizes
        self._store = blocks.stores()[0]
        self._scores, self._add = passes.KERNELS["csr" if blocks.sparse else "dense"]
        self._about = (*blocks.shape, blocks.sparse, passes.entries_of(self._store))

    def about(self) -> tuple[int, int, bool, int]:
        """Return rows, columns, whether it is sparse, and stored entries."""
        return self._about

    def sizes(self) -> tuple[float, Vector]:
        """Return a bound on the length of a row, and the sum of the absolute values in each column."""
        return self._largest, self._sizes

    def product(self, w: Vector) -> Vector:
        """Return ``X w`` of the block, shape (rows,), by SciPy: for the judge, who shares no pass."""
        return np.asarray(self._X @ w).ravel()

    def transposed_product(self, v: Vector) -> Vector:
        """Return ``X' v`` of the block, shape (d,), likewise."""
        return np.asarray(self._X.T @ v).ravel()

    def scores(self, w: Vector) -> tuple[Vector, int]:
        """Return ``X w`` of the block, and entries read."""
        out = np.zeros(self._rows)
        return out, int(self._scores(self._store, np.array(w), 0, self._rows, out))

    def add(self, coefficients: Vector) -> tuple[Vector, int]:
        """Return ``X' coefficients`` of the block, shape (d + 1,), and entries read."""
        g = np.zeros(self._about[1] + 1)
        return g, int(self._add(self._store, np.array(coefficients), 0, self._rows, g))


class Spread(Blocks):
    """Blocks that are read by the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    loaders : sequence of callables or paths
        Each returns a block, and is called by a worker, once; or it is the path of a saved block that the
        worker maps into its memory. Rows do not go through the scheduler.

    Raises
    ------
    ValueError
        If a block is not fit, see :class:`~svmrepro.solvers.Blocks`, or differs from the others in kind.
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
        if len({entry[1:3] for entry in about}) > 1:
            raise ValueError(
                "Blocks: the blocks differ in their columns, or some are dense and others sparse"
            )
        self.parts = ()
        self.sparse = about[0][2]
        self.firsts = np.concatenate(([0], np.cumsum([entry[0] for entry in about])))
        self.shape = (int(self.firsts[-1]), about[0][1])
        self.entries = sum(entry[3] for entry in about)
        found = [keeper.sizes().result() for keeper in self._keepers]
        self.radius = max(radius for radius, _ in found)
        self.sizes = np.sum([sizes for _, sizes in found], axis=0)

    def scores(self, w: Vector, f: Vector) -> int:
        """Write ``f = X w`` for weights of shape (d + 1,); return entries read."""
        touched = 0
        asked = [keeper.scores(w) for keeper in self._keepers]
        for answer, first, last in zip(asked, self.firsts, self.firsts[1:], strict=False):
            f[first:last], read = answer.result()
            touched += read
        return touched

    def add(self, coefficients: Vector, g: Vector) -> int:
        """Add ``X' coefficients`` to g, shape (d + 1,), block after block; return entries read."""
        touched = 0
        bounds = zip(self._keepers, self.firsts, self.firsts[1:], strict=False)
        for answer in [keeper.add(coefficients[first:last]) for keeper, first, last in bounds]:
            part, read = answer.result()
            g += part
            touched += read
        return touched

    def stores(self) -> list[Any]:
        """Return none: the blocks are elsewhere."""
        return []

    def __matmul__(self, w: Vector) -> Vector:
        asked = [keeper.product(np.asarray(w)) for keeper in self._keepers]
        return np.concatenate([answer.result() for answer in asked])

    def transposed_product(self, v: Vector) -> Vector:
        """Return ``X' v``, shape (d,), added up in the order of the blocks."""
        bounds = zip(self._keepers, self.firsts, self.firsts[1:], strict=False)
        total = np.zeros(self.shape[1])
        for answer in [keeper.transposed_product(np.asarray(v[a:b])) for keeper, a, b in bounds]:
            total += answer.result()
        return total
