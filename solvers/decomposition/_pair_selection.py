"""Passes over the active set: the best partner, the gradient update, the extremes.

The loops are written to vectorise, without branches that depend on an entry. A maximum is first computed over
spans of 512 entries, as a select that compiles to one instruction; its position is then searched, with the
same arithmetic, in the span that holds it. Such a select requires that no entry is NaN (``nnan``); nothing
here divides by zero. Division takes half the time of the search for a partner; most spans are recognised
without it as worse than the best so far.
"""

from __future__ import annotations

from numba import types
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.compilation.intrinsics import larger, smaller

SPAN = 512
_DIVIDED = 4 * SPAN  # entries for which a good gain is found by division
_LARGE = 1e290  # above it, a product with the gain might overflow
_ALMOST = 1.0 - 1e-14  # more than the rounding of a gain and of its test
UP, DOWN = 1, 2  # bits of a status: the signed multiplier can increase, can decrease
NONE = -1e300  # below every gradient

_NO_NAN = {"nnan", "nsz"}


@compiled(forceinline=True, fastmath=_NO_NAN)
def _gain(top, own, g, d, r, s, tiny):  # type: ignore[no-untyped-def]
    """Return the gain of a partner, 0 if it is not a candidate."""
    slope = top - g
    gain = slope * slope / larger(own + d - 2.0 * r, tiny)
    return gain if ((s & DOWN) != 0) & (slope > 0.0) else 0.0


@compiled(forceinline=True, fastmath=_NO_NAN)
def _excess(top, own, g, d, r, s, tiny, gain):  # type: ignore[no-untyped-def]
    """Return a negative number if the gain of a partner is less than ``gain``, without a division."""
    slope = top - g
    slope = slope if ((s & DOWN) != 0) & (slope > 0.0) else 0.0
    return slope * slope - gain * larger(own + d - 2.0 * r, tiny)


@compiled(fastmath=_NO_NAN)
def best_partner(G, diagonal, row, status, m, i, tiny):  # type: ignore[no-untyped-def]
    """Return j in I_down that maximises ``(G_i - G_j)^2 / Q_ij``, and that value; or -1 and 0.

    Glasmachers 2008, eq. 3. Among equal values the last is taken, as in LIBSVM. ``tiny`` replaces a curvature
    that is not positive.
    """
    top, own = G[i], diagonal[i]
    best, where = 0.0, -1
    for first in range(0, m, SPAN):
        size = min(SPAN, m - first)
        g, d, r, s = (
            G[first : first + size],
            diagonal[first : first + size],
            row[first : first + size],
            status[first : first + size],
        )
        if first >= _DIVIDED and best < _LARGE:
            enough, most = best * _ALMOST, -1.0
            for k in range(size):
                most = larger(_excess(top, own, g[k], d[k], r[k], s[k], tiny, enough), most)
            if most < 0.0:
                continue
        highest = 0.0
        for k in range(size):
            highest = larger(_gain(top, own, g[k], d[k], r[k], s[k], tiny), highest)
        if highest > 0.0 and highest >= best:
            best, where = highest, first
    if where < 0:
        return -1, 0.0
    size = min(SPAN, m - where)
    g, d, r, s = (
        G[where : where + size],
        diagonal[where : where + size],
        row[where : where + size],
        status[where : where + size],
    )
    j = -1
    for k in range(size):
        place = k if _gain(top, own, g[k], d[k], r[k], s[k], tiny) == best else -1
        j = place if place > j else j
    return where + j, best


@compiled(fastmath=_NO_NAN)
def move_gradient(G, row1, row2, mu, status, m):  # type: ignore[no-untyped-def]
    """``G -= mu (row1 - row2)``; return argmax over I_up, its G, and min over I_down of G."""
    top, bottom, where = NONE, -NONE, -1
    for first in range(0, m, SPAN):
        size = min(SPAN, m - first)
        g, a, b, s = (
            G[first : first + size],
            row1[first : first + size],
            row2[first : first + size],
            status[first : first + size],
        )
        highest, lowest = NONE, -NONE
        for k in range(size):
            value = g[k] - mu * (float(a[k]) - float(b[k]))
            g[k] = value
            rises = value if (s[k] & UP) != 0 else NONE
            falls = value if (s[k] & DOWN) != 0 else -NONE
            highest = larger(rises, highest)
            lowest = smaller(falls, lowest)
        if highest >= top and highest > NONE:
            top, where = highest, first
        bottom = lowest if lowest < bottom else bottom
    if where < 0:
        return -1, NONE, bottom
    return last_highest(G, status, where, min(where + SPAN, m), top), top, bottom


@compiled(
    types.Tuple((types.int64, types.float64, types.float64))(
        types.float64[::1], types.uint8[::1], types.int64
    ),
    fastmath=_NO_NAN,
)
def extremes(G, status, m):  # type: ignore[no-untyped-def]
    """Return argmax over I_up, its G, and min over I_down of G."""
    top, bottom, i = NONE, -NONE, -1
    for k in range(m):
        if (status[k] & UP) != 0 and G[k] >= top:
            top, i = G[k], k
        if (status[k] & DOWN) != 0 and G[k] < bottom:
            bottom = G[k]
    return i, top, bottom


@compiled(fastmath=_NO_NAN)
def last_highest(G, status, first, last, top):  # type: ignore[no-untyped-def]
    """Return the last place within a span at which G over I_up equals ``top``."""
    g, s = G[first:last], status[first:last]
    i = -1
    for k in range(last - first):
        place = k if ((s[k] & UP) != 0) & (g[k] == top) else -1
        i = place if place > i else i
    return first + i
