"""Cutting planes: objectives against other solvers, violations against brute force, limits."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import KERNELS, dense, differences, in_slices, judged, make_case, objective
from svmrepro.solvers import Blocks, Problem, Solution, certify, solve
from svmrepro.solvers.certificate._pairs import pair_loss
from svmrepro.solvers.cutting_planes._pair_counts import PairCounts
from svmrepro.solvers.passes import row_threads, sliced_passes

CLASSIFIERS = ("svmperf", "ocas")
NAMES = (*CLASSIFIERS, "svmperf-ordinal")


def ranked(seed: int, n: int, ranks: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    score = X @ rng.normal(size=5) + 0.5 * rng.normal(size=n)
    return X, np.floor(np.argsort(np.argsort(score)) * ranks / n)


@pytest.fixture(scope="module")
def adult_1605() -> Problem:
    """Data as large and as sparse as Adult's first rows, without a download."""
    rng = np.random.default_rng(1605)
    X = (rng.random((1605, 123)) < 0.11).astype(float)
    y = np.where(X @ rng.normal(size=123) + 1.5 * rng.normal(size=1605) > 1.0, 1.0, -1.0)
    return Problem(X, y, 0.05, bias=False)


@pytest.mark.parametrize("seed", [seed for seed in range(240) if KERNELS[(seed // 4) % 3] == "linear"])
def test_random_problems(seed: int) -> None:
    case = make_case(seed)
    longest = float((dense(case.X) ** 2).sum(axis=1).max())
    # Cutting planes are for a moderate C.
    case = dataclasses.replace(case, C=min(case.C, 1e3 / (case.y.size * max(longest, 1e-3))))
    problem = case.problem(bias=False)
    best = certify(problem, solve(problem, "svmlight", eps=1e-7)).dual
    for name in CLASSIFIERS:
        found = judged(problem, name, 1e-4, case, keep_alpha=True)[1]
        # Two lower bounds; the optimum lies between them and the primal objective.
        slack = 1e-8 * abs(best)
        assert found.relaxed <= best + slack, (name, str(case))
        assert found.dual == pytest.approx(found.relaxed, rel=1e-6, abs=1e-9), (name, str(case))
        assert best <= found.primal + slack, (name, str(case))


@pytest.mark.parametrize("eps", [0.1, 0.01, 0.001, 0.0001])
def test_adult(eps: float, adult_1605: Problem) -> None:
    best = certify(adult_1605, solve(adult_1605, "svmlight", eps=1e-6)).dual
    (plain, first), (searched, second) = (judged(adult_1605, name, eps) for name in CLASSIFIERS)
    for found in (first, second):
        assert found.relaxed <= best * (1 + 1e-9)
        assert -1e-9 * best <= found.primal - best <= eps * adult_1605.total
    # No constraint of the plain algorithm is violated by more than eps.
    mean_loss = (first.primal - 0.5 * float(plain.weights @ plain.weights)) / adult_1605.total
    assert mean_loss <= plain.xi + eps * (1 + 1e-9)
    # The line search halves the iterations, though a relative gap is a smaller one.
    assert 2 * searched.iterations <= plain.iterations
    assert second.gap <= first.gap


@pytest.mark.parametrize("name", NAMES)
def test_dropping_planes_keeps_the_result(name: str, adult_1605: Problem) -> None:
    (kept, first), (dropped, second) = (judged(adult_1605, name, 1e-4, drop_after=after) for after in (0, 5))
    assert kept.info["dropped_planes"] == 0 < dropped.info["dropped_planes"]
    assert dropped.info["most_planes"] < kept.info["most_planes"]
    assert second.relaxed == pytest.approx(first.relaxed, abs=1e-4 * adult_1605.total)


@pytest.mark.parametrize("name", NAMES)
def test_limits(name: str, adult_1605: Problem) -> None:
    whole = solve(adult_1605, name, eps=1e-5)
    short = solve(adult_1605, name, eps=1e-5, iteration_limit=3)
    assert (short.status, short.iterations) == ("iteration_limit", 3)
    found = certify(adult_1605, short)
    assert short.relaxed < whole.relaxed < found.primal
    assert not found.passes(1e-5, 1.0)
    late = solve(adult_1605, name, eps=1e-9, time_limit=1e-4)
    assert late.status == "time_limit"
    assert np.isfinite(late.weights).all()


# Ordinal


@pytest.mark.parametrize("part", range(10))
def test_most_violated_constraint_is_that_of_all_pairs(part: int) -> None:
    for seed in range(100 * part, 100 * (part + 1)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        ranks = int(rng.integers(2, n + 1))
        y = rng.integers(0, ranks, n).astype(float) - 3.0
        y[:2] = 0.0, 1.5
        pairs, total = PairCounts(y), np.zeros(n)
        higher = y[:, None] > y[None, :]
        assert (pairs.R, pairs.m) == (np.unique(y).size, np.count_nonzero(higher)), seed
        for _ in range(2):
            # Half of them on a grid: ties of scores, and differences of exactly 1.
            f = 0.25 * rng.integers(-8, 9, n) if seed % 2 else 2.0 * rng.normal(size=n)
            f[rng.random(n) < 0.1] *= -0.0
            fewer = pairs.find(f)
            violated = higher & (f[:, None] - f[None, :] < 1.0)
            expected = violated.sum(axis=1) - violated.sum(axis=0)
            assert pairs.violated == np.count_nonzero(violated), seed
            assert np.array_equal(pairs.coefficients, expected), seed
            total += pairs.change
            assert np.array_equal(total, expected), seed
            assert fewer == (np.count_nonzero(pairs.change) < np.count_nonzero(expected)), seed


@pytest.mark.parametrize(("n", "ranks"), [(40, 2), (60, 3), (50, 50), (80, 7)])
def test_ordinal_reaches_the_optimum_of_the_pairwise_problem(n: int, ranks: int) -> None:
    X, y = ranked(n, n, ranks)
    problem = Problem(X, y, 0.05, bias=False)
    solution, found = judged(problem, "svmperf-ordinal", 1e-5)
    # The pairs written out, with labels +1, of which half are turned round.
    rows, weight = differences(problem)
    signs = np.where(np.arange(len(rows)) % 2, 1.0, -1.0)
    written_out = Problem(signs[:, None] * rows, signs, weight, bias=False)
    best = certify(written_out, solve(written_out, "svmlight", eps=1e-7)).dual
    assert found.relaxed <= best * (1 + 1e-8)
    assert best <= found.primal * (1 + 1e-8)
    assert found.gap <= 1.01e-5 * problem.total
    assert solution.info["ranks"] == ranks
    # Any increasing labels are the same ranks.
    other = judged(Problem(X, 10.0 ** (y / ranks) - 7, 0.05, bias=False), "svmperf-ordinal", 1e-5)[0]
    assert np.array_equal(solution.weights, other.weights)


def test_two_ranks_are_roc_area() -> None:
    X, y = ranked(8, 300, 2)
    problem = Problem(X, 2 * y - 1, 1.0, bias=False)
    solution, found = judged(problem, "svmperf-ordinal", 1e-4)
    f = X @ solution.weights
    total, m, _ = pair_loss(y, f)
    swapped = np.count_nonzero(f[y == 1][:, None] <= f[y == 0][None, :]) / m
    assert swapped <= total / m  # the loss bounds 1 minus the area
    classifier = dataclasses.replace(judged(problem, "svmperf", 1e-4)[0], loss="pairs")
    assert certify(problem, classifier).primal >= found.relaxed


# Almost hard margins, and witnesses from which bounds can be recomputed


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
        solution = solve(problem, name, eps=1e-3, iteration_limit=5_000)
        assert solution.status in ("optimal", "stalled")
        found = objective(problem, solution.weights)
        # The best known solution for unlimited C: the solution for 1e4, scaled.
        known = solve(Problem(X, labels, 1e4, bias=False), "ocas", eps=1e-8).weights
        known = known / (labels * (X @ known)).min() if labels is y else known
        slack = np.maximum(0.0, 1.0 - (1 + 1e-15) * labels * (X @ known))
        best = 0.5 * float(known @ known) + C * float(slack.sum())
        assert solution.relaxed is not None and solution.relaxed <= best * (1 + 1e-9)
        allowed = 1e-3 * (problem.total if name == "svmperf" else found)
        assert solution.status != "optimal" or found - best <= allowed


def any_problem(seed: int, ranks: bool) -> Problem:
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
        same = any_problem(seed, ranks=name == "svmperf-ordinal")
        solution = solve(same, name, eps=eps, iteration_limit=3_000)
        assert solution.relaxed is not None
        allowed = eps * (solution.info["primal"] if name == "ocas" else same.total)
        bound = bound_of(same, solution, name == "svmperf-ordinal")
        assert abs(bound - solution.relaxed) <= 1e-3 * allowed + 1e-10 * abs(bound), seed


@pytest.mark.parametrize(("name", "reach"), [("svmperf", 1.0), ("svmperf-ordinal", 2.0)])
def test_iterations_are_within_the_bound_of_lemma_2(name: str, reach: float) -> None:
    """With small C, 2 / eps is the larger term, else that of the longest example, here of norm 5."""
    X, y = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, -1.0]]), np.array([1.0, -1.0, -1.0])
    for C, bound in ((1e-6, 2.0 / 0.01), (2.0, 8.0 * 6.0 * (5.0 * reach) ** 2 / 0.01**2)):
        solution = solve(Problem(X, y, C, bias=False), name, eps=0.01)
        assert solution.info["iteration_bound"] == pytest.approx(bound)
        assert solution.status == "optimal" and solution.iterations <= bound


def text(blocks: bool = False) -> Problem:
    rng = np.random.default_rng(7)
    X = sp.random(3000, 400, density=0.05, format="csr", random_state=7, data_rvs=rng.standard_normal)
    y = np.where(X @ rng.normal(size=400) + 0.3 * rng.normal(size=3000) > 0.1, 1.0, -1.0)
    return Problem(Blocks([X[:700], X[700:710], X[710:]]) if blocks else X, y, 0.01, bias=False)


@pytest.fixture
def three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, and slices so small that hardly any is worthwhile."""
    monkeypatch.setattr(row_threads, "processors", lambda: 3)
    monkeypatch.setattr(sliced_passes, "_LEAST", 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("blocks", [False, True])
def test_threads_divide_the_passes(
    name: str, blocks: bool, three_processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = text(blocks)
    one, first = judged(problem, name, 1e-4)
    assert "divided_share" not in one.info
    for threads in (2, 3, 7):
        other, second = judged(problem, name, 1e-4, threads=threads)
        # The sums are in another order, so only the last digits may differ.
        assert other.weights == pytest.approx(one.weights, abs=1e-3 * float(np.abs(one.weights).max()))
        assert second.primal == pytest.approx(first.primal, rel=1e-4)
        assert 0.0 < other.info["divided_share"] <= 1.0
    # They are in the same order however the passes are cut, and by whomever they are done.
    in_slices(monkeypatch, 1003)
    monkeypatch.setattr(row_threads, "processors", lambda: 1)
    again = solve(problem, name, eps=1e-4, threads=7)
    assert np.array_equal(again.weights, other.weights)
    assert (again.iterations, again.work["nonzeros"]) == (other.iterations, other.work["nonzeros"])
    assert again.cpu_seconds > 0.0 and "divided_share" not in again.info


def test_more_threads_than_examples(three_processors: None) -> None:
    few = Problem(np.eye(3), [1, -1, 1], 1.0, bias=False)
    for name in NAMES:
        assert solve(few, name, threads=16).status == "optimal"


def test_a_part_that_no_helper_has_begun_is_done_by_the_thread_that_waits(three_processors: None) -> None:
    threads = row_threads.RowThreads(3)
    hold, begun = threading.Event(), threading.Barrier(3)

    def wait() -> None:
        begun.wait()
        hold.wait()

    for _ in range(2):  # both helpers are busy
        threads._pool.submit(wait)  # type: ignore[union-attr]
    begun.wait()
    try:
        who = threads.run(lambda part: (part, threading.current_thread()), True)
    finally:
        hold.set()
    assert who == [(part, threading.current_thread()) for part in range(3)]
    assert threads.helped == 0.0


def test_helper_threads_end_with_the_run(three_processors: None) -> None:
    assert solve(text(), "ocas", threads=3, iteration_limit=2).status == "iteration_limit"
    deadline = time.monotonic() + 30
    while any(thread.name.startswith("svmrepro_") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_a_helper_raises_is_raised(three_processors: None) -> None:
    with pytest.raises(ZeroDivisionError):
        row_threads.RowThreads(2).run(lambda part: 1 // (1 - part), True)
