"""Forged solutions of small problems with known optima.

    ./run python tests/torture/forgeries.py --examples 10000 --kind gap

A kind is a loss, a promise, and whether there is a bias. For each kind, a pool of problems is solved to
thirty digits (:mod:`exact`). Each optimum, rounded to doubles, is an honest solution; one or two tricks turn
it into a forgery. A forgery must not pass :func:`svmrepro.solvers.certify` if its true error exceeds twice
the error that the certificate states, or twice the tolerance. Honest solutions must pass.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from forgery_problems import KINDS, Small, small
from forgery_tricks import TRICKS, not_numbers, wrong_shapes
from svmrepro.solvers import Certificate, Solution, certify
from svmrepro.solvers.certificate import _lower_bounds as lower_bounds
from verdicts import LENIENCE, gap_errors, kkt_errors, malformed

#: Part of a stated error that counts as rounding: a share of the tolerance, and of the primal objective.
ROUNDING = 0.01
RELATIVE_ROUNDING = 1e-9
#: Units of roundoff by which a judge in double precision may misjudge its own outputs.
UNITS = 64.0
POOL = 400
MOST_SHOWN = 12
_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")
#: Entries that the judge may read to find a lower bound; its own limit allows some seconds per forgery.
SEARCHED = 2e6


@dataclass(frozen=True)
class Forgery:
    """A forged solution of a small problem, to be judged at a tolerance."""

    name: str
    given: Small
    solution: Solution
    eps: float


def forged(kind: str, number: int, pool: int = POOL) -> Forgery:
    """Return forgery number ``number`` of a kind."""
    rng = np.random.default_rng([77, list(KINDS).index(kind), number])
    tricks = [TRICKS[one] for one in rng.integers(len(TRICKS), size=rng.choice([1, 1, 2]))]
    # The other tricks need finite arrays of matching shapes.
    tricks.sort(key=lambda trick: trick in (not_numbers, wrong_shapes))
    given, eps = small(kind, int(rng.integers(pool))), float(10.0 ** rng.choice([-2, -3, -3, -3, -5]))
    solution = given.honest
    with np.errstate(all="ignore"):
        for trick in tricks:
            solution = trick(given, solution, rng)
    names = " then ".join(trick.__name__ for trick in tricks)
    return Forgery(f"{kind}, problem {given.seed}, {names}, eps {eps:g}", given, solution, eps)


def certificate_of(given: Small, solution: Solution, eps: float, factor: float) -> Certificate | str:
    """Return the certificate of a solution that passes, or why it is refused."""
    with mock.patch.object(lower_bounds, "_SEARCH_ENTRIES", SEARCHED), np.errstate(all="ignore"):
        try:
            found = certify(given.problem, solution)
        except ValueError as error:
            return str(error)
    return found if found.passes(eps, factor) else str(found)


def fault(forgery: Forgery) -> str | None:
    """Return what is wrong with the judge's verdict on a forgery, or None."""
    given, solution = forgery.given, forgery.solution
    for factor in given.kind.factors:
        try:
            found = certificate_of(given, solution, forgery.eps, factor)
        except Exception as error:
            return f"the judge raised {type(error).__name__}: {error}"
        if isinstance(found, Certificate) and (
            wrong := error_of(given, solution, found, forgery.eps, factor)
        ):
            return f"passes with factor {factor:g} although {wrong}"
    return None


def error_of(given: Small, solution: Solution, found: Certificate, eps: float, factor: float) -> str:
    """Return by how much the true error exceeds what is allowed, or what the certificate states."""
    exact, kind = given.exact, given.kind
    if wrong := malformed(exact, solution, kind.loss):
        return "; ".join(wrong)
    # Where the optimum is only known to lie in an interval, the forger gets the benefit of the doubt.
    errors = (
        kkt_errors(exact, solution, eps, factor)
        if kind.promise == "kkt"
        else gap_errors(exact, solution, eps, kind.promise)[0]
    )
    wrong = [f"{what} {share:.4g} of what is allowed" for what, share in errors.items() if share > LENIENCE]
    if not wrong:
        for what, true, stated in true_and_stated(given, solution, found, eps):
            if true > LENIENCE * stated:
                wrong.append(f"{what} is {true:.4g}, not {stated:.4g}")
    return "; ".join(wrong)


