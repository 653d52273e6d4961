"""Measures of performance against their definitions, with ties."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from svmrepro.solvers import MEASURES
from svmrepro.solvers.metrics import accuracy, prbep, roc_area, swapped_pairs


def by_every_order(y: np.ndarray, values: np.ndarray) -> float:
    """Average the break-even point over all orders of equal values."""
    found = []
    for tie_break in permutations(range(y.size)):
        order = np.lexsort((tie_break, -values))
        called = np.count_nonzero(y > 0)
        right = np.count_nonzero(y[order[:called]] > 0)
        found.append(right / called)
    return float(np.mean(found))


def by_pairs(y: np.ndarray, values: np.ndarray) -> float:
    wrong = [
        1.0 if f_i < f_j else 0.5 if f_i == f_j else 0.0
        for (y_i, f_i), (y_j, f_j) in product(zip(y, values, strict=True), repeat=2)
        if y_i > y_j
    ]
    return float(np.mean(wrong))


@pytest.mark.parametrize("seed", range(25))
def test_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    y = np.where(np.arange(n) < rng.integers(1, n), 1.0, -1.0)
    # Few distinct values: ties across the threshold and across the classes.
    values = rng.integers(-1, 2, size=n) / 2.0
    assert prbep(y, values) == pytest.approx(by_every_order(y, values), abs=1e-12)
    assert roc_area(y, values) == pytest.approx(1.0 - by_pairs(y, values), abs=1e-12)
    assert accuracy(y, values) == np.mean(
        [(f > 0) == (label > 0) for label, f in zip(y, values, strict=True)]
    )


@pytest.mark.parametrize("seed", range(25))
def test_ranks_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(2, 60))
    y = rng.integers(0, rng.integers(2, n + 1), size=n) * 1.5 - 7.0
    y[0] = y[1] + 1.0
    values = rng.integers(0, rng.integers(1, 2 * n), size=n) * 1.0
    assert swapped_pairs(y, values) == pytest.approx(by_pairs(y, values), abs=1e-12)


def test_ends_of_the_scale() -> None:
    y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])
    right = np.array([-2.0, -1.0, 1.0, 2.0, 3.0])
    assert {name: measure(y, right) for name, measure in MEASURES.items()} == {
        "accuracy": 1.0,
        "prbep": 1.0,
        "roc-area": 1.0,
        "swapped-pairs": 0.0,
    }
    assert [measure(y, -right) for measure in MEASURES.values()] == pytest.approx([0.0, 1 / 3, 0.0, 1.0])
    nothing = np.zeros(5)
    # The sign rule calls 0 negative; all orders are equally good.
    assert [measure(y, nothing) for measure in MEASURES.values()] == pytest.approx([0.4, 0.6, 0.5, 0.5])


@pytest.mark.parametrize(
    ("name", "y", "values", "message"),
    [
        ("prbep", [1, 1], [0.0, 1.0], "both classes"),
        ("roc-area", [-1, -1], [0.0, 1.0], "both classes"),
        ("swapped-pairs", [3, 3], [0.0, 1.0], "two ranks"),
        ("accuracy", [1, 2], [0.0, 1.0], "labels -1 and \\+1"),
        ("accuracy", [1, -1], [0.0, np.nan], "finite"),
        ("swapped-pairs", [1, np.inf], [0.0, 1.0], "finite"),
        ("prbep", [1, -1], [0.0], "one shape"),
        ("accuracy", [], [], "one shape"),
    ],
)
def test_what_cannot_be_measured_is_told(name: str, y: list, values: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MEASURES[name](y, values)
