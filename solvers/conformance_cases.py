"""The problems of the conformance test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.problem import Problem


@dataclass(frozen=True)
class Case:
    """A problem by name, with the tolerance asked for."""

    name: str
    X: Any
    y: npt.NDArray[np.float64]
    C: Any
    kernel: Kernel
    eps: float = 1e-3
    bias: bool = True

    def problem(self) -> Problem:
        """Return the problem, with arrays of its own."""
        storage = "csr" if sp.issparse(self.X) else "dense"
        C = np.array(self.C) if np.ndim(self.C) else self.C
        return Problem(self.X.copy(), self.y.copy(), C, replace(self.kernel), bias=self.bias, storage=storage)


def _labels(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.where(values > 0, 1.0, -1.0)


def easy() -> list[Case]:
    """Return problems that a solver must solve, or refuse by an exception."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    clear, noisy = _labels(X[:, 0] - 0.5 * X[:, 1]), _labels(X[:, 0] + rng.normal(size=80))
    ring = _labels((X[:, :2] ** 2).sum(axis=1) - 1.5)
    words = sp.random_array((100, 30), density=0.2, format="csr", rng=rng)
    topics = _labels(words @ rng.normal(size=30))
    gaussian = Kernel.gaussian(gamma=0.5)
    return [
        Case("separable, linear", X, clear, 10.0, Kernel.linear()),
        Case("overlapping, linear", X, noisy, 1.0, Kernel.linear()),
        Case("sparse, linear", words, topics, 1.0, Kernel.linear()),
        Case("ring, Gaussian", X, ring, 1.0, gaussian),
        Case("sparse, Gaussian", words, topics, 10.0, gaussian),
        Case("ring, polynomial", X, ring, 1.0, Kernel.polynomial(2, c=1.0)),
    ]


def hard() -> list[Case]:
    """Return problems on which a solver may give up."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    noisy = _labels(X[:, 0] + rng.normal(size=60))
    thrice, torn = np.repeat(X, 3, axis=0), np.repeat(noisy, 3)
    torn[::7] *= -1
    lonely = np.full(60, -1.0)
    lonely[17] = 1.0
    empty = sp.random_array((60, 20), density=0.1, format="csr", rng=rng)
    grid = np.repeat(np.arange(12.0), 5)[:, None]
    gaussian = Kernel.gaussian(gamma=0.5)
    return [
        board(150),
        Case("repeated and contradictory examples", thrice, torn, 100.0, Kernel.linear()),
        Case("one positive example", X, lonely, 1e3, gaussian),
        Case("columns of very different scale", X * [1.0, 1e2, 1e-2], noisy, 1.0, Kernel.linear()),
        Case("rows without entries", empty, noisy, 10.0, Kernel.linear()),
        Case("few distinct values", grid, _labels(np.sin(grid[:, 0])), 1e4, gaussian),
        Case("nearly constant kernel", X, noisy, 1e3, Kernel.gaussian(gamma=1e-5)),
        Case("small tolerance, linear", X, noisy, 1.0, Kernel.linear(), eps=1e-6),
        Case("small tolerance, Gaussian", X, noisy, 10.0, gaussian, eps=1e-6),
        Case("large tolerance, Gaussian", X, noisy, 10.0, gaussian, eps=0.1),
    ]


def board(n: int) -> Case:
    """Return a chess board of 4 by 4 fields at C = 10^6, after Glasmachers: ill-conditioned."""
    X = np.random.default_rng(n).uniform(0.0, 4.0, size=(n, 2))
    fields = np.floor(X).sum(axis=1) % 2 - 0.5
    return Case(f"chess board of {n}, C = 1e6", X, _labels(fields), 1e6, Kernel.gaussian(gamma=0.5))


def bounded() -> Case:
    """Return a problem with a C for each example."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    C = np.where(np.arange(60) % 3 == 0, 0.05, 2.0)
    return Case("C per example", X, _labels(X[:, 0] + rng.normal(size=60)), C, Kernel.gaussian(gamma=0.5))


def unbiased() -> Case:
    """Return a problem without a bias."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3)) + 0.5
    return Case("without a bias", X, _labels(X[:, 0] + rng.normal(size=60)), 1.0, Kernel.linear(), bias=False)
