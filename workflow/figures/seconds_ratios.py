"""Solvers on many problems at a glance: their seconds relative to those of one of them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from svmrepro.workflow.analysis.number_text import significant
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, NOT_INSTALLED
from svmrepro.workflow.configuration.model import Artefact, Experiment
from svmrepro.workflow.figures import style
from svmrepro.workflow.figures.style import Look

_COLOURS = ("#4b5563", "#a16207", "#0f766e", "#be185d", "#1d4ed8")
"""Colours of solvers without a look of their own; labels of one solver differ by their markers."""

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
    looks = _looks(experiments)
    others = {label: look for label, look in looks.items() if label != baseline}
    height = 0.16 + 0.075 * len(others)
    figure = style.new_figure(style.PAGE, 1.5 + height * len(experiments))
    axes = figure.subplots()
    panel = _Panel(axes, results, others, baseline)
    style.stripes(axes, range(0, len(experiments), 2))
    absent: dict[str, list[str]] = {}
    for place, experiment in enumerate(experiments):
        for label, reason in _draw(panel, experiment, place).items():
            absent.setdefault(f"{display_name(label)}: {reason}", []).append(experiment.title)
    axes.axvline(1.0, color="#333", linewidth=0.8, zorder=1)
    axes.set_xscale("log")
    style.powers_of_ten(axes.xaxis)
    axes.set_yticks(range(len(experiments)), [_heading(results, each, baseline) for each in experiments])
    axes.set_ylim(len(experiments) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")
    label = (
        f"CPU seconds relative to {display_name(baseline)}'s (further right: slower; bars: 95 % intervals)"
    )
    axes.set_xlabel("\n".join([label, *_notes(absent, len(experiments))]), fontsize=7)
    handles = _key(others, baseline)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7)
    return figure


def _looks(experiments: list[Experiment]) -> dict[str, Look]:
    """Return label -> look: a solver of ours has its own, another one a colour, and a marker per label."""
    looks: dict[str, Look] = {}
    colours: dict[str, str] = {}
    for experiment in experiments:
        for label, contender in experiment.contenders.items():
            if label in style.SOLVER_LOOKS:
                looks[label] = style.SOLVER_LOOKS[label]
            elif label not in looks:
                colour = colours.setdefault(contender.solver, _COLOURS[len(colours) % len(_COLOURS)])
                marker = style.SIDE_MARKERS[len(looks) % len(style.SIDE_MARKERS)]
                looks[label] = Look(colour, marker, "none")
    return looks


def _reached(results: Results, experiment: Experiment, baseline: str) -> int:
    """Return the largest size that the baseline solved, or the largest of all if it solved none."""
    solved = [n for n in experiment.sizes if results.group(experiment.name, baseline, n).solved]
    return max(solved or experiment.sizes)


def _heading(results: Results, experiment: Experiment, baseline: str) -> str:
    n = _reached(results, experiment, baseline)
    seconds = results.group(experiment.name, baseline, n).median(CPU)
    said = "" if seconds is None else f", 1 = {significant(seconds, 2)} s"
    return "\n".join([*textwrap.wrap(experiment.title, 26), f"n = {n:,}{said}"])


def _draw(panel: _Panel, experiment: Experiment, place: int) -> dict[str, str]:
    """Draw the contenders of one problem; return the reasons of those that have no mark."""
    results, name = panel.results, experiment.name
    n = _reached(results, experiment, panel.baseline)
    unit = results.group(name, panel.baseline, n).median(CPU)
    absent: dict[str, str] = {}
    for k, (label, look) in enumerate(panel.looks.items()):
        y = place + _BAND * ((k + 0.5) / len(panel.looks) - 0.5)
        if label not in experiment.contenders:
            continue
        group = results.group(name, label, n)
        ratio = results.ratio(name, n, label, panel.baseline, CPU)
        limit = experiment.contenders[label].time_limit
        if ratio is not None:
            style.bar(panel.axes, y, ratio, look.colour, 0.8)
            panel.axes.plot(ratio.value, y, zorder=4, **_mark(label, look))
        elif unit and limit is not None and "time limit" in group.reason:
            panel.axes.plot(limit / unit, y, ">", color=look.colour, markersize=4.5, zorder=4)
            said = f"{display_name(label)}: over {limit:g} s"
            beside: dict[str, Any] = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
            panel.axes.annotate(said, (limit / unit, y), (5, 0), fontsize=5.5, color=look.colour, **beside)
        else:
            absent[label] = group.briefly or f"{display_name(panel.baseline)} has no seconds"
    return absent


def _mark(label: str, look: Look) -> dict[str, Any]:
    """Return the marker of a contender: filled for a solver of ours, hollow for another one."""
    face = look.colour if label in style.SOLVER_LOOKS else "white"
    return {
        "marker": look.marker,
        "color": look.colour,
        "markerfacecolor": face,
        "markersize": 4.5,
        "linestyle": "none",
        "markeredgewidth": 0.9,
    }


def _key(looks: Mapping[str, Look], baseline: str) -> list[Line2D]:
    line = Line2D([], [], color="#333", linewidth=0.8, label=f"{display_name(baseline)} = 1")
    return [
        line,
        *(Line2D([], [], label=display_name(label), **_mark(label, look)) for label, look in looks.items()),
    ]


def _notes(absent: Mapping[str, list[str]], problems: int) -> list[str]:
    """Say why marks are missing, each reason once; what is not installed in a line of its own."""
    lines, lacking = [], []
    for said, titles in absent.items():
        name, _, reason = said.partition(": ")
        if (found := NOT_INSTALLED.match(reason)) is not None:
            lacking.append(f"{name} ({found[1]})")
        else:
            where = "" if len(titles) == problems else f" on {', '.join(titles)}"
            lines.append(f"{said}{where}")
    if lacking:
        lines.insert(0, f"not installed: {'; '.join(lacking)}")
    return [line for text in lines for line in textwrap.wrap(text, 125)]
