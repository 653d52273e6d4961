"""The loop around every solver: slices, limits, progress and timing."""

from __future__ import annotations

import dataclasses
import math
import numbers
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.blas_threads import one_blas_thread
from svmrepro.solvers.compilation.loading import loaded, loading
from svmrepro.solvers.interface import Completes, LimitsMultipliers, Prepares, Solver
from svmrepro.solvers.kernel import Kernel, is_number, shown
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import HINGE, KKT, NO_BIAS, PAIRS, SQUARED_HINGE, SolverSpec, get
from svmrepro.solvers.solution import ITERATION_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Solution, Start

_SLICE_SECONDS = 0.05  # target length of a slice, and so the precision of time limits
_FIRST_SLICE = 200_000  # entries read in the first slice: about 0.2 ms to 1 ms
# About 3 ms of rows of bits, 0.02 s of dense rows. Without it, slices that read nothing (choosing a chunk)
# would make the size grow.
_LARGEST_SLICE = 2**27
# By how much slices grow at most. Each costs about 20 us; a trace of a short run needs more than two.
_GROWTH, _GROWTH_TRACED = 16.0, 4.0
_FADING = 0.9  # of the slowest slice's seconds for an entry, from slice to slice
_NO_LIMIT = 2**62
_STEPS, _STEPS_AN_EXAMPLE = 10**7, 100  # LIBSVM's limit
_LARGEST_START = 1e100  # upper limit on unbounded multipliers, to avoid overflow
_FEASIBLE = 1e-9  # largest |y'alpha|, as a share of sum alpha
_ROUNDED = 4.0 * float(np.finfo(float).eps)  # relative error of a term: kernel value, product and sum
_SMALL = 0.125  # share of eps; the certificate's own rounding errors are several times as large
_NEGLIGIBLE = 1e-3  # share of what is allowed, of this and of eps

Progress = Callable[[float, int, float], None]


