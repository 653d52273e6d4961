"""The certificate against loops in plain Python, and against wrong answers."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import Case, dense, judged, make_case
from svmrepro.solvers import (
    Blocks,
    Certificate,
    Kernel,
    Problem,
    Solution,
    certify,
    gram_matrix,
    reference_kernels,
    solve,
)
from svmrepro.solvers.storage.kernel_transforms import fill_diagonal


def by_loops(case: Case, alpha: list[float], bias: float) -> Certificate:
    """Compute a certificate entry by entry, without numpy's arithmetic."""
    X, y, C, kernel, n = dense(case.X).tolist(), case.y.tolist(), case.C, case.kernel, len(alpha)

    def k(a: list[float], b: list[float]) -> float:
        if kernel.name == "gaussian":
            return math.exp(-kernel.gamma * math.fsum((p - q) ** 2 for p, q in zip(a, b, strict=True)))
        dot = math.fsum(p * q for p, q in zip(a, b, strict=True))
        return dot if kernel.name == "linear" else (kernel.a * dot + kernel.c) ** kernel.degree

    g = [math.fsum(y[j] * alpha[j] * k(X[j], X[i]) for j in range(n)) for i in range(n)]
    quadratic = math.fsum(y[i] * alpha[i] * g[i] for i in range(n))
    violation = 0.0
    up, down = -math.inf, math.inf
    for i in range(n):
        margin = y[i] * (g[i] + bias)
        if alpha[i] < C:
            violation = max(violation, 1 - margin)
        if alpha[i] > 0:
            violation = max(violation, margin - 1)
        if (y[i] > 0 and alpha[i] < C) or (y[i] < 0 and alpha[i] > 0):
            up = max(up, y[i] - g[i])
        if (y[i] > 0 and alpha[i] > 0) or (y[i] < 0 and alpha[i] < C):
            down = min(down, y[i] - g[i])
    dual = math.fsum(alpha) - quadratic / 2
    primal = quadratic / 2 + C * math.fsum(max(0.0, 1 - y[i] * (g[i] + bias)) for i in range(n))
    return Certificate(
        dual=dual,
        primal=primal,
        gap=primal - dual,
        max_violation=violation,
        pair_gap=max(up - down, 0.0),
        equality_residual=abs(math.fsum(y[i] * alpha[i] for i in range(n))),
        n_bound=sum(a == C for a in alpha),
        n_nonbound=sum(0 < a < C for a in alpha),
    )


@pytest.mark.parametrize("seed", range(24))
def test_against_loops(seed: int) -> None:
    case = dataclasses.replace(make_case(seed), C=2.0)
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0, case.C, size=case.y.size)  # any point of the box, feasible or not
    alpha[rng.random(alpha.size) < 0.3] = 0.0
    alpha[rng.random(alpha.size) < 0.3] = case.C
    bias = float(rng.normal())
    problem, solution = case.problem(), Solution(alpha, None, bias, "optimal", 0, 0)
    expected = by_loops(case, alpha.tolist(), bias)
    compared = ("dual", "primal", "max_violation", "pair_gap", "equality_residual", "n_bound", "n_nonbound")
    for found in (certify(problem, solution), certify(problem, solution, gram_matrix(problem))):
        for name in compared:
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9), name
        assert found.promise == "kkt"
        assert found.rounding <= 1e-9 * (1.0 + abs(expected.primal))
    # At feasible multipliers the gap is that of the two objectives.
    positive, negative = (max(alpha[case.y == label].sum(), 1e-300) for label in (1.0, -1.0))
    balanced = alpha * np.where(case.y > 0, min(1.0, negative / positive), min(1.0, positive / negative))
    for multipliers, own_bias in ((balanced, True), (alpha, False)):
        feasible = Solution(multipliers, None, bias if own_bias else 0.0, "optimal", 0, 0)
        found = certify(case.problem(bias=own_bias), feasible)
        assert found.gap == pytest.approx(found.primal - found.dual, rel=1e-9)


@pytest.fixture
def solved() -> tuple[Problem, Solution]:
    problem = dataclasses.replace(make_case(1), C=1.0).problem()
    return problem, judged(problem, "smo")[0]


def test_wrong_answers_fail(solved: tuple[Problem, Solution]) -> None:
    problem, solution = solved
    alpha = solution.alpha
    assert alpha is not None
    one = alpha.copy()
    one[np.flatnonzero(one)[0]] = 0.0
    # A shift along y.a = 0 keeps the constraint but not the optimum.
    i, j = (np.flatnonzero((alpha > 0) & (problem.y == label))[0] for label in (1.0, -1.0))
    pair = alpha.copy()
    pair[[i, j]] *= 0.0 if pair[i] == pair[j] else 0.5
    wrong: list[dict[str, Any]] = [{"bias": solution.bias + 0.01}, {"bias": -solution.bias}]
    wrong += [{"alpha": values} for values in (np.zeros(problem.n), 0.9 * alpha, one, pair)]
    for changes in wrong:
        assert not certify(problem, dataclasses.replace(solution, **changes)).passes(1e-3, 2.0), changes


