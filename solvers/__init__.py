"""Training algorithms for support vector machines, and the certificate that judges them.

>>> from svmrepro.solvers import Kernel, Problem, certify, solve
>>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], C=10.0)
>>> solution = solve(problem, "smo")
>>> solution.status
'optimal'
>>> certify(problem, solution).max_violation <= 1e-3
True

Importing this package loads no compiled code; the first ``solve`` does. ``SVMClassifier``, an estimator
based on ``solve``, needs scikit-learn, which is imported on first use.

The modules and packages, in reading order, from what users call to what solvers are built on::

    sklearn_classifier   SVMClassifier
    conformance          checks for a solver of your own
    conformance_cases    the problems on which it is checked
    warm_starts          solve_grid: warm starts over kernels, C and tolerances
    driver               solve: checks of a given start, slices, limits, progress, clocks
    registry             the solvers by name, with the defaults of their options
    interface            the functions that a solver's module provides
    user_functions       solvers outside this project: by package.module:function or as entry points
    problem, kernel      the training problem
    solution             the result of a solver
    certificate/         the quality of a solution, from the data alone
    reference_kernels    the certificate's own arithmetic
    metrics              measures on test sets
    source_code          fingerprints of the source, also of the workflow's
    platt/               SMO and chunking as in Platt's report
    decomposition/       SMO over violating pairs, planning ahead, SVM-light
    cutting_planes/      SVM-perf and OCAS
    linear/              Lagrangian SVM, modified finite Newton, dual coordinate descent
    peers/               solvers from other packages behind the same interface
    caches/              caches of kernel rows, and the layouts of examples from which rows are computed
    passes/              X w and X' c over all examples
    quadratic_programs/  dense programs that arise within a solver
    storage/             examples in memory and on disk, and dot products of their rows
    vector_code/         loops over many numbers in vector registers
    compilation/         compilation with numba
    blas_threads         one thread for NumPy's and SciPy's BLAS during solve
"""

from typing import TYPE_CHECKING, Any

from svmrepro.solvers.certificate import Certificate, certify, gram_matrix
from svmrepro.solvers.driver import solve, warm
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.metrics import MEASURES
from svmrepro.solvers.passes.dask_blocks import Spread
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import SOLVERS, SolverSpec
from svmrepro.solvers.solution import Solution, Start
from svmrepro.solvers.source_code import fingerprint, fingerprint_all
from svmrepro.solvers.storage.block_files import open_block, save_block
from svmrepro.solvers.storage.blocks import Blocks
from svmrepro.solvers.storage.stores import STORAGES
from svmrepro.solvers.warm_starts import GridCell, solve_grid

if TYPE_CHECKING:
    from svmrepro.solvers.sklearn_classifier import SVMClassifier as SVMClassifier

__all__ = [
    "MEASURES",
    "SOLVERS",
    "STORAGES",
    "Blocks",
    "Certificate",
    "GridCell",
    "Kernel",
    "Problem",
    "Solution",
    "SolverSpec",
    "Spread",
    "Start",
    "certify",
    "fingerprint",
    "fingerprint_all",
    "gram_matrix",
    "open_block",
    "save_block",
    "solve",
    "solve_grid",
    "warm",
]


def __getattr__(name: str) -> Any:
    """Import names that need an optional package on first use."""
    if name == "SVMClassifier":
        from svmrepro.solvers.sklearn_classifier import SVMClassifier

        return SVMClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
