"""From dot products to kernel values, in place: one function per kernel, of a uniform type.

``transform(store, i, members, m, out)`` turns ``out[k] = x_i . x_members[k]`` into ``k(x_i, x_members[k])``
for k < m. Norms and parameters come from the store.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from svmrepro.solvers.compilation.compiled import compiled, first_class
from svmrepro.solvers.kernel import Kernel
from svmrepro.solvers.storage.row_products import MEMBERS, STORE, VECTOR, rows_of
from svmrepro.solvers.vector_code.vector_loops import exponentials

TRANSFORM = types.void(STORE, types.int64, MEMBERS, types.int64, VECTOR)
_LEAST_BOUND = 1e-290  # its rounding is still a normal number


@compiled(TRANSFORM, choice=True)
def linear(store, i, members, m, out):
    """Leave the dot products as they are."""
    return


@compiled(TRANSFORM, choice=True)
def gaussian(store, i, members, m, out):
    """``exp(-gamma (x.x + z.z - 2 x.z))``."""
    norms, gamma = store.norms, store.parameters[0]
    own = norms[i]
    for k in range(m):
        out[k] = -gamma * (own + norms[members[k]] - 2.0 * out[k])
    # Rounding can leave a tiny negative distance between equal rows; its exponential is then 1.
    exponentials(out, m)


@compiled(TRANSFORM, choice=True)
def gaussian_integer(store, i, members, m, out):
    """Look up the Gaussian where squared distances are integers: :class:`Store`'s ``table``."""
    # The squared distance of binary rows is a small integer, used as index into the table.
    norms, table = store.norms, store.table
    own = norms[i]
    for k in range(m):
        out[k] = table[np.uint32(own + norms[members[k]] - 2.0 * out[k])]


@compiled(types.void(VECTOR, types.int64, STORE))
def raise_to_degree(values, m, store):
    """Replace x.z by ``(a x.z + c)^degree`` in the first m values, by repeated multiplication."""
    degree, a, c = np.int64(store.parameters[1]), store.parameters[2], store.parameters[3]
    # A loop without another one in it becomes vector code. The product is the same.
    if degree == 2:
        for k in range(m):
            base = a * values[k] + c
            values[k] = base * base
    elif degree == 3:
        for k in range(m):
            base = a * values[k] + c
            values[k] = base * base * base
    elif degree == 4:
        for k in range(m):
            base = a * values[k] + c
            values[k] = base * base * base * base
    elif degree == 5:
        for k in range(m):
            base = a * values[k] + c
            values[k] = base * base * base * base * base
    else:
        for k in range(m):
            base = a * values[k] + c
            value = base
            for _ in range(degree - 1):
                value *= base
            values[k] = value


@compiled(TRANSFORM, choice=True)
def polynomial(store, i, members, m, out):
    """Compute ``(a x.z + c)^degree``."""
    raise_to_degree(out, m, store)


def transform_of(kernel_name: str, store: Any) -> Any:
    """Return the compiled transform of a kernel over a store."""
    transform = {
        "linear": linear,
        "gaussian": gaussian_integer if store.table.size else gaussian,
        "polynomial": polynomial,
        "precomputed": linear,
    }[kernel_name]
    return first_class(transform)[0]


def prepare(problem: Any, eps: float, options: dict[str, Any]) -> None:
    """Load the functions of a problem's kernel values, the same for all options, before the clock starts."""
    store = problem.prepare()
    rows_of(problem)
    transform_of(problem.kernel.name, store)


def largest_value(kernel: Kernel, store: Any) -> float:
    """Return a bound on all absolute kernel values, which the diagonal reaches unless it is indefinite."""
    if kernel.name == "gaussian":
        return 1.0
    if kernel.name == "precomputed":
        return float(store.parameters[4])
    largest = float(store.norms.max())
    if kernel.name == "polynomial":
        return float((abs(kernel.a) * np.float64(largest) + abs(kernel.c)) ** kernel.degree)
    return largest


def positive_bound(kernel: Kernel, store: Any) -> float:
    """Return a bound on all absolute kernel values, large enough to divide by it and by its rounding."""
    return max(largest_value(kernel, store), _LEAST_BOUND)


def fill_diagonal(diagonal: Any, kernel: Kernel, store: Any) -> None:
    """Write K_ii into ``diagonal``, shape (n,)."""
    if kernel.name == "gaussian":
        diagonal[:] = 1.0
    elif kernel.name == "polynomial":
        diagonal[:] = (kernel.a * store.norms + kernel.c) ** kernel.degree
    elif kernel.name in ("linear", "precomputed"):
        diagonal[:] = store.norms
    else:
        raise NotImplementedError(kernel.name)
