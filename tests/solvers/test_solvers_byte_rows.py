"""Kernel rows in bytes, for binary data under a linear kernel, compared with floating-point rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.caches import feature_columns as panels
from svmrepro.solvers.caches.active_set_rows import build_cache


def binary_problem(n: int, d: int, storage: str, *, share: float = 0.2, C: float = 1.0) -> Problem:
    """Return noisy linear labels on random binary rows, some of them twice."""
    rng = np.random.default_rng(n + d)
    X = (rng.random((n, d)) < share).astype(float)
    X[n // 2 : n // 2 + n // 10] = X[: n // 10]
    y = np.where((X - share) @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return Problem(X, y, C, Kernel.linear(), storage=storage)


@pytest.mark.parametrize("cache_mb", [1e-6, 40.0])
@pytest.mark.parametrize("storage", ["index", "bits"])
@pytest.mark.parametrize("name", ["smo2", "pasmo", "pasmo-3"])
def test_same_steps_as_with_floating_point(name: str, storage: str, cache_mb: float) -> None:
    inexact = solve(binary_problem(300, 40, "dense", C=100.0), name, shrinking=False, cache_mb=cache_mb)
    problem = binary_problem(300, 40, storage, C=100.0)
    assert panels.bytes_hold(problem) == "entries"
    exact = solve(problem, name, shrinking=False, cache_mb=cache_mb)
    assert exact.iterations == inexact.iterations > 500
    np.testing.assert_allclose(exact.alpha, inexact.alpha, atol=1e-9)


@pytest.mark.parametrize("storage", ["dense", "csr", "index", "bits"])
@pytest.mark.parametrize("name", ["smo2", "pasmo"])
def test_shrinking_and_its_way_back(name: str, storage: str) -> None:
    problem = binary_problem(1500, 60, storage, C=10.0)
    solution = solve(problem, name, cache_mb=0.25)
    certificate = certify(problem, solution)
    assert solution.info["shrinks"] > 2
    assert solution.info["gradient_restores"] > 0
    assert certificate.passes(1e-3, 1.0)
    assert solution.info["objective"] == pytest.approx(certificate.dual, rel=1e-9)
    assert certificate.dual == pytest.approx(
        certify(problem, solve(problem, name, shrinking=False)).dual, rel=1e-5
    )


def test_counts_beyond_a_byte_are_kept_in_double_precision() -> None:
    problem = binary_problem(80, 400, "index", share=0.8)
    assert problem.prepare().norms.max() > 255
    assert panels.bytes_hold(problem) is None
    assert certify(problem, solve(problem, "smo2")).passes(1e-3, 1.0)


def test_largest_count_of_a_byte() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((60, 300)) < 0.5).astype(float)
    X[:10] = 0.0
    X[:10, :255] = 1.0  # ten copies of a row of 255 ones
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    problem = Problem(X, y, 0.01, Kernel.linear(), storage="index")
    assert problem.prepare().norms.max() == 255
    assert panels.bytes_hold(problem) == "entries"
    dense = solve(Problem(X, y, 0.01, Kernel.linear(), storage="dense"), "smo2")
    np.testing.assert_allclose(solve(problem, "smo2").alpha, dense.alpha, atol=1e-9)


def test_a_row_takes_a_byte_an_entry() -> None:
    cache = build_cache(1000, 64_000, "byte")
    assert cache.rows.dtype == np.uint8
    assert cache.rows.shape == (64, 1000)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 64, 1001])
def test_distances_are_looked_up(m: int, dtype: type) -> None:
    panel = panels.build_panel(gaussian_problem(30, 100, "bits"))
    assert panel.table == pytest.approx(np.exp(-0.05 * np.arange(256)), rel=1e-14)
    distances = np.random.default_rng(m).integers(0, 256, m + 3).astype(dtype)
    out = np.full(m + 3, -1.0)
    panels.look_up(panel.table, distances, m, out)
    assert np.array_equal(out[:m], panel.table[distances[:m]])
    assert (out[m:] == -1.0).all()


def gaussian_problem(n: int, d: int, storage: str, *, share: float = 0.2, C: float = 1.0) -> Problem:
    """Return the rows and labels of :func:`binary_problem` with a Gaussian kernel."""
    given = binary_problem(n, d, storage, share=share, C=C)
    return Problem(given.X, given.y, C, Kernel.gaussian(gamma=0.05), storage=storage)


@pytest.mark.parametrize("options", [{}, {"cache_mb": 1e-6}, {"shrinking": False}])
@pytest.mark.parametrize("name", ["smo2", "pasmo", "smo-newton"])
def test_rows_of_distances(name: str, options: dict[str, Any]) -> None:
    for share, held in ((0.2, "distances"), (0.7, None)):
        problem = gaussian_problem(700, 200, "bits", share=share, C=10.0)
        assert panels.bytes_hold(problem) == held
        solution = solve(problem, name, **options)
        other = solve(gaussian_problem(700, 200, "dense", share=share, C=10.0), name, **options)
        assert solution.status == "optimal"
        certificate = certify(problem, solution)
        assert certificate.passes(1e-3, 1.0)
        assert solution.info["objective"] == pytest.approx(certificate.dual, rel=1e-9)
        assert certificate.dual == pytest.approx(certify(problem, other).dual, rel=1e-5)
