"""Newton steps on the free variables: the factor, and what holds at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from svmrepro.solvers.quadratic_programs import free_set_newton as newton


def working_set(k: int, seed: int, width: float) -> tuple[Any, Any]:
    """Return a state at the middle of boxes of about this width, and its whole kernel matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(k, 3))
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2))
    low, high = -width * rng.uniform(0.1, 1.0, k), width * rng.uniform(0.1, 1.0, k)
    state = newton.allocate(rng.normal(size=k), np.zeros(k), low, high)
    state.K[:] = np.triu(K)  # the rest must not be read
    return state, K


def factored(state: Any, work: int = 100) -> None:
    while state.scalars.factored < state.g.size:
        assert newton.factor(state, work)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 9, 40])
def test_the_factor_made_in_pieces_is_cholesky_s(k: int) -> None:
    state, K = working_set(k, 0, 1.0)
    factored(state, 1)
    product = np.triu(state.R).T @ np.triu(state.R)
    assert product == pytest.approx(K, abs=1e-10)


def test_an_indefinite_matrix_is_refused() -> None:
    state, _ = working_set(5, 0, 1.0)
    state.K[0, 1] = 2.0
    assert not newton.factor(state, 1 << 40)


@pytest.mark.parametrize("width", [1e6, 3.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_the_steps_end_where_no_free_variable_can_gain(seed: int, width: float) -> None:
    state, K = working_set(40, seed, width)
    before = state.g.copy()
    factored(state)
    while newton.iterate(state, 1e-9, 1.0, 1, 10_000, 1 << 60) != newton.DONE:
        pass
    free = state.members[: state.scalars.n_members]
    beta, bound = state.beta, np.setdiff1d(np.arange(40), free)
    assert np.ptp(state.g[free]) <= 1e-6
    assert ((state.low <= beta) & (beta <= state.high)).all()
    assert ((beta[bound] == state.low[bound]) | (beta[bound] == state.high[bound])).all()
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    # The gradient is kept for the free variables only.
    assert state.g[free] == pytest.approx((before - K @ beta)[free], abs=1e-8)
    assert state.scalars.gain == pytest.approx(before @ beta - 0.5 * beta @ K @ beta, rel=1e-8)
    # The factor of those that are left has been kept up to date.
    R = np.triu(state.R[: free.size, : free.size])
    product = R.T @ R
    assert product == pytest.approx(K[np.ix_(free, free)], abs=1e-8)
    if width < 1.0:
        assert bound.size


@pytest.mark.parametrize("work", [1, 1 << 40])
@pytest.mark.parametrize("width", [1e4, 1.0])
def test_more_variables_than_features_are_reduced_to_as_many(width: float, work: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    X[1], X[2] = X[0], 0.0
    K = X @ X.T
    state = newton.allocate(
        rng.choice([-1.0, 1.0], 60), np.zeros(60), np.full(60, -width), np.full(60, width)
    )
    state.K[:] = np.triu(K)
    g, before = state.g.copy(), state.beta.copy()
    while not newton.reduce(state, before, work):
        pass
    beta, free = state.beta, state.members[: state.scalars.n_members]
    assert free.size <= 4
    assert (np.abs(np.delete(beta, free)) == width).all()
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    # The outputs are the same, up to a constant, and the objective rises.
    assert X.T @ beta == pytest.approx(0.0, abs=1e-9 * width)
    assert state.scalars.gain == pytest.approx(g @ beta, rel=1e-6)
    assert state.scalars.gain > 0.0
    R = np.triu(state.R[: free.size, : free.size])
    product, wanted = R.T @ R, K[np.ix_(free, free)]
    assert product - wanted == pytest.approx(np.full(wanted.shape, K.diagonal().max()))
    while newton.iterate(state, 1e-9, 1.0, 1, 10_000, 1 << 60) != newton.DONE:
        pass
    free = state.members[: state.scalars.n_members]
    assert np.ptp((g - K @ state.beta)[free]) <= 1e-6
