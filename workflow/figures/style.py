"""Looks and sizes of all figures, and how they are saved: legible in one or two columns and in greyscale.

To change one contender, give it a look of its own in ``CONTENDER_LOOKS``: the named looks are shared. Solvers
differ by marker and line style first, and by colour second. Equal numbers give byte-identical SVG
files: no date, fixed identifiers, glyphs as paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerLine2D
from matplotlib.lines import Line2D
from svmrepro.workflow.figures import drawn_data
from svmrepro.workflow.files import atomic_path
from svmrepro.workflow.statistics import FEWEST_SPREAD, Interval

COLUMN, PAGE = 3.5, 7.2
"""Widths in inches: one column, and two columns with the gap between them."""

GHOST = "#8c8c8c"
"""Grey of the paper's numbers."""

MARKER_SIZE, LIGHT_SIZE = 4.5, 2.8
"""Sizes of markers: of points, of what stays in the background."""

HOLLOW: dict[str, Any] = {
    "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": GHOST, "markersize": 4.0, "zorder": 5,
}  # fmt: skip
"""Style of the paper's own points, which lie above ours."""

SETTINGS: dict[Any, Any] = {
    "font.size": 8,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": "#d5d9de",
    "grid.linewidth": 0.3,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": MARKER_SIZE,
    "savefig.facecolor": "white",
    "svg.hashsalt": "svmrepro",
    "svg.fonttype": "path",
    "path.simplify": False,
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
}


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of a series."""

    colour: str
    marker: str
    line: Any


BLUE, ORANGE, GREEN, VIOLET, INK = "#0b4f8a", "#c2410c", "#3f7d20", "#6b3fa0", "#111827"
"""The colours of looks; also for figures that colour by something other than contenders."""

CIRCLES = Look(BLUE, "o", "-")
SQUARES = Look(ORANGE, "s", (0, (5, 2)))
TRIANGLES = Look(GREEN, "^", (0, (1, 1.2)))
DIAMONDS = Look(VIOLET, "D", (0, (5, 1.5, 1, 1.5)))

LOOKS = (CIRCLES, SQUARES, TRIANGLES, DIAMONDS)
"""Looks of the series of a figure, in order of use."""

SIDE_LOOKS = tuple(
    Look(colour, marker, line)
    for colour, marker, line in (
        ("#d55e00", "v", (0, (1, 1.5))),
        ("#009e73", "P", (0, (3, 1.5))),
        ("#7a5195", "X", (0, (1, 1.5))),
        ("#b8860b", "<", (0, (3, 1.5))),
        ("#56a0d3", ">", (0, (1, 1.5))),
        (INK, "*", (0, (3, 1.5))),
        ("#d6438a", "p", (0, (1, 1.5))),
        ("#6b7280", "h", (0, (3, 1.5))),
        ("#5c8a00", "d", (0, (1, 1.5))),
    )
)
"""Looks of additional, lightly drawn series; no two share a colour or a marker."""


CONTENDER_LOOKS = {
    "smo": CIRCLES,
    "chunking": SQUARES,
    "svmlight": TRIANGLES,
    "pasmo": DIAMONDS,
    "csmo": SIDE_LOOKS[3],
    "smo2": SIDE_LOOKS[4],
    "smo-newton": SIDE_LOOKS[5],
}
"""Looks of contenders by label, the same in every figure that colours by contender.