@np.errstate(all="ignore")  # whatever the caller's is: solutions that are not finite are refused
def solve(
    problem: Problem,
    name: str,
    *,
    eps: float = 1e-3,
    time_limit: float | None = None,
    memory_limit_mb: float | None = None,
    iteration_limit: float | None = None,
    progress: Progress | None = None,
    trace: bool = False,
    start: npt.ArrayLike | Start | None = None,
    verify: bool | str | None = "auto",
    **options: Any,
) -> Solution:
    """Train on a problem.

    NumPy's and SciPy's BLAS use one thread meanwhile, in the whole process.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    name : str
        A name in ``SOLVERS``.
    eps : float
        Stopping tolerance on the KKT conditions, or on the gap: see ``SOLVERS[name].promise``.
    time_limit : float, optional
        CPU seconds of this thread, or elapsed seconds if the examples are on a cluster; precise to about 0.1
        s, and for linear solvers to up to two passes over the examples. Peers, which run in one call, are not
        stopped.
    memory_limit_mb : float, optional
        Limit on the matrix that chunking stores, in MB of 2^20 bytes, counted at 4 bytes per entry of the
        sub-problem's square. It also holds for the matrix of ``lsvm`` and the differences that
        ``svmlight-ordinal`` stores, which have a limit of 512 MB in any case. Other solvers ignore it.
    iteration_limit : int or inf, optional
        Largest number of steps; by default LIBSVM's limit, max(10^7, 100 n). ``math.inf`` removes it; steps
        that zigzag on ill-conditioned problems may then never end. Solvers without
        ``SOLVERS[name].iteration_limited`` end by their package's own rule, and a finite limit is refused.
    progress : callable, optional
        Called after each slice with (seconds as limited, steps, dual objective). Cutting-plane solvers pass
        their lower bound as the objective.
    trace : bool
        Whether to record (the same seconds, the same objective) after each slice.
    start : array_like, shape (n,), or Start, optional
        Feasible initial multipliers, for solvers with ``SOLVERS[name].starts``, in the order and number of
        the solution's ``alpha``: one for each pair from ``svmlight-ordinal``. All 0 by default. The gradient
        of a ``Start``, such as ``end`` of another solution, must be of these examples and this kernel: it is
        not checked, and computed again only if its rounding errors could matter.
    verify : bool, "auto" or None
        Whether to check a result by :func:`~svmrepro.solvers.certify`, after the clock has stopped. If a
        solver reports it as optimal and the check fails, the status becomes ``stalled``; a stalled result
        that passes at all examples becomes ``optimal``. "auto" checks all examples if that is quick, or if
        rounding could matter; otherwise the KKT conditions at a sample of them, or at all if the kernel is
        linear. A gap that is long to compute, and examples on a cluster, are not checked. False checks
        nothing but LIBLINEAR's results, and a result that rounding errors could make wrong is
        ``stalled``. None keeps the solver's own status.
    **options
        The solver's own options, see ``SOLVERS[name].options``.

    Returns
    -------
    Solution
        Its times cover the solver alone; building the representation and loading code are excluded.

    Raises
    ------
    ValueError
        If the solver is unknown, lacks an option, or cannot take the problem; or if a limit, the tolerance,
        ``start`` or ``verify`` is invalid.
    NotInstalled
        If the solver's package is not installed.
    """
    spec = get(name)
    full = spec.check(problem, options)
    check_positive("eps", eps)
    limits = {
        "time_limit": time_limit,
        "memory_limit_mb": memory_limit_mb,
        "iteration_limit": iteration_limit,
    }
    check_settings({**limits, "verify": verify})
    spec.check_iteration_limit(iteration_limit)
    if start is not None and not spec.starts:
        raise ValueError(f"solver {name!r} cannot go on from given multipliers")
    if iteration_limit is None:
        iteration_limit = max(_STEPS, _STEPS_AN_EXAMPLE * problem.n)
    solver = spec.load()
    if spec.starts:
        alpha = start.alpha if isinstance(start, Start) else start
        full["start"] = None if alpha is None else _checked_start(problem, solver, spec.loss, alpha)
        full["gradient"] = None
        if isinstance(start, Start):
            gradient, drift = _checked_gradient(problem, start)
            moved = float(np.abs(full["start"] - start.alpha).sum())
            full["gradient"] = gradient, drift + moved / float(np.finfo(float).eps)
    if spec.memory_limited:
        full["memory_limit_bytes"] = _NO_LIMIT if memory_limit_mb is None else memory_limit_mb * 2**20
    with one_blas_thread():
        _prepare(solver, problem, eps, full)
        solution = _drive(solver, problem, float(eps), full, time_limit, iteration_limit, progress, trace)
        solution = dataclasses.replace(solution, loss=spec.loss, promise=spec.promise)
        solution = _balanced(problem, solution, float(eps))
        return verified(problem, solution, spec, eps, verify)


def prepare(problem: Problem, name: str, eps: float, options: Mapping[str, Any]) -> None:
    """Lay the examples out, and load the code that a solver needs with these options.

    :func:`solve` does it before its clock starts. Done in advance, its memory is not the run's either.
    """
    spec = get(name)
    _prepare(spec.load(), problem, eps, spec.check(problem, options))


def _prepare(solver: Solver, problem: Problem, eps: float, options: dict[str, Any]) -> None:
    problem.prepare()
    if isinstance(solver, Prepares):
        solver.prepare(problem, float(eps), options)


