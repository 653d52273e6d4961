"""Peers: the same interface, the same certificate."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from solver_cases import BINARY_KERNELS, biased, judged, make_case, suits, words
from svmrepro.solvers import (
    SOLVERS,
    Kernel,
    Problem,
    certify,
    fingerprint,
    gram_matrix,
    registry,
    solve,
    source_code,
)
from svmrepro.solvers.driver import verified
from svmrepro.solvers.peers import estimators

PEERS = [name for name, spec in SOLVERS.items() if spec.package]
HERE = [name for name in PEERS if SOLVERS[name].version is not None]
KERNELLED = [name for name in HERE if not name.startswith("liblinear")]
needs_multicore = pytest.mark.skipif("liblinear-multicore" not in HERE, reason="it is not installed")


def problem(kernel: str = "linear", *, bias: bool = True, storage: str = "auto", C: float = 1.0) -> Problem:
    return Problem(*words(200, 30, share=0.3), C, BINARY_KERNELS[kernel], bias=bias, storage=storage)


@pytest.mark.parametrize("storage", ["dense", "csr", "index"])
@pytest.mark.parametrize("kernel", BINARY_KERNELS)
@pytest.mark.parametrize("name", KERNELLED)
def test_certified_and_equal_to_ours(name: str, kernel: str, storage: str) -> None:
    same = problem(kernel, storage=storage, C=3.0)
    if name == "thundersvm" and storage != "dense":
        with pytest.raises(ValueError, match="'thundersvm' needs storage='dense'"):
            solve(same, name)
        return
    solution, certificate = judged(same, name, 1e-4)
    assert (solution.iterations > 0 or name == "thundersvm") and solution.cpu_seconds > 0
    assert certificate.dual == pytest.approx(judged(same, "smo2", 1e-4)[1].dual, rel=1e-5)
    values = solution.decision_function(same, same.X)
    assert (values * same.y > 0).mean() > 0.8


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_liblinear(C: float, storage: str) -> None:
    same = problem(bias=False, storage=storage, C=C)
    solution, certificate = judged(same, "liblinear", 1e-5)
    # The multipliers give the weights.
    assert same.X.T @ (same.y * solution.alpha) == pytest.approx(solution.weights, abs=1e-4 * C)
    assert certificate.dual == pytest.approx(judged(same, "smo-fixed-threshold", 1e-5)[1].dual, rel=1e-5)


@needs_multicore
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_liblinear_on_several_threads(weighted: bool, threads: int) -> None:
    same = problem(bias=False)
    same = Problem(same.X, same.y, np.where(same.y > 0, 2.0, 0.5) if weighted else 1.0, bias=False)
    solution, certificate = judged(same, "liblinear-multicore", 0.1, threads=threads)
    assert solution.weights is not None and solution.iterations > 0
    assert certificate.primal == pytest.approx(judged(same, "liblinear", 1e-6)[1].primal, rel=0.1)
    # It ends after 300 passes, and says so.
    assert solve(same, "liblinear-multicore", eps=1e-12, threads=threads).status == "iteration_limit"


@needs_multicore
def test_liblinear_on_several_threads_takes_no_weights_of_examples() -> None:
    same = problem(bias=False)
    uneven = Problem(same.X, same.y, np.linspace(0.5, 1.0, same.n), bias=False)
    with pytest.raises(ValueError, match="'liblinear-multicore' needs one C for all examples of a class"):
        solve(uneven, "liblinear-multicore")


def test_liblinear_at_high_precision_is_a_reference() -> None:
    """The objective is known to nine digits, because the dual bounds it from below."""
    same = problem(bias=False, C=10.0)
    solution = solve(same, "liblinear", eps=1e-8)
    certificate = certify(same, solution)
    assert certificate.promise == "gap" and certificate.dual <= certificate.primal * (1 + 1e-12)
    assert certificate.gap <= 1e-9 * certificate.primal
    ours = certify(same, solve(same, "smo-fixed-threshold", eps=1e-8))
    assert certificate.primal == pytest.approx(ours.primal, rel=1e-7)
    stopped = solve(same, "liblinear", eps=1e-8, passes=3)
    assert (stopped.status, stopped.iterations) == ("iteration_limit", 3)
    # At that precision slightly wrong weights are not a solution.
    wrong = replace(solution, weights=solution.weights * 1.001)
    assert not certify(same, wrong).passes(1e-8, 2.0)


def test_multipliers_of_repeated_and_empty_examples() -> None:
    rng = np.random.default_rng(2)
    rows = np.repeat(rng.integers(0, 2, size=(30, 6)).astype(float), 8, axis=0)
    rows[::7] = 0.0
    y = np.where(rng.random(len(rows)) < 0.05, 1.0, -1.0)
    for C in (0.01, 1e4):
        judged(Problem(rows, y, C, bias=False), "liblinear", passes=1_000_000)


@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed: int) -> None:
    case = make_case(seed)
    if not case.definite or case.C > 1e3:
        return
    for name in HERE:
        # The certificate refuses some solutions of ThunderSVM for degenerate problems, and multi-core
        # LIBLINEAR often needs more than its 300 passes.
        if name in ("thundersvm", "liblinear-multicore"):
            continue
        if suits(name, case.kernel):
            # oneDAL mishandles empty CSR rows.
            same = case.problem(
                bias=biased(name), storage="dense" if name in ("onedal", "thundersvm") else None
            )
            found = judged(same, name, say=case)[1]
            ours = judged(same, "smo2" if biased(name) else "smo-fixed-threshold", say=case)[1]
            assert found.dual == pytest.approx(ours.dual, rel=2e-3, abs=1e-9), (name, str(case))


@pytest.mark.parametrize("name", KERNELLED)
def test_the_bias_does_not_depend_on_the_order_of_the_examples(name: str) -> None:
    given = problem()
    for label in (-1.0, 1.0):
        order = np.argsort(given.y != label, kind="stable")  # the class with this label comes first
        same = Problem(given.X[order], given.y[order], 1.0, given.kernel, storage="dense")
        judged(same, name)


@pytest.mark.parametrize("name", ["smo2", *KERNELLED])
@pytest.mark.parametrize(
    ("C", "eps", "verify"), [(10.0, 1.1e-5, "auto"), (1e3, 1e-6, False), (1e9, 1e-3, False)]
)
def test_optimal_is_not_said_of_what_rounding_may_have_spoilt(
    name: str, C: float, eps: float, verify: bool | str
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000 if verify else 500, 4))
    y = np.where(X[:, 0] + (1.5 if verify else 0.5) * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    if C == 1e9:  # all multipliers end at C
        X[250:], y[:250], y[250:] = X[:250], 1.0, -1.0
    same = Problem(X, y, C, Kernel.gaussian(0.1), storage="dense")
    limit = 300_000 if SOLVERS[name].iteration_limited else None
    solution = solve(same, name, eps=eps, verify=verify, iteration_limit=limit)
    assert solution.status != "optimal" or certify(same, solution).passes(eps, 2.0)


def test_weights_of_liblinear_are_always_certified() -> None:
    same = problem(bias=False)
    solution = solve(same, "liblinear", verify=False)
    wrong = replace(solution, weights=1.1 * solution.weights)
    said = [verified(same, each, SOLVERS["liblinear"], 1e-3, False).status for each in (solution, wrong)]
    assert said == ["optimal", "stalled"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["libsvm", "liblinear"])
def test_limit_of_iterations(name: str) -> None:
    same = problem(bias=biased(name), C=100.0)
    solution = solve(same, name, eps=1e-6, iteration_limit=3)
    assert (solution.status, solution.iterations) == ("iteration_limit", 3)


@pytest.mark.parametrize("name", ["libsvm-package", "liblinear-multicore", "thundersvm"])
def test_no_limit_of_iterations_is_taken_that_the_package_would_ignore(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = problem(bias=biased(name), storage="dense")
    with pytest.raises(ValueError, match=f"solver '{name}' takes no iteration limit; its package has none"):
        solve(same, name, iteration_limit=5)
    monkeypatch.setattr(registry.metadata, "version", lambda package: None)
    for limit in (None, math.inf):
        with pytest.raises(registry.NotInstalled):
            solve(same, name, iteration_limit=limit)


def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: fingerprint(name) for name in ("libsvm", "smo")}
    absent = registry.metadata.PackageNotFoundError

    def version(package: str) -> str:
        raise absent(package)

    monkeypatch.setattr(registry.metadata, "version", version)
    for name in PEERS:
        assert SOLVERS[name].version is None
        same = problem(bias=biased(name))
        with pytest.raises(registry.NotInstalled) as raised:
            solve(same, name)
        package = SOLVERS[name].package
        assert str(raised.value) == f"solver {name!r} needs the package {package}, which is not installed"
    # Its rows are measured if it is installed.
    source_code.fingerprint.cache_clear()
    assert fingerprint("libsvm") != before["libsvm"]
    assert fingerprint("smo") == before["smo"]
    source_code.fingerprint.cache_clear()


def test_onedal_has_the_threads_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Modules in place of the package's, which need not be installed.
    monkeypatch.setitem(sys.modules, "daal4py", SimpleNamespace(daalinit=lambda threads: None))
    monkeypatch.setitem(sys.modules, "sklearnex.svm", SimpleNamespace(SVC=lambda **given: given))
    monkeypatch.setitem(sys.modules, "sklearnex", SimpleNamespace())
    examples = problem("gaussian", storage="dense")
    for threads in (1, 2):
        options = {**SOLVERS["onedal"].check(examples, {"threads": threads}), "peer": "onedal"}
        run = estimators.start(examples, 1e-3, options)
        assert estimators._estimator(run, 10)["n_jobs"] == threads  # not OpenMP's number


def test_values_of_a_kernel_are_taken_by_libsvm_and_refused_by_the_others() -> None:
    examples = problem()
    values = Problem(gram_matrix(examples), examples.y, 1.0, Kernel.precomputed())
    optimum = certify(examples, solve(examples, "smo2", eps=1e-6)).dual
    assert certify(values, solve(values, "libsvm", eps=1e-6)).dual == pytest.approx(optimum, rel=1e-6)
    for name in ("libsvm-package", "onedal", "thundersvm"):
        with pytest.raises(ValueError, match=f"solver '{name}' needs a kernel of examples, got precomputed"):
            solve(values, name)