Other contenders get those that none of the figure's has.
"""


def contender_looks(contenders: Iterable[str]) -> dict[str, Look]:
    """Return contender -> look: its fixed look, or one that no other has.

    Once all looks are taken, their colours are combined with other markers.
    """
    labels = list(dict.fromkeys(contenders))
    looks = {label: CONTENDER_LOOKS[label] for label in labels if label in CONTENDER_LOOKS}
    every = (*LOOKS, *SIDE_LOOKS)
    mixed = (
        Look(one.colour, every[(at + shift) % len(every)].marker, one.line)
        for shift in range(len(every))
        for at, one in enumerate(every)
    )
    free = cycle(look for look in mixed if look not in looks.values())
    return {label: looks.get(label) or next(free) for label in labels}


DOTS: dict[str, Any] = {
    "linestyle": "-", "linewidth": 0.6, "marker": ".", "markersize": 3.2, "markeredgewidth": 0, "zorder": 3.5,
}  # fmt: skip
"""Style of two single runs: a dot each, joined by a line without the ends of an interval."""

_PLUS: dict[str, Any] = {
    "linestyle": "none", "marker": "+", "markersize": 7.5, "markeredgewidth": 0.9, "color": "#222",
    "zorder": 6,
}  # fmt: skip

SINGLE_RUNS = "both runs, where there are only two"
"""Legend label of single runs."""

FLAGGED = "all runs flagged for other load"
"""Legend label of the plus sign over such a point."""

INTERVAL = "95 % interval"
"""Legend label of whiskers."""


def entry(label: str, look: Look | None = None, **style: Any) -> Line2D:
    """Return a legend entry, without a line if it has no look; ``style`` overrides or extends the look."""
    shown: dict[str, Any] = {"linestyle": "none"}
    if look is not None:
        shown = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
    return Line2D([], [], label=label, **{**shown, **style})


def whiskers(
    axes: Axes,
    points: Mapping[Any, Interval],
    look: Look,
    values: Mapping[Any, Sequence[float]] | None = None,
    **style: Any,
) -> None:
    """Draw estimates by position on the horizontal axis, with their intervals as whiskers.

    Where an estimate rests on fewer than three ``values``, these are drawn as dots in place of the interval,
    which would add little.
    """
    few = {
        x: tuple(found) for x, found in (values or {}).items() if x in points and len(found) < FEWEST_SPREAD
    }
    middle = [y.value for y in points.values()]
    ends = [(y.value, y.value) if x in few else y.ends or (y.value, y.value) for x, y in points.items()]
    reach = [(value - low, high - value) for value, (low, high) in zip(middle, ends, strict=True)]
    shown = {"color": look.colour, "marker": look.marker, **style}
    axes.errorbar(list(points), middle, yerr=np.array(reach).T, **shown)
    for x, found in few.items():
        if len(found) > 1:
            axes.plot([x] * len(found), found, color=look.colour, label=SINGLE_RUNS, **DOTS)


def cross_flagged(axes: Axes, points: Iterable[tuple[float, float]]) -> None:
    """Draw a plus sign over points whose runs are all flagged."""
    for x, y in points:
        axes.plot([x], [y], label=FLAGGED, **_PLUS)


def marks(panels: Iterable[Axes]) -> list[Line2D]:
    """Return legend entries for the whiskers, single runs and flagged points of any of the panels."""
    drawn = list(panels)
    bars = any(
        np.ptp(np.asarray(path.vertices), axis=0)[1] > 0
        for axes in drawn
        for collection in axes.collections
        for path in collection.get_paths()
    )
    labels = {line.get_label() for axes in drawn for line in axes.get_lines()}
    entries = [entry(INTERVAL, color="#555", marker="|", markersize=7)] if bars else []
    entries += [entry(SINGLE_RUNS, color="#555", **DOTS)] if SINGLE_RUNS in labels else []
    return entries + ([entry(FLAGGED, **_PLUS)] if FLAGGED in labels else [])


def pairs_of_dots(handles: Iterable[Line2D]) -> dict[Any, Any]:
    """Return the ``handler_map`` of a legend in which single runs are two dots, as in the figure."""
    return {handle: HandlerLine2D(numpoints=2) for handle in handles if handle.get_label() == SINGLE_RUNS}


def bar(axes: Axes, y: float, interval: Interval, colour: str, linewidth: float) -> None:
    """Draw an interval as a horizontal line; nothing if it has no ends."""
    if interval.ends is not None:
        axes.plot(interval.ends, [y, y], color=colour, linewidth=linewidth, zorder=3)


def stripes(axes: Axes, lines: Iterable[float]) -> None:
    """Shade the background of some lines of a panel whose lines are 1 apart."""
    for y in lines:
        axes.axhspan(y - 0.5, y + 0.5, color="#f3f5f7", zorder=0, linewidth=0)


def styled() -> AbstractContextManager[None]:
    """Return a context in which `SETTINGS` apply."""
    return mpl.rc_context(SETTINGS)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of the given size in inches, with automatic layout."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path, form: str) -> None:
    """Write a figure as "svg" or "png" (300 dots per inch), or its numbers as "json".

    Nothing in it depends on the run. The numbers can only be written once the figure has been drawn.
    """
    if form == "json":
        path.write_text(drawn_data.to_json(figure), encoding="utf-8")
        return
    metadata = {"Date": None, "Creator": "svmrepro"} if form == "svg" else {"Software": None}
    figure.savefig(path, format=form, dpi=300, metadata=metadata)


def write(figure: Figure, files: Mapping[str, Path]) -> None:
    """Write a figure in several forms; the layout is computed once, for the first form."""
    for form, path in files.items():
        with atomic_path(path) as temporary:
            save(figure, temporary, form)
        # Not "none": an engine, even one that does nothing, costs one more drawing without output.
        figure.set_layout_engine(None)
