"""The gradient in fixed point: its passes against NumPy, its error, and the way back to double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import judged, started, words
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.certificate import gram_matrix
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.decomposition import second_order, smo_newton
from svmrepro.solvers.decomposition._fixed_gradient import UNIT
from svmrepro.solvers.decomposition._gradient_reconstruction import gradient_error
from svmrepro.solvers.registry import get
from svmrepro.solvers.vector_code import fixed_point, fixed_point_rows


@compiled()
def move(near, far, changes, values, status, size, used):
    return fixed_point.move(near, far, changes, values, status, size, used, 1, 2)


@compiled()
def add(near, changes, sums, size, used):
    fixed_point.add(near, changes, sums, size, used)


@compiled()
def best(near, inverses, values, status, size, used, top):
    return fixed_point.best(near, inverses, values, status, size, used, top, 2)


def extremes(values: Any, status: Any) -> tuple[int, int, int, int]:
    """Return the largest value over I_up, its last position, the smallest over I_down, and the largest."""
    ups, downs = values[(status & 1) != 0], values[(status & 2) != 0]
    top = int(ups.max(initial=fixed_point.LEAST))
    where = np.flatnonzero(((status & 1) != 0) & (values == top)).max(initial=-1)
    bottom = int(downs.min(initial=fixed_point.MOST))
    return top, int(where), bottom, int(np.abs(values.astype(np.int64)).max(initial=0))


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
    sums, whole = values.copy(), size // 32 * 32
    add(near, changes, sums, whole, used)
    assert (sums[:whole] == (values + changes[near])[:whole]).all() and (sums[whole:] == values[whole:]).all()
    inverses = rng.choice([0.5, 1.0, 1e12], 256).astype(np.float32)
    for status in (rng.integers(0, 4, size).astype(np.uint8), np.zeros(size, dtype=np.uint8)):
        expected = values.copy()
        expected -= changes[near] - changes[far]
        found = move(near, far, changes, values, status, size, used)
        assert (values == expected).all()
        assert found == extremes(expected, status)
        top = found[0]
        slopes = np.where((status & 2) != 0, max(top, 0) - expected.astype(np.int64), 0)
        single = np.maximum(slopes, 0).astype(np.float32)
        gains = single * single * inverses[near]
        gain, place = best(near, inverses, values, status, size, used, max(top, 0))
        assert gain == gains.max(initial=0.0)
        assert place == np.flatnonzero((gains == gain) & (slopes > 0)).max(initial=-1)


def binary_problem(C: float, gamma: float = 0.05) -> Problem:
    X, y = words(900, 200, share=0.2)
    X[350:420] = X[:70]
    return Problem(X, y, C, Kernel.gaussian(gamma=gamma), storage="bits")


@pytest.mark.parametrize("C", [0.3, 10.0, 1e3])
def test_the_error_is_never_larger_than_stated(C: float) -> None:
    problem = binary_problem(C)
    matrix = gram_matrix(problem)
    run = started(problem, shrinking=False)
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


@pytest.fixture(scope="module")
def whole_matrix() -> Any:
    """The kernel matrix of a problem whose examples leave and return, and the problem."""
    problem = Problem(*words(4500, share=0.2), 1.0, Kernel.gaussian(gamma=0.05), storage="bits")
    return problem, gram_matrix(problem)


@pytest.mark.parametrize(
    ("C", "eps", "cache_mb"),
    [(10.0, 1e-3, 0.0), (10.0, 1e-3, 40.0), (1.0, 1e-3, 40.0), (10.0, 1e-6, 40.0)],
)
def test_the_gradient_of_returning_examples_is_as_exact_as_stated(
    C: float, eps: float, cache_mb: float, whole_matrix: Any
) -> None:
    problem, matrix = whole_matrix[0].with_C(C), whole_matrix[1]
    run = started(problem, eps, cache_mb=cache_mb)
    state, restores, most = run.pairs.state, 0, 0
    in_fixed_point: list[bool] = []
    while smo_newton.advance(run, 200_000, 1 << 40) is None:
        most = max(most, len(run.pairs.leavers.groups))
        under_way = run.pairs.reconstruction
        if under_way is not None and len(in_fixed_point) == restores:
            in_fixed_point.append(under_way.error > 0.0)
        if run.pairs.restores > restores:
            restores = run.pairs.restores
            beta = state.beta[state.position]
            error = float(np.abs(state.G[state.position] - (problem.y - matrix @ beta)).max())
            assert error <= state.scalars.error + 1e-12 * state.scalars.drift
    assert restores and most > 1
    assert all(in_fixed_point) if eps == 1e-3 else not any(in_fixed_point)
    assert certify(problem, smo_newton.finish(run, "optimal")).passes(eps, 1.0)


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
    assert judged(problem, "smo-newton", eps)[1].relative_gap <= 1e-3


@pytest.mark.parametrize("options", [{}, {"cache_mb": 0.0}, {"shrinking": False}])
def test_a_warm_start_is_nearly_at_the_end(options: dict[str, Any]) -> None:
    problem = binary_problem(10.0)
    solution, certificate = judged(problem, "smo-newton", **options)
    again = solve(problem, "smo-newton", start=solution.end, **options)
    assert again.status == "optimal" and again.iterations <= 0.1 * solution.iterations
    assert certificate.max_violation <= 1e-3


@pytest.mark.parametrize(
    ("C", "options"),
    [
        (10.0, {}),
        (10.0, {"cache_mb": 0.0}),
        (10.0, {"shrinking": False}),
        (1e7, {}),  # double precision takes over, and gives way again
    ],
)
def test_slices_change_nothing(C: float, options: dict[str, Any]) -> None:
    problem, found = binary_problem(C), []
    for work in (1 << 40, 20_000):
        pairs = {"plan": 1, "offer": 1, "sets": 1, "stretch": 1.0, "lengths": False, "fixed": True}
        checked = get("smo-newton").check(problem, options)
        run = second_order.start(problem, 1e-3, {**checked, **pairs, "start": None})
        while (status := second_order.advance(run, work, 1 << 40)) is None:
            pass
        found.append(second_order.finish(run, status))
    assert (found[0].alpha == found[1].alpha).all() and found[0].iterations == found[1].iterations


@compiled()
def move_rows(near, far, scale, values, status, size):
    return fixed_point_rows.move(near, far, scale, values, status, size, 1, 2)


@compiled()
def best_of_row(row, values, status, size, top):
    return fixed_point_rows.best(row, values, status, size, top, 2, 1e-12)


@pytest.mark.parametrize("reach", [1, 2**28])
@pytest.mark.parametrize("size", [0, 16, 4096])
def test_passes_over_single_precision_equal_numpy(size: int, reach: int) -> None:
    rng = np.random.default_rng(size)
    near, far = rng.random((2, size)).astype(np.float32)
    near[size // 2 :] = rng.choice([0.5, 1.0], size - size // 2)  # equal gains, and copies of the example
    values = rng.integers(-reach, reach, size).astype(np.int32)
    for status in (rng.integers(0, 4, size).astype(np.uint8), np.zeros(size, dtype=np.uint8)):
        change = (np.float32(0.3 * reach) * (near - far)).astype(np.int32)
        expected = values - change
        found = move_rows(near, far, 0.3 * reach, values, status, size)
        assert (values == expected).all()
        assert found == extremes(expected, status)
        top = found[0]
        slopes = np.where((status & 2) != 0, np.maximum(max(top, 0) - expected.astype(np.int64), 0), 0)
        single, two = slopes.astype(np.float32), np.float32(2.0)
        gains = single * single / np.maximum(two - two * near, np.float32(1e-12))
        gain, place = best_of_row(near, values, status, size, max(top, 0))
        assert gain == gains.max(initial=0.0)
        assert place == np.flatnonzero((gains == gain) & (slopes > 0)).max(initial=-1)


def dense_problem(C: float, gamma: float = 0.1, far: float = 0.0) -> Problem:
    """Return a problem whose rows are in single precision, with copies of some examples."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1300, 7))
    X[350:420] = X[:70]
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=1300) > 0.0, 1.0, -1.0)
    return Problem(X + far, y, C, Kernel.gaussian(gamma=gamma), storage="dense")


