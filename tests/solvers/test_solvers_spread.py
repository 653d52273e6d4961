"""Blocks on the workers of a Dask cluster: the same iterates for any number of workers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import Blocks, Problem, Spread, certify, save_block, solve

distributed = pytest.importorskip("distributed", reason="the extra 'spread' is not installed")

CUTS = (0, 70, 71, 160, 230, 300)


def rows(first: int, last: int, sparse: bool = True) -> Any:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(CUTS[-1], 20)) * (rng.random((CUTS[-1], 20)) < 0.3)
    return sp.csr_array(X[first:last]) if sparse else X[first:last].copy()


def labels() -> Any:
    rng = np.random.default_rng(8)
    X = rows(0, CUTS[-1], sparse=False)
    return np.where(X @ rng.normal(size=20) + 0.5 * rng.normal(size=CUTS[-1]) > 0, 1.0, -1.0)


@pytest.fixture(scope="module", params=[1, 2, 4])
def client(request: pytest.FixtureRequest) -> Any:
    cluster = distributed.LocalCluster(
        n_workers=request.param, threads_per_worker=1, processes=request.param == 2, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as found:
        yield found


@pytest.mark.parametrize("name", ["svmperf", "ocas", "svmperf-ordinal"])
def test_workers_change_nothing(client: Any, name: str) -> None:
    loaders = [partial(rows, *cut) for cut in pairwise(CUTS)]
    here = Problem(Blocks([load() for load in loaders]), labels(), 0.5, bias=False)
    there = Problem(Spread(client, loaders), labels(), 0.5, bias=False)
    one, other = solve(here, name, eps=1e-4), solve(there, name, eps=1e-4)
    assert other.status == "optimal"
    assert other.iterations == one.iterations
    assert other.work == one.work
    assert other.weights == pytest.approx(one.weights, abs=1e-9)
    found = certify(there, other)
    assert found.passes(1e-4, 1.0)
    assert found.primal == pytest.approx(certify(here, other).primal, rel=1e-12)
    # Equal to the last bit on any worker.
    again = solve(Problem(Spread(client, loaders), labels(), 0.5, bias=False), name, eps=1e-4)
    assert np.array_equal(again.weights, other.weights)
    ITERATES.setdefault(name, other.weights)
    assert np.array_equal(ITERATES[name], other.weights)


ITERATES: dict[str, Any] = {}


@pytest.mark.parametrize("name", ["svmperf", "ocas", "svmperf-ordinal"])
def test_slices_change_nothing(client: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaders = [partial(rows, *cut) for cut in pairwise(CUTS)]
    whole = solve(Problem(Spread(client, loaders), labels(), 0.5, bias=False), name, eps=1e-4)
    monkeypatch.setattr("svmrepro.solvers.driver._FIRST_SLICE", 100)
    monkeypatch.setattr("svmrepro.solvers.driver._next_slice", lambda work, seconds: 100 + work % 7)
    slices: list[float] = []
    sliced = solve(
        Problem(Spread(client, loaders), labels(), 0.5, bias=False), name, eps=1e-4,
        progress=lambda seconds, *rest: slices.append(seconds),
    )  # fmt: skip
    assert len(slices) > 2 * sliced.iterations
    assert (sliced.iterations, sliced.work) == (whole.iterations, whole.work)
    assert np.array_equal(sliced.weights, whole.weights)


def single(first: int, last: int) -> Any:
    return rows(first, last).astype(np.float32)


def test_single_precision(client: Any) -> None:
    problem = Problem(Spread(client, [partial(single, *cut) for cut in pairwise(CUTS)]), labels(), bias=False)
    here = Problem(Blocks([single(*cut) for cut in pairwise(CUTS)]), labels(), bias=False)
    found = solve(problem, "ocas")
    assert found.weights == pytest.approx(solve(here, "ocas").weights, abs=1e-12)
    assert certify(problem, found).passes(1e-3, 1.0)


def test_refusals(client: Any) -> None:
    with pytest.raises(ValueError, match="at least one block"):
        Spread(client, [])
    with pytest.raises(ValueError, match="some are dense and others sparse"):
        Spread(client, [partial(rows, 0, 5), partial(rows, 5, 9, sparse=False)])


class Recording:
    """A client that records what it ships with each block."""

    def __init__(self, client: Any) -> None:
        self.client, self.shipped = client, []

    def scheduler_info(self, **options: Any) -> Any:
        return self.client.scheduler_info(**options)

    def submit(self, function: Any, *shipped: Any, **options: Any) -> Any:
        self.shipped.extend(shipped)
        return self.client.submit(function, *shipped, **options)


@pytest.mark.parametrize("name", ["svmperf", "ocas", "svmperf-ordinal"])
def test_saved_blocks_go_out_as_paths(client: Any, name: str, tmp_path: Path) -> None:
    paths = [str(tmp_path / str(number)) for number in range(len(CUTS) - 1)]
    for path, cut in zip(paths, pairwise(CUTS), strict=True):
        save_block(rows(*cut), path)
    recording = Recording(client)
    there = solve(Problem(Spread(recording, paths), labels(), 0.5, bias=False), name, eps=1e-4)
    here = solve(Problem(Blocks(paths), labels(), 0.5, bias=False), name, eps=1e-4)
    assert recording.shipped == paths
    assert (there.status, there.iterations, there.work) == ("optimal", here.iterations, here.work)
    assert there.weights == pytest.approx(here.weights, abs=1e-9)
    # Equal to the last bit for any number of workers, and with loaders.
    assert np.array_equal(MAPPED.setdefault(name, there.weights), there.weights)
    assert np.array_equal(ITERATES.get(name, there.weights), there.weights)


MAPPED: dict[str, Any] = {}
