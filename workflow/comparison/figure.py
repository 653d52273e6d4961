"""Figure comparing two runs of a paper: ratios between contenders, and counts.

Left: one point per pair of contenders and problem, the ratio of their seconds in the other run and in this
one, with 95 % intervals, which are cut off at the edge where they are wide. On the diagonal both runs agree.
Right: for each contender, the ratio of its counts in this run to those in the other; the median over the rows
with its interval, and thin lines to the extremes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from svmrepro.workflow.analysis.results import display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.comparison.paired_runs import PairedRuns
from svmrepro.workflow.figures.style import GHOST, LOOKS, PAGE, Look, bar, entry, new_figure, stripes
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.result_files.measurement_columns import LABELS
from svmrepro.workflow.statistics import median_interval

COUNT_MARKS = {"iterations": 0.25, "kernel_evaluations": 0.0, WORK: -0.25}
"""Count -> height of its mark above the contender's line."""

NARROWEST = 0.02
"""Minimum range of the axis of counts on either side of 1; smaller differences cannot be seen."""

MOST_NAMED = 26
"""Maximum number of contenders in one panel; if there are more, those that differ most are shown."""


def build(pair: PairedRuns, paper: str) -> Figure:
    """Draw the figure of one paper, two columns wide."""
    found = _counts(pair, paper)
    figure = new_figure(PAGE, max(3.1, 0.9 + 0.19 * len(found)))
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
    _ratios(left, pair, paper)
    _bars(right, found)
    return figure


def _ratios(axes: Axes, pair: PairedRuns, paper: str) -> None:
    """Draw the ratios of seconds to each experiment's first contender; other pairs would be redundant."""
    both = {key: found for key, found in pair.ratios.items() if key[0] == paper and key[-1] == CPU}
    first: dict[str, str] = {}
    for key in both:
        first.setdefault(key[1], key[4])
    points = [found for key, found in both.items() if key[4] == first[key[1]]]
    axes.set_title("Seconds: ratios within each run", loc="left")
    if not points:
        _nothing(axes, "no ratio in both runs")
        return
    look = LOOKS[0]
    lines = []
    for here, there in points:
        lines.append([(end, here.value) for end in there.ends or (there.value, there.value)])
        lines.append([(there.value, end) for end in here.ends or (here.value, here.value)])
    thin = 0.3 if len(points) > MOST_NAMED else 0.6
    axes.add_collection(LineCollection(lines, colors=look.colour, linewidths=0.4, alpha=thin, zorder=2))
    across, up = [there.value for _, there in points], [here.value for here, _ in points]
    axes.plot(across, up, look.marker, color=look.colour, markersize=2.8, zorder=3)
    values = [*across, *up]
    low, high = min(values) / 1.6, max(values) * 1.6
    axes.plot([low, high], [low, high], color=GHOST, linewidth=0.8, zorder=1)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(base=10, subs=(1.0,) if high / low > 30 else (1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_aspect("equal", adjustable="box")
    axes.grid(True)
    axes.set_xlabel("other run")
    axes.set_ylabel("this run")


def _counts(pair: PairedRuns, paper: str) -> dict[str, dict[str, list[float]]]:
    """Return contender -> count -> ratios of its rows; if there are many, only those farthest from 1."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in pair.rows:
        for name in COUNT_MARKS if row.key[0] == paper and row.pairs else ():
            if (ratio := row.ratio(name)) is not None:
                found.setdefault(row.key[3], {}).setdefault(name, []).append(ratio.value)
    kept = sorted(found, key=lambda label: -_off(found[label]))[:MOST_NAMED]
    return {label: of for label, of in found.items() if label in kept}


def _off(counts: Mapping[str, Sequence[float]]) -> float:
    """Return the largest difference of a ratio from 1."""
    return max(abs(value - 1) for values in counts.values() for value in values)


def _bars(axes: Axes, found: dict[str, dict[str, list[float]]]) -> None:
    axes.set_title("Counts: this run over the other", loc="left")
    if not found:
        _nothing(axes, "no measurement in both runs")
        return
    reach = max(1.1 * max(map(_off, found.values())), NARROWEST)
    stripes(axes, range(len(found) - 1, -1, -2))
    for place, counts in enumerate(found.values()):
        for look, (name, height) in zip(LOOKS, COUNT_MARKS.items(), strict=False):
            if name in counts:
                _range(axes, counts[name], len(found) - 1 - place + height, look)
    axes.axvline(1.0, color=GHOST, linewidth=0.8, zorder=1)
    if reach < 0.9:
        axes.set_xlim(1 - reach, 1 + reach)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    else:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value) if value > 0 else ""))
    axes.set_ylim(-0.5, len(found) - 0.5)
    axes.set_yticks(range(len(found)), [display_name(label) for label in reversed(found)], fontsize=6)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")
    handles = [
        entry(LABELS[name], look, linestyle="-", markersize=3.5, linewidth=1.1)
        for look, name in zip(LOOKS, COUNT_MARKS, strict=False)
    ]
    axes.figure.legend(handles=handles, loc="outside lower right", ncols=3, handlelength=1.6)


def _range(axes: Axes, values: Sequence[float], y: float, look: Look) -> None:
    middle = median_interval(values)
    axes.plot([min(values), max(values)], [y, y], color=look.colour, linewidth=0.5, alpha=0.6, zorder=2)
    bar(axes, y, middle, look.colour, 1.6)
    axes.plot(middle.value, y, look.marker, markersize=3, color=look.colour, zorder=4)


def _nothing(axes: Axes, said: str) -> None:
    axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", va="center", color="#555")
    axes.set_axis_off()
