"""Counting common ones of binary examples, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import Kernel, Problem
from svmrepro.solvers.caches import feature_columns as panels
from svmrepro.solvers.caches.bit_columns import STRETCH


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
@pytest.mark.parametrize(("n", "d"), [(2, 3), (63, 20), (64, 21), (130, 270), (700, 60), (STRETCH + 70, 13)])
def test_counts_and_distances(n: int, d: int, share: float) -> None:
    rng = np.random.default_rng(n)
    X = (rng.random((n, d)) < share).astype(np.float64)
    X[0] = 1.0
    X[:, 0], X[:, 255:] = 1.0, 0.0  # no more ones than a byte can count
    X[n // 2, 1:] = 0.0
    common = (X @ X.T).astype(np.int64)
    distances = np.square(X[:, None, :] - X[None, :3, :]).sum(axis=2).T.astype(np.int64)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    problem = Problem(sp.csr_array(X), y, 1.0, Kernel.gaussian(gamma=0.1), storage="bits")
    assert panels.form(problem) == "bit columns"
    panel = panels.build_panel(problem)
    found = np.zeros(n, dtype=np.uint8)
    for i in (0, n // 2, n - 1):
        for first in (0, min(5, n - 1), n // 2, n - 1):
            touched = panels.count_all(panel, i, first, n, found)
            assert (found[first:] == common[i, first:]).all()
            assert touched == X[i].sum() * (n - first)
    for i in range(min(3, n)):
        panels.fill_distances(panel, i, n // 3, n, found)
        assert (found[n // 3 :] == distances[i, n // 3 :] % 256).all()
