"""A bound per example: linear solvers and peers, against LIBLINEAR and repeated examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from solver_cases import ONE_OF_EACH, biased, dual, judged, linear_dual, objective
from svmrepro.solvers import SOLVERS, Kernel, Problem, solve
from svmrepro.solvers.peers import estimators

HINGE = ("svmperf", "ocas")
NAMES = (*HINGE, "dual-descent", "l2svm-mfn", "lsvm")
KERNELLED = [
    name
    for name, spec in SOLVERS.items()
    if spec.package and not name.startswith("liblinear") and spec.version
]


def examples(seed: int) -> tuple[Any, Any, Any]:
    """Return examples, dense or sparse, labels, and integer weights from 1 to 4."""
    rng = np.random.default_rng([16, seed])
    n, d = int(rng.integers(10, 90)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return (sp.csr_array(X) if seed % 2 else X), y, rng.integers(1, 5, n)


def tolerance(name: str, eps: float, problem: Problem, value: float) -> float:
    return eps * (problem.total if name == "svmperf" else value)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", NAMES)
def test_as_liblinear_with_weights(name: str, seed: int) -> None:
    X, y, _ = examples(seed)
    rng = np.random.default_rng(seed)
    bounds = 10.0 ** rng.uniform(-3, 1, y.size)
    problem = Problem(X, y, bounds, bias=False)
    loss = SOLVERS[name].loss
    squared = loss == "squared hinge"
    peer = LinearSVC(
        loss=loss.replace(" ", "_"), fit_intercept=False, C=1.0, tol=1e-9, max_iter=10**6, random_state=0
    )
    # LIBLINEAR weighs squared slacks by C, not C / 2.
    peer.fit(X, y, sample_weight=0.5 * bounds if squared else bounds)
    best = objective(problem, peer.coef_[0], loss)
    eps = 1e-4
    solution = judged(problem, name, eps, **({"keep_alpha": True} if name in HINGE else {}))[0]
    found = objective(problem, solution.weights, loss)
    assert best * (1 - 1e-8) <= found <= best + tolerance(name, eps, problem, best)
    if squared:
        assert solution.weights == pytest.approx(peer.coef_[0], abs=1e-3)
        # The multipliers give the weights and leave no gap.
        slack = np.maximum(0.0, 1.0 - y * (X @ solution.weights))
        assert solution.alpha == pytest.approx(bounds * slack, rel=1e-9, abs=1e-12)
        assert solution.info["objective"] == pytest.approx(best, rel=1e-6)
    elif name not in HINGE:
        assert best * (1 - eps) <= linear_dual(problem, solution.alpha) <= best * (1 + 1e-9)
    else:
        assert solution.relaxed is not None and solution.relaxed <= best * (1 + 1e-9)
        assert linear_dual(problem, solution.alpha) == pytest.approx(solution.relaxed, rel=1e-9)


@pytest.mark.parametrize("name", [*ONE_OF_EACH, "liblinear"])
def test_equal_bounds_are_one_C(name: str) -> None:
    X, y, _ = examples(0)
    one, other = (
        solve(Problem(X, y, C, bias=biased(name)), name, eps=1e-4) for C in (0.7, np.full(y.size, 0.7))
    )
    assert np.array_equal(one.weights, other.weights)
    assert np.array_equal(one.alpha, other.alpha)
    assert (one.iterations, one.work) == (other.iterations, other.work)


# Peers


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", KERNELLED)
def test_peers_take_weights(name: str, seed: int) -> None:
    X, y, times = examples(seed)
    if name in ("libsvm-package", "thundersvm"):  # these weight classes
        times = np.where(y > 0, 3, 1)
    kernel = Kernel.gaussian(gamma=0.3)
    weighted = Problem(X, y, 0.5 * times, kernel, storage="dense")
    rows = np.repeat(np.arange(y.size), times)
    repeated = Problem(weighted.X[rows], y[rows], 0.5, kernel, storage="dense")
    one, other = (solve(problem, name, eps=1e-5) for problem in (weighted, repeated))
    assert one.alpha is not None and (one.alpha <= weighted.bounds).all()
    assert dual(weighted, one.alpha) == pytest.approx(dual(repeated, other.alpha), rel=1e-5)
    # Multipliers at their bounds are exactly at them.
    near = one.alpha > weighted.bounds * (1 - 1e-9)
    assert near.any() and (one.alpha[near] == weighted.bounds[near]).all()


@pytest.mark.parametrize("seed", range(4))
def test_liblinear_takes_weights(seed: int) -> None:
    X, y, times = examples(seed)
    weighted = Problem(X, y, 0.2 * times, bias=False)
    solution = solve(weighted, "liblinear", eps=1e-7)
    best = objective(weighted, solve(weighted, "ocas", eps=1e-6).weights)
    assert objective(weighted, solution.weights) == pytest.approx(best, rel=3e-6)
    assert linear_dual(weighted, solution.alpha) == pytest.approx(best, rel=3e-6)


def test_weights_within_a_class_are_refused_where_there_are_none() -> None:
    X, y, times = examples(1)
    same = Problem(X, y, np.where(y > 0, 2.0, 0.5))
    assert estimators.class_bounds(same, "thundersvm") == {-1: 0.5, 1: 2.0}
    for name in {"thundersvm", *KERNELLED} - {"libsvm", "onedal"}:
        with pytest.raises(ValueError, match=rf"^solver '{name}' needs one C for all examples of a class$"):
            estimators.class_bounds(Problem(X, y, 1.0 * times), name)
    if "libsvm-package" in KERNELLED:
        with pytest.raises(ValueError, match=r"needs one C for all examples of a class"):
            solve(Problem(X, y, 1.0 * times), "libsvm-package")


@pytest.mark.parametrize("name", ["libsvm", "liblinear"])
def test_too_many_entries_for_32_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.csr_array(np.eye(4))
    for most in (3, 4):
        monkeypatch.setattr(estimators, "_MOST_STORED", most)
        problem = Problem(X, [1, -1, 1, -1], bias=biased(name), storage="csr")
        if most == 4:
            assert solve(problem, name).status == "optimal"
        else:
            with pytest.raises(ValueError, match=r"^X has 4 entries and 4 columns; .* up to 3$"):
                solve(problem, name)
