"""A quantity against a parameter, one line per data set: seconds against n, iterations against C or eps.

The panels, one per solver or variant of the experiment, share their axes. A dotted line shows the power law
that the paper draws as a guide. Where a value of the axis is chosen for each size, a further panel shows it.
Joachims 2006, Figures 1 to 9.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, MarkerStyle
from matplotlib.transforms import offset_copy
from svmrepro.workflow.analysis.curves import (
    AXES,
    PERFORMANCE,
    Point,
    absent,
    by_place,
    curve,
    gaps,
    one_example,
)
from svmrepro.workflow.analysis.printed_numbers import OPTIMA, TIMINGS
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact, Quantity
from svmrepro.workflow.figures.axes import powers_of_ten
from svmrepro.workflow.figures.style import (
    BLUE,
    GHOST,
    GREEN,
    HOLLOW,
    INK,
    ORANGE,
    PAGE,
    VIOLET,
    Look,
    cross_flagged,
    entry,
    marks,
    new_figure,
    pairs_of_dots,
    whiskers,
)
from svmrepro.workflow.journal.journal_line import STOPPED
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import Interval

_LETTERS_AN_INCH = 22  # of notes
_SOLID = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (VIOLET, "D"), (INK, "v"))
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

OWN = len(_SOLID)
"""Number of looks for the paper's own sets."""

DOWN = MarkerStyle(CARETDOWN)
BELOW = "below the axis"
"""Marker and legend label of the arrows at the foot of a panel."""

PAPER_POINTS = "the paper's seconds"
PAPER_CHOICE = "the paper's choice"
"""Labels of the paper's own points, which are hollow."""

NEAR = 10
"""Omitted sets are drawn up to this many times the largest size that was run."""

DOTTED = (0, (1, 1))
"""Line style of the paper's guide."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw the panels, with the legend below.

    Settings of the artefact: ``panels``, a list whose entries have ``contender`` and optionally ``title``,
    ``guide`` (exponent of a dotted line) and ``suffix`` (selects the artefact's experiments whose names end
    with it); ``x``, one of `AXES`; ``y``, a quantity of :mod:`svmrepro.workflow.analysis.curves`, default CPU
    seconds, for panels without one of their own; ``label`` of the vertical axis; ``scale``, ``log`` or
    ``linear``; ``floor``, the lower end of the axis, below which values are marked by arrows, on a linear
    axis with the value.
    """
    panels: Sequence[Mapping[str, Any]] = artefact.settings["panels"]
    several, chosen = len(panels) > 1, [panel for panel in panels if _quantity(artefact, panel).best]
    x = artefact.settings.get("x", "n")
    count = len(panels) + bool(chosen)
    lines, columns = (1, count) if count <= 4 else (2, math.ceil(count / 2))
    height = (3.5 if several else 3.7) if lines == 1 else 6.0
    figure = new_figure(PAGE if several else 0.66 * PAGE, height)
    # Slopes can only be compared by eye if a decade has the same length in every panel.
    grid = [figure.add_subplot(lines, columns, 1)]
    shared: dict[str, Any] = {"sharex": grid[0], "sharey": grid[0]}
    grid += [figure.add_subplot(lines, columns, place, **shared) for place in range(2, len(panels) + 1)]
    handles: dict[str, Line2D] = {}
    missing: dict[str, str] = {}
    hollow: dict[str, Line2D] = {}
    printed = x == "n" and "y" not in artefact.settings  # in seconds
    for axes, panel in zip(grid, panels, strict=True):
        shown = draw(axes, results, artefact, panel, x)
        axes.set_title(panel.get("title", display_name(panel["contender"])), loc="left", fontsize=7.5)
        if "guide" in panel:
            symbol = {"n": "n", "C_total": "C", "eps": "\\epsilon"}[x]
            exponent = float(panel["guide"])
            law = rf"$\propto {symbol}" + ("$" if exponent == 1 else f"^{{{exponent:g}}}$")
            axes.set_title(law, loc="right", fontsize=7.5, color="#5f6b76")
        handles = {**shown, **handles}
        if printed and not panel.get("y"):
            hollow |= _paper_points(axes, results, artefact, panel)
        for name in _names(artefact, panel):
            if name not in shown:
                missing.setdefault(name, _absent(results, artefact, panel, name))
    for place, axes in enumerate(grid):
        axes.tick_params(labelleft=place % columns == 0)
        if place % columns == 0:
            axes.set_ylabel(artefact.settings.get("label", "CPU seconds"))
    if chosen:
        axes = figure.add_subplot(lines, columns, count, sharex=grid[0])
        _choice(axes, results, artefact, chosen[0])
        grid.append(axes)
    for place, axes in enumerate(grid):
        lowest = place + columns >= count
        axes.tick_params(labelbottom=lowest)
        axes.set_xlabel(AXES[x] if lowest else "", fontsize=7)
    order = [name for panel in panels for name in _names(artefact, panel) if name in handles]
    # A variant of an experiment shares its look and title.
    titled: dict[str, Line2D] = {}
    for name in order:
        titled.setdefault(results.experiment(name).title, handles[name])
    entries = [*titled.values(), *hollow.values()]
    if any("guide" in panel for panel in panels):
        entries.append(entry("the paper's guide", color=GHOST, linestyle=DOTTED))
    entries += marks(grid)
    if any(line.get_label() == BELOW for axes in grid for line in axes.get_lines()):
        entries.append(entry(BELOW, color="#555", marker=DOWN, markersize=5))
    notes = _notes(results, artefact, {k: v for k, v in missing.items() if k not in handles})
    width = int(_LETTERS_AN_INCH * figure.get_figwidth())
    figure.legend(
        handles=entries,
        handler_map=pairs_of_dots(entries),
        loc="outside lower left",
        ncols=_legend_columns(entries, several),
        fontsize=6.5,
        handlelength=2.6,
        columnspacing=1.2,
        title="\n".join(textwrap.fill(note, width, break_on_hyphens=False) for note in notes) or None,
        title_fontsize=6,
        alignment="left",
    )
    return figure