def verified(
    problem: Problem, solution: Solution, spec: SolverSpec, eps: float, verify: bool | str | None
) -> Solution:
    """Return a solution, ``optimal`` or ``stalled`` as the certificate finds; see ``verify`` of `solve`."""
    if solution.status not in (OPTIMAL, STALLED) or verify is None:
        return solution
    gap_of_peer = spec.package and solution.promise != KKT  # nothing is known of its rounding
    if not verify and not gap_of_peer:
        known = solution.status == OPTIMAL and _known(problem, solution, eps, bool(spec.package))
        return dataclasses.replace(solution, status=OPTIMAL if known else STALLED)
    from svmrepro.solvers.certificate import certify, quick_sample, worth_verifying

    sample = None
    if verify == "auto" and not worth_verifying(problem, solution, eps, bool(spec.package)):
        sample = quick_sample(problem, solution)
        if sample is None or solution.status == STALLED:
            return solution
    try:
        found = certify(problem, solution, sample=sample)
        # A sample can confirm what a solver says, but not more.
        passes = found.passes(eps, spec.tolerance_factor) and not (
            found.sampled and solution.status == STALLED
        )
    except ValueError:  # such as a multiplier that is not finite, or outside its box
        passes = False
    return dataclasses.replace(solution, status=OPTIMAL if passes else STALLED)


def _known(problem: Problem, solution: Solution, eps: float, peer: bool) -> bool:
    """Tell whether rounding in the outputs is small beside eps, in any order of their terms.

    The certificate is more precise. Our solvers with another promise subtract rounding from the gap, except
    for that of pairs.
    """
    alpha = solution.alpha
    if alpha is not None and solution.loss == PAIRS and solution.relaxed is None:
        # A pair compares two examples, whose difference is at most twice as long as the longest.
        square = 4.0 * float(problem.prepare().norms.max())
        return _ROUNDED * float(alpha.sum()) * square <= _SMALL * eps
    if alpha is None or solution.promise != KKT or solution.loss != HINGE:
        return True
    from svmrepro.solvers.storage.kernel_transforms import fill_diagonal, largest_value  # compiled code

    store = problem.prepare()
    if problem.kernel.may_be_indefinite:
        size = float(alpha.sum()) * largest_value(problem.kernel, store)
    else:  # |K_ij| <= l_i l_j, by Cauchy and Schwarz
        lengths = np.empty(problem.n)
        fill_diagonal(lengths, problem.kernel, store)
        np.sqrt(np.abs(lengths), out=lengths)
        size = float(alpha @ lengths) * float(lengths.max())
    error = _ROUNDED + problem.exponent_error
    if problem.kernel.name == "polynomial":  # a power multiplies the relative error of its base
        error += _ROUNDED * float(problem.kernel.degree)
    if peer:
        from svmrepro.solvers.certificate import peer_rounding

        error = peer_rounding(problem)
    return bool(np.isfinite(solution.bias)) and error * size <= _SMALL * eps


