"""A training problem: examples, labels, bound C, kernel, with or without a bias."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from svmrepro.solvers.kernel import Kernel, is_number, shown
from svmrepro.solvers.storage.blocks import Blocks
from svmrepro.solvers.storage.stores import (
    CENTRES,
    STORAGES,
    Distances,
    Store,
    build_store,
    check_range,
    choose_storage,
    is_binary,
    largest_exponent_error,
    written_out,
)

_MOST_COLUMNS = 2**32 - 2  # the next number is the padding of index lists
_CHECKED_ROWS = 256
#: Layouts that do not depend on C; no run rearranges them.
_SHARED = ("columns in use", "levels", "panel", "plain panel", "single rows")
_SYMMETRIC = 1e-8  # largest relative difference between k(x, z) and k(z, x), ...
_ROUNDING = 1e-12  # ... but for this, relative to sqrt(k(x, x) k(z, z))


class Problem:
    """A training problem; for most solvers the dual problem (P1) of one training set.

    ``max sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j)`` subject to
    ``0 <= a_i <= C`` and, with a bias, ``sum_i y_i a_i = 0`` (Platt 1998, eq. 11).

    Parameters
    ----------
    X : array_like, scipy sparse or Blocks, shape (n, d)
        Examples, one per row; finite. For ``Kernel.precomputed()`` the kernel values, shape (n, n).
        :class:`~svmrepro.solvers.Blocks` are for solvers that read row by row.
    y : array_like, shape (n,)
        Labels -1 and +1, both present. For ordinal solvers, ranks: finite numbers with at least two
        different values (a higher rank should score higher).
    C : float or array_like, shape (n,)
        Upper bound on the multipliers, positive: one for all, or one per example (the weight of a class or
        an example times C). Joachims' C is ``n C``, the weight of the mean loss of an example or, for ordinal
        solvers, of a pair.
    kernel : Kernel
        The kernel; linear by default.
    bias : bool
        Whether the decision function has a bias. Without one, there is no equality constraint.
    storage : {"auto", "dense", "csr", "index", "bits"}
        How the solvers store the examples; for ``Kernel.precomputed()`` "auto" or "precomputed".

    Raises
    ------
    ValueError
        In one line, naming the argument and what is wrong with it.

    Attributes
    ----------
    C : float or ndarray of float64, shape (n,)
        As given.
    bounds : ndarray of float64, shape (n,)
        The bound of each multiplier.
    total : float
        Sum of the bounds.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        C: Any = 1.0,
        kernel: Kernel | None = None,
        bias: bool = True,
        storage: str = "auto",
    ) -> None:
        self.X = _examples(X)
        self.y = _labels(y, self.X.shape[0])
        self.binary = bool((np.abs(self.y) == 1).all())
        self._bound(C)
        self.kernel = Kernel.linear() if kernel is None else kernel
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a Kernel, got {type(self.kernel).__name__}")
        self.bias = bool(bias)
        precomputed = self.kernel.name == "precomputed"
        if storage not in ("auto", *STORAGES) and not (precomputed and storage == "precomputed"):
            raise ValueError(f"storage {storage!r} unknown; known: auto, {', '.join(STORAGES)}")
        self.blocks = isinstance(self.X, Blocks)
        if isinstance(self.X, Blocks):
            own = "csr" if self.X.sparse else "dense"
            if storage not in ("auto", own):
                raise ValueError(f"storage {storage!r} of blocks that are {own}: they are taken as they are")
            storage = own
        if precomputed:
            self.X = _kernel_values(self.X)
            if storage not in ("auto", "precomputed"):
                raise ValueError(
                    f"storage {storage!r} of a precomputed kernel: its values are taken as they are"
                )
            storage = "precomputed"
        self.storage = choose_storage(self.X, self.kernel.name) if storage == "auto" else storage
        #: Whether compiled rows compute squared distances from differences, see ``Distances``.
        self.differences = False
        #: Rounding error of the exponents of a Gaussian kernel; 0 until the representation is built.
        self.exponent_error = 0.0
        self._store: Store | None = None
        self._layouts: dict[str, Any] = {}

    def _bound(self, C: Any) -> None:
        """Set the bounds of the multipliers."""
        self.C, self.bounds = _bounds(C, self.n)
        # A sum of equal bounds would be rounded in another way than their number times one of them.
        first = float(self.bounds[0])
        self.total = first * self.n if (self.bounds == first).all() else float(self.bounds.sum())

    def with_C(self, C: Any) -> Problem:
        """Return the problem with another C; it shares the examples and what is built from them.

        Parameters
        ----------
        C : float or array_like, shape (n,)
            Upper bound on the multipliers, as for the problem itself.

        Returns
        -------
        Problem
            A new one; this one is not modified.
        """
        other = copy.copy(self)
        other._bound(C)
        if self.exponent_error > largest_exponent_error(float(other.bounds.max()), CENTRES):
            other._store, other._layouts, other.exponent_error = None, {}, 0.0
        else:
            other._layouts = {name: self._layouts[name] for name in _SHARED if name in self._layouts}
        return other

    def with_kernel_values(self, values: npt.NDArray[np.float64]) -> Problem:
        """Return the problem with a precomputed kernel.

        Parameters
        ----------
        values : ndarray of float64, shape (n, n)
            Kernel values of all pairs of examples, in C order. They are neither copied nor checked.

        Returns
        -------
        Problem
            A new one; this one is not modified.
        """
        other = copy.copy(self)
        other.X, other.kernel, other.storage = values, Kernel.precomputed(), "precomputed"
        other.differences, other.exponent_error = False, 0.0
        other._store, other._layouts = None, {}
        return other

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def prepare(self) -> Store:
        """Build the representation that compiled code reads.

        Returns
        -------
        Store
            Built at the first call; later calls return the same one. For blocks, it has a single row.

        Raises
        ------
        ValueError
            If the data do not fit the requested storage, or kernel values overflow.
        """
        if self._store is None:
            X = next(iter(self.X.parts), np.zeros((1, self.d)))[:1].astype(float) if self.blocks else self.X
            check_range(X, self.kernel)
            if self.kernel.name == "gaussian" and not is_binary(X):
                distances = Distances.of(X, self.kernel.gamma, float(self.bounds.max()))
                X, self.differences, self.exponent_error = distances
                if self.differences:
                    X, self.storage = written_out(X), "dense"
            self._store = build_store(X, self.storage, self.kernel, self.differences)
        return self._store

    def layout(self, name: str, build: Callable[[Problem], Any]) -> Any:
        """Return another layout of the examples, for a family of solvers.

        Parameters
        ----------
        name : str
            Name of the layout.
        build : callable
            Makes the layout from this problem, at the first call with this name.

        Returns
        -------
        object
            What ``build`` returned then.
        """
        if name not in self._layouts:
            self._layouts[name] = build(self)
        return self._layouts[name]

    def __copy__(self) -> Problem:  # with what is built, unlike a pickled one
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        # Layouts may hold pointers; all is quickly built again.
        return {**self.__dict__, "_store": None, "_layouts": {}, "exponent_error": 0.0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # joblib maps large arrays into memory, read-only: copy them.
        self.X, self.y = _examples(self.X), _labels(self.y, self.n)
        self._bound(self.C)

    def __repr__(self) -> str:
        C = f"{self.C:g}" if isinstance(self.C, float) else f"{self.bounds.min():g}..{self.bounds.max():g}"
        return (
            f"Problem(n={self.n}, d={self.d}, C={C}, kernel={self.kernel}, "
            f"bias={self.bias}, storage={self.storage!r})"
        )


def _examples(X: Any) -> Any:
    """Return X, checked, as a C-ordered float64 ndarray or a canonical CSR array; blocks are unchanged."""
    if isinstance(X, Blocks):
        return X
    if sp.issparse(X):
        if np.iscomplexobj(X):
            raise ValueError("X must be real")
        csr = sp.csr_array(X, dtype=np.float64)
        try:
            csr.check_format()  # compiled code uses the columns unchecked
        except ValueError as error:
            raise ValueError(f"X is not a valid sparse array: {error}") from None
        stored_zeros = csr.nnz > 0 and not csr.data.all()  # binary storage would take them for ones
        fixed = not all(part.flags.writeable for part in (csr.data, csr.indices, csr.indptr))
        if fixed or stored_zeros or not (csr.has_sorted_indices and csr.has_canonical_format):
            csr = csr.copy()  # leave the caller's arrays unchanged
            csr.sum_duplicates()
            csr.eliminate_zeros()
        X, values = csr, csr.data
    else:
        X = values = _numbers("X", X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must have shape (n, d) with n >= 1, got {X.shape}")
    if X.shape[1] > _MOST_COLUMNS:
        raise ValueError(f"X has {X.shape[1]} columns; at most {_MOST_COLUMNS} are numbered in 32 bits")
    if not np.isfinite(values).all():
        raise ValueError("X holds a value that is not finite")
    return X


def _bounds(C: Any, n: int) -> tuple[float | npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return C as a float or an array, and the bound of each example; both checked."""
    if isinstance(C, numbers.Real):
        if not is_number(C) or C <= 0:
            raise ValueError(f"C must be a positive finite number, got {C!r}")
        return float(C), np.full(n, float(C))
    if not isinstance(C, np.ndarray | list | tuple):
        raise ValueError(f"C must be a positive finite number or an array of them, got {shown(C)}")
    bounds = _numbers("C", C)
    if bounds.shape != (n,):
        raise ValueError(f"C must be a number or have shape ({n},), got {bounds.shape}")
    wrong = np.flatnonzero(~(np.isfinite(bounds) & (bounds > 0)))
    if wrong.size:
        raise ValueError(f"C must hold positive finite numbers only, C[{wrong[0]}] = {bounds[wrong[0]]:g}")
    return bounds.copy(), bounds.copy()


def _kernel_values(X: Any) -> npt.NDArray[np.float64]:
    """Return the values of a precomputed kernel, checked to be square and symmetric but for rounding.

    Rounding is removed, since a solver may read rows where its judge reads columns.
    """
    if isinstance(X, Blocks):
        raise ValueError("a precomputed kernel needs its values in one piece, not in blocks")
    values = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
    if values.shape[0] != values.shape[1]:
        raise ValueError(f"a precomputed kernel must have shape (n, n), got {values.shape}")
    exact = True
    lengths = np.sqrt(np.abs(np.diagonal(values)))
    for first in range(0, len(values), _CHECKED_ROWS):
        part, other = values[first : first + _CHECKED_ROWS], values[:, first : first + _CHECKED_ROWS].T
        # A value that is 0 but for rounding may differ by all of itself.
        rounding = _ROUNDING * np.outer(lengths[first : first + _CHECKED_ROWS], lengths)
        wrong = np.abs(part - other) > _SYMMETRIC * np.maximum(np.abs(part), np.abs(other)) + rounding
        if wrong.any():
            i, j = np.argwhere(wrong)[0] + (first, 0)
            raise ValueError(
                f"a precomputed kernel must be symmetric: X[{i}, {j}] = {values[i, j]:g}, "
                f"X[{j}, {i}] = {values[j, i]:g}"
            )
        exact = exact and np.array_equal(part, other)
    return values if exact else 0.5 * values + 0.5 * values.T


def _labels(y: Any, n: int) -> npt.NDArray[np.float64]:
    """Return labels as finite float64 with at least two different values."""
    labels = _numbers("y", y, "labels -1 and +1, or ranks")
    if labels.shape != (n,):
        raise ValueError(f"y must have shape ({n},), got {labels.shape}")
    wrong = np.flatnonzero(~np.isfinite(labels))
    if wrong.size:
        raise ValueError(f"y must hold finite numbers only, y[{wrong[0]}] = {labels[wrong[0]]:g}")
    if (labels == labels[0]).all():
        raise ValueError(f"y holds one class only ({labels[0]:+g})")
    return labels


def _numbers(name: str, given: Any, wanted: str = "") -> npt.NDArray[np.float64]:
    """Return an array in C order and double precision, the given one if possible; or raise naming it.

    A read-only array, such as a memory map, is copied: it has another type in compiled code.
    """
    if np.iscomplexobj(given):
        raise ValueError(f"{name} must be real")
    if np.ma.isMaskedArray(given):
        raise ValueError(f"{name} must not be masked")
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numeric: {wanted or error}") from None
    return array if array.flags.writeable else array.copy()
