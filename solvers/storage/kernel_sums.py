"""Sums over examples: outputs of a kernel machine, the dominant cost of SMO, and folded weights.

``total(store, dots, transform, i, members, coefficients, m, out)`` writes ``sum_j c_j k(x_i, x_j)`` over
``members[:m]`` to ``out[0]`` and returns the stored entries read. The general function computes dot products
and kernel values in parts that fit into the first-level cache. For packed bits with a table of exponentials,
the case of Adult, Web and noise, a single loop does all three steps at 1.8 times the speed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.compilation.compiled import compiled, first_class
from svmrepro.solvers.compilation.intrinsics import popcount
from svmrepro.solvers.storage.kernel_transforms import TRANSFORM
from svmrepro.solvers.storage.row_products import DOTS, MEMBERS, STORE, UPDATE, VECTOR

PART = 1024
TOTAL = types.int64(
    STORE,
    types.FunctionType(DOTS),
    types.FunctionType(TRANSFORM),
    types.int64,
    MEMBERS,
    VECTOR,
    types.int64,
    VECTOR,
)


@compiled(TOTAL, choice=True)
def total_by_parts(store, dots, transform, i, members, coefficients, m, out):
    """Sum over kernel values, for any storage and kernel; ``out`` has at least PART entries."""
    total, touched = 0.0, 0
    for first in range(0, m, PART):
        size = min(PART, m - first)
        part = members[first : first + size]
        touched += dots(store, i, part, size, out)
        transform(store, i, part, size, out)
        for k in range(size):
            total += coefficients[first + k] * out[k]
    out[0] = total
    return touched


@compiled(TOTAL, choice=True)
def total_bits_table(store, dots, transform, i, members, coefficients, m, out):
    """Sum over Gaussian kernel values of packed bits, looked up by integer distance."""
    bits, norms, table = store.bits, store.norms, store.table
    words = bits.shape[1]
    x = bits[i]
    own = norms[i]
    total = 0.0
    if words == 2:  # up to 128 features, as in row_products.dots_bits
        x0, x1 = x[0], x[1]
        for k in range(m):
            j = members[k]
            common = np.int64(popcount(x0 & bits[j, 0]) + popcount(x1 & bits[j, 1]))
            total += coefficients[k] * table[np.uint64(np.int64(own + norms[j]) - 2 * common)]
    elif words == 5:
        x0, x1, x2, x3, x4 = x[0], x[1], x[2], x[3], x[4]
        for k in range(m):
            j = members[k]
            z = bits[j]
            common = np.int64(
                popcount(x0 & z[0])
                + popcount(x1 & z[1])
                + popcount(x2 & z[2])
                + popcount(x3 & z[3])
                + popcount(x4 & z[4])
            )
            total += coefficients[k] * table[np.uint64(np.int64(own + norms[j]) - 2 * common)]
    else:
        for k in range(m):
            j = members[k]
            common = np.int64(0)
            for c in range(words):
                common += np.int64(popcount(x[c] & bits[j, c]))
            total += coefficients[k] * table[np.uint64(np.int64(own + norms[j]) - 2 * common)]
    out[0] = total
    return m * words


def total_of(storage: str, kernel_name: str, store: Any) -> Any:
    """Return the compiled sum for a storage and a kernel."""
    fused = storage == "bits" and kernel_name == "gaussian" and store.table.size
    return first_class(total_bits_table if fused else total_by_parts)[0]


@compiled(
    types.UniTuple(types.int64, 2)(
        STORE, types.FunctionType(UPDATE), MEMBERS, VECTOR, types.int64, types.int64, VECTOR
    ),
)
def fold(store, update, members, coefficients, at, work, weights):
    """Add ``coefficients[k] x_members[k]`` to the weights for k from ``at`` on.

    Return the position reached within ``work``, and the entries read.
    """
    touched, begin = 0, at
    while at < members.size and (at == begin or touched + at - begin < work):
        touched += update(store, np.int64(members[at]), coefficients[at], weights)
        at += 1
    return at, touched


def folded_weights(problem: Any, alpha: Any) -> Any:
    """Return ``sum_i y_i alpha_i x_i``, shape (d,), in one sum over all examples."""
    return np.asarray(problem.X.T @ (problem.y * alpha)).ravel()
