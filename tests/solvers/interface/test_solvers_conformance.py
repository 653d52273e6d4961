"""The conformance test accepts a good solver, and finds out each of several bad ones."""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from svmrepro.solvers import (
    Kernel,
    Problem,
    Solution,
    certify,
    conformance,
    gram_matrix,
    solve,
    user_functions,
)
from svmrepro.solvers.conformance import CHECKS, THREAD_VARIABLES, check, main
from svmrepro.workflow.surroundings import machine

HERE = "test_solvers_conformance"


def good(problem: Problem, eps: float, time_limit: float | None, steps: int = 4000) -> Any:
    """Maximal violating pairs on the whole kernel matrix."""
    if not problem.bias:
        raise ValueError("needs a bias")
    K, y, C = gram_matrix(problem), problem.y, problem.bounds
    low, high = np.minimum(0, y * C), np.maximum(0, y * C)
    signed, gradient = np.zeros(len(y)), y.copy()
    began, status = time.process_time(), "iteration_limit"
    for _ in range(steps):
        up, down = np.flatnonzero(signed < high), np.flatnonzero(signed > low)
        i, j = up[np.argmax(gradient[up])], down[np.argmin(gradient[down])]
        gap = gradient[i] - gradient[j]
        if gap <= eps:
            status = "optimal"
            break
        if time_limit is not None and time.process_time() - began > time_limit:
            status = "time_limit"
            break
        step = gap / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        up_to, down_to = high[i] - signed[i], signed[j] - low[j]
        step = min(step, up_to, down_to)
        signed[i] = high[i] if step == up_to else signed[i] + step
        signed[j] = low[j] if step == down_to else signed[j] - step
        gradient -= step * (K[i] - K[j])
    return SimpleNamespace(alpha=np.abs(signed), bias=(gradient[i] + gradient[j]) / 2, status=status)


