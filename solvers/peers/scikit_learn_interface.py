r"""Other people's solvers under the same face: LIBSVM, LIBLINEAR, oneDAL and ThunderSVM, where installed.

Each is called through its package's estimator, on dense arrays if the problem's storage is ``dense`` and else
on CSR, which is made before the clock starts. They run to their end in one piece: a time limit is noticed
afterwards, there are no intermediate objectives, and of the work only the steps are known. LIBSVM and
LIBLINEAR are compiled into scikit-learn, so that their fingerprint is its version. oneDAL (2026.2) now and
then gives a wrong solution of CSR examples some of which are empty; the certificate refuses it.

Bounds that differ from example to example are weights of the examples, at C = 1; ThunderSVM has none of
these, and takes them where they are the same within each class, as weights of the classes. Row pointers are
handed over in 32 bits: examples with more entries than these count are refused.

LIBLINEAR minimises ``w.w / 2 + C sum_i max(0, 1 - y_i w.x_i)`` by its dual (Hsieh et al. 2008) and hands out
w alone; its promise is a gap. For the certificate, after the clock has stopped, multipliers are found whose
dual objective bounds the optimum from below: with margins ``m_i = y_i w.x_i`` and its tolerance, alpha_i is 0
where ``m_i > 1 + eps``, C_i where ``m_i < 1 - eps``, and between the two what coordinate descent over those
examples makes of it. No example of LIBLINEAR's violates its condition by more than eps, so that the gap is at
most ``eps n C``; a w that is further off has no such multipliers, and fails. With a tolerance of 1e-6 or
less it is the reference whose objective is known to many digits (``passes`` limits how often it may go over
the examples, 0 is without limit).
"""

from __future__ import annotations

import dataclasses
import importlib
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import ITERATION_LIMIT, OPTIMAL, Solution

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]

_MOST_STEPS = 2**31 - 1  # a C int
_MOST_STORED = 2**31 - 1  # entries that row pointers of 32 bits count
_MOST_ENTRIES = 2e9  # read to find multipliers: some seconds
_KERNELS = {"linear": "linear", "gaussian": "rbf", "polynomial": "poly"}
_MODULES = {"libsvm": "sklearn.svm", "onedal": "sklearnex.svm", "thundersvm": "thundersvm"}


class EstimatorRun:
    """A run under way, or rather before or after its one stretch of work."""

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps, self.options = problem, eps, options
        self.X = _examples(problem)
        self.same = bool((problem.bounds == problem.bounds[0]).all())
        if not self.same and options["peer"] == "thundersvm":
            class_bounds(problem, "thundersvm")  # refuses what it cannot take
        self.model: Any = None
        self.steps = 0

    @property
    def C(self) -> float:
        """The bound of all examples, or 1 where each has its own."""
        return float(self.problem.bounds[0]) if self.same else 1.0


def class_bounds(problem: Problem, name: str) -> dict[int, float]:
    """Return the bound of each class, or raise ValueError where it is not the same for all its examples."""
    found = {}
    for label in (-1, 1):
        own = problem.bounds[problem.y == label]
        if (own != own[0]).any():
            raise ValueError(f"solver {name!r} needs one C for all examples of a class")
        found[label] = float(own[0])
    return found


def check_entries(X: Any) -> Any:
    """Return examples, or raise ValueError where a CSR matrix has more entries than 32 bits count."""
    if sp.issparse(X) and X.nnz > _MOST_STORED:
        raise ValueError(
            f"X has {X.nnz} entries; row pointers of 32 bits, which these packages read, count {_MOST_STORED}"
        )
    return X


def prepare(problem: Problem) -> None:
    """Make the representation that these packages read."""
    _examples(problem)


def start(problem: Problem, eps: float, options: dict[str, Any]) -> EstimatorRun:
    """Return a run that has not begun."""
    return EstimatorRun(problem, eps, options)


def advance(run: EstimatorRun, work: int, step_limit: int) -> str:
    """Run to the end, whatever ``work`` says; return a status."""
    liblinear = run.options["peer"] == "liblinear"
    most = int(run.options["passes"]) if liblinear else 0
    limit = min(step_limit, most or _MOST_STEPS, _MOST_STEPS)
    run.model = _linear(run, limit) if liblinear else _kernelised(run, limit)
    with warnings.catch_warnings():
        # The status says the same.
        warnings.filterwarnings("ignore", message=".*(converge|Solver terminated early)")
        if run.same or run.options["peer"] == "thundersvm":
            run.model.fit(run.X, run.problem.y)
        else:
            run.model.fit(run.X, run.problem.y, sample_weight=run.problem.bounds)
    run.steps = int(np.max(getattr(run.model, "n_iter_", 0)))
    return OPTIMAL if run.steps < limit else ITERATION_LIMIT


