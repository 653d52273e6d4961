"""An independent judgement of solutions, in decimal arithmetic of sixty digits.

Nothing here comes from ``svmrepro.solvers``: neither kernels nor conditions nor objectives. A double is an
exact decimal number, and every sum below is exact up to its sixtieth digit; kernel values come from direct
differences and products of the examples. With ``g_i = sum_j y_j a_j k(x_j, x_i)`` and ``f_i = g_i + b``,

    primal   P = 1/2 sum_i y_i a_i g_i + sum_i C_i max(0, 1 - y_i f_i)
    dual     D = sum_i a_i - 1/2 sum_i y_i a_i g_i

A problem over pairs is one over the differences ``x_i - x_j`` with ``y_i > y_j``, by i, then j: each has the
label +1 and the bound n C / m.

:attr:`Exact.optimum` encloses the optimum of a convex problem. It follows the central path of the dual,

    minimise 1/2 a.Q a - sum a   subject to  0 <= a <= c  and, with a bias,  y.a = 0,

first in double precision and then, if the enclosure is too wide and the problem is small, in 100 digits. D at
any feasible point is a lower bound and P at any weights an upper bound, and both are evaluated exactly, so
the enclosure is valid even if the method has not converged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

DIGITS = 60
PATH_DIGITS = 100
#: Relative width below which an enclosure of the optimum counts as exact.
NARROW = 1e-9
_SMALL = 40  # unknowns of the linear systems solved in 100 digits
_LARGE = 3_000  # unknowns of those solved in double precision
_STEPS = 300

Numbers = npt.NDArray[Any]
#: The non-zeros of an example, by column.
Row = dict[int, Decimal]
HINGE, SQUARED, PAIRS = "hinge", "squared hinge", "pairs"
_ZERO, _ONE, _HALF = Decimal(0), Decimal(1), Decimal("0.5")
_Call = TypeVar("_Call", bound=Callable[..., Any])


def _context(digits: int) -> Context:
    return Context(prec=digits, Emax=999_999, Emin=-999_999)


def precise(function: _Call) -> _Call:
    """Run a function with sixty decimal digits."""

    @functools.wraps(function)
    def inside(*arguments: Any, **options: Any) -> Any:
        with localcontext(_context(DIGITS)):
            return function(*arguments, **options)

    return inside  # type: ignore[return-value]


def decimals(values: Any) -> Numbers:
    """Return doubles as decimal numbers with the context's precision, in an array of the same shape."""
    given = np.asarray(values, dtype=np.float64)
    result = np.empty(given.shape, dtype=object)
    result.ravel()[:] = [+Decimal(value) for value in given.ravel().tolist()]
    return result


@dataclass(frozen=True)
class Conditions:
    """How far multipliers violate the conditions of Karush, Kuhn and Tucker.

    Attributes
    ----------
    violation : float
        Largest violation at the bias given.
    pair_gap : float
        ``max over I_up - min over I_down`` of ``y - g``; twice the violation without a bias.
    equality : float
        ``|sum y a| / sum a``; 0 without a bias.
    """

    violation: float
    pair_gap: float
    equality: float


@dataclass(frozen=True)
class Optimum:
    """An enclosure of the optimal objective, and the dual point that gives the lower bound."""

    lower: Decimal
    upper: Decimal
    multipliers: Numbers
    bias: Decimal

    @property
    def narrow(self) -> bool:
        """Whether the enclosure is accurate to nine digits."""
        return bool(self.upper - self.lower <= Decimal(NARROW) * abs(self.upper))


