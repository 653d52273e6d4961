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
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
from exact import HINGE, PAIRS, SQUARED, Exact, Optimum
from svmrepro.solvers import Kernel, Problem, Solution, certify
from svmrepro.solvers.certificate import lower_bounds
from verdicts import malformed

Generator = np.random.Generator
Vector = npt.NDArray[np.float64]

#: Part of a stated error that counts as rounding: a share of the tolerance, and of the primal objective.
ROUNDING = 0.01
RELATIVE_ROUNDING = 1e-9
#: Share of sum alpha by which no honest run violates the equality constraint.
EQUALITY = 1e-8
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
    """A small problem, its exact counterpart, and its optimum."""

    kind: Kind
    seed: int
    problem: Problem
    exact: Exact
    optimum: Optimum
    honest: Solution

    @property
    def allowed_total(self) -> float:
        """The scale by which a gap is divided."""
        return float(self.exact.total)


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
    exact = Exact(X, y, C, kernel, kind.bias)
    optimum = exact.optimum(kind.loss)
    return Small(kind, seed, problem, exact, optimum, _honest(kind, exact, optimum))


def _honest(kind: Kind, exact: Exact, optimum: Optimum) -> Solution:
    """Return the exact optimum, rounded to doubles, with multipliers near a bound set to it."""
    alpha = np.array([float(one) for one in optimum.multipliers])
    largest = max(float(alpha.max()), 1e-300)
    alpha = np.where(alpha < 1e-15 * largest, 0.0, alpha)
    if kind.loss == PAIRS:
        top: Any = np.nextafter(float(exact.pair_bound()), 0.0)
    else:
        top = exact.bounds_given
    if kind.loss != SQUARED:
        alpha = np.where(alpha > top * (1.0 - 1e-14), top, alpha)
    if kind.bias:
        _balance(alpha, exact)
    return _solution(kind, exact, alpha, float(optimum.bias) if kind.bias else 0.0)


def _balance(alpha: Vector, exact: Exact) -> None:
    """Move the rounding residue of ``sum y alpha`` to the free multiplier with most room, as solvers do."""
    off = float(
        sum(
            (Decimal(value) * Decimal(sign) for value, sign in zip(alpha, exact.floats, strict=True)),
            Decimal(0),
        )
    )
    room = np.minimum(alpha, exact.bounds_given - alpha)
    i = int(room.argmax())
    if room[i] > abs(off):
        alpha[i] -= exact.floats[i] * off


def _solution(kind: Kind, exact: Exact, alpha: Vector, bias: float) -> Solution:
    """Return a solution whose weights, if any, follow from its multipliers."""
    weights = weights_of(kind, exact, alpha) if exact.linear else None
    return Solution(alpha, weights, bias, "optimal", 1, 1, loss=kind.loss, promise=kind.promise)


def weights_of(kind: Kind, exact: Exact, alpha: Vector) -> Vector:
    """Return ``sum y alpha x``, or for pairs ``sum alpha (x_i - x_j)``."""
    from exact import DIGITS, _context, decimals, localcontext

    with localcontext(_context(DIGITS)):
        a = decimals(alpha)
        coefficients = exact.pair_coefficients(a) if kind.loss == PAIRS else exact.y * a
        return exact.folded(coefficients).astype(np.float64)


# Tricks. A trick takes (small, solution, rng) and returns a forged solution.

Trick = Callable[[Small, Solution, Generator], Solution]


def power(rng: Generator, low: float, high: float) -> float:
    """Return a random number between two powers of ten."""
    return float(10.0 ** rng.uniform(low, high))


def _top(given: Small) -> Any:
    if given.kind.loss == SQUARED:
        return np.inf
    return float(given.exact.pair_bound()) if given.kind.loss == PAIRS else given.exact.bounds_given


def _alpha(given: Small, solution: Solution) -> Vector:
    alpha = solution.alpha
    if alpha is None or alpha.shape != given.honest.alpha.shape:
        alpha = given.honest.alpha  # an earlier trick removed it
    return alpha.copy()


