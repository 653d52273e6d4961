"""Cutting planes: objectives against other solvers, violations against brute force, limits."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import KERNELS, cloud, dense, differences, in_slices, judged, make_case, objective
from support import ran
from svmrepro.solvers import Blocks, Problem, Solution, certify, solve
from svmrepro.solvers.certificate._pairs import pair_loss
from svmrepro.solvers.cutting_planes._pair_counts import PairCounts
from svmrepro.solvers.passes import row_passes, row_threads, sliced_passes

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


@pytest.fixture(scope="module")
def best_dual(adult_1605: Problem) -> float:
    return certify(adult_1605, solve(adult_1605, "svmlight", eps=1e-6)).dual


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
def test_adult(eps: float, adult_1605: Problem, best_dual: float) -> None:
    (plain, first), (searched, second) = (judged(adult_1605, name, eps) for name in CLASSIFIERS)
    for found in (first, second):
        assert found.relaxed <= best_dual * (1 + 1e-9)
        assert -1e-9 * best_dual <= found.primal - best_dual <= eps * adult_1605.total
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
        # Rounding of the outputs counts C times, but so does SVM-perf's tolerance. If a margin is not kept,
        # the relaxed problem is of the size of C, and is not solved for the largest.
        reached = name == "svmperf" if labels is y else C <= 1e12
        assert solution.status == "optimal" or (solution.status == "stalled" and not reached)
        found = objective(problem, solution.weights)
        # The best known solution for unlimited C: the solution for 1e4, scaled.
        known = solve(Problem(X, labels, 1e4, bias=False), "ocas", eps=1e-8).weights
        known = known / (labels * (X @ known)).min() if labels is y else known
        slack = np.maximum(0.0, 1.0 - (1 + 1e-15) * labels * (X @ known))
        best = 0.5 * float(known @ known) + C * float(slack.sum())
        assert solution.relaxed is not None and solution.relaxed <= best * (1 + 1e-9)
        allowed = 1e-3 * (problem.total if name == "svmperf" else found)
        assert solution.status != "optimal" or found - best <= allowed


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_relaxed_problems_of_mixed_scales_end(name: str) -> None:
    # Their gains are rounding before their violation is small.
    X, y = cloud(200, 40)
    X *= 10.0 ** np.random.default_rng(1).uniform(-6, 6, size=40)
    solution = solve(Problem(X, y, 1.0, bias=False), name)
    assert solution.status == "optimal"
    assert solution.info["qp_rounds"] < 150 * solution.iterations


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
@pytest.mark.parametrize("name", NAMES)
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
    tight = solve(Problem(X, y, 1.0, bias=False), name, eps=1e-170)  # eps^2 is 0
    assert tight.info["iteration_bound"] == np.inf


def text(kind: str = "csr") -> Problem:
    """Sparse examples of very unequal lengths, the long ones last; or others, stored in another way."""
    rng = np.random.default_rng(7)
    n, d = 3000, 200
    density = np.linspace(0.0, 0.1, n)[:, np.newaxis]
    X = (rng.random((n, d)) < density) * (1.0 if kind in ("bits", "index") else rng.normal(size=(n, d)))
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.1, 1.0, -1.0)
    C = rng.uniform(0.01, 0.03, size=n) if kind == "weights" else 0.02
    if kind.startswith("blocks"):
        sparse = sp.csr_array(X.astype(np.float32 if kind == "blocks, single" else np.float64))
        return Problem(Blocks([sparse[:700], sparse[700:710], sparse[710:]]), y, C, bias=False)
    return Problem(X, y, C, bias=False, storage="csr" if kind == "weights" else kind)


@pytest.fixture
def three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, three are used, and for slices however small."""
    monkeypatch.setattr(row_threads, "processors", lambda: 3)
    monkeypatch.setattr(sliced_passes, "_LEAST", 1)


