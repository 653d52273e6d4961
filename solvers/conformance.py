"""Conformance test for a solver of your own: what the workflow relies on, checked on some twenty problems.

From a shell, with the solver as ``package.module:function`` or by the name of its entry point::

    python -m svmrepro.solvers.conformance my_package.training:train --option cache_mb=40

or from a test::

    report = check("my_package.training:train")
    assert report.passed, report

:data:`CHECKS` lists the checks. A solver may refuse problems by raising an exception, but not all easy ones.
It may give up on a hard one with a status that says so. It must never call a result ``optimal`` that
:func:`~svmrepro.solvers.certify` refuses. A call that does not return by a deadline ends the test, as does
one that ends its process. The same holds for the import of the solver's module.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from textwrap import shorten
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import scipy.sparse as sp
from svmrepro.solvers import solution as statuses
from svmrepro.solvers.certificate.optimality import certify
from svmrepro.solvers.conformance_cases import Case, board, bounded, easy, hard, unbiased
from svmrepro.solvers.driver import solve
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import SOLVERS
from svmrepro.solvers.solution import OPTIMAL, TIME_LIMIT, Solution
from svmrepro.solvers.user_functions import TOLERANCE_FACTOR, UserSolver, UserSolverError, find, run

CHECKS: Mapping[str, str] = {
    "result": "alpha has shape (n,), all numbers are finite, the status is known, weights agree with alpha",
    "honest": "whatever is called optimal passes the certificate at the tolerance asked for",
    "solves": "easy problems are solved, unless refused",
    "inputs": "the problem's arrays are unchanged",
    "repeatable": "the same call gives the same result",
    "bounds": "C per example is respected or refused",
    "bias": "a problem without a bias is solved or refused",
    "time": "the time limit ends the run",
}
"""Name of each check, and what it asks for."""

_KNOWN = (OPTIMAL, TIME_LIMIT, statuses.MEMORY_LIMIT, statuses.ITERATION_LIMIT, statuses.STALLED)

_PATIENCE = 10.0
"""Time limit in CPU seconds for problems on which time is not checked."""

DEADLINE = 120.0
"""Seconds by which a call has to return: far more than its time limit, as it may be compiled first."""

_QUIET, _LEAVING = 10.0, 5.0
"""Seconds without an answer after which a call is named, and seconds that a process may take to exit."""

THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)
"""Environment variables that give numerical libraries one thread, as in a measurement.

The workflow has its own list, because it sets them before NumPy is imported; a test compares the two.
"""

_LONGEST = 1e6
"""Largest deadline in seconds."""

_LIMIT, _ALLOWED = 0.25, 1.0
"""The limit that the check of time sets, and the CPU seconds that it allows."""

_SAME = 1e-8
"""Largest difference between two equal runs, relative to C: threads may add in another order."""


@dataclass(frozen=True)
class CheckResult:
    """Outcome of one check on one problem.

    Attributes
    ----------
    check : str
        One of :data:`CHECKS`.
    problem : str
        Name of the problem.
    passed : bool
        Whether the solver passed.
    said : str
        What was wrong, or that the problem was refused, and why; may be empty if the solver passed.
    """

    check: str
    problem: str
    passed: bool
    said: str = ""

    def __str__(self) -> str:
        line = f"{'ok' if self.passed else 'FAILED':<6} {self.check:<10} {self.problem}"
        return f"{line}: {self.said}" if self.said else line


@dataclass(frozen=True)
class Report:
    """All findings about a solver.

    Attributes
    ----------
    findings : tuple of CheckResult
        In the order in which they were made.
    """

    findings: tuple[CheckResult, ...]

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The findings that failed."""
        return tuple(finding for finding in self.findings if not finding.passed)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    def __str__(self) -> str:
        count = f"{len(self.failed)} of {len(self.findings)} findings failed"
        return "\n".join([*map(str, self.failed), count if self.failed else f"conforms: {count}"])


@dataclass
class _Outcome:
    """Outcome of a call: a solution, an exception, or the fault of a malformed answer."""

    solution: Solution | None = None
    raised: str = ""
    malformed: str = ""
    changed: list[str] = field(default_factory=list)


