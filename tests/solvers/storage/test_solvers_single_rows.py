"""Kernel rows in single precision: their error, and the end in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_cases import judged, started
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.caches import example_tiles as tiles
from svmrepro.solvers.caches import feature_columns as panels
from svmrepro.solvers.caches import single_rows
from svmrepro.solvers.caches.bit_columns import STRETCH
from svmrepro.solvers.compilation.compiled import compiled_for
from svmrepro.solvers.decomposition import _gradient_reconstruction as reconstruction
from svmrepro.solvers.decomposition import _gradient_rows as gradient_rows
from svmrepro.solvers.decomposition import second_order, smo_newton
from svmrepro.solvers.vector_code.vector_loops import TILE, TOGETHER


def noisy(n: int, d: int, shift: float = 0.0) -> tuple[Any, Any]:
    """Return examples, and labels by a noisy function of them that is not linear."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    f = np.tanh(X @ rng.normal(size=(d, 5)) / np.sqrt(d)).sum(axis=1) + 0.3 * rng.normal(size=n)
    return X + shift, np.where(f > np.median(f), 1.0, -1.0)


def exact(X: Any, i: int, gamma: float) -> Any:
    return np.exp(-gamma * np.square(X - X[i]).sum(axis=1))


@pytest.mark.parametrize("shift", [0.0, 1e5])
@pytest.mark.parametrize("d", [1, 4, 16, 17, 30, 130, 400])
def test_rows_are_as_exact_as_their_bound(d: int, shift: float) -> None:
    compare_rows(Problem(*noisy(1100, d, shift=shift), 1.0, Kernel.gaussian(gamma=0.7 / d)))


@pytest.mark.parametrize(("count", "shift"), [(3, 0), (256, 0), (200, -77)])
def test_rows_of_few_values_are_as_exact_as_their_bound(count: int, shift: int) -> None:
    _, y = noisy(1100, 1)
    X = np.random.default_rng(count).integers(0, count, (1100, 42)) + float(shift)
    problem = Problem(X, y, 1.0, Kernel.gaussian(gamma=0.05 / np.square(X.std())), storage="dense")
    assert panels.form(problem) in ("levels", "columns")  # the latter without the processor's instruction
    compare_rows(problem)


def compare_rows(problem: Problem) -> None:
    """Compare rows, one by one and four at a time, with exact ones, also after examples were exchanged."""
    original = single_rows.single_panel(problem)
    assert tiles.in_single_precision(original.tiles)
    error, gamma, X = single_rows.row_error(problem), problem.kernel.gamma, problem.X
    assert error < 1e-5
    block, shape = panels.block_of(problem)
    rng = np.random.default_rng(X.shape[1])
    out = np.zeros(problem.n, dtype=np.float32)
    kept = np.zeros((TOGETHER, problem.n), dtype=np.float32)
    exchanged = panels.copied(original)
    goes = (rng.random(problem.n) < 0.3).astype(np.uint8)
    pairs = panels.exchanges(goes, problem.n)
    panels.rearrange(exchanged, pairs)
    for a, b in pairs:  # a run's state does this
        exchanged.order[[a, b]] = exchanged.order[[b, a]]
    for panel in (original, exchanged):
        for first, last in [(0, 1100), (5, 6), (1023, 1060)]:
            mates = rng.integers(0, problem.n, TOGETHER)
            at = first
            while at < last:
                end = tiles.part_end(at, last)
                tiles.powers_together(panel, mates, TOGETHER, at, end)
                kept[:, at:end] = panel.tiles.powers[:, at % TILE : at % TILE + end - at]
                at = end
            direct, slots = np.zeros((TOGETHER + 1, problem.n), np.float32), np.arange(TOGETHER, 0, -1)
            for count in (1, 3, TOGETHER) if panel.tiles.singles.size else ():
                tiles.powers_in_rows(panel.tiles, mates, count, first, last, direct, slots.copy())
                assert (direct[slots[:count], first:last] == kept[:count, first:last]).all()
                direct[:, first:last] = 0.0
                assert not direct.any(), "written outside"
            for r, i in enumerate(mates):
                single_rows.fill_single(problem.prepare(), panel, block, shape, i, first, last, out)
                assert (out[first:last] == kept[r, first:last]).all(), "one row is not one of four"
                # The double-precision rows have rounding errors too when far from the origin.
                true = exact(X - X.mean(axis=0), int(i), gamma)[panel.order]
                assert np.abs(out - true)[first:last].max() <= error + 1e-15


