"""Dot products of binary data by columns of bits, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import Kernel, Problem
from svmrepro.solvers.caches import feature_columns as panels
from svmrepro.solvers.compilation.compiled import compiled


@compiled()
def common(panel, i, first, last, out):
    return panels.count_all(panel, i, first, last, out)


@compiled()
def distances(panel, i, first, last, out):
    return panels.fill_distances(panel, i, first, last, out)


@pytest.mark.parametrize(("n", "d", "share"), [(2, 3, 0.5), (65, 1, 0.9), (200, 255, 1.0), (9000, 40, 0.3)])
def test_counts_in_any_order_and_from_any_place(n: int, d: int, share: float) -> None:
    rng = np.random.default_rng(n)
    X = (rng.random((n, d)) < share).astype(float)
    X[0] = 1.0
    X[n // 2] = 0.0
    problem = Problem(
        sp.csr_array(X), np.where(np.arange(n) % 2, 1.0, -1.0), 1.0, Kernel.linear(), storage="index"
    )
    panel = panels.build_panel(problem)
    order = np.arange(n)
    out = np.empty(n, dtype=np.uint8)
    for goes in (np.zeros(n), rng.random(n) < 0.3, rng.random(n) < 0.5):
        pairs = panels.exchanges(np.asarray(goes, dtype=np.uint8), n)
        panels.rearrange(panel, pairs)
        order[pairs] = order[pairs[:, ::-1]]
        panel.order[:] = order
        for first, last in ((0, n), (n // 3, n), (min(63, n // 4), n - n // 7), (n - 1, n)):
            i = int(rng.integers(n))
            shared = X[order[first:last]] @ X[i]
            read = common(panel, i, first, last, out)
            assert (out[first:last] == shared).all()
            assert read == X[i].sum() * (last - first)
            distances(panel, i, first, last, out)
            apart = X[order[first:last]].sum(axis=1) + X[i].sum() - 2 * shared
            assert (out[first:last] == apart % 256).all()
