"""The quadratic programs of chunking, against their optimality conditions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from svmrepro.solvers.quadratic_programs import projected_cg as pcg
from svmrepro.solvers.quadratic_programs.chunk_qp import ChunkQP, allocate, weigh

Array = npt.NDArray[np.float64]


def sub_problem(Q: Array, y: Array, a: Array) -> ChunkQP:
    """Return a program to be solved from the point ``a``."""
    m = y.size
    qp = allocate(m)
    qp.Q[:], qp.y[:], qp.a[:] = Q, y, a
    qp.h[:] = np.abs(np.diagonal(Q))
    weigh(qp, m)
    qp.g[:] = Q @ a - 1.0
    qp.scalars.m = m
    qp.scalars.objective = a.sum() - 0.5 * a @ Q @ a
    return qp


def run(qp: ChunkQP, C: float, *, limit: int = 100_000, bends: bool = True) -> int:
    """Run in slices, as the driver does."""
    qp.C[:] = C
    for _ in range(10_000):
        verdict = pcg.solve_face(qp, 1e-15, bends, False, 500, limit)
        if verdict == pcg.DONE or qp.scalars.cg_steps >= limit:
            return int(verdict)
    raise AssertionError("does not end")


def value(Q: Array, a: Array) -> float:
    return float(a.sum() - 0.5 * a @ Q @ a)


def random_program(seed: int, m: int, rank: int) -> tuple[Array, Array, Array, float]:
    """Return Q (of given rank), labels, a point inside the box, and C."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    F = rng.normal(size=(m, rank)) * y[:, None]
    C = float(10.0 ** rng.uniform(-2, 1))
    a = rng.uniform(0, C, size=m)
    a[rng.random(m) < 0.3] = 0.0
    a[rng.random(m) < 0.2] = C
    return F @ F.T, y, a, C


def violation(Q: Array, y: Array, a: Array, C: float) -> float:
    """Return the pair gap of the program."""
    t = y * (Q @ a - 1.0)
    up = np.where(y > 0, a < C, a > 0)
    down = np.where(y > 0, a > 0, a < C)
    return float(max(t[down].max() - t[up].min(), 0.0)) if up.any() and down.any() else 0.0


@pytest.mark.parametrize("bends", [True, False])
@pytest.mark.parametrize("rank", [3, 14, 30])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, rank: int, bends: bool) -> None:
    Q, y, a, C = random_program(seed, 14, rank)
    qp = sub_problem(Q, y, a)
    assert run(qp, C, bends=bends) == pcg.DONE
    assert bends or qp.scalars.bends == 0
    found = qp.a.copy()
    assert ((found >= 0) & (found <= C)).all()
    assert y @ found == pytest.approx(y @ a, abs=1e-11 * C)
    assert violation(Q, y, found, C) <= 1e-5
    assert qp.g == pytest.approx(Q @ found - 1.0, abs=1e-9 * (1 + C) * np.abs(Q).max())
    assert qp.scalars.objective == pytest.approx(value(Q, found), rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("bends", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_flat_and_concave_faces_keep_the_equality(seed: int, bends: bool) -> None:
    # With zero or negative curvature, steps reach a bound along directions that are all rounding.
    rng = np.random.default_rng(seed)
    Q, y, _, _ = random_program(seed, 16, 2)
    if seed % 2:
        Q = Q - 0.3 * np.trace(Q) / 16 * np.eye(16)
    C = 1e5
    base = rng.uniform(0.2 * C, 0.8 * C)
    qp = sub_problem(Q, y, np.full(16, base))
    assert run(qp, C, limit=5_000, bends=bends) == pcg.DONE
    assert y @ qp.a == pytest.approx(base * y.sum(), abs=1e-9 * 16 * C)
    assert ((qp.a >= 0) & (qp.a <= C)).all()
    assert value(Q, qp.a) >= value(Q, np.full(16, base))
