"""What runs leave behind for others: layouts, starts, limits."""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import objective, random_labels
from svmrepro.solvers import Kernel, Problem, SVMClassifier, certify, solve
from svmrepro.solvers.solution import Start


def test_an_interrupted_run_leaves_problems_with_the_same_examples_intact() -> None:
    problem = Problem(*random_labels(1500, 5, 1), 1.0, Kernel.gaussian(gamma=0.5))
    solve(problem, "smo-newton")
    other, calls = problem.with_C(2.0), []

    def interrupt(*numbers: float) -> None:
        calls.append(numbers)
        if len(calls) > 6:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        solve(problem, "svmlight", progress=interrupt)
    for each in (problem, other):
        solution = solve(each, "smo-newton", verify=False)
        assert certify(each, solution).passes(1e-3, 2.0)


@pytest.mark.parametrize("name", ["smo2", "smo-newton", "svmlight"])
def test_no_result_is_optimal_that_rounding_could_hide(name: str) -> None:
    """Classes overlap on a line, so that the sum of the multipliers grows with C."""
    X, y = random_labels(60, 1)
    start = None
    for C in (1.0, 1e12):
        problem = Problem(X, y, C, Kernel.linear())
        solution = solve(problem, name, start=start, verify=False, iteration_limit=1e5)
        start = solution.alpha * 1e12
        assert solution.status == "optimal" or C > 1.0
        error = 2.3e-16 * solution.alpha.sum() * (X**2).max()
        assert error <= 1e-3 or solution.status != "optimal"
    assert error > 1e-3  # the large C tests something


def test_two_far_clusters_are_verified() -> None:
    """Centring does not help distances that are computed from norms; the error exceeds this tolerance."""
    rng = np.random.default_rng(5)
    X = 2300 + rng.normal(size=(4000, 2))
    X[:2000] *= -1
    problem = Problem(X, np.where(rng.random(4000) < 0.5, 1.0, -1.0), 100.0, Kernel.gaussian(gamma=1.0))
    solution = solve(problem, "smo-newton", eps=1e-6)
    assert solution.status == "stalled" or certify(problem, solution).passes(1e-6, 2.0)


@pytest.mark.parametrize("gradient", [np.full(4, np.nan), np.ones(3), np.ones((4, 1))])
def test_gradients_of_a_start_that_cannot_be(gradient: np.ndarray) -> None:
    problem = Problem(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), 1.0, Kernel.linear())
    with pytest.raises(ValueError, match="gradient of start"):
        solve(problem, "smo-newton", start=Start(np.zeros(4), gradient, 0.0))
    with pytest.raises(ValueError, match="drift of start"):
        solve(problem, "smo-newton", start=Start(np.zeros(4), problem.y, np.nan))


def test_limits_during_the_first_pass_of_dual_descent() -> None:
    n = 40_000
    X, start = np.zeros((n, 60)), np.zeros(n)
    X[:, 0], X[:, 1], X[1:3000, 0], start[0] = 1.0, 1e-3, -1000.0, 1.0
    y = np.ones(n)
    y[-1] = -1.0
    problem = Problem(X, y, 1.0, Kernel.linear(), bias=False, storage="dense")
    solution = solve(problem, "dual-descent", start=start, time_limit=1e-9, verify=False)
    assert solution.status == "time_limit"
    assert solution.info["primal"] == pytest.approx(objective(problem, solution.weights), rel=1e-9)


def test_a_warm_start_with_nearly_equal_weights() -> None:
    X, y = random_labels(60, 3)
    model, weights = SVMClassifier(warm_start=True), np.ones(60)
    model.fit(X, y, sample_weight=weights)
    model.fit(X, y, sample_weight=weights - np.r_[0.0, np.full(59, 1e-13)])
    model.fit(X, y, sample_weight=np.r_[1e13, np.ones(59)])
    model.fit(X, y, sample_weight=np.r_[1e13, np.full(59, 0.1)])
