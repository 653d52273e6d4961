"""Kernel rows over the active set, from examples laid out feature by feature.

A *panel* stores the examples in the order of a solver's active set, each feature contiguous. A row of the
kernel matrix over the first m of them is then a few sums over contiguous memory, in vector registers; only
the features in which x_i is nonzero are read. Binary features are bits, and their dot products are counts of
at most 255, see :mod:`svmrepro.solvers.caches.bit_columns`. Data too sparse or too wide for this use the
functions of :mod:`svmrepro.solvers.storage.row_products`.

``block(store, panel, i, first, last, out)``
    ``out[k - first] = x_i . x_order[k]`` for first <= k < last (or already the kernel value, if ``shape`` is
    the identity); returns the entries read. ``i`` is the example's original index.
``shape(store, panel, i, first, last, out)``
    Turns dot products into kernel values, in place.

Both have a uniform type, so that a solver's loop is compiled once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import typeof, types
from numba.core.registry import cpu_target
from svmrepro.solvers.caches import bit_columns
from svmrepro.solvers.caches.bit_columns import STRETCH, add_common, exchange_bits, set_bits
from svmrepro.solvers.caches.example_levels import Levels, find_levels
from svmrepro.solvers.caches.example_tiles import (
    build_tiles,
    differences,
    exchange_in_tiles,
    products,
    products_by_parts,
)
from svmrepro.solvers.compilation.compiled import compiled, first_class
from svmrepro.solvers.compilation.processor import lanes
from svmrepro.solvers.compilation.records import with_copies
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.storage.kernel_transforms import raise_to_degree
from svmrepro.solvers.storage.row_products import STORE, VECTOR, dots_bits, dots_csr, dots_index
from svmrepro.solvers.vector_code.table_lookup import shuffle_table
from svmrepro.solvers.vector_code.vector_loops import exponentials

_BIT_LIMIT = 1 << 30  # bits in binary columns; above it, packed bits or index lists are used
_COLUMN_LIMIT = 1 << 30  # bytes of dense columns for sparse data
_SMALL_TABLE = 256
_CHEAP = 2  # dense features for each lane of a register; with fewer, rows are computed as fast as fetched
_DENSE_FROM = 0.05  # share of nonzeros above which sparse data are faster as dense columns
_BITS_FROM = 0.005  # share of ones, in nonempty columns, above which columns of bits pay off


class Panel(NamedTuple):
    """Examples in the order of the active set.

    Attributes
    ----------
    order : ndarray of uint32, shape (n,)
        The example at each position.
    norms : ndarray of float64, shape (n,)
        Squared norms by position.
    tiles : Tiles
        Nonempty features of dense data by position; or empty.
    bits : BitColumns
        Nonempty features of binary data by position; or empty.
    at : ndarray of int64, shape (n + 1,)
        Where an example's own entries begin in ``features`` and ``values``.
    features : ndarray of uint32
        The features in which an example is nonzero.
    values : ndarray of float64
        Their values; empty for binary data.
    distances : ndarray of uint16, shape (STRETCH,)
        Workspace.
    table : ndarray of float64, shape (256,)
        ``exp(-gamma k)`` as the product of the entries k % 16 and k // 16 * 16, for binary data whose squared
        distances are below 256; or empty. Products can be formed in registers.
    """

    order: Any
    norms: Any
    tiles: Any
    bits: Any
    at: Any
    features: Any
    values: Any
    distances: Any
    table: Any


def build_panel(problem: Problem, plain: bool = False) -> Panel:
    """Lay the examples of a problem out, in their original order.

    Parameters
    ----------
    problem : Problem
        Its storage decides the layout: ``dense`` gives dense columns, ``bits`` and ``index`` columns of bits,
        ``csr`` dense columns if at least a twentieth of the data is nonzero. Data that would take too much
        memory keep their storage, and so do binary data with few ones: moving their columns would cost more
        than reading them saves.
    plain : bool
        Whether binary data keep their storage in any case.
    """
    n, d = problem.n, problem.d
    store = problem.prepare()
    tiles, bits = build_tiles(np.zeros((0, 0)), together=False), bit_columns.allocate(0, 0, np.zeros(0))
    at, features, values = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)
    kind = form(problem, plain)
    if kind in ("bit columns", "columns", "levels"):
        if problem.storage == "csr":  # perhaps centred
            csr = sp.csr_array((store.values, store.indices.astype(np.int64), store.indptr), shape=(n, d))
        else:
            csr = sp.csr_array(store.dense if store.dense.size else problem.X)
        used = (
            np.flatnonzero(np.bincount(csr.indices, minlength=d)) if not problem.differences else np.arange(d)
        )
        number = np.zeros(d, dtype=np.uint32)
        number[used] = np.arange(used.size, dtype=np.uint32)
        at, features = csr.indptr.astype(np.int64), number[csr.indices]
        if kind == "bit columns":
            bits = bit_columns.allocate(n, used.size, store.norms)
            set_bits(bits, at, features, n)
        else:
            values = np.ascontiguousarray(csr.data, dtype=np.float64)
            X = store.dense if store.dense.size else csr.toarray()
            levels = problem.layout("levels", _levels) if kind == "levels" else None
            tiles = build_tiles(X if used.size == d else X[:, used], levels, not problem.differences)
    return Panel(
        order=np.arange(n, dtype=np.uint32),
        norms=store.norms.copy(),
        tiles=tiles,
        bits=bits,
        at=at,
        features=features,
        values=values,
        distances=np.zeros(STRETCH, dtype=np.uint16),
        table=_small_table(problem.kernel.gamma) if bytes_hold(problem) == "distances" else np.zeros(0),
    )


def _small_table(gamma: float) -> Any:
    """Return :class:`Panel`'s ``table``."""
    sixteen = np.arange(16)
    return np.outer(np.exp(-gamma * (16.0 * sixteen)), np.exp(-gamma * sixteen)).ravel()


