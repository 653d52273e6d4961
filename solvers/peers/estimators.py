r"""LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, called through estimators like scikit-learn's.

They have the interface of the other solvers where their packages are installed. ``_MODULES`` names the
packages (LIBLINEAR is scikit-learn's), and ``_estimator`` builds each estimator; there oneDAL's threads are
set, which are not OpenMP's.

Arrays are dense if the problem's storage is ``dense``, else CSR. They are built before the clock starts. The
packages run to their end in one call: a time limit does not stop them, there are no intermediate objectives,
and the only counted work is the number of steps. LIBSVM and LIBLINEAR are compiled into scikit-learn, so its
version is their fingerprint. oneDAL (2026.2) occasionally returns a wrong solution for CSR data with empty
examples; the certificate rejects it. ThunderSVM's package for processors (thundersvm-cpu 0.3.3) returns wrong
solutions for all CSR data, so these are refused; it reports no number of steps, and its ``max_iter`` limits
nothing, so that an iteration limit is refused. Its multipliers are in single precision: what this rounds off
their balance is spread over those between the bounds.

Bounds that differ between examples are passed as example weights, at C = 1. ThunderSVM has no example
weights; it accepts bounds that are equal within each class, as class weights. Row pointers are passed as
32-bit integers: examples with too many entries for these are refused.

LIBLINEAR minimises ``w.w / 2 + C sum_i max(0, 1 - y_i w.x_i)`` by its dual (Hsieh et al. 2008) and returns
only w; its promise is a gap. After the clock has stopped, multipliers are computed for the certificate, whose
dual objective bounds the optimum from below. With margins ``m_i = y_i w.x_i`` and its tolerance eps, alpha_i
is 0 where ``m_i > 1 + eps``, C_i where ``m_i < 1 - eps``, and found by coordinate descent over the examples
in between. No example of LIBLINEAR's violates its condition by more than eps, so the gap is at most
``eps n C``; a w that is further off has no such multipliers, and fails. With a tolerance of 1e-6 or less,
LIBLINEAR is the reference whose objective is known to many digits. (``passes`` limits its passes over the
examples; 0 is no limit.)
"""

from __future__ import annotations

import dataclasses
import importlib
import time
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import ITERATION_LIMIT, OPTIMAL, Solution

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]

_MOST_STEPS = 2**31 - 1  # a C int
_MOST_STORED = 2**31 - 1  # largest number of entries for 32-bit row pointers
# Largest number of entries read to find multipliers, a few seconds; and of passes over few examples.
_MOST_ENTRIES, _MOST_PASSES = 2e9, 10_000
_SINGLE = 1e-6  # relative rounding of multipliers in single precision
_KERNELS = {"linear": "linear", "gaussian": "rbf", "polynomial": "poly", "precomputed": "precomputed"}
_MODULES = {"libsvm": "sklearn.svm", "onedal": "sklearnex.svm", "thundersvm": "thundersvm"}


class EstimatorRun:
    """A run, before or after its single call to the package."""

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps, self.options = problem, eps, options
        self.X = problem.layout("peers", _build)
        self.same = bool((problem.bounds == problem.bounds[0]).all())
        if options["peer"] == "thundersvm":
            _check_thundersvm(problem, self.same)
        self.model: Any = None
        self.steps = 0
        self.helped = 0.0  # CPU seconds of the package's own threads

    @property
    def C(self) -> float:
        """The common bound of all examples, or 1 if bounds are passed as weights."""
        return float(self.problem.bounds[0]) if self.same else 1.0


def class_bounds(problem: Problem, name: str) -> dict[int, float]:
    """Return the bound of each class, or raise ValueError if it differs within a class."""
    found = {}
    for label in (-1, 1):
        own = problem.bounds[problem.y == label]
        if (own != own[0]).any():
            raise ValueError(f"solver {name!r} needs one C for all examples of a class")
        found[label] = float(own[0])
    return found


def _check_thundersvm(problem: Problem, same: bool) -> None:
    """Raise ValueError for what ThunderSVM cannot take."""
    if not same:
        class_bounds(problem, "thundersvm")
    if problem.storage != "dense":
        raise ValueError("solver 'thundersvm' needs storage='dense': its package misreads sparse examples")


