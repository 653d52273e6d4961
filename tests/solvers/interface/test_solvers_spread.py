"""Blocks on the workers of a Dask cluster: the same iterates for any number of workers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import in_slices, judged
from svmrepro.solvers import Blocks, Kernel, Problem, Spread, save_block, solve

distributed = pytest.importorskip("distributed", reason="the extra 'spread' is not installed")

CUTS = (0, 70, 71, 160, 230, 300)
#: Weights by solver, equal to the last bit for any number of workers and any way to load.
ITERATES: dict[str, Any] = {}

names = pytest.mark.parametrize("name", ["svmperf", "ocas", "svmperf-ordinal"])


def rows(first: int, last: int, kind: type = np.float64, sparse: bool = True) -> Any:
    rng = np.random.default_rng(7)
    X = (rng.normal(size=(CUTS[-1], 20)) * (rng.random((CUTS[-1], 20)) < 0.3)).astype(kind)
    return sp.csr_array(X[first:last]) if sparse else X[first:last].copy()


def problem(X: Any) -> Problem:
    rng = np.random.default_rng(8)
    f = rows(0, CUTS[-1], sparse=False) @ rng.normal(size=20) + 0.5 * rng.normal(size=CUTS[-1])
    return Problem(X, np.where(f > 0, 1.0, -1.0), 0.5, bias=False)


@pytest.fixture(scope="module", params=[1, 2, 4])
def client(request: pytest.FixtureRequest) -> Any:
    cluster = distributed.LocalCluster(
        n_workers=request.param, threads_per_worker=1, processes=request.param == 2, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as found:
        yield found


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@names
def test_workers_change_nothing(client: Any, name: str, kind: type) -> None:
    loaders = [partial(rows, *cut, kind) for cut in pairwise(CUTS)]
    one, first = judged(problem(Blocks([load() for load in loaders])), name, 1e-4)
    for _ in range(2):
        other, second = judged(problem(Spread(client, loaders)), name, 1e-4)
        assert (other.iterations, other.work) == (one.iterations, one.work)
        assert other.weights == pytest.approx(one.weights, abs=1e-9)
        assert second.primal == pytest.approx(first.primal, rel=1e-9)
        assert np.array_equal(ITERATES.setdefault(f"{name} {kind}", other.weights), other.weights)


@names
def test_slices_change_nothing(client: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spread = problem(Spread(client, [partial(rows, *cut) for cut in pairwise(CUTS)]))
    whole = solve(spread, name, eps=1e-4)
    in_slices(monkeypatch, 101)
    sliced = solve(spread, name, eps=1e-4, trace=True)
    assert len(sliced.trace) > 2 * sliced.iterations
    assert (sliced.iterations, sliced.work) == (whole.iterations, whole.work)
    assert np.array_equal(sliced.weights, whole.weights)


def test_refusals(client: Any) -> None:
    with pytest.raises(ValueError, match="at least one block"):
        Spread(client, [])
    with pytest.raises(ValueError, match="some are dense and others sparse"):
        Spread(client, [partial(rows, 0, 5), partial(rows, 5, 9, sparse=False)])
    spread = problem(Spread(client, [partial(rows, *cut) for cut in pairwise(CUTS)]))
    with pytest.raises(ValueError, match="threads must be 1 for examples on a cluster"):
        solve(spread, "ocas", threads=2)
    local = Problem(rows(0, 300), spread.y, kernel=Kernel.gaussian(1.0))
    with pytest.raises(ValueError, match=r"^examples on a cluster need a solution with weights$"):
        solve(local, "smo2").decision_function(local, spread.X)


@names
def test_saved_blocks_go_out_as_paths(client: Any, name: str, tmp_path: Path) -> None:
    paths = [str(tmp_path / str(number)) for number in range(len(CUTS) - 1)]
    for path, cut in zip(paths, pairwise(CUTS), strict=True):
        save_block(rows(*cut), path)
    there = judged(problem(Spread(client, paths)), name, 1e-4)[0]
    assert np.array_equal(ITERATES.setdefault(f"{name} {np.float64}", there.weights), there.weights)
