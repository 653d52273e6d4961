"""Effect of each setting of a solver: seconds and counted work relative to the default settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, WORK
from svmrepro.workflow.configuration.contender_options import effective_settings
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.axes import off_axis
from svmrepro.workflow.figures.style import DOTS, LOOKS, PAGE, bar, entry, new_figure, stripes
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import FEWEST_SPREAD

TIME_LOOK, WORK_LOOK = LOOKS[0], LOOKS[1]
CROSSED: dict[str, Any] = {"color": "#9db7d1", "marker": "|", "markersize": 7, "markeredgewidth": 1.1}
"""Style of the light blue marks: the same change combined with other settings."""

Drawn = tuple[list[float], list[tuple[float, tuple[float, float]]]]
"""Points on a panel's horizontal axis, and height and ends of each interval."""


@dataclass(frozen=True)
class SettingLine:
    """A line of the figure: the default settings of a solver, or one change of them."""

    solver: str
    contender: str
    """Label of the contender with this change; it is the same in every experiment that has it."""
    changed: tuple[str, ...]
    """Settings that differ from those of the solver's first contender; empty for the first contender."""

    @property
    def first(self) -> bool:
        """Whether this is the line of the solver's default settings."""
        return not self.changed

    @property
    def words(self) -> str:
        """The solver's name, or the changed setting."""
        solver = display_name(self.solver)
        if self.first:
            return solver
        words = display_name(self.contender).removeprefix(f"{solver}, ")
        return "dense inputs" if words == "dense" else words


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw one panel per experiment, two columns wide, with the same lines in all panels.

    Contenders are compared with the first contender of the same solver. The lines show those that differ from
    it in one of the artefact's ``axes`` (settings without effect do not count). Light marks show the same
    change beside other settings, wherever two contenders differ only in it.
    """
    axes: Sequence[str] = artefact.settings["axes"]
    names = list(artefact.experiments)
    lines = lines_of(results, names, axes)
    figure = new_figure(PAGE, 0.95 + 0.19 * len(lines))
    panels = figure.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    drawn = [
        _panel(panel, Options(results, name, axes), lines) for panel, name in zip(panels, names, strict=True)
    ]
    spread = [1.0, *(point for points, _ in drawn for point in points)]
    low, high = min(spread) / 2.5, max(spread) * 2.5
    first = panels[0]
    first.set_xscale("log")
    first.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 50 else (1,)
    ticks = [
        step * 10.0**power for power in range(-4, 7) for step in steps if low <= step * 10.0**power <= high
    ]
    first.xaxis.set_major_locator(FixedLocator(ticks))
    first.xaxis.set_minor_locator(NullLocator())
    first.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for panel, (_, intervals) in zip(panels, drawn, strict=True):
        for height, ends in intervals:
            off_axis(panel, height, ends, TIME_LOOK.colour)
    first.set_ylim(len(lines) - 0.5, -0.5)
    first.set_yticks(range(len(lines)), [line.words for line in lines])
    for tick, line in zip(first.get_yticklabels(), lines, strict=True):
        tick.set_fontweight("bold" if line.first else "normal")
    figure.supxlabel(
        "\N{LEFTWARDS ARROW} cheaper      cost relative to the solver's default settings (1 = same)"
        "      more expensive \N{RIGHTWARDS ARROW}",
        fontsize=8,
    )
    handles = [
        entry("CPU seconds (95 % interval, or both of two)", TIME_LOOK, markersize=4.5),
        entry("counted work", color=WORK_LOOK.colour, marker="D", markersize=3.6, markerfacecolor="white"),
        entry("CPU seconds, the same change with other settings", **CROSSED),
    ]
    low, high = first.get_xlim()
    if any(ends[0] < low or ends[1] > high for _, intervals in drawn for _, ends in intervals):
        handles.append(entry("interval continues", TIME_LOOK, marker=">", markersize=3.5))
    if any(line.contender not in results.experiment(name).contenders for name in names for line in lines):
        handles.append(entry("no such setting", color="#888", marker="_", markersize=5))
    figure.legend(handles=handles, loc="outside upper center", ncols=3, handlelength=1.2, columnspacing=1.8)
    return figure


def lines_of(results: Results, names: Sequence[str], axes: Sequence[str]) -> list[SettingLine]:
    """Return the lines of all panels, solver by solver in the configuration's order."""
    found: dict[str, dict[str, SettingLine]] = {}
    for name in names:
        options = Options(results, name, axes)
        for label, contender in results.experiment(name).contenders.items():
            first = options.first(contender.solver)
            changed = options.changed(first, label)
            if label == first or len(changed) == 1:
                lines = found.setdefault(contender.solver, {})
                lines.setdefault(label, SettingLine(contender.solver, label, changed))
    return [line for lines in found.values() for line in lines.values()]


