r"""Warm starts over a grid of kernels, C and tolerances.

Along ascending C, a problem starts at the solution of the one before it. With ``beta_i = y_i alpha_i``, the
gradient ``G = y - K beta`` is known there, and it is affine in beta: nothing needs to be computed. If all
multipliers are scaled (alpha seeding, DeCoste and Wagstaff 2000),

    alpha' = (C' / C) alpha,    G' = y + (C' / C) (G - y),

those at C stay at C. For small C they are most of the support vectors. But scaling also moves the free
multipliers, which hardly change once few are left at C. A start is therefore scaled while at most twice as
many multipliers are free as are at C; after that it is the last solution as it is. A tighter tolerance starts
at the solution of the looser one. The first problem of a kernel starts at the multipliers of the kernel
before it; its gradient has to be computed.

Kernels of the same examples share their dot products: a matrix product gives them all at once, and a pass
over them gives the matrix of a kernel. This pays if kernel rows are not cheap, and if the matrices fit into
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.driver import solve, verified
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import get
from svmrepro.solvers.solution import Solution, Start
from svmrepro.solvers.storage.stores import centred, distances_cancel

_FREE = 2.0  # scale the start while free multipliers are at most this times those at C
_ROWS = 256  # rows of a kernel matrix computed at a time, in the processor's caches


class GridCell(NamedTuple):
    """A solved problem of a grid.

    Attributes
    ----------
    problem : Problem
        The problem, with its C and its kernel.
    eps : float
        Its tolerance.
    solution : Solution
        The result. Its seconds are those of the solver alone, without what the problems share.
    """

    problem: Problem
    eps: float
    solution: Solution


def solve_grid(
    X: Any,
    y: Any,
    C: Iterable[float],
    kernels: Sequence[Kernel],
    name: str = "smo-newton",
    *,
    eps: float | Iterable[float] = 1e-3,
    bias: bool = True,
    storage: str = "auto",
    matrix_mb: float = 1024.0,
    verify: bool | str = "auto",
    **options: Any,
) -> Iterator[GridCell]:
    """Solve a problem for all combinations of C, kernels and tolerances, with warm starts.

    Parameters
    ----------
    X, y, bias, storage
        Those of :class:`~svmrepro.solvers.Problem`.
    C : iterable of float
        Upper bounds on the multipliers, in any order.
    kernels : sequence of Kernel
        The kernels, such as Gaussians of several widths.
    name : str
        A name in ``SOLVERS``, of a solver with ``starts``.
    eps : float or iterable of float
        Stopping tolerances, in any order.
    matrix_mb : float
        Largest size of the two matrices that kernels of the same examples share, in MB of 2^20 bytes. Above
        it, and if rows are cheap, each problem computes its own rows.
    verify, **options
        Those of :func:`~svmrepro.solvers.solve`. Limits hold for each problem; a problem that meets one does
        not end the grid.

    Yields
    ------
    GridCell
        A problem and its solution, in the order in which they are solved: by kernel as given, then by
        ascending C, then by descending eps.

    Raises
    ------
    ValueError
        If an argument is not valid, or the solver takes no start.
    """
    spec = get(name)
    if not spec.starts:
        raise ValueError(f"solver {name!r} cannot go on from given multipliers")
    bounds = sorted(C)
    tolerances = sorted([eps] if isinstance(eps, int | float) else eps, reverse=True)
    shared: _KernelMatrices | None = None
    seed: npt.NDArray[np.float64] | None = None
    start: Start | npt.NDArray[np.float64] | None
    for at, kernel in enumerate(kernels):
        first = Problem(X, y, bounds[0], kernel, bias=bias, storage=storage)
        if at == 0:
            shared = _KernelMatrices.of(first, kernels, matrix_mb)
        # What is solved: the same problem, perhaps with all kernel values.
        inner = first if shared is None else first.with_kernel_values(shared.matrix(kernel))
        inner.prepare()
        start = seed
        for bound in bounds:
            before, inner = inner.bounds, inner.with_C(bound)
            problem = first.with_C(bound)
            start = scaled_start(start, before, inner)
            for tolerance in tolerances:
                solution = solve(inner, name, eps=tolerance, start=start, verify=False, **options)
                start = solution.end or solution.alpha
                yield GridCell(problem, tolerance, verified(problem, solution, spec, tolerance, verify))
            if bound == bounds[0]:
                seed = solution.alpha


def scaled_start(start: Any, before: npt.NDArray[np.float64], problem: Problem) -> Any:
    """Return a start for a problem from the end of one that differs in C alone; see the module docstring.

    Parameters
    ----------
    start : Start, array_like or None
        The final multipliers there, with or without their gradient.
    before : ndarray of float64, shape (n,)
        The bounds of the multipliers there: those of the problem times a constant.
    problem : Problem
        The problem to start.
    """
    alpha = start.alpha if isinstance(start, Start) else start
    if alpha is None or alpha.shape != before.shape:
        return start
    factor = problem.bounds[0] / before[0]
    at_C = alpha == before
    bound = np.count_nonzero(at_C)
    many_free = np.count_nonzero(alpha) - bound > _FREE * bound
    if factor == 1.0 or (factor > 1.0 and many_free):
        return start if (alpha <= problem.bounds).all() else None
    alpha = np.where(at_C, problem.bounds, np.minimum(factor * alpha, problem.bounds))
    if not isinstance(start, Start):
        return alpha
    return Start(alpha, problem.y + factor * (start.gradient - problem.y), factor * start.drift)


class _KernelMatrices:
    """Kernel matrices of the same examples, from one matrix of dot products."""

    def __init__(self, X: Any) -> None:
        products = X @ X.T
        self._products: npt.NDArray[np.float64] = products.toarray() if sp.issparse(products) else products
        self._norms = np.diagonal(self._products).copy()
        self._values: npt.NDArray[np.float64] = np.empty_like(self._products)

    @classmethod
    def of(cls, problem: Problem, kernels: Sequence[Kernel], limit_mb: float) -> _KernelMatrices | None:
        """Return the matrices, or None if they do not pay, or would be too large or too inaccurate."""
        from svmrepro.solvers.caches.feature_columns import (
            cheap_rows,
        )  # compiled code, loaded when it is used

        names = {kernel.name for kernel in kernels}
        if len(names) > 1 or names & {"linear", "precomputed"} or problem.blocks or cheap_rows(problem):
            return None
        if 2 * 8 * problem.n**2 > limit_mb * 2**20:
            return None
        if names == {"polynomial"}:
            return cls(problem.X)
        gamma = max(kernel.gamma for kernel in kernels)
        for X in (problem.X, centred(problem.X)):
            if not distances_cancel(X, gamma):
                return cls(X)
        return None

    def matrix(self, kernel: Kernel) -> npt.NDArray[np.float64]:
        """Return the matrix of a kernel, in the memory of the last one."""
        products, norms, values = self._products, self._norms, self._values
        for first in range(0, len(values), _ROWS):
            rows = slice(first, first + _ROWS)
            part = values[rows]
            if kernel.name == "gaussian":
                np.multiply(products[rows], 2.0, out=part)
                part -= norms
                part -= norms[rows, None]
                np.minimum(part, 0.0, out=part)  # rounding
                part *= kernel.gamma
                np.exp(part, out=part)
            else:
                np.multiply(products[rows], kernel.a, out=part)
                part += kernel.c
                np.power(part, kernel.degree, out=part)
        return values
