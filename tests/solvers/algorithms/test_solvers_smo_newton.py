"""SMO with Newton steps on the free multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import judged, words
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.decomposition import smo_newton
from svmrepro.solvers.quadratic_programs import free_set_newton as newton
from svmrepro.solvers.registry import get


def chess_board(n: int, C: float) -> Problem:
    """Return an ill-conditioned problem with a few dozen free multipliers."""
    data = datasets.generate("chess-board", n=n, seed=0)
    return Problem(data.X, data.y, C, Kernel.gaussian(gamma=0.5))


def newton_problem(seed: int, k: int, rank: int) -> newton.NewtonState:
    """Return a random program with a kernel matrix of a given rank, at a point between the bounds."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(k, rank))
    state = newton.allocate(
        rng.normal(size=k), rng.uniform(0.1, 0.9, k), np.zeros(k), np.where(rng.random(k) < 0.5, 1.0, 50.0)
    )
    state.K[:] = F @ F.T
    return state


@pytest.mark.parametrize("work", [1, 10**9])
@pytest.mark.parametrize("rank", [40, 5])
@pytest.mark.parametrize("seed", range(10))
def test_newton_steps_reach_the_optimum_of_what_stays_free(seed: int, rank: int, work: int) -> None:
    k = 30
    state = newton_problem(seed, k, rank)
    g, beta, scalars = state.g.copy(), state.beta.copy(), state.scalars
    while scalars.factored < k:
        assert newton.factor(state, work)
    while newton.iterate(state, 1e-9, 1.0, work, 1000, 1 << 60) != newton.DONE:
        pass
    d = state.beta - beta
    assert abs(d.sum()) <= 1e-12 * np.abs(d).sum()
    assert (state.beta >= state.low).all() and (state.beta <= state.high).all()
    assert scalars.gain == pytest.approx(g @ d - 0.5 * d @ state.K @ d, rel=1e-9)
    members = state.members[: scalars.n_members]
    assert scalars.steps >= 1
    # Those that have left are at a bound, and the gradient of the others is constant.
    gone = np.setdiff1d(np.arange(k), members)
    assert ((state.beta[gone] == state.low[gone]) | (state.beta[gone] == state.high[gone])).all()
    if members.size > 1:
        left = (g - state.K @ d)[members]
        assert left.max() - left.min() <= 1e-6


def test_a_matrix_that_is_not_definite_is_refused() -> None:
    state = newton_problem(0, 10, 10)
    state.K[:] *= -1.0
    assert not newton.factor(state, 10**9)


def test_chess_boards_take_a_fraction_of_the_steps() -> None:
    problem = chess_board(1000, 1e6)
    solution = solve(problem, "smo-newton")
    pairs = solve(problem, "pasmo", iteration_limit=10 * solution.iterations, verify=False)
    assert solution.status == "optimal" and certify(problem, solution).passes(1e-3, 1.0)
    assert solution.info["newton_polishes"] >= 1
    assert pairs.status == "iteration_limit"


@pytest.mark.parametrize("precision", [{}, {"single": True}, {"cache_mb": 0.0}, {"shrinking": False}])
def test_slices_change_nothing(precision: dict[str, Any]) -> None:
    problem = chess_board(500, 1e5)
    options = get("smo-newton").check(problem, precision)
    problem.prepare()
    found = []
    for work in (1 << 40, 20_000):
        run = smo_newton.start(problem, 1e-3, {**options, "start": None})
        while (status := smo_newton.advance(run, work, 1 << 60)) is None:
            pass
        found.append(smo_newton.finish(run, status))
    assert found[0].status == "optimal" and found[0].info["newton_polishes"] >= 1
    assert found[0].iterations == found[1].iterations
    assert np.array_equal(found[0].alpha, found[1].alpha)


def test_a_run_can_end_within_a_polish() -> None:
    problem = chess_board(500, 1e5)
    options = {**get("smo-newton").check(problem, {"shrinking": False}), "start": None}
    problem.prepare()
    for stop in range(1, 60, 3):
        run = smo_newton.start(problem, 1e-3, options)
        polishing = 0
        while polishing < stop and smo_newton.advance(run, 2000, 1 << 60) is None:
            polishing += run.polish is not None
        solution = smo_newton.finish(run, "time_limit")
        certificate = certify(problem, solution)
        assert abs(problem.y @ solution.alpha) <= 1e-9 * solution.alpha.sum()
        assert solution.info["objective"] == pytest.approx(certificate.dual, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_look_at_the_free_set_while_the_gradient_is_restored(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Looks are so frequent that one often falls on the step after which the gradient has to be restored.
    for name in ("_FIRST_LOOK", "_AGAIN", "_SELDOM"):
        monkeypatch.setattr(smo_newton, name, 1)
    monkeypatch.setattr(smo_newton, "_SHARE", 0.0)
    X, y = words(200, 100, seed=seed)
    for C in (1.0, 100.0):
        judged(Problem(X, y, C, Kernel.gaussian(gamma=0.05), storage="bits"), "smo-newton", cache_mb=1e-3)


def test_no_more_steps_than_allowed() -> None:
    problem = chess_board(500, 1e5)
    whole = solve(problem, "smo-newton")
    for limit in (1, 100, whole.iterations // 2, whole.iterations - 1):
        solution = solve(problem, "smo-newton", iteration_limit=limit)
        assert (solution.status, solution.iterations <= limit) == ("iteration_limit", True)
        assert solution.info["objective"] == pytest.approx(certify(problem, solution).dual, rel=1e-9)


def test_a_polish_that_meets_many_bounds_ends_early() -> None:
    # Ten features and hundreds of free multipliers: nearly all of them have to reach a bound.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 10))
    y = np.where(X @ rng.normal(size=10) + 3.0 * rng.normal(size=1500) > 0, 1.0, -1.0)
    k, state = 400, newton_problem(0, 400, 5)
    assert newton.factor(state, 10**12)
    limit = int(smo_newton._OVERRUN * smo_newton._multiplications(k)) + smo_newton._FREE_WORK
    assert newton.iterate(state, 1e-9, 1.0, 10**12, 10**6, limit) == newton.DONE
    assert state.scalars.work <= limit + 5 * k * k
    judged(Problem(X, y, 20.0), "smo-newton")


def test_lattices_take_few_steps_between_useful_polishes() -> None:
    # Contradicting labels on a grid, large C: pairs zigzag, and each polish gains much for little.
    steps = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.integers(5, size=(60, 1 + seed % 3)).astype(float)
        y = np.where((X.sum(axis=1) % 2 > 0) ^ (rng.random(60) < 0.2), 1.0, -1.0)
        problem = Problem(X, y, 1e6, Kernel.linear())
        solution = solve(problem, "smo-newton")
        assert solution.status == "optimal"
        steps += solution.iterations
    assert steps <= 270_000  # 132,000; 548,000 where looks are as far apart as before a first polish


def test_few_looks_at_the_free_set_where_no_polish_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    consider = smo_newton._consider
    monkeypatch.setattr(smo_newton, "_consider", lambda run: looks.append(consider(run)))
    data = datasets.generate("ringnorm", n=3000, seed=0)
    solution = solve(Problem(data.X, data.y, 2.0, Kernel.gaussian(gamma=0.1)), "smo-newton")
    assert solution.info["newton_polishes"] == 0
    assert len(looks) <= 10  # 7; 15 where they come at equal distances
