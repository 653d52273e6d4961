"""The dense quadratic program of one chunk: its state. `projected_cg` solves it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import typeof
from svmrepro.solvers.compilation.records import allocated, array, record

MET = 2  # in ``ChunkQP.inside``: about to leave the face
_SPAN = 1e8  # ratio of diagonal entries above which gradients are divided by the diagonal


class ProjectedScalars:
    """The scalars of a sub-problem."""

    m: int  # slots
    n_free: int  # variables in the face
    n_before: int  # the same before a round of dropping
    n_met: int  # variables that reached a bound
    stage: int
    at: int  # progress within the stage
    fresh: bool  # whether the next direction is steepest descent
    blocked: bool  # whether the direction reached a bound
    has_qy: bool  # whether ``qy`` is up to date
    objective: float
    gain: float  # in the current face
    line_gain: float  # along the current direction
    residual: float  # squared length of the projected gradient of the last step
    beta: float  # multiplier of the equality constraint
    direction_length: float  # squared length of the direction
    shortest: float  # squared length below which the direction is not followed
    cg_steps: int
    face_steps: int  # CG steps in the current face
    releases: int  # number of faces
    bends: int
    entries: int  # entries of Q read
    ticks: int  # other work, in the same unit


class ChunkQP(NamedTuple):
    """One sub-problem over ``m`` slots of arrays of capacity ``cap``.

    Compiled loops bind its arrays to locals first (see :class:`svmrepro.solvers.platt._state.SmoState`).
    """

    Q: Any = array("cap", "cap")  # y_i y_j K_ij, both triangles
    y: Any = array("cap")  # labels, 0 in an empty slot
    C: Any = array("cap")  # bounds
    h: Any = array("cap")  # |Q_ii|
    p: Any = array("cap")  # weights of the gradient
    py: Any = array("cap")  # weights times labels
    r: Any = array("cap")  # 1 / p_i
    a: Any = array("cap")  # multipliers
    g: Any = array("cap")  # gradient Q a - 1
    d: Any = array("cap")  # direction, 0 outside the face
    q: Any = array("cap")  # Q d
    qy: Any = array("cap")  # Q (p y) over the face, where ``scalars.has_qy``
    free: Any = array("cap", dtype=np.int64)  # the slots of the face
    every: Any = array("cap", dtype=np.int64)  # all slots
    met: Any = array("cap", dtype=np.int64)  # positions in the face of the variables that reached a bound
    inside: Any = array("cap", dtype=np.uint8)  # whether a slot is in the face
    scalars: ProjectedScalars = record(ProjectedScalars)


def allocate(capacity: int) -> ChunkQP:
    """Return an empty sub-problem."""
    qp = allocated(ChunkQP, cap=capacity)
    qp.p[:] = qp.r[:] = 1.0
    qp.every[:] = np.arange(capacity)
    return qp


CHUNK_QP = typeof(allocate(1))


def weigh(qp: ChunkQP, m: int) -> None:
    """Set the weights of m slots from their labels and ``h``."""
    qp.p[:m] = weights_of(qp.h[:m])
    qp.py[:m] = qp.p[:m] * qp.y[:m]
    qp.r[:m] = 1.0 / qp.p[:m]


def weights_of(diagonal: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the weights of the gradient, shape (m,), for an absolute diagonal.

    All are 1, unless the diagonal spans more than eight orders of magnitude. Then they are the inverse of its
    entries, up to a common factor: plain conjugate gradient would need many more steps.
    """
    positive = diagonal[diagonal > 0.0]
    if not positive.size or positive.max() <= _SPAN * positive.min():
        return np.ones(diagonal.size)
    weights: npt.NDArray[np.float64] = np.median(positive) / np.maximum(diagonal, positive.min())
    return weights
