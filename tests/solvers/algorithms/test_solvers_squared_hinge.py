"""The two solvers of the squared hinge: their objective by the dual, and comparison with LIBLINEAR."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import STORAGES, cloud, dense, judged, make_case, words
from svmrepro.solvers import Problem, certify, solve
from svmrepro.solvers.linear import lsvm

NAMES = ("l2svm-mfn", "lsvm")


def judge(problem: Problem, w: Any) -> tuple[float, float, float]:
    """Return objective, duality gap and largest violation at w, from the data alone."""
    X, y, C = dense(problem.X), problem.y, problem.C
    alpha = C * np.maximum(0.0, 1.0 - y * (X @ w))
    v = X.T @ (y * alpha)
    primal = 0.5 * w @ w + 0.5 * alpha @ alpha / C
    dual = alpha.sum() - 0.5 * v @ v - 0.5 * alpha @ alpha / C
    return primal, primal - dual, float(np.abs(X @ (w - v)).max())


def example(n: int = 200, d: int = 30, C: float = 1.0, storage: str = "auto", seed: int = 0) -> Problem:
    return Problem(*words(n, d, seed, 0.3), C, bias=False, storage=storage)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_storage_gives_the_optimum(name: str, storage: str) -> None:
    problem = example(storage=storage)
    solution, certificate = judged(problem, name, 1e-6)
    primal, gap, violation = judge(problem, solution.weights)
    assert violation <= 1e-6 * 1.01
    assert gap + 1e-12 * primal >= 0 and gap < 1e-10 * primal
    assert solution.info["objective"] == pytest.approx(primal - gap, rel=1e-12)
    margins = problem.y * (problem.X @ solution.weights)
    assert solution.alpha == pytest.approx(problem.C * np.maximum(0.0, 1.0 - margins), abs=1e-12)
    assert solution.work["nonzeros"] > 0 and solution.kernel_evaluations > 0
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    assert certificate.gap == pytest.approx(gap, abs=1e-12 * primal)
    assert certificate.max_violation <= violation + 1e-12


def test_certificate_sees_what_is_wrong() -> None:
    problem = example()
    solution = solve(problem, "l2svm-mfn", eps=1e-6)
    assert solution.weights is not None and solution.alpha is not None
    alpha = solution.alpha.copy()
    alpha[np.flatnonzero(alpha == 0.0)[0]] = 0.01  # of an example beyond its margin
    for wrong in (
        replace(solution, weights=solution.weights * 1.01, alpha=None),
        *(replace(solution, alpha=values) for values in (1.01 * solution.alpha, np.zeros(problem.n), alpha)),
    ):
        assert not certify(problem, wrong).passes(1e-4, 2.0)


@pytest.mark.parametrize("seed", range(36))
def test_random_problems(seed: int) -> None:
    """Duplicates, contradictions, zero rows, a class with one example, any storage, C from 1e-3 to 1e6."""
    case = make_case(seed)
    problem = Problem(case.X, case.y, case.C, bias=False, storage=case.storage)
    judged(problem, "l2svm-mfn", say=case)
    other = solve(problem, "lsvm", iteration_limit=500, verify=False)  # what the solver itself says
    if other.status == "optimal":
        assert certify(problem, other).passes(1e-3, 2.0), (str(case), judge(problem, other.weights))
    else:  # slow, or inexact, where C is large
        assert other.status in ("iteration_limit", "stalled"), str(case)
        assert case.C * float(problem.prepare().norms.max()) >= 100.0, str(case)


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(6))
def test_rounding_ends_a_run(seed: int, C: float) -> None:
    """If the requested precision is out of reach, the solver says so and gets as near as doubles allow.

    The gradient's rounding is at least 20,000 times what eps allows. The gap is ``g.g / 2``. Outputs in
    double precision are off by some units in the last place of their summands, and g by C times the rows
    times that.
    """
    problem = example(C=C, seed=seed)
    solution = solve(problem, "l2svm-mfn", eps=1e-12)
    assert solution.status == "stalled" and solution.weights is not None
    primal, gap, _ = judge(problem, solution.weights)
    X = np.abs(dense(problem.X))
    off = 2.0**-53 * (1.0 + X @ np.abs(solution.weights))
    allowed = 10 * C * float(np.linalg.norm(X.T @ off))
    assert abs(gap) <= 0.5 * allowed**2 + 1e-14 * primal


@pytest.mark.parametrize(("C", "eps"), [(1e10, 1e-5), (3e11, 1e-3), (1e12, 1e-3)])
def test_optimal_is_not_said_of_a_gradient_that_is_mostly_rounding(C: float, eps: float) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        X /= np.linalg.norm(X, axis=1)[:, None]
        problem = Problem(X, rng.choice([-1.0, 1.0], 60), C, bias=False)
        solution = solve(problem, "l2svm-mfn", eps=eps, verify=False)
        assert solution.status == "stalled" or certify(problem, solution).passes(eps, 2.0)


def test_lagrangian_iterations_that_rounding_keeps_in_motion_end() -> None:
    X, y = cloud(200, 10)
    X *= 10.0 ** np.random.default_rng(0).uniform(-6, 6, size=10)
    assert solve(Problem(X, y, 1000.0, bias=False), "lsvm", iteration_limit=20_000).status == "stalled"


def test_a_result_that_rounding_made_a_solver_doubt_is_optimal_once_it_is_certified() -> None:
    X, y = cloud(200, 10)
    problem = Problem(X * 10.0 ** np.linspace(-6, 6, 10), y, 1e-3, bias=False)
    assert solve(problem, "lsvm", verify=False).status == "stalled"
    judged(problem, "lsvm")


def test_lagrangian_iteration_is_the_paper_s() -> None:
    """The two passes of an iteration give the iterates of the formula with its explicit N x N inverse."""
    problem = example(n=40, d=6, C=0.7)
    H = problem.y[:, None] * dense(problem.X)
    Q = np.eye(40) / problem.C + H @ H.T
    u = np.linalg.solve(Q, np.ones(40))
    run = lsvm.start(problem, 1e-12, {"memory_limit_bytes": 2**40})
    for k in range(6):
        while lsvm.steps(run) < k or not run.begun:
            assert lsvm.advance(run, 1, k) is None
        assert problem.C * (run.z - run.h) == pytest.approx(u, abs=1e-10)
        assert run.weights == pytest.approx(H.T @ u, abs=1e-10)
        u = np.linalg.solve(Q, 1.0 + np.maximum(Q @ u - 1.0 - 1.9 / problem.C * u, 0.0))


def test_limits_of_memory() -> None:
    problem = example(C=1e4)  # 30 x 30 doubles
    assert solve(problem, "lsvm", memory_limit_mb=0.006).status == "memory_limit"
    assert solve(problem, "lsvm", memory_limit_mb=0.008, iteration_limit=1).status == "iteration_limit"
    # Its own limit.
    wide = Problem(sp.csr_array(([1.0, 1.0], ([0, 1], [0, 40_000]))), [1, -1], 1.0, bias=False, storage="csr")
    assert solve(wide, "lsvm").status == "memory_limit"
    assert not hasattr(lsvm.LagrangianRun(wide, 1e-3, {"memory_limit_bytes": 2.0**60}), "matrix")
    assert solve(wide, "l2svm-mfn").status == "optimal"


def test_a_singular_matrix_ends_a_run() -> None:
    """Equal columns, and C so large that I / C vanishes in rounding."""
    rng = np.random.default_rng(0)
    X = np.repeat(1e3 * rng.normal(size=(30, 2)), 3, axis=1)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    for C in (1e14, np.full(30, 1e14) * rng.uniform(0.5, 1.0, 30)):
        solution = solve(Problem(X, y, C, bias=False), "lsvm")
        assert solution.status == "stalled"
        assert solution.weights is not None and np.isfinite(solution.weights).all()
