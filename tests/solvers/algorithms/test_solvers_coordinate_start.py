"""SMO-Newton on wide and sparse linear problems: it starts from the multipliers of coordinate descent."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.decomposition import _coordinate_start
from svmrepro.solvers.decomposition._coordinate_start import CoordinateStart
from svmrepro.solvers.passes.coordinate_steps import ALPHA


def documents(n: int, binary: bool = False, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return rows of about 20 of 20,000 terms, the first of them in many rows, and labels with some noise."""
    rng = np.random.default_rng(seed)
    terms = (20_000 * rng.random(20 * n) ** 4).astype(int)
    values = np.ones(20 * n) if binary else rng.random(20 * n)
    X = sp.csr_matrix((values, (np.repeat(np.arange(n), 20), terms)), shape=(n, 20_000))
    X.sum_duplicates()
    if binary:
        X.data[:] = 1.0
    y = np.where(X @ rng.normal(size=20_000) + 0.3 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("C", "eps"), [(1e-4, 1e-3), (1.0, 1e-3), (1.0, 1e-6), (1e6, 1e-3)])
def test_little_is_left_for_the_pairs(binary: bool, C: float, eps: float) -> None:
    X, y = documents(600, binary)
    problem = Problem(X, y, C)
    found = solve(problem, "smo-newton", eps=eps, verify=None)
    assert found.status == "optimal" and certify(problem, found).passes(eps, 1.0)
    pairs = solve(problem, "smo2", eps=eps)
    sweeps = found.info["descent_sweeps"]
    assert sweeps > 0 and found.iterations - sweeps <= 0.1 * pairs.iterations
    assert certify(problem, found).dual == pytest.approx(
        certify(problem, pairs).dual, rel=1e-2 if C > 1 else 1e-3
    )


@pytest.mark.parametrize("case", ["one positive", "opposite duplicates", "empty rows", "weights", "far off"])
def test_hard_cases_end_with_a_certificate(case: str) -> None:
    X, y = documents(300, seed=1)
    C = np.ones(300)
    if case == "one positive":
        y = np.where(np.arange(300) == 7, 1.0, -1.0)
    elif case == "opposite duplicates":
        X, y, C = sp.vstack([X, X]).tocsr(), np.concatenate([y, -y]), np.ones(600)
    elif case == "empty rows":
        X = sp.diags((np.arange(300) % 3 > 0).astype(float)) @ X
    elif case == "weights":
        C = 10.0 ** np.random.default_rng(2).uniform(-6, 3, 300)
    else:
        X = (X + sp.csr_matrix((np.full(300, 1e4), (np.arange(300), np.zeros(300, int))), X.shape)).tocsr()
    problem = Problem(X, y, C)
    found = solve(problem, "smo-newton", verify=None, iteration_limit=300_000)
    assert "descent_sweeps" in found.info
    assert found.status == "optimal" and certify(problem, found).passes(1e-3, 1.0)


@pytest.mark.parametrize("limit", [1, 4])
def test_a_stopped_run_has_a_bias_and_can_be_gone_on_from(limit: int) -> None:
    X, y = documents(400)
    y = np.where(np.arange(400) % 5 > 0, y, 1.0)  # the bias is far from 0
    problem = Problem(X, y, 1.0)
    stopped = solve(problem, "smo-newton", iteration_limit=limit)
    assert stopped.status == "iteration_limit" and stopped.iterations == limit
    assert abs(math.fsum(y * stopped.alpha)) <= 1e-12 * stopped.alpha.sum()
    assert stopped.alpha.min() >= 0.0 and stopped.alpha.max() <= 1.0
    assert stopped.end is not None and math.isfinite(stopped.info["objective"])
    found = solve(problem, "smo-newton", start=stopped.end)
    assert found.status == "optimal" and stopped.bias != 0.0
    # Gone on with from stop to stop, it gets there as well.
    ends = [stopped]
    while ends[-1].status == "iteration_limit" and len(ends) < 100:
        ends.append(solve(problem, "smo-newton", start=ends[-1].alpha, iteration_limit=4))
    assert ends[-1].status == "optimal"


def test_a_start_that_is_optimal_takes_no_step() -> None:
    X, y = documents(400)
    problem = Problem(X, y, 1.0)
    found = solve(problem, "smo-newton")
    for start in (found.end, found.alpha):
        again = solve(problem, "smo-newton", start=start)
        assert again.status == "optimal" and again.iterations == 0
        assert again.alpha == pytest.approx(found.alpha, abs=1e-12)


@pytest.mark.parametrize("C", [1e300, 1.7e308])
def test_bounds_whose_sum_overflows(C: float) -> None:
    X, y = documents(300)
    found = solve(Problem(sp.csr_matrix(X.shape), y, C), "smo-newton")
    assert np.isfinite(found.alpha).all()
    assert solve(Problem(1e-160 * X, y, C), "smo-newton", iteration_limit=3).iterations <= 3


def test_slices_do_not_change_the_run() -> None:
    X, y = documents(400)
    problem = Problem(X, y, 1.0)
    problem.prepare()
    ends = []
    for work in (500, 10**9):
        run = CoordinateStart(problem, 1e-3, None)
        while not run.advance(work, 10**6):
            pass
        ends.append((run.sweeps, run.examples[:, ALPHA].copy()))
    assert ends[0][0] == ends[1][0] and (ends[0][1] == ends[1][1]).all()


def test_what_is_left_of_the_sum_is_taken_off_free_multipliers() -> None:
    X, y = documents(400)
    problem = Problem(X, y, 0.1)
    problem.prepare()
    run = CoordinateStart(problem, 1e-3, None)
    while not run.advance(10**9, 10**6):
        pass
    before, after = run.examples[:, ALPHA], run.multipliers()
    assert after is not None
    at_bound = (before == 0.0) | (before == 0.1)
    assert 0 < at_bound.sum() < 400 and (after[at_bound] == before[at_bound]).all()
    run.examples[:, ALPHA] = np.where(y > 0, 0.1, 0.0)  # none is free, and the sum is large
    after = run.multipliers()
    assert after is not None and abs(math.fsum(y * after)) <= 1e-12


@pytest.mark.parametrize("case", ["gaussian", "dense", "narrow"])
def test_other_problems_begin_with_pairs(case: str) -> None:
    X, y = documents(200)
    kernel = Kernel.gaussian(gamma=1.0) if case == "gaussian" else Kernel.linear()
    some = X[:, :100].toarray() if case != "gaussian" else X
    problem = Problem(some if case == "dense" else sp.csr_matrix(some), y, 1.0, kernel)
    assert not _coordinate_start.pays(problem)
    assert "descent_sweeps" not in solve(problem, "smo-newton").info
