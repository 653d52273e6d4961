"""Outcome of one solver on one problem, judged by :mod:`exact` against the solver's own promise."""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from exact import HINGE, PAIRS, SQUARED, Exact
from svmrepro.solvers import SOLVERS, Solution, solve
from torture_problems import Draw

SOLVED, REFUSED, LIMITED, UNDECIDED, DISHONEST = "solved", "refused", "limited", "undecided", "dishonest"
#: Twice the promise is accepted: the solver checks it in double precision, this module in sixty digits.
LENIENCE = 2.0
#: Share of ``sum alpha`` by which the equality constraint may be off: ten times what a start is allowed.
EQUALITY = 1e-8
_STATUSES = ("optimal", "time_limit", "memory_limit", "iteration_limit", "stalled")
_MOST_PAIRS = 1_600


@dataclass(frozen=True)
class Outcome:
    """The outcome of one solver on one problem.

    Attributes
    ----------
    verdict : {"solved", "refused", "limited", "undecided", "dishonest"}
        ``limited``: a status other than optimal. ``undecided``: optimal, but the optimum is not enclosed.
    status : str
        The solver's status; empty if it raised an error.
    detail : str
        What is wrong, or why it was refused.
    seconds : float
        CPU seconds of the solve.
    worst : float
        The largest ratio of true to allowed error, for a result called optimal.
    """

    family: str
    seed: int
    solver: str
    verdict: str
    status: str
    detail: str
    seconds: float
    worst: float = 0.0

    def command(self) -> str:
        """Return the command line that reproduces it."""
        return (
            f"./run python tests/torture/torture.py --family {self.family} --seed {self.seed} "
            f"--solver {self.solver}"
        )


class Judged:
    """A draw with its exact counterparts, computed when needed."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self._exact: dict[tuple[bool, str], Exact] = {}

    def exact(self, name: str) -> Exact:
        """Return the problem that a solver solves, in decimal arithmetic."""
        draw, key = self.draw, (biases(name), SOLVERS[name].loss)
        if key not in self._exact:
            self._exact[key] = Exact(draw.X, draw.y, draw.C, draw.kernel, *key)
        return self._exact[key]


def suits(draw: Draw, name: str) -> bool:
    """Return whether a solver declares that it can solve a problem of this kind."""
    spec = SOLVERS[name]
    pairs = (draw.y[:, None] > draw.y[None, :]).sum()
    if pairs > _MOST_PAIRS if spec.loss == PAIRS else draw.ranks:
        return False
    if (spec.one_bound or spec.package) and not isinstance(draw.C, float):
        return False
    if spec.package and draw.kernel.name == "precomputed":
        return False
    return draw.kernel.name == "linear" or "linear kernel" not in spec.needs


def biases(name: str) -> bool:
    """Return whether a solver's problems have a bias."""
    return "no bias" not in SOLVERS[name].needs


def solve_one(draw: Draw, name: str, time_limit: float, eps: float) -> tuple[Solution | None, Outcome | None]:
    """Return a solver's solution, or the outcome if there is none."""
    began = time.thread_time()
    try:
        problem = draw.problem(biases(name))
        return solve(problem, name, eps=eps, time_limit=time_limit), None
    except ValueError as error:
        said = str(error)
        proper = bool(said) and "\n" not in said and not isinstance(error, UnicodeError)
        verdict, detail = (REFUSED, said) if proper else (DISHONEST, f"ValueError in several lines: {said!r}")
    except Exception as error:
        verdict, detail = DISHONEST, f"{type(error).__name__}: {error}"
    seconds = time.thread_time() - began
    return None, Outcome(draw.family, draw.seed, name, verdict, "", detail[:300], seconds)


