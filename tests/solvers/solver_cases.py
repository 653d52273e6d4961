"""Seeded random problems of hard kinds, shared by the solver tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers import SOLVERS, Kernel, Problem

Vector = npt.NDArray[np.float64]
STORAGES = ("dense", "csr", "index", "bits")
KERNELS = ("linear", "gaussian", "polynomial")
#: One solver per module of this package, and planning ahead; variants and peers have their own tests.
ONE_OF_EACH = [
    name
    for name, spec in SOLVERS.items()
    if not spec.package and (spec.module != "decomposition.second_order" or name in ("smo2", "pasmo"))
]
#: Solvers of the problem (P1).
FAMILIES = [name for name in ONE_OF_EACH if (SOLVERS[name].loss, SOLVERS[name].promise) == ("hinge", "kkt")]
#: Kernels for rows of zeros and ones.
BINARY_KERNELS = {
    "linear": Kernel.linear(),
    "gaussian": Kernel.gaussian(gamma=0.1),
    "polynomial": Kernel.polynomial(2, a=0.1, c=1.0),
}


def banana_like(n: int, seed: int = 0) -> tuple[Vector, Vector]:
    """Return points of two overlapping classes in the plane."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def words(n: int, d: int = 60, seed: int = 0) -> tuple[Vector, Vector]:
    """Return binary rows of two overlapping classes."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.15).astype(float)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


@dataclass(frozen=True)
class Case:
    """A problem, with a name for messages."""

    seed: int
    X: Any
    y: Vector
    C: float
    kernel: Kernel
    storage: str
    definite: bool
    twists: tuple[str, ...]

    def problem(self, *, bias: bool = True, storage: str | None = None) -> Problem:
        return Problem(self.X, self.y, self.C, self.kernel, bias=bias, storage=storage or self.storage)

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: n={self.y.size} d={self.X.shape[1]} {self.kernel} C={self.C:.3g} "
            f"{self.storage} {'+'.join(self.twists)}"
        )


def make_case(seed: int) -> Case:
    """Return random problem number ``seed``: kernels and storages in rotation, the rest at random."""
    rng = np.random.default_rng([2026, seed])
    storage, family = STORAGES[seed % 4], KERNELS[(seed // 4) % 3]
    n, d = int(rng.integers(6, 61)), int(rng.integers(1, 71))
    binary = storage in ("index", "bits") or rng.random() < 0.3
    X = (rng.random((n, d)) < rng.uniform(0.05, 0.6)).astype(float)
    if not binary:
        X *= rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1)
    direction = rng.normal(size=d)
    y = np.where(X @ direction + rng.normal(size=n) * rng.choice([0.0, 0.5, 3.0]) > 0, 1.0, -1.0)
    twists = []
    if rng.random() < 0.4:
        twists.append("duplicates")
        X[n // 2 : n // 2 + n // 4] = X[: n // 4]
        y[n // 2 : n // 2 + n // 4] = y[: n // 4]
    if rng.random() < 0.4:
        twists.append("contradictions")
        X[n - n // 5 :] = X[: n // 5]
        y[n - n // 5 :] = -y[: n // 5]
    if rng.random() < 0.4:
        twists.append("zero rows")
        X[rng.choice(n, size=max(1, n // 6), replace=False)] = 0.0
    if rng.random() < 0.15:
        twists.append("class of one")
        y[:] = -1.0
        y[rng.integers(n)] = 1.0
    if (y == y[0]).all():
        y[rng.integers(1, n)] = -y[0]
    kernel, definite = _kernel(rng, family, X)
    data = sp.csr_array(X) if storage != "dense" and rng.random() < 0.5 else X
    C = float(10.0 ** rng.uniform(-3, 6))
    return Case(seed, data, y, C, kernel, storage, definite, tuple(twists))


def _kernel(rng: np.random.Generator, family: str, X: Vector) -> tuple[Kernel, bool]:
    """Return a kernel that suits the scale of X, and whether it is certainly positive definite."""
    square = max(float((X * X).sum(axis=1).mean()), 1e-3)
    if family == "linear":
        return Kernel.linear(), True
    if family == "gaussian":
        return Kernel.gaussian(gamma=float(10.0 ** rng.uniform(-2, 1) / square)), True
    c = float(rng.choice([0.0, 1.0, -0.5]))
    return Kernel.polynomial(int(rng.integers(2, 5)), a=1.0 / square, c=c), c >= 0


def gram(case: Case) -> Vector:
    """Return the kernel matrix, computed independently in double precision."""
    X = case.X.toarray() if sp.issparse(case.X) else case.X
    K = X @ X.T
    if case.kernel.name == "gaussian":
        squares = np.diag(K)
        return np.exp(-case.kernel.gamma * np.maximum(squares[:, None] + squares[None, :] - 2 * K, 0.0))
    if case.kernel.name == "polynomial":
        return (case.kernel.a * K + case.kernel.c) ** case.kernel.degree
    return K


def suits(case: Case, *, bias: bool) -> list[str]:
    """Return the solvers that can take the case, by their declared requirements."""
    unmet = {"no bias" if bias else "bias"} | (set() if case.kernel.name == "linear" else {"linear kernel"})
    return [name for name in FAMILIES if not unmet & set(SOLVERS[name].needs)]
