"""Readings of planning ahead: the named solvers among them, and every option against whole matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import banana_like, chess_board, gram, judged, random_labels, words
from svmrepro.solvers import SOLVERS, Kernel, Problem, solve
from svmrepro.solvers.registry import READING_CHOICES

NAME = "planning-readings"

#: The named solvers, as options.
NAMED: dict[str, dict[str, Any]] = {
    "smo2": {"plan": "never", "offer": "never"},
    "pasmo": {},
    "pasmo-as-printed": {"offer": "unplanned"},
    "pasmo-every-step": {"plan": "smo"},
    "smo2-wss": {"plan": "never", "offer": "always", "gain": "newton"},
    "smo2-over": {"plan": "never", "offer": "never", "stretch": 1.1},
    "smo2-over-wss": {"plan": "never", "offer": "always", "gain": "newton", "stretch": 1.1},
}

_DEFAULTS = SOLVERS[NAME].check_options({})
#: No option, one at a time, and some together.
READINGS: list[dict[str, Any]] = [
    {},
    *({key: value} for key, values in READING_CHOICES.items() for value in values if value != _DEFAULTS[key]),
    {"eta": 0.1},
    {"stretch": 1.1},
    {"this_box": "none", "clip": "after"},
    {"this_box": "newton", "next_box": "none", "offer": "unplanned"},
    {"plan": "any", "guess": "either", "slope": "own", "candidates": "t-1 and t-2", "gain": "exact"},
    {"offer": "always", "direction": "own", "gain": "newton", "candidates": "t-2 and t-3"},
]

PROBLEMS = {
    "banana": lambda: Problem(*banana_like(300), 100.0, Kernel.gaussian(0.5)),
    "chess": lambda: Problem(*chess_board(150, 0), 1e6, Kernel.gaussian(0.5)),
    "words": lambda: Problem(*words(300), 10.0, Kernel.gaussian(0.05)),
    "linear": lambda: Problem(*words(200), 1.0, Kernel.linear()),
}


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("name", NAMED)
def test_named_solvers_are_readings(name: str, data: str) -> None:
    problem = PROBLEMS[data]()
    named, reading = solve(problem, name), solve(problem, NAME, **NAMED[name])
    assert reading.iterations == named.iterations
    assert np.array_equal(reading.alpha, named.alpha)
    for count in ("planned_steps", "offered_taken", "shrinks", "gradient_restores"):
        assert reading.info[count] == named.info[count]


@pytest.mark.parametrize("options", READINGS, ids=lambda options: ", ".join(map(str, options.values())))
def test_readings_against_whole_matrices(options: dict[str, Any]) -> None:
    # Paths may diverge where two gradients are equal up to rounding; the counts of most problems agree.
    same = []
    for seed in range(10):
        problem = Problem(*random_labels(30, 2, seed), 5.0, Kernel.gaussian(0.5))
        full = SOLVERS[NAME].check_options(options)
        expected = steps_of_reading(gram(problem), problem.y, 5.0, full)
        solution = solve(problem, NAME, eps=0.05, shrinking=False, iteration_limit=2000, **options)
        assert solution.status == ("optimal" if solution.iterations < 2000 else "iteration_limit")
        same.append(solution.iterations == expected)
    assert sum(same) >= 6


@pytest.mark.parametrize(
    "options", [{"unshrink": False}, {"single": True}, {"plan": "any", "this_box": "none", "guess": "either"}]
)
@pytest.mark.parametrize("data", ["banana", "words", "linear"])
def test_readings_are_certified(data: str, options: dict[str, Any]) -> None:
    solution, certificate = judged(PROBLEMS[data](), NAME, 1e-3, **options)
    assert solution.status == "optimal"
    assert certificate.pair_gap <= 1e-3


def test_the_longest_planned_step() -> None:
    planned = solve(PROBLEMS["chess"](), NAME, lengths=True)
    counts = planned.info["planned_lengths"]
    assert sum(counts) == planned.info["planned_steps"]
    t = -2.05 + 0.1 * max(place for place, count in enumerate(counts) if count)
    low, high = (10 ** (each**2 / 2) for each in (t, t + 0.1))
    assert low <= planned.info["longest_planned"] <= high
    assert "longest_planned" not in solve(PROBLEMS["chess"](), NAME, plan="never").info


def test_a_word_that_is_no_choice_is_refused() -> None:
    with pytest.raises(ValueError, match="option 'guess' must be one of t-1, t-2, either, shared, got 't-3'"):
        solve(PROBLEMS["banana"](), NAME, guess="t-3")
    with pytest.raises(ValueError, match=r"option 'plan' must be one of .*, got True"):
        solve(PROBLEMS["banana"](), NAME, plan=True)


def steps_of_reading(K: Any, y: Any, C: float, options: dict[str, Any]) -> int:
    """Return the number of steps of a reading, or 2000 if it takes more; with whole matrices."""
    o = options
    low, high = np.minimum(0, y * C), np.maximum(0, y * C)
    beta, G = np.zeros(y.size), y.copy()
    past: list[tuple[int, int, float]] = []  # working sets and their slopes, newest first
    planned = free = inside = False
    ratio = 1.0
    asked = {"planned": lambda: planned, "unplanned": lambda: not planned}
    plans = {"free": lambda: free, "smo": lambda: not planned, "inside": lambda: inside}
    ages = {"t-1": [0], "t-2": [1], "either": [0, 1], "t-1 and t-2": [0, 1], "t-2 and t-3": [1, 2]}

    def bounds(i: int, j: int, at: Any) -> tuple[float, float]:
        return max(low[i] - at[i], at[j] - high[j]), min(high[i] - at[i], at[j] - low[j])

    def curvature(i: int, j: int) -> float:
        return max(float(K[i, i] + K[j, j] - 2 * K[i, j]), 1e-12)

    def gain(i: int, j: int, exact: bool) -> float:
        mu = (G[i] - G[j]) / curvature(i, j)
        mu = float(np.clip(mu, *bounds(i, j, beta))) if exact else mu
        return float((G[i] - G[j]) * mu - curvature(i, j) * mu * mu / 2)

    for step in range(2000):
        up, down = beta < high, beta > low
        i = max(np.flatnonzero(up), key=lambda n: (G[n], n))
        if G[i] - G[down].min() <= 0.05:
            return step
        offering = {"always": True, "never": False}.get(o["offer"]) or (
            o["offer"] in asked and asked[o["offer"]]()
        )
        outside = not 1 - o["eta"] <= ratio <= 1 + o["eta"]
        exact = bool(offering and (o["gain"] == "exact" or (o["gain"] == "interval" and outside)))
        j = max((n for n in np.flatnonzero(down) if G[n] < G[i]), key=lambda n: (gain(i, n, exact), n))
        best = gain(i, j, exact)
        for age in ages[o["candidates"]] if offering else []:
            if age >= len(past):
                continue
            a, b, _ = past[age]
            if G[a] < G[b] and o["direction"] == "uphill":
                a, b = b, a
            if G[a] <= G[b] and (G[a] == G[b] or o["direction"] != "any"):
                continue
            if up[a] and down[b] and gain(a, b, exact) > best:
                i, j, best = a, b, gain(a, b, exact)
        slope, Q, (least, most) = G[i] - G[j], curvature(i, j), bounds(i, j, beta)
        newton, mu, found = slope / Q, None, -np.inf
        if o["plan"] == "any" or (o["plan"] in plans and plans[o["plan"]]()):
            shared = [age for age, (a, b, _) in enumerate(past) if {a, b} & {i, j}][:1]
            for age in shared if o["guess"] == "shared" else ages[o["guess"]]:
                if age >= len(past):
                    continue
                a, b, w2 = past[age]
                w2 = w2 if o["slope"] == "own" else G[a] - G[b]
                Q2, cross = curvature(a, b), K[i, a] - K[i, b] - K[j, a] + K[j, b]
                matrix = np.array([[Q, cross], [cross, Q2]])
                if Q * Q2 - cross**2 <= 1e-12 * Q * Q2:
                    continue
                ahead = float(np.linalg.solve(matrix, [slope, w2])[0])
                if (
                    o["this_box"] != "none"
                    and not least < (newton if o["this_box"] == "newton" else ahead) < most
                ):
                    continue
                taken = float(np.clip(ahead, least, most))
                ahead = taken if o["clip"] == "before" else ahead
                after = (w2 - cross * ahead) / Q2
                then = beta.copy()
                if o["next_box"] == "moved":
                    then[[i, j]] += [ahead, -ahead]
                if o["next_box"] != "none" and not bounds(a, b, then)[0] < after < bounds(a, b, then)[1]:
                    continue
                both = slope * taken - Q * taken**2 / 2 + Q2 * after**2 / 2
                if both > found:
                    mu, found = taken, both
        planned = mu is not None
        mu = float(np.clip(o["stretch"] * newton, least, most)) if mu is None else mu
        inside = bool(least < mu < most)
        free, ratio = inside and not planned, mu / newton
        past = [(i, j, slope), *past[:19]]
        beta[i] += mu
        beta[j] -= mu
        for k in (i, j):
            beta[k] = low[k] if beta[k] - low[k] <= 1e-15 * C else beta[k]
            beta[k] = high[k] if high[k] - beta[k] <= 1e-15 * C else beta[k]
        G -= mu * (K[i] - K[j])
    return 2000


def test_rows_in_single_precision_are_counted_as_such() -> None:
    for data in ("banana", "words"):
        problem = PROBLEMS[data]()
        single, double = (solve(problem, NAME, single=single).info for single in (True, False))
        # Rows are widened for each step, and distances take a byte.
        assert single["bytes_moved"] > double["bytes_moved"]
