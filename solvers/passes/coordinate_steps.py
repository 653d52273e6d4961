"""Sweeps of dual coordinate descent over the examples that are not shrunk (Hsieh et al. 2008, Algorithm 3).

With a bias b, sweeps minimise ``1/2 w.w - sum_i alpha_i + b s + rho/2 s^2``, where ``s = sum_i y_i alpha_i``
must become 0; b and rho are given. Without one, both are 0.

A sweep visits the active examples in a new random order, so that nothing is where the processor expects it:
without prefetching, half of the time goes to waiting for memory. The order is drawn before the sweep, and
rows are requested some visits ahead; what a visit needs besides its row is side by side in one array.

Symbols:

==========  ==================================
paper       here
==========  ==================================
alpha_i, U  ``examples[i, ALPHA]``, ``[i, C]``
w           ``v``
G, PG       ``slope``, ``wrong``
Q_ii        ``examples[i, SQUARE]``
M bar       ``state.above``
m bar       ``state.below``
b, rho, s   ``state.bias``, ``state.penalty``, ``state.imbalance``
==========  ==================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import typeof, types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.intrinsics import prefetch
from svmrepro.solvers.compilation.random_numbers import quick_draw
from svmrepro.solvers.compilation.records import zeroed
from svmrepro.solvers.storage.row_products import REASSOCIATE, STORE, VECTOR
from svmrepro.solvers.storage.row_sums import (
    add_at_bits,
    gather_product,
    gather_sum,
    scatter_product,
    sum_at_bits,
)

ALPHA, LABEL, SQUARE, C = 0, 1, 2, 3
DENSE, CSR, INDEX, BITS = 0, 1, 2, 3
STORAGES = {"dense": DENSE, "csr": CSR, "index": INDEX, "bits": BITS}

FADING = 0.6  # weight of the mean of earlier weights against the latest

# Visits between the request of an example, or of its row, and its use.
_EXAMPLE_AHEAD, _ROW_AHEAD = 8, 4


class SweepState:
    """The scalars of a run.

    The first ``active`` examples of ``order`` are active. The sweep has visited ``at`` and kept ``kept`` of
    them. The kept ones contribute ``gap`` to the duality gap, each at its own visit; ``largest`` and
    ``smallest`` are their extreme projected gradients. ``estimate`` is the last whole sweep's ``gap``.
    ``dual`` is the dual objective at the last check, ``rise`` the gain since. ``weight`` is the weight of the
    sum in ``mean``. ``began`` and ``checked`` are the entries read before this sweep and before the last
    check. ``bias``, ``penalty`` and ``imbalance`` are those of problems with a bias.
    """

    active: int
    at: int
    kept: int
    sweeps: int
    visits: int
    updates: int
    entries: int
    began: int
    checked: int
    gap: float
    estimate: float
    largest: float
    smallest: float
    above: float
    below: float
    dual: float
    rise: float
    weight: float
    bias: float
    penalty: float
    imbalance: float


def table(problem: Any, store: Any, alpha: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what visits need of each example besides its row, shape (n, 4)."""
    return np.column_stack((alpha, problem.y, store.norms, problem.bounds))


@compiled(forceinline=True, fastmath=REASSOCIATE)
def _dense_product(x, v):
    """Return ``x . v``."""
    total = 0.0
    for c in range(x.size):
        total += x[c] * v[c]
    return total


@compiled(forceinline=True)
def _product(store, storage, i, v):
    """Return ``x_i . v``."""
    if storage == CSR:
        return gather_product(store.values, store.indices, store.indptr[i], store.indptr[i + 1], v)
    if storage == INDEX:
        return gather_sum(store.indices, store.indptr[i], store.indptr[i + 1], v)
    if storage == BITS:
        return sum_at_bits(store.bits[i], v)
    return _dense_product(store.dense[i], v)


