r"""Ordinal regression by all pairs: SVM-light's decomposition on differences (Joachims 2006, section 3.2).

    min 1/2 w.w + (n C / m) sum over P of max(0, 1 - w.(x_i - x_j)),     P = {(i, j) : y_i > y_j},  m = |P|

is a classification problem without bias whose examples are the m differences, all of them positive (OP4 of
the paper, after Herbrich et al.). C is the per-example bound of the problem, so that n C, the paper's C, is
the weight of the mean loss of a pair: the objective is that of ``svmperf-ordinal``.

The differences are written out before the clock starts, in the order of i and then of j, and passed to
:mod:`svmrepro.solvers.decomposition.svmlight.classification`. Every other difference is negated and labelled
-1. This changes nothing, since only ``y_k x_k`` matters, and provides the two classes that a problem needs.
The number of differences grows with n^2. Above the memory limit (512 MB by default, counting 8 bytes for a
number in dense differences and 12 for an entry in sparse ones), or above ten million differences, the run
ends at once with status ``memory_limit``. A few thousand examples reach that limit.

With every pair within eps of its condition, the duality gap is at most ``eps n C``, which the certificate
checks.
Symbols:

===========  =============================================================================
paper        here
===========  =============================================================================
(i, j) in P  ``higher``, ``lower``, one entry a pair
m            ``pairs.number``
x_i - x_j    a row of ``pairs.problem.X``, up to its sign
C / m        ``C`` in ``_build``, see :func:`multiplier_limits`: the paper's C is n C here
w, xi_ij     those of ``inner``, the run on the differences
===========  =============================================================================
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.decomposition.svmlight import classification as svmlight
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.solution import MEMORY_LIMIT, Solution

__all__ = ["advance", "finish", "multiplier_limits", "objective", "prepare", "start", "steps"]

_OWN_LIMIT = 512 * 2**20
_DENSE_BYTES, _SPARSE_BYTES = 8, 12
_MOST_PAIRS = 10**7  # whose vectors with an entry a pair take about 2 GB


class PairProblem(NamedTuple):
    """The pairs of a problem.

    Attributes
    ----------
    number, bytes
        Number of pairs, and memory for their differences.
    problem
        The classification problem of the differences; None above the solver's own limit.
    copies
        2 if the only pair is written twice, at half its weight, else 1.
    """

    number: int
    bytes: int
    problem: Problem | None
    copies: int


class SvmLightOrdinalRun:
    """A run in progress; ``inner`` is the run on the differences, None above the memory limit.

    Its options are those of :class:`~svmrepro.solvers.decomposition.svmlight.classification.SvmLightRun`.
    """

    def __init__(self, problem: Problem, eps: float, options: dict[str, Any]) -> None:
        pairs: PairProblem = problem.layout("pairs", _build)
        self.pairs = pairs
        self.problem = problem
        self.inner: svmlight.SvmLightRun | None = None
        if pairs.problem is not None and pairs.bytes <= options["memory_limit_bytes"]:
            alpha = options.get("start")
            if alpha is not None:
                alpha = np.repeat(alpha / pairs.copies, pairs.copies)
            self.inner = svmlight.start(pairs.problem, eps, {**options, "start": alpha})


start = SvmLightOrdinalRun


def prepare(problem: Problem, eps: float, options: dict[str, Any]) -> None:
    """Write the differences out before the clock starts."""
    pairs: PairProblem = problem.layout("pairs", _build)
    if pairs.problem is not None:
        pairs.problem.prepare()
        svmlight.prepare(pairs.problem, eps, options)


def multiplier_limits(problem: Problem) -> npt.NDArray[np.float64]:
    """Return n C / m for each of the m pairs, in the order of i and then of j."""
    pairs: PairProblem = problem.layout("pairs", _build)
    return np.broadcast_to(problem.n * float(problem.bounds[0]) / pairs.number, pairs.number)


def advance(run: SvmLightOrdinalRun, work: int, step_limit: int) -> str | None:
    """Continue for about ``work`` entries read; return a status when the run has ended."""
    return MEMORY_LIMIT if run.inner is None else svmlight.advance(run.inner, work, step_limit)


def objective(run: SvmLightOrdinalRun) -> float:
    """Return the current dual objective."""
    return 0.0 if run.inner is None else svmlight.objective(run.inner)


def steps(run: SvmLightOrdinalRun) -> int:
    """Return the number of iterations so far."""
    return 0 if run.inner is None else svmlight.steps(run.inner)


def finish(run: SvmLightOrdinalRun, status: str) -> Solution:
    """Return the weights, and a multiplier for each pair, in the order of i and then of j."""
    info = {"pairs": float(run.pairs.number)}
    if run.inner is None:
        return Solution(None, np.zeros(run.problem.d), 0.0, status, 0, 0, info=dict(info))
    found = svmlight.finish(run.inner, status)
    assert found.alpha is not None
    alpha = found.alpha.reshape(-1, run.pairs.copies).sum(axis=1)
    # The decomposition uses the key "pairs" for its steps over two variables.
    extra = {("steps_of_two" if key == "pairs" else key): value for key, value in found.info.items()}
    return dataclasses.replace(found, alpha=alpha, info={**extra, **info})


def _build(problem: Problem) -> PairProblem:
    """Count the pairs, and write out the differences if there are not too many."""
    y, X = problem.y, problem.X
    _, ranks, sizes = np.unique(y, return_inverse=True, return_counts=True)
    below = np.concatenate(([0], np.cumsum(sizes)[:-1]))[ranks]
    above = problem.n - below - sizes[ranks]
    count = int(below.sum())
    dense = problem.storage == "dense"
    if dense:
        size = _DENSE_BYTES * count * problem.d
    else:
        entries = np.diff(X.indptr) if sp.issparse(X) else np.count_nonzero(X, axis=1)
        size = _SPARSE_BYTES * int(entries @ (below + above))
    if size > _OWN_LIMIT or count > _MOST_PAIRS:
        return PairProblem(count, size, None, 1)
    lower_ones = [np.flatnonzero(ranks < rank) for rank in range(sizes.size)]
    higher, lower = np.repeat(np.arange(y.size), below), np.concatenate([lower_ones[rank] for rank in ranks])
    copies = 2 if count == 1 else 1
    higher, lower = np.repeat(higher, copies), np.repeat(lower, copies)
    signs = np.where(np.arange(count * copies) % 2 == 0, 1.0, -1.0)
    C = problem.n * float(problem.bounds[0]) / count / copies
    if not math.isfinite(C):
        raise ValueError(f"C is too large: n C overflows for n = {problem.n} and C = {problem.bounds[0]:g}")
    made = Problem(
        _differences(X, higher, lower, signs, dense),
        signs,
        C,
        problem.kernel,
        bias=False,
        storage="dense" if dense else "csr",
    )
    return PairProblem(count, size, made, copies)


def _differences(
    X: Any,
    higher: npt.NDArray[np.int64],
    lower: npt.NDArray[np.int64],
    signs: npt.NDArray[np.float64],
    dense: bool,
) -> Any:
    """Return ``signs[k] (x_higher[k] - x_lower[k])``, dense or CSR without stored zeros."""
    if dense:
        rows = X.toarray() if sp.issparse(X) else X
        found = rows[higher] - rows[lower]
        found *= signs[:, None]
        return found
    m = signs.size
    who = np.column_stack((higher, lower)).ravel()
    weights = np.column_stack((signs, -signs)).ravel()
    pick = sp.csr_array((weights, who, 2 * np.arange(m + 1)), shape=(m, X.shape[0]))
    sparse = sp.csr_array(pick @ sp.csr_array(X))
    sparse.sum_duplicates()
    sparse.eliminate_zeros()
    return sparse