def test_the_bound_covers_kernels_that_are_not_positive_semidefinite() -> None:
    X, y = noisy(1100, 20)
    X /= np.linalg.norm(X, axis=1)[:, None]
    X[1] = -X[0]  # K_01 = -6.9, whereas all K_ii are 0.001
    problem = Problem(X, y, 1.0, Kernel.polynomial(3, a=1.0, c=-0.9), storage="dense")
    block, shape = panels.block_of(problem)
    out = np.zeros(problem.n, dtype=np.float32)
    panel = single_rows.single_panel(problem)
    single_rows.fill_single(problem.prepare(), panel, block, shape, 0, 0, problem.n, out)
    assert np.abs(out - (X @ X[0] - 0.9) ** 3).max() <= single_rows.row_error(problem)


def test_a_step_between_examples_that_rounding_makes_equal_does_not_wrap_around() -> None:
    rng = np.random.default_rng(0)
    apart = np.sqrt(2.7e-8) / 2  # two examples whose kernel value is 1 in single precision
    X = rng.normal(size=(3000, 7))
    X[:, 1] += 12.0
    y = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    X[:20] = 0.02 * rng.normal(size=(20, 7))  # where the kernels of the two differ most
    X[:20, 0] -= np.sqrt(0.5)
    y[:20] = 1.0
    X[-2:] = 0.0
    X[-1, 0], X[-2, 0], y[-1], y[-2] = apart, -apart, 1.0, -1.0
    problem = Problem(X, y, 5.4e4, Kernel.gaussian(gamma=1.0), storage="dense")
    judged(problem, "smo-newton", 0.12, verify=False)


def test_outlying_examples_keep_double_precision() -> None:
    X, y = noisy(1200, 5)
    X[3] = 1e7
    problem = Problem(X, y, 1.0, Kernel.gaussian(gamma=0.2))
    assert single_rows.single_panel(problem).tiles.singles.size == 0
    assert single_rows.row_error(problem) == single_rows.SINGLE_ROUNDING  # they are rounded only
    judged(problem, "smo-newton")


def run_to_the_end(run: Any) -> tuple[str, list[Any]]:
    """Run; return the status, and the refinements seen."""
    seen: list[Any] = []
    for _ in range(100_000):
        status = smo_newton.advance(run, 50_000, 1 << 60)
        under_way = run.pairs.reconstruction
        if isinstance(under_way, reconstruction.Refinement) and under_way not in seen:
            seen.append(under_way)
        if status is not None:
            return status, seen
    raise AssertionError("no end")


# Compiling the loops of the second kernel takes a quarter of a minute.
@pytest.mark.parametrize(
    "kernel",
    [Kernel.gaussian(gamma=0.1), pytest.param(Kernel.polynomial(3, a=0.1, c=1.0), marks=pytest.mark.slow)],
)
def test_the_end_is_computed_in_double_precision(kernel: Kernel) -> None:
    X, y = noisy(1500, 8)
    problem = Problem(X, y, 2.0, kernel, storage="dense")
    run = started(problem)
    assert run.pairs.rounded and run.pairs.cache.rows.dtype == np.float32
    status, seen = run_to_the_end(run)
    assert status == "optimal" and seen
    state, order = run.pairs.state, run.pairs.panel.order
    K = np.asarray(
        np.exp(-0.1 * np.square(X[:, None] - X[None]).sum(axis=2))
        if kernel.name == "gaussian"
        else (0.1 * X @ X.T + 1.0) ** 3
    )
    true = y[order] - K[np.ix_(order, order)] @ state.beta
    last = seen[-1].places
    largest = float(np.diagonal(K).max())
    assert np.abs(state.G - true).max() <= reconstruction.gradient_error(run.pairs) + 1e-12 * largest
    assert np.abs(state.G - true)[last].max() <= 1e-9 * largest  # exact near the extremes
    assert 0 < last.size < problem.n
    rises, falls = (state.status & 1) != 0, (state.status & 2) != 0
    assert true[rises].max() - true[falls].min() <= 1e-3 + 1e-9 * largest
    assert certify(problem, smo_newton.finish(run, status)).passes(1e-3, 1.0)