@compiled(forceinline=True)
def _add(store, storage, i, a, v):
    """``v += a x_i``."""
    if storage == CSR:
        scatter_product(store.values, store.indices, store.indptr[i], store.indptr[i + 1], a, v)
    elif storage == INDEX:
        for p in range(np.uint64(store.indptr[i]), np.uint64(store.indptr[i + 1])):
            v[store.indices[p]] += a
        v[v.size - 1] = 0.0  # the padding
    elif storage == BITS:
        add_at_bits(store.bits[i], a, v)
    else:
        x = store.dense[i]
        for c in range(x.size):
            v[c] += a * x[c]


@compiled(forceinline=True)
def _request(store, storage, i):
    """Request a row from memory, line by line."""
    if storage in (CSR, INDEX):
        for p in range(store.indptr[i], store.indptr[i + 1], 16):
            prefetch(store.indices, p)
    if storage == CSR:
        for p in range(store.indptr[i], store.indptr[i + 1], 8):
            prefetch(store.values, p)
    elif storage == BITS:
        for p in range(i * store.bits.shape[1], (i + 1) * store.bits.shape[1], 8):
            prefetch(store.bits, p)
    elif storage == DENSE:
        for p in range(i * store.dense.shape[1], (i + 1) * store.dense.shape[1], 8):
            prefetch(store.dense, p)


@compiled(forceinline=True)
def _length(store, storage, i):
    """Return the number of stored entries of a row."""
    if storage in (CSR, INDEX):
        return store.indptr[i + 1] - store.indptr[i]
    return np.int64(store.bits.shape[1] if storage == BITS else store.dense.shape[1])


@compiled(forceinline=True)
def _shuffle(order, active, random):
    """Put the active examples in random order."""
    for k in range(active - 1):
        other = k + quick_draw(random, active - k)
        order[k], order[other] = order[other], order[k]


@compiled(forceinline=True)
def _visit(store, storage, examples, v, order, state, stop):
    """Optimise the multipliers of the next active examples, until the sweep or the work ends."""
    # In registers: the compiler cannot know that v does not overlap the record.
    k, active, kept, entries, updates = state.at, state.active, state.kept, state.entries, state.updates
    gap, rise, largest, smallest = state.gap, state.rise, state.largest, state.smallest
    above, below = state.above, state.below
    bias, penalty, imbalance = state.bias, state.penalty, state.imbalance
    for j in range(k, min(k + _ROW_AHEAD, active)):
        _request(store, storage, np.int64(order[j]))
    while k < active and entries < stop:
        if k + _EXAMPLE_AHEAD < active:
            later = np.int64(order[k + _EXAMPLE_AHEAD])
            prefetch(examples, 4 * later)
            prefetch(store.indptr, later)
        if k + _ROW_AHEAD < active:
            _request(store, storage, np.int64(order[k + _ROW_AHEAD]))
        i = np.int64(order[k])
        alpha, y, square, top = examples[i, ALPHA], examples[i, LABEL], examples[i, SQUARE], examples[i, C]
        slope = y * (_product(store, storage, i, v) + (bias + penalty * imbalance)) - 1.0
        square += penalty
        entries += 1 + _length(store, storage, i)
        k += 1
        wrong = slope
        if alpha <= 0.0:
            if slope > above:
                continue
            wrong = min(slope, 0.0)
        elif alpha >= top:
            if slope < below:
                continue
            wrong = max(slope, 0.0)
        # Examples that leave collect between the kept ones and those not visited yet.
        order[k - 1], order[kept] = order[kept], order[k - 1]
        kept += 1
        largest, smallest = max(largest, wrong), min(smallest, wrong)
        if wrong == 0.0:
            continue
        gap += alpha * wrong if wrong > 0.0 else (alpha - top) * wrong
        free = alpha - slope / square if square > 0.0 else top
        new = top if free >= top else free if free > 0.0 else 0.0  # 0 also where the weights overflow
        change = new - alpha
        if change != 0.0:
            examples[i, ALPHA] = new
            rise -= change * (slope + 0.5 * change * square)
            updates += 1
            imbalance += y * change
            _add(store, storage, i, y * change, v)
    state.visits += k - state.at
    state.at, state.kept, state.entries, state.updates = k, kept, entries, updates
    state.gap, state.rise, state.largest, state.smallest = gap, rise, largest, smallest
    state.imbalance = imbalance


