"""Tolerances, options, limits, callbacks and counted work, for every solver."""

from __future__ import annotations

import sys
import time
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numba import config
from solver_cases import (
    BINARY_KERNELS,
    KERNELS,
    ONE_OF_EACH,
    STORAGES,
    banana_like,
    biased,
    cloud,
    in_slices,
    judged,
    random_labels,
    suits,
    words,
)
from support import ran
from svmrepro.solvers import SOLVERS, Kernel, Problem, Solution, certify, solve
from svmrepro.solvers.compilation.loading import loaded, loading

LINEAR, GAUSSIAN = Kernel.linear(), Kernel.gaussian(gamma=0.3)
NAMES = tuple(name for name in ONE_OF_EACH if SOLVERS[name].promise == "kkt")
# A comparison solver for each problem, by loss and bias.
BEST = {
    ("hinge", True): "smo",
    ("hinge", False): "smo-fixed-threshold",
    ("squared hinge", False): "l2svm-mfn",
}
PAIRS = [(name, kernel) for name in ONE_OF_EACH for kernel in KERNELS if suits(name, BINARY_KERNELS[kernel])]
KKT_PAIRS = [(name, kernel) for name, kernel in PAIRS if name in NAMES]


def problem_for(name: str, kernel: str = "linear", storage: str = "auto", C: float = 1.0) -> Problem:
    return Problem(*words(90, 40, share=0.2), C, BINARY_KERNELS[kernel], bias=biased(name), storage=storage)


@pytest.mark.parametrize(("name", "kernel"), KKT_PAIRS)
def test_eps_is_kept(name: str, kernel: str) -> None:
    problem = problem_for(name, kernel, C=10.0)
    best, certificate = judged(problem, name, 1e-6)
    for eps in (1e-5, 1e-4, 1e-3, 1e-2):
        solution, found = judged(problem, name, eps)
        assert found.dual == pytest.approx(certificate.dual, rel=10 * eps)
        assert solution.iterations <= best.iterations
    loose = solve(problem, name, eps=1e-1).iterations
    # A Newton step may land on the optimum itself.
    assert loose <= best.iterations if name == "smo-newton" else loose < best.iterations


def test_binary_storages_walk_the_same_path() -> None:
    # Kernel values of binary rows are exact integers or functions of one, so equal in all storages.
    for kernel in ("gaussian", "polynomial"):
        runs = [solve(problem_for("smo", kernel, storage), "smo") for storage in STORAGES]
        assert len({(run.iterations, run.kernel_evaluations) for run in runs}) == 1


