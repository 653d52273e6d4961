"""The functions that the driver calls in a solver's module.

:data:`~svmrepro.solvers.SOLVERS` names the module of each solver, including adapters for other packages. A
module is a :class:`Solver` if it has that protocol's functions. It may have the optional functions of
:class:`Prepares`, :class:`LimitsMultipliers` and :class:`Completes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from svmrepro.solvers.problem import Problem
    from svmrepro.solvers.solution import Solution


@runtime_checkable
class Solver(Protocol):
    """A solver that the driver runs in slices. The type of a run is private to the solver."""

    def start(self, problem: Problem, eps: float, options: dict[str, Any]) -> Any:
        """Return a run that has not started.

        Parameters
        ----------
        problem : Problem
            The problem, prepared.
        eps : float
            Stopping tolerance.
        options : dict
            All options of the solver, including those that the driver adds: ``start`` (initial multipliers,
            or None) and ``gradient`` (with its drift, or None) for solvers with ``starts``,
            ``memory_limit_bytes`` for those with ``memory_limited``.
        """

    def advance(self, run: Any, work: int, step_limit: int) -> str | None:
        """Continue for about ``work`` entries, or to the step limit; return a status when it has ended."""

    def objective(self, run: Any) -> float:
        """Return the current dual objective, or lower bound of cutting planes; nan if it is unknown."""

    def steps(self, run: Any) -> int:
        """Return the number of iterations so far."""

    def finish(self, run: Any, status: str) -> Solution:
        """Return the current solution, whatever ended the run."""


@runtime_checkable
class Prepares(Protocol):
    """A solver that builds its own layout of the examples, or loads code, before the clock starts."""

    def prepare(self, problem: Problem, eps: float, options: dict[str, Any]) -> Any:
        """Build the layout and store it with the problem; do nothing if it is there.

        The options may lack those that the driver adds, see :meth:`Solver.start`.
        """


@runtime_checkable
class LimitsMultipliers(Protocol):
    """A solver with multipliers other than one for each example in [0, C_i]."""

    def multiplier_limits(self, problem: Problem) -> npt.NDArray[np.float64]:
        """Return the upper limit of each multiplier that ``start`` gives."""


@runtime_checkable
class Completes(Protocol):
    """A solver that adds what the certificate needs, after the clock has stopped."""

    def complete(self, run: Any, solution: Solution) -> Solution:
        """Return the solution with the additions."""
