"""Cutting planes: objectives against other solvers, violations against brute force, limits and refusals."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import KERNELS, STORAGES, Case, make_case
from svmrepro.solvers import SOLVERS, Certificate, Problem, Solution, certify, solve
from svmrepro.solvers.certificate.judge import pair_loss
from svmrepro.solvers.cutting_planes.ocas import best_step
from svmrepro.solvers.cutting_planes.pair_counts import PairCounts
from svmrepro.solvers.cutting_planes.planes import Planes
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.registry import GAP

CLASSIFIERS = ("svmperf", "ocas")
NAMES = (*CLASSIFIERS, "svmperf-ordinal")
LINEAR = [seed for seed in range(240) if KERNELS[(seed // 4) % 3] == "linear"]


def judged(problem: Problem, name: str, eps: float = 1e-3, **options: Any) -> tuple[Solution, Certificate]:
    solution = solve(problem, name, eps=eps, **options)
    certificate = certify(problem, solution)
    assert solution.status == "optimal"
    assert certificate.passes(eps, SOLVERS[name].tolerance_factor), certificate
    return solution, certificate


def linear_case(seed: int) -> Case:
    """Return a linear problem whose C is moderate enough for cutting planes."""
    case = make_case(seed)
    scale = float((case.X.multiply(case.X) if sp.issparse(case.X) else case.X * case.X).sum(axis=1).max())
    return Case(**{**vars(case), "C": min(case.C, 1e3 / (case.y.size * max(scale, 1e-3)))})


def ranked(seed: int, n: int, ranks: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    score = X @ rng.normal(size=5) + 0.5 * rng.normal(size=n)
    y = np.floor(np.argsort(np.argsort(score)) * ranks / n)
    return X, y


@pytest.mark.parametrize("seed", LINEAR)
def test_random_problems(seed: int) -> None:
    case = linear_case(seed)
    problem = case.problem(bias=False)
    best = certify(problem, solve(problem, "svmlight", eps=1e-7)).dual
    for name in CLASSIFIERS:
        found = judged(problem, name, 1e-4, keep_alpha=True)[1]
        # Two lower bounds; the optimum lies between them and the primal objective.
        slack = 1e-8 * abs(best)
        assert found.relaxed <= best + slack, (name, str(case))
        assert found.dual == pytest.approx(found.relaxed, rel=1e-6, abs=1e-9), (name, str(case))
        assert best <= found.primal + slack, (name, str(case))


@pytest.mark.parametrize("eps", [0.1, 0.01, 0.001, 0.0001])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_adult(name: str, eps: float, adult_1605: Problem) -> None:
    best = certify(adult_1605, solve(adult_1605, "svmlight", eps=1e-6)).dual
    solution, found = judged(adult_1605, name, eps)
    assert found.relaxed <= best * (1 + 1e-9)
    assert -1e-9 * best <= found.primal - best <= eps * adult_1605.n * adult_1605.C
    if SOLVERS[name].promise == GAP:  # no constraint is violated by more than eps
        mean_loss = (found.primal - 0.5 * float(solution.weights @ solution.weights)) / (
            adult_1605.n * adult_1605.C
        )
        assert solution.xi is not None
        assert mean_loss <= solution.xi + eps * (1 + 1e-9)


@pytest.fixture(scope="module")
def adult_1605() -> Problem:
    """Data as large and as sparse as Adult's first rows, without a download."""
    rng = np.random.default_rng(1605)
    X = (rng.random((1605, 123)) < 0.11).astype(float)
    y = np.where(X @ rng.normal(size=123) + 1.5 * rng.normal(size=1605) > 1.0, 1.0, -1.0)
    return Problem(X, y, 0.05, bias=False)


@pytest.mark.parametrize("eps", [0.1, 0.01, 0.001, 0.0001])
def test_line_search_halves_the_iterations(eps: float, adult_1605: Problem) -> None:
    plain, searched = judged(adult_1605, "svmperf", eps), judged(adult_1605, "ocas", eps)
    assert 2 * searched[0].iterations <= plain[0].iterations
    assert searched[1].gap <= plain[1].gap  # a relative gap is a smaller one


