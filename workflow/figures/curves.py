"""A quantity against a parameter, one line per data set: seconds against n, iterations against C or eps.

The panels, one per solver or variant of the experiment, share their axes. A dotted line shows the power law
that the paper draws as a guide. Joachims 2006, Figures 1 to 9.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, MarkerStyle
from matplotlib.transforms import offset_copy
from svmrepro.workflow.analysis.curves import AXES, Point, absent, curve
from svmrepro.workflow.analysis.printed_numbers import TIMINGS
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures.style import GHOST, PAGE, Look, entry, new_figure, powers_of_ten

_SOLID = (("#0b4f8a", "o"), ("#c2410c", "s"), ("#3f7d20", "^"), ("#6b3fa0", "D"), ("#111827", "v"))
_DASHED = (
    ("#2f86d1", "o"), ("#ea7a4b", "s"), ("#6fae4f", "^"), ("#b0218e", "P"), ("#8a6d00", "X"),
    ("#0f8f8f", "d"),
)  # fmt: skip
DATA_SET_LOOKS = tuple(
    Look(colour, marker, line)
    for line, group in (("-", _SOLID), ((0, (4, 1.2)), _DASHED))
    for colour, marker in group
)
"""Looks of the data sets: solid lines for the paper's own in its order, dashed for additional sets."""

DOWN = MarkerStyle(CARETDOWN)
"""Marker of values below the axis."""

BELOW = "below the axis"
"""Legend label of the arrows at the foot of a panel."""

OWN = len(_SOLID)
"""Number of looks for the paper's own sets."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw the panels, with the legend below.

    Settings of the artefact: ``panels``, a list whose entries have ``contender`` and optionally ``title``,
    ``guide`` (exponent of a dotted line) and ``suffix`` (selects the artefact's experiments whose names end
    with it); ``x``, one of `AXES`; ``y``, a quantity of :mod:`svmrepro.workflow.analysis.curves`, default CPU
    seconds, for panels without one of their own; ``label`` of the vertical axis; ``scale``, ``log`` or
    ``linear``; ``floor``, the lower end of the axis, below which values are marked by arrows.
    """
    panels: Sequence[Mapping[str, Any]] = artefact.settings["panels"]
    x = artefact.settings.get("x", "n")
    if x not in AXES:
        raise StepError(f"artefact '{artefact.name}': x: one of {', '.join(AXES)} expected")
    width = PAGE if len(panels) > 1 else 0.66 * PAGE
    figure = new_figure(width, 3.5 if len(panels) > 1 else 3.7)
    # Slopes can only be compared by eye if a decade has the same length in every panel.
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)
    handles: dict[str, Line2D] = {}
    missing: dict[str, str] = {}
    for axes, panel in zip(grid.flat, panels, strict=True):
        shown = draw(axes, results, artefact, panel, x)
        axes.set_title(panel.get("title", display_name(panel["contender"])), loc="left", fontsize=7.5)
        if "guide" in panel:
            symbol = {"n": "n", "C_total": "C", "eps": "\\epsilon"}[x]
            exponent = float(panel["guide"])
            law = rf"$\propto {symbol}" + ("$" if exponent == 1 else f"^{{{exponent:g}}}$")
            axes.set_title(law, loc="right", fontsize=7.5, color="#5f6b76")
        axes.set_xlabel(AXES[x], fontsize=7)
        for name, handle in shown.items():
            handles.setdefault(name, handle)
        for name in _names(results, artefact, panel):
            if name not in shown:
                missing.setdefault(name, absent(results, name, panel["contender"]))
    grid.flat[0].set_ylabel(artefact.settings.get("label", "CPU seconds"))
    order = [name for panel in panels for name in _names(results, artefact, panel) if name in handles]
    # A variant of an experiment shares its look and title.
    titled = {results.experiment(name).title: handles[name] for name in reversed(order)}
    entries = list(reversed(titled.values()))
    if any("guide" in panel for panel in panels):
        entries.append(entry("the paper's guide", color=GHOST, linestyle=(0, (1, 1))))
    entries += _marks(grid.flat)
    note = _note(results, missing, set(handles))
    figure.legend(
        handles=entries,
        loc="outside lower left",
        ncols=4 if len(panels) > 1 else 3,
        fontsize=6.5,
        handlelength=2.6,
        columnspacing=1.2,
        title=note or None,
        title_fontsize=6,
        alignment="left",
    )
    return figure


