r"""Kernel rows in single precision, with a bound on their error.

Rows of a Gaussian kernel over dense examples are computed in single precision too, see
:mod:`svmrepro.solvers.vector_code.gaussian_tiles`; others are computed in double precision and rounded. The
examples are centred and scaled by the square root of ``gamma log2 e`` for that, in double precision.

Let u = 2^-24, R the largest norm of a scaled example, and s a squared distance of d terms. Rounding the
examples changes s by at most ``4 u R sqrt(s)``, and computing it by ``(d + 2) u s``. With the largest values
of ``s 2^-s`` and ``sqrt(s) 2^-s``, the error of ``2^-s`` is at most

    u (0.37 (d + 2) + 1.43 R + the error of a power)

Squared distances of bytes are exact but for the rounding of the norms in double precision and the last one to
single precision, ``u s``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from svmrepro.solvers.caches.example_tiles import (
    PART,
    Tiles,
    copy,
    gather,
    in_single_precision,
    in_tiles,
    part_end,
    powers_of_one,
    powers_together,
)
from svmrepro.solvers.caches.feature_columns import Panel, build_panel, form
from svmrepro.solvers.compilation.compiled import compiled
from svmrepro.solvers.problem import Problem
from svmrepro.solvers.storage.kernel_transforms import largest_value
from svmrepro.solvers.vector_code.gaussian_tiles import POWER_ERROR
from svmrepro.solvers.vector_code.vector_loops import TILE

SINGLE_ROUNDING, _DOUBLE_ROUNDING = 2.0**-24, 2.0**-53
_MOST_ERROR = 1e-5  # of an entry relative to the largest; above it, rows stay in double precision
_MOST_VALUE = 1e30  # of a kernel value in single precision; its inverse rounds as others do, too
_LOG2_E = 1.0 / math.log(2.0)


def rounds_well(problem: Problem, eps: float, share: float) -> bool:
    """Tell whether rounding the rows to single precision changes the gradient by little relative to eps.

    That is, by at most ``share`` times eps for one multiplier at its bound, and without leaving its range.
    """
    largest = largest_value(problem.kernel, problem.prepare())
    return in_single_range(problem) and float(problem.bounds.max()) * largest * SINGLE_ROUNDING <= share * eps


def in_single_range(problem: Problem) -> bool:
    """Tell whether kernel values are in the range of single precision."""
    return 1.0 / _MOST_VALUE <= largest_value(problem.kernel, problem.prepare()) <= _MOST_VALUE


def may_be_single(problem: Problem) -> bool:
    """Tell whether kernel rows are expensive and not linear, so that single precision may pay off."""
    return problem.kernel.name in ("gaussian", "polynomial") and form(problem) in ("columns", "levels")


def row_error(problem: Problem) -> float:
    """Return a bound on the error of a kernel value in a row in single precision."""
    return float(problem.layout("single rows", _rows_and_error)[1])


def single_panel(problem: Problem) -> Panel:
    """Return the panel for rows in single precision, in the original order."""
    return problem.layout("single rows", _rows_and_error)[0]  # type: ignore[no-any-return]


def _rows_and_error(problem: Problem) -> tuple[Panel, float]:
    panel: Panel = problem.layout("panel", build_panel)
    rounded = panel, SINGLE_ROUNDING * largest_value(problem.kernel, problem.prepare())
    values = panel.tiles.values
    if problem.kernel.name != "gaussian" or problem.differences:
        return rounded
    if panel.tiles.levels.size:
        gamma, (unit, lowest, d, _) = problem.kernel.gamma * _LOG2_E, panel.tiles.scale
        of_norms = 2 * (d + 24) * _DOUBLE_ROUNDING * float(panel.norms.max())
        error = SINGLE_ROUNDING * (0.37 + POWER_ERROR) + gamma * of_norms
        if not error <= _MOST_ERROR:
            return rounded
        return panel._replace(tiles=panel.tiles._replace(scale=np.array([unit, lowest, d, gamma]))), error
    if not values.size:
        return rounded
    tiles, d, _ = values.shape
    X = values.transpose(0, 2, 1).reshape(tiles * TILE, d)[: problem.n]
    X = (X - X.mean(axis=0)) * math.sqrt(problem.kernel.gamma * _LOG2_E)
    radius = math.sqrt(float(np.einsum("ij,ij->i", X, X).max()))
    error = SINGLE_ROUNDING * (0.37 * (d + 2) + 1.43 * radius + POWER_ERROR)
    if not error <= _MOST_ERROR:
        return rounded
    scaled = np.ascontiguousarray(X, dtype=np.float32)
    own: Tiles = panel.tiles._replace(values=values[:0], singles=in_tiles(scaled), scaled=scaled)
    return panel._replace(tiles=own), error


def part_of(panel: Panel, base: Panel, places: Any) -> Panel:
    """Return a panel in double precision of the examples at some positions of the panel in use.

    ``base`` is the problem's own panel, in the original order.
    """
    order = panel.order[places]
    examples = order.astype(np.int64)
    tiles = base.tiles
    if tiles.values.size:
        values = np.empty((-(-examples.size // TILE), *tiles.values.shape[1:]))
        gather(tiles.values, examples, values)
        tiles = tiles._replace(values=values)
    if tiles.levels.size:
        tile, place = examples // TILE, examples % TILE
        count, groups = -(-examples.size // TILE), tiles.levels.shape[1]
        levels, sums = np.zeros((count, groups, TILE, 4), dtype=np.int8), np.zeros(count * TILE)
        at = np.arange(examples.size)
        levels[at // TILE, :, at % TILE] = tiles.levels[tile, :, place]
        sums[at] = tiles.sums[examples]
        tiles = tiles._replace(levels=levels, sums=sums)
    return base._replace(order=order, norms=base.norms[examples], tiles=tiles)


@compiled()
def fill_single(store, panel, block, shape, i, first, last, out):
    """Write ``K(x_i, x_order[k])`` to ``out[k]`` in single precision for first <= k < last."""
    tiles, touched, at = panel.tiles, 0, first
    tiles.mates[0] = i
    if tiles.singles.shape[0] > 0:
        return powers_of_one(tiles, i, first, last, out)
    while at < last:
        end = part_end(at, last)
        if in_single_precision(tiles):
            touched += powers_together(panel, tiles.mates, 1, at, end)
            copy(tiles.powers[0, at % TILE :], out[at:end])
        else:
            part = tiles.part[: end - at]
            touched += block(store, panel, i, at, end, part)
            shape(store, panel, i, at, end, part)
            copy(part, out[at:end])
        at = end
    return touched


assert PART % TILE == 0