@pytest.mark.parametrize("name", NAMES)
def test_storages_agree(name: str, adult_1605: Problem) -> None:
    found = []
    for storage in STORAGES:
        problem = Problem(adult_1605.X, adult_1605.y, 0.05, bias=False, storage=storage)
        found.append(judged(problem, name)[0])
    assert len({solution.iterations for solution in found}) == 1
    for solution in found[1:]:
        assert solution.weights == pytest.approx(found[0].weights, abs=1e-9)
        assert solution.relaxed == pytest.approx(found[0].relaxed, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_bounds_rise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = ranked(5, 300, 2)
    monkeypatch.setattr("svmrepro.solvers.driver._FIRST_SLICE", 1)
    monkeypatch.setattr("svmrepro.solvers.driver._next_slice", lambda work, seconds: 1)
    sliced = judged(Problem(sp.csr_array(X), 2 * y - 1, 0.3, bias=False), name, 1e-4, trace=True)[0]
    bounds = [bound for _, bound in sliced.trace]
    assert len(bounds) > 2 * sliced.iterations
    assert all(b >= a - 1e-9 for a, b in pairwise(bounds))


@pytest.mark.parametrize("name", NAMES)
def test_renewed_sums_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = ranked(6, 200, 2)
    problem = Problem(X, 2 * y - 1, 0.5, bias=False)
    eps = 1e-5
    mended, first = judged(problem, name, eps)
    monkeypatch.setattr(row_passes, "RENEW", 1)
    renewed, second = judged(problem, name, eps)
    # Rounding decides between equally good planes. The promise is a gap; weights whose objective exceeds the
    # optimum by that gap are off by at most the square root of twice the gap.
    allowed = eps * (first.primal if name == "ocas" else problem.total)
    assert abs(second.primal - first.primal) <= allowed
    assert np.linalg.norm(renewed.weights - mended.weights) <= 2 * np.sqrt(2 * allowed)
    assert renewed.work["nonzeros"] > mended.work["nonzeros"]


@pytest.mark.parametrize("name", NAMES)
def test_dropping_planes_keeps_the_result(name: str, adult_1605: Problem) -> None:
    eps = 1e-4
    kept, dropped = (judged(adult_1605, name, eps, drop_after=after) for after in (0, 5))
    assert kept[0].info["dropped_planes"] == 0
    assert dropped[0].info["dropped_planes"] > 0
    assert dropped[0].info["most_planes"] < kept[0].info["most_planes"]
    assert dropped[1].relaxed == pytest.approx(kept[1].relaxed, abs=eps * adult_1605.n * adult_1605.C)


@pytest.mark.parametrize("name", NAMES)
def test_limits(name: str, adult_1605: Problem) -> None:
    whole = solve(adult_1605, name, eps=1e-5)
    short = solve(adult_1605, name, eps=1e-5, iteration_limit=3)
    assert (short.status, short.iterations) == ("iteration_limit", 3)
    assert short.relaxed is not None
    assert whole.relaxed is not None
    assert short.relaxed < whole.relaxed
    found = certify(adult_1605, short)
    assert found.primal > whole.relaxed
    assert not found.passes(1e-5, 1.0)
    late = solve(adult_1605, name, eps=1e-9, time_limit=1e-4)
    assert late.status == "time_limit"
    assert np.isfinite(late.weights).all()

    def interrupt(seconds: float, steps: int, bound: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(adult_1605, name, progress=interrupt)
    assert np.array_equal(solve(adult_1605, name, eps=1e-5).weights, whole.weights)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.zeros((4, 0)), sp.csr_array((4, 3)), np.ones((4, 1))])
def test_nothing_to_learn_from(name: str, X: Any) -> None:
    # No weights separate equal examples: w = 0, and every margin is missed by 1.
    problem = Problem(X, [1, -1, 1, -1], 2.0, bias=False)
    found = judged(problem, name)[1]
    assert found.primal == pytest.approx(8.0, rel=1e-3)


# Ordinal


@pytest.mark.parametrize("part", range(10))
def test_most_violated_constraint_is_that_of_all_pairs(part: int) -> None:
    for seed in range(100 * part, 100 * (part + 1)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        ranks = int(rng.integers(2, n + 1))
        y = rng.integers(0, ranks, n).astype(float) - 3.0
        y[:2] = 0.0, 1.5
        # Half of them on a grid: ties of scores, and differences of exactly 1.
        f = 0.25 * rng.integers(-8, 9, n) if seed % 2 else 2.0 * rng.normal(size=n)
        f[rng.random(n) < 0.1] *= -0.0
        pairs = PairCounts(y)
        pairs.find(f)
        higher = y[:, None] > y[None, :]
        violated = higher & (f[:, None] - f[None, :] < 1.0)
        assert (pairs.R, pairs.m) == (np.unique(y).size, np.count_nonzero(higher)), seed
        assert pairs.violated == np.count_nonzero(violated), seed
        expected = violated.sum(axis=1) - violated.sum(axis=0)
        assert np.array_equal(pairs.coefficients, expected), seed
        assert np.array_equal(pairs.change, expected), seed  # before there was nothing
        assert pairs.coefficients.sum() == 0.0


def test_what_changes_between_two_constraints() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200).astype(float)
    pairs, fresh = PairCounts(y), PairCounts(y)
    total = np.zeros(200)
    for scale in (0.1, 1.0, 3.0):
        f = scale * rng.normal(size=200)
        fewer = pairs.find(f)
        fresh.coefficients[:] = 0.0
        fresh.find(f)
        total += pairs.change
        assert np.array_equal(total, fresh.coefficients)
        assert fewer == (np.count_nonzero(pairs.change) < np.count_nonzero(pairs.coefficients))


