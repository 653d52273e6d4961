"""Dual coordinate descent: against LIBLINEAR and OCAS, its end by the gap, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numba import config
from solver_cases import STORAGES, cloud, judged, linear_dual, objective, words
from svmrepro.solvers import Problem, solve
from svmrepro.solvers.linear import dual_descent
from svmrepro.solvers.passes import coordinate_steps as steps
from svmrepro.solvers.quadratic_programs import plane_qp

NAME = "dual-descent"


@pytest.mark.parametrize("function", [steps.select, steps.sums, steps.sweep, plane_qp.enter])
def test_code_is_compiled_before_the_clock_starts(function: Any) -> None:
    assert config.DISABLE_JIT or function.overloads


def example(C: float = 1.0, storage: str = "auto") -> Problem:
    return Problem(*words(300, 40, share=0.2), C, bias=False, storage=storage)


def numbers(C: float, n: int = 300, d: int = 12, storage: str = "csr") -> Problem:
    return Problem(*cloud(n, d, share=0.6), C, bias=False, storage=storage)


def gap(problem: Problem, solution: Any) -> float:
    """Return the relative duality gap, from the data alone; the multipliers must be in their box."""
    primal = objective(problem, solution.weights)
    return (primal - linear_dual(problem, solution.alpha)) / primal


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("storage", STORAGES)
def test_as_liblinear_and_ocas(storage: str, shrinking: bool) -> None:
    problem, eps = example(storage=storage), 1e-6
    solution, certificate = judged(problem, NAME, eps, shrinking=shrinking)
    assert gap(problem, solution) <= eps * 1.01
    assert certificate.relative_gap == pytest.approx(gap(problem, solution), abs=1e-12)
    found = objective(problem, solution.weights)
    reference = objective(problem, solve(problem, "liblinear", eps=1e-8, passes=100_000).weights)
    assert reference * (1 - 1e-9) <= found <= reference * (1 + eps)
    assert objective(problem, judged(problem, "ocas", eps)[0].weights) == pytest.approx(found, rel=2 * eps)
    assert solution.info["primal"] == pytest.approx(found, rel=1e-12)
    assert solution.work["nonzeros"] > 0 and solution.kernel_evaluations >= solution.iterations
    assert solution.info["active"] == problem.n if not shrinking else solution.info["active"] < problem.n


@pytest.mark.parametrize(("C", "storage"), [(0.1, "dense"), (10.0, "csr"), (1000.0, "dense")])
def test_tolerances_are_kept(C: float, storage: str) -> None:
    problem = numbers(C, storage=storage)
    sweeps = [judged(problem, NAME, eps)[0].iterations for eps in (0.3, 1e-2, 1e-4, 1e-6)]
    assert sweeps[0] < sweeps[-1]


@pytest.mark.parametrize("C", [1e9, 1e100, 1e300])
def test_more_than_doubles_hold(C: float) -> None:
    problem = numbers(C, n=60, d=3)
    solution = solve(problem, NAME, iteration_limit=3000, verify=False)  # what the solver itself says
    assert solution.status in ("stalled", "iteration_limit")
    assert solution.weights is not None and np.isfinite(solution.weights).all()
    assert 0.5 < gap(problem, solution) <= 1.0  # far from optimal, and not worse than the start


def test_a_tolerance_below_rounding_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []

    def finish(run: Any, status: str) -> Any:
        ends.append(run)
        return end(run, status)

    end = dual_descent.finish
    monkeypatch.setattr(dual_descent, "finish", finish)
    problem = example(10.0)
    solution = solve(problem, NAME, eps=1e-17, iteration_limit=1_000_000)
    assert solution.status == "stalled"
    assert gap(problem, solution) <= 1e-6
    (run,) = ends
    v = run.passes.layout.outside(run.v)
    assert v == pytest.approx(problem.X.T @ (problem.y * solution.alpha), rel=1e-9, abs=1e-12)


def test_empty_rows_are_at_their_bound() -> None:
    X, y = words(50, 20)
    X[::5] = 0.0
    for storage in STORAGES:
        solution, _ = judged(Problem(X, y, 0.3, bias=False, storage=storage), NAME, 1e-5)
        assert (solution.alpha[::5] == 0.3).all()
    nothing = Problem(sp.csr_array((4, 3)), [1, -1, 1, -1], 2.0, bias=False, storage="csr")
    solution, certificate = judged(nothing, NAME)
    assert certificate.primal == 8.0 and not solution.weights.any()


def test_limits() -> None:
    problem = numbers(1e4)
    stopped = solve(problem, NAME, eps=1e-9, iteration_limit=7)
    assert stopped.status == "iteration_limit" and stopped.iterations == 7
    assert objective(problem, stopped.weights) == pytest.approx(stopped.info["primal"], rel=1e-12)
    assert 1e-9 < gap(problem, stopped) < 1.0


def test_tight_tolerances_are_reached_when_the_dual_no_longer_rises() -> None:
    """Near the optimum an error in v is squared in the dual objective, but not in the primal one."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 50))
    y = np.where(X @ rng.normal(size=50) + 0.5 * rng.normal(size=200) > 0, 1.0, -1.0)
    for C in (1.0, 100.0):
        problem = Problem(X, y, C, bias=False)
        solution = solve(problem, NAME, eps=1e-9, iteration_limit=1e6)
        assert solution.status == "optimal" and gap(problem, solution) <= 1e-9 * 1.01


def test_a_gap_within_rounding_is_not_closed() -> None:
    X, y = cloud(2, 5)
    problem = Problem(np.round(4.0 * X), y, 1e10, bias=False)
    solution = solve(problem, NAME, eps=1e-9, verify=False, iteration_limit=100_000)
    assert solution.status == "stalled"
