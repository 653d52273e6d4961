"""Histograms of the lengths of steps, as solvers count them: bins, and sums over the permutations."""

from __future__ import annotations

import json
import math

import numpy as np
import numpy.typing as npt
from svmrepro.workflow.analysis.results import Results

LOW, WIDTH = -2.05, 0.1
"""Where the first bin begins on the axis of Glasmachers 2008, Figure 3, and how wide each is; one of them has
its middle at 0. (`svmrepro.solvers.decomposition.second_order_iteration.tally` fills them.)"""

COUNTS = npt.NDArray[np.int64]


def length(place: float) -> float:
    """Return the length at a place of the axis, relative to Newton's step, less 1."""
    return math.copysign(10 ** (place * place / 2) - 1, place)


def edges(bins: int) -> list[float]:
    """Return the ends of the bins on the axis, one more than there are bins."""
    return [LOW + WIDTH * place for place in range(bins + 1)]


def lengths(results: Results, experiment: str, label: str, n: int) -> tuple[COUNTS, COUNTS, int]:
    """Return the counts of steps that were not planned and of those that were, and of how many runs.

    Both are empty where nothing was counted.
    """
    sums = []
    runs = results.group(experiment, label, n).solved
    for column in ("info.plain_lengths", "info.planned_lengths"):
        counted = [json.loads(run.fields[column]) for run in runs if run.fields.get(column)]
        sums.append(np.array(counted or [[]], dtype=np.int64).sum(axis=0))
    return sums[0], sums[1], len(runs)
