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
