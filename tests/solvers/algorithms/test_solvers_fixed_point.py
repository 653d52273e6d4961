"""The gradient in fixed point: its passes against NumPy, its error, and the way back to double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import judged, words
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.certificate import gram_matrix
from svmrepro.solvers.compilation import fixed_point
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition import second_order, smo_newton
from svmrepro.solvers.decomposition._fixed_gradient import UNIT
from svmrepro.solvers.registry import get


@compiled()
def move(near, far, changes, values, status, size, used):
    return fixed_point.move(near, far, changes, values, status, size, used, 1, 2)


@compiled()
def best(near, inverses, values, status, size, used, top):
    return fixed_point.best(near, inverses, values, status, size, used, top, 2)


@pytest.mark.parametrize("reach", [1, 2**29])
@pytest.mark.parametrize("size", [0, 16, 4096])
@pytest.mark.parametrize("used", [1, 32, 33, 64, 65, 128, 200, 256])
def test_passes_equal_numpy(used: int, size: int, reach: int) -> None:
    rng = np.random.default_rng(used + size)
    near, far = rng.integers(0, used, (2, size)).astype(np.uint8)
    near[size // 2 :] %= 60  # blocks of every reach
    far[size // 2 :] %= 60
    changes = rng.integers(-reach, reach, 256).astype(np.int32)
    values = rng.integers(-reach, reach, size).astype(np.int32)
    inverses = rng.choice([0.5, 1.0, 1e12], 256).astype(np.float32)
    for status in (rng.integers(0, 4, size).astype(np.uint8), np.zeros(size, dtype=np.uint8)):
        expected = values.copy()
        expected -= changes[near] - changes[far]
        found = move(near, far, changes, values, status, size, used)
        assert (values == expected).all()
        ups, downs = expected[(status & 1) != 0], expected[(status & 2) != 0]
        top = int(ups.max(initial=fixed_point.LEAST))
        where = np.flatnonzero(((status & 1) != 0) & (expected == top)).max(initial=-1)
        bottom = int(downs.min(initial=fixed_point.MOST))
        assert found == (top, where, bottom, int(np.abs(expected.astype(np.int64)).max(initial=0)))
        slopes = np.where((status & 2) != 0, max(top, 0) - expected.astype(np.int64), 0)
        single = np.maximum(slopes, 0).astype(np.float32)
        gains = single * single * inverses[near]
        gain, place = best(near, inverses, values, status, size, used, max(top, 0))
        assert gain == gains.max(initial=0.0)
        assert place == np.flatnonzero((gains == gain) & (slopes > 0)).max(initial=-1)


def binary_problem(C: float, gamma: float = 0.05, n: int = 900) -> Problem:
    X, y = words(n, 200, share=0.2)
    X[350:420] = X[:70]
    return Problem(X, y, C, Kernel.gaussian(gamma=gamma), storage="bits")


@pytest.mark.parametrize("C", [0.3, 10.0, 1e3])
def test_the_error_is_never_larger_than_stated(C: float) -> None:
    problem = binary_problem(C)
    problem.prepare()
    matrix = gram_matrix(problem)
    run = smo_newton.start(
        problem, 1e-3, {**get("smo-newton").check(problem, {"shrinking": False}), "start": None}
    )
    fixed, seen = run.pairs.iterated.screen, 0
    while smo_newton.advance(run, 20_000, 1 << 40) is None:
        if fixed.scalars.valid:
            state = run.pairs.state
            exact = problem.y - matrix @ state.beta
            error = float(np.abs(UNIT * fixed.G.astype(float) - exact).max())
            assert error <= state.scalars.error + 1e-12 * state.scalars.drift
            gap = exact[(state.status & 1) != 0].max() - exact[(state.status & 2) != 0].min()
            assert gap <= state.scalars.g_max - state.scalars.g_min + 1e-12 * state.scalars.drift
            seen += 1
    assert seen > 3


@pytest.mark.parametrize(
    ("C", "gamma", "eps"),
    [
        (10.0, 0.05, 1e-9),  # the error would be noticed
        (1e7, 0.05, 1e-3),  # entries and steps that do not fit
        (1e7, 1e-5, 1e-3),
    ],
)
def test_double_precision_takes_over(C: float, gamma: float, eps: float) -> None:
    problem = binary_problem(C, gamma)
    solution = solve(problem, "smo-newton", eps=eps)
    reference = solve(problem, "pasmo", eps=eps, iteration_limit=3_000_000)
    assert solution.status == "optimal"
    if reference.status == "optimal":
        assert solution.info["objective"] == pytest.approx(reference.info["objective"], rel=1e-3)


@pytest.mark.parametrize("options", [{}, {"cache_mb": 0.0}, {"shrinking": False}])
def test_slices_and_warm_starts_change_nothing(options: dict[str, Any]) -> None:
    problem = binary_problem(10.0)
    solution, certificate = judged(problem, "smo-newton", **options)
    again = solve(problem, "smo-newton", start=solution.end, **options)
    assert again.status == "optimal" and again.iterations <= 0.1 * solution.iterations
    assert certificate.max_violation <= 1e-3
    found = []
    for work in (1 << 40, 20_000):
        pairs = {"plan": 1, "offer": 1, "sets": 1, "stretch": 1.0, "lengths": False, "fixed": True}
        checked = get("smo-newton").check(problem, options)
        run = second_order.start(problem, 1e-3, {**checked, **pairs, "start": None})
        while (status := second_order.advance(run, work, 1 << 40)) is None:
            pass
        found.append(second_order.finish(run, status))
    assert (found[0].alpha == found[1].alpha).all() and found[0].iterations == found[1].iterations