def true_and_stated(
    given: Small, solution: Solution, found: Certificate, eps: float
) -> list[tuple[str, float, float]]:
    """Return the errors of a solution, and those that its certificate states, or that count as rounding."""
    exact = given.exact
    if given.kind.promise == "kkt":
        alpha = exact.multipliers_of(solution.weights) if solution.alpha is None else solution.alpha
        true = exact.conditions(alpha, solution.bias)
        return [
            ("violation", true.violation, max(found.max_violation + found.rounding, ROUNDING * eps)),
            ("pair gap", true.pair_gap, max(found.pair_gap + 2.0 * found.rounding, ROUNDING * eps)),
        ]
    primal = exact.primal(solution.weights)
    true_gap = float(primal - exact.optimum.upper)
    return [("gap", true_gap, max(found.gap, RELATIVE_ROUNDING * float(primal)))]


def honest_fault(given: Small, eps: float) -> str | None:
    """Return why a good honest solution is refused; empty if it passes, None if it is not good."""
    solution, exact = given.honest, given.exact
    # Where double precision cannot tell, the solution need not pass.
    if given.kind.promise == "kkt":
        true = exact.conditions(solution.alpha, solution.bias)
        error = max(true.violation, true.pair_gap)
        if solution.weights is not None:
            error = max(error, exact.conditions(solution.alpha, solution.bias, solution.weights).violation)
        unknown, total = UNITS * exact.rounding(solution.alpha), 1.0
        if true.equality > 1e-14 * exact.n:
            return None
    else:
        primal = exact.primal(solution.weights)
        error = float(primal - exact.optimum.lower)
        total = float(exact.total if given.kind.promise == "gap" else primal)
        largest = 1.0 + float(np.abs(given.problem.X @ solution.weights).max())
        unknown = UNITS * 1.1e-16 * largest * float(exact.total)
    if error + unknown > 0.05 * eps * total:
        return None
    for factor in given.kind.factors:
        refused = certificate_of(given, solution, eps, factor)
        if isinstance(refused, str):
            return f"refused with factor {factor:g}: {refused}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=10_000, help="forgeries of each kind")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS))
    parser.add_argument("--first", type=int, default=0, help="number of the first forgery")
    options: Any = parser.parse_args(arguments)
    failed = 0
    for kind in options.kind or KINDS:
        began = time.monotonic()
        numbers = range(options.first, options.first + options.examples)
        found = {number: wrong for number in numbers if (wrong := fault(forged(kind, number))) is not None}
        honest = {
            seed: why for seed in range(POOL) if (why := honest_fault(small(kind, seed), 1e-3)) is not None
        }
        good = sum(why is not None for why in honest.values())
        refused = {seed: why for seed, why in honest.items() if why}
        print(
            f"{kind}: {options.examples} forgeries, {len(found)} pass; of {good} honest ones "
            f"{len(refused)} refused; {time.monotonic() - began:.0f} s",
            flush=True,
        )
        alike: dict[str, list[int]] = {}
        for number, wrong in found.items():
            alike.setdefault(_NUMBER.sub("", wrong)[:70], []).append(number)
        for numbers_alike in sorted(alike.values(), key=len, reverse=True)[:MOST_SHOWN]:
            first = numbers_alike[0]
            command = f"--kind {kind} --first {first} --examples 1"
            print(f"  {len(numbers_alike):5} such as {command} ({forged(kind, first).name}): {found[first]}")
        for seed, why in list(refused.items())[:MOST_SHOWN]:
            print(f"  honest solution of problem {seed}: {why}")
        failed += len(found) + len(refused)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
