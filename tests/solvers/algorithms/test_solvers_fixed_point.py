"""The gradient in fixed point: its error, and the way back to double precision."""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import words
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.certificate import gram_matrix
from svmrepro.solvers.decomposition import smo_newton
from svmrepro.solvers.decomposition._fixed_gradient import UNIT
from svmrepro.solvers.registry import get


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
