r"""The certificate's arithmetic: kernel values, sums of them and products with weights, with error bounds.

Nothing here is shared with the solvers, and nothing is compiled: it is NumPy and SciPy on the examples as
given. With unit roundoff u = 2^-53 and ``g_m = m u / (1 - m u)``, sums and their bounds are as follows.

*Sums.* ``s_i = sum_j c_j k_ij`` is computed over blocks of B terms, at most 512. The sums of the blocks are
added with their rounding errors kept (Knuth's two-sum). For any order of the terms of a block

    |fl(s_i) - s_i| <= g_(B+2) S_i + E_i,        S_i = sum_j |c_j k_ij|,

where E_i bounds the effect of the errors of the kernel values (Higham 2002, sections 3.1 and 4.3).

If multipliers are so large that this exceeds half of the violation, and there are not too many kernel values,
all rounding errors are kept, as for linear kernels below.

*Gaussian kernel.* ``|x - z|^2`` is computed from norms and dot products if that is accurate enough: its error
is then at most ``2 g_(d+3) (|x|^2 + |z|^2)`` for d columns, and 0 if all entries are integers with dot
products below 2^52. With two roundings of the exponential, and one of its argument t, where
``t exp(-t) < 1/2``,

    E_i <= S_i (2 gamma g_(d+3) max(|x|^2 + |z|^2) + 2 u) + u sum_j |c_j|.

For dense examples, the norms are those of centred columns. If the first term still exceeds 1e-10, distances
are computed from differences, column by column; each then has a relative error of ``g_(d+2)``, and with the
exponents ``t_ij``

    E_i <= g_(d+5) sum_j |c_j k_ij| t_ij + 2 u S_i.

As ``t exp(-t) <= 1/e``, the sum is at most ``sum_j |c_j| / e``; that is used where it is small enough.

*Polynomial kernel.* With ``b_ij = a x.z + c``, its error ``e_ij`` and degree p,

    E_i <= p sum_j |c_j| (|b_ij| + e_ij)^(p-1) e_ij,      e_ij = g_(d+p+3) (|a| |x_i| |z_j| + |c|).

*Linear kernel.* ``v = sum_j c_j x_j`` is summed in blocks as above, so ``|fl(v) - v| <= g_(B+2) |X|'|c|``
column by column, and the error of ``s_i = x_i . v`` is at most ``|x_i| . (g_(d+2) |v| + |fl(v) - v|)``. Where
that exceeds 1e-7, because multipliers are large and cancel, v is summed again with the rounding errors of all
products and sums kept (Ogita, Rump and Oishi 2005), unless there are more than 4,096 columns. The terms of a
block are added pairwise, and the blocks one after the other. With L the levels of this tree and the blocks
together, m the number of errors and S = |X|'|c|, to first order in u and without underflow,

    |fl(v) - v| <= 2 u |v| + g_m (L + 2) u S

Memory: blocks of 16 MB, or of 2,048 rows or 512 columns where these take more.

Cited above:

N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, second edition, SIAM 2002.
T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.storage.blocks import Blocks

Vector = npt.NDArray[np.float64]

UNIT = 2.0**-53
TINY = 2.0**-1022  # exceeds what underflow takes from a square
_COLUMNS = 512  # terms of a block, which is summed without tracking rounding errors
_BLOCK_BYTES = 16 * 2**20
_MOST_ROWS = _BLOCK_BYTES // (8 * _COLUMNS)
_WIDE = 4096  # above this many columns, sparse rows are always multiplied as sparse
_SPARSE_PRODUCTS = 250  # dense products in the time of a sparse one (measured: 100 to 400)
_GOOD_ENOUGH = 1e-10  # acceptable relative error of kernel values
_NEGLIGIBLE = 1e-10  # error of an output below which the cheaper of two bounds is used
_KNOWN = 1e-7  # error of an output of a linear kernel above which weights are summed again
_SPLIT = 2.0**27 + 1.0  # halves the digits of a double (Veltkamp)
_HOPELESS = 1e-6  # above this error, even very wide sparse examples are made dense for differences
_LEAST = 2.0**-1074  # exceeds what underflow takes from a product
_SMALLEST = 1e-300  # exceeds what underflow can change in a kernel value
_VANISHES = 1e3  # exponent of a kernel value that underflows to 0; larger ones may be infinite
_WHOLE = 2.0**26


def terms_a_value(X: Any) -> float:
    """Return how many products a kernel value of two rows takes here, at most."""
    rows, columns = map(int, X.shape)
    if _is_sparse(X) and columns > _WIDE:
        return int(X.nnz) / max(rows, 1)
    return float(columns)


class Sum(NamedTuple):
    """Values, and a bound on the error of each."""

    value: Vector
    error: Vector


def growth(terms: int) -> float:
    """Return ``g_m = m u / (1 - m u)``."""
    return terms * UNIT / (1.0 - terms * UNIT)


def exact_sum(values: Vector) -> float:
    """Return a correctly rounded sum; infinite or nan if it overflows."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):  # of finite terms, or of infinities of both signs
        return float(values.sum())


