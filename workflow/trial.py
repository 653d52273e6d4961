"""One run of one contender on one problem: clock, meter, certificate, and what becomes of them."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from svmrepro.solvers import SOLVERS, Kernel, Problem, Solution, certify, solve, warm
from svmrepro.workflow.config import Contender, Experiment
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.machine import Meter, load_average
from svmrepro.workflow.record import NO_RESULT

#: A run is flagged when its wall time exceeds its CPU time by more than this share ...
WALL_EXCESS = 0.1
#: ... and by more than this many seconds, below which the clocks' own grain decides.
WALL_GRAIN = 0.001
#: A run is flagged when other processes used more than this many cores meanwhile.
OTHER_CORES = 0.2

#: What the certificate of a user's own solver may show, in units of eps.
USER_TOLERANCE = 2.0

_LIMIT_STATUSES = ("time_limit", "memory_limit", "iteration_limit")


class Trials:
    """
    The contenders of one row, on the same arrays.

    Parameters
    ----------
    experiment
        The experiment.
    X, y
        Examples (n, d) and labels (n,).

    Notes
    -----
    Representations are built once for each storage and shared by the contenders that use it.
    """

    def __init__(self, experiment: Experiment, X: Any, y: Any) -> None:
        self._experiment = experiment
        self._X, self._y = X, y
        self._problems: dict[tuple[str, bool], Problem] = {}
        self._ready: set[str] = set()

    def prepare(self, contender: Contender) -> Problem:
        """
        Build the representation and load the compiled code that a contender needs, before any clock runs.

        Returns
        -------
        Problem
            Prepared.
        """
        key = (contender.storage, contender.bias)
        if key not in self._problems:
            kernel = Kernel.from_mapping(self._experiment.kernel)
            bound = self._experiment.bound(len(self._y))
            problem = Problem(self._X, self._y, bound, kernel, bias=contender.bias, storage=contender.storage)
            problem.prepare()
            self._problems[key] = problem
        problem = self._problems[key]
        if contender.label not in self._ready:
            if ":" not in contender.solver:
                warm(contender.solver, problem.kernel, problem.storage)
            self._ready.add(contender.label)
        return problem

    def run(self, contender: Contender) -> dict[str, Any]:
        """
        Run a contender once.

        Parameters
        ----------
        contender
            Who.

        Returns
        -------
        dict
            ``status`` and the fields of :data:`~svmrepro.workflow.record.NO_RESULT`. A contender that raises
            has status ``error`` with the reason: the others go on.
        """
        result: dict[str, Any] = dict(NO_RESULT)
        try:
            problem = self.prepare(contender)
            solver = _solver(contender, self._experiment.eps)
            result["load_before"] = load_average()
            with Meter() as meter:
                solution = solver(problem)
            result["load_after"] = load_average()
            result |= _figures(solution, meter)
            result |= _verdict(problem, solution, contender, self._experiment.eps)
        except Exception as error:
            # Whatever a solver, perhaps a user's own, runs into is its result, not the end of the job.
            return {**NO_RESULT, "status": "error", "reason": f"{type(error).__name__}: {one_line(error)}"}
        return result


def _solver(contender: Contender, eps: float) -> Callable[[Problem], Solution]:
    """Return the call to be timed."""
    if ":" not in contender.solver:
        return lambda problem: solve(
            problem,
            contender.solver,
            eps=eps,
            time_limit=contender.time_limit,
            memory_limit_mb=contender.memory_limit_mb,
            **contender.options,
        )
    function = _user_function(contender.solver)

    def run(problem: Problem) -> Solution:
        wall, cpu = time.perf_counter(), time.process_time()
        answer = function(problem, eps, contender.time_limit, **contender.options)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return replace(_as_solution(answer), cpu_seconds=cpu, wall_seconds=wall)

    return run


def _user_function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise StepError(f"solver {name!r}: {one_line(error)}") from error
    if not callable(function):
        raise StepError(f"solver {name!r} is no function")
    return function  # type: ignore[no-any-return]


def _as_solution(answer: Any) -> Solution:
    """Take a user's result: a Solution, or anything with ``alpha`` and ``bias``."""
    if isinstance(answer, Solution):
        return answer
    return Solution(
        alpha=answer.alpha,
        weights=getattr(answer, "weights", None),
        bias=float(answer.bias),
        status=getattr(answer, "status", "optimal"),
        iterations=int(getattr(answer, "iterations", 0)),
        kernel_evaluations=int(getattr(answer, "kernel_evaluations", 0)),
    )


def _figures(solution: Solution, meter: Meter) -> dict[str, Any]:
    """Return what was counted and timed, and whether the clock can be trusted."""
    excess = solution.wall_seconds - solution.cpu_seconds
    reasons = []
    if excess > max(WALL_EXCESS * solution.cpu_seconds, WALL_GRAIN):
        reasons.append(f"wall time {solution.wall_seconds:.3g} s against {solution.cpu_seconds:.3g} s of CPU")
    if meter.other_cores > OTHER_CORES:
        reasons.append(f"other processes used {meter.other_cores:.1f} cores")
    return {
        "cpu_seconds": solution.cpu_seconds,
        "wall_seconds": solution.wall_seconds,
        "iterations": int(solution.iterations),
        "kernel_evaluations": int(solution.kernel_evaluations),
        "work": {key: int(value) for key, value in solution.work.items()},
        "info": _plain(solution.info),
        "peak_memory_bytes": meter.peak_memory_bytes,
        "flagged": bool(reasons),
        "flag_reason": "; ".join(reasons) or None,
    }


def _verdict(problem: Problem, solution: Solution, contender: Contender, eps: float) -> dict[str, Any]:
    """Certify a solution; one that fails is no result, whatever its solver says."""
    if solution.status in _LIMIT_STATUSES:
        return {"status": solution.status, "reason": _limit_reason(solution.status, contender)}
    certificate = certify(problem, solution)
    spec = SOLVERS.get(contender.solver)
    factor = spec.tolerance_factor if spec else USER_TOLERANCE
    passed = certificate.passes(eps, factor, problem.n, problem.C)
    found = {**_plain(asdict(certificate)), "passed": passed}
    if passed:
        return {"status": "optimal", "certificate": found}
    reason = (
        f"certificate failed: pair gap {certificate.pair_gap:.3g}, violation {certificate.max_violation:.3g}"
        f" at eps {eps:g}; the solver said {solution.status!r}"
    )
    return {"status": "uncertified", "reason": reason, "certificate": found}


def _limit_reason(status: str, contender: Contender) -> str:
    if status == "time_limit":
        return f"passed its time limit of {contender.time_limit:g} s"
    if status == "memory_limit":
        return f"passed its memory limit of {contender.memory_limit_mb:g} MB"
    return "passed its limit of iterations"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers as JSON knows them: numpy's as Python's, those that are not finite as null."""
    plain: dict[str, Any] = {}
    for key, value in values.items():
        number = value.item() if hasattr(value, "item") else value
        plain[key] = None if isinstance(number, float) and not math.isfinite(number) else number
    return plain
