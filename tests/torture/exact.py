"""An independent judgement of solutions, in decimal arithmetic of sixty digits.

Nothing here comes from ``svmrepro.solvers``: neither kernels nor conditions nor objectives. A double is an
exact decimal number, and every sum below is exact up to its sixtieth digit; kernel values come from direct
differences and products of the examples. With ``g_i = sum_j y_j a_j k(x_j, x_i)`` and ``f_i = g_i + b``,

    primal   P = 1/2 sum_i y_i a_i g_i + sum_i C_i max(0, 1 - y_i f_i)
    dual     D = sum_i a_i - 1/2 sum_i y_i a_i g_i

:meth:`Exact.optimum` encloses the optimum of a convex problem. It follows the central path of the dual,

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
    primal, dual : float
        Objectives.
    """

    violation: float
    pair_gap: float
    equality: float
    primal: float
    dual: float


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
    """A problem, without or with a bias.

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
    """

    @precise
    def __init__(self, X: Any, y: Any, C: Any, kernel: Any, bias: bool) -> None:
        self.kernel, self.bias = kernel, bias
        self.n, self.d = X.shape
        self.floats = np.asarray(y, dtype=np.float64)
        self.y = decimals(y)
        self.bounds_given = np.broadcast_to(np.asarray(C, dtype=np.float64), (self.n,)).copy()
        self.bounds = decimals(self.bounds_given)
        self.total = sum(self.bounds, _ZERO)
        self.rows, self.of = _distinct_rows(X)
        self.linear = kernel.name == "linear"
        self.used = sorted({k for row in self.rows for k, _ in row})
        self._gram: list[list[Decimal]] | None = None
        self._optima: dict[str, Optimum] = {}

    # Kernel values

    def gram(self) -> list[list[Decimal]]:
        """Return the kernel values of distinct examples."""
        if self._gram is None:
            if self.kernel.name == "precomputed":
                firsts = np.unique(self.of, return_index=True)[1]
                values = [dict(row) for row in self.rows]
                self._gram = [[row.get(int(j), _ZERO) for j in firsts] for row in values]
            else:
                self._gram = _kernel_values(self.kernel, self.rows)
        return self._gram

    def folded(self, coefficients: Numbers) -> Numbers:
        """Return ``sum_j coefficients_j x_j``, shape (d,)."""
        v = np.full(self.d, _ZERO, dtype=object)
        for coefficient, row in zip(coefficients, self.of, strict=True):
            if coefficient:
                for k, value in self.rows[row]:
                    v[k] += coefficient * value
        return v

    def outputs(self, v: Numbers) -> Numbers:
        """Return ``x_i . v``, shape (n,)."""
        values = [sum((value * v[k] for k, value in row), _ZERO) for row in self.rows]
        return np.array(values, dtype=object)[self.of]

    def products(self, coefficients: Numbers) -> Numbers:
        """Return ``sum_j coefficients_j k(x_j, x_i)``, shape (n,)."""
        if self.linear:
            return self.outputs(self.folded(coefficients))
        sums = [_ZERO] * len(self.rows)
        for coefficient, row in zip(coefficients, self.of, strict=True):
            if coefficient:
                sums[row] += coefficient
        used = [(j, value) for j, value in enumerate(sums) if value]
        values = [sum((row[j] * value for j, value in used), _ZERO) for row in self.gram()]
        return np.array(values, dtype=object)[self.of]

    # Multipliers

    @precise
    def conditions(self, alpha: Any, bias: float, loss: str = HINGE, weights: Any = None) -> Conditions:
        """Evaluate multipliers in their box; with ``weights``, the outputs are those of the weights.

        Parameters
        ----------
        alpha : array_like, shape (n,)
            Multipliers.
        bias : float
            Constant added to the outputs.
        loss : {"hinge", "squared hinge"}
            Loss of the problem.
        weights : array_like, shape (d,), optional
            Weights whose outputs replace those of the multipliers.
        """
        a = decimals(alpha)
        g = self.products(self.y * a) if weights is None else self.outputs(decimals(weights))
        squared = loss == SQUARED
        target = 1 - a / self.bounds if squared else np.full(self.n, _ONE, dtype=object)
        short = target - self.y * (g + +Decimal(float(bias)))
        below = np.array([squared or one < top for one, top in zip(a, self.bounds, strict=True)])
        above = np.array([one > 0 for one in a])
        worst = max([_ZERO, *short[below], *(-short[above])])
        quadratic = (self.y * a) @ g
        signed = self.y @ a if self.bias else _ZERO
        share = abs(signed) / max(sum(a, _ZERO), Decimal("1e-999")) if signed else _ZERO
        if squared:
            slack = np.maximum(1 - self.y * (g + +Decimal(float(bias))), _ZERO)
            primal = _HALF * (quadratic + self.bounds @ (slack * slack))
            dual = sum(a, _ZERO) - _HALF * (quadratic + (a * a) @ (1 / self.bounds))
        else:
            slack = np.maximum(short, _ZERO)
            primal = _HALF * quadratic + self.bounds @ slack
            dual = sum(a, _ZERO) - _HALF * quadratic
        pair_gap = 2 * worst
        if self.bias:
            G, positive = self.y - g, self.floats > 0
            up, down = np.where(positive, below, above), np.where(positive, above, below)
            pair_gap = max(_ZERO, max(G[up]) - min(G[down])) if up.any() and down.any() else _ZERO
        return Conditions(float(worst), float(pair_gap), float(share), float(primal), float(dual))

    @precise
    def weights_off(self, weights: Any, coefficients: Any) -> float:
        """Return ``|w - v| max |x_i|`` with ``v = sum coefficients_j x_j``.

        This bounds the difference between outputs of w and v at points no farther from the origin than an
        example.
        """
        off = decimals(weights) - self.folded(decimals(coefficients))
        return float((off @ off).sqrt() * self.radius())

    def radius(self) -> Decimal:
        """Return the largest norm of an example in feature space (its analogue for an indefinite kernel)."""
        if self.linear:
            return max(sum((value * value for _, value in row), _ZERO) for row in self.rows).sqrt()
        return max(abs(row[i]) for i, row in enumerate(self.gram())).sqrt()

    @precise
    def rounding(self, alpha: Any) -> float:
        """Return an upper bound on the roundoff of an output, which is a sum of kernel values."""
        return float(sum(decimals(alpha), _ZERO) * self.radius() ** 2) * 1.1e-16

    # Weights

    @precise
    def primal(self, weights: Any, bias: float = 0.0, loss: str = HINGE) -> Decimal:
        """Return the primal objective of weights of a linear problem."""
        w = decimals(weights)
        f = self.outputs(w) + +Decimal(float(bias))
        return _HALF * (w @ w) + self.risk(f, loss)

    def risk(self, f: Numbers, loss: str) -> Decimal:
        """Return the total loss of outputs."""
        if loss == PAIRS:
            higher, lower = self.pairs()
            short = np.maximum(1 - f[higher] + f[lower], _ZERO)
            return self.pair_bound() * sum(short, _ZERO)
        slack = np.maximum(1 - self.y * f, _ZERO)
        if loss == SQUARED:
            return _HALF * (self.bounds @ (slack * slack))
        total: Decimal = self.bounds @ slack
        return total

    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return i and j of all pairs with y_i > y_j, ordered by i, then j."""
        higher, lower = np.nonzero(self.floats[:, None] > self.floats[None, :])
        return higher, lower

    def pair_bound(self) -> Decimal:
        """Return the bound of a pair's multiplier, n C / m for m pairs."""
        return self.total / self.pairs()[0].size

    @precise
    def pair_dual(self, alpha: Any) -> Decimal:
        """Return the dual objective of pair multipliers."""
        a = decimals(alpha)
        v = self.folded(self.pair_coefficients(a))
        return sum(a, _ZERO) - _HALF * (v @ v)

    def pair_coefficients(self, a: Numbers) -> Numbers:
        """Return the coefficient of each example in ``sum a_ij (x_i - x_j)``."""
        coefficients = np.full(self.n, _ZERO, dtype=object)
        for value, i, j in zip(a, *self.pairs(), strict=True):
            coefficients[i] += value
            coefficients[j] -= value
        return coefficients

    # The optimum

    def optimum(self, loss: str = HINGE) -> Optimum:
        """Return an enclosure of the optimal objective of a convex problem; computed once."""
        if loss not in self._optima:
            found = self._enclose(loss, np.float64)
            if not found.narrow:
                refined = self._enclose(loss, object)
                lower = max((found, refined), key=lambda one: one.lower)
                upper = min(found.upper, refined.upper)
                found = Optimum(lower.lower, upper, lower.multipliers, lower.bias)
            self._optima[loss] = found
        return self._optima[loss]

    def _enclose(self, loss: str, kind: Any) -> Optimum:
        """Return bounds from points on the central path, computed in the given arithmetic."""
        count = self.pairs()[0].size if loss == PAIRS else self.n
        unknowns = min(count, len(self.used)) if self.linear else count
        if unknowns > (_SMALL if kind is object else _LARGE):
            a, bias = np.full(count, _ZERO, dtype=object), _ZERO
        else:
            with localcontext(_context(PATH_DIGITS)), np.errstate(all="ignore"):
                a, bias = self._path(loss, kind)
        with localcontext(_context(DIGITS)):
            return self._bounds_at(a, bias, loss)

    def _path(self, loss: str, kind: Any) -> tuple[Numbers, Decimal]:
        top = self.bounds
        if loss == PAIRS:
            higher, lower = self.pairs()
            top = np.full(higher.size, self.pair_bound(), dtype=object)
        y = self.y if self.bias else None
        matrix, ridge = None, None
        if self.linear:
            factor = np.full((self.n, max(len(self.used), 1)), _ZERO, dtype=object)
            place = {k: position for position, k in enumerate(self.used)}
            for i, row in enumerate(self.of):
                for k, value in self.rows[row]:
                    factor[i, place[k]] = value
            factor = factor[higher] - factor[lower] if loss == PAIRS else self.y[:, None] * factor
        else:
            K = np.array(self.gram(), dtype=object)[np.ix_(self.of, self.of)]
            matrix, factor = self.y[:, None] * K * self.y[None, :], None
        if loss == SQUARED:
            ridge, top = 1 / self.bounds, None
        if kind is not object:
            cast = [
                None if one is None else one.astype(np.float64) for one in (factor, matrix, ridge, top, y)
            ]
            factor, matrix, ridge, top, y = cast
        a, bias = central_path(factor, matrix, ridge, top, y)
        if kind is not object:
            a, bias = decimals(a), Decimal(float(bias))
        return np.maximum(a, _ZERO), bias

    def _bounds_at(self, a: Numbers, bias: Decimal, loss: str) -> Optimum:
        top = np.full(a.size, self.pair_bound(), dtype=object) if loss == PAIRS else self.bounds
        a = np.array([+one for one in a], dtype=object)
        if loss != SQUARED:
            a = np.minimum(a, top)
        coefficients = self.pair_coefficients(a) if loss == PAIRS else self.y * a
        g = self.products(coefficients)
        quadratic = coefficients @ g
        lower = sum(a, _ZERO) - _HALF * quadratic
        if loss == SQUARED:
            lower -= _HALF * ((a * a) @ (1 / self.bounds))
        if self.bias:
            lower -= abs(bias * (self.y @ a))
        upper = _HALF * quadratic + self.risk(g + bias, loss)
        return Optimum(lower, upper, a, bias)