class Exact:
    """A problem with N terms of its loss: examples, or pairs of them.

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Examples; kernel values of a precomputed kernel.
    y : array_like, shape (n,)
        Labels, or ranks for pairs.
    C : float or array_like, shape (n,)
        Bounds.
    kernel : object
        An object with ``name``, ``gamma``, ``degree``, ``a`` and ``c``.
    bias : bool
        Whether the problem has a bias.
    loss : {"hinge", "squared hinge", "pairs"}
        The loss.
    """

    @precise
    def __init__(self, X: Any, y: Any, C: Any, kernel: Any, bias: bool, loss: str = HINGE) -> None:
        self.kernel, self.bias = kernel, bias
        self.linear, self.squared = kernel.name == "linear", loss == SQUARED
        self.d = X.shape[1]
        self.floats = np.asarray(y, dtype=np.float64)
        self.bounds = decimals(np.broadcast_to(np.asarray(C, dtype=np.float64), self.floats.shape))
        self.total = sum(self.bounds, _ZERO)
        rows = _rows(X)
        if loss == PAIRS:
            pairs = np.argwhere(self.floats[:, None] > self.floats[None, :])
            rows = [_difference(rows[i], rows[j]) for i, j in pairs]
            self.floats = np.ones(len(rows))
            self.bounds = np.full(len(rows), self.total / len(rows), dtype=object)
        self.n = len(rows)
        self.y = decimals(self.floats)
        self.bounds_given = self.bounds.astype(np.float64)
        numbers: dict[tuple[Any, ...], int] = {}
        self.of = np.array([numbers.setdefault(tuple(row.items()), len(numbers)) for row in rows])
        self.rows = [dict(items) for items in numbers]
        self.used = sorted({k for row in self.rows for k in row})

    @functools.cached_property
    def gram(self) -> Numbers:
        """The kernel values of distinct examples."""
        if self.kernel.name != "precomputed":
            return _kernel_values(self.kernel, self.rows)
        firsts = np.unique(self.of, return_index=True)[1]
        return np.array([[row.get(int(j), _ZERO) for j in firsts] for row in self.rows], dtype=object)

    def folded(self, coefficients: Numbers) -> Numbers:
        """Return ``sum_j coefficients_j x_j``, shape (d,)."""
        v = np.full(self.d, _ZERO, dtype=object)
        for coefficient, row in zip(coefficients, self.of, strict=True):
            if coefficient:
                for k, value in self.rows[row].items():
                    v[k] += coefficient * value
        return v

    def outputs(self, v: Numbers) -> Numbers:
        """Return ``x_i . v``, shape (N,)."""
        values = [sum((value * v[k] for k, value in row.items()), _ZERO) for row in self.rows]
        return np.array(values, dtype=object)[self.of]

    def products(self, coefficients: Numbers) -> Numbers:
        """Return ``sum_j coefficients_j k(x_j, x_i)``, shape (N,)."""
        if self.linear:
            return self.outputs(self.folded(coefficients))
        sums = np.full(len(self.rows), _ZERO, dtype=object)
        np.add.at(sums, self.of, coefficients)
        used = np.flatnonzero(sums)
        product: Numbers = (self.gram[:, used] @ sums[used] if used.size else sums)[self.of]
        return product

    @precise
    def conditions(self, alpha: Any, bias: float, weights: Any = None) -> Conditions:
        """Evaluate multipliers in their box, shape (N,), and the constant added to the outputs.

        With ``weights``, shape (d,), the outputs are those of the weights.
        """
        a = decimals(alpha)
        g = self.products(self.y * a) if weights is None else self.outputs(decimals(weights))
        target = 1 - a / self.bounds if self.squared else np.full(self.n, _ONE, dtype=object)
        short = target - self.y * (g + +Decimal(float(bias)))
        below, above = self.squared | (a < self.bounds), a > 0
        worst = max([_ZERO, *short[below], *(-short[above])])
        signed = self.y @ a if self.bias else _ZERO
        share = abs(signed) / max(sum(a, _ZERO), Decimal("1e-999")) if signed else _ZERO
        pair_gap = 2 * worst
        if self.bias:
            G, positive = self.y - g, self.floats > 0
            up, down = np.where(positive, below, above), np.where(positive, above, below)
            pair_gap = max(_ZERO, max(G[up]) - min(G[down])) if up.any() and down.any() else _ZERO
        return Conditions(float(worst), float(pair_gap), float(share))

    @precise
    def weights_of(self, alpha: Any) -> npt.NDArray[np.float64]:
        """Return ``sum_i y_i a_i x_i`` in double precision."""
        return self.folded(self.y * decimals(alpha)).astype(np.float64)

    @precise
    def multipliers_of(self, weights: Any) -> npt.NDArray[np.float64]:
        """Return the multipliers ``C_i max(0, 1 - y_i w.x_i)`` of squared hinges in double precision."""
        short = 1 - self.y * self.outputs(decimals(weights))
        return (self.bounds * np.maximum(short, _ZERO)).astype(np.float64)

    @precise
    def weights_off(self, weights: Any, alpha: Any) -> float:
        """Return ``|w - v| max |x_i|`` with ``v = sum y_i a_i x_i``.

        This bounds the difference between outputs of w and v at points no farther from the origin than an
        example.
        """
        off = decimals(weights) - self.folded(self.y * decimals(alpha))
        return float((off @ off).sqrt() * self.radius())

    def radius(self) -> Decimal:
        """Return the largest norm of an example in feature space (its analogue for an indefinite kernel)."""
        if self.linear:
            return max(sum((value * value for value in row.values()), _ZERO) for row in self.rows).sqrt()
        return Decimal(max(abs(np.diagonal(self.gram)))).sqrt()

    @precise
    def rounding(self, alpha: Any) -> float:
        """Return an upper bound on the roundoff of an output, which is a sum of kernel values."""
        return float(sum(decimals(alpha), _ZERO) * self.radius() ** 2) * 1.1e-16

    @precise
    def primal(self, weights: Any, bias: float = 0.0) -> Decimal:
        """Return the primal objective of weights of a linear problem."""
        w = decimals(weights)
        return _HALF * (w @ w) + self._risk(self.outputs(w) + +Decimal(float(bias)))

    def _risk(self, f: Numbers) -> Decimal:
        """Return the total loss of outputs."""
        slack = np.maximum(1 - self.y * f, _ZERO)
        return Decimal(self.bounds @ (_HALF * slack * slack if self.squared else slack))

    @functools.cached_property
    def optimum(self) -> Optimum:
        """An enclosure of the optimal objective of a convex problem."""
        found = self._enclose(np.float64)
        if found.narrow:
            return found
        refined = self._enclose(object)
        best = max((found, refined), key=lambda one: one.lower)
        return Optimum(best.lower, min(found.upper, refined.upper), best.multipliers, best.bias)

    def _enclose(self, kind: Any) -> Optimum:
        """Return bounds from a point on the central path, computed in the given arithmetic."""
        unknowns = min(self.n, len(self.used)) if self.linear else self.n
        a, bias = np.full(self.n, _ZERO, dtype=object), _ZERO
        if unknowns <= (_SMALL if kind is object else _LARGE):
            with localcontext(_context(PATH_DIGITS)), np.errstate(all="ignore"):
                a, bias = self._path(kind)
        with localcontext(_context(DIGITS)):
            a = np.array([+one for one in a], dtype=object)
            if not self.squared:
                a = np.minimum(a, self.bounds)
            g = self.products(self.y * a)
            quadratic = (self.y * a) @ g
            lower = sum(a, _ZERO) - _HALF * quadratic
            if self.squared:
                lower -= _HALF * ((a * a) @ (1 / self.bounds))
            if self.bias:
                lower -= abs(bias * (self.y @ a))
            return Optimum(lower, _HALF * quadratic + self._risk(g + bias), a, bias)

    def _path(self, kind: Any) -> tuple[Numbers, Decimal]:
        factor, matrix = None, None
        if self.linear:
            distinct = [[row.get(k, _ZERO) for k in self.used or [0]] for row in self.rows]
            factor = self.y[:, None] * np.array(distinct, dtype=object)[self.of]
        else:
            matrix = self.y[:, None] * self.gram[np.ix_(self.of, self.of)] * self.y[None, :]
        ridge, top = (1 / self.bounds, None) if self.squared else (None, self.bounds)
        given = (factor, matrix, ridge, top, self.y if self.bias else None)
        a, bias = central_path(*(None if one is None else one.astype(kind) for one in given))
        return np.maximum(decimals(a) if kind is not object else a, _ZERO), Decimal(bias)