def check(
    solver: str | Callable[..., Any],
    options: Mapping[str, Any] | None = None,
    *,
    without: Collection[str] = (),
    progress: Callable[[CheckResult], None] | None = None,
    deadline: float = DEADLINE,
) -> Report:
    """Check a solver, in a process of its own.

    A solver given by name is called in a new process, in which libraries have one thread as in a measurement,
    a function in a fork of this one. In a fork, GNU OpenMP hangs if the parent process has used it.

    Parameters
    ----------
    solver : str or callable
        ``package.module:function``, the name of an entry point or of a solver in ``SOLVERS``, or the function
        itself: see :mod:`svmrepro.solvers.user_functions`.
    options : mapping, optional
        Options passed in every call, such as a seed.
    without : collection of str
        Names of :data:`CHECKS` to leave out: ``time`` for a solver that cannot be interrupted.
    progress : callable, optional
        Called with each finding as it is made.
    deadline : float
        Seconds by which the import of the solver's module and each call have to return. What does not is
        ended, and the test with it.

    Returns
    -------
    Report
        Its ``passed`` says whether the solver conforms; its text lists what failed.

    Raises
    ------
    ValueError
        If the solver cannot be found or imported, a check is unknown, or the deadline is not valid.
    """
    if unknown := [name for name in without if name not in CHECKS]:
        raise ValueError(f"check {unknown[0]!r} unknown; known: {', '.join(CHECKS)}")
    if not 0.0 < deadline <= _LONGEST:
        raise ValueError(f"deadline must be positive and at most {_LONGEST:g} s, not {deadline:g}")
    if isinstance(solver, str) and solver not in SOLVERS:
        find(solver).check_name()
    findings: list[CheckResult] = []

    def tell(finding: CheckResult) -> None:
        findings.append(finding)
        if progress is not None:
            progress(finding)

    _supervise((solver, dict(options or {}), tuple(without)), deadline, tell)
    return Report(tuple(findings))


def _resolved(solver: str | Callable[..., Any]) -> UserSolver | Callable[..., Any]:
    if not isinstance(solver, str):
        return solver
    if solver in SOLVERS:
        return lambda problem, eps, time_limit, **options: solve(
            problem, solver, eps=eps, time_limit=time_limit, verify=False, **options
        )
    found = find(solver)
    found.load()
    return found


# -- process ----------------------------------------------------------------------------------------------


