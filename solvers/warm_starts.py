r"""Warm starts over a grid of kernels, C and tolerances.

Along ascending C, a problem starts at the solution of the one before it. With ``beta_i = y_i alpha_i``, the
gradient ``G = y - K beta`` is known there, and it is affine in beta: nothing needs to be computed. If all
multipliers are scaled (alpha seeding, DeCoste and Wagstaff 2000),

    alpha' = (C' / C) alpha,    G' = y + (C' / C) (G - y),

those at C stay at C. For small C they are most of the support vectors. But scaling also moves the free
multipliers, which hardly change once few are left at C. A start is therefore scaled only while at most twice
as many multipliers are free as are at C. A tighter tolerance starts at the solution of the looser one. The
smallest C of a kernel starts at the multipliers for the smallest C of the kernel before it; the gradient has
to be computed.

Kernels of the same examples share their dot products: a matrix product gives them all at once, and a pass
over them gives the matrix of a kernel. This pays if kernel rows are not cheap, and if the matrices fit into
memory.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.driver import check_settings, is_balanced, solve, verified
from svmrepro.solvers.kernel import Kernel, is_number
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.registry import OF_SOLVE, SQUARED_HINGE, SolverSpec, get
from svmrepro.solvers.solution import Solution, Start
from svmrepro.solvers.storage.stores import CENTRES, Distances, largest_exponent_error

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
    verify: bool | str | None = "auto",
    **options: Any,
) -> Iterator[GridCell]:
    """Solve a problem for all combinations of C, kernels and tolerances, with warm starts.

    Parameters
    ----------
    X : array_like or scipy sparse, shape (n, d)
        Examples.
    y : array_like, shape (n,)
        Labels -1 and +1.
    C : iterable of float
        Upper bounds on the multipliers, in any order.
    kernels : sequence of Kernel
        The kernels, such as Gaussians of several widths.
    name : str
        A name in ``SOLVERS``, of a solver with ``starts``.
    eps : float or iterable of float
        Stopping tolerances, in any order.
    bias, storage
        Those of :class:`~svmrepro.solvers.Problem`.
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
        If an argument is not valid, or the solver takes no start; at the call, except for what only a
        problem's solver can find.
    """
    spec = get(name)
    if not spec.starts:
        raise ValueError(f"solver {name!r} cannot go on from given multipliers")
    if "start" in options:
        raise ValueError("start cannot be given: a problem of a grid starts at the one before it")
    bounds = sorted(_positive("C", C))
    tolerances = sorted(_positive("eps", [eps] if isinstance(eps, numbers.Real) else eps), reverse=True)
    if not isinstance(kernels, Iterable) or not (kernels := list(kernels)):
        raise ValueError(f"kernels must be a sequence of at least one Kernel, got {kernels!r}")
    if not (isinstance(matrix_mb, numbers.Real) and not isinstance(matrix_mb, bool) and matrix_mb >= 0):
        raise ValueError(f"matrix_mb must be a number of at least 0, got {matrix_mb!r}")
    check_settings({**options, "verify": verify})
    own = {key: value for key, value in options.items() if key not in OF_SOLVE}
    problems: list[Problem] = []
    for kernel in kernels:
        problems.append(Problem(X, y, bounds[0], kernel, bias=bias, storage=storage))
        spec.check(problems[-1], own)
        X, y = problems[0].X, problems[0].y  # converted once
    return _solved(problems, bounds, tolerances, spec, float(matrix_mb), verify, options)


def _positive(name: str, given: Any) -> list[float]:
    """Return an argument as a list of positive numbers, or raise ValueError."""
    if not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        raise ValueError(f"{name} must be a sequence of positive numbers, got {given!r}")
    values = list(given)
    if not values:
        raise ValueError(f"{name} must hold at least one positive number, got none")
    for value in values:
        if not (is_number(value) and value > 0):
            raise ValueError(f"{name} must hold positive finite numbers only, got {value!r}")
    return [float(value) for value in values]


def _solved(
    problems: Sequence[Problem],
    bounds: Sequence[float],
    tolerances: Sequence[float],
    spec: SolverSpec,
    matrix_mb: float,
    verify: bool | str | None,
    options: dict[str, Any],
) -> Iterator[GridCell]:
    """Solve problems that differ in their kernels, for ascending bounds and descending tolerances."""
    kernels = [problem.kernel for problem in problems]
    shared = _KernelMatrices.of(problems[0], kernels, bounds[-1], matrix_mb)
    seed: npt.NDArray[np.float64] | None = None
    start: Start | npt.NDArray[np.float64] | None
    for first in problems:
        # What is solved: the same problem, perhaps with all kernel values.
        inner = first if shared is None else first.with_kernel_values(shared.matrix(first.kernel))
        inner.prepare()
        start = seed
        for bound in bounds:
            before, error, inner = inner.bounds, inner.exponent_error, inner.with_C(bound)
            problem = first.with_C(bound)
            if spec.loss != SQUARED_HINGE:  # its multipliers have no upper bound, and none is at C
                start = scaled_start(start, before, inner, error)
            for tolerance in tolerances:
                solution = solve(inner, spec.name, eps=tolerance, start=start, verify=None, **options)
                start = solution.end or solution.alpha
                if solution.alpha is not None and not is_balanced(inner, solution.alpha):
                    start = None  # stalled by rounding
                yield GridCell(problem, tolerance, verified(problem, solution, spec, tolerance, verify))
            if bound == bounds[0]:
                seed = solution.alpha


def scaled_start(start: Any, before: npt.NDArray[np.float64], problem: Problem, exponent_error: float) -> Any:
    """Return a start for a problem from the end of one that differs in C alone; see the module docstring.

    ``start`` are the final multipliers there, with or without their gradient; ``before`` the bounds there,
    shape (n,): those of the problem times a constant; ``exponent_error`` the rounding error of the exponents
    of its kernel values. If the problem needs more accurate values, the gradient is left out: it would keep
    the old error, times the constant. None if the multipliers are not feasible.
    """
    if isinstance(start, Start) and exponent_error > largest_exponent_error(problem.bounds.max(), CENTRES):
        start = start.alpha
    alpha = start.alpha if isinstance(start, Start) else start
    if alpha is None or alpha.shape != before.shape:
        return start
    if not is_balanced(problem, alpha):
        return None
    factor = problem.bounds[0] / before[0]
    at_C = alpha == before
    bound = np.count_nonzero(at_C)
    many_free = np.count_nonzero(alpha) - bound > _FREE * bound
    if factor == 1.0 or (factor > 1.0 and many_free):
        return start if (alpha <= problem.bounds).all() else None
    scaled = factor * alpha
    alpha = np.where(at_C, problem.bounds, np.minimum(scaled, problem.bounds))
    if not isinstance(start, Start):
        return alpha
    # The scaled multipliers are rounded, and so is their gradient, three times. Bounds may be in slightly
    # other proportions than before, which the gradient does not show.
    moved = float(np.abs(alpha - scaled).sum()) / float(np.finfo(float).eps)
    drift = factor * start.drift + 2.0 * float(alpha.sum()) + moved
    return Start(alpha, problem.y + factor * (start.gradient - problem.y), drift)


class _KernelMatrices:
    """Kernel matrices of the same examples, from one matrix of dot products."""

    def __init__(self, X: Any) -> None:
        products = X @ X.T
        self._products: npt.NDArray[np.float64] = products.toarray() if sp.issparse(products) else products
        self._norms = np.diagonal(self._products).copy()
        self._values: npt.NDArray[np.float64] = np.empty_like(self._products)

    @classmethod
    def of(
        cls, problem: Problem, kernels: Sequence[Kernel], largest_bound: float, limit_mb: float
    ) -> _KernelMatrices | None:
        """Return the matrices, or None if they do not pay, or would be too large or too inaccurate."""
        # Compiled code, loaded when it is used.
        from svmrepro.solvers.caches.feature_columns import cheap_rows

        names = {kernel.name for kernel in kernels}
        if len(names) > 1 or names & {"linear", "precomputed"} or problem.blocks or cheap_rows(problem):
            return None
        if 2 * 8 * problem.n**2 > limit_mb * 2**20:
            return None
        if names == {"polynomial"}:
            return cls(problem.X)
        gamma = max(kernel.gamma for kernel in kernels)
        distances = Distances.of(problem.X, gamma, largest_bound)
        return None if distances.differences else cls(distances.X)

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
