r"""The relaxed problem of cutting-plane solvers: planes instead of examples (Joachims 2006, OP2 and OP3).

    min  1/2 w.w + Cn xi    subject to    w . g_j >= b_j - xi  for each plane j,  xi >= 0

by its dual over the |W| planes that there are,

    max  sum_j a_j b_j - 1/2 |sum_j a_j g_j|^2    subject to    a >= 0,  sum_j a_j <= Cn,

and ``w = sum_j a_j g_j``. A slack multiplier with the plane ``0.w >= 0 - xi`` makes an equality of the sum.
The active-set method of :mod:`svmrepro.solvers.small_qp` goes on from the last solution with the new plane in
the face: a few factorisations of the planes that count, to 1e-9 of the new plane's violation.

A plane whose multiplier has been zero for ``drop_after`` iterations is dropped, as SVM-perf does (50 there;
0 here keeps all). It was not binding, so the optimum over the planes left is the same; should it matter
again, it comes back as the one that is violated most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types
from svmrepro.solvers.compiled import compiled
from svmrepro.solvers.small_qp import QP, QP_TYPE, allocate, solve_from

_CHUNK = 32  # planes in one array
_SOLVED = 1e-9
_NOTHING = 1e-15  # share of the bound that is no gain
_PATIENCE = 50  # iterations without any
_FIRST_CAPACITY = 64

Vector = npt.NDArray[np.float64]


@compiled(
    types.int64(QP_TYPE, types.float64[::1], types.float64[::1], types.int64, types.int64[::1], types.float64)
)
def optimise(qp, a, b, m, entering, total):  # type: ignore[no-untyped-def]
    """Bring the multipliers of m planes to their optimum; return the rounds.

    Parameters
    ----------
    qp : QP
        With ``K`` the products of planes; ``g`` is left as ``b - K a`` at the optimum.
    a, b : ndarray, shape (capacity,)
        Multipliers, in place, and offsets. An unused place has b = -inf.
    m : int
        Places.
    entering : ndarray of int64
        Those that are in the face although their multipliers are zero.
    total : float
        What the multipliers sum to.
    """
    count = 0
    for i in range(m):
        unused = b[i] == -np.inf
        qp.low[i], qp.high[i] = -a[i], 0.0 if unused else total - a[i]
        qp.inside[i] = 1 if a[i] > 0.0 else 0
        for place in entering:
            if place == i:
                qp.inside[i] = 1
        if qp.inside[i]:
            qp.face[count] = i
            count += 1
        slope = 0.0 if unused else b[i]
        for j in range(m):
            if a[j] != 0.0 and not unused:
                slope -= qp.K[i, j] * a[j]
        qp.g[i] = slope
    rounds = solve_from(qp, m, count, True, _SOLVED)
    for i in range(m):
        a[i] += qp.d[i]
    return rounds


class Planes:
    """Planes, their products, and the optimum over them.

    Parameters
    ----------
    width : int
        Length of a normal.
    total : float
        Cn, the weight of xi.
    drop_after : int
        Iterations without a say after which a plane is dropped; 0: never.
    """

    def __init__(self, width: int, total: float, drop_after: int) -> None:
        self.width, self.total, self.drop_after = width, total, drop_after
        self._chunks: list[Vector] = []
        self._qp: QP = allocate(_FIRST_CAPACITY)
        self.a = np.zeros(_FIRST_CAPACITY)
        self.b = np.full(_FIRST_CAPACITY, -np.inf)
        self._idle = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self.b[0], self.a[0] = 0.0, total  # the slack multiplier
        self._places = 1
        self.w = np.zeros(width)
        self.xi = 0.0
        self.bound = 0.0  # the dual objective, which no weights of the whole problem undercut
        self.rounds = self.dropped = self.most = self._stuck = 0
        self._new: list[int] = []

    @property
    def stuck(self) -> bool:
        """Whether planes have long ceased to raise the bound: eps is below what double precision gives."""
        return self._stuck >= _PATIENCE

    @property
    def used(self) -> npt.NDArray[np.intp]:
        """Places of planes, without that of the slack multiplier."""
        return np.flatnonzero(np.isfinite(self.b[1 : self._places])) + 1

    def add(self, g: Vector, b: float) -> int:
        """Take a plane ``w . g >= b - xi`` in, of which :meth:`optimise` takes note; return its place.

        Parameters
        ----------
        g : ndarray, shape (width,)
            Copied.
        b : float
            Offset.
        """
        place = self._place()
        K, m = self._qp.K, self._places
        K[place, :m] = K[:m, place] = 0.0
        self._chunks[(place - 1) // _CHUNK][(place - 1) % _CHUNK] = g
        for number, chunk in enumerate(self._chunks):
            first = 1 + number * _CHUNK
            last = min(first + _CHUNK, m)
            if first < last:
                K[place, first:last] = chunk[: last - first] @ g
        K[place, :m][~np.isfinite(self.b[:m])] = 0.0
        K[place, place] = g @ g
        K[:m, place] = K[place, :m]
        self.b[place], self.a[place], self._idle[place] = b, 0.0, 0
        self._new.append(place)
        return place

    def _place(self) -> int:
        """Return a free place."""
        free = np.flatnonzero(~np.isfinite(self.b[: self._places]))
        if free.size:
            return int(free[0])
        place = self._places
        if place == self.a.size:
            self._grow()
        if (place - 1) // _CHUNK == len(self._chunks):
            self._chunks.append(np.zeros((_CHUNK, self.width)))
        self._places += 1
        return place

    def _grow(self) -> None:
        """Double the room for planes."""
        old, m = self._qp, self.a.size
        self._qp = allocate(2 * m)
        self._qp.K[:m, :m] = old.K
        self.a = np.concatenate((self.a, np.zeros(m)))
        self.b = np.concatenate((self.b, np.full(m, -np.inf)))
        self._idle = np.concatenate((self._idle, np.zeros(m, dtype=np.int64)))

    def optimise(self) -> None:
        """Find the optimum over the planes that there are now: ``w``, ``xi`` and ``bound``."""
        m, a, b = self._places, self.a, self.b
        self.rounds += optimise(self._qp, a, b, m, np.array(self._new, dtype=np.int64), self.total)
        self._new.clear()
        used = np.isfinite(b[:m])
        gradient = self._qp.g[:m]
        self.xi = max(0.0, float(gradient[used].max()))
        # sum_j a_j b_j - a.K a / 2, with gradient = b - K a
        before, self.bound = self.bound, 0.5 * float(a[:m][used] @ (b[:m] + gradient)[used])
        self._stuck = self._stuck + 1 if self.bound <= before + _NOTHING * abs(before) else 0
        self.w = np.zeros(self.width)
        for number, chunk in enumerate(self._chunks):
            first = 1 + number * _CHUNK
            weights = a[first : first + _CHUNK]
            if weights.any():
                self.w += weights @ chunk[: weights.size]
        self._idle[:m] += 1
        self._idle[:m][a[:m] > 0.0] = 0
        self.most = max(self.most, int(used.sum()) - 1)
        if self.drop_after:
            late = self._idle[:m] >= self.drop_after
            late[0] = False
            late &= used
            self.b[:m][late] = -np.inf
            self._qp.K[:m][late] = 0.0
            self._qp.K[:, :m][:, late] = 0.0
            self.dropped += int(late.sum())