@pytest.mark.parametrize(("C", "work"), [(0.3, 20_000), (3.0, 20_000), (100.0, 100_000)])
def test_the_noise_is_never_larger_than_stated(C: float, work: int) -> None:
    problem = dense_problem(C)
    matrix = gram_matrix(problem)
    run = started(problem, shrinking=False)
    assert run.pairs.rounded
    fixed, seen = run.pairs.iterated.screen, 0
    while smo_newton.advance(run, work, 1 << 40) is None:
        if fixed.scalars.valid and run.polish is None:
            state = run.pairs.state
            exact = problem.y - matrix @ state.beta
            error = float(np.abs(float(fixed.scalars.unit) * fixed.G.astype(float) - exact).max())
            assert error <= gradient_error(run.pairs)
            seen += 1
    assert seen > 3


@pytest.mark.parametrize(
    ("C", "gamma", "eps", "far"),
    [
        (1e3, 0.1, 1e-3, 0.0),  # entries that need a larger unit, and noise that is too large in the end
        (10.0, 0.1, 1e-7, 0.0),
        (10.0, 1e-5, 1e-3, 0.0),  # nearly constant kernel values
        (10.0, 0.1, 1e-3, 1e4),
    ],
)
def test_dense_problems_are_optimal_beyond_single_precision(
    C: float, gamma: float, eps: float, far: float
) -> None:
    problem = dense_problem(C, gamma, far=far)
    solution, certificate = judged(problem, "smo-newton", eps=eps)
    reference = solve(problem, "smo2", eps=eps)
    assert solution.status == reference.status == "optimal"
    assert certificate.pair_gap <= eps * (1.0 + 1e-6)
    assert certificate.dual == pytest.approx(reference.info["objective"], rel=1e-4)