def form(problem: Problem, plain: bool = False) -> str:
    """Return how a panel holds the examples: "bit columns", "levels", "columns" or the problem's storage.

    A ``plain`` panel of packed bits or index lists holds none: rows are dot products of one example after the
    other, as :mod:`svmrepro.solvers.storage.row_products` computes them.
    """
    store, n, d = problem.prepare(), problem.n, problem.d
    if plain and problem.storage in ("bits", "index"):
        return problem.storage
    if problem.storage in ("bits", "index"):
        entries = n * problem.layout("columns in use", _columns_in_use)
        pays = entries <= _BIT_LIMIT and store.norms.sum() >= _BITS_FROM * entries
        return "bit columns" if pays and store.norms.max() <= 255 else problem.storage
    if problem.storage == "precomputed":
        return "precomputed"
    if problem.storage == "csr":
        filled = store.values.size >= _DENSE_FROM * n * d
        if not (filled and 8 * n * d <= _COLUMN_LIMIT):
            return "csr"
    return "levels" if not problem.differences and problem.layout("levels", _levels) else "columns"


def _levels(problem: Problem) -> Levels | None:
    """Return the levels of an example's values, if they have some."""
    store = problem.prepare()
    return find_levels(store.values if problem.storage == "csr" else store.dense, problem.d)


def _columns_in_use(problem: Problem) -> int:
    """Return the number of nonempty columns."""
    X = problem.X
    return int(np.unique(X.indices).size if sp.issparse(X) else np.count_nonzero(X.any(axis=0)))


def cheap_rows(problem: Problem, plain: bool = False) -> bool:
    """Tell whether computing a kernel row takes about as long as reading it from memory."""
    kind = form(problem, plain)
    if kind == "columns":
        return problem.d < _CHEAP * lanes(cpu_target.target_context, 32)
    return kind in ("bit columns", "precomputed")


def bytes_hold(problem: Problem) -> str | None:
    """Return what bytes can hold instead of a kernel row: its entries, squared distances, or None."""
    if form(problem) != "bit columns":
        return None
    if problem.kernel.name == "linear":
        return "entries"
    return "distances" if 0 < problem.prepare().table.size <= _SMALL_TABLE else None


PANEL = typeof(
    Panel(
        np.zeros(1, dtype=np.uint32),
        np.zeros(1),
        build_tiles(np.zeros((1, 1))),
        bit_columns.allocate(1, 1, np.zeros(1)),
        np.zeros(2, dtype=np.int64),
        np.zeros(1, dtype=np.uint32),
        np.zeros(1),
        np.zeros(1, dtype=np.uint16),
        np.zeros(1),
    )
)
BLOCK = types.int64(STORE, PANEL, types.int64, types.int64, types.int64, VECTOR)
SHAPE = types.void(STORE, PANEL, types.int64, types.int64, types.int64, VECTOR)


