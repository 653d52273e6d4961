"""Passes over the active set: second-order selection of j, the gradient update, the extremes (which give i).

The loops are written to vectorise, without branches that depend on an entry. A maximum is first computed over
spans of 512 entries, as a select that compiles to one instruction; its position is then searched, with the
same arithmetic, in the span that holds it. Such a select requires that no entry is NaN (``nnan``); nothing
here divides by zero.

Few entries are as good a partner as the one of smallest gradient, or as the best so far. Whole spans are
recognised as worse without a division; if rows are distances, blocks of entries are, in single precision
(:class:`Screen`). What is left is computed in full, so that the result does not depend on it.
Symbols, of a pair (i, j) whose i is given:

================  =============================================
symbol            here
================  =============================================
G_i, G_j          ``top``, ``g``
K_ii, K_jj, K_ij  ``own``, ``d``, ``r``
I_down            the j whose status ``s`` has the bit ``DOWN``
================  =============================================
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from svmrepro.solvers.caches.active_set_rows import span
from svmrepro.solvers.caches.feature_columns import look_up
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.inner_functions import overloaded
from svmrepro.solvers.compilation.intrinsics import larger, smaller, trailing_zeros
from svmrepro.solvers.vector_code.table_lookup import reaching

SPAN = 512
_BLOCK = 16  # entries that are screened at once
_SMALL = 2 * SPAN  # up to it, a search for a hint does not pay
_DIVIDED = 4 * SPAN  # entries for which a good gain is found by division, if none is known
_LARGE = 1e290  # above it, a product with the gain might overflow
_SINGLE = 1e30, 1e15  # gains up to it and from its inverse on, and gradients, for single precision
_FLOOR = 1.0 - 2.0**-18  # more than the rounding to single precision of what is compared, relative,
_PAD = 2.0**-20  # and of the largest gradient
_ALMOST = 1.0 - 1e-14  # more than the rounding of a gain and of its test
UP, DOWN = 1, 2  # bits of a status: the signed multiplier can increase, can decrease
NONE = -1e300  # below every gradient

_NO_NAN = {"nnan", "nsz"}


@compiled(forceinline=True, fastmath=_NO_NAN)
def _gain(top, own, g, d, r, s, tiny):
    """Return the gain of a partner, 0 if it is not a candidate."""
    slope = top - g
    gain = slope * slope / larger(own + d - 2.0 * r, tiny)
    return gain if ((s & DOWN) != 0) & (slope > 0.0) else 0.0


@compiled(forceinline=True, fastmath=_NO_NAN)
def _excess(top, own, g, d, r, s, tiny, gain):
    """Return a negative number if the gain of a partner is less than ``gain``, without a division."""
    slope = top - g
    slope = slope if ((s & DOWN) != 0) & (slope > 0.0) else 0.0
    return slope * slope - gain * larger(own + d - 2.0 * r, tiny)


class Screen(NamedTuple):
    """What spans are screened by in single precision, if rows are distances; else empty.

    Attributes
    ----------
    low : ndarray of float32, shape (n,)
        G over I_down by position; infinity elsewhere.
    floors : ndarray of float32, shape (32,)
        Curvatures by distance, rounded down. The last one is a lower bound for larger distances.
    """

    low: Any
    floors: Any


def build_screen(n: int, table: Any, tiny: float) -> Screen:
    """Return the screen for n examples and the kernel values of distances; or an empty one for no values."""
    if not table.size:
        return Screen(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32))
    curvatures = np.maximum(2.0 * (table[0] - table[:32]), tiny)
    return Screen(np.zeros(n, dtype=np.float32), (_FLOOR * curvatures).astype(np.float32))


@compiled(fastmath=_NO_NAN)
def _best_plain(G, diagonal, row, status, m, i, tiny, wide, screen, hint, start):
    """Perform :func:`best_partner` for rows of kernel values."""
    top, own, entries = G[i], diagonal[i], row[0]
    best, where, known = 0.0, -1, 0.0
    if hint >= 0:
        known = _gain(top, own, G[hint], diagonal[hint], entries[hint], status[hint], tiny)
    for first in range(start, m, SPAN):
        size = min(SPAN, m - first)
        g, d, r, s = (
            G[first : first + size],
            diagonal[first : first + size],
            entries[first : first + size],
            status[first : first + size],
        )
        if known > 0.0 and known < _LARGE:
            enough, most = known * _ALMOST, -1.0
            for k in range(size):
                most = larger(_excess(top, own, g[k], d[k], r[k], s[k], tiny, enough), most)
            if most < 0.0:
                continue
        highest = 0.0
        for k in range(size):
            highest = larger(_gain(top, own, g[k], d[k], r[k], s[k], tiny), highest)
        if highest > 0.0 and highest >= best:
            best, where = highest, first
        if hint >= 0 or first - start >= _DIVIDED:
            known = max(known, best)
    if where < 0:
        return -1, 0.0
    size = min(SPAN, m - where)
    g, d, r, s = (
        G[where : where + size],
        diagonal[where : where + size],
        entries[where : where + size],
        status[where : where + size],
    )
    j = -1
    for k in range(size):
        place = k if _gain(top, own, g[k], d[k], r[k], s[k], tiny) == best else -1
        j = place if place > j else j
    return where + j, best


@compiled(forceinline=True)
def _candidates(screen, distances, first, size, top, known):
    """Return in which blocks of a span a partner may gain at least ``known``, a bit for each.

    With ``s = (top + pad - G_k) / sqrt(known)``, one does only if ``s^2 >= Q`` for some k.
    """
    everywhere = (np.uint64(1) << np.uint64((size + _BLOCK - 1) // _BLOCK)) - np.uint64(1)
    if not (1.0 / _SINGLE[0] < known < _SINGLE[0] and abs(top) < _SINGLE[1]):
        return everywhere
    full, rest = size // _BLOCK, size % _BLOCK
    scale = 1.0 / math.sqrt(known)
    shift = (top + _PAD * abs(top)) * scale
    near, low = distances[first : first + size], screen.low[first : first + size]
    found = reaching(screen.floors, near, low, full * _BLOCK, scale, shift)
    return (found | (np.uint64(rest > 0) << np.uint64(full))) & everywhere


@compiled(fastmath=_NO_NAN)
def _best_screened(G, diagonal, row, status, m, i, tiny, wide, screen, hint, start):
    """Perform :func:`best_partner` for rows of distances."""
    distances, table = row
    top, own, values = G[i], diagonal[i], wide[0]
    best, where, known = 0.0, -1, 0.0
    if hint >= 0:
        value = table[distances[hint]]
        known = _gain(top, own, G[hint], diagonal[hint], value, status[hint], tiny)
    for first in range(start, m, SPAN):
        blocks = _candidates(screen, distances, first, min(SPAN, m - first), top, known)
        while blocks:
            begin = first + _BLOCK * np.int64(trailing_zeros(blocks))
            blocks &= blocks - np.uint64(1)
            size = min(_BLOCK, m - begin)
            g, d, s = G[begin : begin + size], diagonal[begin : begin + size], status[begin : begin + size]
            look_up(table, distances[begin : begin + size], size, values)
            highest = 0.0
            for k in range(size):
                highest = larger(_gain(top, own, g[k], d[k], values[k], s[k], tiny), highest)
            if highest > 0.0 and highest >= best:
                best, where = highest, int(begin)
        known = max(known, best)
    j = -1
    for k in range(max(where, 0), min(where + _BLOCK, m) if where >= 0 else 0):
        if _gain(top, own, G[k], diagonal[k], table[distances[k]], status[k], tiny) == best:
            j = k
    return j, best


def best_partner(
    G: Any,
    diagonal: Any,
    row: Any,
    status: Any,
    m: int,
    i: int,
    tiny: float,
    wide: Any,
    screen: Screen,
    hint: int,
    start: int = 0,
) -> Any:
    """Return j in I_down that maximises ``(G_i - G_j)^2 / Q_ij``, and that value; or -1 and 0.

    Glasmachers 2008, eq. 3. Among equal values the last is taken, as in LIBSVM. ``tiny`` replaces a
    smaller curvature. ``row`` is as :func:`~svmrepro.solvers.caches.active_set_rows.row_of` returns it;
    ``wide``, shape (>= 1, >= SPAN), is workspace. ``hint`` is a good partner, or -1. Only positions from
    ``start`` on are searched.
    """
    best = _best_plain if len(row) == 1 else _best_screened
    return best(G, diagonal, row, status, m, i, tiny, wide, screen, hint, start)


@overloaded(best_partner)
def _best_partner(G, diagonal, row, status, m, i, tiny, wide, screen, hint, start=0):
    best = _best_plain if len(row) == 1 else _best_screened
    return lambda G, diagonal, row, status, m, i, tiny, wide, screen, hint, start=0: best(
        G, diagonal, row, status, m, i, tiny, wide, screen, hint, start
    )


@compiled(overflows=True, fastmath=_NO_NAN)
def move_gradient(G, row1, row2, product, mix, mu, status, m, wide, low, start=0):
    """``G -= mu (row1 - row2)`` from position ``start`` to m; return :func:`extremes` there.

    If ``product`` is not empty, ``product = row1 - row2 + mix product; G -= mu product``. ``wide``, shape
    (>= 2, >= SPAN), is workspace; ``low`` is :class:`Screen`'s.
    """
    top, bottom, above, below = NONE, -NONE, -1, -1
    screened, conjugate = low.size > 0, product.size > 0
    for first in range(start, m, SPAN):
        size = min(SPAN, m - first)
        near, q = low[first : first + size], product[first : first + size]
        g, a, b, s = (
            G[first : first + size],
            span(row1, first, size, wide[0])[0],
            span(row2, first, size, wide[1])[0],
            status[first : first + size],
        )
        highest, lowest = NONE, -NONE
        for k in range(size):
            change = float(a[k]) - float(b[k])
            if conjugate:
                change += mix * q[k]
                q[k] = change
            value = g[k] - mu * change
            g[k] = value
            rises = value if (s[k] & UP) != 0 else NONE
            falls = value if (s[k] & DOWN) != 0 else -NONE
            highest = larger(rises, highest)
            lowest = smaller(falls, lowest)
            if screened:
                near[k] = np.float32(falls)
        if highest >= top and highest > NONE:
            top, above = highest, first
        if lowest < bottom:
            bottom, below = lowest, first
    return places(G, status, m, above, top, below, bottom)


@compiled(
    types.Tuple((types.int64, types.float64, types.int64, types.float64))(
        types.float64[::1], types.uint8[::1], types.int64, types.float32[::1]
    ),
    overflows=True,
    fastmath=_NO_NAN,
)
def extremes(G, status, m, low):
    """Return argmax over I_up and its G, argmin over I_down and its G; write ``low`` if it is not empty.

    A position is -1 if there is none. That of the minimum serves as a hint, and is -1 for a small active set.
    """
    top, bottom, above, below = NONE, -NONE, -1, -1
    for k in range(m):
        if (status[k] & UP) != 0 and G[k] >= top:
            top, above = G[k], k
        falls = G[k] if (status[k] & DOWN) != 0 else -NONE
        if falls < bottom:
            bottom, below = falls, k
        if low.size:
            low[k] = np.float32(falls)
    return above, top, below if m > _SMALL else -1, bottom


@compiled(fastmath=_NO_NAN)
def places(G, status, m, above, top, below, bottom):
    """Return :func:`extremes` of known values, from the first positions of the spans that hold them."""
    i, j = -1, -1
    if above >= 0:
        last = min(above + SPAN, m)
        g, s = G[above:last], status[above:last]
        for k in range(last - above):
            place = k if ((s[k] & UP) != 0) & (g[k] == top) else -1
            i = place if place > i else i
        i += above
    if below >= 0 and m > _SMALL:
        last = min(below + SPAN, m)
        g, s = G[below:last], status[below:last]
        for k in range(last - below):
            place = k if ((s[k] & DOWN) != 0) & (g[k] == bottom) else -1
            j = place if place > j else j
        j += below
    return i, top, j, bottom
