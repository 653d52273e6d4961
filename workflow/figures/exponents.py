"""Exponents of time, of counted work and of the paper, side by side with intervals, one panel per solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from svmrepro.workflow.analysis.fits import MEASURED, PAPER
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.axes import off_axis
from svmrepro.workflow.figures.style import BLUE, GHOST, ORANGE, PAGE, Look, bar, entry, new_figure, stripes

SERIES = {
    (CPU, MEASURED): ("measured, CPU seconds", Look(BLUE, "o", "-"), 0.24, BLUE),
    (WORK, MEASURED): ("measured, counted work", Look(ORANGE, "D", "-"), 0.0, "white"),
    (CPU, PAPER): ("paper, refitted from its table", Look(GHOST, "s", "-"), -0.24, "white"),
}
"""Quantity and source of an exponent -> label, look, height above the experiment's line, face colour."""


_WIDEST = 1.0
"""Largest distance by which an interval may exceed all estimates before it is cut off."""


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
    handles = [
        entry(label, look, markerfacecolor=face)
        for key, (label, look, _, face) in SERIES.items()
        if any(results.shown_exponent(name, solver, *key) for name in names for solver in solvers)
    ]
    if any(results.compared(name) for name in names):
        handles.append(entry("paper, as printed", color="#333", marker="|", markersize=9))
    if any(line.get_marker() in ("<", ">") for axes in panels for line in axes.get_lines()):
        handles.append(entry("interval continues", color="#555", marker=">", markersize=3.5, linestyle="-"))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=5,
        handlelength=1.4,
        columnspacing=1.2,
        fontsize=6.5,
    )
    return figure


def _panel(axes: Axes, results: Results, names: list[str], solver: str) -> None:
    axes.set_xlim(*_range(results, names, solver))
    prints = any(results.numbers.exponent(name, solver) is not None for name in names)
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
            here = solver in results.experiment(name).contenders
            said = "too few sizes" if here else "not in the paper" if results.compared(name) else "not run"
            _say(axes, results, name, solver, y, said)
        printed = results.numbers.exponent(name, solver)
        if printed is not None:
            axes.plot([printed] * 2, [y - 0.4, y + 0.4], color="#333", linewidth=1.0, zorder=2)
        elif (
            prints
            and solver in results.compared(name)
            and not results.shown_exponent(name, solver, CPU, PAPER)
        ):
            _say(axes, results, name, solver, y - 0.3, "no exponent in the paper")
    axes.set_title(display_name(solver), loc="left")
    axes.set_xlabel("exponent of n")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_yticks(range(len(names)), [results.experiment(name).title for name in reversed(names)])
    axes.tick_params(axis="y", length=0, pad=6)  # room for the arrows
    axes.grid(True, axis="x")


def _say(axes: Axes, results: Results, name: str, solver: str, y: float, said: str) -> None:
    """Write why a mark is missing from an experiment's line, on the side with more room."""
    at, side = _free_side(axes, [*_drawn(results, name, solver)])
    across: Any = {"transform": axes.get_yaxis_transform(), "ha": side, "va": "center"}
    axes.text(at, y, said, fontsize=6, color="#555", **across)


def _drawn(results: Results, name: str, solver: str) -> Iterator[float]:
    """Yield the positions of marks on an experiment's line: exponents, ends of intervals, the printed one."""
    for key in SERIES:
        if (exponent := results.shown_exponent(name, solver, *key)) is not None:
            yield from (exponent.value, *(exponent.ends or ()))
    if (printed := results.numbers.exponent(name, solver)) is not None:
        yield printed


def _free_side(axes: Axes, places: Sequence[float]) -> tuple[float, Literal["left", "right"]]:
    """Return where a text across a line begins or ends, and its alignment: on the side with more room."""
    low, high = axes.get_xlim()
    left = bool(places) and min(places) - low > high - max(places)
    return (0.02, "left") if left else (0.98, "right")


def _range(results: Results, names: list[str], solver: str) -> tuple[float, float]:
    """Return limits that contain all estimates, printed exponents and the intervals that are not too wide."""
    fitted = [results.shown_exponent(name, solver, *key) for name in names for key in SERIES]
    values = [exponent.value for exponent in fitted if exponent is not None] or [1.0, 3.0]
    printed = [value for name in names if (value := results.numbers.exponent(name, solver)) is not None]
    ends = [end for exponent in fitted if exponent is not None for end in exponent.ends or ()]
    low, high = min(values) - _WIDEST, max(values) + _WIDEST
    shown = [*values, *printed, *(end for end in ends if low <= end <= high)]
    return min(shown) - 0.1, max(shown) + 0.1
