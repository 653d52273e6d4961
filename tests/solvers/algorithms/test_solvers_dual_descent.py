"""Dual coordinate descent: against LIBLINEAR and OCAS, its end by the gap, hard problems, limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import STORAGES, cloud, in_slices, judged, make_case, objective, words
from svmrepro.solvers import Problem, certify, solve
from svmrepro.solvers.linear import dual_descent

NAME = "dual-descent"


def example(n: int = 300, d: int = 40, C: Any = 1.0, storage: str = "auto", seed: int = 0) -> Problem:
    X, y = words(n, d, seed, 0.2)
    return Problem(X, y, C, bias=False, storage=storage)


def numbers(n: int = 300, d: int = 12, C: Any = 1.0, storage: str = "csr", seed: int = 0) -> Problem:
    return Problem(*cloud(n, d, seed, share=0.6), C, bias=False, storage=storage)


def gap(problem: Problem, solution: Any) -> float:
    """Return the relative duality gap, from the data alone; the multipliers must be in their box."""
    alpha = solution.alpha
    assert ((alpha >= 0.0) & (alpha <= problem.bounds)).all()
    v = problem.X.T @ (problem.y * alpha)
    primal = objective(problem, solution.weights)
    return float((primal - (alpha.sum() - 0.5 * v @ v)) / primal)


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


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_tolerances_are_kept(C: float, storage: str) -> None:
    problem = numbers(C=C, storage=storage)
    sweeps = [judged(problem, NAME, eps)[0].iterations for eps in (0.3, 1e-2, 1e-4, 1e-6)]
    assert sweeps[0] < sweeps[-1]


@pytest.mark.parametrize("seed", range(8))
def test_own_bounds(seed: int) -> None:
    """The bounds of the examples differ by four decades; the multipliers respect each, and reach some."""
    problem = numbers(C=10.0 ** np.random.default_rng(seed).uniform(-3, 1, 300), seed=seed)
    solution, _ = judged(problem, NAME, 1e-5)
    assert gap(problem, solution) <= 1e-5 * 1.01
    assert (solution.alpha == problem.bounds).any()
    best = objective(problem, solve(problem, "ocas", eps=1e-6).weights)
    assert objective(problem, solution.weights) <= best * (1 + 1e-5)


@pytest.mark.parametrize("seed", range(36))
def test_hard_problems_are_solved_or_declared_open(seed: int) -> None:
    """Duplicates, contradictions, zero rows, a class with one example, any storage, C from 1e-3 to 1e6."""
    case = make_case(seed)
    problem = Problem(case.X, case.y, case.C, bias=False, storage=case.storage)
    solution = solve(problem, NAME, iteration_limit=20_000, verify=False)
    if solution.status == "optimal":
        assert gap(problem, solution) <= 1e-3 * 1.01, str(case)
        assert certify(problem, solution).passes(1e-3, 1.0), str(case)
    else:
        assert solution.status in ("iteration_limit", "stalled"), str(case)
        assert case.C * float(problem.prepare().norms.max()) > 100.0, str(case)
        assert gap(problem, solution) > 1e-3 * 0.5, str(case)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(scale: float) -> None:
    X, y = cloud(200, 8)
    problem = Problem(scale * X, y, 1.0 / scale**2, bias=False)
    same = Problem(X, y, 1.0, bias=False)
    found, expected = (judged(each, NAME, 1e-4)[0] for each in (problem, same))
    assert objective(problem, found.weights) * scale**2 == pytest.approx(
        objective(same, expected.weights), rel=1e-4
    )


def test_one_huge_column() -> None:
    """The mean of the weights lags behind by little, which a huge column makes much."""
    X, y = cloud(60, 4)
    X[0, 0] = 1e7
    problem = Problem(X, y, 0.1, bias=False)
    solution = solve(problem, NAME)
    assert solution.status in ("optimal", "stalled")
    if solution.status == "optimal":
        assert gap(problem, solution) <= 1e-3 * 1.01


@pytest.mark.parametrize("C", [1e9, 1e100, 1e300])
def test_more_than_doubles_hold(C: float) -> None:
    problem = numbers(n=60, d=3, C=C)
    solution = solve(problem, NAME, iteration_limit=3000)
    assert solution.status in ("optimal", "stalled", "iteration_limit")
    assert solution.weights is not None and np.isfinite(solution.weights).all()
    if solution.status == "optimal":
        assert gap(problem, solution) <= 2e-3


def test_a_tolerance_below_rounding_is_not_claimed() -> None:
    problem = example(C=10.0)
    solution = solve(problem, NAME, eps=1e-17, iteration_limit=100_000)
    assert solution.status in ("stalled", "iteration_limit")
    assert gap(problem, solution) <= 1e-6


def test_empty_rows_are_at_their_bound() -> None:
    X, y = words(50, 20)
    X[::5] = 0.0
    for storage in STORAGES:
        solution, _ = judged(Problem(X, y, 0.3, bias=False, storage=storage), NAME, 1e-5)
        assert (solution.alpha[::5] == 0.3).all()
    nothing = Problem(sp.csr_array((4, 3)), [1, -1, 1, -1], 2.0, bias=False, storage="csr")
    solution, certificate = judged(nothing, NAME)
    assert certificate.primal == 8.0 and not solution.weights.any()


def test_shrunk_examples_come_back() -> None:
    """The first check after a wrong shrinking finds the examples that violate their condition."""
    problem = example(C=5.0)
    run = dual_descent.start(problem, 1e-6, {"start": None, "shrinking": True, "seed": 0})
    run.state.above, run.state.below = -2.0, 2.0  # the first sweep shrinks every example
    status, least = None, problem.n
    while status is None:
        status = dual_descent.advance(run, 1000, 2**62)
        least = min(least, int(run.state.active))
    assert least == 0 and status == "optimal"
    assert gap(problem, dual_descent.finish(run, status)) <= 1e-6 * 1.01


def test_an_early_start() -> None:
    problem = example(C=3.0)
    first, _ = judged(problem, NAME, 1e-6)
    again, _ = judged(problem, NAME, 1e-4, start=first.alpha)
    assert again.iterations < 0.2 * first.iterations
    # The multipliers of another problem are a feasible start as well.
    other = example(C=4.0)
    warm, _ = judged(other, NAME, 1e-5, start=first.alpha)
    assert gap(other, warm) <= 1e-5 * 1.01
    once = solve(other, NAME, start=first.alpha, iteration_limit=1)
    v = other.X.T @ (other.y * first.alpha)
    assert certify(other, once).dual >= first.alpha.sum() - 0.5 * v @ v


def test_slices_do_not_change_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = example(C=2.0)
    whole = solve(problem, NAME, eps=1e-5)
    in_slices(monkeypatch, 700)
    pieces = solve(problem, NAME, eps=1e-5)
    assert np.array_equal(whole.alpha, pieces.alpha) and np.array_equal(whole.weights, pieces.weights)
    assert (whole.iterations, whole.work) == (pieces.iterations, pieces.work)


def test_limits() -> None:
    problem = numbers(C=1e4)
    stopped = solve(problem, NAME, eps=1e-9, iteration_limit=7)
    assert stopped.status == "iteration_limit" and stopped.iterations == 7
    assert objective(problem, stopped.weights) == pytest.approx(stopped.info["primal"], rel=1e-12)
    assert 1e-9 < gap(problem, stopped) < 1.0
    assert solve(problem, NAME, eps=1e-12, time_limit=0.05).status in ("time_limit", "stalled")
    with pytest.raises(ValueError, match="bias=False"):
        solve(Problem(problem.X, problem.y), NAME)


def test_progress_rises() -> None:
    seen: list[tuple[float, int, float]] = []
    solution = solve(numbers(C=100.0), NAME, eps=1e-5, progress=lambda *now: seen.append(now))
    duals = [dual for _, _, dual in seen]
    assert len(seen) > 1 and all(b >= a * (1 - 1e-12) for a, b in pairwise(duals))
    assert seen[-1][1] == solution.iterations


def test_seeds_give_other_orders_and_the_same_answer() -> None:
    problem = example()
    one, other = (judged(problem, NAME, 1e-6, seed=seed)[0] for seed in (0, 1))
    assert not np.array_equal(one.alpha, other.alpha)
    assert objective(problem, one.weights) == pytest.approx(objective(problem, other.weights), rel=1e-6)
    assert np.array_equal(one.alpha, solve(problem, NAME, eps=1e-6).alpha)


def test_tight_tolerances_are_reached_when_the_dual_no_longer_rises() -> None:
    """Near the optimum an error in v is squared in the dual objective, but not in the primal one."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 50))
    y = np.where(X @ rng.normal(size=50) + 0.5 * rng.normal(size=200) > 0, 1.0, -1.0)
    for C in (1.0, 100.0):
        problem = Problem(X, y, C, bias=False)
        solution = solve(problem, NAME, eps=1e-9, iteration_limit=1e6)
        assert solution.status == "optimal" and gap(problem, solution) <= 1e-9 * 1.01