@compiled(BLOCK, choice=True)
def block_columns(store, panel, i, first, last, out):
    """Compute dot products with tiles of examples."""
    return products(panel, i, first, last, out)


@compiled(BLOCK, choice=True)
def block_levels(store, panel, i, first, last, out):
    """Compute dot products with tiles of bytes."""
    return products_by_parts(panel, i, first, last, out)


@compiled(BLOCK, choice=True)
def block_differences(store, panel, i, first, last, out):
    """Write ``-|x_i - z|^2 / 2`` from the differences in each column; norms are 0."""
    return differences(panel, store.dense[i], first, last, out)


@compiled(BLOCK, choice=True)
def block_precomputed(store, panel, i, first, last, out):
    """Read kernel values."""
    row, order = store.dense[i], panel.order[first:last]
    for k in range(last - first):
        out[k] = row[order[k]]
    return last - first


@compiled()
def count_common(panel, i, first, last):
    """Count the ones that x_i shares with each example; return the entries read, and a view of the counts."""
    bits = panel.bits
    for k in range(bits.sums.size):
        bits.sums[k] = 0
    touched = add_common(bits, panel.at, panel.features, i, first, last, bits.sums, 0, 1)
    return touched, bits.sums[first & 63 : (first & 63) + last - first]


@compiled()
def distances_from(panel, i, first, last):
    """Compute ``|x_i - x_order[k]|^2`` modulo 256, at most ``STRETCH`` of them; return as `count_common`."""
    bits, at = panel.bits, panel.at
    begin, own = first & ~63, at[i + 1] - at[i]
    touched = add_common(bits, at, panel.features, i, first, last, bits.ones[begin:], own, -2)
    return touched, bits.sums[first & 63 : (first & 63) + last - first]


@compiled(BLOCK, choice=True)
def block_bit_columns(store, panel, i, first, last, out):
    """Compute dot products of binary data as counts of common ones."""
    touched, counts = count_common(panel, i, first, last)
    for k in range(last - first):
        out[k] = np.float64(counts[k])
    return touched


@compiled()
def look_up(table, distances, m, out):
    """Write ``table[distances[k]]`` to ``out[k]`` for k < m, with the panel's table of 256 entries."""
    for k in range(shuffle_table(table, distances, m, out), m):
        out[k] = table[distances[k]]


@compiled()
def values_from_distances(panel, i, first, last, out):
    """Look up Gaussian kernel values of binary data in the panel's table; return the entries read."""
    touched, distances = distances_from(panel, i, first, last)
    look_up(panel.table, distances, last - first, out)
    return touched


@compiled(BLOCK, choice=True)
def block_bit_table(store, panel, i, first, last, out):
    """Look up Gaussian kernel values of binary data by integer distance."""
    if panel.table.size:
        return values_from_distances(panel, i, first, last, out)
    size = last - first
    touched, counts = count_common(panel, i, first, last)
    table, ones, distances = store.table, panel.bits.ones[first:last], panel.distances
    own = np.uint16(store.norms[i])
    for k in range(size):
        distances[k] = np.uint16(own + ones[k] - np.uint16(2) * counts[k])
    for k in range(size):
        out[k] = table[distances[k]]
    return touched


@compiled(BLOCK, choice=True)
def block_bits(store, panel, i, first, last, out):
    """Compute dot products of packed bits."""
    return dots_bits(store, i, panel.order[first:last], last - first, out)


@compiled(BLOCK, choice=True)
def block_index(store, panel, i, first, last, out):
    """Compute dot products of index lists."""
    return dots_index(store, i, panel.order[first:last], last - first, out)


@compiled(BLOCK, choice=True)
def block_csr(store, panel, i, first, last, out):
    """Compute dot products of sparse rows."""
    return dots_csr(store, i, panel.order[first:last], last - first, out)


@compiled(SHAPE, choice=True)
def shape_none(store, panel, i, first, last, out):
    """Leave the values as they are."""
    return


@compiled(SHAPE, choice=True)
def shape_gaussian(store, panel, i, first, last, out):
    """``exp(-gamma (x.x + z.z - 2 x.z))``."""
    norms, gamma = panel.norms[first:last], store.parameters[0]
    own = store.norms[i]
    for k in range(last - first):
        out[k] = -gamma * (own + norms[k] - 2.0 * out[k])
    # Rounding can leave a tiny negative distance between equal rows; its exponential is then 1.
    exponentials(out, last - first)


