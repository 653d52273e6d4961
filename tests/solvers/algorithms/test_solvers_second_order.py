"""SMO with second-order working sets: planning ahead, rows in bytes and as distances."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC
from solver_cases import banana_like, chess_board, dual, gram, judged, random_labels, steps_of_smo, words
from svmrepro.solvers import SOLVERS, Kernel, Problem, Solution, certify, solve
from svmrepro.solvers.caches import feature_columns as panels

SUCCESSORS = ("csmo", "smo-newton")
VARIANTS = [name for name, spec in SOLVERS.items() if spec.module == "decomposition.second_order"]


@cache
def libsvm(C: float) -> Any:
    return SVC(C=C, gamma=0.5, tol=1e-5).fit(*banana_like(400))


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("name", [*VARIANTS, *SUCCESSORS])
def test_libsvm_agrees(name: str, C: float) -> None:
    X, y = banana_like(400)
    problem = Problem(X, y, C, Kernel.gaussian(0.5))
    model = libsvm(C)
    solution, certificate = judged(problem, name, 1e-5)
    alpha = np.zeros(400)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert certificate.dual == pytest.approx(dual(problem, alpha), rel=1e-6)
    assert certificate.n_bound + certificate.n_nonbound == pytest.approx(model.n_support_.sum(), abs=1)
    assert solution.decision_function(problem, X) == pytest.approx(model.decision_function(X), abs=3e-2)


def test_steps_are_those_of_algorithm_1() -> None:
    ours, expected = [], []
    for seed in range(40):
        problem = Problem(*random_labels(60, 4, seed), 1.0, Kernel.gaussian(0.2))
        expected.append(len(steps_of_smo(gram(problem), problem.y, 1.0, 1e-3, second_order=True)))
        ours.append(solve(problem, "smo2", shrinking=False).iterations)
    same = sum(a == b for a, b in zip(ours, expected, strict=True))
    assert same >= 20  # the others diverge where two gradients are equal up to rounding
    assert np.mean(ours) == pytest.approx(np.mean(expected), rel=0.05)


def test_planning_ahead_saves_steps_where_steps_oscillate() -> None:
    problem = Problem(*chess_board(300, 0), 1e6, Kernel.gaussian(0.5))
    steps = {name: solve(problem, name).iterations for name in ("smo2", "pasmo", "pasmo-as-printed")}
    assert steps["pasmo"] < 0.8 * steps["smo2"]
    assert steps["pasmo-as-printed"] != steps["pasmo"]
    planned = solve(problem, "pasmo").info["planned_steps"]
    assert 0.1 * steps["pasmo"] < planned < 0.51 * steps["pasmo"]


@pytest.mark.parametrize("C", [10.0, 1e4, 1e6])
def test_single_precision_rows_are_harmless(C: float) -> None:
    # Optimality is judged by a gradient in double precision, whatever the precision of the rows.
    problem = Problem(*chess_board(300, 3), C, Kernel.gaussian(0.5))
    single, certificate = judged(problem, "pasmo", single=True)
    assert certificate.dual == pytest.approx(judged(problem, "pasmo")[1].dual, rel=1e-5)
    assert single.info["objective"] == pytest.approx(certificate.dual, rel=1e-6)


def test_rounding_of_many_steps_is_put_right() -> None:
    problem = Problem(*chess_board(200, 2), 1e10, Kernel.gaussian(0.5))
    solution = solve(problem, "pasmo", iteration_limit=300_000, verify=False)  # what the solver itself says
    certificate = certify(problem, solution)
    assert solution.status != "optimal" or certificate.pair_gap <= 1.1e-3


# Kernel rows in bytes, for binary data under a linear kernel


def byte_problem(storage: str) -> Problem:
    """Return binary rows, some of them twice."""
    X, y = words(300, 40, share=0.2)
    X[150:180] = X[:30]
    return Problem(X, y, 10.0, storage=storage)


@cache
def with_floating_point(name: str, cache_mb: float) -> Solution:
    return solve(byte_problem("dense"), name, shrinking=False, cache_mb=cache_mb)


@pytest.mark.parametrize("storage", ["index", "bits"])
@pytest.mark.parametrize(("name", "cache_mb"), [("smo2", 40.0), ("pasmo", 40.0), ("pasmo-3", 1e-6)])
def test_same_steps_as_with_floating_point(name: str, cache_mb: float, storage: str) -> None:
    inexact = with_floating_point(name, cache_mb)
    problem = byte_problem(storage)
    assert panels.bytes_hold(problem) == "entries"
    exact = solve(problem, name, shrinking=False, cache_mb=cache_mb)
    assert exact.iterations == inexact.iterations > 500
    np.testing.assert_allclose(exact.alpha, inexact.alpha, atol=1e-9)


@pytest.mark.parametrize("most", [255, 256])
def test_the_largest_count_of_a_byte(most: int) -> None:
    X = (np.random.default_rng(0).random((60, 300)) < 0.5).astype(float)
    X[:10] = np.arange(300) < most  # ten copies of a row
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    problem = Problem(X, y, 0.01, storage="index")
    assert problem.prepare().norms.max() == most
    assert (panels.bytes_hold(problem) == "entries") == (most == 255)
    expected = solve(Problem(X, y, 0.01, storage="dense"), "smo2")
    np.testing.assert_allclose(solve(problem, "smo2").alpha, expected.alpha, atol=1e-9)


# Kernel rows as distances, for binary data under a Gaussian


@pytest.mark.parametrize("options", [{}, {"cache_mb": 1e-6}, {"shrinking": False}])
@pytest.mark.parametrize("name", ["smo2", "pasmo", "smo-newton", "csmo"])
@pytest.mark.parametrize(("share", "held"), [(0.2, "distances"), (0.7, None)])
def test_rows_of_distances(share: float, held: str | None, name: str, options: dict[str, Any]) -> None:
    X, y = words(700, 200, share=share)
    X[350:420] = X[:70]
    problem = Problem(X, y, 10.0, Kernel.gaussian(gamma=0.05), storage="bits")
    assert panels.bytes_hold(problem) == held
    solution, certificate = judged(problem, name, **options)
    # smo-newton keeps the gradient in fixed point, with an error of at most a unit a step.
    error = 2.0**-28 * solution.iterations if name == "smo-newton" else 0.0
    allowed = 1e-9 * abs(certificate.dual) + 0.5 * error * float(solution.alpha.sum())
    assert solution.info["objective"] == pytest.approx(certificate.dual, rel=0.0, abs=allowed)
    other = Problem(X, y, 10.0, Kernel.gaussian(gamma=0.05), storage="dense")
    assert certificate.dual == pytest.approx(judged(other, name, **options)[1].dual, rel=1e-5)


@pytest.mark.parametrize("name", ["smo2", "pasmo"])
def test_a_gap_that_is_nearly_closed_when_all_are_active(name: str) -> None:
    rng = np.random.default_rng(9833)
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 3))
    X = rng.normal(size=(n, d))
    X = np.round(X, 0) if rng.random() < 0.5 else X
    y = np.where(rng.random(n) < rng.choice([0.1, 0.5]), 1.0, -1.0)
    C = 10 ** rng.uniform(-1, 1, size=n) if rng.random() < 0.5 else float(10 ** rng.uniform(-1, 1))
    gamma, eps = float(10 ** rng.uniform(-2, 1)), float(rng.choice([1e-3, 1e-2, 0.02, 0.05, 0.1]))
    assert solve(Problem(X, y, C, Kernel.gaussian(gamma=gamma)), name, eps=eps).status == "optimal"