KINDS = ["csr", "blocks", "blocks, single", "dense", "bits", "index", "weights"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in NAMES for kind in KINDS if (name, kind) != ("svmperf-ordinal", "weights")],
)
def test_threads_divide_the_passes(
    name: str, kind: str, three_processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, options = text(kind), {} if name == "svmperf-ordinal" else {"keep_alpha": True}
    one, first = judged(problem, name, 1e-4, **options)
    assert "divided_share" not in one.info
    for threads in (2, 7):
        other, second = judged(problem, name, 1e-4, threads=threads, **options)
        # The sums are in another order, so only the last digits may differ.
        assert other.weights == pytest.approx(one.weights, abs=1e-3 * float(np.abs(one.weights).max()))
        assert second.primal == pytest.approx(first.primal, rel=1e-4)
        assert 0.0 < other.info["divided_share"] <= 1.0
    # They are in the same order however the passes are cut, and whoever does a part.
    in_slices(monkeypatch, 2503)
    monkeypatch.setattr(row_threads, "processors", lambda: 1)
    again = solve(problem, name, eps=1e-4, threads=7, **options)
    assert np.array_equal(again.weights, other.weights)
    assert (again.iterations, again.work["nonzeros"]) == (other.iterations, other.work["nonzeros"])
    assert "divided_share" not in again.info


def test_more_threads_than_examples(three_processors: None) -> None:
    few = Problem(np.eye(3), [1, -1, 1], 1.0, bias=False)
    for name in NAMES:
        assert solve(few, name, threads=16).status == "optimal"


@pytest.mark.parametrize("kind", KINDS)
def test_parts_have_about_as_many_entries_each(kind: str) -> None:
    problem = text(kind)
    data = sliced_passes.SlicedPasses(problem, 1000)
    assert data.parts == 64
    rows = np.concatenate([row_passes.entries_by_row(block) for block in data.layout.blocks]) + 1
    borders = data._borders
    assert (borders[0], borders[-1]) == (0, problem.n) and (np.diff(borders) > 0).all()
    shares = np.add.reduceat(rows, borders[:-1])
    assert (np.abs(shares - rows.sum() / 64) <= rows.max()).all()


def test_the_thread_that_waits_does_the_parts_that_no_helper_has_taken(
    three_processors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def who(part: int) -> tuple[int, threading.Thread]:
        return part, threading.current_thread()

    alone = [(part, threading.current_thread()) for part in range(5)]
    busy, hold = row_threads.RowThreads(5), threading.Event()
    busy._start()
    for _ in range(2):  # both helpers are busy
        busy._passes.put(SimpleNamespace(help=hold.wait))  # type: ignore[arg-type]
    try:
        assert busy.run(who, True) == alone
    finally:
        hold.set()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    refused = row_threads.RowThreads(5)
    assert refused.run(who, True) == alone and refused.run(who, True) == alone
    assert busy.helped == refused.helped == 0.0 < refused.divided


def test_helper_threads_end_with_the_run(three_processors: None) -> None:
    found = solve(text(), "ocas", threads=3, iteration_limit=2)
    assert found.status == "iteration_limit" and found.info["divided_share"] > 0
    deadline = time.monotonic() + 30
    while any(thread.name == "svmrepro-rows" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("by_main", [True, False])
def test_an_error_ends_a_pass_for_all(by_main: bool, three_processors: None) -> None:
    main, raised, taken = threading.current_thread(), threading.Event(), []

    def do(part: int) -> None:
        taken.append(part)
        if (threading.current_thread() is main) == by_main:
            raised.set()
            raise KeyboardInterrupt
        raised.wait(30)

    with pytest.raises(KeyboardInterrupt):
        row_threads.RowThreads(50).run(do, True)
    time.sleep(0.05)
    assert len(taken) < 50


ENDED = """
import threading
import numpy as np
from svmrepro.solvers import Problem, solve
from svmrepro.solvers.passes import row_passes, row_threads, sliced_passes

row_threads.processors, sliced_passes._LEAST = lambda: 2, 1
main = threading.current_thread()


def go():
    main.join()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    solution = solve(Problem(X, np.sign(X[:, 0] + rng.normal(size=500)), 1.0, bias=False), "ocas", threads=2)
    print(solution.status)


threading.Thread(target=go).start()
"""


def test_a_thread_may_solve_when_the_main_one_has_ended() -> None:
    done = ran(sys.executable, "-c", ENDED)
    assert done.stdout == "optimal\n", done.stderr
