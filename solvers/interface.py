"""What the driver asks of a solver's module.

:data:`~svmrepro.solvers.SOLVERS` names the module of each solver, other people's solvers included.
A module is a :class:`Solver` if it has that protocol's functions. It may have the optional functions of
:class:`Prepares` and :class:`Completes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from svmrepro.solvers.problem import Problem
    from svmrepro.solvers.solution import Solution


@runtime_checkable
class Solver(Protocol):
    """A solver that the driver runs in slices. What a run is, the solver alone knows."""

    def start(self, problem: Problem, eps: float, options: dict[str, Any]) -> Any:
        """Return a run that is about to begin.

        Parameters
        ----------
        problem : Problem
            The problem, prepared.
        eps : float
            Stopping tolerance.
        options : dict
            All options of the solver, those that the driver adds among them: ``start``, the multipliers to
            begin with or None, of solvers with ``starts``; ``memory_limit_bytes`` of those with
            ``memory_limited``.
        """

    def advance(self, run: Any, work: int, step_limit: int) -> str | None:
        """Go on for about ``work`` entries read, or to the step limit; return a status once it has ended."""

    def objective(self, run: Any) -> float:
        """Return the present dual objective; of a cutting plane the lower bound; nan if it is unknown."""

    def steps(self, run: Any) -> int:
        """Return the number of iterations so far."""

    def finish(self, run: Any, status: str) -> Solution:
        """Return the solution as it stands, whatever ended the run."""


@runtime_checkable
class Prepares(Protocol):
    """A solver that lays the examples out in its own way before the clock starts."""

    def prepare(self, problem: Problem) -> Any:
        """Make the layout and keep it with the problem; return at once if it is there."""


@runtime_checkable
class Completes(Protocol):
    """A solver that adds what the certificate needs after the clock has stopped."""

    def complete(self, run: Any, solution: Solution) -> Solution:
        """Return the solution with what was added."""