def draw(
    axes: Axes, results: Results, artefact: Artefact, panel: Mapping[str, Any], x: str
) -> dict[str, Line2D]:
    """Draw one panel; return a legend entry for each experiment with a point in it."""
    quantity = _quantity(artefact, panel)
    names = [name for name in _names(artefact, panel) if not _untested(results, name, quantity)]
    lines = {name: curve(results, name, panel["contender"], x, quantity) for name in names}
    lines = {name: points for name, points in lines.items() if points}
    handles: dict[str, Line2D] = {}
    linear = artefact.settings.get("scale") == "linear"
    for name, points in lines.items():
        look = _look(results, name)
        size: dict[str, Any] = {"markersize": 3.2, "linewidth": 0.9}
        middle = {point.x: point.y for point in points}
        values = {point.x: point.values for point in points if point.values is not None}
        segments: dict[str, Any] = {**size, "elinewidth": 0.6, "capsize": 0, "linestyle": look.line}
        missing = gaps(results, name, panel["contender"], x, quantity)
        for part in _parts(middle, missing, None if linear else artefact.settings.get("floor")):
            whiskers(axes, part, look, values, **segments)
            flagged = [point.x for point in points if point.flagged and point.x in part]
            cross_flagged(axes, [(place, part[place].value) for place in flagged])
        handles[name] = entry(_label(results, name, points, quantity, x), look, **size)
    if not lines:
        return handles
    everything = [point for points in lines.values() for point in points]
    if "guide" in panel and not linear:
        _guide(axes, everything, float(panel["guide"]))
    axes.set_xscale("log")
    powers_of_ten(axes.xaxis)
    least, most = (end(point.y.value for point in everything) for end in (min, max))
    floor = float(artefact.settings.get("floor", -math.inf))
    if linear:
        axes.axhline(0.0, color=INK, linewidth=0.6, zorder=0)
        top = max(most, 0.0) + 0.05 * (max(most, 0.0) - floor)
    else:
        axes.set_yscale("log")
        powers_of_ten(axes.yaxis)
        top = 1.6 * most
    if least < floor:
        axes.set_ylim(floor, top)
        _below(axes, floor, [(lines[k], handle.get_color()) for k, handle in handles.items()], told=linear)
    axes.grid(True)
    return handles


