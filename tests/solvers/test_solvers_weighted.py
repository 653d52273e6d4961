"""A bound per example: linear solvers and peers, against LIBLINEAR and repeated examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import ONE_OF_EACH
from svmrepro.solvers import SOLVERS, Blocks, Kernel, Problem, solve
from svmrepro.solvers.peers import scikit_learn_interface

HINGE, SQUARED = ("svmperf", "ocas"), ("l2svm-mfn", "lsvm")
KERNELLED = [name for name, spec in SOLVERS.items() if spec.package and name != "liblinear" and spec.version]
SEEDS = range(12)


def examples(seed: int) -> tuple[Any, Any, Any]:
    """Return examples, dense or sparse, labels, and integer weights from 1 to 4."""
    rng = np.random.default_rng([16, seed])
    n, d = int(rng.integers(10, 90)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.where(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return (sp.csr_array(X) if seed % 2 else X), y, rng.integers(1, 5, n)


def objective(problem: Problem, w: Any, squared: bool = False) -> float:
    slack = np.maximum(0.0, 1.0 - problem.y * (problem.X @ w))
    risk = 0.5 * problem.bounds @ slack**2 if squared else problem.bounds @ slack
    return float(0.5 * w @ w + risk)


def tolerance(name: str, eps: float, problem: Problem, value: float) -> float:
    return eps * (problem.total if name == "svmperf" else value)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*HINGE, *SQUARED])
def test_as_liblinear_with_weights(name: str, seed: int) -> None:
    from sklearn.svm import LinearSVC

    X, y, _ = examples(seed)
    rng = np.random.default_rng(seed)
    bounds = 10.0 ** rng.uniform(-3, 1, y.size)
    problem = Problem(X, y, bounds, bias=False)
    squared = name in SQUARED
    peer = LinearSVC(
        loss="squared_hinge" if squared else "hinge", dual=True, fit_intercept=False, C=1.0, tol=1e-9,
        max_iter=10**6, random_state=0,
    )  # fmt: skip
    # LIBLINEAR weighs squared slacks by C, not C / 2.
    peer.fit(X, y, sample_weight=0.5 * bounds if squared else bounds)
    best = objective(problem, peer.coef_[0], squared)
    eps = 1e-4
    solution = solve(problem, name, eps=eps)
    assert solution.status == "optimal"
    found = objective(problem, solution.weights, squared)
    assert best * (1 - 1e-8) <= found <= best + tolerance(name, eps, problem, best)
    if squared:
        assert solution.weights == pytest.approx(peer.coef_[0], abs=1e-3)
        # The multipliers give the weights and leave no gap.
        slack = np.maximum(0.0, 1.0 - y * (X @ solution.weights))
        assert solution.alpha == pytest.approx(bounds * slack, rel=1e-9, abs=1e-12)
        assert solution.info["objective"] == pytest.approx(best, rel=1e-6)
    else:
        assert solution.relaxed is not None and solution.relaxed <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*HINGE, *SQUARED])
def test_whole_weights_are_repetition(name: str, seed: int) -> None:
    X, y, times = examples(seed)
    C, eps = 0.1 * (1 + seed), 1e-5
    weighted = Problem(X, y, C * times, bias=False)
    repeated = Problem(X[np.repeat(np.arange(y.size), times)], np.repeat(y, times), C, bias=False)
    assert weighted.total == pytest.approx(repeated.total)
    one, other = (solve(problem, name, eps=eps) for problem in (weighted, repeated))
    assert one.status == other.status == "optimal"
    first, second = (objective(weighted, found.weights, name in SQUARED) for found in (one, other))
    assert abs(first - second) <= tolerance(name, eps, weighted, min(first, second))


@pytest.mark.parametrize("name", [*ONE_OF_EACH, "liblinear"])
def test_equal_bounds_are_one_C(name: str) -> None:
    X, y, _ = examples(0)
    bias = "no bias" not in SOLVERS[name].needs
    one, other = (solve(Problem(X, y, C, bias=bias), name, eps=1e-4) for C in (0.7, np.full(y.size, 0.7)))
    assert np.array_equal(one.weights, other.weights)
    assert (one.iterations, one.work) == (other.iterations, other.work)
    if one.alpha is not None:
        assert np.array_equal(one.alpha, other.alpha)


@pytest.mark.parametrize("name", HINGE)
@pytest.mark.parametrize("seed", SEEDS)
def test_multipliers_of_planes_are_within_their_bounds(name: str, seed: int) -> None:
    X, y, times = examples(seed)
    problem = Problem(X, y, 0.3 * times, bias=False)
    solution = solve(problem, name, keep_alpha=True)
    alpha = solution.alpha
    assert alpha is not None and (alpha >= 0).all() and (alpha <= problem.bounds).all()
    v = X.T @ (y * alpha)
    assert alpha.sum() - 0.5 * v @ v == pytest.approx(solution.relaxed, rel=1e-9)


@pytest.mark.parametrize("name", HINGE)
def test_blocks_and_storages_agree(name: str) -> None:
    rng = np.random.default_rng(3)
    X = (rng.random((150, 12)) < 0.3).astype(float)
    y = np.where(X @ rng.normal(size=12) + 0.5 * rng.normal(size=150) > 0, 1.0, -1.0)
    bounds = rng.uniform(0.1, 2.0, 150)
    found = [
        solve(Problem(X, y, bounds, bias=False, storage=storage), name, eps=1e-4)
        for storage in ("dense", "csr", "index", "bits")
    ]
    found.append(solve(Problem(Blocks([X[:1].copy(), X[1:].copy()]), y, bounds, bias=False), name, eps=1e-4))
    assert {solution.status for solution in found} == {"optimal"}
    problem = Problem(X, y, bounds, bias=False)
    values = [objective(problem, solution.weights) for solution in found]
    assert max(values) - min(values) <= tolerance(name, 1e-4, problem, min(values))
    assert len({solution.iterations for solution in found}) == 1


# Peers


def dual(problem: Problem, alpha: Any) -> float:
    """Return the dual objective for a Gaussian kernel, computed from differences."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    K = np.exp(-problem.kernel.gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    signed = problem.y * alpha
    return float(alpha.sum() - 0.5 * signed @ K @ signed)


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
    # The certificate's multipliers respect each bound and bound the optimum.
    alpha = solution.alpha
    assert alpha is not None and (alpha >= 0).all() and (alpha <= weighted.bounds).all()
    v = X.T @ (y * alpha)
    assert alpha.sum() - 0.5 * v @ v == pytest.approx(best, rel=3e-6)


