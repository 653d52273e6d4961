"""Exponents of time, of counted work and of the paper, side by side with intervals, one panel per solver."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from svmrepro.workflow.analysis.fits import MEASURED, PAPER
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.style import GHOST, PAGE, Look, bar, entry, new_figure, off_axis, stripes

SERIES = {
    (CPU, MEASURED): ("measured, CPU seconds", Look("#0b4f8a", "o", "-"), 0.24, "#0b4f8a"),
    (WORK, MEASURED): ("measured, counted work", Look("#c2410c", "D", "-"), 0.0, "white"),
    (CPU, PAPER): ("paper, refitted from its table", Look(GHOST, "s", "-"), -0.24, "white"),
}
"""Quantity and source of an exponent -> label, look, height above the experiment's line, face colour."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw a forest plot of the experiments that the paper times (or of all), two columns wide."""
    names = results.shared(artefact.experiments)
    solvers = list(dict.fromkeys(label for name in names for label in results.main(name)))
    figure = new_figure(PAGE, 0.9 + 0.4 * max(len(names), 1))
    if not solvers:
        return figure
    panels = figure.subplots(1, len(solvers), sharey=True, squeeze=False)[0]
    for axes, solver in zip(panels, solvers, strict=True):
        _panel(axes, results, names, solver)
    refitted = any(results.shown_exponent(name, solver, CPU, PAPER) for name in names for solver in solvers)
    handles = [
        entry(label, look, markerfacecolor=face)
        for (_, source), (label, look, _, face) in SERIES.items()
        if refitted or source == MEASURED
    ]
    if any(results.compared(name) for name in names):
        handles.append(entry("paper, as printed", color="#333", marker="|", markersize=9))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=1.6, columnspacing=1.6)
    return figure


def _panel(axes: Axes, results: Results, names: list[str], solver: str) -> None:
    axes.set_xlim(*_range(results, names, solver))
    stripes(axes, range(len(names) - 1, -1, -2))
    for place, name in enumerate(names):
        y = len(names) - 1 - place
        for key, (_, look, offset, face) in SERIES.items():
            exponent = results.shown_exponent(name, solver, *key)
            if exponent is not None:
                bar(axes, y + offset, exponent, look.colour, 1.1)
                if exponent.ends is not None:
                    off_axis(axes, y + offset, exponent.ends, look.colour)
                style: dict[str, Any] = {
                    "color": look.colour,
                    "markersize": 4.5,
                    "markerfacecolor": face,
                    "zorder": 4,
                }
                axes.plot(exponent.value, y + offset, look.marker, **style)
        if results.shown_exponent(name, solver, CPU) is None:
            across = axes.get_yaxis_transform()
            said = "too few sizes" if solver in results.experiment(name).contenders else "n/a"
            axes.text(0.99, y, said, transform=across, ha="right", va="center", fontsize=6, color="#555")
        printed = results.numbers.exponent(name, solver)
        if printed is not None:
            axes.plot([printed] * 2, [y - 0.4, y + 0.4], color="#333", linewidth=1.0, zorder=2)
    axes.set_title(display_name(solver), loc="left")
    axes.set_xlabel("exponent of n")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_yticks(range(len(names)), [results.experiment(name).title for name in reversed(names)])
    axes.tick_params(axis="y", length=0, pad=6)  # room for the arrows
    axes.grid(True, axis="x")


def _range(results: Results, names: list[str], solver: str) -> tuple[float, float]:
    """Return limits that contain all estimates and printed exponents; intervals may extend beyond."""
    fitted = [results.shown_exponent(name, solver, *key) for name in names for key in SERIES]
    values = [exponent.value for exponent in fitted if exponent is not None] or [1.0, 3.0]
    printed = [value for name in names if (value := results.numbers.exponent(name, solver)) is not None]
    low, high = min(values) - 0.6, max(values) + 0.6
    return min([low, *(value - 0.1 for value in printed)]), max([high, *(value + 0.1 for value in printed)])