def test_a_long_run_stays_in_fixed_point_and_single_precision() -> None:
    eps = 3e-4
    run = started(dense_problem(100.0), eps=eps)
    while smo_newton.advance(run, 1_000_000, 10**9) is None:
        pass
    scalars = run.pairs.state.scalars
    assert run.pairs.rounded and scalars.g_max - scalars.g_min <= eps
    assert scalars.fixed_updates >= 0.5 * scalars.updates


@pytest.mark.parametrize("options", [{"cache_mb": 0.0}, {"cache_mb": 1.0}, {"shrinking": False}])
def test_rows_that_are_dropped_or_computed_ahead_change_no_result(options: dict[str, Any]) -> None:
    problem = dense_problem(10.0)
    solution, certificate = judged(problem, "smo-newton", **options)
    plain, _ = judged(problem, "smo-newton")
    assert solution.status == plain.status == "optimal"
    # Per entry of a step: three rows of 4 bytes, the gradient three times, the status twice.
    assert plain.info["bytes_moved"] >= 26 * plain.work["gradient_updates"]
    assert certificate.dual == pytest.approx(plain.info["objective"], rel=1e-5)


def stretched(X: Any, rng: Any) -> Any:
    return X * np.exp(2.0 * rng.normal(size=X.shape[1]))


HARD = {
    "many copies": lambda X, rng: X[rng.integers(0, X.shape[0] // 10, X.shape[0])],
    "a lattice": lambda X, rng: np.round(2.0 * X),
    "far from the origin": lambda X, rng: 1e-2 * X + 1e4,
    "stretched": stretched,
    "outliers": lambda X, rng: np.where(rng.random((X.shape[0], 1)) < 0.02, 1e3 * X, X),
    "near copies": lambda X, rng: np.repeat(X[::2], 2, axis=0) + 1e-9 * X,
    "a path": lambda X, rng: np.cumsum(X, axis=0),
}


@pytest.mark.parametrize("form", HARD)
@pytest.mark.parametrize(("C", "gamma"), [(0.1, 1.0), (30.0, 0.1), (1e4, 3.0)])
def test_hard_dense_problems_are_solved(form: str, C: float, gamma: float) -> None:
    rng = np.random.default_rng(5)
    X = HARD[form](rng.normal(size=(1100, 6)), rng)
    values = X @ rng.normal(size=6)
    noise = np.std(values) * rng.normal(size=values.size)
    y = np.where(values + 0.5 * noise > np.quantile(values, 0.9), 1.0, -1.0)
    width = float(np.median(((X[:200, None] - X[None, :200]) ** 2).sum(-1)))
    problem = Problem(X, y, C, Kernel.gaussian(gamma=gamma / width), storage="dense")
    solution = solve(problem, "smo-newton", verify=False, iteration_limit=300_000)
    assert solution.status == "optimal"
    assert certify(problem, solution).passes(1e-3, 1.0)


def test_the_first_pair_is_the_best_one_before_fixed_point_is_on() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 60)) < 0.2).astype(float)
    y = np.where(np.arange(2000) < 3, -1.0, 1.0)
    problem = Problem(X, y, 1.0, Kernel.gaussian(0.1), storage="bits")
    moved = [
        np.flatnonzero(solve(problem, name, eps=1e-9, iteration_limit=1, verify=False).alpha)
        for name in ("pasmo", "smo-newton")
    ]
    assert moved[0].size == 2 and moved[0].tolist() == moved[1].tolist()
