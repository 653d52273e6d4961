"""Decomposition as in SVM-light: working set and cache."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from solver_cases import banana_like, gram, judged, steps_of_smo, words
from svmrepro.solvers import Kernel, Problem, certify, solve


def test_with_two_it_is_first_order_smo_step_by_step() -> None:
    X, y = banana_like(100, 8)  # no two examples violate alike, so that rounding decides nothing
    problem = Problem(X, y, 1.0, Kernel.gaussian(0.5))
    path = steps_of_smo(gram(problem), y, 1.0, 2e-3, second_order=False)
    assert len(path) > 50
    for count, alpha in enumerate(path, start=1):
        solution = solve(problem, "svmlight", q=2, iteration_limit=count)
        assert solution.iterations == count
        assert solution.alpha == pytest.approx(alpha, abs=1e-9), f"step {count}"
    assert solve(problem, "svmlight", q=2).iterations == len(path)


def test_larger_working_sets_take_fewer_steps() -> None:
    problem = Problem(*words(300), 10.0, Kernel.gaussian(0.1))
    runs, certificates = zip(*(judged(problem, "svmlight", q=q) for q in (2, 4, 10, 30)), strict=True)
    steps = [run.iterations for run in runs]
    assert steps == sorted(steps, reverse=True) and steps[0] > 3 * steps[2]
    assert [found.dual for found in certificates] == pytest.approx([certificates[0].dual] * 4, rel=1e-4)


def test_size_of_the_working_set_is_checked() -> None:
    for q in (0, 1, 7):
        with pytest.raises(ValueError, match=rf"^solver 'svmlight': option 'q' must be even .*, got {q}$"):
            solve(Problem(*banana_like(10)), "svmlight", q=q)


def test_a_small_multiplier_of_a_large_example_is_kept_beside_large_ones() -> None:
    scales = np.r_[np.ones(11), 1e8]
    y = np.repeat([1.0, -1.0], 6)
    solution, _ = judged(Problem(np.diag(scales), y, 10.0, bias=False), "svmlight")
    assert solution.alpha == pytest.approx(scales**-2.0, abs=0.0)


def test_the_cache_saves_work_and_keeps_its_limit() -> None:
    problem = Problem(*words(1200), 1.0, Kernel.gaussian(0.05))
    none, small, whole = (solve(problem, "svmlight", cache_mb=megabytes) for megabytes in (0, 1, 40))
    assert none.info["cache_hits"] == 0
    assert none.info["cache_misses"] <= 10 * none.iterations
    assert whole.kernel_evaluations < small.kernel_evaluations < none.kernel_evaluations
    assert small.info["cache_hits"] > 0
    # A cached row is never computed again; cached rows are extended.
    support = int(np.count_nonzero(whole.alpha))
    assert whole.kernel_evaluations < 1.6 * 1200 * support
    duals = [certify(problem, run).dual for run in (none, small, whole)]
    assert duals == pytest.approx([duals[0]] * 3, rel=1e-4)
    for megabytes in (1, 8):
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        solve(problem, "svmlight", cache_mb=megabytes, verify=False)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak - before < megabytes * 2**20 + 200 * problem.n + 2**18


@pytest.mark.parametrize("name", ["svmlight", "svmlight-ordinal"])
@pytest.mark.parametrize("scale", [1e20, 1e-25])
def test_values_that_single_precision_does_not_hold_are_kept_in_double(name: str, scale: float) -> None:
    X, y = banana_like(30, 8)
    problem = Problem(X * scale, y, scale**-2.0, bias=name == "svmlight")
    assert solve(problem, name, single=True).status == "optimal"


def test_a_wider_working_set_has_a_slot_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svmrepro.solvers.caches.lru._FIRST_BYTES_CHEAP", 1)  # the cache begins with 16 slots
    monkeypatch.setattr("svmrepro.solvers.decomposition.svmlight.classification._WIDEN_AFTER", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=120) > 0, 1.0, -1.0)
    problem = Problem(X, y, 1e4)
    solution = solve(problem, "svmlight", shrinking=False, verify=False)
    assert solution.info["q_final"] > 16
    assert certify(problem, solution).passes(1e-3, 2.0)