@pytest.mark.parametrize("shared", [0, 1, 7, 19])
@pytest.mark.parametrize("d", [3, 40])
def test_sums_over_the_multipliers_are_those_of_whole_rows(d: int, shared: int) -> None:
    X, y = noisy(1500, d)
    problem = Problem(X, y, 1.0, Kernel.gaussian(gamma=0.7 / d))
    rng = np.random.default_rng(d)
    changed = rng.choice(1500, 1100, replace=False)
    examples = np.concatenate([changed[:shared], rng.choice(1500, 7, replace=False)])
    changes, base = rng.normal(size=1100), problem.layout("panel", panels.build_panel)
    panel = single_rows.part_of(base, base, changed)
    G, at, computed, read = y[examples].copy(), 0, 0, 0
    subtract_sums = compiled_for(gradient_rows.subtract_sums, gradient_rows.SUMS)
    while at < examples.size:
        at, entries, touched = subtract_sums(
            G,
            problem.prepare(),
            panel,
            *panels.block_of(problem),
            examples,
            changes,
            shared,
            at,
            0,
            np.empty(STRETCH),
        )
        computed, read = computed + entries, read + touched
    assert read == computed * d
    spared = examples.size * 1100 - computed
    assert shared * (shared - 4) // 2 <= spared <= shared * (shared - 1) // 2
    rows = np.array([exact(X, i, 0.7 / d)[changed] for i in examples])
    assert pytest.approx(y[examples] - rows @ changes, abs=1e-10) == G


def test_starts_from_a_gradient_in_either_precision() -> None:
    X, y = noisy(1300, 6)
    single, double = (Problem(X, y, C, Kernel.gaussian(gamma=0.2)) for C in (1.0, 1e5))
    first = solve(single, "smo-newton")
    again, _ = judged(single, "smo-newton", 3e-4, start=first.end)
    assert again.iterations < first.iterations
    judged(double, "smo-newton", start=again.end)
    judged(single, "smo-newton", 1e-8, start=again.end)


def true_gradient(problem: Problem, alpha: Any) -> Any:
    K = np.exp(-problem.kernel.gamma * np.square(problem.X[:, None] - problem.X[None]).sum(axis=2))
    return problem.y - K @ (problem.y * alpha)


@pytest.mark.parametrize("end", ["refined", "widening", "widening early"])
def test_the_error_of_the_gradient_is_known_at_any_end(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    # Rounding matters so much here that several rounds are needed.
    monkeypatch.setattr(second_order, "_SHARE", np.inf)
    monkeypatch.setattr(second_order, "ROUNDS", 1 if end == "widening" else 1000)
    if end != "widening early":
        monkeypatch.setattr(second_order, "_MOST_NOISE", np.inf)
    problem = Problem(*noisy(1100, 3), 300.0, Kernel.gaussian(gamma=0.3))
    run = started(problem, 1e-6)
    while run.pairs.rounded and smo_newton.advance(run, 50_000, 1 << 60) is None:
        pass
    assert run.pairs.futile >= 2 if end == "refined" else not run.pairs.rounded
    solution = smo_newton.finish(run, "iteration_limit")
    assert solution.end is not None
    wrong = np.abs(solution.end.gradient - true_gradient(problem, solution.alpha)).max()
    assert 1e-9 < wrong <= second_order.ROUNDING * solution.end.drift


@pytest.mark.parametrize(("scale", "C"), [(1e7, 1e-40), (1e-8, 1e40)])
def test_kernel_values_beyond_single_precision_are_not_rounded(scale: float, C: float) -> None:
    X, y = noisy(1100, 4)
    problem = Problem(scale * X, y, C, Kernel.polynomial(5, a=1.0, c=0.0), storage="dense")
    assert not started(problem).pairs.rounded