class Accumulator:
    """Elementwise sums of many arrays that keep the rounding errors of the additions (Knuth's two-sum)."""

    def __init__(self, size: int) -> None:
        self._high, self._low = np.zeros(size), np.zeros(size)

    def add(self, part: Vector, at: slice = slice(None)) -> None:
        """Add an array to the entries ``at``."""
        old = self._high[at]
        new = old + part
        back = new - old
        self._low[at] += (old - (new - back)) + (part - back)
        self._high[at] = new

    @property
    def total(self) -> Vector:
        """The sums."""
        return self._high + self._low


def row_blocks(X: Any, most: int) -> Iterator[tuple[slice, Any]]:
    """Yield parts of at most ``most`` rows in double precision, each with the place of its rows."""
    parts = zip(X.parts, X.firsts, strict=False) if isinstance(X, Blocks) else [(X, 0)]
    for part, begin in parts:
        for first in range(0, part.shape[0], most):
            rows = part[first : first + most].astype(np.float64, copy=False)
            yield slice(int(begin) + first, int(begin) + first + rows.shape[0]), rows


def weighted_sum(X: Any, c: Vector) -> Sum:
    """Return ``sum_j c_j x_j``, shape (d,)."""
    n, d = X.shape
    if getattr(X, "elsewhere", False):
        # Workers sum their own rows, so only an estimate from the order of the sums is available.
        value = X.transposed_product(c)
        return Sum(value, growth(n) * np.abs(value))
    total, error = Accumulator(d), np.zeros(d)
    for at, part in row_blocks(X, _COLUMNS):
        coefficients = c[at]
        if not coefficients.any():
            continue
        total.add(np.asarray(part.T @ coefficients).ravel())
        error += growth(part.shape[0] + 2) * np.asarray(abs(part).T @ np.abs(coefficients)).ravel()
    return Sum(total.total, error + n * _LEAST)


def weights_and_outputs(X: Any, c: Vector) -> tuple[Sum, Sum]:
    """Return ``v = sum_j c_j x_j``, shape (d,), and ``x_i . v``, shape (n,).

    Where v would leave outputs uncertain, it is summed with all rounding errors kept.
    """
    v = weighted_sum(X, c)
    found = outputs(X, v)
    if found.error.max(initial=0.0) > _KNOWN and not getattr(X, "elsewhere", False) and X.shape[1] <= _WIDE:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            again = _sum_with_errors(X, c)
        if np.isfinite(again.value).all() and np.isfinite(again.error).all():  # else halving has overflowed
            return again, outputs(X, again)
    return v, found


