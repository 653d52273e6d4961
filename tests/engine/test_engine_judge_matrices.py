"""The judge's kernel matrices: shared by the permutations of the same examples."""

import numpy as np
import pytest
from svmrepro.datasets.permutations import permuted_rows
from svmrepro.solvers import Kernel, Problem, certify, gram_matrix, solve
from svmrepro.workflow.measurement import judge_matrices
from svmrepro.workflow.measurement.judge_matrices import JudgeMatrices

#: The value of a Gaussian kernel is in [0, 1]; distances of these examples are known to some 1e-15.
ROUNDING = 1e-13


def problem_of(X, kernel=None):
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    return Problem(X, y, 10.0, kernel or Kernel.gaussian(gamma=0.5))


@pytest.fixture
def X():
    return np.random.default_rng(3).normal(size=(70, 4))


def assert_of(shared, problem):
    rows = slice(None) if shared.order is None else shared.order
    np.testing.assert_allclose(shared.matrix[rows][:, rows], gram_matrix(problem), rtol=0, atol=ROUNDING)


def test_matrices_of_permutations(X):
    matrices = JudgeMatrices()
    for permutation in (None, 4, 0, 4):
        rows = np.arange(70) if permutation is None else permuted_rows(70, permutation)
        for name, values in ((None, X), ("standardised", 3.0 * X)):
            problem = problem_of(values[rows])
            assert_of(matrices.of(problem, name, "these", permutation), problem)


def test_other_examples(X):
    matrices = JudgeMatrices()
    for seed in (0, 1, 0):
        problem = problem_of(X + seed * np.arange(70)[:, None])
        assert_of(matrices.of(problem, None, (70, seed)), problem)


def test_a_matrix_does_not_depend_on_the_permutation_that_came_first(X):
    found = []
    for permutation in range(2):
        problem = problem_of(X[permuted_rows(70, permutation)])
        found.append(JudgeMatrices().of(problem, None, "these", permutation).matrix.tobytes())
    assert found[0] == found[1]


def test_a_matrix_is_computed_once_for_all_permutations(X):
    matrices = JudgeMatrices()
    found = [
        matrices.of(problem_of(X[permuted_rows(70, permutation)]), None, "these", permutation)
        for permutation in (0, 0, 1)
    ]
    assert found[0].matrix is found[1].matrix is found[2].matrix


@pytest.mark.parametrize("far", [0.0, 1e5], ids=["near", "far"])  # distances of far examples: by differences
def test_certificates_with_a_shared_matrix(X, far):
    matrices = JudgeMatrices()
    X = X + far * np.repeat([0.0, 1.0], 35)[:, None]
    for permutation in range(3):
        problem = problem_of(X[permuted_rows(70, permutation)])
        solution = solve(problem, "smo2", eps=1e-3)
        matrix, order = matrices.of(problem, None, "these", permutation)
        shared = certify(problem, solution, matrix, order=order)
        alone = certify(problem, solution)
        assert shared.passes(1e-3, 1.0) and alone.passes(1e-3, 1.0)
        rounding = alone.rounding + shared.rounding
        assert shared.max_violation == pytest.approx(alone.max_violation, abs=rounding)
        assert shared.dual == pytest.approx(alone.dual, abs=rounding * alone.alpha_sum)
        wrong = certify(problem, solution, matrix)  # rows in another order are another problem
        assert not wrong.passes(1e-3, 1.0)


@pytest.mark.parametrize("kernel", [Kernel.linear(), Kernel.polynomial(degree=2)], ids=lambda k: k.name)
def test_no_matrix_where_the_judge_does_not_read_it(X, kernel):
    assert JudgeMatrices().of(problem_of(X, kernel), None, "these") is None


def test_no_matrix_that_is_too_large(X, monkeypatch):
    monkeypatch.setattr(judge_matrices, "MOST_BYTES", 8 * 70**2 - 1)
    assert JudgeMatrices().of(problem_of(X), None, "these") is None