@pytest.mark.parametrize(("name", "kernel"), PAIRS)
def test_slices_change_nothing(name: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_for(name, kernel, C=20.0)
    whole, again = (solve(problem, name, verify=False) for _ in range(2))
    assert again.info == whole.info
    reports: list[tuple[float, int, float]] = []
    in_slices(monkeypatch, 300)
    cut = solve(problem, name, verify=False, trace=True, progress=lambda *report: reports.append(report))
    for run in (again, cut):
        assert (run.iterations, run.work, run.bias) == (whole.iterations, whole.work, whole.bias)
        assert np.array_equal(run.alpha, whole.alpha) and np.array_equal(run.weights, whole.weights)
    assert len(reports) > 2 and whole.trace is None
    assert [(seconds, bound) for seconds, _, bound in reports] == cut.trace
    assert reports[-1][1] == cut.iterations
    seconds, _, bounds = np.array(reports).T
    assert (np.diff(seconds) >= 0).all()
    assert (np.diff(bounds) >= -1e-9 * bounds[-1]).all()
    last = certify(problem, cut).dual if cut.relaxed is None else cut.relaxed
    assert bounds[-1] == pytest.approx(last, rel=1e-9)


def test_the_seconds_of_a_callback_are_the_callers() -> None:
    problem, spent = problem_for("smo2"), 0.0
    solve(problem, "smo2")

    def busy(*_: object) -> None:
        nonlocal spent
        begin = time.thread_time()
        while time.thread_time() < begin + 0.3:
            pass
        spent += time.thread_time() - begin

    assert solve(problem, "smo2", progress=busy).cpu_seconds < spent


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_an_interruption_does_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gaussian = Kernel.gaussian(0.25)
    n, C, kernel = (600, 100.0, gaussian) if suits(name, gaussian) else (80, 1.0, LINEAR)
    problem = Problem(*banana_like(n), C, kernel, bias=biased(name))
    options = {"patience": 0} if name == "svmlight" else {}
    whole = solve(problem, name, verify=False, **options)
    assert whole.info.get("shrinks") != 0
    in_slices(monkeypatch, 50_000 if n == 600 else 100)
    slices = solve(problem, name, verify=False, trace=True, **options).trace
    assert len(slices) > 2
    left = iter(slices[: len(slices) // 2])

    def interrupt(seconds: float, steps: int, bound: float) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(problem, name, progress=interrupt, **options)
    again = solve(problem, name, verify=False, **options)
    assert again.iterations == whole.iterations
    assert np.array_equal(again.alpha, whole.alpha) and np.array_equal(again.weights, whole.weights)


#: Options with which solvers that go on from given multipliers keep other quantities.
WAYS: dict[str, list[dict[str, Any]]] = {
    "smo": [{}, {"fold": False}, {"shrinking": True, "cache_mb": 0.02}],
    "smo-fixed-threshold": [{}, {"fold": False}],
    "svmlight": [{}, {"fold": True}],
    "svmlight-ordinal": [{}, {"fold": False}, {"fold": False, "cache_mb": 0.0}],
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("name", "options"),
    [(name, way) for name in ONE_OF_EACH if SOLVERS[name].starts for way in WAYS.get(name, [{}])],
)
def test_multipliers_to_go_on_from(name: str, options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = cloud(80, seed=seed)
    kernel = Kernel.gaussian(gamma=0.3)
    kernel = kernel if seed % 2 and suits(name, kernel) else LINEAR
    C = 0.5 if SOLVERS[name].one_bound else 10.0 ** rng.uniform(-1, 1, size=y.size)
    problem = Problem(X, y, C, kernel, bias=biased(name))
    first, best = judged(problem, name, 1e-6, **options)
    again, _ = judged(problem, name, 1e-5, start=first.alpha, **options)
    assert again.iterations <= 0.3 * first.iterations
    m = first.alpha.size
    top = {"hinge": problem.bounds, "squared hinge": 3.0, "pairs": problem.total / m}[first.loss]
    alpha = rng.uniform(size=m) * top * (rng.random(m) < 0.7)
    if problem.bias:
        totals = [alpha[y == label].sum() for label in (-1.0, 1.0)]
        alpha *= np.where(y < 0, min(totals) / totals[0], min(totals) / totals[1])
    given = alpha.copy()
    _, found = judged(problem, name, 1e-6, start=alpha, **options)
    assert np.array_equal(alpha, given)
    assert found.dual == pytest.approx(best.dual, rel=1e-4)


@pytest.mark.parametrize(
    "name", [name for name in ONE_OF_EACH if SOLVERS[name].starts and SOLVERS[name].loss == "hinge"]
)
def test_the_objective_at_given_multipliers_is_unknown_until_it_is_computed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = cloud(600, 10, seed=1)
    problem = Problem(X, y, 1.0, bias=biased(name))
    alpha = np.full(600, 0.5)
    if problem.bias:
        heavy = 1.0 if (y > 0).sum() > 300 else -1.0
        alpha = np.where(y == heavy, 0.5 * (y == -heavy).sum() / (y == heavy).sum(), 0.5)
    v = X.T @ (y * alpha)
    in_slices(monkeypatch, 1000)
    trace = solve(problem, name, start=alpha, trace=True, verify=False, iteration_limit=2000).trace
    known = [value for _, value in trace if not np.isnan(value)]
    assert known[0] == pytest.approx(alpha.sum() - 0.5 * v @ v, rel=0.1)
    ended = solve(problem, name, start=alpha, time_limit=1e-9)
    assert ended.info.get("objective", trace[0][1]) == pytest.approx(trace[0][1], nan_ok=True)


@pytest.mark.parametrize(
    "name", [name for name in ONE_OF_EACH if SOLVERS[name].starts and biased(name) and suits(name, GAUSSIAN)]
)
@pytest.mark.parametrize("kernel", [GAUSSIAN, LINEAR], ids=["gaussian", "linear"])
def test_rounding_of_multipliers_that_fall_far(name: str, kernel: Kernel) -> None:
    # What the equality constraint allows to a start of 1e8 is too much for an end of a few units.
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(3.0, 0.1, (50, 2)), rng.normal(-3.0, 0.1, (50, 2))]
    y = np.r_[np.ones(50), -np.ones(50)]
    problem = Problem(X, y, 1e6, kernel)
    start = np.full(100, 1e6)
    start[0] -= 0.05
    solution = solve(problem, name, start=start, verify=False, time_limit=10)
    assert solution.status == "optimal"
    assert certify(problem, solution).passes(1e-3, SOLVERS[name].tolerance_factor)


@pytest.mark.parametrize("name", [name for name in ONE_OF_EACH if SOLVERS[name].starts])
def test_multipliers_that_cannot_be_gone_on_from(name: str) -> None:
    problem = Problem([[0.0], [2.0]], [-1.0, 1.0], 1.0, bias=biased(name))
    pairs = SOLVERS[name].loss == "pairs"
    wrong = [
        ([0.25, 0.25, 0.25], r"^start must have shape \([12],\), got \(3,\)$"),
        (["a", "b"], "^start must hold numbers, one for each multiplier$"),
        (np.ma.masked_array(np.zeros(12)), "^start must be real and not masked$"),
        (np.zeros(12) + 1j, "^start must be real and not masked$"),
        *(
            ([value] if pairs else [value, value], r"^start\[0\] = .* is not in \[0, ")
            for value in (-1.0, np.nan, np.inf)
        ),
    ]
    if problem.bias and name != "svmlight-ordinal":
        wrong.append(([0.25, 0.5], r"^start is not feasible: sum_i y_i alpha_i is 0\.25, and must be 0$"))
    for start, message in wrong:
        with pytest.raises(ValueError, match=message):
            solve(problem, name, start=start)


@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize("X", [np.zeros((4, 3)), np.zeros((4, 0)), sp.csr_array((4, 3)), np.ones((4, 1))])
def test_nothing_to_learn_from(name: str, X: Any) -> None:
    # No weights separate equal examples: w = 0, and every margin is missed by 1.
    problem = Problem(X, [1, -1, 1, -1], 2.0, bias=biased(name))
    solution, found = judged(problem, name)
    assert found.primal == pytest.approx(4.0 if solution.loss == "squared hinge" else 8.0, rel=1e-3)


@pytest.mark.parametrize("name", [name for name in NAMES if "fold" in SOLVERS[name].options])
def test_folding_changes_no_result(name: str) -> None:
    problem = problem_for(name)
    runs = [judged(problem, name, fold=fold) for fold in (True, False)]
    assert runs[0][1].dual == pytest.approx(runs[1][1].dual, rel=1e-3)
    for solution, _ in runs:
        outputs = problem.X @ solution.weights + solution.bias
        assert solution.decision_function(problem, problem.X) == pytest.approx(outputs)
        assert problem.X.T @ (problem.y * solution.alpha) == pytest.approx(solution.weights, abs=1e-9)


def test_memory_limit_counts_four_bytes_an_entry() -> None:
    problem = problem_for("chunking", "gaussian")
    free = solve(problem, "chunking", chunk_size=7)
    largest = int(free.info["subproblem_max"])
    megabytes = 4 * largest**2 / 2**20
    enough = solve(problem, "chunking", chunk_size=7, memory_limit_mb=megabytes)
    assert (enough.status, enough.iterations) == ("optimal", free.iterations)
    short = solve(problem, "chunking", chunk_size=7, memory_limit_mb=megabytes * (1 - 1e-9))
    assert short.status == "memory_limit"
    assert short.info["subproblem_max"] < largest
    assert_feasible(problem, short)


def assert_feasible(problem: Problem, solution: Solution) -> None:
    """An interrupted run returns a feasible point with honest figures."""
    certificate = certify(problem, solution)  # raises outside the box
    assert certificate.equality_residual <= 1e-9 * problem.total
    best = certify(problem, solve(problem, BEST[solution.loss, problem.bias], eps=1e-6))
    assert certificate.dual <= best.dual * (1 + 1e-9)
    assert best.dual <= certificate.primal * (1 + 1e-9)
    assert solution.info["objective"] == pytest.approx(certificate.dual, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("name", "kernel"), KKT_PAIRS)
def test_iteration_limit(name: str, kernel: str) -> None:
    problem = problem_for(name, kernel)
    whole = solve(problem, name).iterations
    for limit in (1, 3, whole // 2):
        solution = solve(problem, name, iteration_limit=limit)
        assert (solution.status, solution.iterations) == ("iteration_limit", limit)
        assert_feasible(problem, solution)
    assert solve(problem, name, iteration_limit=10 * whole).status == "optimal"


@cache
def long_problem(kernel: Kernel, bias: bool) -> Problem:
    # One step of chunking takes tens of seconds; the solvers of squared hinges need few passes.
    return Problem(*cloud(8000, 200, noise=10.0), 100.0, kernel, bias=bias)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        (name, kernel)
        for kernel in (LINEAR, Kernel.gaussian(gamma=0.005))
        for name in NAMES
        if suits(name, kernel)
    ],
)
def test_time_limit(name: str, kernel: Kernel) -> None:
    problem = long_problem(kernel, biased(name))
    solve(problem, name, verify=False, iteration_limit=1)
    limit = 0.15 if SOLVERS[name].loss == "hinge" else 1e-5
    solution = solve(problem, name, eps=1e-9, verify=False, time_limit=limit, trace=True)
    assert solution.status == "time_limit"
    assert limit <= solution.cpu_seconds < limit + 2.0
    assert len(solution.trace) > 2 or solution.loss != "hinge"
    if kernel is LINEAR:
        certificate = certify(problem, solution)
        assert certificate.equality_residual <= 1e-9 * problem.total
        assert certificate.dual <= certificate.primal
        if solution.loss == "hinge":
            weights = problem.X.T @ (problem.y * solution.alpha)
            assert solution.weights == pytest.approx(weights, rel=1e-9, abs=1e-9)


def test_the_seconds_are_those_of_another_clock() -> None:
    problem = long_problem(Kernel.gaussian(gamma=0.005), True)
    solve(problem, "smo2", verify=False, iteration_limit=1)
    begin = time.thread_time()
    seconds = solve(problem, "smo2", eps=1e-9, verify=False, time_limit=1.0).cpu_seconds
    elapsed = time.thread_time() - begin
    assert 0.7 * elapsed < seconds <= elapsed


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@pytest.mark.parametrize("name", ["smo", "svmlight", "smo2", "pasmo"])
def test_a_cache_changes_no_step(name: str, kernel: str, storage: str) -> None:
    problem = Problem(*words(200), 10.0, BINARY_KERNELS[kernel], storage=storage)
    # Room for two rows, some, all; svmlight prefers examples whose rows are there.
    sizes = (0.0, 40.0) if name == "svmlight" else (0.0, 1e-6, 0.02, 40.0)
    none, *kept = (solve(problem, name, cache_mb=size, shrinking=False) for size in sizes)
    for run in kept:
        assert run.iterations == none.iterations
        assert np.array_equal(run.alpha, none.alpha)
        assert run.kernel_evaluations <= none.kernel_evaluations
        assert run.work["nonzeros"] <= none.work["nonzeros"]
    assert run.kernel_evaluations < none.kernel_evaluations
    assert run.info["cache_hits"] > none.info.get("cache_hits", 0)


#: Options with which solvers shrink other quantities.
SHRINKING: dict[str, list[dict[str, Any]]] = {
    "smo": [{"shrinking": True}],
    "svmlight": [
        {"patience": 30, **more} for more in ({}, {"fold": True}, {"single": True}, {"cache_mb": 0})
    ],
    "smo2": [{}, {"single": True}, {"cache_mb": 0.25}],
    "pasmo": [{"cache_mb": 0.25}],
    "csmo": [{}, {"cache_mb": 0.25}],
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("name", "way", "kernel"),
    [
        (name, way, kernel)
        for name, ways in SHRINKING.items()
        for way in ways
        for kernel in (LINEAR, Kernel.gaussian(gamma=0.05))
        if kernel is LINEAR or "fold" not in way
    ],
)
def test_shrinking_changes_the_work_not_the_result(
    name: str, way: dict[str, Any], kernel: Kernel, storage: str
) -> None:
    C = 1.0 if kernel is LINEAR else 20.0
    problem = Problem(*words(1000, 40), C, kernel, storage=storage)
    whole, first = judged(problem, name, **{**way, "shrinking": False})
    shrunk, second = judged(problem, name, **way)
    assert shrunk.info["shrinks"] >= 1 and shrunk.info["active_min"] < 800
    restores = "returns" if name == "smo" else "gradient_restores"  # the last full pass covers all examples
    assert shrunk.info[restores] >= 1 and whole.info.get(restores, 0) == 0
    counted = "nonzeros" if name == "smo" else "gradient_updates"
    # Under a linear kernel the work of SMO is that of its path, which shrinking changes either way.
    if name != "smo" or kernel is not LINEAR:
        assert shrunk.work[counted] < (1.0 if name == "smo" else 0.9) * whole.work[counted]
    assert second.dual == pytest.approx(first.dual, rel=1e-3 if name == "smo" else 1e-4)
    assert shrunk.info["objective"] == pytest.approx(second.dual, rel=1e-6)


@pytest.mark.parametrize("storage", STORAGES)
def test_work_of_smo_by_hand(storage: str) -> None:
    # One step solves it: alpha = (2, 2), f(x) = 2 x - 1. Rows have one stored entry, but for the zero row of
    # csr and index, which has none.
    zero = int(storage in ("dense", "bits"))
    problem = Problem([[0.0], [1.0]], [-1.0, 1.0], 10.0, storage=storage)
    solution = solve(problem, "smo")
    assert solution.alpha == pytest.approx([2.0, 2.0])
    assert solution.bias == pytest.approx(-1.0)
    assert solution.iterations == 1
    # Outputs of both ahead of the pass, E1, K12, both outputs after the step.
    assert solution.kernel_evaluations == 2 + 1 + 1 + 2
    both = 1 + zero
    assert solution.work["nonzeros"] == both + 1 + 1 + both + both  # the second to last: w updated
    assert solution.work["gradient_updates"] == 2


def test_work_of_fixed_threshold_by_hand() -> None:
    # x1 = 2: alpha = 1/4; x2 = 0: alpha = C, its objective is linear.
    problem = Problem([[2.0], [0.0]], [1.0, -1.0], 10.0, bias=False, storage="dense")
    solution, certificate = judged(problem, "smo-fixed-threshold")
    assert solution.alpha == pytest.approx([0.25, 10.0])
    assert solution.iterations == 2
    assert certificate.dual == pytest.approx(10.125)
    # Outputs of both, x2 again (the step voided it), the non-bound one, both; and two updates of w.
    assert solution.kernel_evaluations == 2 + 1 + 1 + 2
    assert solution.work["nonzeros"] == 2 + 1 + 1 + 2 + 2


def test_work_of_chunking_by_hand() -> None:
    problem = Problem([[0.0], [1.0]], [-1.0, 1.0], 10.0, storage="dense")
    solution = solve(problem, "chunking")
    assert solution.alpha == pytest.approx([2.0, 2.0])
    assert solution.iterations == 1  # the equality constraint leaves one direction
    assert solution.work["hessian_entries"] == 4
    assert solution.kernel_evaluations == 4 + 2  # the Hessian; all outputs from the folded weights
    assert solution.work["nonzeros"] == 4 + 2 + 2  # and the update of w
    assert (solution.info["chunks"], solution.info["cg_tol_final"]) == (1, 3e-10)


@pytest.mark.parametrize("name", [name for name in NAMES if "polish" in SOLVERS[name].options])
def test_rescue_is_for_ill_conditioned_problems_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert solve(problem_for(name), name).info["polishes"] == 0
    problem = Problem(*random_labels(40, 3, 5), 1e5, bias=biased(name))
    helped, certificate = judged(problem, name, time_limit=20)
    assert helped.info["polishes"] > 0
    alone = solve(problem, name, polish=False, iteration_limit=helped.iterations)
    assert alone.info["polishes"] == 0
    assert certify(problem, alone).dual <= certificate.dual * (1 + 1e-3)
    in_slices(monkeypatch, 500)
    sliced = solve(problem, name)
    assert sliced.info["polishes"] == helped.info["polishes"]
    assert np.array_equal(sliced.alpha, helped.alpha)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eps": 0.0}, "eps must be a positive number, got 0.0"),
        ({"eps": None}, "eps must be a positive number, got None"),
        ({"memory_limit_mb": float("inf")}, "memory_limit_mb must be a positive number, got inf"),
        ({"iteration_limit": 0}, "iteration_limit must be a positive number, got 0"),
        ({"cache": 3}, "solver 'smo' has no option 'cache'; it has: step_tol, fold, "),
        ({"time_limt": 3}, "solver 'smo' has no option 'time_limt'; .*; did you mean 'time_limit'?"),
        ({"step_tl": 1e-3}, "solver 'smo' has no option 'step_tl'; .*; did you mean 'step_tol'?"),
        ({"step_tol": "small"}, "solver 'smo': option 'step_tol' must be like 1e-08, got 'small'"),
        ({"step_tol": -1e-8}, "solver 'smo': option 'step_tol' must not be negative, got -1e-08"),
        ({"fold": 1}, "solver 'smo': option 'fold' must be like True, got 1"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        solve(problem_for("smo"), "smo", **arguments)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_what_double_precision_cannot_solve_still_ends(name: str, seed: int) -> None:
    # Outputs are sums of terms of 1e12 C. Their rounding is some thousand times an eps of 1e-8. Whether a
    # solver notices this before its time is up depends on the machine.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 10)) * 10.0 ** rng.uniform(-6, 6, size=10)
    y = np.where(np.arange(14) % 2, 1.0, -1.0)
    problem = Problem(X, y, 10.0 ** rng.uniform(-2, 4), bias=biased(name))
    solution = solve(problem, name, eps=1e-8, time_limit=0.1)
    assert solution.status in ("stalled", "time_limit")
    certificate = certify(problem, solution)  # raises outside the box
    assert not certificate.passes(1e-8, SOLVERS[name].tolerance_factor)
    assert certificate.gap >= -1e-9 * problem.total


def test_loading_code_during_a_run_counts_neither_in_its_seconds_nor_against_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = SOLVERS["smo2"].load()

    def advance(*arguments: Any, own: Any = module.advance) -> Any:
        with loading():
            pass
        monkeypatch.setattr(loaded, "cpu", loaded.cpu + 1e6)
        monkeypatch.setattr(loaded, "wall", loaded.wall + 1e6)
        return own(*arguments)

    monkeypatch.setattr(module, "advance", advance)
    solution = solve(problem_for("smo2"), "smo2", time_limit=1e-9)
    assert solution.status == "optimal"
    assert solution.cpu_seconds < -0.9e6 and solution.wall_seconds < -0.9e6


def test_loading_within_loading_counts_once() -> None:
    before, began = loaded.cpu, time.thread_time()
    with loading(), loading():
        while time.thread_time() < began + 0.1:
            pass
    assert 0.09 < loaded.cpu - before <= time.thread_time() - began


@pytest.mark.parametrize("name", ["smo", "chunking", "svmlight", "smo2", "csmo", "smo-newton"])
def test_huge_gamma(name: str) -> None:
    # Exponents overflow, and different examples have the kernel value 0.
    X, y = random_labels(30, 2)
    for rows in (1e5 * X, (X > 0).astype(float)):
        judged(Problem(rows, y, 1.0, Kernel.gaussian(gamma=1.7e308)), name)
    # Exponents are rounded by more than eps, but not where kernel values are not 0.
    judged(Problem(X, y, 1.0, Kernel.gaussian(gamma=1e6)), name, 1e-8)


@pytest.mark.parametrize("name", ["smo", "chunking", "svmlight", "smo2", "csmo", "smo-newton"])
def test_rounding_of_an_indefinite_kernel(name: str) -> None:
    Z, y = random_labels(200, 5)
    problem = Problem(np.tanh(0.5 * Z @ Z.T - 1.0), y, 1e9, Kernel.precomputed())
    judged(problem, name)
    judged(problem, name, verify=False)
    # Outputs are sums of terms of 1e12, whose rounding exceeds eps.
    assert solve(problem.with_C(1e12), name, verify=False, time_limit=10).status == "stalled"


@pytest.mark.parametrize("name", NAMES)
def test_examples_whose_squares_are_zero(name: str) -> None:
    X, y = cloud(40, 3)
    judged(Problem(1e-310 * X, y, 0.01, bias=biased(name)), name)


def test_a_power_multiplies_the_rounding_of_its_base() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 50))
    X = X[:1] + 1e-5 * X
    X /= np.sqrt((X * X).sum(axis=1)).max()
    y = np.where(np.arange(9) % 2 > 0, 1.0, -1.0)
    eps, ends = 1e-6, []
    for degree in (3, 377):
        # A tenth of the size whose rounding would be small beside eps if the degree did not matter.
        problem = Problem(X, y, 0.1 * 0.125 * eps / (9 * 4 * 2.0**-52), Kernel.polynomial(degree, a=1.0))
        ends.append(solve(problem, "smo2", eps=eps, verify=False, iteration_limit=100_000).status)
    assert ends == ["optimal", "stalled"]


AFTER_WARM = """
import numpy as np
from svmrepro.solvers import Kernel, Problem, solve, warm
from svmrepro.solvers.compilation import shared_cache

warm("planning-readings", "gaussian")
alone, loaded = shared_cache._alone, []
shared_cache._alone = lambda folder, what: loaded.append(what) or alone(folder, what)
random = np.random.default_rng(1)
sparse = np.where(random.random((60, 200)) < 0.02, random.normal(size=(60, 200)), 0.0)
categories = random.integers(1, 9, size=(60, 18)).astype(float)
few_ones, bits = (sparse != 0.0).astype(float), (categories > 4.0).astype(float)
for X in (random.normal(size=(60, 2)), categories, sparse, few_ones, bits):
    y = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    problem = Problem(X, y, 1.0, Kernel.gaussian(0.1))
    assert solve(problem, "planning-readings", verify=None).status == "optimal"
    print(problem.storage, *loaded)
"""


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_after_warm_examples_of_any_kind_load_no_further_code():
    ended = ran(sys.executable, "-c", AFTER_WARM)
    assert ended.stdout.splitlines() == ["dense", "dense", "csr", "bits", "bits"], ended.stderr
