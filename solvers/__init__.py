"""Training algorithms for support vector machines, and the certificate that judges them.

>>> from svmrepro.solvers import Kernel, Problem, certify, solve
>>> problem = Problem([[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1], C=10.0)
>>> solution = solve(problem, "smo")
>>> solution.status
'optimal'
>>> certify(problem, solution).max_violation <= 1e-3
True

Importing this package loads no compiled code; the first ``solve`` does. ``SVMClassifier``, an estimator
over ``solve``, needs scikit-learn, which is imported where it is asked for.

The modules and packages, from the interface down:

estimator            ``SVMClassifier``
driver               ``solve``: slices, limits, progress, clocks
registry             the solvers by name, as data
interface            what the driver asks of a solver's module
problem, kernel      what is solved
solution             what a solver returns
certificate/         what a solution is worth, from the data alone
reference_kernels    the certificate's own arithmetic
metrics              measures on test sets
source               fingerprints of the source
platt/               SMO and chunking as in Platt's report
decomposition/       SMO over violating pairs, planning ahead, SVM-light
cutting_planes/      SVM-perf and OCAS
linear/              Lagrangian SVM, modified finite Newton, dual coordinate descent
peers/               other people's solvers behind the same interface
caches/              kernel rows that are kept
passes/              ``X w`` and ``X' c`` over all examples
quadratic_programs/  dense programs that arise within a solver
storage/             examples in memory and on disk, and dot products of their rows
compilation/         how this package compiles
"""

from typing import TYPE_CHECKING, Any

from svmrepro.solvers.certificate.judge import Certificate, certify, gram_matrix
from svmrepro.solvers.driver import solve, warm
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.metrics import MEASURES
from svmrepro.solvers.passes.dask_blocks import Spread
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import SOLVERS, SolverSpec
from svmrepro.solvers.solution import Solution
from svmrepro.solvers.source import fingerprint, fingerprint_all
from svmrepro.solvers.storage.block_files import open_block, save_block
from svmrepro.solvers.storage.blocks import Blocks
from svmrepro.solvers.storage.stores import STORAGES

if TYPE_CHECKING:
    from svmrepro.solvers.estimator import SVMClassifier as SVMClassifier

__all__ = [
    "MEASURES",
    "SOLVERS",
    "STORAGES",
    "Blocks",
    "Certificate",
    "Kernel",
    "Problem",
    "Solution",
    "SolverSpec",
    "Spread",
    "certify",
    "fingerprint",
    "fingerprint_all",
    "gram_matrix",
    "open_block",
    "save_block",
    "solve",
    "warm",
]


def __getattr__(name: str) -> Any:
    """Import what needs an optional package when it is first asked for."""
    if name == "SVMClassifier":
        from svmrepro.solvers.estimator import SVMClassifier

        return SVMClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