def _supervise(work: tuple[Any, ...], deadline: float, tell: Callable[[CheckResult], None]) -> None:
    """Run :func:`_work` in a process, tell its findings, and end it if a call does not return.

    UserSolverError is raised if the solver cannot be imported.
    """
    context: Any = multiprocessing.get_context("spawn" if isinstance(work[0], str) else "fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(writer, *work))
    with _one_thread():
        process.start()
    writer.close()
    problem, answered = "start", True
    try:
        with suppress(EOFError):  # if the process has ended
            while answered:
                message = reader.recv()
                if message is None:
                    process.join(_LEAVING)
                    return
                if isinstance(message, UserSolverError):
                    raise message
                if isinstance(message, str):
                    problem = message
                else:
                    tell(message)
                answered = _answers(reader, problem, deadline)
        process.join(_LEAVING if answered else 0.0)
        tell(_without_answer(problem, process.exitcode, deadline))
    finally:
        _end(process)
        reader.close()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let libraries in processes that are started meanwhile have one thread."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _answers(reader: Connection, problem: str, deadline: float) -> bool:
    """Wait for a message, or for the end of the process; return whether there is one by the deadline."""
    quiet = min(_QUIET, deadline)
    if reader.poll(quiet):
        return True
    print(f"{problem}: no answer yet; the call is ended after {deadline:g} s", file=sys.stderr, flush=True)
    return reader.poll(deadline - quiet)


def _without_answer(problem: str, code: int | None, deadline: float) -> CheckResult:
    """Return the finding about a call that is the last one: the process has an exit code, or none yet."""
    if code is None:
        said = f"did not return within the deadline of {deadline:g} s; the test ends here"
        return CheckResult("time", problem, False, said)
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    return CheckResult("result", problem, False, f"ended its process ({how}); the test ends here")


def _end(process: Any) -> None:
    """End a process, if it still runs, with those that the solver started."""
    with suppress(psutil.NoSuchProcess):
        for each in [*psutil.Process(process.pid).children(recursive=True), process]:
            each.kill()
    process.join()


def _work(
    writer: Connection,
    solver: str | Callable[..., Any],
    options: dict[str, Any],
    without: Collection[str],
) -> None:
    """Send the name of each problem when its call begins, each finding, and None at the end.

    An error of the import is sent instead.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says that it was interrupted
    writer.send("import")
    try:
        found = _resolved(solver)
    except UserSolverError as error:
        writer.send(error)
        return
    for finding in _findings(_Tested(found, options, writer.send), without):
        if finding.check not in without:
            writer.send(finding)
    writer.send(None)


# -- checks -----------------------------------------------------------------------------------------------


class _Tested:
    """The solver under test; ``begin`` is called with a problem's name before each call."""

    def __init__(
        self, solver: UserSolver | Callable[..., Any], options: dict[str, Any], begin: Callable[[str], None]
    ) -> None:
        self._solver, self._options, self._begin = solver, options, begin

    def call(self, case: Case, time_limit: float | None = _PATIENCE) -> _Outcome:
        """Run the solver on a copy of a problem."""
        self._begin(case.name)
        problem = case.problem()
        before = _arrays(problem)
        outcome = _Outcome()
        try:
            outcome.solution = run(self._solver, problem, case.eps, time_limit, self._options)
        except UserSolverError as error:
            outcome.malformed = str(error)
        except (Exception, SystemExit) as error:
            outcome.raised = shorten(f"{type(error).__name__}: {error}", 100)
        else:
            try:
                outcome.malformed = _malformed(case.problem(), outcome.solution)
            except (TypeError, ValueError) as error:
                outcome.malformed = f"the solution cannot be read: {type(error).__name__}: {error}"
        after = _arrays(problem)
        outcome.changed = [
            name for name, old in before.items() if name not in after or not np.array_equal(old, after[name])
        ]
        return outcome


def _arrays(problem: Problem) -> dict[str, npt.NDArray[Any]]:
    """Return copies of a problem's arrays."""
    X = problem.X
    parts = (
        {"X": X} if not sp.issparse(X) else {f"X.{k}": getattr(X, k) for k in ("data", "indices", "indptr")}
    )
    return {
        name: np.array(array)
        for name, array in {**parts, "y": problem.y, "C": problem.C, "bounds": problem.bounds}.items()
    }


def _malformed(problem: Problem, solution: Solution) -> str:
    """Return what is wrong with the form of a solution; "" if nothing is."""
    alpha, weights = solution.alpha, solution.weights
    if alpha is None:
        return "there is no alpha"
    if np.shape(alpha) != (problem.n,):
        return f"alpha has shape {np.shape(alpha)}, must have ({problem.n},)"
    if not np.isfinite(alpha).all() or not np.isfinite(solution.bias):
        return "alpha or bias is not finite"
    if solution.status not in _KNOWN:
        return f"unknown status {solution.status!r}; known: {', '.join(_KNOWN)}"
    if weights is None:
        return ""
    if problem.kernel.name != "linear":
        return "weights are for a linear kernel only"
    exact = np.asarray(problem.X.T @ (problem.y * alpha)).ravel()
    if np.shape(weights) != exact.shape:
        return f"weights have shape {np.shape(weights)}, must have {exact.shape}"
    scale = np.asarray(abs(problem.X).T @ alpha).ravel().max(initial=0.0)
    if not (np.abs(np.asarray(weights) - exact) <= 1e-6 * scale).all():
        return "weights are not sum_i y_i alpha_i x_i"
    return ""


def _dishonest(case: Case, solution: Solution) -> str:
    """Return why the certificate refuses a solution that is called optimal; "" if it does not."""
    if solution.status != OPTIMAL:
        return ""
    try:
        certificate = certify(case.problem(), solution)
    except ValueError as error:  # no solution of this problem at all
        return f"called optimal: {error}"
    if certificate.passes(case.eps, TOLERANCE_FACTOR):
        return ""
    return f"called optimal at eps {case.eps:g}: {certificate.summary(case.eps, TOLERANCE_FACTOR)}"


def _findings(tested: _Tested, without: Collection[str]) -> Iterator[CheckResult]:
    """Yield all findings; checks that need runs of their own are skipped if they are in ``without``."""
    solved, refused = 0, ""
    simple, difficult = easy(), hard()
    for case in (*simple, *difficult):
        outcome = tested.call(case)
        yield from _basic(case, outcome)
        if case in simple:
            found = _solved(case, outcome)
            solved += found.passed and not outcome.raised
            refused = refused or outcome.raised
            yield found
    if not solved:
        said = f"not one was solved{refused and '; refused: '}{refused}"
        yield CheckResult("solves", "easy problems", False, said)
    if "repeatable" not in without:
        for case in (simple[0], simple[3]):
            yield _repeatable(case, tested)
    for name, case in (("bounds", bounded()), ("bias", unbiased())):
        if name not in without:
            found = _solved(case, tested.call(case))
            yield CheckResult(name, case.name, found.passed, found.said)
    if "time" not in without:
        yield _timed(tested)


def _basic(case: Case, outcome: _Outcome) -> Iterator[CheckResult]:
    """Yield the findings that each call gives."""
    changed = f"changed: {', '.join(outcome.changed)}" if outcome.changed else ""
    yield CheckResult("inputs", case.name, not outcome.changed, changed)
    if outcome.raised:
        return
    yield CheckResult("result", case.name, not outcome.malformed, outcome.malformed)
    if outcome.solution is not None and not outcome.malformed:
        lie = _dishonest(case, outcome.solution)
        yield CheckResult("honest", case.name, not lie, lie)


def _solved(case: Case, outcome: _Outcome) -> CheckResult:
    """Return whether a problem was refused, or solved and certified."""
    if outcome.raised:
        return CheckResult("solves", case.name, True, f"refused: {outcome.raised}")
    solution = outcome.solution
    if solution is None or outcome.malformed:
        return CheckResult("solves", case.name, False, outcome.malformed)
    if solution.status != OPTIMAL:
        return CheckResult("solves", case.name, False, f"status {solution.status!r}")
    lie = _dishonest(case, solution)
    return CheckResult("solves", case.name, not lie, lie)


def _repeatable(case: Case, tested: _Tested) -> CheckResult:
    first, second = tested.call(case), tested.call(case)
    if first.solution is None or second.solution is None:
        return CheckResult("repeatable", case.name, first.raised == second.raised, first.raised)
    one, other = np.asarray(first.solution.alpha), np.asarray(second.solution.alpha)
    if one.shape != other.shape:
        return CheckResult("repeatable", case.name, False, "alpha has another shape in the second run")
    apart = float(np.abs(one - other).max(initial=0.0))
    same = apart <= _SAME * float(np.max(case.C))
    return CheckResult("repeatable", case.name, same, "" if same else f"alpha differs by up to {apart:.2g}")


def _timed(tested: _Tested) -> CheckResult:
    """Return the finding at the smallest problem that takes longer than the limit."""
    for n in (200, 400, 800, 1600, 3200):
        case = board(n)
        outcome = tested.call(case, _LIMIT)
        solution = outcome.solution
        if outcome.raised:
            return CheckResult("time", case.name, True, f"refused: {outcome.raised}")
        if solution is None or outcome.malformed:
            return CheckResult("time", case.name, False, outcome.malformed)
        if lie := _dishonest(case, solution):
            return CheckResult("time", case.name, False, lie)
        if solution.cpu_seconds > _ALLOWED:
            took = f"{solution.cpu_seconds:.2f} s of CPU at a limit of {_LIMIT} s"
            return CheckResult("time", case.name, False, took)
        if solution.status == TIME_LIMIT:
            seconds = max(solution.cpu_seconds, solution.wall_seconds)
            if seconds < _LIMIT / 2:
                early = f"status {TIME_LIMIT!r} after {seconds:.2f} s at a limit of {_LIMIT} s"
                return CheckResult("time", case.name, False, early)
            return CheckResult("time", case.name, True)
    return CheckResult("time", case.name, True, "the limit was never reached")


# -- command ----------------------------------------------------------------------------------------------


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise argparse.ArgumentTypeError(f"must be name=value, not {text!r}")
    return name, option_value(value)


def option_value(text: str) -> Any:
    """Return the value of an option of the command line: a number, true or false, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)


def main(arguments: list[str] | None = None) -> int:
    """Check a solver and print the findings; return 1 if any failed, 2 if it cannot be found."""
    parser = argparse.ArgumentParser(
        prog="python -m svmrepro.solvers.conformance", description="Check a solver of your own."
    )
    parser.add_argument("solver", help="package.module:function, or the name of an entry point")
    parser.add_argument("--option", type=_option, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--without", choices=tuple(CHECKS), action="append", default=[])
    parser.add_argument(
        "--deadline",
        type=float,
        default=DEADLINE,
        metavar="SECONDS",
        help=f"seconds by which each call has to return (default: {DEADLINE:g})",
    )
    given = parser.parse_args(arguments)
    try:
        report = check(
            given.solver,
            dict(given.option),
            without=given.without,
            progress=lambda found: print(found, flush=True),
            deadline=given.deadline,
        )
    except ValueError as error:
        hint = (
            "; install it, or set PYTHONPATH to its folder" if "ModuleNotFoundError: " in str(error) else ""
        )
        print(f"error: {error}{hint}", file=sys.stderr)
        return 2
    print(report)
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
