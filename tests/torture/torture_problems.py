"""Families of hard random problems, each drawn from a seed.

``draw(family, seed)`` returns the same problem on every machine, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers import Kernel, Problem

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Generator = np.random.Generator
#: The result of drawing from a family: X, y, C, kernel, storage.
Parts = tuple[Any, Vector, Any, Kernel, str]
#: The families by name. The order is part of the seed, so append new ones.
FAMILIES: dict[str, Callable[[Generator], Parts]] = {}


def family(function: Callable[[Generator], Parts]) -> Callable[[Generator], Parts]:
    """Register a family under the name of its function."""
    FAMILIES[function.__name__.replace("_", "-")] = function
    return function


@dataclass(frozen=True)
class Draw:
    """A problem, usable without or with a bias; solvers may refuse it if kernel values overflow."""

    family: str
    seed: int
    X: Any
    y: Vector
    C: Any
    kernel: Kernel
    storage: str
    refusable: bool = False

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.y.size)

    @property
    def ranks(self) -> bool:
        """Whether the labels are ranks, for ordinal solvers only."""
        return bool((np.abs(self.y) != 1).any())

    def problem(self, bias: bool) -> Problem:
        return Problem(self.X, self.y, self.C, self.kernel, bias=bias, storage=self.storage)


def draw(family: str, seed: int) -> Draw:
    """Return problem number ``seed`` of a family."""
    rng = np.random.default_rng([list(FAMILIES).index(family), seed])
    return Draw(family, seed, *FAMILIES[family](rng), refusable=family == "overflow")


def size(rng: Generator, least: int = 6, most: int = 200) -> int:
    """Return a number of examples, log-uniform."""
    return int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))


def power(rng: Generator, low: float, high: float) -> float:
    """Return a number between two powers of ten."""
    return float(10.0 ** rng.uniform(low, high))


def labels(rng: Generator, X: Matrix, noise: float = 0.5) -> Vector:
    """Return labels of a noisy linear rule on standardised columns, both classes present."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    f = Z @ rng.normal(size=X.shape[1])
    f = f / max(float(f.std()), 1e-12) + noise * rng.normal(size=len(X))
    return two_classes(rng, np.where(f > 0, 1.0, -1.0))


def two_classes(rng: Generator, y: Vector) -> Vector:
    """Return labels with at least one example of each class."""
    if (y == y[0]).all():
        y[rng.integers(y.size)] *= -1
    return y


def kernel_for(rng: Generator, X: Matrix, linear: float) -> Kernel:
    """Return a positive definite kernel that suits the range of X."""
    choice = rng.random()
    if choice < linear:
        return Kernel.linear()
    spread = max(float(X.var(axis=0).sum()), 1e-300)
    if choice < (1 + linear) / 2:
        return Kernel.gaussian(gamma=power(rng, -2, 1) / spread)
    square = max(float((X * X).sum(axis=1).mean()), 1e-300)
    return Kernel.polynomial(int(rng.integers(2, 5)), a=1.0 / square, c=float(rng.integers(2)))


def storage_for(rng: Generator, X: Matrix) -> tuple[Any, str]:
    """Return the examples, sparse or dense, and a storage that can hold them."""
    binary = bool(np.isin(X, (0.0, 1.0)).all())
    storage = str(rng.choice(["dense", "csr", "index", "bits"] if binary else ["dense", "csr"]))
    return (sp.csr_array(X) if storage != "dense" and rng.random() < 0.5 else X), storage


def normal(rng: Generator, n: int, most_columns: int = 20) -> Matrix:
    """Return ordinary examples, some of them sparse."""
    X = rng.normal(size=(n, int(rng.integers(1, most_columns + 1))))
    return X * (rng.random(X.shape) < 0.5) if rng.random() < 0.3 else X


def finished(
    rng: Generator,
    X: Matrix,
    *,
    C: Any,
    y: Vector | None = None,
    kernel: Kernel | None = None,
    linear: float = 0.4,
) -> Parts:
    """Return a problem; labels and kernel are drawn where not given, and C between two powers of ten."""
    data, storage = storage_for(rng, X)
    y = labels(rng, X) if y is None else y
    C = power(rng, *C) if isinstance(C, tuple) else C
    return data, y, C, kernel or kernel_for(rng, X, linear), storage


@family
def scales(rng: Generator) -> Parts:
    """One scale from 1e-8 to 1e8 for all features."""
    X = normal(rng, size(rng)) * power(rng, -8, 8)
    return finished(rng, X, C=(-3, 3))


