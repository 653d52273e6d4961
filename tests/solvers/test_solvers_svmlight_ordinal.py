"""Ordinal regression over all pairs: objective, multipliers of the pairs, memory limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import make_case
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.decomposition import svmlight_ordinal

Vector = Any


def pairs_of(problem: Problem) -> tuple[Vector, float]:
    """Return the differences one by one, and the weight of each loss."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    rows = [X[i] - X[j] for i in range(problem.n) for j in range(problem.n) if problem.y[i] > problem.y[j]]
    return np.array(rows), problem.n * problem.C / len(rows)


def objective(problem: Problem, w: Vector) -> float:
    differences, weight = pairs_of(problem)
    return float(0.5 * w @ w + weight * np.maximum(0.0, 1.0 - differences @ w).sum())


def ranked(seed: int, ranks: int | None = None) -> Problem:
    """Return a small random problem whose labels are ranks, with ties, in any storage."""
    case = make_case(seed)
    rng = np.random.default_rng([7, seed])
    n = min(len(case.y), 24)
    R = ranks or int(rng.integers(2, n + 1))
    y = rng.integers(0, R, size=n) * 1.0
    y[:2] = 0.0, max(y.max(), 1.0)
    X = sp.csr_array(case.X)[:n] if sp.issparse(case.X) else case.X[:n]
    C = float(10.0 ** rng.uniform(-2, 2))
    return Problem(X, y, C, Kernel.linear(), bias=False, storage=case.storage)


@pytest.mark.parametrize("seed", range(40))
def test_random_ranks(seed: int) -> None:
    problem = ranked(seed)
    solution = solve(problem, "svmlight-ordinal", eps=1e-4)
    assert solution.status == "optimal" and solution.alpha is not None
    differences, weight = pairs_of(problem)
    assert solution.info["pairs"] == len(differences) == solution.alpha.size
    # The pairs are ordered by i, then j.
    assert differences.T @ solution.alpha == pytest.approx(solution.weights, abs=1e-9 * (1 + weight))
    primal = objective(problem, solution.weights)
    dual = solution.alpha.sum() - 0.5 * solution.weights @ solution.weights
    assert primal - dual <= 1.01e-4 * problem.n * problem.C
    certificate = certify(problem, solution)
    assert certificate.passes(1e-4, 2.0)
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual == pytest.approx(dual, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_as_other_programs_on_the_differences(C: float) -> None:
    from sklearn.svm import SVC, LinearSVC

    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 3))
    y = np.digitize(X @ [1.0, -1.0, 0.5] + rng.normal(size=25), [-1.0, 0.0, 1.5]) * 1.0
    problem = Problem(X, y, C, bias=False)
    differences, weight = pairs_of(problem)
    ours = objective(problem, solve(problem, "svmlight-ordinal", eps=1e-6).weights)
    signs = np.where(np.arange(len(differences)) % 2 == 0, 1, -1)
    turned = differences * signs[:, None]
    linear = LinearSVC(
        loss="hinge", dual=True, fit_intercept=False, C=weight, tol=1e-6, max_iter=10**5, random_state=0
    )
    peer = linear.fit(turned, signs).coef_[0]
    # LIBSVM has a threshold; a pair and its mirror image make it zero.
    both, labels = np.vstack((turned, -turned)), np.concatenate((signs, -signs))
    other = SVC(kernel="linear", C=0.5 * weight, tol=1e-6).fit(both, labels)
    for w in (peer, np.asarray(other.coef_)[0]):
        assert ours == pytest.approx(objective(problem, w), rel=1e-5)


def test_one_pair() -> None:
    """w moves along the only difference until its margin is 1 or its multiplier reaches its bound."""
    rows = np.array([[0.0, 1.0], [3.0, 1.0]])
    free = solve(Problem(rows, [1.0, 5.0], 10.0, bias=False, storage="dense"), "svmlight-ordinal")
    assert free.weights == pytest.approx([1 / 3, 0.0]) and free.alpha == pytest.approx([1 / 9])
    bound = solve(Problem(rows, [1.0, 5.0], 0.01, bias=False, storage="dense"), "svmlight-ordinal")
    assert bound.alpha == pytest.approx([0.02]) and bound.weights == pytest.approx([0.06, 0.0])


def test_two_classes_are_ranks() -> None:
    """The objective is that of the ROC area: every pair of a positive and a negative example."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 4)), np.where(np.arange(30) < 4, 1.0, -1.0)
    problem = Problem(X, y, 1.0, bias=False)
    solution = solve(problem, "svmlight-ordinal", eps=1e-5)
    assert solution.info["pairs"] == 4 * 26
    assert certify(problem, solution).passes(1e-5, 2.0)


def test_too_many_pairs() -> None:
    rng = np.random.default_rng(2)
    # 100 x 100 differences of 5 numbers
    problem = Problem(rng.normal(size=(200, 5)), np.arange(200) % 2, 1.0, bias=False, storage="dense")
    solution = solve(problem, "svmlight-ordinal", memory_limit_mb=0.38)
    assert solution.status == "memory_limit" and solution.info == {"pairs": 10_000.0}
    enough = solve(problem, "svmlight-ordinal", memory_limit_mb=0.39, iteration_limit=5)
    assert enough.status == "iteration_limit" and enough.iterations == 5
    # Beyond its own memory limit the differences are not even computed.
    large = Problem(sp.csr_array(np.ones((20_000, 1))), np.arange(20_000), 1.0, bias=False, storage="csr")
    assert solve(large, "svmlight-ordinal").status == "memory_limit"
    made = large.layout("pairs", svmlight_ordinal._build)
    assert made.problem is None and made.number == 20_000 * 19_999 // 2


@pytest.mark.parametrize("options", [{}, {"fold": False}, {"cache_mb": 0.0, "fold": False}])
@pytest.mark.parametrize("seed", range(6))
def test_multipliers_to_go_on_from(seed: int, options: dict[str, Any]) -> None:
    problem = ranked(seed)
    first = solve(problem, "svmlight-ordinal", eps=1e-6, **options)
    assert first.status == "optimal" and first.alpha is not None
    again = solve(problem, "svmlight-ordinal", eps=1e-5, start=first.alpha, **options)
    assert again.status == "optimal"
    assert again.iterations <= 0.3 * first.iterations
    anywhere = np.random.default_rng(seed).uniform(0, 1, first.alpha.size)
    weight = problem.n * problem.C / first.alpha.size
    elsewhere = solve(problem, "svmlight-ordinal", eps=1e-6, start=weight * anywhere, **options)
    assert elsewhere.status == "optimal"
    assert certify(problem, elsewhere).passes(1e-6, 2.0)
    scale = 1e-6 * problem.n * problem.C
    assert abs(objective(problem, elsewhere.weights) - objective(problem, first.weights)) <= 2 * scale


def test_a_single_pair_goes_on_from_its_multiplier() -> None:
    problem = Problem(np.array([[0.0], [2.0]]), np.array([1.0, 2.0]), 1.0, bias=False)
    first = solve(problem, "svmlight-ordinal", eps=1e-8)
    assert first.alpha is not None and first.alpha == pytest.approx([0.25])
    again = solve(problem, "svmlight-ordinal", eps=1e-6, start=first.alpha)
    assert (again.status, again.iterations) == ("optimal", 0)
    for alpha, message in (
        ([0.25, 0.25], r"^start must have shape \(1,\), got \(2,\)$"),
        ([2.5], r"^start\[0\] = 2\.5 is not in \[0, 2\]$"),
        (["a"], "^start must hold numbers, one for each multiplier$"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(problem, "svmlight-ordinal", start=alpha)
