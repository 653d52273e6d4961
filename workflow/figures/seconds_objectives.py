"""Seconds against size, and the objective against time: how far a solver is from the optimum after a while.

The gap is ``(P - D(t)) / |P|``, with ``D(t)`` the dual objective that the solver reports and ``P`` the
smallest primal objective among the certificates of all contenders: an upper bound of every ``D``. It needs
``trace: true`` in the experiment. A solver that reports no objective on the way has only an end point.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, Group, MeasuredRun
from svmrepro.workflow.configuration.model import Artefact, Experiment
from svmrepro.workflow.figures import style
from svmrepro.workflow.figures.axes import loglog_axes, powers_of_ten
from svmrepro.workflow.figures.seconds_ratios import looks_of, mark_of
from svmrepro.workflow.figures.style import Look
from svmrepro.workflow.result_files import field_types

LEAST = 1e-12
"""Smallest distance that is drawn: below it rounding decides."""

ROUNDING = 1e-6
"""Relative excess of a trace over the primal objective that rounding may explain."""

STOPPED = "time limit"
"""Entry of the legend for a cross."""

_CROSS: Mapping[str, Any] = {"marker": "x", "markersize": 4, "linestyle": "none"}

Point = tuple[float, float]


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw a line of two panels per experiment: seconds against size, and the objective against time."""
    experiments = [results.experiment(name) for name in artefact.experiments]
    looks = {label: look for label, look in looks_of(experiments).items() if label in results.runs.started}
    drawn = {each.contender for each in results.runs.runs if each.solved or each.timed_out}
    height = 2.5 * len(experiments) + (0.35 + 0.17 * math.ceil(len(drawn) / 4))
    figure = style.new_figure(style.PAGE, height)
    panels = figure.subplots(len(experiments), 2, squeeze=False)
    for (left, right), experiment in zip(panels, experiments, strict=True):
        _draw_sizes(left, results, experiment, looks)
        _draw_trace(right, results, experiment, looks)
    handles = [
        style.entry(display_name(label), **{**mark_of(label, look), "linestyle": "-", "linewidth": 1.0})
        for label, look in looks.items()
        if label in drawn
    ]
    handles += style.marks(panels[:, 0])
    if any(line.get_label() == STOPPED for axes in panels[:, 0] for line in axes.get_lines()):
        handles.append(style.entry(STOPPED, color="#555", **_CROSS))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _draw_sizes(axes: Axes, results: Results, experiment: Experiment, looks: Mapping[str, Look]) -> None:
    """Draw medians of CPU seconds with their intervals; a cross where a contender met its time limit."""
    sizes: set[int] = set()
    heights: list[float] = []
    absent: list[str] = []
    for label, look in looks.items():
        points = {
            n: interval
            for n in experiment.sizes
            if (interval := results.group(experiment.name, label, n).interval(CPU)) is not None
        }
        sizes |= {*points}
        heights += [interval.value for interval in points.values()]
        if points:
            drawn = {**mark_of(label, look), "linestyle": "-", "linewidth": 0.9, "capsize": 0}
            values = {n: results.group(experiment.name, label, n).values(CPU) for n in points}
            style.whiskers(axes, points, look, values, **drawn)
            flagged = [n for n in points if results.group(experiment.name, label, n).all_flagged]
            style.cross_flagged(axes, [(n, points[n].value) for n in flagged])
        elif label in experiment.contenders:
            reason = results.group(experiment.name, label, experiment.sizes[0]).briefly
            absent.append(f"{display_name(label)}: {reason}")
        for n in experiment.sizes:
            limit = experiment.contenders[label].time_limit if label in experiment.contenders else None
            group = results.group(experiment.name, label, n)
            if limit is not None and any(run.timed_out for run in group.runs):
                axes.plot(n, limit, label=STOPPED, color=look.colour, zorder=4, **_CROSS)
                sizes.add(n)
                heights.append(limit)
    if heights:
        loglog_axes(axes, sorted(sizes))
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, min(heights) / 2), max(high, max(heights) * 2))
    if absent:
        axes.text(
            0.98, 0.03, "\n".join(absent), fontsize=6, color="#555", ha="right", transform=axes.transAxes
        )
    axes.set_title(experiment.title, loc="left")
    axes.set_xlabel("training examples")
    axes.set_ylabel("CPU seconds")


def _draw_trace(axes: Axes, results: Results, experiment: Experiment, looks: Mapping[str, Look]) -> None:
    sizes = [
        n for n in experiment.sizes if any(results.group(experiment.name, label, n).solved for label in looks)
    ]
    axes.set_xlabel("CPU seconds")
    axes.set_ylabel("relative gap to the\nbest primal objective")
    if not sizes:
        axes.text(0.5, 0.5, "no certified result", ha="center", transform=axes.transAxes)
        return
    groups = {label: results.group(experiment.name, label, sizes[-1]) for label in looks}
    best = best_primal(groups.values())
    drawn = False
    for label, group in groups.items():
        run = _median_run(group)
        points = [] if run is None or best is None else distances(run, best)
        if points:
            seconds, apart = zip(*points, strict=True)
            look = {**mark_of(label, looks[label]), "linestyle": "-", "linewidth": 1.0}
            axes.plot(seconds, apart, markevery=[-1], zorder=3, **look)
            drawn = True
    axes.set_title(f"{experiment.title}, n = {sizes[-1]:,}", loc="left")
    if drawn:
        axes.set_xscale("log")
        axes.set_yscale("log")
        # Where only ends are known, they can be so close that all labels would be the same number.
        for (low, high), widen in ((axes.get_xlim(), axes.set_xlim), (axes.get_ylim(), axes.set_ylim)):
            margin = math.sqrt(max(1.0, 10 * low / high))
            widen(low / margin, high * margin)
        powers_of_ten(axes.xaxis)
        powers_of_ten(axes.yaxis)
    axes.grid(True)


def best_primal(groups: Any) -> float | None:
    """Return the smallest primal objective of certified runs; None if there is none, or it is 0."""
    found = [value for group in groups for value in group.values("certificate.primal")]
    return min(found, default=None) or None


def distances(run: MeasuredRun, best: float) -> list[Point]:
    """Return (CPU seconds, relative distance) along a run, and at its end as certified.

    A trace with a value above the bound ``best`` is no trace of dual objectives, and is left out.
    """
    points: list[Point] = []
    trace = json.loads(run.fields.get("info.trace") or "[]")
    if any(objective is not None and objective - best > ROUNDING * abs(best) for _, objective in trace):
        trace = []
    for seconds, objective in trace:
        if objective is not None and (seconds or 0.0) >= field_types.LEAST:
            points.append((seconds, max((best - objective) / abs(best), LEAST)))
    end, dual = run.number(CPU), run.number("certificate.dual")
    if end and dual is not None:
        points.append((end, max((best - dual) / abs(best), LEAST)))
    return points


def _median_run(group: Group) -> MeasuredRun | None:
    """Return the certified run whose seconds are the median, the lower one of two."""
    runs = sorted(group.timed, key=lambda run: run.number(CPU) or 0.0)
    return runs[(len(runs) - 1) // 2] if runs else None
