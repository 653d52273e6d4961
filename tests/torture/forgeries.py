"""Forged solutions of small problems with known optima.

    ./run python tests/torture/forgeries.py --examples 10000 --kind gap

A kind is a loss, a promise, and whether there is a bias. For each kind, a pool of problems is solved to
thirty digits (:mod:`exact`). Each optimum, rounded to doubles, is an honest solution; one or two tricks turn
it into a forgery. A forgery must not pass :func:`svmrepro.solvers.certify` if its true error exceeds twice
the error that the certificate states, or twice the tolerance. Honest solutions must pass.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from exact import HINGE, PAIRS, SQUARED, Exact
from svmrepro.solvers import Certificate, Kernel, Problem, Solution, certify
from svmrepro.solvers.certificate import _lower_bounds as lower_bounds
from torture_problems import Generator, Vector, power
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
class Kind:
    """The promise of a solution."""

    name: str
    loss: str
    promise: str
    bias: bool
    linear: bool
    factors: tuple[float, ...]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("kkt-bias", HINGE, "kkt", True, False, (1.0, 2.0)),
        Kind("kkt-no-bias", HINGE, "kkt", False, False, (2.0,)),
        Kind("squared-hinge", SQUARED, "kkt", False, True, (2.0,)),
        Kind("gap", HINGE, "gap", False, True, (1.0,)),
        Kind("relative-gap", HINGE, "relative gap", False, True, (1.0,)),
        Kind("pairs", PAIRS, "gap", False, True, (1.0, 2.0)),
    )
}


@dataclass(frozen=True)
class Small:
    """A small problem, its exact counterpart, and the optimum rounded to doubles."""

    kind: Kind
    seed: int
    problem: Problem
    exact: Exact
    honest: Solution

    @property
    def top(self) -> Vector:
        """The largest value of each multiplier."""
        return np.full(self.exact.n, np.inf) if self.exact.squared else self.exact.bounds_given

    @property
    def gram(self) -> Vector:
        """Kernel values of all examples."""
        return self.exact.gram.astype(np.float64)[np.ix_(self.exact.of, self.exact.of)]


@functools.cache
def small(kind_name: str, seed: int) -> Small:
    """Return problem number ``seed`` of the pool of a kind."""
    kind = KINDS[kind_name]
    rng = np.random.default_rng([list(KINDS).index(kind_name), seed])
    n, d = int(rng.integers(2, 6 if kind.loss == PAIRS else 12)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(X)
    X *= 10.0 ** rng.choice([-3.0, 0.0, 0.0, 0.0, 1.0, 3.0], size=d if rng.random() < 0.3 else 1)
    if rng.random() < 0.1:
        X += 10.0 ** rng.uniform(2, 7)
    if kind.loss == PAIRS:
        y = rng.integers(3, size=n).astype(float)
        if (y == y[0]).all():
            y[0] += 1.0
    else:
        y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) * X.std() > np.median(X), 1.0, -1.0)
        if (y == y[0]).all():
            y[rng.integers(n)] *= -1
    kernel = Kernel.linear()
    choice = rng.random()
    if not kind.linear and choice < 0.3:
        kernel = Kernel.gaussian(gamma=float(10.0 ** rng.uniform(-1, 1) / max(X.var(axis=0).sum(), 1e-300)))
    elif not kind.linear and choice < 0.5:
        kernel = Kernel.polynomial(int(rng.integers(2, 4)), a=1.0, c=1.0)
    C: Any = float(10.0 ** (rng.uniform(-8, 12) if rng.random() < 0.6 else rng.uniform(-2, 3)))
    if kind.loss != PAIRS and rng.random() < 0.2:
        C = C * 10.0 ** rng.uniform(-2, 2, size=n)
    problem = Problem(X, y, C, kernel, bias=kind.bias)
    exact = Exact(X, y, C, kernel, kind.bias, kind.loss)
    return Small(kind, seed, problem, exact, _honest(kind, exact))


def _honest(kind: Kind, exact: Exact) -> Solution:
    """Return the exact optimum, rounded to doubles, with multipliers near a bound set to it."""
    alpha = _rounded(exact)
    if kind.loss != SQUARED:
        # The bound of a pair is rounded, perhaps upwards.
        top = exact.bounds_given if kind.loss == HINGE else np.nextafter(exact.bounds_given, 0.0)
        alpha = np.where(alpha > top * (1.0 - 1e-14), top, alpha)
    if kind.bias:
        _balance(alpha, exact)
    weights = exact.weights_of(alpha) if exact.linear else None
    bias = float(exact.optimum.bias) if kind.bias else 0.0
    return Solution(alpha, weights, bias, "optimal", 1, 1, loss=kind.loss, promise=kind.promise)


def _rounded(exact: Exact) -> Vector:
    """Return the optimal multipliers in double precision, 0 where they are negligible."""
    alpha = exact.optimum.multipliers.astype(np.float64)
    return np.where(alpha < 1e-15 * _largest(alpha), 0.0, alpha)


def _largest(values: Vector) -> float:
    return max(float(np.abs(values).max()), 1e-300)


def _balance(alpha: Vector, exact: Exact) -> None:
    """Move the rounding residue of ``sum y alpha`` to the free multiplier with most room, as solvers do."""
    off = math.fsum(alpha * exact.floats)
    room = np.minimum(alpha, exact.bounds_given - alpha)
    i = int(room.argmax())
    if room[i] > abs(off):
        alpha[i] -= exact.floats[i] * off


# Tricks

Trick = Callable[[Small, Solution, Generator], Solution]
TRICKS: list[Trick] = []


def trick(function: Trick) -> Trick:
    """Register a function that forges a solution."""
    TRICKS.append(function)
    return function


def _alpha(given: Small, solution: Solution) -> Vector:
    alpha = solution.alpha
    if alpha is None or alpha.shape != given.honest.alpha.shape:
        alpha = given.honest.alpha  # an earlier trick removed it
    return alpha.copy()


def consistent(given: Small, solution: Solution, alpha: Vector, bias: float | None = None) -> Solution:
    """Return a solution with these multipliers and the weights that follow from them."""
    weights = given.exact.weights_of(alpha) if given.exact.linear else None
    value = solution.bias if bias is None else bias
    return dataclasses.replace(solution, alpha=alpha, weights=weights, bias=value)


@trick
def perturbed(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Change multipliers by a share of the largest or of themselves; the weights follow or stay."""
    alpha = _alpha(given, solution)
    scale = _largest(alpha) if rng.random() < 0.5 else alpha
    noise = rng.normal(size=alpha.size) * (rng.random(alpha.size) < 0.5)
    moved = np.clip(alpha + power(rng, -14, 0.5) * scale * noise, 0.0, given.top)
    if given.kind.bias and rng.random() < 0.7:
        _balance(moved, given.exact)
    if rng.random() < 0.5:
        return consistent(given, solution, moved)
    return dataclasses.replace(solution, alpha=moved)


