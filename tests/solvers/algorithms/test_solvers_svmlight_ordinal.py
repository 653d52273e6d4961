"""Ordinal regression over all pairs: objective, multipliers of the pairs, memory limit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC, LinearSVC
from solver_cases import differences, judged, make_case, objective
from svmrepro.solvers import Problem, solve
from svmrepro.solvers.decomposition.svmlight import ordinal as svmlight_ordinal


def ranked(seed: int) -> Problem:
    """Return a small random problem whose labels are ranks, with ties, in any storage."""
    case = make_case(seed)
    rng = np.random.default_rng([7, seed])
    n = min(len(case.y), 24)
    y = rng.integers(0, rng.integers(2, n + 1), size=n) * 1.0
    y[:2] = 0.0, max(y.max(), 1.0)
    X = sp.csr_array(case.X)[:n] if sp.issparse(case.X) else case.X[:n]
    C = float(10.0 ** rng.uniform(-2, 2))
    return Problem(X, y, C, bias=False, storage=case.storage)


@pytest.mark.parametrize("seed", range(40))
def test_random_ranks(seed: int) -> None:
    problem = ranked(seed)
    solution, certificate = judged(problem, "svmlight-ordinal", 1e-4)
    rows, weight = differences(problem)
    assert solution.info["pairs"] == len(rows) == solution.alpha.size
    assert rows.T @ solution.alpha == pytest.approx(solution.weights, abs=1e-9 * (1 + weight))
    primal = objective(problem, solution.weights, "pairs")
    dual = solution.alpha.sum() - 0.5 * solution.weights @ solution.weights
    assert primal - dual <= 1.01e-4 * problem.total
    assert certificate.primal == pytest.approx(primal, rel=1e-9)
    assert certificate.dual == pytest.approx(dual, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_as_other_programs_on_the_differences(C: float) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 3))
    y = np.digitize(X @ [1.0, -1.0, 0.5] + rng.normal(size=25), [-1.0, 0.0, 1.5]) * 1.0
    problem = Problem(X, y, C, bias=False)
    rows, weight = differences(problem)
    ours = objective(problem, solve(problem, "svmlight-ordinal", eps=1e-6).weights, "pairs")
    signs = np.where(np.arange(len(rows)) % 2 == 0, 1, -1)
    turned = rows * signs[:, None]
    linear = LinearSVC(loss="hinge", fit_intercept=False, C=weight, tol=1e-6, max_iter=10**5, random_state=0)
    peer = linear.fit(turned, signs).coef_[0]
    # LIBSVM has a threshold; a pair and its mirror image make it zero.
    both, labels = np.vstack((turned, -turned)), np.concatenate((signs, -signs))
    other = SVC(kernel="linear", C=0.5 * weight, tol=1e-6).fit(both, labels)
    for w in (peer, np.asarray(other.coef_)[0]):
        assert ours == pytest.approx(objective(problem, w, "pairs"), rel=1e-5)


def test_one_pair() -> None:
    """w moves along the only difference until its margin is 1 or its multiplier reaches its bound."""
    rows = np.array([[0.0, 1.0], [3.0, 1.0]])
    for C, alpha, first in ((10.0, 1 / 9, 1 / 3), (0.01, 0.02, 0.06)):
        problem = Problem(rows, [1.0, 5.0], C, bias=False, storage="dense")
        solution = solve(problem, "svmlight-ordinal", eps=1e-8)
        assert solution.alpha == pytest.approx([alpha]) and solution.weights == pytest.approx([first, 0.0])


def test_multipliers_at_equal_bounds_are_within_them() -> None:
    # Six times 0.1 is not the sum of six.
    problem = Problem(np.arange(6.0)[:, None], [1, 1, 2, 2, 3, 3], np.full(6, 0.1), bias=False)
    judged(problem, "svmlight-ordinal")


def test_one_example_of_another_rank_takes_memory_for_its_pairs_only() -> None:
    n = 20_000
    problem = Problem(np.ones((n, 1)), np.arange(n) == n // 2, 1.0, bias=False, storage="dense")
    tracemalloc.start()
    made = svmlight_ordinal._build(problem)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert made.number == n - 1 and most < n * n / 10


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
    empty = Problem(sp.csr_array((20_000, 1)), np.arange(20_000), 1.0, bias=False, storage="csr")
    assert solve(empty, "svmlight-ordinal").status == "memory_limit"  # no entries, but as many vectors


def test_optimal_is_not_said_of_a_gap_that_rounding_may_have_made() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(10, 3)), rng.integers(0, 4, 10), 1e6, bias=False)
    assert solve(problem, "svmlight-ordinal", eps=1e-12, verify=False, time_limit=1.0).status != "optimal"
    assert solve(problem, "svmlight-ordinal", eps=1e-3, verify=False).status == "optimal"


def test_a_C_that_overflows_times_n_is_named() -> None:
    problem = Problem(np.eye(2), [1, -1], 1.7e308, bias=False)
    with pytest.raises(ValueError, match=r"n C overflows for n = 2 and C = 1\.7e\+308"):
        solve(problem, "svmlight-ordinal")
