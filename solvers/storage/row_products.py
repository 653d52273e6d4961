"""Dot products for each representation: the only code that depends on how rows are stored.

Rows over an active set are computed from another layout, see :mod:`svmrepro.solvers.caches.feature_columns`.

Each storage provides three functions of a uniform type, so that a solver's loop is compiled once and calls
them through a pointer:

``dots(store, i, members, m, out)``
    ``out[k] = x_i . x_members[k]`` for k < m.
``products(store, w, members, m, out)``
    ``out[k] = w . x_members[k]`` for k < m; ``w`` has shape (d + 1,), its last entry 0.
``update(store, i, a, w)``
    ``w += a x_i``.

Each returns the number of stored entries that it read (words for packed bits): the counted work of Platt's
sparse / non-sparse comparison. A call takes about 35 ns more than a direct one, so solvers request blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled, first_class
from svmrepro.solvers.compilation.intrinsics import popcount
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.storage.row_sums import add_at_bits, gather_product, gather_sum, sum_at_bits
from svmrepro.solvers.storage.stores import build_store

STORE = typeof(build_store(np.zeros((2, 1)), "dense", Kernel.linear()))
MEMBERS = types.uint32[::1]
VECTOR = types.float64[::1]
DOTS = types.int64(STORE, types.int64, MEMBERS, types.int64, VECTOR)
PRODUCTS = types.int64(STORE, VECTOR, MEMBERS, types.int64, VECTOR)
UPDATE = types.int64(STORE, types.int64, types.float64, VECTOR)

# Reassociation lets a dot product run in vector registers. It changes a sum of d terms by at most d rounding
# errors of its largest partial sum, far below any tolerance here, and only within one dot product: the sums
# that the KKT test compares are unaffected.
REASSOCIATE = {"reassoc", "contract", "nsz"}


@compiled(DOTS, choice=True, fastmath=REASSOCIATE)
def dots_dense(store, i, members, m, out):
    """Compute dot products of whole rows; see the module docstring for this and all functions below."""
    X = store.dense
    d = X.shape[1]
    x = X[i]
    for k in range(m):
        z = X[members[k]]
        total = 0.0
        for c in range(d):
            total += x[c] * z[c]
        out[k] = total
    return m * d


@compiled(PRODUCTS, choice=True, fastmath=REASSOCIATE)
def products_dense(store, w, members, m, out):
    """Products of whole rows with w."""
    X = store.dense
    d = X.shape[1]
    for k in range(m):
        z = X[members[k]]
        total = 0.0
        for c in range(d):
            total += w[c] * z[c]
        out[k] = total
    return m * d


@compiled(UPDATE, choice=True)
def update_dense(store, i, a, w):
    """Add a whole row to w."""
    x = store.dense[i]
    for c in range(x.shape[0]):
        w[c] += a * x[c]
    return x.shape[0]


@compiled(DOTS, choice=True)
def dots_csr(store, i, members, m, out):
    """Dot products over the stored entries of each member."""
    # x_i is scattered into a dense vector once; every member is then one sparse sum.
    indptr, indices, values, spread = store.indptr, store.indices, store.values, store.scratch
    for p in range(indptr[i], indptr[i + 1]):
        spread[indices[p]] = values[p]
    touched = indptr[i + 1] - indptr[i]
    for k in range(m):
        j = members[k]
        first, last = indptr[j], indptr[j + np.uint32(1)]
        touched += last - first
        out[k] = gather_product(values, indices, first, last, spread)
    for p in range(indptr[i], indptr[i + 1]):
        spread[indices[p]] = 0.0
    return touched


@compiled(
    types.int64(
        STORE, types.FunctionType(DOTS), types.int64, types.int64, MEMBERS, types.int64, VECTOR, VECTOR
    )
)
def dots_of_two(store, dots, i1, i2, members, m, out1, out2):
    """Compute the dot products of two examples with each member; sparse rows are read once for both.

    The values are bitwise equal to those of ``dots``.
    """
    indptr, indices, values = store.indptr, store.indices, store.values
    if values.size == 0:
        return dots(store, i1, members, m, out1) + dots(store, i2, members, m, out2)
    spread, other = store.scratch, store.scratch2
    touched = indptr[i1 + 1] - indptr[i1] + indptr[i2 + 1] - indptr[i2]
    for p in range(indptr[i1], indptr[i1 + 1]):
        spread[indices[p]] = values[p]
    for p in range(indptr[i2], indptr[i2 + 1]):
        other[indices[p]] = values[p]
    for k in range(m):
        j = members[k]
        p, last = np.uint64(indptr[j]), np.uint64(indptr[j + np.uint32(1)])
        touched += 2 * np.int64(last - p)
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        while p + np.uint64(4) <= last:
            c0, c1 = indices[p], indices[p + np.uint64(1)]
            c2, c3 = indices[p + np.uint64(2)], indices[p + np.uint64(3)]
            a0, a1 = values[p], values[p + np.uint64(1)]
            a2, a3 = values[p + np.uint64(2)], values[p + np.uint64(3)]
            s0 += a0 * spread[c0]
            s1 += a1 * spread[c1]
            s2 += a2 * spread[c2]
            s3 += a3 * spread[c3]
            t0 += a0 * other[c0]
            t1 += a1 * other[c1]
            t2 += a2 * other[c2]
            t3 += a3 * other[c3]
            p += np.uint64(4)
        while p < last:
            s0 += values[p] * spread[indices[p]]
            t0 += values[p] * other[indices[p]]
            p += np.uint64(1)
        out1[k] = (s0 + s1) + (s2 + s3)
        out2[k] = (t0 + t1) + (t2 + t3)
    for p in range(indptr[i1], indptr[i1 + 1]):
        spread[indices[p]] = 0.0
    for p in range(indptr[i2], indptr[i2 + 1]):
        other[indices[p]] = 0.0
    return touched


@compiled(PRODUCTS, choice=True)
def products_csr(store, w, members, m, out):
    """Products of stored entries with w."""
    indptr, indices, values = store.indptr, store.indices, store.values
    touched = 0
    for k in range(m):
        j = members[k]
        total = 0.0
        first, last = np.uint64(indptr[j]), np.uint64(indptr[j + np.uint32(1)])
        for p in range(first, last):
            total += values[p] * w[indices[p]]
        touched += np.int64(last - first)
        out[k] = total
    return touched


@compiled(UPDATE, choice=True)
def update_csr(store, i, a, w):
    """Add the stored entries of a row to w."""
    for p in range(store.indptr[i], store.indptr[i + 1]):
        w[store.indices[p]] += a * store.values[p]
    return store.indptr[i + 1] - store.indptr[i]


@compiled(DOTS, choice=True)
def dots_index(store, i, members, m, out):
    """Dot products of binary rows as sums over index lists."""
    # Platt 1998, section 3: "the dot product will sum the weights corresponding to the
    # position of the 1s in the input"; the weights here are the scattered x_i.
    indptr, indices, spread, norms = store.indptr, store.indices, store.scratch, store.norms
    padding = spread.size - 1
    for p in range(indptr[i], indptr[i + 1]):
        spread[indices[p]] = 1.0
    spread[padding] = 0.0
    touched = np.int64(norms[i])
    for k in range(m):
        j = members[k]
        touched += np.int64(norms[j])
        out[k] = gather_sum(indices, indptr[j], indptr[j + np.uint32(1)], spread)
    for p in range(indptr[i], indptr[i + 1]):
        spread[indices[p]] = 0.0
    return touched


@compiled(PRODUCTS, choice=True)
def products_index(store, w, members, m, out):
    """Products of binary rows with w as sums over index lists."""
    indptr, indices, norms = store.indptr, store.indices, store.norms
    touched = 0
    for k in range(m):
        j = members[k]
        touched += np.int64(norms[j])
        out[k] = gather_sum(indices, indptr[j], indptr[j + np.uint32(1)], w)
    return touched


@compiled(UPDATE, choice=True)
def update_index(store, i, a, w):
    """Add ``a`` at the ones of a binary row."""
    for p in range(store.indptr[i], store.indptr[i + 1]):
        w[store.indices[p]] += a
    w[w.size - 1] = 0.0  # where the padding points
    return np.int64(store.norms[i])


@compiled(DOTS, choice=True)
def dots_bits(store, i, members, m, out):
    """Dot products of binary rows as counts of common bits."""
    bits = store.bits
    words = bits.shape[1]
    x = bits[i]
    if words == 2:  # up to 128 features (Adult): worth a separate loop
        x0, x1 = x[0], x[1]
        for k in range(m):
            j = members[k]
            out[k] = np.float64(popcount(x0 & bits[j, 0]) + popcount(x1 & bits[j, 1]))
    elif words == 5:  # up to 320 features (Web and the artificial sets)
        x0, x1, x2, x3, x4 = x[0], x[1], x[2], x[3], x[4]
        for k in range(m):
            z = bits[members[k]]
            out[k] = np.float64(
                popcount(x0 & z[0])
                + popcount(x1 & z[1])
                + popcount(x2 & z[2])
                + popcount(x3 & z[3])
                + popcount(x4 & z[4])
            )
    else:
        for k in range(m):
            z = bits[members[k]]
            total = np.uint64(0)
            for c in range(words):
                total += popcount(x[c] & z[c])
            out[k] = np.float64(total)
    return m * words


@compiled(PRODUCTS, choice=True)
def products_bits(store, w, members, m, out):
    """Products of packed binary rows with w, one set bit at a time."""
    bits = store.bits
    for k in range(m):
        out[k] = sum_at_bits(bits[members[k]], w)
    return m * bits.shape[1]


@compiled(UPDATE, choice=True)
def update_bits(store, i, a, w):
    """Add ``a`` at every set bit of a packed row."""
    add_at_bits(store.bits[i], a, w)
    return store.bits.shape[1]


@compiled(DOTS, choice=True, fastmath=REASSOCIATE)
def dots_differences(store, i, members, m, out):
    """Write ``-|x_i - x_j|^2 / 2``, from differences; with norms of 0 it replaces a dot product."""
    X = store.dense
    d = X.shape[1]
    x = X[i]
    for k in range(m):
        z = X[members[k]]
        total = 0.0
        for c in range(d):
            total += (x[c] - z[c]) * (x[c] - z[c])
        out[k] = -0.5 * total
    return m * d


@compiled(DOTS, choice=True)
def dots_precomputed(store, i, members, m, out):
    """Read kernel values."""
    row = store.dense[i]
    for k in range(m):
        out[k] = row[members[k]]
    return m


def rows_of(problem: Any) -> Any:
    """Return the three functions for a problem's examples."""
    problem.prepare()
    return first_class(*_ROWS["differences" if problem.differences else problem.storage])


_ROWS = {
    "dense": (dots_dense, products_dense, update_dense),
    "csr": (dots_csr, products_csr, update_csr),
    "index": (dots_index, products_index, update_index),
    "bits": (dots_bits, products_bits, update_bits),
    # These two are never used with a linear kernel, so their products with weights are never called.
    "differences": (dots_differences, products_dense, update_dense),
    "precomputed": (dots_precomputed, products_dense, update_dense),
}