def objective(run: EstimatorRun) -> float:
    """Return that it is not known."""
    return float("nan")


def steps(run: EstimatorRun) -> int:
    """Return the steps taken: of LIBLINEAR passes over the examples, of oneDAL rounds of many steps."""
    return run.steps


def finish(run: EstimatorRun, status: str) -> Solution:
    """Return the solution; LIBLINEAR's without multipliers."""
    model, problem = run.model, run.problem
    if run.options["peer"] == "liblinear":
        return Solution(None, model.coef_[0].copy(), 0.0, status, run.steps, 0)
    alpha = np.zeros(problem.n)
    # Sparse examples make sparse coefficients.
    alpha[model.support_] = np.abs(sp.csr_array(model.dual_coef_).toarray()[0])
    np.minimum(alpha, problem.bounds, out=alpha)
    return Solution(alpha, None, float(model.intercept_[0]), status, run.steps, 0)


def complete(run: EstimatorRun, solution: Solution) -> Solution:
    """Add the multipliers that a certificate needs, which is not the solver's work."""
    if solution.alpha is not None or solution.weights is None:
        return solution
    # A run that is repeated ends with the same weights, and the search takes longer than many a run.
    known: dict[float, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]
    known = run.problem.layout("multipliers", lambda _: {})
    if run.eps not in known or not np.array_equal(known[run.eps][0], solution.weights):
        alpha = multipliers(run.problem, solution.weights, run.eps)
        known[run.eps] = solution.weights.copy(), alpha
    return dataclasses.replace(solution, alpha=known[run.eps][1].copy())


def multipliers(problem: Problem, w: npt.NDArray[np.float64], eps: float) -> npt.NDArray[np.float64]:
    """Return multipliers that bound the optimum from below, by the rule in this module's text.

    Parameters
    ----------
    problem : Problem
        With a linear kernel and no bias.
    w : ndarray, shape (d,)
        Weights.
    eps : float
        Tolerance on the margins.

    Returns
    -------
    ndarray, shape (n,)
    """
    from svmrepro.solvers.linear.dual_descent import descend  # no part of what is measured

    margins = problem.y * np.asarray(problem.X @ w).ravel()
    alpha = np.where(margins < 1.0, problem.bounds, 0.0)
    near = np.flatnonzero(np.abs(margins - 1.0) <= eps)
    alpha[near] = 0.5 * problem.bounds[near]
    return descend(problem, alpha, near, 0.1 * eps, _MOST_ENTRIES) if near.size else alpha


def _kernelised(run: EstimatorRun, limit: int) -> Any:
    """Return a support vector classifier of one of the packages."""
    kernel, options, peer = run.problem.kernel, run.options, run.options["peer"]
    parameters: dict[str, Any] = {"C": run.C, "tol": run.eps, "kernel": _KERNELS[kernel.name]}
    if kernel.name == "gaussian":
        parameters["gamma"] = kernel.gamma
    elif kernel.name == "polynomial":
        parameters |= {"gamma": kernel.a, "coef0": kernel.c, "degree": kernel.degree}
    if peer == "thundersvm":
        parameters |= {"max_mem_size": int(options["cache_mb"]), "n_jobs": 1}
        if not run.same:
            parameters["class_weight"] = class_bounds(run.problem, peer)
    else:
        parameters |= {"cache_size": options["cache_mb"], "shrinking": options["shrinking"]}
    if peer == "onedal":
        # Its threads are not those of OpenMP.
        importlib.import_module("daal4py").daalinit(1)
    if limit < _MOST_STEPS:
        parameters["max_iter"] = limit
    return importlib.import_module(_MODULES[peer]).SVC(**parameters)


def _linear(run: EstimatorRun, limit: int) -> Any:
    """Return LIBLINEAR's dual coordinate descent for the hinge loss."""
    return importlib.import_module("sklearn.svm").LinearSVC(
        loss="hinge",
        dual=True,
        fit_intercept=False,
        C=run.C,
        tol=run.eps,
        max_iter=limit,
        random_state=int(run.options["seed"]),
    )


def _examples(problem: Problem) -> Any:
    """Return the examples as these packages read them, made once."""
    return problem.layout("peers", _build)


def _build(problem: Problem) -> Any:
    if problem.storage == "dense":
        return problem.X.toarray() if sp.issparse(problem.X) else problem.X
    X = sp.csr_matrix(check_entries(problem.X))
    if X.indices.dtype != np.int32:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
