"""The certificate against loops in plain Python, and against wrong answers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import Case, make_case
from svmrepro.solvers import Certificate, Kernel, Problem, Solution, certify, gram_matrix, solve


def by_loops(case: Case, alpha: list[float], bias: float) -> Certificate:
    """Compute a certificate entry by entry, without numpy's arithmetic."""
    X = (case.X.toarray() if sp.issparse(case.X) else case.X).tolist()
    y, C, kernel, n = case.y.tolist(), case.C, case.kernel, len(alpha)

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


@pytest.mark.parametrize("seed", range(12))
def test_the_gap_is_that_of_the_two_objectives(seed: int) -> None:
    case = dataclasses.replace(make_case(seed), C=2.0)
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0, case.C, size=case.y.size)
    positive, negative = (alpha[case.y == label].sum() for label in (1.0, -1.0))
    alpha[case.y > 0] *= min(1.0, negative / positive)
    alpha[case.y < 0] *= min(1.0, positive / negative)
    problem, bias = case.problem(), float(rng.normal())
    found = certify(problem, Solution(alpha, None, bias, "optimal", 0, 0))
    assert found.gap == pytest.approx(found.primal - found.dual, rel=1e-9)
    without = certify(case.problem(bias=False), Solution(alpha, None, 0.0, "optimal", 0, 0))
    assert without.gap == pytest.approx(without.primal - without.dual, rel=1e-9)


@pytest.fixture
def solved() -> tuple[Problem, Solution]:
    case = dataclasses.replace(make_case(1), C=1.0)
    problem = case.problem()
    return problem, solve(problem, "smo")


def accepted(problem: Problem, solution: Solution) -> bool:
    return certify(problem, solution).passes(1e-3, 2.0)


def test_right_answer_passes(solved: tuple[Problem, Solution]) -> None:
    assert accepted(*solved)


def test_wrong_answers_fail(solved: tuple[Problem, Solution]) -> None:
    problem, solution = solved
    assert solution.alpha is not None
    assert not accepted(problem, dataclasses.replace(solution, bias=solution.bias + 0.01))
    assert not accepted(problem, dataclasses.replace(solution, bias=-solution.bias))
    assert not accepted(problem, dataclasses.replace(solution, alpha=np.zeros(problem.n)))
    assert not accepted(problem, dataclasses.replace(solution, alpha=0.9 * solution.alpha))
    one = solution.alpha.copy()
    one[np.flatnonzero(one)[0]] = 0.0
    assert not accepted(problem, dataclasses.replace(solution, alpha=one))
    # A shift along y.a = 0 keeps the constraint but not the optimum.
    i, j = (np.flatnonzero((solution.alpha > 0) & (problem.y == label))[0] for label in (1.0, -1.0))
    pair = solution.alpha.copy()
    pair[[i, j]] *= 0.0 if pair[i] == pair[j] else 0.5
    assert not accepted(problem, dataclasses.replace(solution, alpha=pair))


def test_equality_constraint_alone_is_seen() -> None:
    # Without a bias the optimum satisfies all constraints but the equality.
    problem = Problem([[1.0], [-2.0]], [1.0, -1.0], 10.0)
    free = Problem([[1.0], [-2.0]], [1.0, -1.0], 10.0, bias=False)
    solution = solve(free, "smo-fixed-threshold")
    assert accepted(free, solution)
    assert certify(free, solution).equality_residual == 0.0
    assert certify(problem, solution).equality_residual > 0.1
    assert not accepted(problem, solution)


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
    with pytest.raises(ValueError, match="this solution has none"):
        certify(problem, dataclasses.replace(solution, alpha=None))
    with pytest.raises(ValueError, match=r"^alpha must have shape \(\d+,\), got \(\d+,\)$"):
        certify(problem, dataclasses.replace(solution, alpha=solution.alpha[:-1]))


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    from svmrepro.solvers import reference_kernels

    rng = np.random.default_rng(0)
    A, B, coefficients = rng.normal(size=(37, 5)), rng.normal(size=(11, 5)), rng.normal(size=11)
    for kernel in (Kernel.gaussian(gamma=0.3), Kernel.polynomial(3, c=1.0), Kernel.linear()):
        whole = reference_kernels.kernel_product(kernel, A, B, coefficients)
        with monkeypatch.context() as patch:
            patch.setattr(reference_kernels, "_COLUMNS", 3)
            patch.setattr(reference_kernels, "_MOST_ROWS", 5)
            parts = reference_kernels.kernel_product(kernel, A, B, coefficients)
            sparse = reference_kernels.kernel_product(kernel, sp.csr_array(A), sp.csr_array(B), coefficients)
        assert parts == pytest.approx(whole, rel=1e-12)
        assert sparse == pytest.approx(whole, rel=1e-12)
        assert not reference_kernels.kernel_product(kernel, A, B[:0], coefficients[:0]).any()


def test_decision_function_needs_something(solved: tuple[Problem, Solution]) -> None:
    problem, solution = solved
    with pytest.raises(ValueError, match="neither weights nor multipliers"):
        dataclasses.replace(solution, alpha=None, weights=None).decision_function(problem, problem.X)
