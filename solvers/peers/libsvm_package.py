"""LIBSVM's own Python package (``libsvm-official``), behind the interface of the other solvers.

The package's representation is built before the clock starts. LIBSVM runs to its end in one call and stops by
itself after ``max(10^7, 100 n)`` steps; it takes no other limit. It only prints the number of steps, so this
is parsed from its output. It supports a weight per class but not per example: bounds that differ within a
class are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from libsvm import svm
from svmrepro.solvers.peers.c_packages import set_bounds, trained
from svmrepro.solvers.peers.estimators import check_entries, objective, steps
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import Solution

__all__ = ["advance", "finish", "objective", "prepare", "start", "steps"]

_KERNELS = {"linear": 0, "polynomial": 1, "gaussian": 2}


class LibsvmRun:
    """A run, before or after its single call to LIBSVM."""

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        self.problem = problem
        self.examples = problem.layout("libsvm-package", _build)
        self.parameter = _parameter(problem, eps, options)
        self.model: Any = None
        self.steps = 0


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Build the representation that LIBSVM reads."""
    problem.layout("libsvm-package", _build)


start = LibsvmRun


def advance(run: LibsvmRun, work: int, step_limit: int) -> str:
    """Run to the end, regardless of ``work``; return a status."""
    run.model, run.steps, status = trained(
        lambda: svm.toPyModel(svm.libsvm.svm_train(run.examples, run.parameter)),
        svm.libsvm.svm_set_print_string_function,
        svm.ctypes_print_null,
    )
    return status


def finish(run: LibsvmRun, status: str) -> Solution:
    """Return the solution; LIBSVM's decision value is positive for the label of its first example."""
    model, problem = run.model, run.problem
    count = model.get_nr_sv()
    alpha = np.zeros(problem.n)
    indices = np.ctypeslib.as_array(model.sv_indices, (count,)) - 1
    alpha[indices] = np.abs(np.ctypeslib.as_array(model.sv_coef[0], (count,)))
    np.minimum(alpha, problem.bounds, out=alpha)
    return Solution(alpha, None, float(-model.rho[0] * model.label[0]), status, run.steps, 0)


def _parameter(problem: Problem, eps: float, options: dict[str, Any]) -> Any:
    kernel, parameter = problem.kernel, svm.svm_parameter()
    parameter.kernel_type = _KERNELS[kernel.name]
    parameter.eps = eps
    set_bounds(parameter, problem, "libsvm-package")
    parameter.cache_size, parameter.shrinking = options["cache_mb"], int(options["shrinking"])
    if kernel.name == "gaussian":
        parameter.gamma = kernel.gamma
    elif kernel.name == "polynomial":
        parameter.gamma, parameter.coef0, parameter.degree = kernel.a, kernel.c, kernel.degree
    return parameter


def _build(problem: Problem) -> Any:
    return svm.svm_problem(problem.y, sp.csr_matrix(check_entries(problem.X)))
