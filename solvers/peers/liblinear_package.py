"""Multi-core LIBLINEAR, by its own Python package (``liblinear-multicore``), like the other solvers.

Its dual coordinate descent for the hinge loss updates several multipliers at once on several threads (Chiang,
Lee and Lin 2016, *Parallel dual coordinate descent method for large-scale linear classification in multi-core
environments*, KDD). It ends after 300 passes at most and takes no other limit. Like scikit-learn's LIBLINEAR
it returns only w; the certificate gets multipliers as :mod:`~svmrepro.solvers.peers.estimators` says. It
supports a weight per class but not per example: bounds that differ within a class are refused.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from liblinear import liblinear
from svmrepro.solvers.peers.c_packages import set_bounds, trained
from svmrepro.solvers.peers.estimators import check_entries, complete, objective, steps
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import Solution

__all__ = ["advance", "complete", "finish", "objective", "prepare", "start", "steps"]


class LiblinearRun:
    """A run, before or after its single call to LIBLINEAR."""

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem, self.eps = problem, eps
        self.threads = int(options["threads"])
        self.examples = problem.layout("liblinear-multicore", _build)
        self.parameter = _parameter(problem, eps, self.threads)
        self.model: Any = None
        self.steps = 0
        self.helped = 0.0  # CPU seconds of the package's own threads


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Build the representation that LIBLINEAR reads."""
    problem.layout("liblinear-multicore", _build)


start = LiblinearRun


def advance(run: LiblinearRun, work: int, step_limit: int) -> str:
    """Run to the end, regardless of ``work``; return a status."""
    others = time.process_time() - time.thread_time()
    run.model, run.steps, status = trained(
        lambda: liblinear.toPyModel(liblinear.liblinear.train(run.examples, run.parameter)),
        liblinear.liblinear.set_print_string_function,
        liblinear.ctypes_print_null,
    )
    if run.threads > 1:
        run.helped = time.process_time() - time.thread_time() - others
    return status


def finish(run: LiblinearRun, status: str) -> Solution:
    """Return the solution without multipliers; LIBLINEAR's value is positive for its first label."""
    model = run.model
    w = np.ctypeslib.as_array(model.w, (model.nr_feature,)) * float(model.label[0])
    weights = np.zeros(run.problem.d)
    weights[: w.size] = w
    return Solution(None, weights, 0.0, status, run.steps, 0, cpu_seconds=run.helped)


def _parameter(problem: Problem, eps: float, threads: int) -> Any:
    parameter = liblinear.parameter("-q")
    parameter.solver_type = liblinear.solver_names.L2R_L1LOSS_SVC_DUAL
    parameter.eps, parameter.nr_thread = eps, threads
    set_bounds(parameter, problem, "liblinear-multicore")
    return parameter


def _build(problem: Problem) -> Any:
    return liblinear.problem(problem.y, sp.csr_matrix(check_entries(problem.X)))
