"""Shrinking and row cache of Platt's SMO (1999): they save work and do not change the result."""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import STORAGES, words
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.caches import smo_rows

KERNELS = {"gaussian": Kernel.gaussian(gamma=0.05), "polynomial": Kernel.polynomial(2, a=0.1, c=1.0)}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_cache_changes_no_step(kernel: str, storage: str) -> None:
    problem = Problem(*words(200), 10.0, KERNELS[kernel], storage=storage)
    none = solve(problem, "smo")
    assert "cache_hits" not in none.info and "shrinks" not in none.info
    for megabytes in (1e-6, 0.02, 40.0):  # room for two rows, some, all
        kept = solve(problem, "smo", cache_mb=megabytes)
        assert kept.iterations == none.iterations
        assert np.array_equal(kept.alpha, none.alpha)
        assert kept.kernel_evaluations <= none.kernel_evaluations
        assert kept.work["nonzeros"] <= none.work["nonzeros"]
    assert kept.kernel_evaluations < none.kernel_evaluations
    assert kept.info["cache_hits"] > 0


def test_rows_grow_with_the_columns() -> None:
    problem = Problem(*words(1500), 1.0, KERNELS["gaussian"])
    none, kept = (solve(problem, "smo", cache_mb=size, iteration_limit=4000) for size in (0.0, 8.0))
    ever = int(np.count_nonzero(none.alpha))
    assert ever > 600  # more multipliers than a row holds were at some time between their bounds, or nearly
    assert np.array_equal(kept.alpha, none.alpha)
    assert kept.kernel_evaluations < none.kernel_evaluations


def test_longer_rows_in_the_same_memory() -> None:
    cache = smo_rows.first_cache(5000, 8 * 2**20)
    assert cache.rows.shape == (1024, 1024)
    cache.counts.hits = 7
    longer = smo_rows.longer(cache)
    assert longer.rows.shape == (512, 2048)
    assert np.shares_memory(longer.rows, cache.rows)
    assert (longer.slot_of == -1).all() and longer.counts.hits == 7
    while longer.rows.shape[1] < 5000:
        longer = smo_rows.longer(longer)
    assert longer.rows.shape == (209, 5000)
    assert longer.rows.nbytes <= 8 * 2**20
