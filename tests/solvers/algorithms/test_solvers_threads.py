"""Runs on several threads give, bit by bit, what one thread gives."""

from __future__ import annotations

import os
import re
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from solver_cases import started
from support import ran
from svmrepro.solvers import Kernel, Problem, Solution, certify, solve
from svmrepro.solvers.decomposition.threads import helpers, team

N = 9000


def problem(kind: str) -> Problem:
    rng = np.random.default_rng(1)
    kernel = Kernel.gaussian(gamma=0.1 if kind == "bits" else 0.05)
    if kind == "csr":
        X = sp.random(N, 400, density=0.03, format="csr", random_state=0, data_rvs=rng.standard_normal)
        f, noise, least = np.asarray(X[:, :40].sum(axis=1)).ravel(), 0.1, 0.0
    else:
        X = rng.normal(size=(N, 20)) if kind == "dense" else (rng.random((N, 60)) < 0.2).astype(np.float64)
        f = X[:, :5].sum(axis=1)
        noise, least = 0.3, f.mean()
    y = np.where(f + noise * rng.normal(size=N) > least, 1.0, -1.0)
    return Problem(X, y, 1.0, kernel, storage=kind)


def counts(solution: Solution) -> dict[str, float]:
    """Return the counts of a run that do not depend on the number of threads."""
    left_out = ("divided_share", "bytes_moved")  # the latter follows from the entries read
    return {name: value for name, value in solution.info.items() if name not in left_out}


def assert_equal(one: Solution, other: Solution) -> None:
    assert one.alpha is not None and other.alpha is not None
    assert np.array_equal(one.alpha, other.alpha)
    assert (one.status, one.bias, one.iterations) == (other.status, other.bias, other.iterations)
    assert one.kernel_evaluations == other.kernel_evaluations
    assert one.work == other.work
    assert counts(one) == counts(other)


#: Compiling the loops of one storage takes up to a minute; the interpreted test below divides all of them.
compiled = pytest.mark.slow


@compiled
@pytest.mark.parametrize("kind", ["bits", "dense", "csr"])
def test_results_do_not_depend_on_threads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(kind)
    one = solve(given, "smo-newton", cache_mb=20.0)
    assert one.status == "optimal" and one.info["shrinks"] and one.info["gradient_restores"]
    monkeypatch.setattr(helpers, "processors", lambda: 3)
    for threads in (2, 3):
        begin = time.process_time()
        other = solve(given, "smo-newton", cache_mb=20.0, threads=threads)
        assert one.cpu_seconds / 2 < other.cpu_seconds <= time.process_time() - begin
        assert_equal(one, other)
        assert 0.0 < other.info["divided_share"] <= 1.0
        assert certify(given, other).passes(1e-3, 1.0)


def test_helpers_see_what_the_solving_thread_sets_and_have_their_own_workspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(helpers, "loops_for", lambda *_: None)  # they take a minute to compile
    given = problem("dense")
    run = started(given, threads=2).pairs
    state, _, store, panel, *_ = run.helpers._arguments()
    run.iterated.screen.scalars.unit = 0.5
    assert state.screen.scalars.unit == 0.5
    for mine, others in ((store, run.store), (panel.tiles, run.panel.tiles), (run.store, given.prepare())):
        for name in {"scratch", "dots", "powers"} & {*mine._fields}:
            assert not np.shares_memory(getattr(mine, name), getattr(others, name)), name


def left() -> list[str]:
    return [thread.name for thread in threading.enumerate() if re.fullmatch(r"svmrepro-\d+", thread.name)]


@compiled
def test_helpers_end_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "processors", lambda: 2)

    def interrupt(*_: object) -> None:
        if left():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(problem("bits"), "smo-newton", threads=2, progress=interrupt)
    deadline = time.monotonic() + 30
    while left():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@compiled
def test_a_limit_ends_the_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "processors", lambda: 2)
    assert solve(problem("bits"), "smo-newton", threads=2, iteration_limit=50).status == "iteration_limit"
    assert not left()


@compiled
def test_a_thread_that_cannot_be_started_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    given = problem("bits")
    alone = solve(given, "smo-newton", cache_mb=20.0, iteration_limit=300)
    monkeypatch.setattr(helpers, "processors", lambda: 3)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert_equal(solve(given, "smo-newton", threads=3, cache_mb=20.0, iteration_limit=300), alone)


@compiled
def test_forked_process_has_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "processors", lambda: 2)
    expected = solve(problem("bits"), "smo-newton", threads=2, iteration_limit=500)
    child = os.fork()
    if not child:
        same = False
        try:
            again = solve(problem("bits"), "smo-newton", threads=2, iteration_limit=500)
            same = bool(np.array_equal(again.alpha, expected.alpha))  # type: ignore[arg-type]
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("threads", "message"),
    [
        (0, "must be at least 1, got 0"),
        (-2, "must not be negative, got -2"),
        (1.5, "must be like 1, got 1.5"),
    ],
)
def test_number_of_threads_is_checked(threads: float, message: str) -> None:
    with pytest.raises(ValueError, match=f"option 'threads' {message}"):
        solve(problem("bits"), "smo-newton", threads=threads)


INTERPRETED = """
import numpy as np
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.decomposition import _pair_selection, second_order
from svmrepro.solvers.decomposition.threads import helpers, divided_passes

second_order.LEAST, divided_passes.SPAN, divided_passes._LEAD, helpers.processors = 16, 16, 0, lambda: 3
_pair_selection._SMALL = 0  # so that searches begin with a good partner, also in another thread's part
rng = np.random.default_rng(1)
n = 100
words, numbers = (rng.random((n, 12)) < 0.4).astype(float), rng.normal(size=(n, 18))
for X, kernel, storage in (
    (words, Kernel.gaussian(gamma=0.1), "bits"),
    (words, Kernel.linear(), "bits"),
    (words, Kernel.gaussian(gamma=0.1), "csr"),
    (numbers, Kernel.gaussian(gamma=0.1), "dense"),
    (numbers, Kernel.polynomial(2, c=1.0), "csr"),
    (numbers, Kernel.linear(), "dense"),
    (numbers @ numbers.T, Kernel.precomputed(), "auto"),
):
    y = np.where(X[:, :4].sum(axis=1) + rng.normal(size=n) > X[:, :4].sum(axis=1).mean(), 1.0, -1.0)
    problem = Problem(X, y, 1.0, kernel, bias=True, storage=storage)
    one, other = (solve(problem, "smo-newton", cache_mb=0.2, threads=threads) for threads in (1, 3))
    assert one.status == "optimal" and np.array_equal(one.alpha, other.alpha), (kernel, storage)
    assert one.iterations == other.iterations, (kernel, storage)
    assert one.info.items() <= other.info.items(), (kernel, storage)
"""


def test_every_kernel_and_storage_is_divided_alike_interpreted() -> None:
    done = ran(sys.executable, "-c", INTERPRETED, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("unit", [1, 512, 4096])
def test_parts_of_a_pass_cover_it(unit: int) -> None:
    border = team.border.py_func
    for parts in range(1, 65):
        for begin, end in [(0, 0), (0, 1), (0, 8000), (7, 8192), (0, 9000), (100, 30_000)]:
            borders = [border(begin, end, part, parts, unit) for part in range(parts)] + [end]
            assert borders[0] == begin and borders == sorted(borders)