def _sum_with_errors(X: Any, c: Vector) -> Sum:
    """Return :func:`weighted_sum`, for which the errors of all products and sums are summed, too."""
    n, d = X.shape
    total, low, sizes, depth = Accumulator(d), np.zeros(d), np.zeros(d), _COLUMNS.bit_length() + 2
    for at, part in row_blocks(X, _COLUMNS):
        used = np.flatnonzero(c[at])
        if not used.size:
            continue
        rows = part[used].toarray() if _is_sparse(part) else part[used]
        terms, errors = _product(rows, c[at][used, None])
        sizes += np.abs(terms).sum(axis=0)
        high, off = _pairwise(terms, errors)
        total.add(high)
        low += off
        depth += 1
    high = total.total
    value = high + low
    rounding = growth(4 * n + depth) * UNIT * depth * sizes + n * _SMALLEST
    return Sum(value, 1.01 * (UNIT * (np.abs(high) + np.abs(value)) + rounding))


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return products and their rounding errors (Dekker's product)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _pairwise(terms: Any, errors: Any) -> tuple[Vector, Vector]:
    """Return the sums of terms over the first axis, added pairwise, and those of all rounding errors."""
    low = errors.sum(axis=0)
    while len(terms) > 1:
        half = len(terms) // 2
        a, b = terms[:half], terms[half : 2 * half]
        both = a + b
        back = both - a
        low += ((a - (both - back)) + (b - back)).sum(axis=0)
        terms = np.concatenate([both, terms[2 * half :]])
    return terms[0], low


def _halves(a: Any) -> tuple[Any, Any]:
    """Return two parts whose sum is ``a``, each of at most 26 binary digits."""
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def column_sizes(X: Any, c: Vector) -> Vector:
    """Return ``sum_j |c_j x_j|`` by column, shape (d,)."""
    sizes = np.zeros(X.shape[1])
    for at, part in row_blocks(X, _COLUMNS):
        sizes += np.asarray(abs(part).T @ np.abs(c[at])).ravel()
    return sizes


def outputs(X: Any, v: Sum) -> Sum:
    """Return ``x_i . v`` for all rows, shape (n,)."""
    n, d = X.shape
    wrong = growth(d + 2) * np.abs(v.value) + v.error
    if getattr(X, "elsewhere", False):
        value = np.asarray(X @ v.value).ravel()
        return Sum(value, growth(d + 2) * np.abs(value))
    value, error = np.empty(n), np.empty(n)
    rows = max(_COLUMNS, _BLOCK_BYTES // (8 * max(d, 1))) if not _is_sparse(X) else 1 << 16
    for at, part in row_blocks(X, rows):
        value[at] = np.asarray(part @ v.value).ravel()
        error[at] = np.asarray(abs(part) @ wrong).ravel()
    return Sum(value, error)


def kernel_sums(kernel: Kernel, A: Any, B: Any, c: Vector, exact: bool = False) -> Sum:
    """Return ``sum_j c_j k(a_i, b_j)`` for every row of A, shape (len(A),); zeros in c cost nothing.

    For a precomputed kernel, A holds the kernel values of its rows with all rows of B. ``exact``: whether the
    rounding errors of all products and sums are summed, too, which takes several times as long.
    """
    if kernel.name == "linear":
        return outputs(A, weighted_sum(B, c))
    if kernel.name == "precomputed":
        return _column_sums(A, c, 0.0, exact)
    total, error = Accumulator(A.shape[0]), np.zeros(A.shape[0])
    support = np.flatnonzero(c)
    metric = _Metric(kernel, A, B)
    for begin in range(0, support.size, _COLUMNS):
        members = support[begin : begin + _COLUMNS]
        coefficients, right = c[members], metric.ready(B[members])
        for at, a in row_blocks(A, metric.rows):
            values, relative, wrong = metric.block(metric.ready(a), right, coefficients)
            error[at] += wrong
            _add_block(total, error, at, values, coefficients, relative, exact)
    return Sum(total.total, error + _exponents(kernel) * float(np.abs(c).sum()))


class GaussianMatrix(NamedTuple):
    """Gaussian kernel values of all pairs of examples, shape (n, n), and what bounds their errors."""

    values: npt.NDArray[np.float64]
    relative: float  # bound on the relative error of a value, apart from its exponent
    direct: bool  # whether squared distances come from differences
    d: int  # features
    order: npt.NDArray[np.int64] | None = None  # row of `values` that belongs to each example; None: the same

    def permuted(self, order: npt.NDArray[np.int64]) -> GaussianMatrix:
        """Return the matrix of the same examples in another order; the values are not copied.

        Parameters
        ----------
        order
            Row of `values` that belongs to each example, shape (n,).

        Raises
        ------
        ValueError
            If it does not name every row once.
        """
        if not np.array_equal(np.sort(order), np.arange(len(self.values))):
            raise ValueError("order must name every row of the matrix once")
        return self._replace(order=order)


def gaussian_matrix(kernel: Kernel, X: Any) -> GaussianMatrix:
    """Return the kernel values of all pairs of rows for a Gaussian kernel, in 8 n^2 bytes."""
    metric = _Metric(kernel, X, X)
    return GaussianMatrix(_all_pairs(metric, X), metric.relative, metric.direct, metric.d)


def kernel_matrix(kernel: Kernel, X: Any) -> npt.NDArray[np.float64]:
    """Return ``k(x_i, x_j)`` for all pairs of rows, shape (n, n), in 8 n^2 bytes."""
    if kernel.name == "precomputed":
        return np.array(X)
    if kernel.name != "linear":
        return _all_pairs(_Metric(kernel, X, X), X)
    gram = np.empty((X.shape[0], X.shape[0]))
    for columns, b in row_blocks(X, _COLUMNS):
        for rows, a in row_blocks(X, _COLUMNS):
            product = a @ b.T
            gram[rows, columns] = product.toarray() if _is_sparse(product) else product
    return gram


def _all_pairs(metric: _Metric, X: Any) -> npt.NDArray[np.float64]:
    gram = np.empty((X.shape[0], X.shape[0]))
    for columns, b in row_blocks(X, _COLUMNS):
        right = metric.ready(b)
        for rows, a in row_blocks(X, metric.rows):
            if metric.direct and rows.start >= columns.stop:
                continue  # differences cost the more the more features there are; their squares are symmetric
            gram[rows, columns], _, _ = metric.block(metric.ready(a), right)
            if metric.direct:
                gram[columns, rows] = gram[rows, columns].T
    return gram


def matrix_sums(
    kernel: Kernel, X: Any, gram: npt.NDArray[np.float64] | GaussianMatrix, c: Vector, exact: bool = False
) -> Sum:
    """Return :func:`kernel_sums` of X with itself, from its :func:`kernel_matrix`."""
    if kernel.name != "gaussian":
        # The bounds of other kernels need more than the kernel values.
        return kernel_sums(kernel, X, X, c, exact)
    if not isinstance(gram, GaussianMatrix):
        metric = _Metric(kernel, X, X)
        gram = GaussianMatrix(gram, metric.relative, metric.direct, metric.d)
    if gram.order is not None:
        moved = np.empty_like(c)
        moved[gram.order] = c
        found = matrix_sums(kernel, X, gram._replace(order=None), moved, exact)
        return Sum(found.value[gram.order], found.error[gram.order])
    # Either triangle is within the bounds, and a gather of rows is several times as fast as one of columns.
    values = gram.values.T
    found = _column_sums(values, c, gram.relative, exact)
    error = found.error + _exponents(kernel) * float(np.abs(c).sum())
    if gram.direct:
        error = error + _distance_errors(values, c, gram.d)
    return Sum(found.value, error)


def _distance_errors(K: npt.NDArray[np.float64], c: Vector, d: int) -> Vector:
    """Bound the errors of ``K c`` that come from squared distances t summed over d features.

    A relative error e of t changes exp(-t) by e t exp(-t) = -e K log K, at most e / exp(1). The error of K
    itself changes that by no more than K's own rounding.
    """
    most = growth(d + 5) * (math.exp(-1.0) + 4.0 * UNIT) * float(np.abs(c).sum())
    if most <= _NEGLIGIBLE:
        return np.full(len(K), most)  # logarithms take longer than all else
    from scipy.special import xlogy  # imported here to keep `import svmrepro.solvers` light

    support = np.flatnonzero(c)
    total = np.zeros(len(K))
    for first in range(0, support.size, _COLUMNS):
        members = support[first : first + _COLUMNS]
        values = K[:, members]
        total += (4.0 * UNIT - xlogy(values, values)) @ np.abs(c[members])
    return growth(d + 5) * total


def _column_sums(K: npt.NDArray[np.float64], c: Vector, relative: float, exact: bool) -> Sum:
    """Return ``K c`` for given kernel values, whose relative error is known."""
    total, error = Accumulator(len(K)), np.zeros(len(K))
    support = np.flatnonzero(c)
    for first in range(0, support.size, _COLUMNS):
        members = support[first : first + _COLUMNS]
        _add_block(total, error, slice(None), K[:, members], c[members], relative, exact)
    return Sum(total.total, error)


def diagonal(kernel: Kernel, X: Any) -> Vector:
    """Return ``k(x_i, x_i)``, shape (n,), to a few units in the last place."""
    if kernel.name == "precomputed":
        return np.diagonal(X).copy()
    if kernel.name == "gaussian":
        return np.ones(X.shape[0])
    norms = squared_norms(X)
    if kernel.name == "linear":
        return norms
    if kernel.name == "polynomial":
        return (kernel.a * norms + kernel.c) ** kernel.degree
    raise NotImplementedError(kernel.name)


def squared_norms(X: Any) -> Vector:
    """Return ``x_i . x_i``, shape (n,); infinite for examples on a cluster, where they are unknown."""
    if getattr(X, "elsewhere", False):
        return np.full(X.shape[0], np.inf)
    norms = np.empty(X.shape[0])
    for at, part in row_blocks(X, _COLUMNS):
        squares = part.multiply(part).sum(axis=1) if sp.issparse(part) else np.einsum("ij,ij->i", part, part)
        norms[at] = np.asarray(squares).ravel()
    return norms


def _exponents(kernel: Kernel) -> float:
    """Return the absolute part of the error of a kernel value: ``t exp(-t) u < u / 2`` for a Gaussian."""
    return UNIT if kernel.name == "gaussian" else _SMALLEST


def _add_block(
    total: Accumulator, error: Vector, at: slice, K: Any, c: Vector, relative: float, exact: bool
) -> None:
    """Add ``K c`` to the sums, and the resulting errors to their bounds; K is overwritten."""
    rounding = growth(c.size + 2)
    if exact:
        high, low = _pairwise(*_product(K.T, c[:, None]))
        total.add(high, at)
        total.add(low, at)
        error[at] += 2.0 * UNIT * np.abs(high)
        depth = c.size.bit_length() + 2
        rounding = growth(4 * c.size + depth) * UNIT * depth
    else:
        total.add(K @ c, at)
    error[at] += (relative + rounding) * (np.abs(K, out=K) @ np.abs(c))


class _Rows(NamedTuple):
    """Examples ready for multiplication, and their squared norms."""

    X: Any
    norms: Vector


class _Metric:
    """Dot products or distances of two sets of examples, by the cheapest method that is accurate enough."""

    def __init__(self, kernel: Kernel, A: Any, B: Any) -> None:
        self.kernel, self.d = kernel, A.shape[1]
        self.shift: Vector | None = None
        self.direct = False  # whether squared distances come from differences
        self.relative = 2.0 * UNIT  # bound on the relative error of Gaussian values computed from norms
        self.sparse = _is_sparse(A) and (self.d > _WIDE or _few_products(A, B))
        self.rows = _MOST_ROWS if self.sparse else self._written_out()
        if kernel.name == "gaussian":
            self._choose(A, B)

    def _choose(self, A: Any, B: Any) -> None:
        """Choose how distances are computed."""
        if _whole(A) and (A is B or _whole(B)):
            return
        terms = self.d
        if _is_sparse(A):  # at most as many terms as a row has entries
            terms = min(terms, int(max(np.diff(X.indptr).max(initial=0) for X in (A, B))))
        factor = 2.0 * self.kernel.gamma * growth(terms + 3)
        found = factor * (squared_norms(A).max(initial=0.0) + squared_norms(B).max(initial=0.0))
        if found > _GOOD_ENOUGH and not _is_sparse(A):
            self.shift = B.mean(axis=0) if B.shape[0] else None
            if self.shift is not None:
                # Each centred value is rounded, too: by at most 2 UNIT (|a| + |b|)^2 in a squared distance.
                factor = 2.0 * self.kernel.gamma * growth(terms + 5)
                found = factor * (self._largest(A) + self._largest(B))
        self.direct = not found <= (_HOPELESS if self.sparse and self.d > _WIDE else _GOOD_ENOUGH)
        if self.direct:
            self.shift, self.sparse = None, False
            self.rows = self._written_out()
        else:
            self.relative += found

    def _written_out(self) -> int:
        """Return the number of examples that may be made dense at a time."""
        return int(min(_MOST_ROWS, max(16, _BLOCK_BYTES // (8 * max(self.d, 1)))))

    def _largest(self, X: Any) -> float:
        """Return the largest squared norm of centred examples."""
        norms = [squared_norms(part - self.shift).max() for _, part in row_blocks(X, 4 * _COLUMNS)]
        return float(max(norms, default=0.0))

    def ready(self, part: Any) -> _Rows:
        """Return rows in the form in which they are multiplied."""
        if self.sparse:
            return _Rows(part, squared_norms(part))
        X = part.toarray() if sp.issparse(part) else np.asarray(part, dtype=np.float64)
        X = X if self.shift is None else X - self.shift
        return _Rows(X, np.einsum("ij,ij->i", X, X))

    def block(self, a: _Rows, b: _Rows, c: Vector | None = None) -> tuple[Any, float, Any]:
        """Return kernel values of all pairs, a bound on their relative error, and on further errors of sums.

        The sums are those with coefficients c, and their errors are due to distances or dot products.
        """
        kernel, wrong = self.kernel, 0.0
        if self.direct:
            from scipy.spatial.distance import cdist  # imported here to keep `import svmrepro.solvers` light

            with np.errstate(over="ignore"):
                t = np.minimum(kernel.gamma * cdist(a.X, b.X, "sqeuclidean"), _VANISHES)
            if c is not None:
                wrong = growth(self.d + 5) * ((t * np.exp(-t)) @ np.abs(c))
            return np.exp(np.negative(t, out=t), out=t), 2.0 * UNIT, wrong
        K = (a.X @ b.X.T).toarray() if self.sparse else a.X @ b.X.T
        if kernel.name == "polynomial":
            K *= kernel.a
            K += kernel.c
            if c is not None:
                left, right = (np.sqrt(rows.norms + self.d * TINY) for rows in (a, b))
                off = np.multiply.outer(abs(kernel.a) * left, right) + abs(kernel.c)
                off *= growth(self.d + kernel.degree + 3)
                # An error of the base may exceed the base itself, where dot products cancel.
                wrong = kernel.degree * ((np.abs(K) + off) ** (kernel.degree - 1) * off) @ np.abs(c)
            return K**kernel.degree, growth(kernel.degree + 2), wrong
        if kernel.name != "gaussian":
            raise NotImplementedError(kernel.name)
        K *= -2.0
        K += a.norms[:, None]
        K += b.norms
        K *= -kernel.gamma
        np.minimum(K, 0.0, out=K)
        np.exp(K, out=K)
        return K, self.relative, wrong


def _is_sparse(X: Any) -> bool:
    """Tell whether examples are sparse."""
    return bool(X.sparse) if isinstance(X, Blocks) else bool(sp.issparse(X))


def _few_products(A: Any, B: Any) -> bool:
    """Tell whether the rows of two sparse matrices have so few columns in common that skipping zeros pays."""
    entries_a, entries_b = (np.bincount(X.indices, minlength=X.shape[1]).astype(float) for X in (A, B))
    return bool(_SPARSE_PRODUCTS * (entries_a @ entries_b) <= float(A.shape[0]) * B.shape[0] * A.shape[1])


def _whole(X: Any) -> bool:
    """Tell whether all entries are integers so small that dot products of rows are exact."""
    values = X.data if sp.issparse(X) else X
    if not values.size:
        return True
    largest = float(np.abs(values).max())
    return largest * largest * X.shape[1] < _WHOLE * _WHOLE and bool((values == np.rint(values)).all())


def kernel_product(kernel: Kernel, A: Any, B: Any, c: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``sum_j c_j k(a_i, b_j)``, shape (len(A),) or, for c of shape (len(B), m), (len(A), m).

    Vectors are summed as by :func:`kernel_sums`. B may have no rows, and only one of A and B may be sparse.
    """
    if not B.shape[0]:
        return np.zeros((A.shape[0], *c.shape[1:]))
    if _is_sparse(A) != _is_sparse(B):
        A, B = (X if _is_sparse(X) else sp.csr_array(X) for X in (A, B))
    if c.ndim == 1:
        return kernel_sums(kernel, A, B, c).value
    if kernel.name == "linear":
        return np.asarray(A @ (B.T @ c))
    metric, total = _Metric(kernel, A, B), np.zeros((A.shape[0], c.shape[1]))
    for members, b in row_blocks(B, _COLUMNS):
        right = metric.ready(b)
        for at, a in row_blocks(A, metric.rows):
            total[at] += metric.block(metric.ready(a), right)[0] @ c[members]
    return total
