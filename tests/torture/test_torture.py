"""A few dozen problems of the torture test, and a test that it notices dishonest solvers.

    ./run python tests/torture/torture.py --problems 2000 --jobs 2 --journal torture.jsonl --table torture.md

runs the whole test.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torture
from exact import PAIRS, SQUARED, Exact
from svmrepro.solvers import SOLVERS, Kernel, Solution, solve
from torture_problems import FAMILIES, Draw, draw
from verdicts import DISHONEST, LIMITED, REFUSED, SOLVED, Judged, Outcome, biases, judge, solve_one, suits

LIMIT = 0.2
SEED = 9_000
SCALES = ("scales", "tiny", "large", "mixed", "plain")
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


@cache
def linear(seed: int) -> tuple[Judged, str]:
    """Return a linear problem with copies, contradictions or a tiny class, and the kind of its scales."""
    rng = np.random.default_rng([1616, seed])
    n, d, kind = int(rng.integers(5, 80)), int(rng.integers(1, 8)), SCALES[seed % len(SCALES)]
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.choice([0.0, 0.3, 2.0]) * rng.normal(size=n) > 0, 1.0, -1.0)
    if rng.random() < 0.3:
        X[n // 2 : n // 2 + n // 4], y[n // 2 : n // 2 + n // 4] = X[: n // 4], y[: n // 4]
    if rng.random() < 0.3:
        X[n - n // 5 :], y[n - n // 5 :] = X[: n // 5], -y[: n // 5]
    if rng.random() < 0.3:
        X[rng.choice(n, size=max(1, n // 6), replace=False)] = 0.0
    if rng.random() < 0.2:
        y[:] = -1.0
        y[rng.integers(n)] = 1.0
    if (y == y[0]).all():
        y[rng.integers(1, n)] *= -1.0
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-8, 8, size=d)
    elif kind in ("tiny", "large"):
        X *= 10.0 ** (rng.uniform(-8, 0) if kind == "tiny" else rng.uniform(0, 8))
    elif kind == "mixed":
        X = X * np.resize([1e6, 1e-3, 1.0], d) + rng.choice([0.0, 1.0]) * rng.normal(size=d)
    C = float(10.0 ** rng.uniform(-10, 10))
    bounds = C * 10.0 ** rng.uniform(-2, 2, size=n) if seed % 3 == 2 else C
    return Judged(Draw("linear", seed, X, y, bounds, Kernel.linear(), "dense" if seed % 2 else "csr")), kind


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("name", ["svmperf", "ocas"])
def test_cutting_planes_call_optimal_what_is(name: str, part: int) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for seed in range(20 * part, 20 * (part + 1)):
        judged, kind = linear(seed)
        solution = solve(judged.draw.problem(False), name, iteration_limit=1_000, time_limit=2.0)
        outcome = judge(judged, name, solution, torture.EPS, np.inf)
        assert outcome.verdict in (SOLVED, LIMITED), (seed, kind, outcome.detail)
        assert 0.0 <= solution.relaxed <= float(judged.exact(False).optimum().upper) * (1 + 1e-12), (
            seed,
            kind,
        )
        found[kind, solution.status] += 1
    # It must be optimal unless rounding prevents it.
    assert found["plain", "optimal"] == found["tiny", "optimal"] == 4, found
    assert sum(count for (_, status), count in found.items() if status == "optimal") >= 12, found


def solved(name: str = "smo2") -> tuple[Judged, Solution]:
    judged = Judged(draw("decades", 1))
    return judged, solve(judged.draw.problem(biases(name)), name)


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
    judged, solution = solved()
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
            found = Exact(X, y, C, kernel, bias).optimum()
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
    exact = Exact(X, y, 3.0, Kernel.linear(), False)
    # 1/2 w^2 + 3 max(0, 1 - 2 w)^2: w = 12 (1 - 2 w).
    w = 12.0 / 25.0
    assert float(exact.optimum(SQUARED).upper) == pytest.approx(
        0.5 * w**2 + 3.0 * (1 - 2 * w) ** 2, rel=1e-12
    )
    # One pair, n C / m = 6: 1/2 w^2 + 6 max(0, 1 - 4 w), at w = 1/4.
    assert float(exact.optimum(PAIRS).upper) == pytest.approx(1 / 32, rel=1e-12)


def test_a_journal_is_gone_on_with(tmp_path: Path) -> None:
    journal = torture.Journal(tmp_path / "torture.jsonl")
    every = list(torture.tasks(2, ("smo2", "chunking"), ["scales", "copies"], first_seed=1))
    first = torture.run(every[:1], journal, time_limit=LIMIT)
    assert [one.family for one in first] == ["scales"] * len(every[0].solvers)
    with journal.path.open("a") as stream:
        stream.write('{"source": "of a kill')
    left = list(torture.without(every, journal.read()))
    assert left == every[1:]
    torture.run(left, journal, time_limit=LIMIT)
    assert len(journal.read()) == sum(len(task.solvers) for task in every)
    text = torture.report(journal.read(), LIMIT)
    assert "| smo2 | 100 | 100 | 100 |" in text


def test_the_table_counts() -> None:
    def one(verdict: str, seed: int) -> Outcome:
        return Outcome("scales", seed, "smo2", verdict, "", "why", 0.0)

    outcomes = [one(SOLVED, 0), one(LIMITED, 1), one(DISHONEST, 2), one(REFUSED, 3)]
    text = torture.report(outcomes, 1.0)
    assert "| smo2 | 25 +l25 +r25 **!1** |" in text
    assert "`./run python tests/torture/torture.py --family scales --seed 2 --solver smo2`" in text
    assert torture.dishonest(outcomes) == [outcomes[2]]
