"""Wrong solutions that were once accepted: each must be refused."""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import cloud, judged, objective
from svmrepro.solvers import SOLVERS, Kernel, Problem, Solution, Start, certify, solve
from svmrepro.solvers.certificate import optimality
from svmrepro.solvers.decomposition import second_order
from svmrepro.solvers.driver import verified

EPS = 1e-3


@pytest.mark.parametrize("name", ["svmperf", "ocas"])
@pytest.mark.parametrize("keep_alpha", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_invented_bounds(name: str, keep_alpha: bool, seed: int) -> None:
    problem = Problem(*cloud(80, 4, seed), 0.5, bias=False)
    honest, _ = judged(problem, name, EPS, keep_alpha=keep_alpha)
    best, w = objective(problem, honest.weights), np.random.default_rng(seed).normal(size=4)
    while objective(problem, w) < 5.0 * best:
        w *= 1.5
    forged = dataclasses.replace(honest, weights=w, relaxed=objective(problem, w), xi=0.0)
    found = certify(problem, forged)
    assert not found.passes(EPS, 1.0)
    assert found.gap >= objective(problem, w) - best * (1 + 1e-2)
    # Without multipliers and witness the certificate searches for a bound.
    alone = dataclasses.replace(forged, alpha=None, witness=None)
    assert not certify(problem, alone).passes(EPS, 1.0)


def test_weights_beside_right_multipliers() -> None:
    X, y = cloud(50, 3, 3)
    X = np.column_stack((X, np.zeros(50)))  # a column that is empty in all examples
    problem = Problem(X, y, 1.0)
    honest, _ = judged(problem, "smo2", EPS)
    assert honest.weights is not None
    outside = honest.weights + np.array([0.0, 0.0, 0.0, 1.0])
    for wrong in (np.zeros(4), -honest.weights, 1.01 * honest.weights, outside):
        found = certify(problem, dataclasses.replace(honest, weights=wrong))
        assert any("weights" in line for line in found.failures(EPS, 1.0))
    curved = Problem(X, y, 1.0, Kernel.gaussian(0.3))
    other = dataclasses.replace(solve(curved, "smo2"), weights=honest.weights)
    with pytest.raises(ValueError, match="weights belong to a linear kernel"):
        certify(curved, other)


def test_dot_products_that_cancel_before_a_power() -> None:
    # x_0.x_2 is 1, but 0 in double precision, so that x_2 seems to keep its margin.
    X = np.array([[1.0, 1.0, -1.0], [0.0, 0.0, 0.0], [1e16, 1.0, 1e16]])
    problem = Problem(X, np.array([1.0, -1.0, -1.0]), 1.0, Kernel.polynomial(2))
    found = certify(problem, Solution(np.array([2.0, 2.0, 0.0]) / 9.0, None, -1.0, "optimal", 0, 0))
    assert found.rounding > 2.0 / 9.0 and not found.passes(EPS, 1.0)


def test_such_dot_products_of_an_example_whose_norm_underflows() -> None:
    X = np.array([[1e-170, 1e-170, -1e-170], [0.0, 0.0, 0.0], [1e16, 1.0, 1e16]])
    kernel, bounds = Kernel.polynomial(3, a=-2e170, c=1.0), np.array([2.0, 1e-9, 2.0])
    problem = Problem(X, np.array([1.0, -1.0, 1.0]), bounds, kernel, bias=False)
    found = certify(problem, Solution(np.array([1.0, 1e-9, 0.0]), None, 0.0, "optimal", 0, 0))
    assert found.rounding > 2.0 and not found.passes(EPS, 1.0)


@pytest.mark.parametrize("size", [1e-155, 1e-170, 1e-300])
def test_weights_whose_squares_underflow(size: float) -> None:
    X, y = cloud(50, 3, 3)
    problem = Problem(size * X, y, 1.0)
    honest = solve(problem, "smo2")
    assert honest.status == "optimal" and honest.weights is not None and honest.weights.any()
    assert not certify(problem, dataclasses.replace(honest, weights=-honest.weights)).passes(EPS, 1.0)


@pytest.mark.parametrize("offset", [1e6, 1e7, 1e9])
def test_distances_far_from_the_origin(offset: float) -> None:
    X, y = cloud(80, 3, 4)
    problem = Problem(X + offset, y, 10.0, Kernel.gaussian(0.5))
    far = problem.X
    norms = (far * far).sum(axis=1)
    cancelled = np.exp(-0.5 * np.maximum(norms[:, None] + norms - 2 * far @ far.T, 0.0))
    wrong = solve(Problem((cancelled + cancelled.T) / 2, y, 10.0, Kernel.precomputed()), "smo2", verify=False)
    assert not certify(problem, dataclasses.replace(wrong, status="optimal")).passes(EPS, 1.0)
    right = solve(problem, "smo2")
    assert right.status == "optimal"
    near = far - far.mean(axis=0)  # the rounding of the data themselves remains
    squares = ((near[:, None] - near) ** 2).sum(axis=2)
    g = np.exp(-0.5 * squares) @ (y * right.alpha)
    violation = 1.0 - y * (g + right.bias)
    assert violation[right.alpha < 10.0].max() <= 1.01 * EPS
    assert (-violation[right.alpha > 0.0]).max() <= 1.01 * EPS


def test_memory_does_not_grow_with_the_support_vectors() -> None:
    n, d = 3000, 47_000
    rng = np.random.default_rng(7)
    columns = rng.integers(0, d, size=n * 20)
    X = sp.csr_array((rng.random(n * 20), columns, np.arange(0, n * 20 + 1, 20)), shape=(n, d))
    problem = Problem(X, np.where(np.arange(n) % 2, 1.0, -1.0), 1.0, Kernel.gaussian(0.5))
    solution = Solution(np.full(n, 0.5), None, 0.0, "optimal", 1, 1)
    tracemalloc.start()
    certify(problem, solution)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20  # as explicit pairs they would take 1,100 MB


def test_a_sample_confirms_but_does_not_contradict_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(*cloud(2000, 2, 8), 1.0, Kernel.gaussian(0.5))
    honest, spec = solve(problem, "smo2"), SOLVERS["smo2"]
    stalled = dataclasses.replace(honest, status="stalled")
    assert verified(problem, stalled, spec, EPS, True).status == "optimal"
    monkeypatch.setattr(optimality, "_MOST_VALUES", 1.0)
    monkeypatch.setattr(optimality, "_SAMPLE", 500)
    assert verified(problem, honest, spec, EPS, True).status == "optimal"
    assert verified(problem, stalled, spec, EPS, True).status == "stalled"


def test_a_sample_says_so() -> None:
    problem = Problem(*cloud(2000, 2, 8), 1.0, Kernel.gaussian(0.5))
    honest = solve(problem, "smo2")
    whole, part = certify(problem, honest), certify(problem, honest, sample=500)
    assert (whole.sampled, whole.unseen) == (0, 0.0)
    assert part.sampled == 500 and part.unseen == pytest.approx(0.0276, abs=1e-4)
    assert part.passes(EPS, 1.0) and part.max_violation <= whole.max_violation
    assert part.primal == pytest.approx(whole.primal, rel=0.1)
    assert part.dual == pytest.approx(whole.dual, rel=0.1)
    assert part.gap >= whole.gap
    wrong = dataclasses.replace(honest, bias=honest.bias + 0.3)
    assert not certify(problem, wrong, sample=500).passes(EPS, 1.0)


def test_the_gap_of_a_sample_without_support_vectors_is_no_less() -> None:
    X, y = cloud(2000, 2, 8)
    X[:10], y[:10] = X[0], 1.0
    problem = Problem(X, y, 1e6, Kernel.gaussian(50.0), bias=False)
    alpha = np.where(np.arange(2000) < 10, 1e6, 0.0)
    heavy = Solution(alpha, None, 0.0, "optimal", 0, 0)
    gap = certify(problem, heavy).gap
    assert all(certify(problem, heavy, sample=400, seed=seed).gap >= gap for seed in range(30))


def test_verification_takes_the_word_back(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = second_order.finish

    def lies(run: Any, status: str) -> Solution:
        return dataclasses.replace(finish(run, status), bias=7.0)

    monkeypatch.setattr(second_order, "finish", lies)
    problem = Problem(*cloud(40, 2, 9), 1.0, Kernel.gaussian(0.3))
    assert solve(problem, "smo2").status == "stalled"
    assert solve(problem, "smo2", verify=False).status == "optimal"
    # Of a large problem, a sample is judged.
    X, y = cloud(4000, 3, 9)
    large = Problem(X, np.random.default_rng(0).permutation(y), 0.01, Kernel.gaussian(0.3))
    assert solve(large, "smo2", eps=0.1).status == "stalled"


class _Incomparable(np.ndarray):
    """An array of which no entry is less or more than anything."""

    def __lt__(self, other: Any) -> Any:
        return np.zeros(self.shape, dtype=bool)

    __gt__ = __lt__


def test_an_array_cannot_compare_as_it_likes() -> None:
    problem = Problem(*cloud(50, 3, 1), 1.0, Kernel.gaussian(0.5))
    forged = Solution(np.zeros(50).view(_Incomparable), None, 0.0, "optimal", 0, 0)
    assert certify(problem, forged).max_violation == 1.0


def test_complex_multipliers_are_refused() -> None:
    problem = Problem(*cloud(50, 3, 1), 1.0, Kernel.gaussian(0.5))
    with pytest.raises(ValueError, match="alpha must be an array of real numbers"):
        certify(problem, Solution(np.zeros(50, dtype=complex), None, 0.0, "optimal", 0, 0))


@pytest.mark.parametrize("promise", ["gap", "relative gap"])
@pytest.mark.parametrize("C", [1.0, 1e308])
def test_an_infinite_gap_is_within_nothing(promise: str, C: float) -> None:
    problem = Problem(*cloud(50, 3, 1), C, bias=False)
    huge = Solution(np.zeros(50), np.full(3, 1e200), 0.0, "optimal", 0, 0, promise=promise)
    assert not certify(problem, huge).passes(EPS, 1.0)


@pytest.mark.parametrize("n", [3, 31])
def test_multipliers_whose_sum_overflows_keep_no_equality(n: int) -> None:
    problem = Problem(np.zeros((n, 1)), np.where(np.arange(n) % 2, -1.0, 1.0), 1.7e308)
    heavy = Solution(np.full(n, 1.7e308), None, 0.0, "optimal", 0, 0)
    assert not certify(problem, heavy).passes(EPS, 2.0)


def test_a_bound_that_is_no_bound_proves_no_gap() -> None:
    # A class outweighs the other by more than a double can hold, so the multipliers cannot be balanced.
    X, y = np.array([[1.0], [-1.0], [1e12], [1e12]]), np.array([-1.0, -1.0, 1.0, 1.0])
    problem = Problem(X, y, [1e-16, 1e-16, 5e307, 5e307])
    forged = Solution(problem.bounds, np.array([1e-8]), -1.0 - 1e-8, "optimal", 0, 0, promise="relative gap")
    with pytest.raises(ValueError, match=r"^certify: the promise 'relative gap' needs a problem without"):
        certify(problem, forged)


def test_an_unknown_promise_is_refused() -> None:
    problem = Problem(*cloud(50, 3, 1), 1.0, bias=False)
    with pytest.raises(ValueError, match="promise 'none' unknown"):
        certify(problem, Solution(np.zeros(50), np.zeros(3), 0.0, "optimal", 0, 0, promise="none"))


def test_the_loss_of_pairs_does_not_cancel() -> None:
    n, far = 90_000, 1e11 + 0.2
    X = np.column_stack((np.append(np.zeros(n), 1.0), np.full(n + 1, far)))
    problem = Problem(X, np.append(np.zeros(n), 1.0), 1e6 / (n + 1), bias=False)
    witness = np.zeros(1), np.zeros((1, 2))
    weights = np.array([0.9, 1.0])  # each of the n pairs has a loss of 0.1
    forged = Solution(None, weights, 0.0, "optimal", 0, 0, loss="pairs", promise="gap", witness=witness)
    found = certify(problem, forged)
    assert found.gap >= 1e5 and not found.passes(EPS, 1.0)


def test_nobody_knows_the_sample() -> None:
    n, kernel = 1200, Kernel.gaussian(0.5)
    X, _ = cloud(n, 3, 5)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    known = np.sort(np.random.default_rng(0).choice(n, 300, replace=False))
    part = solve(Problem(X[known], y[known], 10.0, kernel), "smo2")
    assert part.alpha is not None
    alpha = np.zeros(n)
    alpha[known] = part.alpha
    problem, forged = Problem(X, y, 10.0, kernel), Solution(alpha, None, part.bias, "optimal", 1, 1)
    assert certify(problem, forged, sample=300, seed=0).passes(EPS, 1.0)  # as drawn beforehand
    found = certify(problem, forged, sample=300), certify(problem, forged, sample=300)
    assert found[0].sample_seed != found[1].sample_seed
    assert not any(each.passes(EPS, 1.0) for each in found)


def test_a_sample_of_a_linear_problem_is_all_of_it() -> None:
    problem = Problem(*cloud(300, 3, 3), 1.0)
    honest = solve(problem, "smo2")
    assert honest.weights is not None
    wrong = dataclasses.replace(honest, weights=-honest.weights)
    found = certify(problem, wrong, sample=100)
    assert found.sampled == 0 and not found.passes(EPS, 1.0)


def test_a_wrong_gradient_at_the_start_is_found_out() -> None:
    n = 41_000
    X = np.random.default_rng(2).normal(size=(n, 100))  # too large for a quick check
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    start = Start(np.zeros(n), np.zeros(n), 0.0)
    assert solve(Problem(X, y, 1.0), "smo-newton", start=start).status == "stalled"


@pytest.mark.parametrize("sample", [0, 1, 2.5])
def test_samples_that_decide_nothing(sample: float) -> None:
    problem = Problem(*cloud(40, 3, 4), 1.0, Kernel.gaussian(0.5))
    with pytest.raises(ValueError, match=f"sample must be an integer of at least 2, got {sample}"):
        certify(problem, solve(problem, "smo2"), sample=sample)  # type: ignore[arg-type]