def _rows(X: Any) -> list[Row]:
    """Return the examples as non-zeros, ordered by column."""
    csr = sp.csr_array(X, dtype=np.float64, copy=True)
    csr.sort_indices()
    csr.eliminate_zeros()
    ends = csr.indptr[1:-1]
    columns, values = np.split(csr.indices, ends), np.split(decimals(csr.data), ends)
    return [dict(zip(k.tolist(), value, strict=True)) for k, value in zip(columns, values, strict=True)]


def _difference(one: Row, other: Row) -> Row:
    """Return the non-zeros of ``one - other``, ordered by column."""
    values = {k: one.get(k, _ZERO) - other.get(k, _ZERO) for k in sorted({**one, **other})}
    return {k: value for k, value in values.items() if value}


@precise
def _kernel_values(kernel: Any, rows: list[Row]) -> Numbers:
    """Return ``k`` for all pairs of rows."""
    values = np.full((len(rows), len(rows)), _ZERO, dtype=object)
    gamma, a, c = (+Decimal(float(one)) for one in (kernel.gamma, kernel.a, kernel.c))
    for i, one in enumerate(rows):
        for j, other in enumerate(rows[: i + 1]):
            if kernel.name == "gaussian":
                value = (-gamma * sum((x * x for x in _difference(one, other).values()), _ZERO)).exp()
            else:
                value = sum((x * other[k] for k, x in one.items() if k in other), _ZERO)
                if kernel.name == "polynomial":
                    value = (a * value + c) ** kernel.degree if kernel.degree else _ONE
            values[i, j] = values[j, i] = value
    return values


