"""Cutting planes with almost hard margins, and witnesses from which their bounds can be recomputed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import cloud, dense, differences, judged, objective
from svmrepro.solvers import Problem, Solution, solve

CLASSIFIERS = ("svmperf", "ocas")
EPS = 1e-3


@pytest.mark.parametrize("C", [1e12, 1e16, 1e20, 1e25])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_hard_margins(name: str, C: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    w = rng.normal(size=4)
    X = X[np.abs(X @ w) > 0.3]
    y = np.sign(X @ w)
    for labels in (y, np.where(np.arange(y.size) == 7, -y, y)):
        problem = Problem(X, labels, C, bias=False)
        solution = solve(problem, name, eps=EPS, iteration_limit=5_000)
        assert solution.status in ("optimal", "stalled")
        found = objective(problem, solution.weights)
        # The best known solution for unlimited C: the solution for 1e4, scaled.
        known = solve(Problem(X, labels, 1e4, bias=False), "ocas", eps=1e-8).weights
        known = known / (labels * (X @ known)).min() if labels is y else known
        slack = np.maximum(0.0, 1.0 - (1 + 1e-15) * labels * (X @ known))
        best = 0.5 * float(known @ known) + C * float(slack.sum())
        assert solution.relaxed is not None and solution.relaxed <= best * (1 + 1e-9)
        allowed = EPS * (problem.total if name == "svmperf" else found)
        assert solution.status != "optimal" or found - best <= allowed


# Witnesses


def problem(seed: int, ranks: bool = False) -> Problem:
    rng = np.random.default_rng([7, seed])
    n, d = int(rng.integers(5, 160)), int(rng.integers(1, 40))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.1, 0.5, 1.0]))
    if seed % 3 == 0:
        X = (X > 0).astype(float)
    score = X @ rng.normal(size=d) + rng.choice([0.0, 0.5, 2.0]) * rng.normal(size=n)
    y = np.where(score > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    C = 10.0 ** rng.uniform(-3, 3)
    if ranks:
        y = np.clip(np.round(score), -2.0, 2.0)
        y[:2] = 1.0, -1.0
        C = 10.0 ** rng.uniform(-3, 0)
    elif seed % 2:
        C = C * rng.uniform(0.1, 1.0, size=n)
    return Problem(sp.csr_array(X) if seed % 4 == 1 else X, y, C, bias=False)


def bound_of(same: Problem, solution: Solution, pairs: bool) -> float:
    """Return the dual objective of the witness, computed from the data."""
    assert solution.witness is not None
    multipliers, points = solution.witness
    assert points.shape == (multipliers.size, same.d)
    assert (multipliers > 0).all() and multipliers.sum() <= same.total * (1 + 1e-12)
    if pairs:
        rows, weight = differences(same)
        weights = np.full(len(rows), weight)
    else:
        rows, weights = same.y[:, None] * dense(same.X), same.bounds
    alpha = np.zeros(len(rows))
    for a, point in zip(multipliers, points, strict=True):
        alpha += a / same.total * weights * (rows @ point < 1.0)
    assert (alpha <= weights * (1 + 1e-9)).all()
    v = rows.T @ alpha
    return float(alpha.sum() - 0.5 * v @ v)


@pytest.mark.parametrize("eps", [1e-3, 1e-5])
@pytest.mark.parametrize("name", [*CLASSIFIERS, "svmperf-ordinal"])
@pytest.mark.parametrize("part", range(3))
def test_witnesses_give_the_bound_again(name: str, part: int, eps: float) -> None:
    for seed in range(10 * part, 10 * (part + 1)):
        same = problem(seed, ranks=name == "svmperf-ordinal")
        solution = solve(same, name, eps=eps, iteration_limit=3_000)
        assert solution.relaxed is not None
        allowed = eps * (solution.info["primal"] if name == "ocas" else same.total)
        bound = bound_of(same, solution, name == "svmperf-ordinal")
        assert abs(bound - solution.relaxed) <= 1e-3 * allowed + 1e-10 * abs(bound), seed


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_a_witness_is_zero_in_unused_columns(storage: str) -> None:
    X, y = cloud(60, 9, share=0.5)
    X[:, [0, 4]] = 0.0
    same = Problem(X, y, 1.0, bias=False, storage=storage)
    solution, _ = judged(same, "ocas")
    assert bound_of(same, solution, False) == pytest.approx(solution.relaxed, rel=1e-9)
    assert solution.witness is not None and not solution.witness[1][:, [0, 4]].any()


def test_no_plane_is_no_witness() -> None:
    solution = solve(Problem(np.eye(2), [1, -1], bias=False), "svmperf", eps=1e9)
    assert solution.witness is not None and solution.witness[0].size == 0
    assert solution.relaxed == 0.0
