"""Solvers on many problems at a glance: their seconds relative to those of one of them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, NOT_INSTALLED
from svmrepro.workflow.configuration.model import Artefact, Experiment
from svmrepro.workflow.figures import style
from svmrepro.workflow.figures.axes import off_axis, powers_of_ten
from svmrepro.workflow.figures.style import Look
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import FEWEST_SPREAD, Interval

_COLOURS = ("#4b5563", "#a16207", "#0f766e", "#be185d", "#1d4ed8")
_MARKERS = ("s", "^", "v", "h", "d", "p", "P", "X")
_LINES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))
"""Looks of solvers without one of their own: a colour per solver, a marker per label, and a line per label
among those of one solver."""

_BAND = 0.8
"""Share of a problem's height over which its solvers are spread."""


@dataclass(frozen=True)
class _Panel:
    """What is drawn: one band per problem, one mark per contender."""

    axes: Axes
    results: Results
    looks: Mapping[str, Look]
    baseline: str


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw a line per experiment, at the largest size that the baseline reached; a dot per contender.

    Setting of the artefact: ``baseline``, the contender to whose seconds the others' are compared.
    """
    baseline: str = artefact.settings["baseline"]
    experiments = [results.experiment(name) for name in artefact.experiments]
    looks = {label: look for label, look in looks_of(experiments).items() if label != baseline}
    # Contenders that never ran take no room.
    panel_looks = {label: look for label, look in looks.items() if label in results.runs.started}
    height = max(0.3, 0.1 + 0.085 * len(panel_looks))
    figure = style.new_figure(style.PAGE, 1.5 + height * len(experiments))
    axes = figure.subplots()
    panel = _Panel(axes, results, panel_looks, baseline)
    style.stripes(axes, range(0, len(experiments), 2))
    axes.axvline(1.0, color="#333", linewidth=0.8, zorder=1)
    axes.set_xscale("log")
    absent: dict[str, dict[str, list[str]]] = {}
    bars: list[tuple[float, Interval, str]] = []
    for place, experiment in enumerate(experiments):
        for label, reason in _draw(panel, experiment, place, bars).items():
            absent.setdefault(reason, {}).setdefault(display_name(label), []).append(experiment.title)
    # Intervals from few repeats can be wider than all points together: arrows mark where they are cut off.
    axes.set_xlim(*axes.get_xlim())
    for y, ratio, colour in bars:
        style.bar(axes, y, ratio, colour, 0.8)
        off_axis(axes, y, ratio.ends or (ratio.value, ratio.value), colour)
    powers_of_ten(axes.xaxis)
    axes.set_yticks(range(len(experiments)), [_heading(results, each, baseline) for each in experiments])
    axes.set_ylim(len(experiments) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")
    label = f"CPU seconds relative to {display_name(baseline)}'s (further right: slower)"
    bars_said = "Bars: 95 % intervals, arrows: they go on; two dots: both of two ratios; neither: one pair"
    axes.set_xlabel("\n".join([label, bars_said, *_notes(results, looks, absent)]), fontsize=7)
    drawn = {line.get_label() for line in axes.get_lines()}
    handles = _key(
        {label: look for label, look in panel_looks.items() if display_name(label) in drawn}, baseline
    )
    handles += [each for each in style.marks([axes]) if each.get_label() == style.FLAGGED]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=7)
    return figure


def looks_of(experiments: list[Experiment]) -> dict[str, Look]:
    """Return label -> look: a solver of ours has its own, another one a colour, and a marker per label."""
    contenders = {label: each for experiment in experiments for label, each in experiment.contenders.items()}
    looks: dict[str, Look] = {}
    colours: dict[str, str] = {}
    for label, contender in contenders.items():
        if label in style.CONTENDER_LOOKS:
            looks[label] = style.CONTENDER_LOOKS[label]
            continue
        colour = colours.setdefault(contender.solver, _COLOURS[len(colours) % len(_COLOURS)])
        marker = _MARKERS[sum(each not in style.CONTENDER_LOOKS for each in looks) % len(_MARKERS)]
        alike = sum(each.colour == colour for each in looks.values())
        looks[label] = Look(colour, marker, _LINES[alike % len(_LINES)])
    return looks


def _reached(results: Results, experiment: Experiment, baseline: str) -> int:
    """Return the largest size that the baseline solved, or the largest of all if it solved none."""
    return results.largest_solved(experiment.name, baseline) or max(experiment.sizes)


def _heading(results: Results, experiment: Experiment, baseline: str) -> str:
    n = _reached(results, experiment, baseline)
    seconds = results.group(experiment.name, baseline, n).median(CPU)
    said = "" if seconds is None else f", 1 = {significant(seconds, 2)} s"
    return "\n".join([*textwrap.wrap(experiment.title, 26), f"n = {n:,}{said}"])


def _draw(
    panel: _Panel, experiment: Experiment, place: int, bars: list[tuple[float, Interval, str]]
) -> dict[str, str]:
    """Draw the contenders of a problem, add their intervals to the bars; return why marks are missing."""
    results, name = panel.results, experiment.name
    n = _reached(results, experiment, panel.baseline)
    unit = results.group(name, panel.baseline, n).median(CPU)
    absent: dict[str, str] = {}
    for k, (label, look) in enumerate(panel.looks.items()):
        if label not in experiment.contenders:
            continue
        y = place + _BAND * ((k + 0.5) / len(panel.looks) - 0.5)
        reason = results.group(name, label, n).briefly
        ratio = results.ratio(name, n, label, panel.baseline, CPU)
        limit = experiment.contenders[label].time_limit
        if ratio is not None:
            panel.axes.plot(ratio.value, y, zorder=4, label=display_name(label), **mark_of(label, look))
            groups = [results.group(name, each, n) for each in (label, panel.baseline)]
            if any(group.all_flagged for group in groups):
                style.cross_flagged(panel.axes, [(ratio.value, y)])
            values = results.ratio_values(name, n, label, panel.baseline, CPU)
            if len(values) >= FEWEST_SPREAD:
                bars.append((y, ratio, look.colour))
            elif len(values) > 1:  # two ratios are drawn themselves: their interval adds little
                dots = {**style.DOTS, "color": look.colour}
                panel.axes.plot(values, [y] * len(values), label=style.SINGLE_RUNS, **dots)
        elif unit and limit is not None and "time limit" in reason:
            panel.axes.plot(limit / unit, y, ">", color=look.colour, markersize=4.5, zorder=4)
            said = f"{display_name(label)}: over {limit:g} s "
            beside: dict[str, Any] = {"textcoords": "offset points", "va": "center", "ha": "right"}
            panel.axes.annotate(said, (limit / unit, y), (-3, 0), fontsize=5.5, color=look.colour, **beside)
        elif not NOT_INSTALLED.match(reason):
            if reason and results.largest_solved(name, label) is None:
                # It failed before it had to stop taking part; the table of peers says the same.
                reason = results.group(name, label, min(experiment.sizes)).briefly
            absent[label] = reason or f"{display_name(panel.baseline)} has no seconds"
    return absent


def mark_of(label: str, look: Look) -> dict[str, Any]:
    """Return the marker of a contender: filled for a solver of ours, hollow for another one."""
    face = look.colour if label in style.CONTENDER_LOOKS else "white"
    return {
        "marker": look.marker,
        "color": look.colour,
        "markerfacecolor": face,
        "markersize": 4.5,
        "linestyle": "none",
        "markeredgewidth": 0.9,
    }


def _key(looks: Mapping[str, Look], baseline: str) -> list[Line2D]:
    line = style.entry(f"{display_name(baseline)} = 1", color="#333", linewidth=0.8, linestyle="-")
    return [
        line,
        *(style.entry(display_name(label), **mark_of(label, look)) for label, look in looks.items()),
    ]


def _notes(
    results: Results, looks: Mapping[str, Look], absent: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[str]:
    """Say why marks are missing: first what is not installed, with its package, then each other reason."""
    packages: dict[str, list[str]] = {}
    for label in looks:
        reasons = [run.fields.get("reason", "") for run in results.runs.runs if run.contender == label]
        found = next(filter(None, map(NOT_INSTALLED.match, reasons)), None)
        if found is not None:
            packages.setdefault(found[1], []).append(display_name(label))
    lacking = [f"{', '.join(labels)} ({package})" for package, labels in packages.items()]
    notes = [f"Not installed: {'; '.join(lacking)}"] if lacking else []
    for reason, titles in absent.items():
        said = "; ".join(f"{label} ({'; '.join(of)})" for label, of in titles.items())
        notes.append(f"{reason[0].upper()}{reason[1:]}: {said}")
    return [line for note in notes for line in textwrap.wrap(note, 110, break_on_hyphens=False)]
