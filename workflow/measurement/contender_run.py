"""One run of one contender on one problem: meter, certificate, and the resulting record.

The clock is in `svmrepro.solvers.driver`, for a user's solver in `svmrepro.solvers.user_functions`,
for a grid in `grid_run`.
"""

from __future__ import annotations

import errno
import re
import textwrap
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from svmrepro.solvers import (
    MEASURES,
    SOLVERS,
    Kernel,
    Problem,
    Solution,
    certify,
    solve,
    user_functions,
    warm,
)
from svmrepro.solvers.caches import reused_memory
from svmrepro.solvers.compilation.processor import processors
from svmrepro.solvers.driver import prepare
from svmrepro.solvers.reference_kernels import GaussianMatrix
from svmrepro.solvers.registry import NotInstalled
from svmrepro.solvers.user_functions import UserSolverError, find
from svmrepro.workflow.configuration import Contender, Experiment
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.journal.journal_line import NO_RESULT, OPTIMAL, OWN_LIMIT, STOPPED, finite, not_run
from svmrepro.workflow.measurement.judge_matrices import JudgeMatrices
from svmrepro.workflow.measurement.present_run import PresentRun
from svmrepro.workflow.surroundings.instructions import Instructions
from svmrepro.workflow.surroundings.machine import copy_bandwidth
from svmrepro.workflow.surroundings.meter import Meter, no_garbage_collection, release_memory

#: A result still counts if it exceeds its time limit by up to this factor ...
OVERRUN = 1.1
#: ... and this many seconds, because solvers check the clock only now and then.
OVERRUN_GRAIN = 0.1

#: Most points of a trace in a record.
TRACE_POINTS = 100

#: Examples per class in the warm-up run of a user's own solver.
_WARM_ROWS = 8

#: A requirement of an extra in this project's package metadata: package and extra.
_REQUIREMENT = re.compile(r"""([\w.-]+).*\bextra == ["']([\w-]+)["']""")

_OWN_INFO = ("cells", "trace")  # what this program adds to a solver's statistics

_MOST_SAID = 300  # characters of an error that a record keeps

#: Errors of the operating system for which a solver is not to blame: a full disk, too many open files.
_SHORTAGES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})


