"""Planning ahead with several working sets: mean time and iterations, relative to one working set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from svmrepro.workflow.analysis.paired_contenders import ITERATIONS, PermutedProblem, pair_up
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.axes import outer_labels
from svmrepro.workflow.figures.style import LOOKS, PAGE, Look, entry, new_figure
from svmrepro.workflow.number_text import plural

SERIES = ((CPU, "mean CPU seconds", LOOKS[0]), (ITERATIONS, "mean iterations", LOOKS[1]))
"""Column of the measurements, label, look."""

PERMUTATION: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.55, "zorder": 1.5,
}  # fmt: skip
"""Style of the single permutations."""

COLUMNS = 5


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw one panel per data set with shared axes, each with a line of seconds and a line of iterations.

    Settings of the artefact: ``contenders`` (the first is the reference) and ``sets`` (number of working sets
    of each).
    """
    contenders: Sequence[str] = artefact.settings["contenders"]
    sets: Sequence[int] = artefact.settings["sets"]
    shown = [
        PermutedProblem(n, size := experiment.paper_sizes.get(n), name, experiment.title, size)
        for name in artefact.experiments
        for experiment in [results.experiment(name)]
        for n in experiment.sizes
        if results.group(name, contenders[0], n).solved
    ]
    lines = max(1, math.ceil(len(shown) / COLUMNS))
    figure = new_figure(PAGE, 1.5 * lines + 0.75)
    panels = figure.subplots(lines, COLUMNS, sharex=True, sharey=True, squeeze=False)
    absent = False
    runs = [len(pair_up(results, problem, contenders[:2], ITERATIONS).first) for problem in shown]
    usual = max(runs, key=runs.count, default=0)
    for axes, problem, own in zip(panels.flat, shown, runs, strict=False):
        # The legend has the usual number; crosses say that there are none.
        said = (
            f"n = {problem.n:,}" if own in (0, usual) else f"n = {problem.n:,}, {plural(own, 'permutation')}"
        )
        axes.set_title(f"{problem.title}\n{said}", loc="left", fontsize=6)
        axes.axhline(100, color="#333", linewidth=0.6, zorder=1)
        axes.grid(True, axis="y")
        axes.set_xticks(range(len(sets)), [str(count) for count in sets])
        for side, (column, _, look) in zip((-0.14, 0.14), SERIES, strict=True):
            absent |= _draw(axes, relative(results, problem, contenders, column), look)
            _permutations(axes, results, problem, contenders, column, look, side)
    outer_labels(panels, len(shown))
    figure.supxlabel("working sets", fontsize=8)
    figure.supylabel(f"relative to {sets[0]} working set (%)", fontsize=8)
    handles = [entry(shown, look, markersize=3, linewidth=0.9) for _, shown, look in SERIES]
    each = f"single permutations ({usual} a set)"
    handles.append(entry(each, **{**PERMUTATION, "color": "#555"}))
    if absent:
        handles.append(entry("no pair of solved runs", color="#555", marker="x", markersize=3.5))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, handlelength=2.6)
    return figure


def relative(
    results: Results, problem: PermutedProblem, contenders: Sequence[str], column: str
) -> list[float | None]:
    """Return the means of a column relative to the first contender, on the permutations solved by both."""
    found: list[float | None] = [1.0]
    for label in contenders[1:]:
        change = pair_up(results, problem, (contenders[0], label), column).change
        found.append(None if change is None else 1.0 + change)
    return found


def _permutations(
    axes: Axes,
    results: Results,
    problem: PermutedProblem,
    contenders: Sequence[str],
    column: str,
    look: Look,
    side: float,
) -> None:
    """Draw each permutation relative to the first contender on the same permutation, beside the mean."""
    dots: list[tuple[float, float]] = []
    for place, label in enumerate(contenders[1:], start=1):
        pairing = pair_up(results, problem, (contenders[0], label), column)
        dots += [(place + side, 100 * b / a) for a, b in zip(pairing.first, pairing.second, strict=True)]
    if dots:
        axes.plot(*zip(*dots, strict=True), color=look.colour, **PERMUTATION)


def _draw(axes: Axes, values: Sequence[float | None], look: Look) -> bool:
    """Draw a line, and crosses at the foot of the panel for missing points; return whether any are."""
    points = {place: 100 * value for place, value in enumerate(values) if value is not None}
    style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
    axes.plot(list(points), list(points.values()), markersize=3, linewidth=0.9, **style)
    gone = [place for place, value in enumerate(values) if value is None]
    foot = axes.get_xaxis_transform()
    axes.plot(gone, [0.05] * len(gone), "x", transform=foot, color="#555", markersize=3.5)
    return bool(gone)