def _choice(axes: Axes, results: Results, artefact: Artefact, panel: Mapping[str, Any]) -> None:
    """Draw the value of the axis that was chosen for each size, one line per data set; the paper's hollow."""
    for name in _names(artefact, panel):
        points = curve(results, name, panel["contender"], "n", _quantity(artefact, panel))
        look = _look(results, name)
        drawn: dict[str, Any] = {"linestyle": look.line, "markersize": 3.2, "linewidth": 0.9}
        at = {point.x: point.at for point in points if point.at is not None}
        axes.plot(list(at), list(at.values()), look.marker, color=look.colour, **drawn)
    for name in results.numbers.experiments(OPTIMA):
        n, best = results.numbers.optimum(name, "C_total") or (math.inf, math.nan)
        if n <= _far(results, artefact):
            axes.plot([n], [best], label=PAPER_CHOICE, **_hollow(_look(results, name)))
    axes.set_yscale("log")
    powers_of_ten(axes.yaxis)
    axes.set_title(f"{display_name(panel['contender'])}: the best C", loc="left", fontsize=7.5)
    axes.set_ylabel("C", fontsize=7)
    axes.grid(True)


def _parts(
    points: Mapping[float, Interval], missing: Iterable[float], floor: float | None
) -> list[dict[float, Interval]]:
    """Split a curve at the places without a point, and at points below the floor.

    A line to a point below the floor would have a meaningless slope.
    """
    parts: list[dict[float, Interval]] = [{}]
    for x in sorted({*points, *missing}):
        if x not in points or (floor is not None and points[x].value < floor):
            parts.append({})
        else:
            parts[-1][x] = points[x]
    return [part for part in parts if part]


def _label(results: Results, name: str, points: Sequence[Point], quantity: Quantity, x: str) -> str:
    """Return the legend label of a curve: its data set; over an axis, the numbers of examples and C too."""
    experiment = results.experiment(name)
    label = experiment.title
    if experiment.axis is not None and not quantity.best:
        label += f", n = {points[-1].n:,}"
        if x != "C_total":
            label += f", C = {experiment.bound(points[-1].n) * points[-1].n:,.10g}"
    if quantity.of == PERFORMANCE and (step := one_example(results, name)) is not None:
        label += f" (1 example: {significant(step, 2)})"
    return label


