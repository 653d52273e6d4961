"""Small problems of each kind with their exact optima, which forgeries start from."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from exact import HINGE, PAIRS, SQUARED, Exact
from svmrepro.solvers import Kernel, Problem, Solution
from torture_problems import Vector, two_classes


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
        above = X @ rng.normal(size=d) + rng.normal(size=n) * X.std() > np.median(X)
        y = two_classes(rng, np.where(above, 1.0, -1.0))
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
    alpha = rounded(exact)
    if kind.loss != SQUARED:
        # The bound of a pair is rounded, perhaps upwards.
        top = exact.bounds_given if kind.loss == HINGE else np.nextafter(exact.bounds_given, 0.0)
        alpha = np.where(alpha > top * (1.0 - 1e-14), top, alpha)
    if kind.bias:
        balance(alpha, exact)
    weights = exact.weights_of(alpha) if exact.linear else None
    bias = float(exact.optimum.bias) if kind.bias else 0.0
    return Solution(alpha, weights, bias, "optimal", 1, 1, loss=kind.loss, promise=kind.promise)


def rounded(exact: Exact) -> Vector:
    """Return the optimal multipliers in double precision, 0 where they are negligible."""
    alpha = exact.optimum.multipliers.astype(np.float64)
    return np.where(alpha < 1e-15 * largest(alpha), 0.0, alpha)


def largest(values: Vector) -> float:
    return max(float(np.abs(values).max()), 1e-300)


def balance(alpha: Vector, exact: Exact) -> None:
    """Move the rounding residue of ``sum y alpha`` to the free multiplier with most room, as solvers do."""
    off = math.fsum(alpha * exact.floats)
    room = np.minimum(alpha, exact.bounds_given - alpha)
    i = int(room.argmax())
    if room[i] > abs(off):
        alpha[i] -= exact.floats[i] * off