class ContenderRuns:
    """The contenders of one row, on shared arrays: examples X (n, d) and labels y (n,).

    ``encode`` returns the same examples in a named encoding, for contenders that ask for one. ``point`` is
    the value on the experiment's axis, if it has one; ``test`` holds examples (k, d) and labels (k,) of the
    test set for its measures. ``instructions`` counts those of each run. ``matrix`` returns the judge's
    kernel matrix of a problem, given the name of its ``encoding``. ``present`` is notified of each call.

    Each representation is built once per storage and shared by the contenders that use it. A user's own
    solver gets a fresh copy for each run, so that changes to its arrays affect neither other contenders nor
    the judge.
    """

    def __init__(
        self,
        experiment: Experiment,
        X: Any,
        y: Any,
        encode: Callable[[str], Any] | None = None,
        *,
        point: float | None = None,
        test: tuple[Any, Any] | None = None,
        instructions: Instructions | None = None,
        matrix: Callable[..., GaussianMatrix | None] | None = None,
        present: PresentRun | None = None,
    ) -> None:
        self._experiment = experiment
        self._bound, self._eps = experiment.bound(len(y), point), experiment.tolerance(point)
        self._test = test
        self._instructions = instructions
        self._present = present or PresentRun()
        self._y = y
        self._encode = encode
        self._examples: dict[str | None, Any] = {None: X}
        self._problems: dict[tuple[str, bool, str | None], Problem] = {}
        self._ready: set[str] = set()
        self._cold: dict[str, str] = {}  # why the first call of a user's solver failed
        self._matrix = matrix or partial(JudgeMatrices().of, examples=None)

    def prepare(self, contender: Contender) -> Problem:
        """Build the representation and load the compiled code that a contender needs. None of this is timed.

        The problem is prepared for the certificate and, except for a user's own solver, for the solver.
        """
        key = (contender.storage, contender.bias, contender.encoding)
        if key not in self._problems:
            kernel = Kernel.from_mapping(self._experiment.kernel)
            X = self._encoded(contender.encoding)
            problem = Problem(X, self._y, self._bound, kernel, bias=contender.bias, storage=contender.storage)
            problem.prepare()
            self._problems[key] = problem
        problem = self._problems[key]
        if contender.label not in self._ready:
            if ":" in contender.solver:
                self._warm(contender, problem)
            else:
                warm(contender.solver, problem.kernel, problem.storage)
                # in advance, so that its memory is not the run's
                prepare(problem, contender.solver, self._tolerance(contender), contender.options)
            self._ready.add(contender.label)
        return problem

    def _tolerance(self, contender: Contender) -> float:
        """Return a contender's stopping tolerance."""
        return self._eps if contender.eps is None else contender.eps

    def _encoded(self, name: str | None) -> Any:
        """Return the examples in an encoding; each encoding is made once, on demand."""
        if name not in self._examples:
            assert name is not None and self._encode is not None
            self._examples[name] = self._encode(name)
        return self._examples[name]

    def _copy(self, contender: Contender, problem: Problem, rows: Any = slice(None)) -> Problem:
        """Return a copy of the problem, or of some of its rows, with arrays of its own."""
        X, y = problem.X[rows].copy(), problem.y[rows].copy()
        kernel = replace(problem.kernel)
        copy = Problem(X, y, problem.C, kernel, bias=problem.bias, storage=contender.storage)
        copy.prepare()
        return copy

    def _warm(self, contender: Contender, problem: Problem) -> None:
        """Run a user's own solver on a few rows, so that its imports and compilation are not timed."""
        solver = solver_of(contender, self._tolerance(contender))
        labels = np.unique(problem.y)[[0, -1]]
        rows = np.sort([row for label in labels for row in np.flatnonzero(problem.y == label)[:_WARM_ROWS]])
        try:
            with self._present.calling(warming=True):
                solver(self._copy(contender, problem, rows))
        except (Exception, SystemExit) as error:
            self._cold[contender.label] = _reason(error, contender)

    def run(self, contender: Contender) -> dict[str, Any]:
        """Run a contender once; return ``status`` and the fields of `NO_RESULT` of the journal's line.

        If a contender raises, its status is ``error`` with the reason; for a peer that cannot be imported, or
        more threads than processors, it is ``not_run``. The other contenders continue. A full disk, too many
        open files and a package that a user's solver lacks raise a StepError: the run may succeed another
        time. The run after a first call that failed is flagged, as it may have compiled something.
        """
        here = processors()
        if contender.threads > here:  # they would wait for each other
            return not_run(f"needs {contender.threads} processors, {here} here")
        try:
            found = {**NO_RESULT, **self._measured(contender)}
        except NotInstalled:
            return not_run(not_installed(contender.solver))
        except (Exception, SystemExit) as error:
            reason = _reason(error, contender)
            if isinstance(error, ImportError) and ":" not in contender.solver:
                return not_run(reason)
            if _is_surroundings(error):
                said = f"{self._experiment.name}, n = {len(self._y):,}: {contender.label}: {reason}"
                again = "finished measurements are kept, and the same command resumes"
                raise StepError(f"{said}; {again}") from error
            # Whatever else a solver raises, also a user's own, is its result and must not end the job.
            return {**NO_RESULT, "status": "error", "reason": reason}
        if cold := self._cold.pop(contender.label, None):
            reasons = filter(None, (found["flag_reason"], f"the first call failed: {cold}"))
            found |= {"flagged": True, "flag_reason": "; ".join(reasons)}
        return found

    def _measured(self, contender: Contender) -> dict[str, Any]:
        """Run a contender, and return what `run` does."""
        first = contender.label not in self._ready
        problem = self.prepare(contender)
        reused_memory.release()  # a run costs what a single call costs
        if first:
            release_memory()
        solver = solver_of(contender, self._tolerance(contender), self._experiment.trace)
        given = self._given(contender, problem)
        with self._present.calling(), Meter(self._instructions) as meter, no_garbage_collection():
            solution = solver(given)
        return {
            **_counts_and_times(solution, meter),
            **certified(
                problem,
                solution,
                contender,
                self._tolerance(contender),
                partial(self._matrix, encoding=contender.encoding),
            ),
            "performance": self._performance(problem, solution),
        }

    def _given(self, contender: Contender, problem: Problem) -> Problem:
        """Return the problem that a solver gets: for a user's own solver a copy."""
        return self._copy(contender, problem) if ":" in contender.solver else problem

    def _performance(self, problem: Problem, solution: Solution) -> dict[str, Any]:
        """Return the experiment's measures on the test set, also for a run that met a limit."""
        if self._test is None or (solution.alpha is None and solution.weights is None):
            return {}
        X, y = self._test
        values = solution.decision_function(problem, X)
        return {name: MEASURES[name](y, values) for name in self._experiment.measures}


def solver_of(contender: Contender, eps: float, trace: bool = False) -> Callable[[Problem], Solution]:
    """Return the function to be timed; with ``trace`` a solver of this project records its objective."""
    if ":" not in contender.solver:
        return lambda problem: solve(
            problem,
            contender.solver,
            eps=eps,
            time_limit=contender.time_limit,
            memory_limit_mb=contender.memory_limit_mb,
            iteration_limit=contender.iteration_limit,
            trace=trace,
            verify=False,  # every result is certified in this module
            **contender.options,
        )
    user = find(contender.solver)
    user.check_call(contender.options)  # imports it, which is not timed
    return lambda problem: user_functions.run(user, problem, eps, contender.time_limit, contender.options)


