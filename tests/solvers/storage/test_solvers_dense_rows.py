"""Kernel rows of dense examples: in tiles, of few values as bytes, and several at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC
from solver_cases import dense, dual, gram, judged
from svmrepro.solvers import Kernel, Problem
from svmrepro.solvers.caches import example_levels as levels
from svmrepro.solvers.caches import example_tiles as tiles
from svmrepro.solvers.caches import feature_columns as panels
from svmrepro.solvers.vector_code.vector_loops import TOGETHER, features_for_bytes

LEAST = features_for_bytes()
needs_bytes = pytest.mark.skipif(not np.isfinite(LEAST), reason="no instruction multiplies bytes")


def labels(n: int) -> Any:
    return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)


def rule(X: Any) -> Any:
    """Return labels by a noisy function of examples that is not linear."""
    rng = np.random.default_rng(0)
    Z = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    f = np.tanh(Z @ rng.normal(size=(X.shape[1], 5)) / np.sqrt(X.shape[1])).sum(axis=1)
    return np.where(f + 0.3 * rng.normal(size=len(X)) > np.median(f), 1.0, -1.0)


def rows_of(problem: Problem) -> None:
    """Compare rows, one by one and together, over several parts of a shuffled panel, with NumPy's."""
    n = problem.n
    X = dense(problem.X)
    panel = panels.build_panel(problem)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, n, size=(n // 2, 2))
    panels.rearrange(panel, pairs)
    for a, b in pairs:
        panel.order[[a, b]] = panel.order[[b, a]]
    block, _ = panels.block_of(problem)
    expected = X @ X.T
    allowed = 1e-15 * X.shape[1] * (np.abs(X) @ np.abs(X).T)
    for first, last in [(0, n), (0, 1), (n - 1, n), (n // 3, n // 3 + 1), (n // 5, n - n // 7)]:
        here = panel.order[first:last]
        for i in rng.integers(0, n, 3):
            out = np.full(last - first, np.nan)
            block(problem.prepare(), panel, i, first, last, out)
            assert (np.abs(out - expected[i, here]) <= allowed[i, here]).all(), (first, last, i)
        if panel.tiles.dots.shape[0] < TOGETHER:
            continue
        for count in range(1, TOGETHER + 1):
            mates = rng.integers(0, n, count)
            at = first
            while at < last:
                end = tiles.part_end(at, last)
                tiles.products_together(panel, mates, count, at, end)
                for r, i in enumerate(mates):
                    found = panel.tiles.dots[r, at % 32 : at % 32 + end - at]
                    here = panel.order[at:end]
                    assert (np.abs(found - expected[i, here]) <= allowed[i, here]).all()
                at = end


@pytest.mark.parametrize("d", [1, 3, 9, 50])
@pytest.mark.parametrize("n", [2, 31, 32, 33, 2100])
def test_rows_in_tiles(n: int, d: int) -> None:
    X = np.random.default_rng(n + d).normal(size=(n, d))
    problem = Problem(X, labels(n), storage="dense")
    assert panels.form(problem) == "columns"
    rows_of(problem)


@needs_bytes
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("more", [0, 1, 34, 260])
@pytest.mark.parametrize(
    ("lowest", "highest", "unit"),
    [(0, 255, 1 / 255), (0, 16, 1.0), (-255, 0, 0.25), (-128, 127, 1.0), (-3, 4, 1e-8), (0, 1, 3e5)],
)
def test_rows_of_few_values(lowest: int, highest: int, unit: float, more: int, storage: str) -> None:
    n, d = 130, int(LEAST) + more
    rng = np.random.default_rng(d)
    X = unit * rng.integers(lowest, highest + 1, size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[0, :2] = unit * lowest, unit * highest
    X[1] = 0.0
    X[:, 5] = 0.0
    problem = Problem(X, labels(n), storage=storage)
    found = levels.find_levels(problem.X, d)
    assert found is not None
    assert found.unit == pytest.approx(unit, rel=1e-14)
    assert panels.form(problem) == "levels"
    rows_of(problem)


@needs_bytes
def test_sums_of_bytes_do_not_overflow() -> None:
    n, d = 33, levels._MOST_FEATURES
    X = np.full((n, d), 255.0)
    X[1], X[2, ::2] = 1.0, 0.0
    for sign in (1.0, -1.0):
        problem = Problem(sign * X, labels(n))
        assert panels.form(problem) == "levels"
        panel, (block, _) = panels.build_panel(problem), panels.block_of(problem)
        out = np.empty(n)
        for i in range(3):
            block(problem.prepare(), panel, i, 0, n, out)
            assert np.array_equal(out, X @ X[i])  # integers below 2^53
    assert levels.find_levels(X[:2], d + 1) is None


@needs_bytes
@pytest.mark.parametrize(
    "values",
    [
        np.arange(257.0),  # 257 levels
        np.array([-1.0, 255.0]),
        1e9 + np.arange(3.0),  # far from 0, which is a value too
        np.array([0.0, 1.0, 2.0 + 1e-9]),  # almost integers
        np.array([0.0, 0.1, 0.25]),  # no common unit
        np.array([0.0, 1e-300, 1.0]),
        np.zeros(5),
    ],
)
def test_other_values_have_no_levels(values: Any) -> None:
    assert levels.find_levels(values, 50) is None


KERNELS = {
    "linear": Kernel.linear(),
    "gaussian": Kernel.gaussian(gamma=0.05),
    "polynomial": Kernel.polynomial(3, a=0.05, c=1.0),
}


def examples(kind: str, n: int, d: int) -> Any:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d))
    return np.clip(np.rint(3 * X), -128, 127) / 4 if kind == "levels" else X


@pytest.mark.parametrize("options", [{}, {"shrinking": False}, {"cache_mb": 0.2}, {"cache_mb": 1e-6}])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["columns", pytest.param("levels", marks=needs_bytes)])
def test_the_optimum_with_rows_ahead(kind: str, kernel: str, options: dict[str, Any]) -> None:
    X = examples(kind, 700, 40)
    problem = Problem(X, rule(X), 5.0, KERNELS[kernel])
    assert panels.form(problem) == kind
    _, certificate = judged(problem, "smo-newton", **options)
    peer = SVC(C=5.0, kernel="precomputed", tol=1e-4).fit(gram(problem), problem.y)
    alpha = np.zeros(problem.n)
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    assert certificate.dual == pytest.approx(dual(problem, alpha), rel=2e-4)


@pytest.mark.parametrize("name", ["smo2", "pasmo", "csmo", "svmlight"])
@pytest.mark.parametrize("kind", ["columns", pytest.param("levels", marks=needs_bytes)])
def test_rows_one_by_one(kind: str, name: str) -> None:
    X = examples(kind, 500, 40)
    y = rule(X)
    problem = Problem(X, y, 5.0, KERNELS["gaussian"])
    _, certificate = judged(problem, name)
    # The same examples with one more feature, a constant that is no level: the same distances.
    other = Problem(np.hstack([X, np.full((500, 1), 0.123)]), y, 5.0, KERNELS["gaussian"])
    assert panels.form(other) == "columns"
    assert certificate.dual == pytest.approx(judged(other, name)[1].dual, rel=1e-5)