def check_entries(X: Any) -> Any:
    """Return the examples, or raise ValueError if a CSR matrix has too many entries for 32-bit pointers."""
    if sp.issparse(X) and max(X.nnz, X.shape[1]) > _MOST_STORED:
        raise ValueError(
            f"X has {X.nnz} entries and {X.shape[1]} columns; these packages read integers of 32 bits, "
            f"up to {_MOST_STORED}"
        )
    return X


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Load the package, and build the representation that it reads."""
    importlib.import_module(_MODULES.get(options["peer"], "sklearn.svm"))
    problem.layout("peers", _build)


start = EstimatorRun


def advance(run: EstimatorRun, work: int, step_limit: int) -> str:
    """Run to the end, regardless of ``work``; return a status."""
    liblinear = run.options["peer"] == "liblinear"
    most = int(run.options["passes"]) if liblinear else 0
    limit = min(step_limit, most or _MOST_STEPS, _MOST_STEPS)
    run.model = _estimator(run, limit)
    others = time.process_time() - time.thread_time()
    with warnings.catch_warnings():
        # The status reports the same.
        warnings.filterwarnings("ignore", message=".*(converge|Solver terminated early)")
        if run.same or run.options["peer"] == "thundersvm":
            run.model.fit(run.X, run.problem.y)
        else:
            run.model.fit(run.X, run.problem.y, sample_weight=run.problem.bounds)
    if run.options.get("threads", 1) > 1:
        run.helped = time.process_time() - time.thread_time() - others
    run.steps = int(np.max(getattr(run.model, "n_iter_", 0)))
    return OPTIMAL if run.steps < limit else ITERATION_LIMIT


def objective(run: Any) -> float:
    """Return nan: the objective is not known."""
    return float("nan")


def steps(run: Any) -> int:
    """Return the steps taken: passes over the examples for LIBLINEAR, rounds of many steps for oneDAL."""
    return int(run.steps)


def finish(run: EstimatorRun, status: str) -> Solution:
    """Return the solution; for LIBLINEAR without multipliers."""
    model, problem = run.model, run.problem
    if run.options["peer"] == "liblinear":
        return Solution(None, model.coef_[0].copy(), 0.0, status, run.steps, 0)
    alpha = np.zeros(problem.n)
    # The coefficients are sparse if the examples are.
    alpha[model.support_] = np.abs(sp.csr_array(model.dual_coef_).toarray()[0])
    np.minimum(alpha, problem.bounds, out=alpha)
    bias = float(model.intercept_[0])
    if run.options["peer"] == "thundersvm":
        _undo_rounding(alpha, problem)
        bias *= -float(problem.y[0])  # its intercept is that of the class of the first example, with minus
    return Solution(alpha, None, bias, status, run.steps, 0, cpu_seconds=run.helped)


def _undo_rounding(alpha: npt.NDArray[np.float64], problem: Problem) -> None:
    """Make multipliers in single precision feasible again: at their bounds exactly, and balanced."""
    bounds = problem.bounds
    np.copyto(alpha, bounds, where=alpha >= bounds * (1.0 - _SINGLE))
    free = np.flatnonzero((alpha > 0.0) & (alpha < bounds))
    if free.size:
        shares = problem.y[free] * float(problem.y @ alpha) / free.size
        alpha[free] = np.clip(alpha[free] - shares, 0.0, bounds[free])


def complete(run: EstimatorRun, solution: Solution) -> Solution:
    """Add the multipliers that a certificate needs; this is not timed."""
    if solution.alpha is not None or solution.weights is None:
        return solution
    # Repeated runs end with the same weights, and this search can take longer than a run: cache it.
    known: dict[float, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]
    known = run.problem.layout("multipliers", lambda _: {})
    if run.eps not in known or not np.array_equal(known[run.eps][0], solution.weights):
        alpha = multipliers(run.problem, solution.weights, run.eps)
        known[run.eps] = solution.weights.copy(), alpha
    return dataclasses.replace(solution, alpha=known[run.eps][1].copy())


def multipliers(problem: Problem, w: npt.NDArray[np.float64], eps: float) -> npt.NDArray[np.float64]:
    """Return multipliers that bound the optimum from below, by the rule in the module docstring."""
    from svmrepro.solvers.linear.dual_search import descend  # excluded from the fingerprint

    margins = problem.y * np.asarray(problem.X @ w).ravel()
    alpha = np.where(margins < 1.0, problem.bounds, 0.0)
    near = np.flatnonzero(np.abs(margins - 1.0) <= eps)
    alpha[near] = 0.5 * problem.bounds[near]
    if not near.size:
        return alpha
    entries = problem.X[near].nnz if sp.issparse(problem.X) else near.size * problem.d
    return descend(problem, alpha, near, 0.1 * eps, min(_MOST_ENTRIES, _MOST_PASSES * max(entries, 1)))


def _estimator(run: EstimatorRun, limit: int) -> Any:
    """Return the peer's estimator: LinearSVC for LIBLINEAR, else its package's SVC."""
    kernel, options, peer = run.problem.kernel, run.options, run.options["peer"]
    parameters: dict[str, Any] = {"C": run.C, "tol": run.eps}
    if peer == "liblinear":
        parameters |= {"loss": "hinge", "dual": True, "fit_intercept": False, "max_iter": limit}
        return importlib.import_module("sklearn.svm").LinearSVC(
            **parameters, random_state=int(options["seed"])
        )
    parameters["kernel"] = _KERNELS[kernel.name]
    if kernel.name == "gaussian":
        parameters["gamma"] = kernel.gamma
    elif kernel.name == "polynomial":
        parameters |= {"gamma": kernel.a, "coef0": kernel.c, "degree": kernel.degree}
    if peer == "thundersvm":
        if kernel.name == "polynomial":
            parameters["kernel"] = "polynomial"  # not scikit-learn's name
        parameters |= {"max_mem_size": int(options["cache_mb"]), "n_jobs": 1}
        if not run.same:
            parameters["class_weight"] = class_bounds(run.problem, peer)
    else:
        parameters |= {"cache_size": options["cache_mb"], "shrinking": options["shrinking"]}
    if peer == "onedal":
        # oneDAL's threads are not OpenMP's and are limited separately.
        threads = int(options["threads"])
        importlib.import_module("daal4py").daalinit(threads)
        parameters["n_jobs"] = threads  # else it would take the number of OpenMP's
    if limit < _MOST_STEPS:
        parameters["max_iter"] = limit
    return importlib.import_module(_MODULES[peer]).SVC(**parameters)


def _build(problem: Problem) -> Any:
    if problem.storage in ("dense", "precomputed"):
        return problem.X.toarray() if sp.issparse(problem.X) else problem.X
    X = sp.csr_matrix(check_entries(problem.X))
    if X.indices.dtype != np.int32:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