def consistent(given: Small, solution: Solution, alpha: Vector, bias: float | None = None) -> Solution:
    """Return a solution with these multipliers and the weights that follow from them."""
    weights = weights_of(given.kind, given.exact, alpha) if given.exact.linear else None
    value = solution.bias if bias is None else bias
    return dataclasses.replace(solution, alpha=alpha, weights=weights, bias=value)


def perturbed(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Change multipliers by a share of the largest or of themselves; the weights follow or stay."""
    alpha = _alpha(given, solution)
    scale = max(float(alpha.max()), 1e-300) if rng.random() < 0.5 else alpha
    noise = rng.normal(size=alpha.size) * (rng.random(alpha.size) < 0.5)
    moved = np.clip(alpha + power(rng, -14, 0.5) * scale * noise, 0.0, _top(given))
    if given.kind.bias and rng.random() < 0.7:
        _balance(moved, given.exact)
    if rng.random() < 0.5:
        return consistent(given, solution, moved)
    return dataclasses.replace(solution, alpha=moved)


def of_another_c(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return multipliers of the problem with another C, scaled or clipped to this problem's box."""
    alpha = _alpha(given, solution) * power(rng, -4, 4)
    return consistent(given, solution, np.minimum(alpha, _top(given)))


def without_bias(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return the multipliers of the problem without bias, or change a single multiplier."""
    if given.kind.loss != HINGE or given.kind.promise != "kkt":
        return perturbed(given, solution, rng)
    twin = _twin(given.kind.name, given.seed)
    if rng.random() < 0.5:
        return consistent(given, solution, twin[0], twin[1])
    return consistent(given, solution, twin[0])


@functools.cache
def _twin(kind_name: str, seed: int) -> tuple[Vector, float]:
    """Return the optimum of the problem with a bias instead of without, or the reverse."""
    given = small(kind_name, seed)
    other = Exact(
        given.problem.X,
        given.exact.floats,
        given.exact.bounds_given,
        given.problem.kernel,
        not given.exact.bias,
    )
    found = other.optimum()
    alpha = np.minimum(np.array([float(one) for one in found.multipliers]), given.exact.bounds_given)
    alpha[alpha < 1e-15 * max(float(alpha.max()), 1e-300)] = 0.0
    return alpha, float(found.bias)


def unbalanced(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Scale multipliers per class, so that sum y alpha is off by 1e-12 to one half of sum alpha."""
    alpha = _alpha(given, solution)
    if given.kind.loss == PAIRS:
        return perturbed(given, solution, rng)
    alpha = np.where(given.exact.floats > 0, alpha * (1.0 - power(rng, -12, -0.3)), alpha)
    return consistent(given, solution, np.minimum(alpha, _top(given)))


def infeasible(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Move a multiplier below 0 or above its bound, by much or by the last digit."""
    alpha = _alpha(given, solution)
    i = int(rng.integers(alpha.size))
    top = _top(given)
    own = float(top if np.isscalar(top) else top[i])
    largest = max(float(alpha.max()), 1e-300)
    if rng.random() < 0.5 or not np.isfinite(own):
        alpha[i] = -largest * power(rng, -16, 0)
    else:
        alpha[i] = np.nextafter(own, np.inf) if rng.random() < 0.3 else own * (1.0 + power(rng, -15, 1))
    return consistent(given, solution, alpha)


def zeros(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Set all multipliers to 0, with or without weights of 0, and with some bias."""
    alpha = np.zeros_like(_alpha(given, solution))
    bias = float(rng.choice([0.0, solution.bias, 1.0, -1.0])) if given.kind.bias else 0.0
    if rng.random() < 0.7:
        return consistent(given, solution, alpha, bias)
    return dataclasses.replace(solution, alpha=alpha, bias=bias)


def at_bounds(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Set all multipliers to their bounds, or each to 0 or its bound at random."""
    top = np.minimum(np.broadcast_to(_top(given), _alpha(given, solution).shape), 1e300)
    alpha = top.copy() if rng.random() < 0.3 else np.where(rng.random(top.size) < 0.5, top, 0.0)
    if given.kind.loss == SQUARED:
        alpha = rng.random(top.size) * power(rng, -3, 3)
    return consistent(given, solution, alpha)


def wrong_bias(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return a wrong bias, or a bias where the problem has none."""
    return dataclasses.replace(solution, bias=solution.bias + rng.choice([-1.0, 1.0]) * power(rng, -6, 4))


def wrong_weights(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Replace the weights by zero, reversed, scaled or permuted ones, and keep the right multipliers."""
    if solution.weights is None:
        return perturbed(given, solution, rng)
    w = solution.weights
    choices = (np.zeros_like(w), -w, w * power(rng, -3, 3), rng.permutation(w), w * (1.0 + power(rng, -8, 0)))
    return dataclasses.replace(solution, weights=choices[rng.integers(len(choices))])


def outside_span(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Add to the weights a part that is zero on all examples if there is one, otherwise a random part."""
    if solution.weights is None:
        return perturbed(given, solution, rng)
    X = np.asarray(given.problem.X)
    part = rng.normal(size=X.shape[1])
    part -= np.linalg.pinv(X) @ (X @ part)
    w = solution.weights + part * power(rng, -6, 6) * max(float(np.abs(solution.weights).max()), 1e-3)
    return dataclasses.replace(solution, weights=w)


def random_weights(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return weights with several times the optimal objective, with honest multipliers or without."""
    if solution.weights is None:
        return perturbed(given, solution, rng)
    best, exact, loss = float(given.optimum.upper), given.exact, given.kind.loss
    wanted = best * (1.0 + power(rng, -5, 1.5))
    direction = rng.normal(size=given.exact.d)
    if rng.random() < 0.3:
        direction = -given.honest.weights if given.honest.weights is not None else direction
    low, high = 0.0, 1e-12
    while float(exact.primal(given.honest.weights + high * direction, 0.0, loss)) < wanted and high < 1e30:
        high *= 8.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        below = float(exact.primal(given.honest.weights + middle * direction, 0.0, loss)) < wanted
        low, high = (middle, high) if below else (low, middle)
    w = given.honest.weights + high * direction
    alpha = given.honest.alpha if given.kind.promise == "kkt" or rng.random() < 0.5 else None
    return dataclasses.replace(solution, weights=w, alpha=alpha)


def invented_bounds(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return a bound and a slack that make the gap seem tiny."""
    if given.kind.promise == "kkt":
        return dataclasses.replace(solution, relaxed=float(given.optimum.upper), xi=0.0)
    weights = solution.weights if solution.weights is not None else given.honest.weights
    if weights is None or not np.isfinite(weights).all() or weights.shape != (given.exact.d,):
        return dataclasses.replace(solution, relaxed=float(given.optimum.upper), xi=0.0)
    with np.errstate(over="ignore"):
        primal = float(given.exact.primal(weights, 0.0, given.kind.loss))
    alpha = None if rng.random() < 0.6 else solution.alpha
    value = primal * (1.0 - rng.choice([0.0, power(rng, -12, -3)]))
    return dataclasses.replace(solution, relaxed=value, xi=float(rng.random()), alpha=alpha)


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


def wrong_shapes(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return arrays that are too short, too long, column-shaped or missing."""
    what = "alpha" if rng.random() < 0.5 or solution.weights is None else "weights"
    values = getattr(solution, what)
    if values is None:
        return dataclasses.replace(solution, weights=None)
    choices = (values[:-1], np.append(values, 0.0), values[:, None], np.zeros(0), values[:1], None)
    return dataclasses.replace(solution, **{what: choices[rng.integers(len(choices))]})


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
    share = rng.dirichlet(np.ones(k)) * given.allowed_total
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


def stopped_early(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return the result of a few coordinate ascent steps from 0 (over pairs, if there is a bias)."""
    if given.kind.loss == PAIRS:
        return of_another_c(given, solution, rng)
    exact = given.exact
    K = np.array(exact.gram(), dtype=object)[np.ix_(exact.of, exact.of)].astype(np.float64)
    y, alpha = exact.floats, np.zeros(exact.n)
    top = np.broadcast_to(_top(given), (exact.n,))
    for _ in range(int(rng.integers(1, 40))):
        G = y - K @ (y * alpha)
        if given.kind.loss == SQUARED:
            G = G - y * alpha / exact.bounds_given
        if not exact.bias:
            i = int(rng.integers(exact.n))
            curvature = K[i, i] + (1.0 / exact.bounds_given[i] if given.kind.loss == SQUARED else 0.0)
            alpha[i] = np.clip(alpha[i] + y[i] * G[i] / max(curvature, 1e-300), 0.0, top[i])
            continue
        up, down = np.where(y > 0, alpha < top, alpha > 0), np.where(y > 0, alpha > 0, alpha < top)
        i, j = int(np.where(up, G, -np.inf).argmax()), int(np.where(down, G, np.inf).argmin())
        if not G[i] > G[j]:
            break
        step = (G[i] - G[j]) / max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        room_i = top[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else top[j] - alpha[j]
        step = min(step, room_i, room_j)
        alpha[i] = np.clip(alpha[i] + y[i] * step, 0.0, top[i])
        alpha[j] = np.clip(alpha[j] - y[j] * step, 0.0, top[j])
    G = y - K @ (y * alpha)
    bias = solution.bias
    if exact.bias:
        up, down = np.where(y > 0, alpha < top, alpha > 0), np.where(y > 0, alpha > 0, alpha < top)
        if up.any() and down.any():
            bias = float(G[up].max() + G[down].min()) / 2
    return consistent(given, solution, alpha, bias)


TRICKS: tuple[Trick, ...] = (
    perturbed,
    of_another_c,
    without_bias,
    unbalanced,
    infeasible,
    zeros,
    at_bounds,
    wrong_bias,
    wrong_weights,
    outside_span,
    random_weights,
    invented_bounds,
    not_numbers,
    wrong_shapes,
    witnessed,
    stopped_early,
)


@dataclass(frozen=True)
class Forgery:
    """The values that reproduce a forged solution."""

    kind: str
    problem: int
    seed: int
    tricks: tuple[int, ...]
    eps: float

    def make(self) -> tuple[Small, Solution]:
        """Return the problem and the forged solution."""
        given = small(self.kind, self.problem)
        rng = np.random.default_rng([self.seed, *self.tricks])
        solution = given.honest
        with np.errstate(all="ignore"):
            # The remaining tricks need finite arrays of matching shapes.
            for trick in sorted(self.tricks, key=lambda trick: TRICKS[trick] in (not_numbers, wrong_shapes)):
                solution = TRICKS[trick](given, solution, rng)
        return given, solution

    def __str__(self) -> str:
        names = " then ".join(TRICKS[trick].__name__ for trick in self.tricks)
        return f"{self.kind}, problem {self.problem}, {names}, seed {self.seed}, eps {self.eps:g}"


def drawn(kind: str, number: int, pool: int = POOL) -> Forgery:
    """Return forgery number ``number`` of a kind, without hypothesis."""
    rng = np.random.default_rng([77, list(KINDS).index(kind), number])
    tricks = tuple(int(one) for one in rng.integers(len(TRICKS), size=rng.choice([1, 1, 2])))
    return Forgery(
        kind, int(rng.integers(pool)), number, tricks, float(10.0 ** rng.choice([-2, -3, -3, -3, -5]))
    )


# Judging


def stated(problem: Problem, solution: Solution, eps: float, factor: float) -> Any:
    """Return the certificate of a solution that passes; None if it is refused."""
    with mock.patch.object(lower_bounds, "_SEARCH_ENTRIES", SEARCHED):
        try:
            certificate = certify(problem, solution)
        except ValueError:
            return None
    return certificate if certificate.passes(eps, factor) else None


def fault(forgery: Forgery) -> str | None:
    """Return what is wrong with the judge's verdict on a forgery, or None."""
    given, solution = forgery.make()
    return fault_of(given, solution, forgery.eps)


def fault_of(given: Small, solution: Solution, eps: float) -> str | None:
    """Return what is wrong with the judge's verdict on a solution, or None."""
    for factor in given.kind.factors:
        with np.errstate(all="ignore"):
            try:
                certificate = stated(given.problem, solution, eps, factor)
            except Exception as error:
                return f"the judge raised {type(error).__name__}: {error}"
        if certificate is None:
            continue
        error = gap_error if given.kind.promise != "kkt" else kkt_error
        wrong = lacking(given, solution) or error(given, solution, certificate, eps, factor)
        if wrong:
            return f"passes with factor {factor:g} although {wrong}"
    return None


def lacking(given: Small, solution: Solution) -> str | None:
    """Return why a solution is malformed."""
    kind = given.kind
    if kind.promise == "kkt" and solution.alpha is None and kind.loss == HINGE:
        return "it has no multipliers"
    if kind.promise != "kkt" and solution.weights is None:
        return "it has no weights"
    return "; ".join(malformed(given.exact, solution, kind.loss)) or None


def kkt_error(given: Small, solution: Solution, certificate: Any, eps: float, factor: float) -> str | None:
    """Return by how much the conditions are violated beyond what is stated or allowed."""
    exact, loss, alpha = given.exact, given.kind.loss, solution.alpha
    allowed = max(1.0, factor / 2) * eps
    if alpha is None:  # the multipliers of squared hinges follow from the weights
        short = 1.0 - exact.floats * exact_outputs(exact, solution.weights)
        alpha = exact.bounds_given * np.maximum(0.0, short)
    true = exact.conditions(alpha, solution.bias, loss)
    say = f"its true violation is {true.violation:.4g}, pair gap {true.pair_gap:.4g}, with {certificate}"
    if (
        true.violation > 2 * max(certificate.max_violation, ROUNDING * allowed)
        or true.violation > 2 * allowed
    ):
        return say
    pair_allowed = max(factor, 2.0 if not exact.bias else 0.0) * eps
    if (
        true.pair_gap > 2 * max(certificate.pair_gap, ROUNDING * pair_allowed)
        or true.pair_gap > 2 * pair_allowed
    ):
        return say
    if true.equality > EQUALITY:
        return f"sum y alpha is {true.equality:.3g} of sum alpha"
    if solution.weights is not None:
        if exact.linear:
            by_weights = exact.conditions(alpha, solution.bias, loss, solution.weights)
            if by_weights.violation > 2 * allowed:
                return f"by its weights the violation is {by_weights.violation:.4g}"
            # For squared hinges, weights and multipliers are two answers; each is judged by its own
            # conditions.
            off = exact.weights_off(solution.weights, exact.floats * alpha) if loss == HINGE else 0.0
            if off > 2 * allowed:
                return f"outputs of its weights may be {off:.3g} off those of its multipliers"
        elif np.any(solution.weights):
            return "it has weights of a kernel that is not linear"
    return None


def exact_outputs(exact: Exact, weights: Any) -> Vector:
    """Return ``x_i . w`` in double precision."""
    from exact import decimals

    return exact.outputs(decimals(weights)).astype(np.float64)


def gap_error(given: Small, solution: Solution, certificate: Any, eps: float, factor: float) -> str | None:
    """Return by how much the objective exceeds the optimum beyond what is stated or allowed."""
    exact, kind, best = given.exact, given.kind, given.optimum
    # An additional bias may only make the result worse.
    primal = max(exact.primal(solution.weights, bias, kind.loss) for bias in (0.0, solution.bias))
    scale = primal if primal > 0 else Decimal("1e-999")  # the stated gap is a share of that, too
    # The optimum is only known to lie in an interval; the forger gets the benefit of the doubt.
    true = float((primal - best.upper) / scale)
    said = certificate.gap / max(abs(certificate.primal), 1e-300)
    allowed = eps * float(exact.total / scale) if kind.promise == "gap" else eps * float(primal / scale)
    if true > 2 * max(said, RELATIVE_ROUNDING) or true > 2 * allowed + RELATIVE_ROUNDING:
        return (
            f"its objective is {true:.4g} of the optimum above it; stated {said:.4g}, allowed {allowed:.4g}"
        )
    return None


def _said(problem: Problem, solution: Solution) -> str:
    """Return the judge's verdict on a solution."""
    try:
        return str(certify(problem, solution))
    except ValueError as error:
        return str(error)


def honest_fault(given: Small, eps: float) -> str | None:
    """Return why a good honest solution is refused; None if it passes or is not good."""
    solution = given.honest
    if given.kind.promise == "kkt":
        true = given.exact.conditions(solution.alpha, solution.bias, given.kind.loss)
        by_weights = true
        if solution.weights is not None:
            by_weights = given.exact.conditions(
                solution.alpha, solution.bias, given.kind.loss, solution.weights
            )
        worst = max(true.violation, true.pair_gap, by_weights.violation)
        # Where double precision cannot tell, the solution need not pass.
        unknown = UNITS * given.exact.rounding(solution.alpha)
        if worst + unknown > 0.05 * eps or true.equality > 1e-14 * given.exact.n:
            return None
    else:
        primal = given.exact.primal(solution.weights, 0.0, given.kind.loss)
        total = given.exact.total if given.kind.promise == "gap" else primal
        largest = 1.0 + float(np.abs(exact_outputs(given.exact, solution.weights)).max())
        unknown = UNITS * 1.1e-16 * largest * float(given.exact.total)
        if float(primal - given.optimum.lower) + unknown > 0.05 * eps * float(total):
            return None
    for factor in given.kind.factors:
        with np.errstate(all="ignore"):
            try:
                passed = stated(given.problem, solution, eps, factor)
            except Exception as error:
                return f"the judge raised {type(error).__name__}: {error}"
        if passed is None:
            return f"refused with factor {factor:g}: {_said(given.problem, solution)}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=10_000, help="forgeries of each kind")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS))
    parser.add_argument("--first", type=int, default=0, help="number of the first forgery")
    parser.add_argument("--number", type=int, help="this forgery alone")
    parser.add_argument("--findings", type=Path, help="file for the findings, one line of JSON each")
    options: Any = parser.parse_args(arguments)
    failed = 0
    for kind in options.kind or KINDS:
        began, findings = time.monotonic(), {}
        first = options.first if options.number is None else options.number
        count = options.examples if options.number is None else 1
        for number in range(first, first + count):
            forgery = drawn(kind, number)
            wrong = fault(forgery)
            if wrong is not None:
                findings[number] = (forgery, wrong)
        good = [(seed, honest_fault(small(kind, seed), 1e-3)) for seed in range(POOL)]
        refused = [(seed, why) for seed, why in good if why]
        passed = sum(why == "" for _, why in good)
        print(
            f"{kind}: {count} forgeries, {len(findings)} pass; of {passed + len(refused)} honest ones "
            f"{len(refused)} refused; {time.monotonic() - began:.0f} s",
            flush=True,
        )
        alike: dict[str, list[int]] = {}
        for number, (forgery, wrong) in findings.items():
            alike.setdefault(_NUMBER.sub("", wrong)[:70], []).append(number)
            if options.findings:
                entry = {"kind": kind, "number": number, "forgery": str(forgery), "wrong": wrong}
                with options.findings.open("a") as stream:
                    stream.write(json.dumps(entry) + "\n")
        for numbers in sorted(alike.values(), key=len, reverse=True)[:MOST_SHOWN]:
            forgery, wrong = findings[numbers[0]]
            print(f"  {len(numbers):5} such as --kind {kind} --number {numbers[0]} ({forgery}): {wrong}")
        for seed, why in refused[:MOST_SHOWN]:
            print(f"  honest solution of problem {seed}: {why}")
        failed += len(findings) + len(refused)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
