"""From dot products to kernel values, in place: one function per kernel, of a uniform type.

``transform(store, i, members, m, out)`` turns ``out[k] = x_i . x_members[k]`` into ``k(x_i, x_members[k])``
for k < m. Norms and parameters come from the store.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from svmrepro.solvers.compilation.compiled import compiled, first_class
from svmrepro.solvers.compilation.intrinsics import bits_from_float, float_from_bits
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.storage.row_products import MEMBERS, STORE, VECTOR

TRANSFORM = types.void(STORE, types.int64, MEMBERS, types.int64, VECTOR)

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # Cody and Waite's split: the high part has 33 bits
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer, in the low bits
_ROUND_BITS = 4843621399236968448  # its representation


@njit(inline="always")
def exp_of_negative(x):  # type: ignore[no-untyped-def]
    """Return ``exp(x)`` for x <= 0 to about 1 ulp, without a branch, so that loops vectorise.

    ``x = k ln 2 + r`` with |r| <= ln(2) / 2; the error of the Taylor sum to r^13 is below 1e-17. Arguments
    below -708 (2^-1022) are replaced by -708.
    """
    x = x if x > -708.0 else -708.0  # a select: max() keeps the loop scalar
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (bits_from_float(shifted) - _ROUND_BITS + 1023) << 52
    return p * float_from_bits(power)


@compiled(TRANSFORM)
def linear(store, i, members, m, out):  # type: ignore[no-untyped-def]
    """Leave the dot products as they are."""
    return


@compiled(TRANSFORM)
def gaussian(store, i, members, m, out):  # type: ignore[no-untyped-def]
    """``exp(-gamma (x.x + z.z - 2 x.z))``."""
    norms, gamma = store.norms, store.parameters[0]
    own = norms[i]
    for k in range(m):
        out[k] = own + norms[members[k]] - 2.0 * out[k]
    for k in range(m):
        exponent = -gamma * out[k]
        # Rounding can leave a tiny negative distance between equal rows.
        out[k] = exp_of_negative(exponent if exponent < 0.0 else 0.0)


@compiled(TRANSFORM)
def gaussian_integer(store, i, members, m, out):  # type: ignore[no-untyped-def]
    """Look up the Gaussian where squared distances are integers: :class:`Store`'s ``table``."""
    # The squared distance of binary rows is a small integer, used as index into the table.
    norms, table = store.norms, store.table
    own = norms[i]
    for k in range(m):
        out[k] = table[np.uint32(own + norms[members[k]] - 2.0 * out[k])]


@compiled(TRANSFORM)
def polynomial(store, i, members, m, out):  # type: ignore[no-untyped-def]
    """Raise ``a x.z + c`` to the degree by repeated multiplication."""
    degree, a, c = np.int64(store.parameters[1]), store.parameters[2], store.parameters[3]
    for k in range(m):
        base = a * out[k] + c
        value = base
        for _ in range(degree - 1):
            value *= base
        out[k] = value


def transform_of(kernel_name, store):  # type: ignore[no-untyped-def]
    """Return the compiled transform of a kernel over a store."""
    if kernel_name == "gaussian":
        return _GAUSSIANS[store.table.size > 0]
    return _TRANSFORMS[kernel_name]


_GAUSSIANS = first_class(gaussian, gaussian_integer)
_TRANSFORMS = dict(
    zip(("linear", "polynomial", "precomputed"), first_class(linear, polynomial, linear), strict=True)
)


def fill_diagonal(diagonal: Any, kernel: Kernel, store: Any) -> None:
    """Write K_ii into ``diagonal``, shape (n,)."""
    if kernel.name == "gaussian":
        diagonal[:] = 1.0
    elif kernel.name == "polynomial":
        diagonal[:] = (kernel.a * store.norms + kernel.c) ** kernel.degree
    else:
        diagonal[:] = store.norms
