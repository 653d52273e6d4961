"""Tricks that turn an honest solution into a forgery."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from exact import HINGE, PAIRS, SQUARED, Exact
from forgery_problems import Small, balance, largest, rounded, small
from svmrepro.solvers import Solution
from torture_problems import Generator, Vector, power

Trick = Callable[[Small, Solution, Generator], Solution]
TRICKS: list[Trick] = []


def trick(function: Trick) -> Trick:
    """Register a function that forges a solution."""
    TRICKS.append(function)
    return function


def alpha_of(given: Small, solution: Solution) -> Vector:
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
    alpha = alpha_of(given, solution)
    scale = largest(alpha) if rng.random() < 0.5 else alpha
    noise = rng.normal(size=alpha.size) * (rng.random(alpha.size) < 0.5)
    moved = np.clip(alpha + power(rng, -14, 0.5) * scale * noise, 0.0, given.top)
    if given.kind.bias and rng.random() < 0.7:
        balance(moved, given.exact)
    if rng.random() < 0.5:
        return consistent(given, solution, moved)
    return dataclasses.replace(solution, alpha=moved)


@trick
def of_another_c(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Return multipliers of the problem with another C, scaled or clipped to this problem's box."""
    alpha = alpha_of(given, solution) * power(rng, -4, 4)
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
    return np.minimum(rounded(other), given.top), float(other.optimum.bias)


@trick
def unbalanced(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Scale multipliers per class, so that sum y alpha is off by 1e-12 to one half of sum alpha."""
    alpha = alpha_of(given, solution)
    if given.kind.loss == PAIRS:
        return perturbed(given, solution, rng)
    alpha = np.where(given.exact.floats > 0, alpha * (1.0 - power(rng, -12, -0.3)), alpha)
    return consistent(given, solution, np.minimum(alpha, given.top))


@trick
def infeasible(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Move a multiplier below 0 or above its bound, by much or by the last digit."""
    alpha = alpha_of(given, solution)
    i = int(rng.integers(alpha.size))
    own = given.top[i]
    if rng.random() < 0.5 or not np.isfinite(own):
        alpha[i] = -largest(alpha) * power(rng, -16, 0)
    else:
        alpha[i] = np.nextafter(own, np.inf) if rng.random() < 0.3 else own * (1.0 + power(rng, -15, 1))
    return consistent(given, solution, alpha)


@trick
def zeros(given: Small, solution: Solution, rng: Generator) -> Solution:
    """Set all multipliers to 0, with or without weights of 0, and with some bias."""
    alpha = np.zeros_like(alpha_of(given, solution))
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
    w = solution.weights + part * power(rng, -6, 6) * max(largest(solution.weights), 1e-3)
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
