"""Exponents of time, of counted work and of the paper, side by side with intervals, one panel per solver."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.style import GHOST, PAGE, Look, entry, new_figure, off_axis


@dataclass(frozen=True)
class _Series:
    label: str
    look: Look
    offset: float
    face: str


SERIES = (
    _Series("measured, CPU seconds", Look("#0b4f8a", "o", "-"), 0.24, "#0b4f8a"),
    _Series("measured, counted work", Look("#c2410c", "D", "-"), 0.0, "white"),
    _Series("paper, refitted from its table", Look(GHOST, "s", "-"), -0.24, "white"),
)


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
    refits = [results.paper_fit(name, solver) for name in names for solver in solvers]
    handles = _handles(
        paper=any(results.compared(name) for name in names),
        refitted=any(fit is not None and fit.exponent is not None for fit in refits),
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=1.6, columnspacing=1.6)
    return figure


def _panel(axes: Axes, results: Results, names: list[str], solver: str) -> None:
    low, high = _range(results, names, solver)
    axes.set_xlim(low, high)
    for place, name in enumerate(names):
        y = len(names) - 1 - place
        if place % 2 == 0:
            axes.axhspan(y - 0.5, y + 0.5, color="#f3f5f7", zorder=0, linewidth=0)
        time, work, paper = (
            results.fit(name, solver, CPU), results.fit(name, solver, WORK), results.paper_fit(name, solver)
        )  # fmt: skip
        for series, fit in zip(SERIES, (time, work, paper), strict=True):
            if fit is not None and fit.exponent is not None:
                _mark(axes, series, fit.exponent, y)
        if time is None or time.exponent is None:
            across = axes.get_yaxis_transform()
            said = "not fitted" if solver in results.experiment(name).contenders else "n/a"
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
    fits = [
        fit
        for name in names
        for fit in (
            results.fit(name, solver, CPU),
            results.fit(name, solver, WORK),
            results.paper_fit(name, solver),
        )
    ]
    values = [fit.exponent.value for fit in fits if fit is not None and fit.exponent is not None] or [
        1.0,
        3.0,
    ]
    printed = [value for name in names if (value := results.numbers.exponent(name, solver)) is not None]
    low, high = min(values) - 0.6, max(values) + 0.6
    return min([low, *(value - 0.1 for value in printed)]), max([high, *(value + 0.1 for value in printed)])


def _mark(axes: Axes, series: _Series, exponent: Interval, y: float) -> None:
    height, colour = y + series.offset, series.look.colour
    if exponent.low is not None and exponent.high is not None:
        axes.plot([exponent.low, exponent.high], [height] * 2, color=colour, linewidth=1.1, zorder=3)
        off_axis(axes, height, (exponent.low, exponent.high), colour)
    axes.plot(
        exponent.value,
        height,
        marker=series.look.marker,
        color=colour,
        markersize=4.5,
        markerfacecolor=series.face,
        linestyle="none",
        zorder=4,
    )


def _handles(*, paper: bool, refitted: bool) -> list[Line2D]:
    """Return the legend entries; those of the paper only if it has numbers, and enough of them for a fit."""
    handles = [
        entry(series.label, series.look, markerfacecolor=series.face)
        for series in (SERIES if refitted else SERIES[:-1])
    ]
    return handles + ([entry("paper, as printed", color="#333", marker="|", markersize=9)] if paper else [])