@trick
def of_another_c(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return multipliers of the problem with another C, scaled or clipped to this problem's box."""
    alpha = _alpha(given, solution) * power(rng, -4, 4)
    return consistent(given, solution, np.minimum(alpha, given.top))


@trick
def without_bias(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return the multipliers of the problem without bias, or change a single multiplier."""
    if given.kind.loss != HINGE or given.kind.promise != "kkt":
        return perturbed(given, solution, rng)
    twin = _twin(given.kind.name, given.seed)
    return consistent(given, solution, *twin[: rng.integers(1, 3)])


@functools.cache
def _twin(kind_name: str, seed: int) -> tuple[Vector, float]:
    """Return the optimum of the problem with a bias instead of without, or the reverse."""
    given = small(kind_name, seed)
    problem = given.problem
    other = Exact(problem.X, problem.y, problem.bounds, problem.kernel, not problem.bias)
    return np.minimum(_rounded(other), given.top), float(other.optimum.bias)


@trick
def unbalanced(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Scale multipliers per class, so that sum y alpha is off by 1e-12 to one half of sum alpha."""
    alpha = _alpha(given, solution)
    if given.kind.loss == PAIRS:
        return perturbed(given, solution, rng)
    alpha = np.where(given.exact.floats > 0, alpha * (1.0 - power(rng, -12, -0.3)), alpha)
    return consistent(given, solution, np.minimum(alpha, given.top))


@trick
def infeasible(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Move a multiplier below 0 or above its bound, by much or by the last digit."""
    alpha = _alpha(given, solution)
    i = int(rng.integers(alpha.size))
    own = given.top[i]
    if rng.random() < 0.5 or not np.isfinite(own):
        alpha[i] = -_largest(alpha) * power(rng, -16, 0)
    else:
        alpha[i] = np.nextafter(own, np.inf) if rng.random() < 0.3 else own * (1.0 + power(rng, -15, 1))
    return consistent(given, solution, alpha)


@trick
def zeros(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Set all multipliers to 0, with or without weights of 0, and with some bias."""
    alpha = np.zeros_like(_alpha(given, solution))
    bias = float(rng.choice([0.0, solution.bias, 1.0, -1.0])) if given.kind.bias else 0.0
    if rng.random() < 0.7:
        return consistent(given, solution, alpha, bias)
    return dataclasses.replace(solution, alpha=alpha, bias=bias)


@trick
def at_bounds(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Set all multipliers to their bounds, or each to 0 or its bound at random."""
    top = np.minimum(given.top, 1e300)
    alpha = top.copy() if rng.random() < 0.3 else np.where(rng.random(top.size) < 0.5, top, 0.0)
    if given.kind.loss == SQUARED:
        alpha = rng.random(top.size) * power(rng, -3, 3)
    return consistent(given, solution, alpha)


@trick
def wrong_bias(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return a wrong bias, or a bias where the problem has none."""
    return dataclasses.replace(solution, bias=solution.bias + rng.choice([-1.0, 1.0]) * power(rng, -6, 4))


@trick
def wrong_weights(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Replace the weights by zero, reversed, scaled or permuted ones, and keep the right multipliers."""
    if solution.weights is None:
        return perturbed(given, solution, rng)
    w = solution.weights
    choices = (np.zeros_like(w), -w, w * power(rng, -3, 3), rng.permutation(w), w * (1.0 + power(rng, -8, 0)))
    return dataclasses.replace(solution, weights=choices[rng.integers(len(choices))])


@trick
def outside_span(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Add to the weights a part that is zero on all examples if there is one, otherwise a random part."""
    if solution.weights is None:
        return perturbed(given, solution, rng)
    X = np.asarray(given.problem.X)
    part = rng.normal(size=X.shape[1])
    part -= np.linalg.pinv(X) @ (X @ part)
    w = solution.weights + part * power(rng, -6, 6) * max(_largest(solution.weights), 1e-3)
    return dataclasses.replace(solution, weights=w)


@trick
def random_weights(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return weights with several times the optimal objective, with honest multipliers or without."""
    if solution.weights is None:
        return perturbed(given, solution, rng)
    honest, exact = given.honest.weights, given.exact
    wanted = float(exact.optimum.upper) * (1.0 + power(rng, -5, 1.5))
    direction = -honest if rng.random() < 0.3 else rng.normal(size=exact.d)

    def enough(far: float) -> bool:
        return far >= 1e30 or float(exact.primal(honest + far * direction)) >= wanted

    low, high = 0.0, 1e-12
    while not enough(high):
        high *= 8.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    w = honest + high * direction
    alpha = given.honest.alpha if given.kind.promise == "kkt" or rng.random() < 0.5 else None
    return dataclasses.replace(solution, weights=w, alpha=alpha)


@trick
def invented_bounds(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return a bound and a slack that make the gap seem tiny."""
    if given.kind.promise == "kkt":
        return dataclasses.replace(solution, relaxed=float(given.exact.optimum.upper), xi=0.0)
    weights = solution.weights if solution.weights is not None else given.honest.weights
    if weights is None or not np.isfinite(weights).all() or weights.shape != (given.exact.d,):
        return dataclasses.replace(solution, relaxed=float(given.exact.optimum.upper), xi=0.0)
    with np.errstate(over="ignore"):
        primal = float(given.exact.primal(weights))
    alpha = None if rng.random() < 0.6 else solution.alpha
    value = primal * (1.0 - rng.choice([0.0, power(rng, -12, -3)]))
    return dataclasses.replace(solution, relaxed=value, xi=float(rng.random()), alpha=alpha)


@trick
def not_numbers(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Put NaN or an infinity somewhere."""
    value = float(rng.choice([np.nan, np.inf, -np.inf]))
    what = rng.choice(["alpha", "weights", "bias", "relaxed", "both"])
    changes: dict[str, Any] = {}
    if what in ("alpha", "both") and solution.alpha is not None and solution.alpha.size:
        alpha = solution.alpha.copy()
        alpha.flat[rng.integers(alpha.size)] = value
        changes["alpha"] = alpha
    if what in ("weights", "both") and solution.weights is not None and solution.weights.size:
        w = solution.weights.copy()
        w.flat[rng.integers(w.size)] = value
        changes["weights"] = w
    if what == "relaxed":
        changes["relaxed"] = value
    return dataclasses.replace(solution, **(changes or {"bias": value}))


@trick
def wrong_shapes(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return arrays that are too short, too long, column-shaped or missing."""
    what = "alpha" if rng.random() < 0.5 or solution.weights is None else "weights"
    values = getattr(solution, what)
    if values is None:
        return dataclasses.replace(solution, weights=None)
    choices = (values[:-1], np.append(values, 0.0), values[:, None], np.zeros(0), values[:1], None)
    return dataclasses.replace(solution, **{what: choices[rng.integers(len(choices))]})


@trick
def witnessed(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return cutting planes that prove nothing: random, too heavy, negative or not finite."""
    if given.kind.promise == "kkt":
        return invented_bounds(given, solution, rng)
    k = int(rng.integers(1, 5))
    lead = (
        given.honest.weights
        if solution.weights is None or solution.weights.shape != (given.exact.d,)
        else solution.weights
    )
    vectors = lead + rng.normal(size=(k, given.exact.d)) * power(rng, -6, 3) * (rng.random((k, 1)) < 0.8)
    share = rng.dirichlet(np.ones(k)) * float(given.exact.total)
    choice = rng.integers(8)
    if choice == 0:
        share = share * power(rng, 0, 6)
    elif choice == 1:
        share[rng.integers(k)] *= -power(rng, -3, 3)
    elif choice == 2:
        share[rng.integers(k)] = rng.choice([np.nan, np.inf, -np.inf])
    elif choice == 3:
        vectors[rng.integers(k)] = rng.choice([np.nan, np.inf])
    elif choice == 4:
        vectors = vectors[:, :-1] if rng.random() < 0.5 else vectors[:-1]
    elif choice == 5:
        share = share * (1.0 + power(rng, -15, -3))
    alpha = None if rng.random() < 0.7 else solution.alpha
    return dataclasses.replace(solution, witness=(share, vectors), alpha=alpha, relaxed=None)


@trick
def stopped_early(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return the result of a few coordinate ascent steps from 0 (over pairs, if there is a bias)."""
    exact, K, y = given.exact, given.gram, given.exact.floats
    ridge = 1.0 / exact.bounds_given if exact.squared else np.zeros(exact.n)
    low, high = np.minimum(0.0, y * given.top), np.maximum(0.0, y * given.top)
    beta, bias = np.zeros(exact.n), solution.bias
    for _ in range(int(rng.integers(1, 40))):
        slope = y - K @ beta - ridge * beta
        if exact.bias:
            up, down = np.where(beta < high, slope, -np.inf), np.where(beta > low, slope, np.inf)
            i, j = int(up.argmax()), int(down.argmin())
            bias = float(slope[i] + slope[j]) / 2
            step = (slope[i] - slope[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
            step = max(0.0, min(step, high[i] - beta[i], beta[j] - low[j]))
            beta[j] -= step
        else:
            i = int(rng.integers(exact.n))
            step = slope[i] / max(K[i, i] + ridge[i], 1e-300)
        beta[i] = np.clip(beta[i] + step, low[i], high[i])
    return consistent(given, solution, np.clip(y * beta, 0.0, given.top), bias)


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


# Judging


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
            ("violation", true.violation, max(found.max_violation, ROUNDING * eps)),
            ("pair gap", true.pair_gap, max(found.pair_gap, ROUNDING * eps)),
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