@family
def mixed_scales(rng: Generator) -> Parts:
    """Columns of scale 1e6, 1e-3 and 1, or each with its own scale."""
    X = normal(rng, size(rng), 8)
    d = X.shape[1]
    X *= rng.choice([1e6, 1e-3, 1.0], size=d) if rng.random() < 0.5 else 10.0 ** rng.uniform(-8, 8, size=d)
    return finished(rng, X, C=(-3, 3), linear=0.7)


@family
def offsets(rng: Generator) -> Parts:
    """Examples far from the origin, by 1e6, 1e7 or 1e9 (time stamps), in some or all columns."""
    X = rng.normal(size=(size(rng), int(rng.integers(1, 9)))) * power(rng, -1, 4)
    y = labels(rng, X, 0.3)
    spread = float(X.var(axis=0).sum())
    kernel = Kernel.gaussian(gamma=power(rng, -1, 1) / spread) if rng.random() < 0.7 else Kernel.linear()
    shift = float(rng.choice([1e6, 1e7, 1e9]))
    X += np.where(rng.random(X.shape[1]) < 0.7, shift, 0.0)
    return finished(rng, X, y=y, C=(-1, 3), kernel=kernel)


@family
def copies(rng: Generator) -> Parts:
    """Copies of each example, a few with the other label, and zero rows."""
    base = normal(rng, size(rng, 3, 50))
    y = labels(rng, base)
    pick = rng.integers(len(base), size=size(rng, 6, 200))
    X, y = base[pick], y[pick]
    X[rng.random(len(X)) < 0.05] = 0.0
    y = two_classes(rng, np.where(rng.random(len(X)) < 0.05, -y, y))
    return finished(rng, X, y=y, C=(-2, 4))


@family
def contradictions(rng: Generator) -> Parts:
    """Hundreds of copies of five examples with random labels."""
    base = rng.normal(size=(5, int(rng.integers(1, 6)))) * power(rng, -1, 2)
    n = int(rng.choice([60, 150, 300, 600]))
    X = base[rng.integers(5, size=n)]
    y = two_classes(rng, np.where(rng.random(n) < rng.uniform(0.2, 0.5), 1.0, -1.0))
    return finished(rng, X, y=y, C=(0, 4))


@family
def lattice(rng: Generator) -> Parts:
    """Points of a grid, most of them twice, with contradicting labels."""
    d, side = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    X = rng.integers(side, size=(size(rng, 12, 200), d)).astype(float)
    y = np.where(X.sum(axis=1) % 2 > 0, 1.0, -1.0) if rng.random() < 0.5 else labels(rng, X)
    y = two_classes(rng, np.where(rng.random(y.size) < 0.2, -y, y))
    return finished(rng, X, y=y, C=(1, 6))


@family
def zigzag(rng: Generator) -> Parts:
    """Overlapping classes in few dimensions with a large C: first-order steps zigzag."""
    n, d = size(rng, 60, 500), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    y = labels(rng, X, float(rng.choice([0.3, 1.0, 3.0])))
    return X, y, power(rng, 5, 6), Kernel.linear(), "dense"


@family
def tiny_class(rng: Generator) -> Parts:
    """One or two examples of one class."""
    X = normal(rng, size(rng))
    y = np.full(len(X), float(rng.choice([-1.0, 1.0])))
    y[rng.choice(y.size, size=int(rng.integers(1, 3)), replace=False)] *= -1
    return finished(rng, X, y=y, C=(-3, 5))


@family
def indefinite(rng: Generator) -> Parts:
    """Polynomials with c < 0, and indefinite symmetric matrices."""
    n = size(rng, 6, 120)
    X = normal(rng, n)
    y = labels(rng, X)
    if rng.random() < 0.5:
        square = max(float((X * X).sum(axis=1).mean()), 1e-12)
        degree, c = int(rng.integers(2, 6)), -power(rng, -1, 0.5)
        data, storage = storage_for(rng, X)
        return data, y, power(rng, -2, 3), Kernel.polynomial(degree, a=1.0 / square, c=c), storage
    K = np.tanh(X @ X.T - 1.0) if rng.random() < 0.5 else symmetric(rng.normal(size=(n, n)))
    return K, y, power(rng, -2, 3), Kernel.precomputed(), "precomputed"


def symmetric(M: Matrix) -> Matrix:
    """Return a matrix that is symmetric to the last bit."""
    return np.tril(M) + np.tril(M, -1).T


@family
def large_kernel(rng: Generator) -> Parts:
    """Polynomials of degree 2 to 9 of unscaled pixels, counts or sensor values."""
    n, d = size(rng), int(rng.integers(1, 20))
    kind = rng.integers(3)
    if kind == 0:
        X = rng.integers(256, size=(n, d)).astype(float) * (rng.random((n, d)) < 0.4)
    elif kind == 1:
        X = np.round(10.0 ** rng.uniform(0, 4, size=(n, d)))
    else:
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(0, 3, size=d)
    data, storage = storage_for(rng, X)
    kernel = Kernel.polynomial(int(rng.integers(2, 10)), a=1.0, c=float(rng.integers(2)))
    return data, labels(rng, X), power(rng, -2, 3), kernel, storage