def central_path(
    factor: Numbers | None,
    matrix: Numbers | None,
    ridge: Numbers | None,
    top: Numbers | None,
    y: Numbers | None,
) -> tuple[Numbers, Any]:
    """Minimise ``1/2 a.Q a - sum a`` over ``0 <= a <= top`` (and ``y.a = 0``) by following the central path.

    Parameters
    ----------
    factor, matrix : ndarray or None, shape (N, p) and (N, N)
        Q is ``factor factor'``, or ``matrix``, plus ``diag(ridge)``; doubles or decimals.
    top, y : ndarray or None, shape (N,)
        No upper bounds, no equality constraint, where None.

    Returns
    -------
    a : ndarray, shape (N,)
        The point reached.
    bias : number
        The multiplier of the equality constraint, 0 without.
    """
    source = factor if factor is not None else matrix
    assert source is not None
    exact = source.dtype == object
    one = _ONE if exact else 1.0
    tolerance = Decimal("1e-36") if exact else 1e-14
    N = len(source)

    def times(a: Numbers) -> Numbers:
        product = factor @ (factor.T @ a) if factor is not None else matrix @ a
        return product if ridge is None else product + ridge * a

    diagonal = (source * source).sum(axis=1) if factor is not None else np.diagonal(source)
    if ridge is not None:
        diagonal = diagonal + ridge
    largest = max(diagonal)
    start = one / largest if largest > 0 else one
    a = np.full(N, start, dtype=source.dtype)
    if top is not None:
        a = np.minimum(a, top / 2)
    z = np.full(N, one, dtype=source.dtype)
    u = z.copy() if top is not None else z * 0
    bias = one * 0
    best, best_measure = (a, bias), None
    sigma = one / 10
    for _ in range(_STEPS):
        gradient = times(a)
        stationarity = gradient - 1 - z + u + (y * bias if y is not None else 0)
        room = top - a if top is not None else None
        complementarity = a @ z + (room @ u if top is not None else 0)
        value = abs(a.sum() - (a @ gradient) / 2)
        off = complementarity + np.abs(stationarity) @ a
        if y is not None:
            off = off + abs(bias * (y @ a))
        if best_measure is None or off < best_measure:
            best, best_measure = (a, bias), off
        if off != off or off <= tolerance * value:
            break
        mu = sigma * complementarity / (N if top is None else 2 * N)
        weight = z / a + (u / room if top is not None else 0)
        right = mu / a - z - stationarity - ((mu / room - u) if top is not None else 0)
        try:
            solve = _solver(factor, matrix, ridge, weight)
            step = solve(right)
            if y is not None:
                along = solve(y)
                change = (y @ step + y @ a) / (y @ along)
                step, bias_step = step - along * change, change
            else:
                bias_step = bias * 0
        except (np.linalg.LinAlgError, ZeroDivisionError, InvalidOperation, FloatingPointError):
            break
        z_step = mu / a - z - z * step / a
        u_step = (mu / room - u + u * step / room) if top is not None else u
        moves = [(a, step), (z, z_step), *([(room, -step), (u, u_step)] if top is not None else [])]
        length = min(one, min(_longest(*move, one) for move in moves) * 99 / 100)
        a, z, bias = a + step * length, z + z_step * length, bias + bias_step * length
        if top is not None:
            u = u + u_step * length
        sigma = one / 50 if length > one * 9 / 10 else one / 4
        if not (a > 0).all() or not (z > 0).all():
            break
    return best


def _longest(values: Numbers, step: Numbers, one: Any) -> Any:
    """Return the largest step length, up to about 1, that keeps the values positive."""
    falling = step < 0
    return min([one * 2, *(-values[falling] / step[falling])])


def _solver(
    factor: Numbers | None, matrix: Numbers | None, ridge: Numbers | None, weight: Numbers
) -> Callable[[Numbers], Numbers]:
    """Solve ``(Q + diag(weight)) x = r``, by Woodbury's identity if that is the smaller system."""
    full = weight if ridge is None else weight + ridge
    if factor is not None and factor.shape[1] < len(factor):
        scaled = factor / full[:, None]
        inner = scaled.T @ factor
        inner[np.diag_indices(len(inner))] += 1
        inverse = _inverse(inner)

        def woodbury(r: Numbers) -> Numbers:
            first = r / full
            return first - scaled @ (inverse @ (factor.T @ first))

        return woodbury
    Q = factor @ factor.T if factor is not None else matrix.copy()  # type: ignore[union-attr]
    Q[np.diag_indices(len(Q))] += full
    inverse_q = _inverse(Q)
    return lambda r: inverse_q @ r


def _inverse(M: Numbers) -> Numbers:
    """Return the inverse of a symmetric positive definite matrix."""
    if M.dtype != object:
        with np.errstate(all="ignore"):
            result: Numbers = np.linalg.inv(M)
        return result
    size = len(M)
    work = np.concatenate((M, np.full((size, size), _ZERO, dtype=object)), axis=1)
    work[:, size:][np.diag_indices(size)] = _ONE
    for k in range(size):  # Gauss-Jordan elimination; no pivots are needed
        work[k] = work[k] / work[k, k]
        others = np.arange(size) != k
        work[others] -= np.outer(work[others, k], work[k])
    return work[:, size:]