@pytest.mark.parametrize("wrong", [-1e-12, 1.0 + 1e-12, float("nan"), float("inf")])
def test_alpha_outside_the_box_raises(solved: tuple[Problem, Solution], wrong: float) -> None:
    problem, solution = solved
    assert solution.alpha is not None
    alpha = solution.alpha.copy()
    alpha[3] = wrong
    with pytest.raises(ValueError, match=rf"^alpha\[3\] = .*{wrong}.* is not in \[0, 1\]$"):
        certify(problem, dataclasses.replace(solution, alpha=alpha))


def test_missing_or_short_alpha_raises(solved: tuple[Problem, Solution]) -> None:
    problem, solution = solved
    assert solution.alpha is not None
    for alpha, message in (
        (None, "this solution has none"),
        (solution.alpha[:-1], r"^alpha must have shape \(\d+,\), got \(\d+,\)$"),
    ):
        with pytest.raises(ValueError, match=message):
            certify(problem, dataclasses.replace(solution, alpha=alpha))
    with pytest.raises(ValueError, match="neither weights nor multipliers"):
        dataclasses.replace(solution, alpha=None, weights=None).decision_function(problem, problem.X)


def test_kernel_sums_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    A, B, coefficients = rng.normal(size=(37, 5)), rng.normal(size=(11, 5)), rng.normal(size=11)
    for kernel in (Kernel.gaussian(gamma=0.3), Kernel.polynomial(3, c=1.0), Kernel.linear()):
        whole = reference_kernels.kernel_product(kernel, A, B, coefficients)
        with monkeypatch.context() as patch:
            patch.setattr(reference_kernels, "_COLUMNS", 3)
            patch.setattr(reference_kernels, "_MOST_ROWS", 5)
            for form in (np.asarray, sp.csr_array):
                parts = reference_kernels.kernel_product(kernel, form(A), form(B), coefficients)
                assert parts == pytest.approx(whole, rel=1e-12)
                both = np.column_stack([coefficients, -coefficients])
                parts = reference_kernels.kernel_product(kernel, form(A), B, both)
                assert parts == pytest.approx(np.column_stack([whole, -whole]), rel=1e-12)
        assert not reference_kernels.kernel_product(kernel, A, B[:0], coefficients[:0]).any()


@pytest.mark.parametrize("share", [0.01, 0.5])  # of entries that are not zero
def test_sparse_examples_have_the_values_of_dense_ones(share: float) -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.normal(size=(m, 300)) * (rng.random((m, 300)) < share) for m in (30, 40))
    coefficients = rng.normal(size=40)
    for kernel in (Kernel.gaussian(gamma=0.3), Kernel.gaussian(gamma=1e6), Kernel.polynomial(3, c=1.0)):
        dense = reference_kernels.kernel_sums(kernel, A, B, coefficients)
        found = reference_kernels.kernel_sums(kernel, sp.csr_array(A), sp.csr_array(B), coefficients)
        assert (np.abs(found.value - dense.value) <= found.error + dense.error).all()
        assert found.error.max() <= 10.0 * dense.error.max() + 1e-9


@pytest.mark.parametrize("kernel", [Kernel.linear(), Kernel.gaussian(0.5), Kernel.precomputed()])
def test_decision_values_of_any_array(kernel: Kernel) -> None:
    X = np.diag(np.arange(1.0, 7.0))
    problem = Problem(X, [-1, 1, -1, 1, 1, -1], 1.0, kernel)
    solution = solve(problem, "smo")
    values = solution.decision_function(problem, X)
    parts = X[:2], X[2:]
    for form in (
        *(form(X) for form in (np.ndarray.tolist, sp.csc_matrix, sp.coo_array, sp.dok_array, sp.bsr_array)),
        *(Blocks([kind(part) for part in parts]) for kind in (np.array, np.float32, sp.csr_array)),
    ):
        assert solution.decision_function(problem, form) == pytest.approx(values)
    for wrong, message in ((1j * X, "X must be real"), (X + np.nan, "X holds a value that is not finite")):
        for form in (np.asarray, sp.csr_array):
            with pytest.raises(ValueError, match=f"^{message}$"):
                solution.decision_function(problem, form(wrong))
    with pytest.raises(ValueError, match=r"^X must not be masked$"):
        solution.decision_function(problem, np.ma.masked_array(X, X > 5.0))
    for wrong in (X[:, :5], X[0], np.hstack([X, X])):
        with pytest.raises(ValueError, match=r"^X must have shape \(m, 6\), got "):
            solution.decision_function(problem, wrong)


