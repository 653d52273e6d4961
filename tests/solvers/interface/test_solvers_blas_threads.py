"""BLAS uses one thread during ``solve``, and as many as before it afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.blas_threads import one_blas_thread
from threadpoolctl import threadpool_info, threadpool_limits


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with one_blas_thread():  # loads the libraries
        pass
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has no threads, or cannot be told how many to use")
        yield


def problem() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), 1.0, Kernel.linear())


def test_solve_limits_and_restores() -> None:
    seen: list[set[int]] = []
    solve(problem(), "smo", progress=lambda *_: seen.append(blas_threads()))
    assert seen and all(threads == {1} for threads in seen)
    assert blas_threads() == {2}


def test_a_failed_solve_restores() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(problem(), "smo", progress=interrupt)
    assert blas_threads() == {2}


def test_solves_of_several_threads_restore() -> None:
    inside, leave = threading.Event(), threading.Event()

    def use() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(30)

    other = threading.Thread(target=use)
    with one_blas_thread():
        other.start()
        assert inside.wait(30)
        assert blas_threads() == {1}
    leave.set()
    other.join()
    assert blas_threads() == {2}
