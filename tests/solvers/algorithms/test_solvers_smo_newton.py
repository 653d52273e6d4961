"""SMO with Newton steps on the free multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import judged, started, words
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.decomposition import second_order, smo_newton


def chess_board(n: int, C: float) -> Problem:
    """Return an ill-conditioned problem with a few dozen free multipliers."""
    data = datasets.generate("chess-board", n=n, seed=0)
    return Problem(data.X, data.y, C, Kernel.gaussian(gamma=0.5))


def test_chess_boards_take_a_fraction_of_the_steps() -> None:
    problem = chess_board(1000, 1e6)
    solution = solve(problem, "smo-newton")
    pairs = solve(problem, "pasmo", iteration_limit=10 * solution.iterations, verify=False)
    assert solution.status == "optimal" and certify(problem, solution).passes(1e-3, 1.0)
    assert solution.info["newton_polishes"] >= 1
    # A polish factors the matrix of its free multipliers, and adds their rows to the gradient.
    assert solution.work["hessian_entries"] > 1000 * solution.info["newton_polishes"]
    assert pairs.status == "iteration_limit"


@pytest.mark.parametrize("kernel", [Kernel.linear(), Kernel.polynomial(2, c=1.0)])
def test_more_free_multipliers_than_features_do_not_zigzag(kernel: Kernel) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 10 if kernel.name == "linear" else 3))
    side = X @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1])
    y = np.where(side + 0.5 * rng.normal(size=1000) > 0, 1.0, -1.0)
    problem = Problem(X, y, 1e4, kernel)
    found = solve(problem, "smo-newton", iteration_limit=200_000)
    assert found.status == "optimal" and certify(problem, found).passes(1e-3, 1.0)


def test_a_run_can_end_within_a_polish() -> None:
    problem = chess_board(500, 1e5)
    for stop in range(1, 60, 3):
        run = started(problem, shrinking=False)
        polishing = 0
        while polishing < stop and smo_newton.advance(run, 2000, 1 << 60) is None:
            polishing += run.polish is not None
        solution = smo_newton.finish(run, "time_limit")
        certificate = certify(problem, solution)
        assert abs(problem.y @ solution.alpha) <= 1e-9 * solution.alpha.sum()
        assert solution.info["objective"] == pytest.approx(certificate.dual, rel=1e-9)


def test_a_run_that_ends_while_the_gradient_follows_a_polish_computes_no_more_rows() -> None:
    problem = chess_board(500, 1e5)
    run = started(problem, shrinking=False)
    while run.polish is None or run.polish.changes is None or not run.polish.moved:
        assert smo_newton.advance(run, 200, 1 << 60) is None
    read, known = int(run.pairs.cache.counts.touched), (smo_newton.objective(run), smo_newton.steps(run))
    solution = smo_newton.finish(run, "time_limit")
    assert solution.work["nonzeros"] == read
    assert (solution.info["objective"], solution.iterations) == (pytest.approx(known[0], rel=1e-9), known[1])
    assert solution.info["objective"] == pytest.approx(certify(problem, solution).dual, rel=1e-9)
    assert solution.end is not None
    K = np.exp(-0.5 * np.square(problem.X[:, None] - problem.X[None]).sum(axis=2))
    wrong = solution.end.gradient - problem.y + K @ (problem.y * solution.alpha)
    assert np.abs(wrong).max() <= 1e-12 * solution.alpha.sum()  # rounding, also that of this sum


@pytest.mark.parametrize("seed", range(4))
def test_a_look_at_the_free_set_while_the_gradient_is_restored(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Looks are so frequent that one often falls on the step after which the gradient has to be restored.
    for name in ("_FIRST_LOOK", "_AGAIN", "_SELDOM"):
        monkeypatch.setattr(smo_newton, name, 1)
    monkeypatch.setattr(smo_newton, "_PATIENCE", 0.01)
    X, y = words(200, 100, seed=seed)
    for C in (1.0, 100.0):
        judged(Problem(X, y, C, Kernel.gaussian(gamma=0.05), storage="bits"), "smo-newton", cache_mb=1e-3)


@pytest.mark.parametrize(("C", "matters"), [(1000.0, True), (10.0, False)])
def test_rows_are_widened_if_rounding_those_of_all_matters(
    C: float, matters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    widened = []
    monkeypatch.setattr(
        second_order, "widen", lambda run, widen=second_order.widen: widened.append(widen(run))
    )
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1500) < 0.15, 1.0, -1.0)  # labels of noise: many multipliers end at their bound
    problem = Problem(4.0 * rng.random((1500, 2)), y, C, Kernel.gaussian(gamma=0.03))
    eps = 2e-3
    assert second_order.rounds(problem, eps)  # one multiplier's row may be rounded
    found = solve(problem, "smo-newton", eps=eps)
    assert found.status == "optimal" and certify(problem, found).passes(eps, 1.0)
    assert bool(widened) == matters
    # With rows in single precision to the end, it is six to twelve times as many.
    assert found.iterations < 2 * solve(problem, "smo2", eps=eps).iterations
