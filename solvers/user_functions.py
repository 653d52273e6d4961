"""Other people's solvers: functions given as ``package.module:function``, or declared by a package.

A package declares its solvers as entry points of the group :data:`GROUP`, in its ``pyproject.toml``::

    [project.entry-points."svmrepro.solvers"]
    my-svm = "my_package.training:train"

The function is called as ``train(problem, eps, time_limit, **options)``: a
:class:`~svmrepro.solvers.problem.Problem`, the tolerance on the KKT conditions, and CPU seconds or None. It
returns a :class:`~svmrepro.solvers.solution.Solution`, or any object with ``alpha``, shape (n,), and
``bias``, a number; ``weights``, ``status``, ``iterations`` and ``kernel_evaluations`` are optional. It keeps
nothing between calls: repeats of a measurement call it several times in one process, with equal problems.
:mod:`svmrepro.solvers.conformance` tests its results.
"""

from __future__ import annotations

import importlib
import inspect
import math
import numbers
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from itertools import pairwise
from time import perf_counter, process_time  # a user's module may replace those of `time`
from types import FrameType
from typing import Any

import numpy as np
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import OPTIMAL, Solution, own_copy

#: Group of entry points by which packages declare solvers.
GROUP = "svmrepro.solvers"

#: Largest pair gap, in units of eps, with which the certificate accepts a user's solver.
TOLERANCE_FACTOR = 2.0

_TIMERS = {
    signal.ITIMER_REAL: signal.SIGALRM,
    signal.ITIMER_VIRTUAL: signal.SIGVTALRM,
    signal.ITIMER_PROF: signal.SIGPROF,
}
"""The timers of a process, with the signals that they send."""

_MOST_COUNTED = 10**18
_MOST_SAID = 1e100


class UserSolverError(ValueError):
    """A user's solver cannot be loaded, or returned something other than a solution."""


@dataclass(frozen=True)
class UserSolver:
    """A solver outside this project.

    Attributes
    ----------
    function : str
        ``package.module:function``.
    name : str
        Name of its entry point; empty if no package declares it.
    package : str
        Distribution that declares or contains it; empty if it belongs to none.
    version : str or None
        Version of that distribution.
    """

    function: str
    name: str = ""
    package: str = ""
    version: str | None = None

    def __str__(self) -> str:
        if not self.name:
            return f"solver {self.function!r}"
        return f"solver {self.name!r} ({self.function}), an entry point of {self.package} {self.version}"

    @property
    def module(self) -> str:
        """The module of the function."""
        return self.function.partition(":")[0]

    def check_name(self) -> None:
        """Raise UserSolverError unless the function is given as ``package.module:function``."""
        module, _, function = self.function.partition(":")
        if not (function.isidentifier() and all(part.isidentifier() for part in module.split("."))):
            what = f"{self.function!r} is not of the form package.module:function"
            raise UserSolverError(f"{self}: {what}" if self.name else what)

    def load(self) -> Callable[..., Any]:
        """Import the function; raise UserSolverError if that fails. The process is left as it was."""
        module, _, attribute = self.function.partition(":")
        try:
            with _kept_process():
                function = getattr(importlib.import_module(module), attribute)
        except (Exception, SystemExit) as error:
            told = " ".join(str(error).split()) or type(error).__name__
            raise UserSolverError(f"{self}: {type(error).__name__}: {told}") from error
        if not callable(function):
            raise UserSolverError(f"{self} is not a function")
        return function  # type: ignore[no-any-return]

    def check_call(self, options: Mapping[str, Any]) -> None:
        """Import the function; raise UserSolverError unless it takes what :func:`run` calls it with."""
        function = self.load()
        try:
            signature = inspect.signature(function)
        except (ValueError, TypeError):  # written in C, without a signature
            return
        try:
            signature.bind("problem", "eps", "time_limit", **options)
        except TypeError as error:
            given = ", ".join(["problem", "eps", "time_limit", *options])
            called = f"{self.function.partition(':')[2]}({given})"
            raise UserSolverError(f"{self}: {error}; it is called as {called}") from None


@cache
def declared() -> Mapping[str, UserSolver]:
    """Return the solvers that installed packages declare, by name; two of one name raise UserSolverError."""
    found: dict[str, UserSolver] = {}
    for entry in metadata.entry_points(group=GROUP):
        package = entry.dist.name if entry.dist else ""
        solver = UserSolver(entry.value, entry.name, package, entry.dist.version if entry.dist else None)
        other = found.setdefault(entry.name, solver)
        if (other.function, other.package) != (solver.function, solver.package):
            packages = f"{other.package} ({other.function}) and {package} ({entry.value})"
            raise UserSolverError(f"two packages declare the solver {entry.name!r}: {packages}")
    return found


@cache
def find(name: str) -> UserSolver:
    """Return the solver that a text names: an entry point, or ``package.module:function``.

    If there is no such entry point, UserSolverError is raised.
    """
    solvers = declared()
    if ":" not in name:
        if name not in solvers:
            known = ", ".join(solvers) or "none"
            raise UserSolverError(f"no package declares the solver {name!r}; declared: {known}")
        return solvers[name]
    entry = next((solver for solver in solvers.values() if solver.function == name), None)
    if entry is not None:
        return entry
    packages = metadata.packages_distributions().get(name.partition(":")[0].partition(".")[0], [])
    if not packages:
        return UserSolver(name)
    return UserSolver(name, package=packages[0], version=metadata.version(packages[0]))


