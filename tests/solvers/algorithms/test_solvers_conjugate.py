"""Conjugate SMO."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from solver_cases import gram, random_labels
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem, solve

Vector = npt.NDArray[np.float64]


def dense_conjugate(K: Vector, y: Vector, C: float, eps: float) -> tuple[int, Vector]:
    """Return the iterations and the signed multipliers of the method, computed with whole matrices."""
    n = y.size
    low, high = np.minimum(0, y * C), np.maximum(0, y * C)
    beta, last = np.zeros(n), np.zeros(n)
    for count in range(100_000):
        G = y - K @ beta
        up, down = beta < high, beta > low
        if G[up].max() - G[down].min() <= eps:
            return count, beta
        i = int(np.where(up, G, -np.inf).argmax())
        Q = K[i, i] + np.diag(K) - 2 * K[i]
        j = int(np.where(down & (G[i] > G), (G[i] - G) ** 2 / np.maximum(Q, 1e-12), -1.0).argmax())
        d = np.zeros(n)
        d[i], d[j] = 1.0, -1.0
        p = d - (d @ K @ last) / (last @ K @ last) * last if last.any() else d
        for candidate in (p, d):
            p = candidate
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(p > 0, (high - beta) / p, np.where(p < 0, (low - beta) / p, np.inf)).min()
            if room > 0:
                break
        newton = (G @ p) / (p @ K @ p)
        beta = beta + min(newton, room) * p
        beta[np.abs(beta - low) <= 1e-14 * C] = low[np.abs(beta - low) <= 1e-14 * C]
        beta[np.abs(beta - high) <= 1e-14 * C] = high[np.abs(beta - high) <= 1e-14 * C]
        last = p if newton <= room else np.zeros(n)
    raise AssertionError


def test_steps_are_those_of_the_method() -> None:
    ours, expected = [], []
    for seed in range(20):
        problem = Problem(*random_labels(60, 4, seed), 100.0, Kernel.gaussian(0.5))
        solution = solve(problem, "csmo", shrinking=False)
        count, beta = dense_conjugate(gram(problem), problem.y, 100.0, 1e-3)
        # After a free step the gradients of i and j are equal up to rounding, so paths may diverge.
        ours.append(solution.iterations)
        expected.append(count)
        assert problem.y * solution.alpha == pytest.approx(beta, abs=1.0)
    assert np.mean(ours) == pytest.approx(np.mean(expected), rel=0.05)


def test_fewer_steps_where_the_kernel_is_ill_conditioned() -> None:
    data = datasets.generate("chess-board", n=500, seed=0)
    problem = Problem(data.X, data.y, 1e5, Kernel.gaussian(gamma=0.5))
    conjugate, plain = solve(problem, "csmo"), solve(problem, "smo2")
    assert conjugate.status == plain.status == "optimal"
    assert conjugate.iterations <= 0.6 * plain.iterations
    assert conjugate.info["conjugate_steps"] > 0.3 * conjugate.iterations