def _checked_start(
    problem: Problem, solver: Solver, loss: str, start: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return a copy of the initial multipliers, or raise ValueError if they are not feasible."""
    if isinstance(solver, LimitsMultipliers):
        most = solver.multiplier_limits(problem)
    else:
        most = np.full(problem.n, _LARGEST_START) if loss == SQUARED_HINGE else problem.bounds
    if np.iscomplexobj(start) or np.ma.isMaskedArray(start):
        raise ValueError("start must be real and not masked")
    try:
        alpha = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("start must hold numbers, one for each multiplier") from None
    if alpha.shape != most.shape:
        raise ValueError(f"start must have shape {most.shape}, got {alpha.shape}")
    wrong = np.flatnonzero(~((alpha >= 0) & (alpha <= most)))
    if wrong.size:
        i = wrong[0]
        raise ValueError(f"start[{i}] = {alpha[i]:g} is not in [0, {most[i]:g}]")
    if problem.bias:
        off = _imbalance(problem, alpha)
        allowed = _FEASIBLE * float(alpha.sum())
        if abs(off) > allowed:
            raise ValueError(f"start is not feasible: sum_i y_i alpha_i is {off:g}, and must be 0")
        if abs(off) > _NEGLIGIBLE * allowed:  # it would remain, however far the multipliers fall
            _balance(problem, alpha, off)
    return alpha


def _imbalance(problem: Problem, alpha: npt.NDArray[np.float64]) -> float:
    """Return ``sum_i y_i alpha_i``."""
    return math.fsum(problem.y * alpha)


def is_balanced(problem: Problem, alpha: npt.NDArray[np.float64]) -> bool:
    """Tell whether multipliers satisfy the equality constraint, if there is one."""
    return not problem.bias or abs(_imbalance(problem, alpha)) <= _FEASIBLE * float(alpha.sum())


def _balance(problem: Problem, alpha: npt.NDArray[np.float64], off: float) -> int | None:
    """Take the imbalance off the smallest support vector with room for it; return which, or None.

    The smallest rounds least.
    """
    moved = alpha - problem.y * off
    fits = np.flatnonzero((alpha > 0) & (moved >= 0) & (moved <= problem.bounds))
    if off == 0.0 or fits.size == 0:
        return None
    k = int(fits[np.argmin(moved[fits])])
    alpha[k] = moved[k]
    return k


def _balanced(problem: Problem, solution: Solution, eps: float) -> Solution:
    """Return an optimal solution that satisfies the equality constraint, or that is ``stalled``.

    Steps of pairs preserve its rounding error, which is too large if multipliers were far larger before.
    """
    if solution.status != OPTIMAL or solution.alpha is None or is_balanced(problem, solution.alpha):
        return solution
    alpha = solution.alpha.copy()
    off = _imbalance(problem, alpha)
    k = _balance(problem, alpha, off)
    from svmrepro.solvers.storage.kernel_transforms import largest_value  # compiled code

    change = abs(off) * largest_value(problem.kernel, problem.prepare())  # of the gradient, at most
    if k is None or change > _NEGLIGIBLE * eps:
        return dataclasses.replace(solution, status=STALLED)
    weights = solution.weights
    if weights is not None:
        row = problem.X[[k]]
        row = np.asarray(row.toarray() if sp.issparse(row) else row).ravel()
        weights = weights - off * row
    return dataclasses.replace(solution, alpha=alpha, weights=weights, end=None)


def _checked_gradient(problem: Problem, start: Start) -> tuple[npt.NDArray[np.float64], float]:
    """Return the gradient of a start and its drift, or raise ValueError if they cannot be."""
    gradient = np.asarray(start.gradient, dtype=np.float64)
    if gradient.shape != (problem.n,) or not np.isfinite(gradient).all():
        raise ValueError(f"the gradient of start must be {problem.n} finite numbers")
    if not 0.0 <= start.drift < math.inf:
        raise ValueError(f"the drift of start must be a finite number of at least 0, got {start.drift!r}")
    return gradient, float(start.drift)


def _drive(
    solver: Solver,
    problem: Problem,
    eps: float,
    options: dict[str, Any],
    time_limit: float | None,
    iteration_limit: float,
    progress: Progress | None,
    trace: bool,
) -> Solution:
    """Run one solver in slices until it ends or reaches a limit."""
    limit = math.inf if time_limit is None else time_limit
    step_limit = int(min(iteration_limit, _NO_LIMIT))
    elsewhere = getattr(problem.X, "elsewhere", False)
    clock = time.perf_counter if elsewhere else time.thread_time
    known_cpu, known_wall = loaded.cpu, loaded.wall
    points: list[tuple[float, float]] | None = [] if trace else None
    wall = time.perf_counter()
    begin, started = time.thread_time(), clock()
    run = solver.start(problem, eps, options)
    work, now, slowest, status = _FIRST_SLICE, 0.0, 0.0, None
    while status is None:
        before = now
        status = solver.advance(run, work, step_limit)
        now = clock() - started - (loaded.wall - known_wall if elsewhere else loaded.cpu - known_cpu)
        slowest *= _FADING
        if before > 0.0 and now - before > _SLICE_SECONDS / 4:  # the first one may have loaded code
            slowest = max(slowest, (now - before) / work)
        work = _next_slice(work, now - before, slowest, _GROWTH_TRACED if trace else _GROWTH)
        if points is not None:
            points.append((now, solver.objective(run)))
        if progress is not None:
            with loading():  # these seconds are the caller's
                progress(now, solver.steps(run), solver.objective(run))
        if status is None and now >= limit:
            status = TIME_LIMIT
        elif status is None and solver.steps(run) >= step_limit:
            status = ITERATION_LIMIT
    solution = solver.finish(run, status)
    own = time.thread_time() - begin - (loaded.cpu - known_cpu)
    solution = dataclasses.replace(
        solution,
        cpu_seconds=solution.cpu_seconds + own,  # of helper threads, and of this one
        wall_seconds=time.perf_counter() - wall - (loaded.wall - known_wall),
        trace=points,
    )
    return solver.complete(run, solution) if isinstance(solver, Completes) else solution


def _next_slice(work: int, seconds: float, slowest: float, growth: float) -> int:
    """Return the work of the next slice.

    It follows the time of the last one, which may have ended early, and allows for the ``slowest`` that took
    long of late: its seconds for each entry.
    """
    factor = _SLICE_SECONDS / max(seconds, 1e-6)
    most = min(_LARGEST_SLICE, 2.0 * _SLICE_SECONDS / slowest if slowest else math.inf)
    return int(max(1_000, min(work * min(max(factor, 0.1), growth), most)))


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise ValueError if a limit or ``verify``, as of `solve`, is not valid."""
    for key in ("time_limit", "memory_limit_mb", "iteration_limit"):
        if settings.get(key) is not None:
            check_positive(key, settings[key], endless=key == "iteration_limit")
    if settings["verify"] not in (True, False, "auto", None):
        raise ValueError(f"verify must be True, False, None or 'auto', got {settings['verify']!r}")


def check_positive(name: str, value: float, endless: bool = False) -> None:
    """Raise ValueError unless a value is a positive number, finite if not ``endless``."""
    unlimited = endless and isinstance(value, numbers.Real) and value == math.inf
    if not (unlimited or (is_number(value) and value > 0)):
        raise ValueError(f"{name} must be a positive number, got {shown(value)}")


def warm(name: str, kernel: Kernel | str = "linear", storage: str = "auto") -> None:
    """Compile, or load from the cache, the code that solving this combination needs for few examples.

    With ``auto``, they may be binary or have few values, real values or mostly zeros; else they are binary.
    Others, or more, may need further code, which their first solve compiles or loads; its times exclude that.

    Parameters
    ----------
    name : str
        A name in ``SOLVERS``.
    kernel : Kernel or str
        The kernel, or its name.
    storage : str
        The storage.

    Raises
    ------
    ValueError
        If solver, kernel or storage is unknown, or they cannot be combined.
    """
    family = kernel if isinstance(kernel, str) else kernel.name
    toys = {
        "linear": Kernel.linear(),
        "gaussian": Kernel.gaussian(gamma=0.5),
        "polynomial": Kernel.polynomial(2, c=1.0),
        "precomputed": Kernel.precomputed(),
    }
    if family not in toys:
        raise ValueError(f"kernel: one of {', '.join(toys)} expected, not {family!r}")
    random = np.random.default_rng(0)
    X = random.integers(0, 2, size=(12, 5)).astype(np.float64)
    examples = [X]
    if family == "precomputed":
        examples, storage = [X @ X.T], "auto"
    elif storage in ("auto", "bits", "index"):  # rows are computed in another way if there are few ones
        examples.append(np.eye(40))
    if family != "precomputed" and storage == "auto":  # of which real examples choose other ones
        few_values = random.integers(1, 5, size=(12, 40)) / 4.0
        examples += [random.normal(size=(12, 5)), few_values, np.diag(np.arange(1, 121) / 120.0)]
    for each in examples:
        y = np.where(np.arange(len(each)) % 3 == 0, 1.0, -1.0)
        problem = Problem(each, y, 1.0, toys[family], bias=NO_BIAS not in get(name).needs, storage=storage)
        solve(problem, name, verify=False)
