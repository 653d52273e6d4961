"""Warm starts over a grid: results as of cold solves, each with its own status."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import banana_like, cloud, words
from svmrepro.solvers import Kernel, Problem, certify, solve, solve_grid
from svmrepro.solvers.solution import OPTIMAL
from svmrepro.solvers.warm_starts import scaled_start

BOUNDS = (0.03, 1.0, 30.0)
WIDTHS = (0.02, 0.5)
GAUSSIANS = tuple(Kernel.gaussian(gamma=gamma) for gamma in WIDTHS)
#: Cheap rows, expensive rows whose dot products are shared, and sparse ones of the same kind.
EXAMPLES = {
    "cheap": banana_like(150),
    "binary": words(150),
    "wide": cloud(120, d=40),
    "sparse": (lambda X, y: (sp.csr_array(X), y))(*cloud(120, d=40, share=0.1)),
}


def agree(cell, cold, eps):
    """Two solutions to eps: both certified, with objectives no further apart than their gaps."""
    warm, plain = certify(cell.problem, cell.solution), certify(cell.problem, cold)
    assert warm.passes(eps, 2.0) and plain.passes(eps, 2.0)
    assert abs(warm.dual - plain.dual) <= max(warm.gap, plain.gap) + 1e-9 * abs(plain.dual)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("name", ["smo-newton", "smo2", "csmo", "chunking"])
def test_every_cell_is_solved_as_a_cold_solve_does(examples, name):
    X, y = EXAMPLES[examples]
    cells = list(solve_grid(X, y, reversed(BOUNDS), GAUSSIANS, name, verify=True))
    assert [(cell.problem.kernel.gamma, cell.problem.C) for cell in cells] == [
        (gamma, C) for gamma in WIDTHS for C in BOUNDS
    ]
    for cell in cells:
        assert cell.solution.status == OPTIMAL
        agree(cell, solve(Problem(X, y, cell.problem.C, cell.problem.kernel), name), 1e-3)


@pytest.mark.parametrize("kernel", [Kernel.linear(), Kernel.polynomial(3, a=0.1, c=1.0)])
def test_other_kernels_have_paths_over_C(kernel):
    X, y = EXAMPLES["wide"]
    for cell in solve_grid(X, y, BOUNDS, [kernel]):
        agree(cell, solve(Problem(X, y, cell.problem.C, kernel), "smo-newton"), 1e-3)
        np.testing.assert_allclose(
            cell.solution.decision_function(cell.problem, X[:5]),
            X[:5] @ cell.solution.weights + cell.solution.bias
            if kernel.name == "linear"
            else (0.1 * X[:5] @ X.T + 1.0) ** 3 @ (y * cell.solution.alpha) + cell.solution.bias,
        )


def test_tolerances_go_from_loose_to_tight():
    X, y = EXAMPLES["cheap"]
    cells = list(solve_grid(X, y, [1.0, 10.0], GAUSSIANS[1:], eps=[1e-5, 1e-2, 1e-3]))
    assert [(cell.problem.C, cell.eps) for cell in cells] == [
        (C, eps) for C in (1.0, 10.0) for eps in (1e-2, 1e-3, 1e-5)
    ]
    for cell in cells:
        assert certify(cell.problem, cell.solution).passes(cell.eps, 1.0)


def test_scaling_saves_the_steps_of_a_cold_start_where_most_multipliers_are_bounded():
    X, y = cloud(400, d=5, noise=3.0)
    kernel = Kernel.gaussian(gamma=0.01)
    cells = list(solve_grid(X, y, [0.001, 0.004], [kernel]))
    cold = solve(cells[1].problem, "smo-newton")
    assert cells[1].solution.iterations < 0.5 * cold.iterations


def test_a_squared_hinge_goes_on_from_multipliers_above_C():
    X, y = cloud(60, 4, 2)
    cells = list(solve_grid(X, y, [0.1, 1.0, 10.0, 100.0], [Kernel.linear()], "lsvm", bias=False))
    cold = [solve(cell.problem, "lsvm").iterations for cell in cells]
    assert cells[0].solution.alpha.max() > 0.1 and all(cell.solution.status == OPTIMAL for cell in cells)
    assert sum(cell.solution.iterations for cell in cells) < sum(cold)


def test_a_limited_cell_has_its_own_status_and_the_grid_goes_on():
    X, y = EXAMPLES["cheap"]
    cells = list(solve_grid(X, y, BOUNDS, GAUSSIANS, iteration_limit=100, verify=True))
    statuses = [cell.solution.status for cell in cells]
    assert len(cells) == 6 and "iteration_limit" in statuses
    for cell in cells:
        certificate = certify(cell.problem, cell.solution)
        assert certificate.passes(1e-3, 1.0) == (cell.solution.status == OPTIMAL)
    # The rest of the way is made from there.
    alpha = next(cell for cell in cells if cell.solution.status != OPTIMAL)
    agree(alpha._replace(solution=solve(alpha.problem, "smo-newton", start=alpha.solution.alpha)),
          solve(alpha.problem, "smo-newton"), 1e-3)  # fmt: skip


def test_a_given_gradient_is_used_and_a_drifting_one_renewed():
    X, y = EXAMPLES["cheap"]
    problem = Problem(X, y, 1.0, GAUSSIANS[1])
    solution = solve(problem, "smo-newton")
    again = solve(problem, "smo-newton", start=solution.end)
    assert (again.iterations, again.kernel_evaluations) == (0, 0)
    assert again.status == OPTIMAL and (again.alpha == solution.alpha).all()
    # A gradient whose error is said to be large is computed again before the end.
    wrong = solution.end._replace(gradient=np.zeros(problem.n), drift=1e15)
    repaired = solve(problem, "smo-newton", start=wrong, verify=False)
    assert repaired.kernel_evaluations > 0 and certify(problem, repaired).passes(1e-3, 1.0)


def test_multipliers_that_rounding_unbalanced_are_no_start():
    problem = Problem(*cloud(40, 3, 1), 1.0, Kernel.gaussian(0.5))
    found = solve(problem, "smo2")
    assert scaled_start(found.alpha, problem.bounds, problem.with_C(2.0), 0.0) is not None
    off = found.alpha.copy()
    off[off.argmax()] *= 0.9
    assert scaled_start(off, problem.bounds, problem.with_C(2.0), 0.0) is None


def test_distances_that_cancel_are_not_shared():
    X, y = cloud(60, d=40)
    far = X + 1e9  # moved back to the origin
    spread = np.where(np.arange(60)[:, None] < 30, 1e9, -1e9) + X
    for examples in (far, spread):
        for cell in solve_grid(examples, y, [1.0], [Kernel.gaussian(gamma=0.1)] * 2, verify=True):
            assert cell.solution.status == OPTIMAL


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"C": []}, "C must hold at least one"),
        ({"C": 1.0}, "C must be a sequence"),
        ({"C": [1.0, np.nan]}, "C must hold positive finite numbers only, got nan"),
        ({"C": [True]}, "C must hold positive finite numbers only, got True"),
        ({"C": np.array(1.0)}, "C must be a sequence"),
        ({"eps": -1e-3}, "eps must hold positive"),
        ({"eps": None}, "eps must be a sequence"),
        ({"kernels": GAUSSIANS[0]}, "kernels must be"),
        ({"kernels": ["gaussian"]}, "kernel must be a Kernel, got str"),
        ({"name": "smo3"}, "solver 'smo3' unknown"),
        ({"matrix_mb": -1.0}, "matrix_mb must be"),
        ({"verify": "perhaps"}, "verify must be"),
        ({"iteration_limit": -1}, "iteration_limit must be a positive number, got -1"),
        ({"thread": 2}, "solver 'smo-newton' has no option 'thread'"),
        ({"name": "dual-descent"}, "solver 'dual-descent' needs a linear kernel"),
        ({"start": np.zeros(150)}, "start cannot be given"),
    ],
)
def test_wrong_arguments_are_named(wrong, named):
    X, y = EXAMPLES["cheap"]
    given = {"X": X, "y": y, "C": BOUNDS, "kernels": GAUSSIANS, **wrong}
    with pytest.raises(ValueError, match=re.escape(named)) as error:
        solve_grid(**given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("form", [np.asfortranarray, sp.csc_array])
def test_all_kernels_have_the_same_copy_of_the_examples(form):
    X, y = EXAMPLES["cheap"]
    first, second = (cell.problem.X for cell in solve_grid(form(X), y, [1.0], GAUSSIANS, verify=None))
    assert np.shares_memory(*((X.data for X in (first, second)) if sp.issparse(first) else (first, second)))


def test_solvers_without_a_start_are_refused():
    X, y = EXAMPLES["cheap"]
    with pytest.raises(ValueError, match="solver 'libsvm' cannot go on from given multipliers"):
        next(solve_grid(X, y, BOUNDS, GAUSSIANS, "libsvm"))


def test_the_gradient_of_less_accurate_kernel_values_is_not_scaled():
    # Far from the origin; only a large C asks for examples moved to it. Their kernel values differ by more
    # than such a C allows.
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(150, 2)) + 2000.0, rng.choice([-1.0, 1.0], 150)
    small, large = solve_grid(X, y, [1.0, 1e5], [Kernel.gaussian(1.0)], verify=False)
    assert small.solution.status == OPTIMAL
    assert large.solution.status == OPTIMAL and certify(large.problem, large.solution).passes(1e-3, 1.0)


def test_bounds_in_slightly_other_proportions_are_no_multiple():
    # Many multipliers at C move with their bounds, by more than the gradient shows.
    rng = np.random.default_rng(0)
    copies, apart = 0.3 * rng.normal(size=(100, 4)), rng.normal(size=(60, 4))
    copies[:, 0] = 0.05 * np.abs(copies[:, 0])
    apart[:, 0] = np.where(np.arange(60) % 2, 2.0, -2.0)
    X = np.vstack([copies, copies, apart])
    y = np.r_[np.ones(100), -np.ones(100), np.sign(apart[:, 0])]
    bounds = np.where(y == y[0], 3.5e6, 3.5e6 * (1.0 + 9e-13))
    first, second = (Problem(X, y, C, Kernel.gaussian(0.1)) for C in (np.full(260, 3.5e6), 10.0 * bounds))
    end = solve(first, "smo2", verify=None).end
    start = scaled_start(end, first.bounds, second, first.exponent_error)
    solution = solve(second, "smo2", start=start, verify=None)
    assert solution.status == OPTIMAL and certify(second, solution).passes(1e-3, 1.0)