@pytest.mark.parametrize(("n", "ranks"), [(40, 2), (60, 3), (50, 50), (80, 7)])
def test_ordinal_reaches_the_optimum_of_the_pairwise_problem(n: int, ranks: int) -> None:
    X, y = ranked(n, n, ranks)
    C = 0.05
    solution, found = judged(Problem(X, y, C, bias=False), "svmperf-ordinal", 1e-5)
    # The pairs written out: differences with labels +1, of which half are turned round.
    higher, lower = np.nonzero(y[:, None] > y[None, :])
    signs = np.where(np.arange(higher.size) % 2, 1.0, -1.0)
    written_out = Problem(signs[:, None] * (X[higher] - X[lower]), signs, n * C / higher.size, bias=False)
    best = certify(written_out, solve(written_out, "svmlight", eps=1e-7)).dual
    assert found.relaxed <= best * (1 + 1e-8)
    assert best <= found.primal * (1 + 1e-8)
    assert found.gap <= 1.01e-5 * n * C
    assert solution.info["ranks"] == ranks


def test_any_increasing_labels_are_the_same_ranks() -> None:
    X, y = ranked(3, 70, 5)
    first = judged(Problem(X, y, 0.1, bias=False), "svmperf-ordinal")[0]
    other = judged(Problem(X, 10.0**y - 7, 0.1, bias=False), "svmperf-ordinal")[0]
    assert np.array_equal(first.weights, other.weights)


def test_two_ranks_are_roc_area() -> None:
    X, y = ranked(8, 300, 2)
    problem = Problem(X, 2 * y - 1, 1.0, bias=False)
    solution, found = judged(problem, "svmperf-ordinal", 1e-4)
    f = X @ solution.weights
    total, m = pair_loss(y, f)
    swapped = np.count_nonzero(f[y == 1][:, None] <= f[y == 0][None, :]) / m
    assert swapped <= total / m  # the loss bounds 1 minus the area
    classifier = dataclasses.replace(judged(problem, "svmperf", 1e-4)[0], loss="pairs")
    assert certify(problem, classifier).primal >= found.relaxed


# Parts


@pytest.mark.parametrize("seed", range(40))
def test_line_search_finds_the_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, C = int(rng.integers(1, 60)), float(10.0 ** rng.uniform(-2, 1))
    y = rng.choice([-1.0, 1.0], size=n)
    f, to = (np.round(2 * rng.normal(size=n), int(rng.integers(0, 4))) for _ in range(2))
    slope, curvature = float(rng.normal()), float(10.0 ** rng.uniform(-2, 2))
    shares = rng.random(n) if seed % 2 else np.ones(1)  # one number stands for all

    def F(k: float) -> float:
        return (
            slope * k
            + 0.5 * curvature * k * k
            + C * float((shares * np.maximum(0.0, 1.0 - y * (f + k * (to - f)))).sum())
        )

    k = float(best_step(y, f, to, C, shares, slope, curvature, np.zeros(n), np.zeros(n)))
    assert k >= 0.0
    others = [k * (1 + h) for h in (-1.0, -0.1, -1e-4, 1e-4, 0.1, 1.0)] + [1e-3, 0.5, 1.0, 10.0]
    assert all(F(k) <= F(max(other, 0.0)) + 1e-10 * abs(F(other)) + 1e-12 for other in others)


@pytest.mark.parametrize("drop_after", [0, 3])
@pytest.mark.parametrize("seed", range(6))
def test_planes_are_solved_to_optimality(seed: int, drop_after: int) -> None:
    rng = np.random.default_rng(seed)
    width, total = int(rng.integers(1, 12)), float(10.0 ** rng.uniform(-1, 3))
    planes = Planes(width, total, drop_after)
    kept: dict[int, tuple[Any, float]] = {}
    points: dict[int, Any] = {}
    for _ in range(100):
        g, b = rng.normal(size=width), float(rng.random())
        if kept and rng.random() < 0.2:  # an existing one
            g, b = kept[int(rng.choice(list(kept)))]
        point = rng.normal(size=width)
        place = planes.add(g, b, point)
        planes.optimise()
        assert place not in kept
        kept[place], points[place] = (g, b), point
        kept = {place: kept[place] for place in planes.used}
        a = np.array([planes.a[place] for place in kept])
        G, offsets = (np.array([plane[part] for plane in kept.values()]) for part in (0, 1))
        assert (a >= 0).all()
        assert planes.a[0] + a.sum() == pytest.approx(total)
        assert planes.w == pytest.approx(a @ G, abs=1e-10 * total)
        w = planes.w
        xi = max(0.0, float((offsets - G @ w).max()))
        assert planes.xi == pytest.approx(xi, abs=1e-9)
        assert planes.bound == pytest.approx(0.5 * float(w @ w) + total * xi, rel=1e-7, abs=1e-9)
        assert planes.bound * (1 - 1e-12) - 1e-12 * total <= planes.lower() <= planes.bound
        multipliers, at = planes.witness()
        binding = [place for place in kept if planes.a[place] > 0]
        assert np.array_equal(multipliers, planes.a[binding])
        assert np.array_equal(at, np.array([points[place] for place in binding]).reshape(-1, width))
    if drop_after:
        assert planes.dropped > 0
        assert len(kept) < 100