@pytest.mark.parametrize("size", [1.0, 1e9], ids=["small", "large"])  # of the coefficients
def test_errors_of_sums_with_distances_from_differences(size: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 3)) + 1e6 * np.repeat([0.0, 1.0], 6)[:, None]
    c, kernel, order = size * rng.normal(size=12), Kernel.gaussian(gamma=0.3), rng.permutation(12)
    exact = exact_gaussian_sums(X, c, 0.3)
    matrix = reference_kernels.kernel_matrix(kernel, X)
    moved = reference_kernels.gaussian_matrix(kernel, X[np.argsort(order)]).permuted(order)
    assert moved.direct
    for found in (
        reference_kernels.kernel_sums(kernel, X, X, c),
        reference_kernels.matrix_sums(kernel, X, matrix, c),
        reference_kernels.matrix_sums(kernel, X, moved, c),
    ):
        for value, error, true in zip(found.value, found.error, exact, strict=True):
            assert abs(Decimal(float(value)) - true) <= Decimal(float(error)) <= Decimal(1e-13 * size)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [7, 1300])
def test_weights_whose_terms_cancel_are_exact(n: int, form: Any) -> None:
    rng = np.random.default_rng(n)
    X, c = rng.normal(size=(n, 3)), 1e9 * rng.normal(size=n)
    c[rng.random(n) < 0.2] = 0.0
    X[-1] = -(X[:-1].T @ c[:-1]) / 1e7  # the rest cancels but for rounding
    c[-1] = 1e7
    plain = reference_kernels.weighted_sum(form(X), c)
    found, _ = reference_kernels.weights_and_outputs(form(X), c)
    for k in range(3):
        exact = sum((Fraction(a) * Fraction(b) for a, b in zip(c, X[:, k], strict=True)), Fraction())
        assert abs(Fraction(float(found.value[k])) - exact) <= Fraction(float(found.error[k]))
        assert found.error[k] <= 3e-16 * abs(float(exact)) + 1e-12
        assert found.error[k] < 1e-4 * plain.error[k]
    # Values that cannot be halved keep the first sum.
    huge = reference_kernels.weights_and_outputs(form(1e300 * X[:2]), np.array([1e7, -1.0]))[0]
    assert np.isfinite(huge.error).all()


def test_both_bounds_of_errors_of_distances() -> None:
    rng = np.random.default_rng(2)
    d, t = 1000, rng.uniform(0.0, 8.0, size=(9, 5))
    share = rng.uniform(0.5, 1.0, size=5)
    # the largest coefficients whose errors are bounded by 1 / e, and somewhat larger ones
    most = reference_kernels._NEGLIGIBLE * math.e / (reference_kernels.growth(d + 5) * float(share.sum()))
    for size in (0.9 * most, 1.1 * most):
        c = size * share
        found = reference_kernels._distance_errors(np.exp(-t), c, d)
        error = reference_kernels.growth(d + 2) * (
            (t * np.exp(-t)) @ c
        )  # of a relative error of each distance
        assert (found >= error).all()
        assert (np.ptp(found) == 0.0) == (size < most)
        assert (found <= reference_kernels.growth(d + 6) * c.sum() / math.e).all()


def exact_gaussian_sums(X: Any, c: Any, gamma: float) -> list[Decimal]:
    """Return ``sum_j c_j exp(-gamma |x_i - x_j|^2)`` for all i, to 40 digits."""
    with localcontext() as context:
        context.prec = 40
        rows, coefficients = [[Decimal(float(v)) for v in x] for x in X], [Decimal(float(v)) for v in c]
        return [
            sum(
                (
                    coefficient
                    * (-Decimal(gamma) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()
                    for z, coefficient in zip(rows, coefficients, strict=True)
                ),
                Decimal(0),
            )
            for x in rows
        ]


def test_a_kernel_without_sums_is_refused(solved: tuple[Problem, Solution]) -> None:
    """The last of several branches must not stand for a kernel that is added later."""
    problem, solution = solved
    unknown = Kernel.gaussian(1.0)
    object.__setattr__(unknown, "name", "laplacian")
    object.__setattr__(problem, "kernel", unknown)
    with pytest.raises(NotImplementedError, match="laplacian"):
        certify(problem, dataclasses.replace(solution, weights=None))
    with pytest.raises(NotImplementedError, match="laplacian"):
        reference_kernels.diagonal(unknown, problem.X)
    with pytest.raises(NotImplementedError, match="laplacian"):
        fill_diagonal(np.empty(problem.n), unknown, problem.prepare())