def _distinct_rows(X: Any) -> tuple[list[list[tuple[int, Decimal]]], npt.NDArray[np.int64]]:
    """Return the distinct examples as (column, value) pairs of non-zeros, and each example's index."""
    dense = None if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    rows: list[list[tuple[int, Decimal]]] = []
    numbers: dict[tuple[Any, ...], int] = {}
    of = np.empty(X.shape[0], dtype=np.int64)
    csr = sp.csr_array(X) if dense is None else None
    for i in range(X.shape[0]):
        if dense is not None:
            columns = np.flatnonzero(dense[i])
            values = dense[i, columns]
        else:
            assert csr is not None
            part = slice(csr.indptr[i], csr.indptr[i + 1])
            columns, values = csr.indices[part], csr.data[part]
        items = sorted(zip(columns.tolist(), values.tolist(), strict=True))
        key = tuple(items)
        if key not in numbers:
            numbers[key] = len(rows)
            rows.append([(k, +Decimal(value)) for k, value in items])
        of[i] = numbers[key]
    return rows, of


@precise
def _kernel_values(kernel: Any, rows: list[list[tuple[int, Decimal]]]) -> list[list[Decimal]]:
    """Return ``k`` for all pairs of rows."""
    count = len(rows)
    values = [[_ZERO] * count for _ in range(count)]
    gamma, a, c = (+Decimal(float(one)) for one in (kernel.gamma, kernel.a, kernel.c))
    maps = [dict(row) for row in rows]
    for i in range(count):
        for j in range(i + 1):
            one, other = maps[i], maps[j]
            if kernel.name == "gaussian":
                square = sum(((value - other.get(k, _ZERO)) ** 2 for k, value in one.items()), _ZERO)
                square += sum((value * value for k, value in other.items() if k not in one), _ZERO)
                value = (-gamma * square).exp()
            else:
                value = sum((x * other[k] for k, x in one.items() if k in other), _ZERO)
                if kernel.name == "polynomial":
                    value = (a * value + c) ** kernel.degree if kernel.degree else _ONE
            values[i][j] = values[j][i] = value
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
    if y is not None and top is None:
        raise ValueError("an equality constraint without upper bounds is not needed here")
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
        length = _longest(a, step, one)
        length = min(length, _longest(z, z_step, one))
        if top is not None:
            length = min(length, _longest(room, -step, one), _longest(u, u_step, one))
        length = min(one, length * 99 / 100)
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