def not_installed(solver: str) -> str:
    """Name the package that a solver lacks, and the extra of this project that contains it, if any."""
    package = SOLVERS[solver].package
    extras = [
        found[2]
        for text in metadata.requires("svmrepro") or ()
        if (found := _REQUIREMENT.match(text)) and found[1] == package
    ]
    return f"not installed: {package}" + (f" (extra {extras[0]})" if extras else "")


def _is_surroundings(error: BaseException) -> bool:
    """Tell whether a solver failed for its surroundings, which may be better another time."""
    cause = error.__cause__ if isinstance(error, UserSolverError) else error
    return isinstance(cause, ImportError) or (isinstance(cause, OSError) and cause.errno in _SHORTAGES)


def _reason(error: BaseException, contender: Contender) -> str:
    """Describe an error in one line, with its place if it is in a user's own code."""
    if isinstance(error, StepError | UserSolverError):
        return one_line(error)
    package = contender.solver.partition(":")[0].partition(".")[0]
    places = [
        f" ({Path(frame.f_code.co_filename).name}:{line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package
    ]
    said = f"{type(error).__name__}: {one_line(error)}".encode("utf-8", "backslashreplace").decode()
    return textwrap.shorten(said, _MOST_SAID, placeholder=" ...") + (places[-1] if places else "")


def _counts_and_times(solution: Solution, meter: Meter) -> dict[str, Any]:
    """Return counts and times of a run, and whether the clock can be trusted."""
    info = {key: value for key, value in solution.info.items() if key not in _OWN_INFO}
    if "bytes_moved" in info:  # to be read beside the bandwidth
        info["copy_bandwidth"] = copy_bandwidth()
    if solution.trace:
        info["trace"] = _thinned(solution.trace)
    return {
        "cpu_seconds": solution.cpu_seconds,
        "wall_seconds": solution.wall_seconds,
        "iterations": int(solution.iterations),
        "kernel_evaluations": int(solution.kernel_evaluations),
        "work": {key: int(value) for key, value in solution.work.items()},
        "info": finite(info),
        "peak_memory_bytes": meter.peak_memory_bytes,
        **meter.fields(solution.wall_seconds, solution.cpu_seconds),
    }


def _thinned(trace: Sequence[tuple[float, float]]) -> list[Any]:
    """Return at most `TRACE_POINTS` points of a trace, the last one included."""
    step = -(-len(trace) // TRACE_POINTS)
    return [[float(seconds), float(objective)] for seconds, objective in trace[::-1][::step][::-1]]


def certified(
    problem: Problem,
    solution: Solution,
    contender: Contender,
    eps: float,
    matrix: Callable[[Problem], GaussianMatrix | None],
) -> dict[str, Any]:
    """Certify a solution; one that fails is no result, whatever status the solver reports.

    ``matrix`` returns the judge's kernel matrix of the problem, if it keeps one.
    """
    if solution.status in STOPPED:
        return {"status": solution.status, "reason": _limit_reason(solution.status, contender, solution)}
    limit = contender.time_limit
    # the seconds are of all threads
    if limit is not None and solution.cpu_seconds > contender.threads * OVERRUN * limit + OVERRUN_GRAIN:
        # The solver ignored its limit. Accepting the result would lead to repeats and to larger sizes.
        return {"status": "time_limit", "reason": _limit_reason("time_limit", contender, solution)}
    certificate = certify(problem, solution, matrix(problem))
    spec = SOLVERS.get(contender.solver)
    factor = spec.tolerance_factor if spec else user_functions.TOLERANCE_FACTOR
    passed = certificate.passes(eps, factor)
    found = {**finite(asdict(certificate)), "passed": passed}
    if passed:
        return {"status": OPTIMAL, "certificate": found}
    reason = f"certificate failed at eps {eps:g}: {certificate.summary(eps, factor)}"
    if solution.status != OPTIMAL:
        reason += f"; the solver said {solution.status!r}"
    return {"status": "uncertified", "reason": reason, "certificate": found}


def _limit_reason(status: str, contender: Contender, solution: Solution) -> str:
    own, limit = ":" in contender.solver, contender.time_limit  # a user's solver is given no other limit
    if status == "iteration_limit" and not own:
        return f"stopped at its cap of {solution.iterations:,} steps"
    if status == "time_limit" and limit is not None and not (own and solution.cpu_seconds < limit / OVERRUN):
        return f"passed its time limit of {limit:g} s"
    if status == "memory_limit" and contender.memory_limit_mb is not None and not own:
        return f"passed its memory limit of {contender.memory_limit_mb:g} MB"
    return f"{OWN_LIMIT} ({status})"
