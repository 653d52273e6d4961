r"""The relaxed problem of cutting-plane solvers: planes instead of examples (Joachims 2006, OP2 and OP3).

    min  1/2 w.w + Cn xi    subject to    w . g_j >= b_j - xi  for each plane j,  xi >= 0

It is solved by its dual over the current set W of planes,

    max  sum_j a_j b_j - 1/2 |sum_j a_j g_j|^2    subject to    a >= 0,  sum_j a_j <= Cn,

with ``w = sum_j a_j g_j``. A slack multiplier for the plane ``0.w >= 0 - xi`` turns the bound on the sum into
an equality. :mod:`svmrepro.solvers.quadratic_programs.plane_qp` continues from the last solution, with the
new planes in the face, until the violation is 1e-9 of its first value.

Rounding. Products of normals cancel where features differ much in scale, and so does whatever is computed
from them. The results are therefore computed from the planes themselves: ``w`` is their sum, ``bound`` is
``a.b - w.w / 2``, and ``xi`` the largest ``b_j - g_j.w``. ``lower`` subtracts from the bound what rounding
may have added. Let u be half the spacing of doubles at 1, m the number of planes, and the normals sums of n
numbers whose absolute values add up to at most S_k in column k. Then ``w_k`` has an error of at most

    e_k = u (m sum_j a_j |g_jk| + n S_k sum_j a_j)

and the exact sum has an absolute value of at most ``|w_k| + e_k``.

Each plane is stored with the point at which it was taken: the witness from which a judge can recompute it.

A plane whose multiplier has been zero for ``drop_after`` iterations is dropped, as in SVM-perf (50 there; 0
here keeps all). It was not binding, so the optimum over the remaining planes is the same. If it becomes
relevant again, it is found again as the most violated plane.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from svmrepro.solvers.quadratic_programs import plane_qp
from svmrepro.solvers.solution import Vector

_CHUNK = 32  # planes in one array
_NOTHING = 1e-15  # an increase below this share of the bound is no progress
PATIENCE = 50  # iterations without progress before a run is stuck
_FIRST_CAPACITY = 64
_ROUNDING = 2.0**-53


class Planes:
    """Planes, their products, and the optimum over them.

    A normal has length ``width``; only its first ``used`` entries can differ from zero.
    ``total`` is Cn, the weight of xi. A plane is dropped after ``drop_after`` iterations with a zero
    multiplier, 0 for never. An entry of a normal, and an offset, is a sum of ``terms`` numbers, whose
    absolute values add up to at most ``sizes`` by column.
    """

    def __init__(
        self, width: int, total: float, drop_after: int, used: int, terms: int, sizes: Vector
    ) -> None:
        self.width, self.total, self.drop_after = width, total, drop_after
        self._kept, self._terms, self._sizes = used, terms, sizes
        self._chunks: list[Vector] = []
        self._points: list[Vector] = []
        self._qp = plane_qp.allocate(_FIRST_CAPACITY)
        self._idle = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self.b[0], self.a[0] = 0.0, total  # the slack multiplier
        plane_qp.enter(self._qp, 0)
        self._places = 1
        self.w = np.zeros(width)
        self.half = 0.0  # w.w / 2
        self.bound = 0.0  # the dual objective, a lower bound on the optimum of the full problem
        self.rounds = self.dropped = self.most = self._stuck = 0
        self._best = 0.0
        self._new: list[int] = []
        self._lower: float | None = None  # cached result of lower()

    @property
    def a(self) -> Vector:
        """Multipliers by place, shape (capacity,); the first belongs to xi >= 0."""
        return np.asarray(self._qp.a)

    @property
    def b(self) -> Vector:
        """Offsets by place, shape (capacity,); -inf in an unused place."""
        return np.asarray(self._qp.b)

    @property
    def stuck(self) -> bool:
        """Whether planes have stopped raising the bound: eps is beyond the reach of double precision."""
        return self._stuck >= PATIENCE

    @property
    def used(self) -> npt.NDArray[np.intp]:
        """Places of planes, without the slack multiplier's."""
        return np.flatnonzero(np.isfinite(self.b[1 : self._places])) + 1

    @property
    def xi(self) -> float:
        """Slack of the plane that w violates most, at least 0."""
        worst = 0.0
        for first, chunk in self._used_chunks():
            b = self.b[first : first + len(chunk)]
            known = np.isfinite(b)
            if known.any():
                worst = max(worst, float((b[known] - (chunk @ self.w[: self._kept])[known]).max()))
        return worst

    def _used_chunks(self) -> list[tuple[int, Vector]]:
        """Return, for each chunk, the place of its first plane and its normals up to the last place."""
        firsts = range(1, self._places, _CHUNK)
        return [(k, chunk[: self._places - k]) for k, chunk in zip(firsts, self._chunks, strict=False)]

    def add(self, g: Vector, b: float, point: Vector) -> int:
        """Add a plane ``w . g >= b - xi`` taken at ``point`` for :meth:`optimise`; return its place."""
        place = self._place()
        self._chunks[(place - 1) // _CHUNK][(place - 1) % _CHUNK] = g[: self._kept]
        self._points[(place - 1) // _CHUNK][(place - 1) % _CHUNK] = point[: self._kept]
        self.b[place], self.a[place], self._idle[place] = b, 0.0, 0
        self._new.append(place)
        return place

    def _multiply(self) -> None:
        """Compute the products of the new planes with all planes, in one sweep over the planes."""
        K, m, new = self._qp.K, self._places, np.array(self._new, dtype=np.int64)
        normals = np.array([self._chunks[(place - 1) // _CHUNK][(place - 1) % _CHUNK] for place in new])
        for first, chunk in self._used_chunks():
            for place, normal in zip(new, normals, strict=True):  # inner loop: a chunk stays in the cache
                K[first : first + len(chunk), place] = chunk @ normal
        K[:m, new] *= np.isfinite(self.b[:m])[:, np.newaxis]
        K[new, :m] = K[:m, new].T

    def _place(self) -> int:
        """Return a free place; make one if there is none."""
        free = np.flatnonzero(~np.isfinite(self.b[: self._places]))
        if free.size:
            return int(free[0])
        place = self._places
        if place == self.a.size:
            self._qp = plane_qp.grown(self._qp)
            self._idle = np.concatenate((self._idle, np.zeros_like(self._idle)))
        if (place - 1) // _CHUNK == len(self._chunks):
            self._chunks.append(np.zeros((_CHUNK, self._kept)))
            self._points.append(np.zeros((_CHUNK, self._kept)))
        self._places += 1
        return place

    def optimise(self) -> None:
        """Compute the optimum over the current planes: ``w`` and ``bound``."""
        m, a, b = self._places, self.a, self.b
        self._lower = None
        if self._new:
            self._multiply()
        self.rounds += plane_qp.optimise(self._qp, m, np.array(self._new, dtype=np.int64))
        self._new.clear()
        used = np.isfinite(b[:m])
        self.w = np.zeros(self.width)
        for number, chunk in enumerate(self._chunks):
            first = 1 + number * _CHUNK
            weights = a[first : first + _CHUNK]
            if weights.any():
                self.w[: self._kept] += weights @ chunk[: weights.size]
        self.half = 0.5 * float(self.w @ self.w)
        self.bound = float(a[:m][used] @ b[:m][used]) - self.half
        if self.bound > self._best + _NOTHING * abs(self._best):
            self._best, self._stuck = self.bound, 0
        else:
            self._stuck += 1
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

    def lower(self) -> float:
        """Return ``bound`` less the possible rounding error: a true lower bound, at least 0."""
        if self._lower is not None:
            return self._lower
        binding = np.flatnonzero(self.a[1 : self._places]) + 1
        a, b = self.a[binding], self.b[binding]
        w, size = np.zeros(self._kept), np.zeros(self._kept)
        for first, chunk in self._used_chunks():
            weights = self.a[first : first + len(chunk)]
            if weights.any():
                w += weights @ chunk
                size += weights @ np.abs(chunk)
        size *= binding.size + 4
        size += (self._terms * float(a.sum())) * self._sizes
        longest = np.abs(w) + _ROUNDING * size
        half = 0.5 * float(longest @ longest) * (1.0 + _ROUNDING * longest.size)
        # Scale the multipliers down if their sum exceeds the total.
        share = min(1.0, self.total / max(math.fsum(a), self.total))
        gain = math.fsum(a * b) * (1.0 - _ROUNDING * (self._terms + 8))
        self._lower = max(share * gain - share * share * half, 0.0)
        return self._lower

    def witness(self) -> tuple[Vector, Vector]:
        """Return the nonzero multipliers, shape (k,), and the points of their planes, shape (k, used)."""
        binding = np.flatnonzero(self.a[1 : self._places])
        points = [self._points[k // _CHUNK][k % _CHUNK] for k in binding]
        return self.a[binding + 1], np.array(points).reshape(binding.size, self._kept)
