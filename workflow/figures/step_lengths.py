"""Histograms of step lengths relative to the Newton step, on the axis of Glasmachers 2008, Figure 3."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.step_lengths import WIDTH, edges, length, lengths
from svmrepro.workflow.configuration.model import Artefact, Experiment
from svmrepro.workflow.figures.style import GHOST, LOOKS, PAGE, entry, new_figure
from svmrepro.workflow.number_text import plural

COLUMNS = 3


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw one histogram per experiment and size, summed over its permutations.

    Settings of the artefact: ``contender``, which must count its step lengths.
    """
    label = artefact.settings["contender"]
    experiments = [results.experiment(name) for name in artefact.experiments]
    problems = [(experiment, n) for experiment in experiments for n in experiment.sizes]
    lines = math.ceil(len(problems) / COLUMNS)
    figure = new_figure(PAGE, 1.75 * lines + 0.5)
    panels = figure.subplots(lines, min(COLUMNS, len(problems)), sharex=True, squeeze=False)
    for axes, (experiment, n) in zip(panels.flat, problems, strict=False):
        _draw(axes, results, experiment, label, n)
    columns = panels.shape[1]
    for place, axes in enumerate(panels.flat):
        axes.set_visible(place < len(problems))
        lowest = place + columns >= len(problems)
        axes.tick_params(labelbottom=lowest)
        if lowest:
            axes.set_xlabel(
                "step length $\\mu\\,/\\,\\mu^{*} - 1$\n(the paper's axis, fine around 0)", fontsize=7
            )
    for axes in panels[:, 0]:
        axes.set_ylabel("iterations")
    planned = Patch(color=LOOKS[0].colour, label="planned steps")
    others = entry("other steps", color=LOOKS[1].colour, linestyle="-")
    figure.legend(handles=[planned, others], loc="outside lower center", ncols=2)
    return figure


def _draw(axes: Axes, results: Results, experiment: Experiment, label: str, n: int) -> None:
    plain, planned, runs = lengths(results, experiment.name, label, n)
    axes.set_title(f"{experiment.title}, n = {n:,}", loc="left")
    axes.set_yscale("log")
    axes.set_xticks(range(-2, 4), [_tick(t) for t in range(-2, 4)])
    axes.grid(True, axis="y")
    if not plain.size:
        reason = results.group(experiment.name, label, n).reason or "not counted"
        note = axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", color=GHOST, wrap=True)
        note.set_in_layout(False)
        return
    ends = edges(plain.size)
    axes.bar(ends[:-1], planned, WIDTH, align="edge", color=LOOKS[0].colour, linewidth=0)
    axes.stairs(plain, ends, color=LOOKS[1].colour, linewidth=0.9, baseline=0.5)
    axes.set_ylim(bottom=0.5)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.axvline(0, color="#333", linewidth=0.5, linestyle=(0, (1, 2)))
    of_planned, of_plain = int(planned.sum()), int(plain.sum())
    share = 100 * of_planned / max(1, of_planned + of_plain)
    corner: Any = {"ha": "right", "va": "top", "transform": axes.transAxes}
    axes.text(
        0.98, 0.97, f"{plural(runs, 'run')},\n{share:.0f} % planned", fontsize=6.5, color="#444", **corner
    )


def _tick(t: int) -> str:
    """Return the length, minus 1, at a position on the paper's axis."""
    value = abs(length(t))
    text = f"{value:,.1f}" if abs(t) == 1 else f"{value:,.0f}"
    return f"\N{MINUS SIGN}{text}" if t < 0 else text