def changed(**fields: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a solver whose result differs from the good one's in some fields."""

    def solver(problem: Problem, eps: float, time_limit: float | None) -> Any:
        answer = good(problem, eps, time_limit)
        for name, change in fields.items():
            setattr(answer, name, change(answer))
        return answer

    return solver


def hasty(problem: Problem, eps: float, time_limit: float | None) -> Any:
    answer = good(problem, eps, time_limit, steps=300)
    answer.status = "optimal"
    return answer


def one_bound(problem: Problem, eps: float, time_limit: float | None) -> Any:
    same = Problem(problem.X, problem.y, float(np.max(problem.C)), problem.kernel, bias=problem.bias)
    return good(same, eps, time_limit)


def with_bias(problem: Problem, eps: float, time_limit: float | None) -> Any:
    return good(Problem(problem.X, problem.y, problem.C, problem.kernel), eps, time_limit)


def careless(problem: Problem, eps: float, time_limit: float | None) -> Any:
    answer = good(problem, eps, time_limit)
    problem.y *= -1
    return answer


TURNS = cycle((1.0, 0.01))


def restless(problem: Problem, eps: float, time_limit: float | None) -> Any:
    """Solve every other time to a smaller eps."""
    return good(problem, eps * next(TURNS), time_limit)


KEPT: dict[int, Any] = {}
DRAWS = np.random.default_rng(0)


def forgetful(problem: Problem, eps: float, time_limit: float | None) -> Any:
    """Return each time another answer, in the same array."""
    alpha = KEPT.setdefault(problem.n, np.zeros(problem.n))
    alpha[:] = DRAWS.random(problem.n) * problem.bounds
    return SimpleNamespace(alpha=alpha, bias=0.0, status="stalled")


def stubborn(problem: Problem, eps: float, time_limit: float | None) -> Any:
    answer, began = good(problem, eps, None), time.process_time()
    while time_limit is not None and time_limit < 1 and time.process_time() - began < 1.5:
        pass
    return answer


def impatient(problem: Problem, eps: float, time_limit: float | None) -> Any:
    if time_limit is not None and time_limit < 1:
        return SimpleNamespace(alpha=np.zeros(problem.n), bias=0.0, status="time_limit")
    return good(problem, eps, time_limit)


def refusing(problem: Problem, eps: float, time_limit: float | None) -> Any:
    raise NotImplementedError("not today")


def endless(problem: Problem, eps: float, time_limit: float | None) -> Any:
    """Solve dense problems; in a sparse one, sleep as a compiled loop would run: with Python's lock."""
    if sp.issparse(problem.X):
        ctypes.PyDLL(None).sleep(3600)
    return good(problem, eps, time_limit)


def ending(problem: Problem, eps: float, time_limit: float | None) -> Any:
    os._exit(3)


def another_kernel(problem: Problem, eps: float, time_limit: float | None) -> Any:
    """Make the problem easier, also for whoever shares its kernel."""
    if problem.kernel.name == "gaussian":
        object.__setattr__(problem.kernel, "gamma", 1e-300)
    return good(problem, eps, time_limit)


BAD: dict[str, tuple[Callable[..., Any], str, str]] = {
    "short": (changed(alpha=lambda found: found.alpha[:-1]), "result", "alpha has shape"),
    "nan": (changed(bias=lambda _: np.nan), "result", "not finite"),
    "status": (changed(status=lambda _: "converged"), "result", "unknown status 'converged'"),
    "count": (changed(iterations=lambda _: -1), "result", "iterations: -1 is not a count"),
    "weights": (changed(weights=lambda found: np.ones(4)), "result", "weights"),
    "kernel": (another_kernel, "honest", "called optimal"),
    "bias": (changed(bias=lambda found: found.bias + 0.1), "honest", "called optimal"),
    "hasty": (hasty, "honest", "called optimal at eps"),
    "gives up": (changed(status=lambda _: "time_limit"), "solves", "status 'time_limit'"),
    "refusing": (refusing, "solves", "not one was solved; refused: NotImplementedError: not today"),
    "one bound": (one_bound, "bounds", "called optimal: alpha"),
    "with bias": (with_bias, "bias", "called optimal: bias must be 0"),
    "careless": (careless, "inputs", "changed: y"),
    "restless": (restless, "repeatable", "alpha differs"),
    "forgetful": (forgetful, "repeatable", "alpha differs"),
    "stubborn": (stubborn, "time", "s of CPU at a limit of 0.25 s"),
    "impatient": (impatient, "time", "status 'time_limit' after 0."),
}


def test_a_good_solver_conforms() -> None:
    told: list[conformance.CheckResult] = []
    report = check(good, progress=told.append)
    assert report.passed and str(report).startswith("conforms: 0 of "), report
    assert {finding.check for finding in told} == set(CHECKS) and tuple(told) == report.findings
    (refused,) = [finding for finding in told if finding.check == "bias"]
    assert refused.said == "refused: ValueError: needs a bias"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_solver_is_found_out(name: str) -> None:
    solver, failing, said = BAD[name]
    others = [each for each in ("time", "bounds", "bias", "repeatable") if each != failing]
    failed = [finding for finding in check(solver, without=others).failed if finding.check == failing]
    assert failed and any(said in finding.said for finding in failed), failed


@pytest.mark.parametrize(
    ("solver", "last", "solved"),
    [
        (endless, "FAILED time       sparse, linear: did not return within the deadline of 2 s", 2),
        (ending, "FAILED result     separable, linear: ended its process (exit code 3)", 0),
    ],
)
def test_a_call_without_an_answer_ends_the_test(solver: Any, last: str, solved: int) -> None:
    *before, failed = check(solver, deadline=2.0, without=["time"]).findings
    assert str(failed) == f"{last}; the test ends here"
    assert sum(finding.check == "solves" and finding.passed for finding in before) == solved
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("import time\ntime.sleep(3600)", "time       import: did not return within the deadline of 2 s"),
        ("import os\nos._exit(3)", "result     import: ended its process (exit code 3)"),
    ],
)
def test_an_import_that_does_not_return_ends_the_test(
    code: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stuck.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    (failed,) = check("stuck:fit", deadline=2.0).findings
    assert str(failed) == f"FAILED {last}; the test ends here"


def test_every_check_has_a_bad_solver() -> None:
    assert {failing for _, failing, _ in BAD.values()} == set(CHECKS)


@pytest.mark.parametrize("name", ["smo-newton", "pasmo"])
def test_our_solvers_conform(name: str) -> None:
    report = check(name, without=["time"], deadline=600.0)  # their limits have tests of their own
    assert report.passed, report


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = [f"--without={name}" for name in CHECKS if name not in ("result", "solves")]
    assert main([f"{HERE}:good", "--option", "steps=4000", *skipped]) == 0
    assert "conforms: 0 of " in capsys.readouterr().out
    assert main([f"{HERE}:refusing", *skipped]) == 1
    assert "not one was solved" in capsys.readouterr().out
    assert main([f"{HERE}:endless", "--deadline", "2"]) == 1
    told = capsys.readouterr()
    assert "sparse, linear: no answer yet" in told.err and "ok     solves     overlapping" in told.out
    assert main([f"{HERE}:good", "--deadline", "0"]) == 2
    assert "deadline must be positive" in capsys.readouterr().err
    for wrong, said in (
        ("no_such_module:f", "No module named 'no_such_module'; install it, or set PYTHONPATH"),
        (f"{HERE}:HERE", "is not a function"),
        ("no-entry", "no package declares the solver 'no-entry'"),
        ("my-module:f", "'my-module:f' is not of the form package.module:function"),
    ):
        assert main([wrong]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([f"{HERE}:good", "--option", "steps"])


def one_thread(problem: Problem, eps: float, time_limit: float | None) -> Any:
    if {os.environ.get(name) for name in THREAD_VARIABLES} != {"1"}:
        raise ValueError("several threads")
    return good(problem, eps, time_limit)


def test_libraries_have_one_thread_as_in_a_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    assert THREAD_VARIABLES == machine.THREAD_VARIABLES
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    assert check(f"{HERE}:one_thread", without=[name for name in CHECKS if name != "solves"]).passed
    assert os.environ["OMP_NUM_THREADS"] == "2" and "MKL_NUM_THREADS" not in os.environ


# -- entry points


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that installs a package, version 1.2, with the given entry points."""

    def forget() -> None:
        importlib.invalidate_caches()
        user_functions.declared.cache_clear()
        user_functions.find.cache_clear()

    def install(package: str, **entries: str) -> None:
        folder = tmp_path / f"{package}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        lines = [f"{name.replace('_', '-')} = {value}" for name, value in entries.items()]
        (folder / "entry_points.txt").write_text("\n".join([f"[{user_functions.GROUP}]", *lines, ""]))
        forget()

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    monkeypatch.undo()
    forget()


def test_an_entry_point_is_found_by_name_and_by_function(declare: Any) -> None:
    declare("my_package", my_svm=f"{HERE}:good")
    named = user_functions.find("my-svm")
    assert named == user_functions.find(f"{HERE}:good")
    assert (named.package, named.version, named.load()) == ("my_package", "1.2", good)
    assert not check("my-svm", without=[name for name in CHECKS if name != "result"]).failed


def test_faults_of_an_entry_point_name_package_and_entry(declare: Any) -> None:
    declare("first", gone="no_such_module:f", odd="module", lost=f"{HERE}:f")
    for name, said in (
        ("gone", r"solver 'gone' \(no_such_module:f\), an entry point of first 1\.2: ModuleNotFoundError"),
        ("lost", r"solver 'lost' .* of first 1\.2: AttributeError"),
        ("odd", r"solver 'odd' \(module\), an entry point of first 1\.2: 'module' is not of the form "),
        ("none", "no package declares the solver 'none'; declared: gone, odd, lost"),
    ):
        with pytest.raises(user_functions.UserSolverError, match=said):
            check(name)
    declare("second", gone="b:f")
    said = r"two packages declare the solver 'gone': (first|second) \(.*\) and (first|second) \("
    with pytest.raises(user_functions.UserSolverError, match=said):
        user_functions.find("gone")


def test_a_call_is_checked_before_it_is_made():
    user_functions.UserSolver("math:hypot").check_call({"any": 1})  # in C, without a signature
    with pytest.raises(
        user_functions.UserSolverError, match=r"it is called as capwords\(problem, eps, time_limit, q\)"
    ):
        user_functions.UserSolver("string:capwords").check_call({"q": 1})


def test_a_call_keeps_the_working_directory_and_ends_a_process_that_it_forks(tmp_path):
    codes = []

    def solver(problem, eps, time_limit):
        if child := os.fork():
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os.chdir(tmp_path)
        return SimpleNamespace(alpha=np.zeros(2), bias=0.0)

    folder = Path.cwd()
    user_functions.run(solver, Problem(np.eye(2), [-1, 1]), 1e-3, None, {})
    assert Path.cwd() == folder and codes == [1]


@pytest.mark.parametrize("error", [GeneratorExit("panic"), KeyboardInterrupt("panic")])
def test_what_is_no_exception_is_an_error_of_the_solver(error):
    def solver(problem, eps, time_limit):
        raise error

    said = rf"^the solver raised {type(error).__name__}\('panic'\)$"
    with pytest.raises(user_functions.UserSolverError, match=said):
        user_functions.run(solver, Problem(np.eye(2), [-1, 1]), 1e-3, None, {})


def test_a_solver_that_replaces_the_clocks_of_its_process_is_timed_all_the_same(monkeypatch):
    def solver(problem, eps, time_limit):
        began, clock = time.thread_time(), time.thread_time
        for name in ("process_time", "perf_counter"):
            monkeypatch.setattr(time, name, lambda: 0.0)
        while clock() - began < 0.05:
            pass
        return SimpleNamespace(alpha=np.zeros(2), bias=0.0)

    found = user_functions.run(solver, Problem(np.eye(2), [-1, 1]), 1e-3, None, {})
    assert min(found.cpu_seconds, found.wall_seconds) > 0.04


def test_an_answer_that_is_computed_when_it_is_read_is_timed():
    class Lazy:
        def __array__(self, dtype=None, copy=None):
            began = time.thread_time()
            while time.thread_time() - began < 0.05:
                pass
            return np.zeros(2)

    problem = Problem(np.eye(2), [-1, 1])
    found = user_functions.run(lambda *_: SimpleNamespace(alpha=Lazy(), bias=0.0), problem, 1e-3, None, {})
    assert min(found.cpu_seconds, found.wall_seconds) > 0.04


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (SimpleNamespace(alpha=["?"], bias=0.0), "returned no solution: alpha must be an array of real"),
        (SimpleNamespace(alpha=[0.0], bias="?"), "returned no solution: bias must be an array of real"),
        (SimpleNamespace(alpha=[0.0], bias=[0.0, 1.0]), r"returned a bias of shape \(2,\), not a number"),
        ({"alpha": [0.0], "bias": 0.0}, "returned dict, without alpha and bias as attributes"),
    ],
)
def test_an_answer_that_is_no_solution(answer: Any, said: str) -> None:
    with pytest.raises(user_functions.UserSolverError, match=f"^the solver {said}"):
        user_functions.run(lambda *_: answer, Problem(np.eye(2), [-1, 1]), 1e-3, None, {})


def test_a_bias_may_be_an_array_of_one_number() -> None:
    answer = SimpleNamespace(alpha=np.zeros(2), bias=np.array([0.5]))
    assert user_functions.run(lambda *_: answer, Problem(np.eye(2), [-1, 1]), 1e-3, None, {}).bias == 0.5


def test_an_import_keeps_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "moving.py").write_text("import os\nos.chdir('/')\ndef fit(problem, eps, time_limit): ...\n")
    folder = Path.cwd()
    user_functions.UserSolver("moving:fit").load()
    assert Path.cwd() == folder


def test_a_call_leaves_no_timer_and_no_handler_of_its_signal() -> None:
    def solver(problem: Problem, eps: float, time_limit: float | None) -> Any:
        signal.signal(signal.SIGVTALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_VIRTUAL, 1000.0)
        return SimpleNamespace(alpha=np.zeros(2), bias=0.0)

    before = signal.getsignal(signal.SIGVTALRM)
    user_functions.run(solver, Problem(np.eye(2), [-1, 1]), 1e-3, None, {})
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == before


def test_the_time_of_workers_counts_that_an_earlier_call_started() -> None:
    program = (
        "import time\n"
        "while True:\n"
        "    input()\n"
        "    began = time.process_time()\n"
        "    while time.process_time() < began + 0.3: pass\n"
        "    print('done', flush=True)\n"
    )
    words = [sys.executable, "-S", "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:

        def solver(problem: Problem, eps: float, time_limit: float | None) -> Any:
            print(file=worker.stdin, flush=True)
            worker.stdout.readline()
            return SimpleNamespace(alpha=np.zeros(2), bias=0.0)

        runs = [user_functions.run(solver, Problem(np.eye(2), [-1, 1]), 1e-3, None, {}) for _ in range(2)]
        worker.kill()
    assert all(0.25 < each.cpu_seconds < 0.55 for each in runs)


def test_numpys_error_state_is_that_before_the_call():
    def solver(problem, eps, time_limit):
        np.seterr(all="raise")
        return SimpleNamespace(alpha=np.zeros(2), bias=0.0)

    before = np.geterr()
    problem = Problem([[0.0], [1e3]], [-1, 1], kernel=Kernel.gaussian(1.0))
    found = user_functions.run(solver, problem, 1e-3, None, {})
    assert np.geterr() == before
    with np.errstate(all="raise"):  # in a program that wants it so
        assert not certify(problem, found).passes(1e-3, 1.0)
        assert solve(problem, "smo2").status == "optimal"


@pytest.mark.parametrize("trace", [[(1e6, 0.5)], [(2e-9, 0.4), (1e-9, 0.5)]])
def test_a_trace_beyond_the_end_or_out_of_order_is_dropped(trace):
    answer = Solution(np.zeros(2), None, 0.0, "stalled", 1, 0, trace=trace)
    problem = Problem(np.eye(2), [-1, 1])
    assert user_functions.run(lambda *_: answer, problem, 1e-3, None, {}).trace is None


def test_ctrl_c_is_no_error_of_the_solver():
    def solver(problem, eps, time_limit):
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            user_functions.run(solver, Problem(np.eye(2), [-1, 1]), 1e-3, None, {})
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