def run(
    solver: UserSolver | Callable[..., Any],
    problem: Problem,
    eps: float,
    time_limit: float | None,
    options: Mapping[str, Any],
) -> Solution:
    """Call a user's solver; the solution's CPU seconds include those of its threads and child processes.

    Afterwards the process is as it was before the call, and a process that the call forked ends here.
    """
    function = solver.load() if isinstance(solver, UserSolver) else solver
    name = str(solver) if isinstance(solver, UserSolver) else "the solver"
    others = _seconds_of_descendants()
    wall, cpu = perf_counter(), _cpu_seconds()
    with _kept_process(), _exceptions_of(name):
        # Reading the answer is timed: it may be computed only when its arrays are asked for.
        found = _as_solution(name, function(problem, eps, time_limit, **options))
    cpu, wall = _cpu_seconds() - cpu, perf_counter() - wall
    # A process that ended meanwhile is in `cpu` with all its seconds, in `others` with those before the call.
    cpu = max(0.0, cpu + _seconds_of_descendants() - others)
    if found.trace and found.trace[-1][0] > max(cpu, wall):
        found = replace(found, trace=None)
    return replace(found, cpu_seconds=cpu, wall_seconds=wall)


@contextmanager
def _kept_process() -> Iterator[None]:
    """Restore the working directory, NumPy's error state and timers; end a copy of this process after a fork.

    A timer that is left behind would end another solver's run.
    """
    process, folder = os.getpid(), os.open(".", os.O_RDONLY)
    idle = [timer for timer in _TIMERS if signal.getitimer(timer) == (0.0, 0.0)]
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _TIMERS.values()} if main else {}
    try:
        with np.errstate():
            yield
    finally:
        if os.getpid() != process:
            os._exit(1)
        for timer in idle:
            signal.setitimer(timer, 0.0)
        for number, handler in handlers.items():
            if handler is not None:  # of C code
                signal.signal(number, handler)
        os.fchdir(folder)
        os.close(folder)


@contextmanager
def _exceptions_of(name: str) -> Iterator[None]:
    """Raise UserSolverError for a panic in Rust, a KeyboardInterrupt that is no Ctrl-C, and the like."""
    before, met = signal.getsignal(signal.SIGINT), False

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal met
        met = True
        assert callable(before)
        before(number, frame)

    # Otherwise Ctrl-C raises no exception here.
    raises = callable(before) and threading.current_thread() is threading.main_thread()
    if raises:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    except (Exception, SystemExit):
        raise
    except BaseException as error:
        if met:
            raise
        raise UserSolverError(f"{name} raised {error!r}") from error
    finally:
        if raises:
            signal.signal(signal.SIGINT, before)


def _cpu_seconds() -> float:
    """Return the CPU time of all threads of this process and of its child processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _seconds_of_descendants() -> float:
    """Return the CPU time of living child processes, such as workers that a warm-up has started."""
    import psutil  # here, because most programs that import this module call no solver of a user

    seconds = 0.0
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            seconds += sum(each.cpu_times()[:4])  # its own, and those of its ended children
    return seconds


def _as_solution(name: str, answer: Any) -> Solution:
    """Return an answer as a plain solution with arrays of its own, to be judged by the KKT conditions."""
    iterations = _count(name, "iterations", getattr(answer, "iterations", 0))
    evaluations = _count(name, "kernel_evaluations", getattr(answer, "kernel_evaluations", 0))
    alpha, bias = getattr(answer, "alpha", None), getattr(answer, "bias", None)
    if alpha is None or bias is None:
        kind = type(answer).__name__
        raise UserSolverError(f"{name} returned {kind}, without alpha and bias as attributes")
    weights = getattr(answer, "weights", None)
    try:
        alpha = own_copy("alpha", alpha)
        weights = None if weights is None else own_copy("weights", weights)
        bias = own_copy("bias", bias)
    except ValueError as error:
        raise UserSolverError(f"{name} returned no solution: {error}") from None
    if bias.size != 1:
        raise UserSolverError(f"{name} returned a bias of shape {bias.shape}, not a number")
    status = getattr(answer, "status", OPTIMAL)
    found = Solution(alpha, weights, bias.item(), status, iterations, evaluations)
    if isinstance(answer, Solution):
        work = {str(key): _count(name, f"work[{key!r}]", value) for key, value in answer.work.items()}
        info = {str(key): _plain(value) for key, value in answer.info.items() if _is_statistic(value)}
        found = replace(found, work=work, info=info, trace=_trace(answer.trace))
    return found


def _is_statistic(value: Any) -> bool:
    """Tell whether a value is what a solution may say in ``info``: a finite number or counts."""
    if isinstance(value, list):
        return all(isinstance(each, int) and 0 <= each <= _MOST_COUNTED for each in value)
    size: Any = abs(value) if isinstance(value, numbers.Real) else math.inf
    return bool(size <= _MOST_SAID)


def _plain(value: Any) -> Any:
    """Return a statistic as JSON takes it: fractions and numbers of other libraries as int or float."""
    if isinstance(value, list | int | float):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _trace(points: Any) -> list[tuple[float, float]] | None:
    """Return a trace if it is valid: seconds in order and objectives, all finite."""
    try:
        found = [(float(seconds), float(objective)) for seconds, objective in points or ()]
    except (TypeError, ValueError, OverflowError):
        return None
    fine = all(0.0 <= seconds <= _MOST_SAID and abs(value) <= _MOST_SAID for seconds, value in found)
    fine = fine and all(one[0] <= other[0] for one, other in pairwise(found))
    return found if found and fine else None


def _count(name: str, key: str, value: Any) -> int:
    try:
        if 0 <= value <= _MOST_COUNTED and value == int(value):
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise UserSolverError(f"{name} returned {key}: {value!r} is not a count")
