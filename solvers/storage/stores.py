"""Examples in memory: dense rows, CSR, binary index lists, packed bits.

Every representation is the same named tuple of arrays, :class:`Store`, with unused fields left empty. All row
functions therefore have the same type, and a solver is compiled once for all of them (see
:mod:`svmrepro.solvers.storage.row_products`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

STORAGES = ("dense", "csr", "index", "bits")

#: Errors of the exponent of a Gaussian kernel that are accepted for any C, and for none.
_SMALL_ERROR, _LARGE_ERROR = 1e-12, 1e-8
#: Largest error times C for which the examples stay where they are, and distances are computed from norms.
CENTRES, _CANCELS = 1e-6, 1e-5
_LARGEST_KERNEL = 1e100  # products of two kernel values are still finite
_LARGEST_SQUARE = 1e300
_DENSE_BYTES = 1 << 30
_TEN = math.log(10.0)

# Integer-valued squared distances up to this are looked up instead of exponentiated.
TABLE_LIMIT = 1 << 16

_NORM_ROWS = 10_000


class Store(NamedTuple):
    """Training examples in one representation, with the data that the kernel needs.

    Attributes
    ----------
    dense : ndarray of float64, shape (n, d)
        Rows of the ``dense`` storage.
    indptr : ndarray of int64, shape (n + 1,)
        Row pointers of ``csr`` and ``index``.
    indices : ndarray of uint32
        Column indices of ``csr`` and ``index``. They are unsigned so that compiled loops need no test for
        negative indices. Rows of ``index`` are padded to groups of four with index d.
    values : ndarray of float64
        Nonzero values of ``csr``.
    bits : ndarray of uint64, shape (n, ceil(d / 64))
        Rows of the ``bits`` storage; feature ``k`` is bit ``k % 64`` of word ``k // 64``.
    norms : ndarray of float64, shape (n,)
        Squared norms ``x_i . x_i``; for a precomputed kernel its diagonal.
    table : ndarray of float64
        ``table[k] = exp(-gamma k)`` if squared distances are integers; else empty.
    parameters : ndarray of float64, shape (5,)
        gamma, degree, a, c of the kernel; the largest absolute value of a precomputed one, or 0.
    scratch, scratch2 : ndarray of float64, shape (d + 1,)
        Workspace of the row functions; all zero between calls.
    single : ndarray of float32, shape (n, d) or (1, non-zeros)
        Replaces ``dense`` or ``values`` for blocks in single precision.
    """

    dense: npt.NDArray[np.float64] = np.zeros((0, 0))
    indptr: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    indices: npt.NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
    values: npt.NDArray[np.float64] = np.zeros(0)
    bits: npt.NDArray[np.uint64] = np.zeros((0, 0), dtype=np.uint64)
    norms: npt.NDArray[np.float64] = np.zeros(0)
    table: npt.NDArray[np.float64] = np.zeros(0)
    parameters: npt.NDArray[np.float64] = np.zeros(5)
    scratch: npt.NDArray[np.float64] = np.zeros(0)
    scratch2: npt.NDArray[np.float64] = np.zeros(0)
    single: npt.NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)


def is_binary(X: Any) -> bool:
    """Tell whether every non-zero entry of ``X`` (ndarray or CSR) equals one."""
    values = X.data if sp.issparse(X) else X
    return bool(np.all((values == 0) | (values == 1)))


def choose_storage(X: Any, kernel_name: str) -> str:
    """Choose the representation for ``storage="auto"``.

    Binary data are stored as packed bits if a row has fewer words than ones and the kernel is not linear (a
    folded weight vector needs the positions of the ones), else as index lists. Other data are stored as CSR
    if at most a quarter is nonzero, else dense.
    """
    n, d = X.shape
    nonzeros = X.nnz if sp.issparse(X) else int(np.count_nonzero(X))
    if is_binary(X) and d > 0:
        words = (d + 63) // 64
        return "bits" if kernel_name != "linear" and words * n <= max(nonzeros, 8 * n) else "index"
    return "csr" if 4 * nonzeros <= n * d else "dense"


def check_range(X: Any, kernel: Any) -> None:
    """Refuse examples whose kernel values overflow, or are so large that sums of them could.

    For a precomputed kernel, X holds its values. The ValueError gives the order of magnitude that was found.
    """
    values = X.data if sp.issparse(X) else X
    largest = float(max(values.max(), -values.min())) if values.size else 0.0
    if kernel.name == "precomputed":
        digits = math.log10(largest) if largest else 0.0
    else:
        # In logarithms: the squares themselves may overflow.
        scale = largest or 1.0
        square = 0.0
        for first in range(0, X.shape[0], _NORM_ROWS):
            part = X[first : first + _NORM_ROWS]
            square = max(square, float(_squared_norms(part / scale if scale > 1e100 else part).max()))
        power = 2.0 * math.log10(scale) if scale > 1e100 else 0.0
        digits = power + math.log10(square) if square > 0.0 else -math.inf
        if kernel.name == "polynomial":
            a, c = (math.log(abs(value)) if value else -math.inf for value in (kernel.a, kernel.c))
            digits = kernel.degree * float(np.logaddexp(digits * _TEN + a, c)) / _TEN
    limit = math.log10(_LARGEST_SQUARE if kernel.name == "gaussian" else _LARGEST_KERNEL)
    if digits > limit:
        what = "squared norms" if kernel.name == "gaussian" else f"values of the {kernel.name} kernel"
        raise ValueError(
            f"{what} reach 1e{digits:+.0f}, beyond 1e{limit:+.0f} sums of them overflow: scale the examples"
        )


def _centred(X: Any) -> Any:
    """Return examples minus the column means; for sparse examples, only of columns without a zero."""
    if not sp.issparse(X):
        return X - X.mean(axis=0)
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    shift = np.where(full, np.asarray(X.mean(axis=0)).ravel(), 0.0)
    moved = X.copy()
    moved.data -= shift[moved.indices]
    return moved


class Distances(NamedTuple):
    """How a Gaussian kernel gets its squared distances.

    Attributes
    ----------
    X : ndarray or CSR array, shape (n, d)
        The examples, moved if they are far from the origin.
    differences : bool
        Whether norms and dot products would be too inaccurate, so that differences are needed.
    error : float
        Rounding error of the exponents, by the differences if these are needed.
    """

    X: Any
    differences: bool
    error: float

    @classmethod
    def of(cls, X: Any, gamma: float, largest_bound: float) -> Distances:
        """Choose for examples, by the parameter of the kernel and the largest bound of a multiplier."""
        rounding = gamma * 4.0 * float(np.finfo(float).eps)
        moved, error = X, rounding * float(_squared_norms(X).max())
        if error > largest_exponent_error(largest_bound, CENTRES):
            moved = _centred(X)
            error = rounding * float(_squared_norms(moved).max())
        if error > largest_exponent_error(largest_bound):
            return cls(X, True, 0.0)  # moved rows may have lost digits of their differences
        return cls(moved, False, error)


def largest_exponent_error(largest_bound: float, share: float = _CANCELS) -> float:
    """Return the largest error of exponents that is accepted, by default for distances from norms.

    A gradient adds up the errors of kernel values, times multipliers.
    """
    return max(_SMALL_ERROR, min(_LARGE_ERROR, share / largest_bound))


def written_out(X: Any) -> Any:
    """Return examples as dense rows; raise ValueError if these would take more than 1 GiB."""
    if not sp.issparse(X):
        return X
    if 8 * X.shape[0] * X.shape[1] > _DENSE_BYTES:
        raise ValueError(
            "Gaussian distances of these sparse examples cancel in double precision, and they are too many "
            "to be written out: scale the features, or take a smaller gamma or C"
        )
    return X.toarray()


def build_store(X: Any, storage: str, kernel: Any, differences: bool = False) -> Store:
    """Build the representation ``storage`` of X, shape (n, d): an array, or CSR with sorted indices.

    ``index`` and ``bits`` need binary data, else ValueError is raised; ``precomputed`` needs kernel values.
    The parameters of the kernel are stored with the data. ``differences``: whether the row functions compute
    squared distances from differences; norms are then 0.
    """
    n, d = X.shape
    binary = is_binary(X)
    if storage in ("index", "bits") and not binary:
        raise ValueError(f"storage {storage!r} needs binary data (every non-zero equal to 1)")
    dense, indptr, indices, values, bits = Store()[:5]
    if storage in ("dense", "precomputed"):
        dense = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    else:
        csr = X if sp.issparse(X) else sp.csr_array(X)
        if storage == "bits":
            bits = pack_bits(csr)
        else:
            indptr = csr.indptr.astype(np.int64)
            same = csr.indices.dtype == np.int32 and csr.indices.flags.c_contiguous
            indices = csr.indices.view(np.uint32) if same else csr.indices.astype(np.uint32)
            if storage == "csr":
                values = np.ascontiguousarray(csr.data, dtype=np.float64)
            else:
                indptr, indices = _padded(indptr, indices, d)
    if storage == "precomputed":
        norms = np.diagonal(dense).copy()
    else:
        norms = np.zeros(n) if differences else _squared_norms(X)
    table = np.zeros(0)
    if kernel.name == "gaussian" and binary and not differences and n and 2 * norms.max() < TABLE_LIMIT:
        table = np.exp(-kernel.gamma * np.arange(2 * int(norms.max()) + 1))
    # Not by np.abs: the matrix may fill half of the memory.
    largest = max(dense.max(), -dense.min()) if storage == "precomputed" else 0.0
    parameters = np.array([kernel.gamma, kernel.degree, kernel.a, kernel.c, largest], dtype=np.float64)
    return Store(
        dense, indptr, indices, values, bits, norms, table, parameters, np.zeros(d + 1), np.zeros(d + 1)
    )


def pack_bits(csr: Any) -> npt.NDArray[np.uint64]:
    """Pack a binary CSR matrix (n, d) into words, shape (n, ceil(d / 64)), at least one word per row."""
    n, d = csr.shape
    words = max((d + 63) // 64, 1)
    bits = np.zeros((n, words), dtype=np.uint64)
    rows = np.repeat(np.arange(n), np.diff(csr.indptr))
    columns = csr.indices.astype(np.uint64)
    ones = (csr.data != 0).astype(np.uint64)
    np.bitwise_or.at(bits, (rows, columns >> np.uint64(6)), ones << (columns & np.uint64(63)))
    return bits


def _padded(
    indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.uint32], d: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Pad every row to a multiple of four indices with the index d, where every weight is 0."""
    lengths = np.diff(indptr)
    starts = np.concatenate(([0], np.cumsum((lengths + 3) // 4 * 4)))
    padded = np.full(starts[-1], d, dtype=np.uint32)
    rows = np.repeat(starts[:-1] - indptr[:-1], lengths)
    padded[np.arange(indices.size) + rows] = indices
    return starts.astype(np.int64), padded


def _squared_norms(X: Any) -> npt.NDArray[np.float64]:
    """Return ``x_i . x_i``, shape (n,)."""
    if sp.issparse(X):
        norms = np.zeros(X.shape[0])
        for first in range(0, X.shape[0], _NORM_ROWS):  # squaring all rows at once would copy X
            part = X[first : first + _NORM_ROWS]
            norms[first : first + _NORM_ROWS] = np.asarray(part.multiply(part).sum(axis=1)).ravel()
        return norms
    return np.asarray(np.einsum("ij,ij->i", X, X))
