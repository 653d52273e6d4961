"""Certificates of weights: losses by loops in plain Python, lower bounds, promises and wrong answers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import Problem, Solution, certify, solve
from svmrepro.solvers.certificate.lower_bounds import pair_coefficients, pair_loss

LOSSES = ("hinge", "squared hinge", "pairs")
SOLVER = {"hinge": "ocas", "squared hinge": "l2svm-mfn", "pairs": "svmperf-ordinal"}


def answer(w: list[float], loss: str, relaxed: float | None = None, promise: str = "gap") -> Solution:
    return Solution(
        None, np.array(w), 0.0, "optimal", 1, 0, xi=0.0, relaxed=relaxed, loss=loss, promise=promise
    )


def primal_by_loops(X: list[list[float]], y: list[float], w: list[float], C: float, loss: str) -> float:
    f = [math.fsum(a * b for a, b in zip(x, w, strict=True)) for x in X]
    n = len(y)
    if loss == "pairs":
        pairs = [(i, j) for i in range(n) for j in range(n) if y[i] > y[j]]
        risk = n * C * math.fsum(max(0.0, 1 - f[i] + f[j]) for i, j in pairs) / len(pairs)
    elif loss == "hinge":
        risk = C * math.fsum(max(0.0, 1 - y[i] * f[i]) for i in range(n))
    else:
        risk = C / 2 * math.fsum(max(0.0, 1 - y[i] * f[i]) ** 2 for i in range(n))
    return math.fsum(a * a for a in w) / 2 + risk


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(5))
def test_primal_against_loops(loss: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 6))
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = rng.integers(0, 5, size=n).astype(float) if loss == "pairs" else rng.choice([-1.0, 1.0], size=n)
    y[:2] = 1.0, -1.0
    data = sp.csr_array(X) if seed % 2 else X
    problem = Problem(data, y, 0.7, bias=False)
    expected = primal_by_loops(X.tolist(), y.tolist(), w.tolist(), 0.7, loss)
    found = certify(problem, answer(w.tolist(), loss, relaxed=0.25))
    assert found.primal == pytest.approx(expected, rel=1e-12)
    # A bound stated by the solution is recorded but not trusted.
    assert (found.relaxed, found.promise) == (0.25, "gap")
    assert found.gap >= found.primal - max(found.dual, 0.0)  # 0 is always a bound
    assert found.dual <= certify(problem, solve(problem, SOLVER[loss], eps=1e-9)).primal * (1 + 1e-9)


@pytest.mark.parametrize(("n", "ranks"), [(2, 2), (64, 3), (65, 65), (200, 2), (300, 300), (500, 17)])
def test_pair_loss_of_many(n: int, ranks: int) -> None:
    rng = np.random.default_rng(n + ranks)
    y = rng.permutation(np.arange(n) % ranks).astype(float)
    f = np.round(rng.normal(size=n), 1)  # ties, and differences of just 1
    higher = y[:, None] > y[None, :]
    total, m = pair_loss(y, f)
    assert m == np.count_nonzero(higher)
    assert total == pytest.approx(float((np.maximum(0.0, 1 - f[:, None] + f[None, :]) * higher).sum()))


def test_pair_coefficients() -> None:
    y, alpha = np.array([2.0, 1.0, 3.0, 1.0]), np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    # The pairs: (0, 1), (0, 3), (2, 0), (2, 1), (2, 3).
    coefficients, sizes = pair_coefficients(y, alpha)
    assert sizes.sum() == 2 * alpha.sum()
    assert coefficients.tolist() == [11 - 100, -1001, 11100, -10010]


def test_dual_of_squared_hinges_is_a_lower_bound() -> None:
    rng = np.random.default_rng(3)
    X, y, C = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40), 0.5
    problem = Problem(X, y, C, bias=False)
    w = np.zeros(3)
    for _ in range(50):  # Newton's method on the primal: w = (I/C + Xs'Xs)^-1 Xs'y, s the violators
        s = y * (X @ w) < 1
        w = np.linalg.solve(np.eye(3) / C + X[s].T @ X[s], X[s].T @ y[s])
    best = certify(problem, answer(w.tolist(), "squared hinge", promise="relative gap"))
    assert best.gap == pytest.approx(0.0, abs=1e-10)
    assert best.passes(1e-9, 1.0)
    for seed in range(5):
        away = w + 0.3 * np.random.default_rng(seed).normal(size=3)
        found = certify(problem, answer(away.tolist(), "squared hinge", promise="relative gap"))
        assert found.dual < best.dual + 1e-12
        assert found.primal > best.primal
        assert not found.passes(1e-6, 1.0)


def test_dual_of_pairs_is_a_lower_bound() -> None:
    rng = np.random.default_rng(4)
    n, C = 12, 0.5
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 4, size=n).astype(float)
    problem = Problem(X, y, C, bias=False)
    higher, lower = np.nonzero(y[:, None] > y[None, :])
    D, m = X[higher] - X[lower], higher.size
    alpha, top = np.zeros(m), n * C / higher.size
    for _ in range(3000):  # coordinate ascent
        for k in range(m):
            alpha[k] = min(max(alpha[k] + (1 - D[k] @ (D.T @ alpha)) / (D[k] @ D[k]), 0.0), top)
    w = D.T @ alpha
    solution = dataclasses.replace(answer(w.tolist(), "pairs"), alpha=alpha)
    found = certify(problem, solution)
    assert found.gap == pytest.approx(0.0, abs=1e-6)
    assert found.passes(1e-6, 1.0)
    assert found.n_bound == np.count_nonzero(alpha == top)
    halved = certify(problem, dataclasses.replace(solution, alpha=0.5 * alpha))
    assert halved.dual < found.dual
    assert not halved.passes(1e-3, 1.0)


def test_promises() -> None:
    problem = Problem([[1.0], [-1.0]], [1, -1], 0.5, bias=False)  # w = 1: objective 0.5, the optimum
    best = certify(problem, with_alpha([0.5, 0.5]))
    assert (best.primal, best.dual) == (0.5, 0.5)
    assert best.gap == pytest.approx(0.0, abs=1e-12)
    assert best.passes(1e-9, 1.0)
    for alpha, gap_passes, relative_passes in [
        ([0.5, 0.0527864], True, False),  # dual 0.4: a gap of 0.1 is n C eps, and a fifth of the objective
        ([0.5, 0.3], True, True),  # 0.48
        ([0.5, 0.03], False, False),  # 0.39
    ]:
        by_gap = certify(problem, with_alpha(alpha))
        by_share = certify(problem, with_alpha(alpha, "relative gap"))
        assert by_gap.passes(0.1, 1.0) is gap_passes
        assert by_share.passes(0.1, 1.0) is relative_passes
    assert by_gap.failures(0.1, 1.0) == ["gap 0.11, allowed 0.1"]
    assert by_gap.summary(0.1, 1.0) == "gap 0.11, allowed 0.1"


def with_alpha(alpha: list[float], promise: str = "gap") -> Solution:
    return dataclasses.replace(answer([1.0], "hinge", promise=promise), alpha=np.array(alpha))


def test_multipliers_beside_weights_are_judged_too() -> None:
    problem = Problem([[1.0], [-1.0]], [1, -1], 0.5, bias=False)
    found = certify(problem, with_alpha([0.5, 0.5]))
    assert (found.n_bound, found.n_nonbound) == (2, 0)
    for wrong in ([0.5], [0.5, 0.6], [0.5, -1e-9], [0.5, math.nan]):
        with pytest.raises(ValueError, match=r"^alpha(\[1\] = .* is not in| must have shape)"):
            certify(problem, with_alpha(wrong))


def test_refusals() -> None:
    problem = Problem([[1.0], [-1.0]], [1, -1], 0.5, bias=False)
    ranks = Problem([[1.0], [-1.0]], [1, 2], 0.5, bias=False)
    with pytest.raises(ValueError, match=r"^certify needs weights; this solution has none$"):
        certify(problem, dataclasses.replace(answer([1.0], "hinge"), weights=None))
    for wrong in ([1.0, 2.0], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match=r"^weights must be 1 finite numbers$"):
            certify(problem, answer(wrong, "hinge"))
    with pytest.raises(ValueError, match=r"^certify: the loss 'hinge' needs labels -1 and \+1 only$"):
        certify(ranks, answer([1.0], "hinge"))
    assert certify(ranks, answer([1.0], "pairs", relaxed=0.0)).primal > 0


def test_the_driver_says_what_was_promised() -> None:
    solution = solve(Problem([[1.0], [-1.0]], [1, -1], 0.5), "smo")
    assert (solution.loss, solution.promise) == ("hinge", "kkt")
