"""BLAS uses one thread during ``solve``, and as many as before it afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from solver_cases import cloud
from svmrepro.solvers import Problem, solve
from svmrepro.solvers.blas_threads import _forget, one_blas_thread
from threadpoolctl import threadpool_info, threadpool_limits

PROBLEM = Problem(*cloud(60, 3))


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with one_blas_thread():  # loads the libraries
        pass
    before = threadpool_limits(limits=2, user_api="blas")  # a `with` would let this thread alone set numbers
    _forget()
    if blas_threads() != {2}:
        pytest.skip("this BLAS has no threads, or cannot be told how many to use")
    yield
    _forget()
    before.restore_original_limits()
    _forget()


def test_solve_limits_and_restores() -> None:
    seen: list[set[int]] = []
    solve(PROBLEM, "smo", progress=lambda *_: seen.append(blas_threads()))
    assert seen and all(threads == {1} for threads in seen)
    assert blas_threads() == {2}


def test_a_failed_solve_restores() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(PROBLEM, "smo", progress=interrupt)
    assert blas_threads() == {2}


@pytest.mark.parametrize("first_to_end", ["the first", "the second"])
def test_the_last_of_several_threads_restores(first_to_end: str) -> None:
    users = [User(), User()]
    for user in users:
        user.start()
        assert user.inside.wait(30)
    for user in users if first_to_end == "the first" else users[::-1]:
        assert blas_threads() == {1}
        user.leave.set()
        user.join()
    assert blas_threads() == {2}


class User(threading.Thread):
    """A thread that uses the limit until told to leave."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.inside, self.leave = threading.Event(), threading.Event()

    def run(self) -> None:
        with one_blas_thread():
            self.inside.set()
            self.leave.wait(30)
