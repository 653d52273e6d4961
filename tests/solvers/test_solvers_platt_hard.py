"""SMO, SMO with a fixed threshold and chunking: own bounds, given starts, hard problems, time limits.

Every result is judged by plain NumPy in extended precision, from differences of examples, not by the
certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import biased, cloud
from svmrepro.solvers import Kernel, Problem, Solution, solve
from svmrepro.solvers.platt import chunking, free_set_cg, state

NAMES = ("smo", "smo-fixed-threshold", "chunking")
EPS = 1e-3
LINEAR = Kernel.linear()
KERNELS = pytest.mark.parametrize("kernel", [LINEAR, Kernel.gaussian(gamma=0.3)], ids=["linear", "gaussian"])


def gram(problem: Problem) -> Any:
    X, kernel = problem.X.astype(np.longdouble), problem.kernel
    if kernel.name == "precomputed":
        return X
    if kernel.name == "gaussian":
        squares = sum(np.subtract.outer(column, column) ** 2 for column in X.T)
        return np.exp(-np.longdouble(kernel.gamma) * squares)
    K = X @ X.T
    return K if kernel.name == "linear" else (np.longdouble(kernel.a) * K + kernel.c) ** kernel.degree


def violation(problem: Problem, solution: Solution) -> tuple[float, float]:
    """Return the largest violation of a condition, and the part that rounding could explain."""
    alpha, y, bounds = solution.alpha, problem.y, problem.bounds
    assert alpha is not None and np.isfinite(alpha).all() and np.isfinite(solution.bias)
    assert (alpha >= 0).all() and (alpha <= bounds).all()
    if problem.bias:
        assert abs(float(np.sum((y * alpha).astype(np.longdouble)))) <= 1e-9 * alpha.sum()
    K = gram(problem)
    margin = (y * (K @ (y * alpha) + solution.bias) - 1).astype(float)
    worst = max(0.0, -margin[alpha < bounds].min(initial=0.0), float(margin[alpha > 0].max(initial=0.0)))
    return float(worst), 1e-15 * float((np.abs(K) @ alpha).max())


def assert_honest(problem: Problem, solution: Solution, eps: float = EPS) -> None:
    """Check that the multipliers are feasible and, if the status says so, optimal."""
    worst, rounding = violation(problem, solution)
    if solution.status == "optimal":
        assert worst <= 1.001 * eps + rounding
    if solution.weights is not None:
        exact = (problem.X.T.astype(np.longdouble) @ (problem.y * solution.alpha)).astype(float)
        scale = (np.abs(problem.X).T @ solution.alpha).max()
        assert np.abs(solution.weights - exact).max() <= 1e-13 * scale


def assert_solved(problem: Problem, solution: Solution, eps: float = EPS) -> None:
    assert solution.status == "optimal"
    assert_honest(problem, solution, eps)


# Kernel values, and distances from differences


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_differences(name: str, seed: int) -> None:
    # Two clouds so far apart that norms cancel for any origin.
    X, y = cloud(seed=seed)
    X[::2] += 1e8
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(2))
    far = Problem(X, y, 3.0, Kernel.gaussian(gamma=0.3), bias=biased(name))
    solution = solve(far, name, verify=False)
    assert far.differences
    assert_solved(far, solution)
    given = solve(Problem(K, y, 3.0, Kernel.precomputed(), bias=biased(name)), name, verify=False)
    assert solution.info["objective"] == pytest.approx(given.info["objective"], rel=1e-3)


# Hard problems that are solved nevertheless; `tests/torture` has those that need not be.


def hard(family: str, seed: int, bias: bool) -> Problem:
    rng = np.random.default_rng([seed, 77])
    n, d, noise = {
        "outlier": (int(rng.integers(50, 250)), int(rng.integers(2, 6)), 0.3),
        "contradicting outlier": (120, 3, 0.2),
        "any bound": (60, 12, 1.0),
    }.get(family, (100, 4, 1.0))
    X, y = cloud(n, d, int(rng.integers(2**31)), noise)
    C, kernel = float(10.0 ** rng.uniform(-2, 2)), LINEAR
    if family == "outlier":
        X[5] *= 10.0 ** rng.uniform(5, 7.5)
    elif family == "contradicting outlier":
        X[7] *= 1e7 / np.linalg.norm(X[7])
        y[7], C = -y[7], 1.0
    elif family == "any scale":
        scale = float(10.0 ** rng.uniform(-8, 8))
        X, C = X * scale, C / scale**2
    elif family == "indefinite":
        kernel = Kernel.polynomial(int(rng.integers(1, 4)), 0.3, -1.5)
    else:
        C, kernel = float(10.0 ** rng.uniform(-10, 10)), (LINEAR, Kernel.gaussian(gamma=0.2))[seed % 2]
        if family == "one alone":
            y[:] = -1.0
            y[int(rng.integers(n))], C = 1.0, float(10.0 ** rng.uniform(-3, 5))
    return Problem(X, y, C, kernel, bias=bias)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("family", ["outlier", "any bound", "any scale", "one alone", "indefinite"])
@pytest.mark.parametrize("seed", range(2))
def test_hard_families(name: str, family: str, seed: int) -> None:
    problem = hard(family, seed, biased(name))
    assert_solved(problem, solve(problem, name, verify=False))


@pytest.mark.parametrize("seed", range(5))
def test_chunking_solves_with_an_outlier(seed: int) -> None:
    problem = hard("contradicting outlier", seed, True)
    assert_solved(problem, solve(problem, "chunking", verify=False))


@pytest.mark.parametrize("name", NAMES)
def test_tiny_multipliers_move(name: str) -> None:
    # Kernel values are near 1e12 to 1e14, so multipliers are near 1e-13.
    X, y = cloud(60, 8, 3, 2.0)
    problem = Problem(1e6 * X, y, 1e-12, LINEAR, bias=biased(name))
    solution = solve(problem, name, verify=False, time_limit=20)
    assert_solved(problem, solution)
    assert solution.info.get("rescues", 0.0) == 0.0


@pytest.mark.parametrize("name", NAMES)
@KERNELS
def test_drift_is_renewed(name: str, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(*cloud(100, seed=2), 10.0, kernel, bias=biased(name))
    plain = solve(problem, name, verify=False)
    monkeypatch.setattr(state, "_ROUNDING", 1e-6)
    monkeypatch.setattr(chunking, "_UNIT_ROUNDING", 1e-6)
    renewed = solve(problem, name, verify=False)
    assert plain.info["renewals"] == 0 and renewed.info["renewals"] >= 1
    assert_solved(problem, renewed)


# Limits


@pytest.mark.parametrize("stop", [3, 11, 40, 200, 900])
@KERNELS
def test_chunking_ends_anywhere(kernel: Kernel, stop: int) -> None:
    # In every phase it returns a feasible and consistent result.
    problem = Problem(*cloud(400, 3, 5), 20.0, kernel)
    options = {"chunk_size": 30, "cg_tol": 3e-10, "bends": True, "whole": False, "memory_limit_bytes": 2**62}
    run = chunking.start(problem, EPS, options)
    for _ in range(stop):
        if chunking.advance(run, 2_000, 2**62) is not None:
            break
    assert_honest(problem, chunking.finish(run, "time_limit"))


def test_a_descent_without_room_ends() -> None:
    descent = free_set_cg.allocate(3, 0)
    descent.free[:], descent.y[:], descent.C[:] = [0, 1, 2], 1.0, 1.0
    descent.beta[:], descent.g[:], descent.q[:] = 0.5, [np.nan, 1.0, 1.0], np.nan
    assert not free_set_cg.choose_direction(descent)
    descent.d[:] = 1.0
    assert not free_set_cg.step_along(descent)