@family
def overflow(rng: Generator) -> Parts:
    """Finite examples whose kernel values overflow."""
    X = normal(rng, size(rng, 6, 60), 6)
    X[0] = 1.0
    y = labels(rng, X)
    kind = rng.integers(3)
    if kind == 0:
        X, kernel = X * 1e200, Kernel.linear()
    elif kind == 1:
        X, kernel = X * 1e40, Kernel.polynomial(9, 1.0, 1.0)
    else:
        X[rng.integers(len(X))] = 1e180
        kernel = Kernel.gaussian(0.5) if rng.random() < 0.3 else Kernel.linear()
    return finished(rng, X, y=y, C=(-2, 2), kernel=kernel)


@family
def outlier(rng: Generator) -> Parts:
    """One example of size 1e7 on the wrong side."""
    X = rng.normal(size=(size(rng), int(rng.integers(1, 9))))
    y = labels(rng, X, 0.2)
    i = int(rng.integers(len(X)))
    X[i] *= 1e7 / np.abs(X[i]).max()
    y[i] = -y[i]
    y = two_classes(rng, y)
    data, storage = storage_for(rng, X)
    kernel = Kernel.linear() if rng.random() < 0.7 else Kernel.polynomial(2, a=1.0, c=1.0)
    return data, y, power(rng, -2, 2), kernel, storage


@family
def wide(rng: Generator) -> Parts:
    """Few binary examples with thousands of columns, most of them unused."""
    n, d = size(rng, 10, 100), int(rng.choice([2_000, 5_000, 20_000]))
    counts = rng.integers(1, 40, size=n)
    rows = np.repeat(np.arange(n), counts)
    columns = (d * rng.random(rows.size) ** 3).astype(int)
    pattern = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, d))
    pattern.sum_duplicates()
    pattern.data[:] = 1.0
    y = two_classes(rng, np.where(pattern @ rng.normal(size=d) > 0, 1.0, -1.0))
    kernel = Kernel.linear() if rng.random() < 0.6 else Kernel.gaussian(gamma=power(rng, -2, 0))
    return pattern, y, power(rng, -2, 4), kernel, str(rng.choice(["csr", "index", "bits"]))


@family
def decades(rng: Generator) -> Parts:
    """Ordinary data with a C from 1e-10 to 1e10."""
    X = normal(rng, size(rng, 6, 100))
    return finished(rng, X, C=(-10, 10))


@family
def own_bounds(rng: Generator) -> Parts:
    """A separate bound for each example, over twelve decades."""
    X = normal(rng, size(rng, 6, 100))
    y = labels(rng, X)
    kind = rng.integers(3)
    if kind == 0:
        C = 10.0 ** rng.uniform(-6, 6, size=len(X))
    elif kind == 1:
        C = np.where(y > 0, power(rng, -4, 2), power(rng, -2, 4))
    else:
        C = power(rng, -2, 2) * rng.integers(1, 20, size=len(X)).astype(float)
    return finished(rng, X, y=y, C=C)


@family
def precomputed(rng: Generator) -> Parts:
    """Matrices of kernel values, positive semidefinite up to rounding."""
    X = normal(rng, size(rng, 6, 120))
    y = labels(rng, X)
    K = X @ X.T if rng.random() < 0.5 else np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return symmetric(K * power(rng, -6, 6)), y, power(rng, -3, 4), Kernel.precomputed(), "precomputed"


@family
def binary(rng: Generator) -> Parts:
    """Binary examples in all four storages."""
    X = (rng.random((size(rng, 6, 120), int(rng.integers(1, 90)))) < rng.uniform(0.05, 0.6)).astype(float)
    y = labels(rng, X)
    return finished(rng, X, y=y, C=(-3, 5))


@family
def ranks(rng: Generator) -> Parts:
    """Ranks with and without ties, for few examples and different scales."""
    X = normal(rng, size(rng, 4, 40), 6) * power(rng, -4, 4)
    f = X @ rng.normal(size=X.shape[1])
    f = f / max(float(f.std()), 1e-300) + 0.3 * rng.normal(size=len(X))
    y = np.round(f * power(rng, -0.3, 1)) if rng.random() < 0.7 else np.argsort(np.argsort(f)).astype(float)
    if (y == y[0]).all():
        y[0] += 1
    data, storage = storage_for(rng, X)
    return data, y, power(rng, -3, 3), Kernel.linear(), storage