def test_weights_within_a_class_are_refused_where_there_are_none() -> None:
    X, y, times = examples(1)
    same = Problem(X, y, np.where(y > 0, 2.0, 0.5))
    assert scikit_learn_interface.class_bounds(same, "thundersvm") == {-1: 0.5, 1: 2.0}
    for name in {"thundersvm", *KERNELLED} - {"libsvm", "onedal"}:
        with pytest.raises(ValueError, match=rf"^solver '{name}' needs one C for all examples of a class$"):
            scikit_learn_interface.class_bounds(Problem(X, y, 1.0 * times), name)
    if "libsvm-package" in KERNELLED:
        with pytest.raises(ValueError, match=r"needs one C for all examples of a class"):
            solve(Problem(X, y, 1.0 * times), "libsvm-package")


@pytest.mark.parametrize("name", ["libsvm", "liblinear"])
def test_too_many_entries_for_32_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scikit_learn_interface, "_MOST_STORED", 3)
    X = sp.csr_array(np.eye(4))
    said = r"^X has 4 entries; row pointers of 32 bits, which these packages read, count 3$"
    with pytest.raises(ValueError, match=said):
        solve(Problem(X, [1, -1, 1, -1], bias=name != "liblinear", storage="csr"), name)
    monkeypatch.setattr(scikit_learn_interface, "_MOST_STORED", 4)
    problem = Problem(X, [1, -1, 1, -1], bias=name != "liblinear", storage="csr")
    assert solve(problem, name).status == "optimal"