def draw(
    axes: Axes, results: Results, artefact: Artefact, panel: Mapping[str, Any], x: str
) -> dict[str, Line2D]:
    """Draw one panel; return a legend entry for each experiment with a point in it."""
    handles: dict[str, Line2D] = {}
    everything: list[Point] = []
    shown: dict[str, Sequence[Point]] = {}
    for name in _names(results, artefact, panel):
        quantity = panel.get("y", artefact.settings.get("y", {}))
        points = curve(results, name, panel["contender"], x, quantity)
        if not points:
            continue
        look = _look(results, name)
        everything += points
        shown[name] = points
        middle = [point.y.value for point in points]
        whiskers = np.array([_reach(point) for point in points]).T
        axes.errorbar(
            [point.x for point in points],
            middle,
            yerr=whiskers,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            linewidth=0.9,
            markersize=3.2,
            elinewidth=0.6,
            capsize=0,
        )
        handles[name] = entry(results.experiment(name).title, look, markersize=3.2, linewidth=0.9)
    linear = artefact.settings.get("scale") == "linear"
    if everything:
        if "guide" in panel and not linear:
            _guide(axes, everything, float(panel["guide"]))
        axes.set_xscale("log")
        powers_of_ten(axes.xaxis)
        if linear:
            axes.axhline(0.0, color="#111827", linewidth=0.6, zorder=0)
        else:
            axes.set_yscale("log")
            powers_of_ten(axes.yaxis)
            floor = artefact.settings.get("floor")
            if floor is not None and min(point.y.value for point in everything) < floor:
                axes.set_ylim(floor, 1.6 * max(point.y.value for point in everything))
                _below(axes, floor, [(shown[name], handle.get_color()) for name, handle in handles.items()])
        axes.grid(True)
    return handles


def _below(axes: Axes, floor: float, lines: Iterable[tuple[Sequence[Point], Any]]) -> None:
    """Mark points below the axis with arrows; a logarithmic axis does not show values of zero or less.

    Arrows of several lines at one place stand side by side.
    """
    already: Counter[float] = Counter()
    figure: Any = axes.figure  # or a subfigure, with the same resolution
    for points, colour in lines:
        for x in (point.x for point in points if point.y.value < floor):
            beside = offset_copy(axes.transData, figure, x=6.0 * already[x], units="points")
            already[x] += 1
            axes.plot(
                [x], [floor], linestyle="none", marker=DOWN, color=colour, markersize=5, transform=beside,
                clip_on=False, zorder=4, label=BELOW,
            )  # fmt: skip


def _marks(panels: Iterable[Axes]) -> list[Line2D]:
    """Return the legend entries other than the data sets: interval bars, and arrows below the axis."""
    drawn = list(panels)
    bars = any(
        np.ptp(np.asarray(path.vertices), axis=0)[1] > 0
        for axes in drawn
        for collection in axes.collections
        for path in collection.get_paths()
    )
    below = any(line.get_label() == BELOW for axes in drawn for line in axes.get_lines())
    entries = [entry("95 % interval", color="#555", marker="|", markersize=7)] if bars else []
    return entries + ([entry(BELOW, color="#555", marker=DOWN, markersize=5)] if below else [])


def _names(results: Results, artefact: Artefact, panel: Mapping[str, Any]) -> list[str]:
    """Return the experiments of a panel."""
    suffix = panel.get("suffix", "")
    names = [name for name in artefact.experiments if name.endswith(suffix)]
    others = {str(p.get("suffix")) for p in artefact.settings["panels"] if p.get("suffix", "") != suffix}
    return [name for name in names if suffix or not any(name.endswith(other) for other in others)]


def _look(results: Results, name: str) -> Look:
    """Return the look of an experiment; a data set looks the same in all figures of a paper."""
    own = results.numbers.experiments(TIMINGS)
    for place, printed in enumerate(own):
        if name == printed or name.startswith(f"{printed}-"):
            return DATA_SET_LOOKS[place % OWN]
    sets = list(
        dict.fromkeys(
            entry.dataset
            for entry in results.paper.experiments.values()
            if not any(entry.name == printed or entry.name.startswith(f"{printed}-") for printed in own)
        )
    )
    others = DATA_SET_LOOKS[OWN:]
    return others[sets.index(results.experiment(name).dataset) % len(others)]


def _reach(point: Point) -> tuple[float, float]:
    """Return the distances from a point to the ends of its interval."""
    y = point.y
    if y.low is None or y.high is None:
        return 0.0, 0.0
    return max(0.0, y.value - y.low), max(0.0, y.high - y.value)


def _guide(axes: Axes, points: Sequence[Point], exponent: float) -> None:
    """Draw the paper's power law through the middle of all points."""
    logs = [(math.log(point.x), math.log(point.y.value)) for point in points if point.y.value > 0]
    if not logs:
        return
    first, last = min(a for a, _ in logs), max(a for a, _ in logs)
    level = sum(b - exponent * a for a, b in logs) / len(logs)
    ends = [math.exp(first), math.exp(last)]
    axes.plot(
        ends,
        [math.exp(level) * end**exponent for end in ends],
        color=GHOST,
        linestyle=(0, (1, 1)),
        linewidth=1.4,
        zorder=1,
    )


def _note(results: Results, missing: Mapping[str, str], drawn: set[str]) -> str:
    """Name the data sets without any line, and the reasons."""
    reasons: dict[str, list[str]] = {}
    for name, reason in missing.items():
        if name not in drawn:
            reasons.setdefault(reason, []).append(results.experiment(name).title)
    return "\n".join(f"{', '.join(titles)}: {reason}" for reason, titles in reasons.items())
