"""Decomposition as in SVM-light: subproblem, working set, shrinking, cache, folding."""

from __future__ import annotations

import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest
from solver_cases import STORAGES, banana_like, gram, judged, steps_of_smo, words
from svmrepro.solvers import SOLVERS, Kernel, Problem, certify, solve
from svmrepro.solvers.decomposition.svmlight import classification as svmlight
from svmrepro.solvers.quadratic_programs import working_set_qp

Vector = npt.NDArray[np.float64]


def program(rng: np.random.Generator, m: int, kind: str) -> tuple[Vector, Vector, Vector, Vector]:
    """Return kernel minor, gradient and bounds of a random subproblem."""
    A = rng.normal(size=(m, m)) * 10.0 ** rng.uniform(-2, 2)
    if kind == "definite":
        K = A @ A.T + 1e-3 * np.eye(m)
    elif kind == "singular":
        B = A[:, : max(1, m // 3)]
        K = B @ B.T
    elif kind == "zero":
        K = np.zeros((m, m))
    else:
        K = A + A.T
    if kind == "singular" and m > 2:
        K[:, 1], K[1, :] = K[:, 0].copy(), K[0, :].copy()  # the same example twice
        K[1, 1] = K[0, 1] = K[1, 0] = K[0, 0]
    C = 10.0 ** rng.uniform(-2, 3)
    at = rng.integers(0, 3, size=m)  # at the lower bound, at the upper one, between them
    beta = np.where(at == 0, 0.0, np.where(at == 1, C, rng.uniform(0, C, size=m)))
    return K, rng.normal(size=m), -beta, C - beta


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("kind", ["definite", "singular", "zero", "indefinite"])
def test_small_program_ends_at_a_stationary_point(kind: str, equality: bool) -> None:
    rng = np.random.default_rng(7)
    qp = working_set_qp.allocate(12)
    for _ in range(300):
        m = int(rng.integers(1, 13))
        K, g, low, high = program(rng, m, kind)
        qp.K[:m, :m], qp.g[:m], qp.low[:m], qp.high[:m] = K, g, low, high
        rounds = working_set_qp.solve_small(qp, m, equality)
        d = qp.d[:m].copy()
        assert rounds < 10 * (m + 2)
        assert (d >= low).all() and (d <= high).all()
        size = float(np.abs(d).sum())
        assert not equality or abs(d.sum()) <= 1e-12 * size
        rest = g - K @ d
        scale = float(np.abs(g).max()) + float(np.abs(K).max()) * size
        assert qp.g[:m] == pytest.approx(rest, abs=1e-11 * scale)
        assert g @ d - 0.5 * d @ K @ d >= -1e-12 * scale * size
        ups, downs = rest[d < high], rest[d > low]
        if equality:
            left = ups.max() - downs.min() if ups.size and downs.size else 0.0
            first = np.ptp(g)
        else:
            left = max(ups.max(initial=0.0), -downs.min(initial=0.0))
            first = float(np.abs(g).max())
        assert left <= 1e-5 * first + 1e-9 * scale


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


def test_a_slice_counts_the_rounds_of_the_small_program() -> None:
    # Limits persist between slices: fourteen zigzag examples spend theirs in the subproblem.
    rng = np.random.default_rng(4)
    X = rng.normal(size=(14, 10)) * 10.0 ** rng.uniform(-6, 6, size=10)
    problem = Problem(X, np.where(np.arange(14) % 2, 1.0, -1.0), 10.0 ** rng.uniform(-2, 4))
    problem.prepare()
    run = svmlight.start(problem, 1e-8, SOLVERS["svmlight"].check(problem, {}))
    while run.work.scalars.q < 14:
        assert svmlight.advance(run, 100_000, 10**9) is None
    scalars = run.work.scalars
    steps = svmlight.steps(run)
    for _ in range(40):
        rounds = scalars.qp_rounds
        assert svmlight.advance(run, 100_000, 10**9) is None
        assert (scalars.qp_rounds - rounds) * 14**2 <= 110_000
    assert svmlight.steps(run) > steps + 1_000


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("storage", STORAGES)
def test_folding_reads_each_example_once_a_step(storage: str, bias: bool) -> None:
    X, y = words(400)
    problem = Problem(X, y, 0.5, bias=bias, storage=storage)
    (plain, first), (folded, second) = (
        judged(problem, "svmlight", fold=fold, shrinking=False, cache_mb=0) for fold in (False, True)
    )
    assert folded.iterations == pytest.approx(plain.iterations, rel=0.2)
    minors = 55 * folded.iterations
    assert folded.kernel_evaluations <= 400 * folded.iterations + minors
    assert folded.kernel_evaluations < 0.3 * plain.kernel_evaluations
    for solution in (plain, folded):
        assert problem.X.T @ (y * solution.alpha) == pytest.approx(solution.weights, abs=1e-9)
    assert second.dual == pytest.approx(first.dual, rel=1e-4)


@pytest.mark.parametrize("storage", ["index", "bits"])
def test_plain_rows_are_the_dot_products_of_smo(storage: str) -> None:
    X, y = words(300, 40, seed=3)
    for kernel, exact in ((Kernel.linear(), True), (Kernel.gaussian(0.05), False)):
        problem = Problem(X, y, 1.0, kernel, storage=storage)
        (plain, _), (columns, _) = (
            judged(problem, "svmlight", plain=each, cache_mb=1.0) for each in (True, False)
        )
        assert plain.work != columns.work  # other code has read other entries
        if exact:  # small integers: no rounding, so the same steps
            assert plain.iterations == columns.iterations
            assert np.array_equal(plain.alpha, columns.alpha)
