"""Cutting planes with almost hard margins, and witnesses from which their bounds can be recomputed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
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
        solution = solve(Problem(X, labels, C, bias=False), name, eps=EPS, iteration_limit=5_000)
        assert solution.status in ("optimal", "stalled")
        slack = np.maximum(0.0, 1.0 - labels * (X @ solution.weights))
        found = 0.5 * float(solution.weights @ solution.weights) + C * float(slack.sum())
        allowed = EPS * (C * y.size if name == "svmperf" else found)
        # The best known solution for unlimited C: the solution for 1e4, scaled.
        known = solve(Problem(X, labels, 1e4, bias=False), "ocas", eps=1e-8).weights
        known = known / (labels * (X @ known)).min() if labels is y else known
        slack = np.maximum(0.0, 1.0 - (1 + 1e-15) * labels * (X @ known))
        best = 0.5 * float(known @ known) + C * float(slack.sum())
        assert solution.relaxed is not None and solution.relaxed <= best * (1 + 1e-9)
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
    X = same.X.toarray() if sp.issparse(same.X) else same.X
    weights = same.bounds / same.total
    if pairs:
        higher, lower = np.nonzero(same.y[:, None] > same.y[None, :])
        X, weights = X[higher] - X[lower], np.full(higher.size, 1.0 / higher.size)
    else:
        X = same.y[:, None] * X
    alpha = np.zeros(len(X))
    for a, point in zip(multipliers, points, strict=True):
        alpha += a * weights * (X @ point < 1.0)
    assert (alpha <= same.total * weights * (1 + 1e-9)).all()
    v = X.T @ alpha
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


def test_a_witness_of_blocks_and_of_unused_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) * (rng.random((60, 9)) < 0.5)
    X[:, [0, 4]] = 0.0
    y = np.where(X @ rng.normal(size=9) > 0, 1.0, -1.0)
    for storage in ("dense", "csr"):
        same = Problem(X, y, 1.0, bias=False, storage=storage)
        solution = solve(same, "ocas")
        assert bound_of(same, solution, False) == pytest.approx(solution.relaxed, rel=1e-9)
        assert solution.witness is not None and not solution.witness[1][:, [0, 4]].any()


def test_no_plane_is_no_witness() -> None:
    solution = solve(Problem(np.eye(2), [1, -1], bias=False), "svmperf", eps=1e9)
    assert solution.witness is not None and solution.witness[0].size == 0
    assert solution.relaxed == 0.0