@dataclass(frozen=True)
class Options:
    """The settings of one experiment's contenders."""

    results: Results
    name: str
    axes: Sequence[str]

    def first(self, solver: str) -> str:
        """Return the first contender of a solver, to which its others are compared."""
        contenders = self.results.experiment(self.name).contenders.values()
        return next(other.label for other in contenders if other.solver == solver)

    def settings(self, label: str) -> dict[str, object]:
        """Return the settings of a contender, with None for settings without effect."""
        experiment = self.results.experiment(self.name)
        return effective_settings(experiment.contenders[label], self.axes, str(experiment.kernel["name"]))

    def changed(self, below: str, above: str) -> tuple[str, ...]:
        """Return the settings in which two contenders differ; those without effect do not count."""
        one, other = self.settings(below), self.settings(above)
        return tuple(
            axis for axis in self.axes if None not in (one[axis], other[axis]) and one[axis] != other[axis]
        )

    def same_change(self, line: SettingLine) -> list[tuple[str, str]]:
        """Return the other pairs (from, to) of contenders that differ by the same change as this line."""
        first, contenders = self.first(line.solver), self.results.experiment(self.name).contenders
        settings = {
            label: self.settings(label) for label, each in contenders.items() if each.solver == line.solver
        }
        (changed,) = line.changed
        start, end = settings[first], settings[line.contender]
        # Folding makes the cache useless, so the unfolded contender of a pair must have the same cache as
        # here.
        fixed = [
            axis for axis in self.axes if axis == changed or (start[axis] is None) != (end[axis] is None)
        ]
        return [
            (below, above)
            for below in settings
            for above in settings
            if (below, above) != (first, line.contender)
            and all(settings[below][axis] == start[axis] for axis in fixed)
            and all(settings[above][axis] == end[axis] for axis in fixed)
            and self.changed(below, above) == line.changed
        ]


def _panel(panel: Axes, options: Options, lines: Sequence[SettingLine]) -> Drawn:
    """Draw one experiment."""
    experiment = options.results.experiment(options.name)
    runs_of = partial(options.results.group, options.name)
    run = [n for n in experiment.sizes if any(runs_of(label, n).runs for label in experiment.contenders)]
    n = max(run or options.results.runs.sizes(options.name) or experiment.sizes)
    drawn: Drawn = ([], [])
    middle: dict[str, Any] = {"transform": panel.get_yaxis_transform(), "ha": "center", "va": "center"}
    stripes(panel, (place for place, line in enumerate(lines) if line.first))
    for place, line in enumerate(lines):
        group = options.results.group(options.name, line.contender, n)
        if line.contender not in experiment.contenders:
            panel.text(0.5, place, "\N{EN DASH}", color="#888", **middle)
        elif group.reason:
            reason = group.reason.removeprefix("not run: ").split(" (")[0]
            note = panel.text(0.5, place, reason, fontsize=5.5, color="#555", **middle)
            note.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # over the line at 1
            note.set_in_layout(False)
        elif line.first:
            seconds = group.median(CPU)
            said = "" if seconds is None else f"1 = {significant(seconds, 2)} s"
            panel.text(0.97, place, said, fontsize=6.5, **{**middle, "ha": "right"})
        else:
            _marks(panel, options, n, place, line, drawn)
    panel.axvline(1.0, color="#333", linewidth=0.8, zorder=1)
    panel.set_title(f"{experiment.title.removesuffix(', options')}\nn = {n:,}", loc="left", fontsize=7.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(True, axis="x")
    return drawn


def _marks(panel: Axes, options: Options, n: int, place: int, line: SettingLine, drawn: Drawn) -> None:
    """Draw the ratios of a line, and add them to ``drawn``."""
    points, intervals = drawn
    ratio = partial(options.results.ratio, options.name, n)
    for below, above in options.same_change(line):
        if (found := ratio(above, below, CPU)) is not None:
            panel.plot(found.value, place - 0.13, zorder=2, linestyle="none", **CROSSED)
            points.append(found.value)
    first = options.first(line.solver)
    for quantity, look, offset, marker, size, face in (
        (CPU, TIME_LOOK, -0.13, "o", 4.5, TIME_LOOK.colour),
        (WORK, WORK_LOOK, 0.2, "D", 3.6, "white"),
    ):
        if (found := ratio(line.contender, first, quantity)) is None:
            continue
        height = place + offset
        values = options.results.ratio_values(options.name, n, line.contender, first, quantity)
        if quantity == CPU and 1 < len(values) < FEWEST_SPREAD:
            panel.plot(values, [height] * len(values), color=look.colour, **DOTS)
            points += values
        elif found.ends is not None and quantity == CPU and len(values) > 1:
            # An interval from few repeats may extend beyond the panel; an arrow then marks it.
            intervals.append((height, found.ends))
            bar(panel, height, found, look.colour, 1.0)
        style: dict[str, Any] = {"color": look.colour, "markerfacecolor": face, "markersize": size}
        panel.plot(found.value, height, marker, zorder=4, **style)
        points.append(found.value)
