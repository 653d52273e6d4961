"""A few dozen problems of the torture test, and a test that it notices dishonest solvers.

    ./run python tests/torture/torture.py --problems 2000 --jobs 2 --journal torture.jsonl --table torture.md

runs the whole test.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torture
from exact import PAIRS, SQUARED, Exact
from svmrepro.solvers import SOLVERS, Kernel, solve
from torture_problems import FAMILIES, draw
from verdicts import DISHONEST, LIMITED, REFUSED, SOLVED, Judged, biases, judge, solve_one, suits

LIMIT = 0.2
SEED = 9_000
#: Families whose linear problems are within the reach of cutting planes.
MODERATE = ("lattice", "tiny-class", "binary", "wide")
#: Variants of one module differ only in their choices; these run here.
SOME = tuple(
    name
    for name in torture.OWN
    if SOLVERS[name].module != "decomposition.second_order" or name in ("smo2", "pasmo-3")
)


@pytest.mark.parametrize("family", FAMILIES)
def test_nobody_is_dishonest(family: str) -> None:
    wrong = []
    judged = Judged(draw(family, SEED))
    for name in SOME:
        if suits(judged.draw, name):
            solution, outcome = solve_one(judged.draw, name, LIMIT, torture.EPS)
            if solution is not None:
                # Time is not checked: it includes compiling at first use.
                solution = dataclasses.replace(solution, cpu_seconds=0.0)
                outcome = judge(judged, name, solution, torture.EPS, LIMIT)
            assert outcome is not None
            if outcome.verdict == DISHONEST or (outcome.verdict == REFUSED) != judged.draw.refusable:
                wrong.append(f"{outcome.detail or outcome.verdict}: {outcome.command()}")
    assert wrong == []


@pytest.mark.parametrize(
    "family",
    ["scales", "copies", "contradictions", "tiny-class", "indefinite", "outlier", "decades", "own-bounds"],
)
def test_hard_problems_that_are_solved(family: str) -> None:
    for seed in (1, 3):
        judged = Judged(draw(family, seed))
        for name in ("smo", "smo-fixed-threshold", "chunking", "smo-newton"):
            solution = solve(judged.draw.problem(biases(name)), name, verify=False, time_limit=20)
            outcome = judge(judged, name, solution, torture.EPS, np.inf)
            assert outcome.verdict == SOLVED, (outcome.detail, outcome.command())


def test_an_iteration_that_diverges_returns_its_last_finite_point() -> None:
    """Far from the origin, rounding makes the Lagrangian iteration diverge."""
    solution = solve(draw("offsets", 70_008).problem(False), "lsvm", iteration_limit=20_000)
    assert np.isfinite(solution.alpha).all() and np.isfinite(solution.weights).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_lower_bounds_of_cutting_planes_are_below_the_optimum(family: str) -> None:
    for seed in range(SEED, SEED + 4):
        judged = Judged(draw(family, seed))
        for name in ("svmperf", "ocas"):
            if not suits(judged.draw, name) or judged.draw.refusable:
                continue
            solution = solve(judged.draw.problem(False), name, iteration_limit=1_000, time_limit=60)
            outcome = judge(judged, name, solution, torture.EPS, np.inf)
            assert outcome.verdict in (SOLVED, LIMITED), (outcome.detail, outcome.command())
            top = float(judged.exact(name).optimum.upper) * (1 + 1e-12)
            assert 0.0 <= solution.relaxed <= top, outcome.command()
            # It must be optimal unless rounding prevents it.
            assert outcome.verdict == SOLVED or family not in MODERATE, (outcome.command(), solution)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bias": float("nan")}, "bias nan"),
        ({"bias": 30.0}, "violation"),
        ({"alpha": -1.0}, "outside its box"),
        ({"alpha": 1e30}, "outside its box"),
        ({"alpha": float("nan")}, "alpha not finite"),
        ({"status": "perhaps"}, "status 'perhaps'"),
        ({"cpu_seconds": 99.0}, "after its limit of time"),
    ],
)
def test_dishonesty_would_be_found(changes: dict[str, object], said: str) -> None:
    judged = Judged(draw("decades", 1))
    solution = solve(judged.draw.problem(bias=True), "smo2")
    assert judge(judged, "smo2", solution, 1e-3, 10.0).verdict == SOLVED
    if "alpha" in changes:
        changes = {"alpha": np.full(judged.draw.n, changes["alpha"])}
    outcome = judge(judged, "smo2", dataclasses.replace(solution, **changes), 1e-3, 10.0)
    assert outcome.verdict == DISHONEST and said in outcome.detail


def test_other_weights_and_a_wide_gap_would_be_found() -> None:
    judged = Judged(draw("scales", 1))
    for name, said in (("smo2", "distance of the weights"), ("svmperf", "gap")):
        solution = solve(judged.draw.problem(biases(name)), name)
        assert judge(judged, name, solution, 1e-3, 10.0).verdict == SOLVED
        wrong = dataclasses.replace(solution, weights=solution.weights + 1e15)
        outcome = judge(judged, name, wrong, 1e-3, 10.0)
        assert outcome.verdict == DISHONEST and said in outcome.detail


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_the_best_face(seed: int) -> None:
    """Enumerate which multipliers are 0, free, or C; the best feasible stationary point is the optimum."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    X, y = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    C = 10.0 ** rng.uniform(-2, 2, size=n)
    for kernel in (Kernel.linear(), Kernel.gaussian(gamma=0.5)):
        K = X @ X.T if kernel.name == "linear" else np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
        Q = y[:, None] * K * y
        for bias in (True, False):
            found = Exact(X, y, C, kernel, bias).optimum
            assert found.narrow
            assert float(found.lower) == pytest.approx(best_face(Q, y, C, bias), rel=1e-8)