STATE = typeof(zeroed(SweepState))
_EXAMPLES, _ORDER = types.float64[:, ::1], types.uint32[::1]


@compiled(types.void(_EXAMPLES, VECTOR, _ORDER, STATE))
def select(examples, f, order, state):
    """Make those examples active that scores f, shape (n,), do not shrink."""
    active, shrunk = 0, f.size
    for i in range(f.size):
        alpha, slope = examples[i, ALPHA], examples[i, LABEL] * f[i] - 1.0
        top = examples[i, C]
        if (alpha <= 0.0 and slope > state.above) or (alpha >= top and slope < state.below):
            shrunk -= 1
            order[shrunk] = i
        else:
            order[active] = i
            active += 1
    state.active = active


@compiled(types.UniTuple(types.float64, 2)(_EXAMPLES, VECTOR))
def sums(examples, f):
    """Return ``sum_i alpha_i`` and ``sum_i C_i max(0, 1 - y_i f_i)``."""
    total, loss = 0.0, 0.0
    for i in range(f.size):
        total += examples[i, ALPHA]
        loss += examples[i, C] * max(0.0, 1.0 - examples[i, LABEL] * f[i])
    return total, loss


@compiled(
    types.boolean(
        STORE,
        types.int64,
        _EXAMPLES,
        *2 * (VECTOR,),
        _ORDER,
        types.uint64[::1],
        STATE,
        types.boolean,
        types.float64,
        *3 * (types.int64,),
    )
)
def sweep(store, storage, examples, v, mean, order, random, state, shrinking, reach, most, work, step_limit):
    """Continue until a check is due, or for about ``work`` entries.

    Parameters
    ----------
    store, storage : Store, int
        The examples.
    examples : ndarray, shape (n, 4)
        Multiplier, label, squared norm and bound of each example.
    v, mean : ndarray, shape (d + 1,)
        ``sum_i y_i alpha_i x_i``, and a sum of its values after each sweep with fading weights.
    order : ndarray of uint32, shape (n,)
        The examples, the active ones first.
    random : ndarray of uint64, shape (1,)
        State of the random numbers.
    state : record
        See :class:`SweepState`.
    shrinking : bool
        Whether an example at its bound leaves if its gradient is beyond all of the last sweep.
    reach : float
        A check is due when the estimate of the gap is at most this times the dual objective, ...
    most : int
        ... or after reading this number of entries.
    work, step_limit : int
        Entries to read now, and the largest number of sweeps.

    Returns
    -------
    bool
        Whether a sweep has just ended after which a check is due.
    """
    stop = state.entries + work
    while state.entries < stop and state.sweeps < step_limit:
        if state.at == 0:
            _shuffle(order, state.active, random)
            state.kept, state.gap, state.largest, state.smallest = 0, 0.0, -np.inf, np.inf
            state.began = state.entries
        _visit(store, storage, examples, v, order, state, stop)
        if state.at < state.active:
            break
        state.at, state.active, state.estimate = 0, state.kept, state.gap
        state.sweeps += 1
        if shrinking:
            state.above = state.largest if state.largest > 0.0 else np.inf
            state.below = state.smallest if state.smallest < 0.0 else -np.inf
        if v.size > state.entries - state.began:  # the mean would cost more than the sweep
            state.weight = 0.0
        else:
            fading = FADING if state.weight > 0.0 else 0.0
            for c in range(v.size):
                mean[c] = fading * mean[c] + v[c]
            state.weight = fading * state.weight + 1.0
        late = state.entries - state.checked >= most or state.active == 0
        if late or state.estimate <= reach * (state.dual + state.rise):
            return True
    return False