def judge(judged: Judged, name: str, solution: Solution, eps: float, time_limit: float) -> Outcome:
    draw, exact, spec = judged.draw, judged.exact(name), SOLVERS[name]
    faults = malformed(exact, solution, spec.loss)
    if solution.cpu_seconds > time_limit + 1.0:
        faults.append(f"ended {solution.cpu_seconds - time_limit:.2f} s after its limit of time")
    errors, undecided = {}, ""
    if not faults and solution.status == "optimal":
        if spec.promise == "kkt":
            errors = kkt_errors(exact, solution, eps, spec.tolerance_factor)
        else:
            errors, undecided = gap_errors(exact, solution, eps, spec.promise)
    worst = max(errors.values(), default=0.0)
    faults += [
        f"{what} {ratio:.3g} times what is allowed" for what, ratio in errors.items() if not ratio <= LENIENCE
    ]
    if faults:
        verdict, undecided = DISHONEST, ""
    elif solution.status == "optimal":
        verdict = UNDECIDED if undecided else SOLVED
    else:
        verdict = LIMITED
    detail = "; ".join(faults) or undecided
    return Outcome(
        draw.family, draw.seed, name, verdict, solution.status, detail[:300], solution.cpu_seconds, worst
    )


def malformed(exact: Exact, solution: Solution, loss: str) -> list[str]:
    """Return what is wrong with a solution, whatever its status."""
    faults = []
    if solution.status not in _STATUSES:
        faults.append(f"status {solution.status!r}")
    if not np.isfinite(solution.bias):
        faults.append(f"bias {solution.bias}")
    if not exact.bias and solution.bias:
        faults.append(f"bias {solution.bias:g} of a problem without")
    # The bound of a pair is rounded.
    top = {HINGE: exact.bounds_given, PAIRS: np.nextafter(exact.bounds_given, np.inf), SQUARED: np.inf}[loss]
    for what, size, highest in (("alpha", exact.n, top), ("weights", exact.d, np.inf)):
        values = getattr(solution, what)
        if values is None:
            continue
        if values.shape != (size,):
            faults.append(f"{what} of shape {values.shape}")
        elif not np.isfinite(values).all():
            faults.append(f"{what} not finite")
        elif what == "alpha" and ((values < 0) | (values > highest)).any():
            faults.append("a multiplier outside its box")
    return faults


def kkt_errors(exact: Exact, solution: Solution, eps: float, factor: float) -> dict[str, float]:
    """Return the true violations relative to the allowed ones, for a promise on the conditions."""
    alpha, weights = solution.alpha, solution.weights
    if alpha is None and exact.squared and weights is not None:
        alpha = exact.multipliers_of(weights)
    if alpha is None:
        return {"no multipliers, error": np.inf}
    found = exact.conditions(alpha, solution.bias)
    allowed = max(1.0, factor / 2) * eps
    errors = {"violation": found.violation / allowed, "equality residual": found.equality / EQUALITY}
    if exact.bias:
        errors["pair gap"] = found.pair_gap / (factor * eps)
    if weights is not None and not exact.linear:
        errors["weights of a kernel that is not linear, error"] = np.inf if weights.any() else 0.0
    elif weights is not None:
        own = exact.conditions(alpha, solution.bias, weights)
        errors["violation by the weights"] = own.violation / allowed
        # For squared hinges, weights and multipliers are two answers; each is judged by its own conditions.
        off = 0.0 if exact.squared else exact.weights_off(weights, alpha)
        errors["distance of the weights from the multipliers' sum"] = off / eps
    return errors


def gap_errors(exact: Exact, solution: Solution, eps: float, promise: str) -> tuple[dict[str, float], str]:
    """Return the true gap relative to the allowed one, or why it is unknown."""
    if solution.weights is None:
        return {"no weights, error": np.inf}, ""
    primal = exact.primal(solution.weights, solution.bias)
    allowed = Decimal(eps) * (exact.total if promise == "gap" else primal)
    at_least = float((primal - exact.optimum.upper) / allowed)
    at_most = float((primal - exact.optimum.lower) / allowed)
    if at_least > LENIENCE or at_most <= LENIENCE:
        return {"gap": max(at_least, 0.0) if at_least > LENIENCE else at_most}, ""
    return {"gap": max(at_least, 0.0)}, f"gap between {at_least:.3g} and {at_most:.3g} of what is allowed"