def best_face(Q: np.ndarray, y: np.ndarray, C: np.ndarray, bias: bool) -> float:
    best = 0.0
    n = len(y)
    for code in range(3**n):
        face = np.array([code // 3**i % 3 for i in range(n)])
        free = face == 1
        a = np.where(face == 2, C, 0.0)
        k = int(free.sum())
        M = np.zeros((k + bias, k + bias))
        M[:k, :k] = Q[np.ix_(free, free)]
        right = np.append(1.0 - Q[free] @ a, -(y @ a)) if bias else 1.0 - Q[free] @ a
        if bias:
            M[:k, k] = M[k, :k] = y[free]
        a[free] = np.linalg.lstsq(M, right, rcond=None)[0][:k]
        if (a < -1e-12).any() or (a > C * (1 + 1e-12)).any() or (bias and abs(y @ a) > 1e-9 * a.sum()):
            continue
        best = max(best, float(a.sum() - 0.5 * a @ Q @ a))
    return best


def test_the_other_losses_have_their_own_optima() -> None:
    """With one example per class, the solution can be written down."""
    X, y = np.array([[2.0], [-2.0]]), np.array([1.0, -1.0])
    # 1/2 w^2 + 3 max(0, 1 - 2 w)^2: w = 12 (1 - 2 w).
    w = 12.0 / 25.0
    squared = Exact(X, y, 3.0, Kernel.linear(), False, SQUARED).optimum
    assert float(squared.upper) == pytest.approx(0.5 * w**2 + 3.0 * (1 - 2 * w) ** 2, rel=1e-12)
    # One pair, n C / m = 6: 1/2 w^2 + 6 max(0, 1 - 4 w), at w = 1/4.
    pairs = Exact(X, y, 3.0, Kernel.linear(), False, PAIRS).optimum
    assert float(pairs.upper) == pytest.approx(1 / 32, rel=1e-12)


def test_a_journal_is_gone_on_with(tmp_path: Path) -> None:
    journal = torture.Journal(tmp_path / "torture.jsonl")
    problems = (2, ("smo2", "chunking"), ["scales", "copies"], 1)
    every = list(torture.tasks(*problems))
    first = torture.run(every[:1], journal, time_limit=LIMIT)
    assert [one.family for one in first] == ["scales"] * len(every[0].solvers)
    with journal.path.open("a") as stream:
        stream.write('{"source": "of a kill')
    left = list(torture.tasks(*problems, done=journal.read()))
    assert left == every[1:]
    torture.run(left, journal, time_limit=LIMIT)
    assert len(journal.read()) == sum(len(task.solvers) for task in every)
    text = torture.report(journal.read(), LIMIT)
    assert "| smo2 | 100 | 100 | 100 |" in text
