"""Seeded random problems, and answers computed without the solvers, shared by the solver tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from svmrepro.solvers import SOLVERS, Certificate, Kernel, Problem, Solution, certify, solve

Vector = npt.NDArray[np.float64]
STORAGES = ("dense", "csr", "index", "bits")
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
KERNELS = tuple(BINARY_KERNELS)


def cloud(n: int = 150, d: int = 4, seed: int = 0, noise: float = 1.0, share: float = 1.0) -> Any:
    """Return normal rows, of which a share is not zero, and a noisy linear rule of them as labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if share < 1.0:
        X *= rng.random((n, d)) < share
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def banana_like(n: int, seed: int = 0) -> tuple[Vector, Vector]:
    """Return points of two overlapping classes in the plane."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def chess_board(n: int, seed: int) -> tuple[Vector, Vector]:
    """Return points of a board of four by four fields, in two colours."""
    X = np.random.default_rng(seed).uniform(0, 4, size=(n, 2))
    return X, np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)


def random_labels(n: int, d: int, seed: int = 0) -> tuple[Vector, Vector]:
    """Return normal rows of two classes that nothing tells apart."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


def words(n: int, d: int = 60, seed: int = 0, share: float = 0.15) -> tuple[Vector, Vector]:
    """Return binary rows of two overlapping classes."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < share).astype(float)
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
    definite: bool = True
    twists: tuple[str, ...] = ()

    def problem(self, *, bias: bool = True, storage: str | None = None) -> Problem:
        return Problem(self.X, self.y, self.C, self.kernel, bias=bias, storage=storage or self.storage)

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.problem()} {'+'.join(self.twists)}"


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


def biased(name: str) -> bool:
    """Return whether a solver's problems have a bias, if it has the choice."""
    return "no bias" not in SOLVERS[name].needs


def suits(name: str, kernel: Kernel, *, bias: bool | None = None) -> bool:
    """Return whether a solver declares that it takes a kernel, with or without a bias."""
    unmet = set() if kernel.name == "linear" else {"linear kernel"}
    if bias is not None:
        unmet.add("no bias" if bias else "bias")
    return not unmet & set(SOLVERS[name].needs)


def judged(
    problem: Problem, name: str, eps: float = 1e-3, say: object = "", **options: Any
) -> tuple[Solution, Certificate]:
    """Return an optimal solution with a certificate that passes."""
    solution = solve(problem, name, eps=eps, **options)
    certificate = certify(problem, solution)
    assert solution.status == "optimal", (name, str(say), solution)
    assert certificate.passes(eps, SOLVERS[name].tolerance_factor), (name, str(say), certificate)
    return solution, certificate


def started(problem: Problem, eps: float = 1e-3, **options: Any) -> Any:
    """Return a run of ``smo-newton`` at its beginning."""
    spec = SOLVERS["smo-newton"]
    return spec.load().start(problem, eps, {**spec.check(problem, options), "start": None})


def in_slices(monkeypatch: pytest.MonkeyPatch, work: int) -> None:
    """Make the driver stop every solver after so much work, and go on."""
    monkeypatch.setattr("svmrepro.solvers.driver._FIRST_SLICE", work)
    monkeypatch.setattr("svmrepro.solvers.driver._next_slice", lambda *_: work)


# Answers computed from the data alone


def dense(X: Any) -> Vector:
    """Return examples as an array of rows."""
    return X.toarray() if sp.issparse(X) else X


def gram(case: Case | Problem) -> Vector:
    """Return the kernel matrix in double precision."""
    K = dense(case.X) @ dense(case.X).T
    if case.kernel.name == "gaussian":
        squares = np.diag(K)
        return np.exp(-case.kernel.gamma * np.maximum(squares[:, None] + squares[None, :] - 2 * K, 0.0))
    if case.kernel.name == "polynomial":
        return (case.kernel.a * K + case.kernel.c) ** case.kernel.degree
    return K


def differences(problem: Problem) -> tuple[Vector, float]:
    """Return ``x_i - x_j`` of all pairs with y_i > y_j, by i, then j, and the weight of a pair's loss."""
    higher, lower = np.nonzero(problem.y[:, None] > problem.y[None, :])
    X = dense(problem.X)
    return X[higher] - X[lower], problem.total / higher.size


def objective(problem: Problem, w: Any, loss: str = "hinge") -> float:
    """Return the primal objective of weights."""
    if loss == "pairs":
        rows, weight = differences(problem)
        return float(0.5 * w @ w + weight * np.maximum(0.0, 1.0 - rows @ w).sum())
    slack = np.maximum(0.0, 1.0 - problem.y * (problem.X @ w))
    return float(0.5 * w @ w + problem.bounds @ (slack if loss == "hinge" else 0.5 * slack**2))


def dual(problem: Problem, alpha: Any) -> float:
    """Return the dual objective of multipliers."""
    signed = problem.y * alpha
    return float(alpha.sum() - 0.5 * signed @ gram(problem) @ signed)


def linear_dual(problem: Problem, alpha: Any) -> float:
    """Return the dual objective of multipliers of a linear problem, which must respect their bounds."""
    assert ((alpha >= 0.0) & (alpha <= problem.bounds)).all()
    v = problem.X.T @ (problem.y * alpha)
    return float(alpha.sum() - 0.5 * v @ v)


def steps_of_smo(K: Vector, y: Vector, C: float, eps: float, *, second_order: bool) -> list[Vector]:
    """Return alpha after every step of SMO with the maximal violating pair, or the pair of largest gain.

    Everything is computed with whole matrices. ``eps`` bounds the pair gap.
    """
    low, high = np.minimum(0, y * C), np.maximum(0, y * C)
    beta, G = np.zeros(y.size), y.copy()
    path: list[Vector] = []
    while True:
        up, down = np.where(beta < high, G, -np.inf), np.where(beta > low, G, np.inf)
        if up.max() - down.min() <= eps:
            return path
        i = int(np.argmax(up)) if not second_order else y.size - 1 - int(np.argmax(up[::-1]))
        Q = np.maximum(K[i, i] + np.diag(K) - 2 * K[i], 1e-12)
        j = int(np.argmin(down))
        if second_order:
            gains = np.where(down < G[i], (G[i] - G) ** 2 / Q, -1.0)
            j = y.size - 1 - int(np.argmax(gains[::-1]))
        mu = min((G[i] - G[j]) / Q[j], high[i] - beta[i], beta[j] - low[j])
        beta[i] += mu
        beta[j] -= mu
        for k in (i, j):
            beta[k] = low[k] if beta[k] - low[k] <= 1e-15 * C else beta[k]
            beta[k] = high[k] if high[k] - beta[k] <= 1e-15 * C else beta[k]
        G -= mu * (K[i] - K[j])
        path.append(y * beta)
