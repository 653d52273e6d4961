"""SMO with second-order working sets: planning ahead, row cache, shrinking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC
from solver_cases import banana_like, chess_board, gram, judged, steps_of_smo, words
from svmrepro.solvers import SOLVERS, Kernel, Problem, certify, solve
from svmrepro.solvers.caches import feature_columns as panels
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.decomposition import _pair_state as pair_state
from svmrepro.solvers.decomposition import _planned_step as planned_step
from svmrepro.solvers.decomposition import _second_order_iteration as second_order_iteration
from svmrepro.solvers.decomposition._pair_selection import (
    DOWN,
    UP,
    best_partner,
    build_screen,
    extremes,
    move_gradient,
)

SUCCESSORS = ("csmo", "smo-newton")
VARIANTS = [name for name, spec in SOLVERS.items() if spec.module == "decomposition.second_order"]


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("name", [*VARIANTS, *SUCCESSORS])
def test_libsvm_agrees(name: str, C: float) -> None:
    X, y = banana_like(400)
    problem = Problem(X, y, C, Kernel.gaussian(0.5))
    model = SVC(C=C, gamma=0.5, tol=1e-5).fit(X, y)
    solution, certificate = judged(problem, name, 1e-5)
    alpha = np.zeros(400)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    reference = alpha.sum() - 0.5 * (y * alpha) @ gram(problem) @ (y * alpha)
    assert certificate.dual == pytest.approx(reference, rel=1e-6)
    assert certificate.n_bound + certificate.n_nonbound == pytest.approx(model.n_support_.sum(), abs=1)
    assert solution.decision_function(problem, X) == pytest.approx(model.decision_function(X), abs=3e-2)


def test_as_many_steps_as_libsvm() -> None:
    # After a free step the gradients of i and j are equal up to rounding, so paths diverge and counts agree
    # only on average. LIBSVM takes its first class as the positive one; rows are sorted as LIBSVM sorts them.
    ours, theirs = [], []
    for seed in range(30):
        X, y = banana_like(150, seed)
        X, y = X[np.argsort(y, kind="stable")], np.sort(y)
        theirs.append(int(SVC(C=1.0, gamma=0.5, shrinking=False).fit(X, y).n_iter_[0]))
        problem = Problem(X, -y, 1.0, Kernel.gaussian(0.5))
        ours.append(solve(problem, "smo2", shrinking=False).iterations)
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.05)


def test_steps_are_those_of_algorithm_1() -> None:
    ours, expected = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 4))
        y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
        problem = Problem(X, y, 1.0, Kernel.gaussian(0.2))
        expected.append(len(steps_of_smo(gram(problem), y, 1.0, 1e-3, second_order=True)))
        ours.append(solve(problem, "smo2", shrinking=False).iterations)
    same = sum(a == b for a, b in zip(ours, expected, strict=True))
    assert same >= 20  # the others diverge where two gradients are equal up to rounding
    assert np.mean(ours) == pytest.approx(np.mean(expected), rel=0.05)


def test_planning_ahead_saves_steps_where_steps_oscillate() -> None:
    problem = Problem(*chess_board(300, 0), 1e6, Kernel.gaussian(0.5))
    steps = {name: solve(problem, name).iterations for name in ("smo2", "pasmo", "pasmo-as-printed")}
    assert steps["pasmo"] < 0.8 * steps["smo2"]
    assert steps["pasmo-as-printed"] != steps["pasmo"]
    planned = solve(problem, "pasmo").info["planned_steps"]
    assert 0.1 * steps["pasmo"] < planned < 0.51 * steps["pasmo"]


def test_the_planned_step_gains_most_together_with_the_next_one() -> None:
    rng = np.random.default_rng(1)
    V = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])  # the working set and the planned one
    for _ in range(50):
        A = rng.normal(size=(4, 4))
        K = A @ A.T + 0.1 * np.eye(4)
        Q = V @ K @ V.T
        state = pair_state.allocate(np.array([1.0, -1.0, 1.0, -1.0]), np.full(4, 2e6), 1, 0, np.full(4, 1e6))
        state.G[:] = rng.normal(size=4)
        state.first[0], state.second[0], state.curvature[0] = 2, 3, Q[1, 1]
        state.scalars.ages = state.scalars.sets = 1
        slopes = V @ state.G
        pair = (state, (K[0],), (K[1],), 4, 0, 1, slopes[0], Q[0, 0])
        mu, planned = planned_step.step_ahead(*pair, -1e6, 1e6)
        assert planned and mu == pytest.approx(np.linalg.solve(Q, slopes)[0], rel=1e-9)
        # Without room in the box there is no such step.
        assert not planned_step.step_ahead(*pair, mu, mu)[1]


@pytest.mark.parametrize("kind", ["values", "distances"])
def test_scans_against_numpy(kind: str) -> None:
    rng, wide = np.random.default_rng(0), np.empty((2, 2000))
    table = np.outer(np.exp(-0.8 * np.arange(16)), np.exp(-0.05 * np.arange(16))).ravel()
    for m in (1, 7, 16, 511, 513, 2000) * 4:
        G = rng.normal(size=m) * 10.0 ** rng.integers(-3, 4)
        status = rng.integers(0, 4, size=m).astype(np.uint8)
        diagonal, i = np.ones(m), int(np.argmax(G))
        first, second = rng.integers(0, 90, size=(2, m)).astype(np.uint8)
        row, other = table[first], table[second]
        rows = [(row,), (other,)] if kind == "values" else [(first, table), (second, table)]
        screen = build_screen(m, table if kind == "distances" else np.zeros(0), 1e-12)
        *_, hint, _ = extremes(G, status, m, screen.low)
        for good in (-1, hint):
            j, gain = best_partner(G, diagonal, rows[0], status, m, i, 1e-12, wide, screen, good)
            slopes = np.where((status & DOWN) != 0, G[i] - G, 0.0)
            gains = np.where(slopes > 0, slopes**2 / np.maximum(1.0 + diagonal - 2 * row, 1e-12), 0.0)
            assert (j == -1 and gains.max() == 0.0) or (gains[j] == gains.max() and gain == gains[j])
        expected = G - 0.3 * (row - other)
        where, top, _, bottom = move_gradient(G, *rows, G[:0], 0.0, 0.3, status, m, wide, screen.low)
        assert pytest.approx(expected, rel=1e-14, abs=1e-15) == G
        ups, downs = (status & UP) != 0, (status & DOWN) != 0
        assert (where == -1) == (not ups.any())
        assert not ups.any() or (top == G[ups].max() and G[where] == top)
        assert not downs.any() or bottom == G[downs].min()
        assert kind == "values" or (screen.low[downs] == G[downs].astype(np.float32)).all()


@pytest.mark.parametrize("C", [10.0, 1e4, 1e6])
def test_single_precision_rows_are_harmless(C: float) -> None:
    # Optimality is judged by a gradient in double precision, whatever the precision of the rows.
    problem = Problem(*chess_board(300, 3), C, Kernel.gaussian(0.5))
    single, certificate = judged(problem, "pasmo", single=True)
    assert certificate.dual == pytest.approx(judged(problem, "pasmo")[1].dual, rel=1e-5)
    assert single.info["objective"] == pytest.approx(certificate.dual, rel=1e-6)


def test_rounding_of_many_steps_is_put_right() -> None:
    problem = Problem(*chess_board(200, 2), 1e10, Kernel.gaussian(0.5))
    solution = solve(problem, "pasmo", iteration_limit=300_000)
    certificate = certify(problem, solution)
    assert solution.status != "optimal" or certificate.pair_gap <= 1.1e-3


@pytest.mark.parametrize("name", ["smo2", "pasmo"])
def test_limits_leave_a_feasible_point(name: str) -> None:
    problem = Problem(*banana_like(2000), 100.0, Kernel.gaussian(0.25))
    for limit in (1, 10, 1500, 4000):
        solution = solve(problem, name, iteration_limit=limit)
        assert solution.status == "iteration_limit" and solution.iterations == limit
        certificate = certify(problem, solution)
        assert certificate.equality_residual <= 1e-9 * 2000 * 100
        # smo-newton keeps the gradient in fixed point, with an error of at most a unit a step.
        error = 2.0**-28 * solution.iterations if name == "smo-newton" else 0.0
        allowed = 1e-9 * abs(certificate.dual) + 0.5 * error * float(solution.alpha.sum())
        assert solution.info["objective"] == pytest.approx(certificate.dual, rel=0.0, abs=allowed)


@pytest.mark.parametrize("name", SUCCESSORS)
def test_an_indefinite_kernel(name: str) -> None:
    A = np.random.default_rng(0).normal(size=(150, 150))
    problem = Problem(A + A.T, np.where(np.arange(150) % 2, 1.0, -1.0), 1.0, Kernel.precomputed())
    judged(problem, name, iteration_limit=10**6)


def test_lengths_of_steps_are_counted_where_asked_for() -> None:
    problem = Problem(*banana_like(300), 1e4, Kernel.gaussian(0.5))
    plain = solve(problem, "pasmo")
    counted = solve(problem, "pasmo", lengths=True)
    assert "plain_lengths" not in plain.info
    assert counted.iterations == plain.iterations
    assert (counted.alpha == plain.alpha).all()
    newton, planned = np.array(counted.info["plain_lengths"]), np.array(counted.info["planned_lengths"])
    assert newton.sum() + planned.sum() == counted.iterations
    assert planned.sum() == counted.info["planned_steps"] > 0
    middle = second_order_iteration.RATIO_BINS // 2 - 5  # the axis goes from -2 to 3
    assert not newton[middle + 1 :].any(), "a step that is not planned is Newton's, or cut short"
    assert newton[middle] > 0 and planned[middle + 1 :].sum() > planned[:middle].sum()
    # Lemma 3, with eta = 0.9.
    assert "least_double_gain" not in plain.info
    assert 1.0 - 0.9**2 <= counted.info["least_double_gain"] < 2.0


def test_gains_are_paired_with_the_planned_step_before() -> None:
    scalars = zeroed(pair_state.PairScalars)
    scalars.least_double_gain = np.inf
    # Planned steps gain 1 and 5 where Newton's gain 4; the steps after them gain 2 and 1.
    for planned, gained in ((False, 9.0), (True, 1.0), (False, 2.0), (False, 0.1), (True, 5.0), (False, 1.0)):
        second_order_iteration.pair_gains(scalars, planned, gained, 4.0)
    assert scalars.least_double_gain == (1.0 + 2.0) / 4.0


@pytest.mark.parametrize("t", [-3.0, -2.0, -0.52, 0.0, 0.04, 0.06, 1.0, 2.96, 3.0, 4.0])
def test_bins_of_lengths_are_a_tenth_wide_on_the_axis_of_figure_3(t: float) -> None:
    lengths = np.zeros((2, second_order_iteration.RATIO_BINS), dtype=np.int64)
    second_order_iteration.tally(lengths, 1.0 + np.sign(t) * (10 ** (t * t / 2) - 1), True)
    middles = np.round(np.arange(-2.0, 3.01, 0.1), 1)
    assert middles.size == second_order_iteration.RATIO_BINS
    assert np.flatnonzero(lengths[1]) == [np.argmin(abs(middles - t))]
    assert not lengths[0].any()


# Kernel rows in bytes, for binary data under a linear kernel


def byte_problem(storage: str) -> Problem:
    """Return binary rows, some of them twice."""
    X, y = words(300, 40, share=0.2)
    X[150:180] = X[:30]
    return Problem(X, y, 100.0, storage=storage)


@pytest.mark.parametrize("cache_mb", [1e-6, 40.0])
@pytest.mark.parametrize("storage", ["index", "bits"])
@pytest.mark.parametrize("name", ["smo2", "pasmo", "pasmo-3"])
def test_same_steps_as_with_floating_point(name: str, storage: str, cache_mb: float) -> None:
    inexact = solve(byte_problem("dense"), name, shrinking=False, cache_mb=cache_mb)
    problem = byte_problem(storage)
    assert panels.bytes_hold(problem) == "entries"
    exact = solve(problem, name, shrinking=False, cache_mb=cache_mb)
    assert exact.iterations == inexact.iterations > 500
    np.testing.assert_allclose(exact.alpha, inexact.alpha, atol=1e-9)


@pytest.mark.parametrize("most", [255, 256])
def test_the_largest_count_of_a_byte(most: int) -> None:
    X = (np.random.default_rng(0).random((60, 300)) < 0.5).astype(float)
    X[:10] = np.arange(300) < most  # ten copies of a row
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    problem = Problem(X, y, 0.01, storage="index")
    assert problem.prepare().norms.max() == most
    assert (panels.bytes_hold(problem) == "entries") == (most == 255)
    expected = solve(Problem(X, y, 0.01, storage="dense"), "smo2")
    np.testing.assert_allclose(solve(problem, "smo2").alpha, expected.alpha, atol=1e-9)


# Kernel rows as distances, for binary data under a Gaussian


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 64, 1001])
def test_distances_are_looked_up(m: int, dtype: type) -> None:
    X, y = words(30)
    panel = panels.build_panel(Problem(X, y, 1.0, Kernel.gaussian(gamma=0.05), storage="bits"))
    assert panel.table == pytest.approx(np.exp(-0.05 * np.arange(256)), rel=1e-14)
    distances = np.random.default_rng(m).integers(0, 256, m + 3).astype(dtype)
    out = np.full(m + 3, -1.0)
    panels.look_up(panel.table, distances, m, out)
    assert np.array_equal(out[:m], panel.table[distances[:m]])
    assert (out[m:] == -1.0).all()


@pytest.mark.parametrize("options", [{}, {"cache_mb": 1e-6}, {"shrinking": False}])
@pytest.mark.parametrize("name", ["smo2", "pasmo", "smo-newton", "csmo"])
@pytest.mark.parametrize(("share", "held"), [(0.2, "distances"), (0.7, None)])
def test_rows_of_distances(share: float, held: str | None, name: str, options: dict[str, Any]) -> None:
    X, y = words(700, 200, share=share)
    X[350:420] = X[:70]
    problem = Problem(X, y, 10.0, Kernel.gaussian(gamma=0.05), storage="bits")
    assert panels.bytes_hold(problem) == held
    solution, certificate = judged(problem, name, **options)
    # smo-newton keeps the gradient in fixed point, with an error of at most a unit a step.
    error = 2.0**-28 * solution.iterations if name == "smo-newton" else 0.0
    allowed = 1e-9 * abs(certificate.dual) + 0.5 * error * float(solution.alpha.sum())
    assert solution.info["objective"] == pytest.approx(certificate.dual, rel=0.0, abs=allowed)
    other = Problem(X, y, 10.0, Kernel.gaussian(gamma=0.05), storage="dense")
    assert certificate.dual == pytest.approx(judged(other, name, **options)[1].dual, rel=1e-5)