def _legend_columns(entries: Sequence[Line2D], several: bool) -> int:
    """Return how many columns of the legend fit below one panel, or below several."""
    longest = max((len(str(each.get_label())) for each in entries), default=0)
    return max(1, min(4, (140 if several else 90) // (longest + 8)))


def _paper_points(
    axes: Axes, results: Results, artefact: Artefact, panel: Mapping[str, Any]
) -> dict[str, Line2D]:
    """Draw the paper's seconds on the panel's data sets, hollow; return a legend entry for each set.

    With them come the sets that this scale leaves out, if the paper times the solvers of all panels there
    and they are not so large that they would squash what was measured.
    """
    handles: dict[str, Line2D] = {}
    numbers, known = results.numbers, results.paper.experiments
    solvers = {each["contender"] for each in artefact.settings["panels"]}
    most = _far(results, artefact)
    left_out = [
        name
        for name in numbers.experiments(TIMINGS)
        if name not in known
        and all(0 < max(numbers.series(name, each), default=0) <= most for each in solvers)
    ]
    for name in [*left_out, *_names(artefact, panel)]:
        series = results.numbers.series(name, panel["contender"])
        if series:
            style = _hollow(_look(results, name))
            axes.plot(list(series), [values[0] for values in series.values()], label=PAPER_POINTS, **style)
            title = known[name].title if name in known else results.paper.left_out.get(name, name)
            handles[name] = entry(f"{title}, the paper's", **style)
    return handles


def _far(results: Results, artefact: Artefact) -> int:
    """Return the largest size that does not squash what was measured."""
    return NEAR * max((n for name in artefact.experiments for n in results.runs.sizes(name)), default=0)


def _below(axes: Axes, floor: float, lines: Iterable[tuple[Sequence[Point], Any]], *, told: bool) -> None:
    """Mark points below the axis with arrows; a logarithmic axis does not show values of zero or less.

    With ``told`` the value is written above its arrow.

    Arrows of several lines at one place stand side by side.
    """
    already: Counter[float] = Counter()
    figure: Any = axes.figure  # or a subfigure, with the same resolution
    for points, colour in lines:
        for x, value in ((point.x, point.y.value) for point in points if point.y.value < floor):
            if told:
                said = significant(value, 3).replace("-", "\N{MINUS SIGN}")
                place: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 6}
                axes.annotate(said, (x, floor), (0, 8 + 7 * already[x]), color=colour, **place)
            beside = offset_copy(axes.transData, figure, x=6.0 * already[x], units="points")
            already[x] += 1
            axes.plot(
                [x], [floor], linestyle="none", marker=DOWN, color=colour, markersize=5, transform=beside,
                clip_on=False, zorder=4, label=BELOW,
            )  # fmt: skip


def _quantity(artefact: Artefact, panel: Mapping[str, Any]) -> Quantity:
    """Return what a panel shows: its own quantity, or that of all panels."""
    return Quantity(**panel.get("y", artefact.settings.get("y", {})))


def _names(artefact: Artefact, panel: Mapping[str, Any]) -> list[str]:
    """Return the experiments of a panel: those with its suffix, or with the suffix of no panel."""
    if suffix := panel.get("suffix", ""):
        return [name for name in artefact.experiments if name.endswith(suffix)]
    others = tuple(str(other["suffix"]) for other in artefact.settings["panels"] if other.get("suffix"))
    return [name for name in artefact.experiments if not name.endswith(others)]


def _look(results: Results, name: str) -> Look:
    """Return the look of an experiment; a data set looks the same in all figures of a paper."""
    own = results.numbers.experiments(TIMINGS)

    def place(experiment: str) -> int | None:
        """Return the position of an experiment, or of the one that it varies, among the paper's own sets."""
        return next((at for at, it in enumerate(own) if f"{experiment}-".startswith(f"{it}-")), None)

    if (found := place(name)) is not None:
        return DATA_SET_LOOKS[found % OWN]
    others = (entry for entry in results.paper.experiments.values() if place(entry.name) is None)
    sets = list(dict.fromkeys(entry.dataset for entry in others))
    return DATA_SET_LOOKS[OWN:][sets.index(results.experiment(name).dataset) % len(_DASHED)]


def _hollow(look: Look) -> dict[str, Any]:
    """Return the style of the paper's points of a data set."""
    own = {"marker": look.marker, "markeredgecolor": look.colour, "markersize": 3.5, "markeredgewidth": 0.7}
    return {**HOLLOW, **own}


def _guide(axes: Axes, points: Sequence[Point], exponent: float) -> None:
    """Draw the paper's power law through the middle of all points."""
    logs = [(math.log(point.x), math.log(point.y.value)) for point in points if point.y.value > 0]
    if not logs:
        return
    level = sum(b - exponent * a for a, b in logs) / len(logs)
    ends = [math.exp(end(a for a, _ in logs)) for end in (min, max)]
    law = [math.exp(level) * end**exponent for end in ends]
    axes.plot(ends, law, color=GHOST, linestyle=DOTTED, linewidth=1.4, zorder=1)


def _untested(results: Results, name: str, quantity: Quantity) -> bool:
    """Whether a panel shows performances, and an experiment has none."""
    return quantity.of == PERFORMANCE and not results.experiment(name).measures


def _absent(results: Results, artefact: Artefact, panel: Mapping[str, Any], name: str) -> str:
    """Return in a few words why a data set has no line in a panel."""
    if _untested(results, name, _quantity(artefact, panel)):
        return "has no test part"
    if not results.runs.sizes(name):
        return "not part of this run"
    return absent(results, name, panel["contender"])


def _notes(results: Results, artefact: Artefact, missing: Mapping[str, str]) -> list[str]:
    """Name the data sets without any line, and the reasons; say why lines end early."""
    reasons: dict[str, list[str]] = {}
    present = {results.experiment(name).title for name in artefact.experiments}
    removed = [results.paper.left_out.get(name, name) for name in artefact.left_out]
    if removed := [title for title in removed if title not in present]:
        reasons[f"not part of the {results.scale} scale"] = removed
    for name, reason in missing.items():
        reasons.setdefault(reason, []).append(results.experiment(name).title)
    # An experiment over n and one at the best C have one title.
    notes = [f"{', '.join(dict.fromkeys(titles))}: {reason}" for reason, titles in reasons.items()]
    ended: dict[str, None] = {}
    chosen = False
    for panel in artefact.settings["panels"]:
        quantity = _quantity(artefact, panel)
        stopped = [
            label
            for label in filter(None, (panel["contender"], quantity.rival))
            for name in _names(artefact, panel)
            if not _untested(results, name, quantity)
            for group in by_place(results, name, label).values()
            if group.reason and any(run.status in STOPPED - {"memory_limit"} for run in group.runs)
        ]
        if quantity.best:
            chosen |= bool(stopped)
        else:
            said = (
                "the solver for the optimum" if label == quantity.short_of else display_name(label)
                for label in stopped
            )
            ended |= dict.fromkeys(said)
    notes += [f"Lines end where {' and '.join(ended)} passed a limit of time or steps."] * bool(ended)
    return notes + ["Best C: of those with a run within the limits."] * chosen
