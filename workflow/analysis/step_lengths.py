"""Histograms of step lengths as counted by the solvers: bins, and sums over permutations."""

from __future__ import annotations

import json
import math
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
from svmrepro.workflow.analysis.results import Results

LOW, WIDTH = -2.05, 0.1
"""Start of the first bin on the axis of Glasmachers 2008, Figure 3, and width of each bin; one bin is centred
at 0. `svmrepro.solvers.decomposition._second_order_iteration.tally` fills the bins."""

Counts = npt.NDArray[np.int64]


def length(place: float) -> float:
    """Return the step length at a position on the axis: relative to the Newton step, minus 1."""
    return math.copysign(10 ** (place * place / 2) - 1, place)


def edges(bins: int) -> list[float]:
    """Return the edges of the bins on the axis, one more than there are bins."""
    return [LOW + WIDTH * place for place in range(bins + 1)]


def lengths(results: Results, experiment: str, label: str, n: int) -> tuple[Counts, Counts, int]:
    """Return histograms of the unplanned and the planned steps, and the number of runs.

    Both histograms are empty if nothing was counted.
    """
    sums = []
    runs = results.group(experiment, label, n).solved
    for column in ("info.plain_lengths", "info.planned_lengths"):
        counted = [json.loads(run.fields[column]) for run in runs if run.fields.get(column)]
        sums.append([sum(each) for each in zip_longest(*counted, fillvalue=0)])
    plain, planned = np.array(list(zip_longest(*sums, fillvalue=0)), dtype=np.int64).reshape(-1, 2).T
    return plain, planned, len(runs)
