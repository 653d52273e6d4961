"""Kernel rows in bytes, for binary data under a linear kernel, compared with floating-point rows."""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import STORAGES, judged, words
from svmrepro.solvers import Problem, certify, solve
from svmrepro.solvers.caches.feature_columns import rows_fit_bytes


def binary_problem(n: int, d: int, storage: str, C: float) -> Problem:
    """Return binary rows, some of them twice."""
    X, y = words(n, d, share=0.2)
    X[n // 2 : n // 2 + n // 10] = X[: n // 10]
    return Problem(X, y, C, storage=storage)


@pytest.mark.parametrize("cache_mb", [1e-6, 40.0])
@pytest.mark.parametrize("storage", ["index", "bits"])
@pytest.mark.parametrize("name", ["smo2", "pasmo", "pasmo-3"])
def test_same_steps_as_with_floating_point(name: str, storage: str, cache_mb: float) -> None:
    inexact = solve(binary_problem(300, 40, "dense", 100.0), name, shrinking=False, cache_mb=cache_mb)
    problem = binary_problem(300, 40, storage, 100.0)
    assert rows_fit_bytes(problem)
    exact = solve(problem, name, shrinking=False, cache_mb=cache_mb)
    assert exact.iterations == inexact.iterations > 500
    np.testing.assert_allclose(exact.alpha, inexact.alpha, atol=1e-9)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", ["smo2", "pasmo"])
def test_shrinking_and_its_way_back(name: str, storage: str) -> None:
    problem = binary_problem(1500, 60, storage, 10.0)
    solution, certificate = judged(problem, name, cache_mb=0.25)
    assert solution.info["shrinks"] > 2
    assert solution.info["gradient_restores"] > 0
    assert solution.info["objective"] == pytest.approx(certificate.dual, rel=1e-9)
    whole = certify(problem, solve(problem, name, shrinking=False))
    assert certificate.dual == pytest.approx(whole.dual, rel=1e-5)


@pytest.mark.parametrize("most", [255, 256])
def test_the_largest_count_of_a_byte(most: int) -> None:
    X = (np.random.default_rng(0).random((60, 300)) < 0.5).astype(float)
    X[:10] = np.arange(300) < most  # ten copies of a row
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    problem = Problem(X, y, 0.01, storage="index")
    assert problem.prepare().norms.max() == most
    assert rows_fit_bytes(problem) == (most == 255)
    expected = solve(Problem(X, y, 0.01, storage="dense"), "smo2")
    np.testing.assert_allclose(solve(problem, "smo2").alpha, expected.alpha, atol=1e-9)
