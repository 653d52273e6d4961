"""Warm and cold starts over a grid of C and gamma: ratio of seconds cell by cell, and cumulative seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate
from statistics import median

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from svmrepro.workflow.analysis.grids import Place, SolvedCell, cells, grid_runs
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.axes import powers_of_ten
from svmrepro.workflow.figures.style import PAGE, Look, contender_looks, entry, new_figure

MOST = 32.0
"""Largest ratio of the colour scale, whose smallest one is its inverse."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw two panels per data set, at its largest size.

    Left, the seconds of the second contender (cold starts) over those of the first (warm starts) in each
    cell; right, cumulative seconds of all contenders in the order in which cells are solved.
    """
    names = list(artefact.experiments)
    figure = new_figure(PAGE, 2.5 * len(names) + 0.5)
    panels = figure.subplots(len(names), 2, squeeze=False, width_ratios=(1.0, 1.15))
    looks = contender_looks(label for name in names for label in results.experiment(name).contenders)
    shown: dict[str, Look] = {}
    drawn: list[Mapping[Place, SolvedCell]] = []
    for name, (left, right) in zip(names, panels, strict=True):
        experiment = results.experiment(name)
        n = experiment.sizes[-1]
        found = {}
        for label in experiment.contenders:
            runs = grid_runs(results.group(name, label, n))
            if runs:
                each = [cells(run) for run in runs]
                found[label] = {place: _middle(place, each) for place in each[0]}
        cold, warm = (display_name(label) for label in list(experiment.contenders)[1::-1])
        title = f"{experiment.title}, n = {n:,}\nseconds, {cold} / {warm}"
        _ratios(left, [found.get(label, {}) for label in list(experiment.contenders)[:2]], title)
        drawn += found.values()
        for label, own in found.items():
            seconds = list(accumulate(cell.seconds for cell in own.values()))
            look = shown.setdefault(label, looks[label])
            right.plot(range(1, len(seconds) + 1), seconds, color=look.colour, linestyle=look.line)
            failed = [place for place, cell in enumerate(own.values()) if not cell.certified]
            right.plot(
                [place + 1 for place in failed], [seconds[place] for place in failed], "x", color=look.colour
            )
        right.set_yscale("log")
        powers_of_ten(right.yaxis)
        title = f"{experiment.title}\nCPU seconds against cells done"
        right.set_title(title, loc="left", fontsize=7.5)
        right.set_xlabel("cells done, certified or not", fontsize=7)
        right.set_ylabel("CPU seconds", fontsize=7)
        right.grid(True)
    handles = [entry(display_name(label), look, marker="") for label, look in shown.items()]
    if any(not cell.certified for own in drawn for cell in own.values()):
        handles.append(entry("not certified", color="#333", marker="x"))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, handlelength=2.6)
    return figure


def _middle(place: Place, runs: list[Mapping[Place, SolvedCell]]) -> SolvedCell:
    """Return a cell with the median of its seconds."""
    own = [run[place] for run in runs]
    return SolvedCell(
        all(cell.certified for cell in own), median(cell.seconds for cell in own), own[0].iterations
    )


def _ratios(axes: Axes, both: list[Mapping[Place, SolvedCell]], title: str) -> None:
    """Draw the ratio of seconds of two contenders, cold over warm, as a heat map with numbers."""
    warm, cold = both
    axes.set_title(title, loc="left", fontsize=7.5)
    widths = sorted({gamma for gamma, _ in warm})
    bounds = sorted({C for _, C in warm})
    values = np.full((len(bounds), len(widths)), math.nan)
    for (gamma, C), cell in warm.items():
        other = cold.get((gamma, C))
        if other is not None and cell.certified and other.certified and cell.seconds > 0:
            values[bounds.index(C), widths.index(gamma)] = other.seconds / cell.seconds
    if not np.isfinite(values).any():
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", fontsize=7)
        return
    norm = LogNorm(1 / MOST, MOST, clip=True)
    axes.pcolormesh(values, cmap="RdBu", norm=norm, edgecolors="white", linewidth=0.8)
    for (row, column), value in np.ndenumerate(values):
        digits = 2 if value < 0.995 else 1 if value < 9.95 else 0
        text = "×" if math.isnan(value) else f"{value:.{digits}f}"
        dark = not math.isnan(value) and abs(math.log(value)) > 0.6 * math.log(MOST)
        axes.text(
            column + 0.5,
            row + 0.5,
            text,
            ha="center",
            va="center",
            fontsize=5.5,
            color="white" if dark else "#222",
        )
    axes.set_xticks(np.arange(len(widths)) + 0.5, [_power(gamma) for gamma in widths], fontsize=6)
    axes.set_yticks(np.arange(len(bounds)) + 0.5, [_power(C) for C in bounds], fontsize=6)
    axes.set_xlabel("gamma (blue: the ratio is above 1, red: below)", fontsize=7)
    axes.set_ylabel("C", fontsize=7)


def _power(value: float) -> str:
    """Return a power of two as such, other numbers plainly."""
    exponent = math.log2(value)
    return f"$2^{{{round(exponent)}}}$" if abs(exponent - round(exponent)) < 1e-9 else f"{value:g}"
