"""Certificates of weights: objectives, lower bounds, promises and wrong answers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import differences, objective
from svmrepro.solvers import Problem, Solution, certify, solve
from svmrepro.solvers.certificate._pairs import pair_loss

SOLVER = {"hinge": "ocas", "squared hinge": "l2svm-mfn", "pairs": "svmperf-ordinal"}


def answer(w: Any, loss: str = "hinge", promise: str = "gap", **changes: Any) -> Solution:
    bare = Solution(None, np.array(w), 0.0, "optimal", 1, 0, loss=loss, promise=promise)
    return dataclasses.replace(bare, **changes)


@pytest.mark.parametrize("loss", SOLVER)
@pytest.mark.parametrize("seed", range(5))
def test_the_objective_and_a_bound(loss: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 6))
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = rng.integers(0, 5, size=n).astype(float) if loss == "pairs" else rng.choice([-1.0, 1.0], size=n)
    y[:2] = 1.0, -1.0
    problem = Problem(sp.csr_array(X) if seed % 2 else X, y, 0.7, bias=False)
    found = certify(problem, answer(w, loss, relaxed=0.25))
    assert found.primal == pytest.approx(objective(problem, w, loss), rel=1e-12)
    # A bound stated by the solution is recorded but not trusted.
    assert (found.relaxed, found.promise) == (0.25, "gap")
    assert found.gap >= found.primal - max(found.dual, 0.0)  # 0 is always a bound
    assert found.relative_gap == pytest.approx(found.gap / found.primal)
    assert found.dual <= certify(problem, solve(problem, SOLVER[loss], eps=1e-9)).primal * (1 + 1e-9)


@pytest.mark.parametrize(("n", "ranks"), [(2, 2), (64, 3), (65, 65), (200, 2), (300, 300), (500, 17)])
def test_pair_loss_of_many(n: int, ranks: int) -> None:
    rng = np.random.default_rng(n + ranks)
    y = rng.permutation(np.arange(n) % ranks).astype(float)
    f = np.round(rng.normal(size=n), 1)  # ties, and differences of just 1
    higher = y[:, None] > y[None, :]
    total, m, _ = pair_loss(y, f)
    assert m == np.count_nonzero(higher)
    assert total == pytest.approx(float((np.maximum(0.0, 1 - f[:, None] + f[None, :]) * higher).sum()))


def test_dual_of_squared_hinges_is_a_lower_bound() -> None:
    rng = np.random.default_rng(3)
    X, y, C = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40), 0.5
    problem = Problem(X, y, C, bias=False)
    w = np.zeros(3)
    for _ in range(50):  # Newton's method on the primal: w = (I/C + Xs'Xs)^-1 Xs'y, s the violators
        s = y * (X @ w) < 1
        w = np.linalg.solve(np.eye(3) / C + X[s].T @ X[s], X[s].T @ y[s])
    best = certify(problem, answer(w, "squared hinge", "relative gap"))
    assert best.gap == pytest.approx(0.0, abs=1e-10)
    assert best.passes(1e-9, 1.0)
    for seed in range(5):
        away = w + 0.3 * np.random.default_rng(seed).normal(size=3)
        found = certify(problem, answer(away, "squared hinge", "relative gap"))
        assert found.dual < best.dual + 1e-12
        assert found.primal > best.primal
        assert not found.passes(1e-6, 1.0)


def test_dual_of_pairs_is_a_lower_bound() -> None:
    rng = np.random.default_rng(4)
    problem = Problem(rng.normal(size=(12, 3)), rng.integers(0, 4, size=12).astype(float), 0.5, bias=False)
    D, top = differences(problem)
    alpha = np.zeros(len(D))
    for _ in range(3000):  # coordinate ascent
        for k in range(len(D)):
            alpha[k] = min(max(alpha[k] + (1 - D[k] @ (D.T @ alpha)) / (D[k] @ D[k]), 0.0), top)
    found = certify(problem, answer(D.T @ alpha, "pairs", alpha=alpha))
    assert found.gap == pytest.approx(0.0, abs=1e-6)
    assert found.passes(1e-6, 1.0)
    assert found.n_bound == np.count_nonzero(alpha == top)
    halved = certify(problem, answer(D.T @ alpha, "pairs", alpha=0.5 * alpha))
    assert halved.dual < found.dual
    assert not halved.passes(1e-3, 1.0)


def test_coefficients_that_cancel_may_be_wrong_all_the_same() -> None:
    n = 1536  # the sum has three blocks; in the middle one all coefficients are 0
    X, i = np.ones((n, 1)), np.arange(1, n)
    X[600:900], X[-1] = 1e8, 2.0
    alpha = np.zeros(n * (n - 1) // 2)
    alpha[i * (i + 1) // 2 - 1] = 1.0  # of neighbours in rank
    problem = Problem(X, np.arange(n, dtype=float), alpha.size / n, bias=False)
    found = certify(problem, answer([0.0], "pairs", alpha=alpha))
    assert found.dual == n - 1 - 0.5  # of v = 1
    assert found.rounding > 1e-4  # 300 coefficients, each a difference of two ones, of rows of 1e8


#: w = 1 is optimal, with the objective 0.5.
TWO = Problem([[1.0], [-1.0]], [1, -1], 0.5, bias=False)


@pytest.mark.parametrize("ulps", range(-3, 4))
def test_rounding_moves_no_multiplier_from_its_bound(ulps: int) -> None:
    # The multipliers of two planes add up to C; another order of sums makes it a little more or less.
    planes = np.array([0.25, 0.75]) * (1.0 + ulps * np.finfo(float).eps)
    witness = planes * TWO.total, np.zeros((2, 1))
    found = certify(TWO, answer([1.0], witness=witness))
    assert (found.n_bound, found.n_nonbound) == (2, 0)
    assert found.dual == pytest.approx(0.5)


def test_promises() -> None:
    best = certify(TWO, answer([1.0], alpha=np.array([0.5, 0.5])))
    assert (best.primal, best.dual, best.n_bound, best.n_nonbound) == (0.5, 0.5, 2, 0)
    assert best.gap == pytest.approx(0.0, abs=1e-12)
    assert best.passes(1e-9, 1.0)
    for second, gap_passes, relative_passes in [
        (0.0527864, True, False),  # dual 0.4: a gap of 0.1 is n C eps, and a fifth of the objective
        (0.3, True, True),  # 0.48
        (0.03, False, False),  # 0.39
    ]:
        alpha = np.array([0.5, second])
        by_gap, by_share = (
            certify(TWO, answer([1.0], promise=promise, alpha=alpha)) for promise in ("gap", "relative gap")
        )
        assert by_gap.passes(0.1, 1.0) is gap_passes
        assert by_share.passes(0.1, 1.0) is relative_passes
    assert by_gap.failures(0.1, 1.0) == [by_gap.summary(0.1, 1.0)] == ["gap 0.11, allowed 0.1"]


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        *(
            (answer([1.0], alpha=np.array(alpha)), r"^alpha(\[1\] = .* is not in| must have shape)")
            for alpha in ([0.5], [0.5, 0.6], [0.5, -1e-9], [0.5, math.nan])
        ),
        (answer([1.0], weights=None), r"^certify needs weights; this solution has none$"),
        *((answer(w), "^weights must be 1 finite numbers$") for w in ([1.0, 2.0], [math.nan], [math.inf])),
    ],
)
def test_refusals(solution: Solution, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        certify(TWO, solution)


def test_ranks_are_for_the_loss_over_pairs() -> None:
    ranks = Problem([[1.0], [-1.0]], [1, 2], 0.5, bias=False)
    with pytest.raises(ValueError, match=r"^certify: the loss 'hinge' needs labels -1 and \+1 only$"):
        certify(ranks, answer([1.0]))
    assert certify(ranks, answer([1.0], "pairs", relaxed=0.0)).primal > 0