@compiled(SHAPE, choice=True)
def shape_polynomial(store, panel, i, first, last, out):
    """Compute ``(a x.z + c)^degree``."""
    raise_to_degree(out, last - first, store)


def block_of(problem: Problem, plain: bool = False) -> tuple[Any, Any]:
    """Return the compiled functions ``block`` and ``shape`` for a problem and its panel; see :func:`form`."""
    kind, store = form(problem, plain), problem.prepare()
    shape = {
        "linear": shape_none,
        "gaussian": shape_gaussian,
        "polynomial": shape_polynomial,
        "precomputed": shape_none,
    }
    if kind == "bit columns" and problem.kernel.name == "gaussian":
        return first_class(block_bit_table, shape_none)  # type: ignore[no-any-return]
    block = {
        "columns": block_differences if problem.differences else block_columns,
        "levels": block_levels,
        "precomputed": block_precomputed,
        "bit columns": block_bit_columns,
        "bits": block_bits,
        "index": block_index,
        "csr": block_csr,
    }[kind]
    assert store.norms.size == problem.n
    return first_class(block, shape[problem.kernel.name])  # type: ignore[no-any-return]


@compiled()
def fill(store, panel, block, shape, i, first, last, out):
    """Write ``K(x_i, x_order[k])`` to ``out[k]`` for first <= k < last; return entries read."""
    touched = 0
    while first < last:
        end = min(first + STRETCH, last)
        part = out[first:end]
        touched += block(store, panel, i, first, end, part)
        shape(store, panel, i, first, end, part)
        first = end
    return touched


@compiled()
def count_all(panel, i, first, last, out):
    """Write ``x_i . x_order[k]`` of binary data to the bytes ``out[k]`` for first <= k < last."""
    touched = 0
    while first < last:
        end = min(first + STRETCH, last)
        read, counts = count_common(panel, i, first, end)
        touched += read
        part = out[first:end]
        for k in range(end - first):
            part[k] = counts[k]
        first = end
    return touched


@compiled()
def fill_distances(panel, i, first, last, out):
    """Write ``|x_i - x_order[k]|^2`` of binary data to the bytes ``out[k]`` for first <= k < last."""
    touched = 0
    while first < last:
        end = min(first + STRETCH, last)
        read, near = distances_from(panel, i, first, end)
        touched += read
        part = out[first:end]
        for k in range(end - first):
            part[k] = near[k]
        first = end
    return touched


def copied(panel: Panel) -> Panel:
    """Return a panel whose examples can be exchanged without changing the given one."""
    bits = with_copies(panel.bits, "words", "ones")
    tiles = with_copies(panel.tiles, "values", "levels", "singles", "sums")
    return with_copies(panel, "order", "norms")._replace(bits=bits, tiles=tiles)


def exchanges(goes: Any, m: int) -> Any:
    """Return the exchanges that move the positions with ``goes == 1``, of m, behind the others.

    Each exchanges the first example that leaves with the last that stays, as in LIBSVM. This moves few
    examples, and among several copies of an example it is not always the same one that comes first. The
    result is an ndarray of int64, shape (k, 2).
    """
    pairs = np.empty((m // 2, 2), dtype=np.int64)
    return pairs[: find_exchanges(goes, m, pairs)]


@compiled(types.int64(types.uint8[::1], types.int64, types.int64[:, ::1]))
def find_exchanges(goes, m, pairs):
    """Fill ``pairs`` with :func:`exchanges`; return their number."""
    count, front, last = 0, 0, m - 1
    while True:
        while front < last and not goes[front]:
            front += 1
        while front < last and goes[last]:
            last -= 1
        if front >= last:
            return count
        pairs[count, 0], pairs[count, 1] = front, last
        count, front, last = count + 1, front + 1, last - 1


@compiled()
def exchange(array, pairs):
    """Exchange entries."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        array[a], array[b] = array[b], array[a]


@compiled(types.void(PANEL, types.int64[:, ::1]))
def rearrange(panel, pairs):
    """Exchange positions, except in ``order``; see :func:`exchanges`."""
    exchange(panel.norms, pairs)
    exchange_in_tiles(panel.tiles, pairs)
    if panel.bits.words.size:
        exchange_bits(panel.bits, panel.at, panel.features, panel.order, pairs)
