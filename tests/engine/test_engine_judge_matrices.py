"""The judge's kernel matrices: shared by the permutations of the same examples."""

import numpy as np
import pytest
from engine_support import measure, prepare
from scipy.sparse import csr_array
from svmrepro.datasets.permutations import permuted_rows
from svmrepro.solvers import Kernel, Problem, certify, gram_matrix, solve
from svmrepro.solvers.reference_kernels import gaussian_matrix
from svmrepro.workflow.measurement import judge_matrices
from svmrepro.workflow.measurement.judge_matrices import JudgeMatrices

#: The value of a Gaussian kernel is in [0, 1]; distances of these examples are known to some 1e-15.
ROUNDING = 1e-13


def problem_of(X, kernel=None, form=np.asarray):
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    return Problem(form(X), y, 10.0, kernel or Kernel.gaussian(gamma=0.5))


@pytest.fixture
def X():
    return np.random.default_rng(3).normal(size=(70, 4))


def assert_of(found, problem):
    rows = np.arange(problem.n) if found.order is None else found.order
    np.testing.assert_allclose(found.values[np.ix_(rows, rows)], gram_matrix(problem), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_matrices_of_permutations(X, form):
    matrices = JudgeMatrices()
    for permutation in (None, 4, 0, 4):
        rows = np.arange(70) if permutation is None else permuted_rows(70, permutation)
        for name, values in ((None, X), ("standardised", 3.0 * X)):
            problem = problem_of(values[rows], form=form)
            assert_of(matrices.of(problem, name, "these", permutation), problem)


def test_other_examples_and_other_kernels(X):
    matrices = JudgeMatrices()
    for seed, gamma in ((0, 0.5), (1, 0.5), (1, 2.0), (0, 2.0), (0, 0.5)):
        problem = problem_of(X + seed * np.arange(70)[:, None], Kernel.gaussian(gamma=gamma))
        assert_of(matrices.of(problem, None, seed), problem)
    assert_of(matrices.of(problem_of(X[:30]), None, 0), problem_of(X[:30]))


def test_examples_that_are_not_those_of_the_key_are_found_out(X):
    matrices = JudgeMatrices()
    matrices.of(problem_of(X), None, "these")
    for problem, permutation in ((problem_of(X[::-1]), None), (problem_of(X), 1)):
        with pytest.raises(RuntimeError, match="the kernel matrix is of other examples: a value differs by "):
            matrices.of(problem, None, "these", permutation)


def test_a_matrix_does_not_depend_on_the_permutation_that_came_first(X):
    found = []
    for permutation in range(2):
        problem = problem_of(X[permuted_rows(70, permutation)])
        found.append(JudgeMatrices().of(problem, None, "these", permutation).values.tobytes())
    assert found[0] == found[1]


def test_a_matrix_is_computed_once_for_all_permutations(X):
    matrices = JudgeMatrices()
    found = [
        matrices.of(problem_of(X[permuted_rows(70, permutation)]), None, "these", permutation)
        for permutation in (0, 0, 1)
    ]
    assert found[0].values is found[1].values is found[2].values


@pytest.mark.parametrize("far", [0.0, 1e5], ids=["near", "far"])  # distances of far examples: by differences
def test_certificates_with_a_shared_matrix(X, far):
    matrices = JudgeMatrices()
    X = X + far * np.repeat([0.0, 1.0], 35)[:, None]
    for permutation in range(3):
        problem = problem_of(X[permuted_rows(70, permutation)])
        solution = solve(problem, "smo2", eps=1e-3)
        matrix = matrices.of(problem, None, "these", permutation)
        shared = certify(problem, solution, matrix)
        alone = certify(problem, solution)
        assert shared.passes(1e-3, 1.0) and alone.passes(1e-3, 1.0)
        rounding = alone.rounding + shared.rounding
        assert shared.max_violation == pytest.approx(alone.max_violation, abs=rounding)
        assert shared.dual == pytest.approx(alone.dual, abs=rounding * alone.alpha_sum)
        assert matrix.direct == (far > 0)
        wrong = certify(problem, solution, matrix.values)  # rows in another order are another problem
        assert not wrong.passes(1e-3, 1.0)


@pytest.mark.parametrize("order", [[0, 1, 2, 2], [0, 1, 2, 4], [0, 1, 2]], ids=str)
def test_an_order_that_is_none_raises(X, order):
    with pytest.raises(ValueError, match="order must name every row of the matrix once"):
        gaussian_matrix(Kernel.gaussian(gamma=0.5), X[:4]).permuted(np.array(order))


@pytest.mark.parametrize("kernel", [Kernel.linear(), Kernel.polynomial(degree=2)], ids=lambda k: k.name)
def test_no_matrix_where_the_judge_does_not_read_it(X, kernel):
    assert JudgeMatrices().of(problem_of(X, kernel), None, "these") is None


def test_no_matrix_that_is_too_large(X, monkeypatch):
    monkeypatch.setattr(judge_matrices, "MOST_BYTES", 8 * 70**2 - 1)
    assert JudgeMatrices().of(problem_of(X), None, "these") is None


@pytest.mark.parametrize("resample", [False, True], ids=["one sample", "samples"])
def test_permutations_of_an_experiment(resample, monkeypatch):
    """The duals of a run are those of certificates without a shared matrix."""
    gaussian = {"kernel": {"name": "gaussian", "sigma2": 10}, "permutations": 3, "repeats": 1}
    contenders = {name: {"solver": name, "storage": "index"} for name in ("smo2", "pasmo")}

    def duals():
        changes = {**gaussian, "resample": resample}
        lines, _ = measure(prepare(contenders, (20, 40), changes, results_dir=f"results-{len(computed)}"))
        assert [line["status"] for line in lines] == ["optimal"] * 12
        return [line["certificate"]["dual"] for line in lines]

    computed = []
    monkeypatch.setattr(
        judge_matrices, "gaussian_matrix", lambda *given: computed.append(1) or gaussian_matrix(*given)
    )
    shared = duals()
    assert len(computed) == (6 if resample else 2)
    monkeypatch.setattr(judge_matrices, "MOST_BYTES", 0)
    assert duals() == pytest.approx(shared, rel=1e-12)
