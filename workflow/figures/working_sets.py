"""Planning ahead with several working sets: mean time and iterations, relative to one working set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from svmrepro.workflow.analysis.paired_contenders import ITERATIONS, PermutedProblem, pair_up, relative_mean
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.axes import outer_labels
from svmrepro.workflow.figures.style import LOOKS, PAGE, Look, entry, new_figure
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.statistics import Interval

SERIES = ((CPU, "mean CPU seconds", LOOKS[0]), (ITERATIONS, "mean iterations", LOOKS[1]))
"""Column of the measurements, label, look."""

PERMUTATION: dict[str, Any] = {
    "linestyle": "none", "marker": "o", "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.55, "zorder": 1.5,
}  # fmt: skip
"""Style of the single permutations."""

DOTS = 10
"""Maximum number of permutations that are drawn individually; for more, the interval of the mean is drawn."""

COLUMNS = 6
NEAR = 0.25
"""Data sets whose means all change by less than this share an axis."""

Means = list[Interval | None]
"""Mean of each contender relative to the first; None if no permutation was solved by both."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw one panel per data set, each with a line of seconds and a line of iterations.

    Data sets on which all means are near 1 come first. They share an axis, and the others another one.

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
    runs = [
        [len(pair_up(results, problem, contenders[:2], column).first) for column, *_ in SERIES]
        for problem in shown
    ]
    many = _usual([made for _, made in runs if made > DOTS])
    few = _usual([own for each in runs for own in each if 0 < own <= DOTS])
    blocks: list[list[tuple[PermutedProblem, list[int], list[Means]]]] = [[], []]
    for problem, own in zip(shown, runs, strict=True):
        means = [relative(results, problem, contenders, column) for column, *_ in SERIES]
        blocks[0 if _are_near(means) else 1].append((problem, own, means))
    lines = [math.ceil(len(block) / COLUMNS) for block in blocks]
    figure = new_figure(PAGE, 1.5 * max(1, sum(lines)) + 0.75)
    panels = figure.subplots(max(1, sum(lines)), COLUMNS, sharex=True, sharey="row", squeeze=False)
    absent = False
    for block, rows in zip(blocks, (panels[: lines[0]], panels[lines[0] :]), strict=True):
        for axes, (problem, own, means) in zip(rows.flat, block, strict=False):
            # The legend has the usual numbers; crosses or words say that there are none.
            timed, made = own
            said, few_timed = [problem.title, f"n = {problem.n:,}"], timed <= DOTS < made
            if few_timed or made not in (0, many, few):
                said.append(plural(made, "permutation"))
            if few_timed:
                said.append(f"{timed} timed")
            axes.set_title("\n".join(said), loc="left", fontsize=6)
            axes.axhline(100, color="#333", linewidth=0.6, zorder=1)
            axes.grid(True, axis="y")
            axes.set_xticks(range(len(sets)), [str(count) for count in sets])
            unmade = [place for place, label in enumerate(contenders) if not _made(results, problem, label)]
            for place in unmade:
                words: Any = {"transform": axes.get_xaxis_transform(), "fontsize": 6, "color": "#555"}
                axes.text(place, 0.04, "not run", rotation=90, ha="center", va="bottom", **words)
            for side, (column, _, look), drawn, count in zip((-0.14, 0.14), SERIES, means, own, strict=True):
                absent |= _draw(axes, drawn, look, count > DOTS, unmade)
                if count <= DOTS:
                    _permutations(axes, results, problem, contenders, column, look, side)
        outer_labels(rows, len(block))
        limits = [axes.get_ylim() for axes in rows.flat[: len(block)]]
        for row in rows[:, 0] if block else ():
            row.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    figure.supxlabel("working sets", fontsize=8)
    figure.supylabel(f"relative to {sets[0]} working set (%)", fontsize=8)
    handles = [entry(shown, look, markersize=3, linewidth=0.9) for _, shown, look in SERIES]
    if many:
        each = f"95 % interval of the mean ({many} permutations)"
        handles.append(entry(each, color="#555", marker="|", markersize=9, linestyle="none"))
    if few:
        handles.append(entry(f"single permutations ({few} a set)", **{**PERMUTATION, "color": "#555"}))
    if absent:
        handles.append(entry("no comparable pair of runs", color="#555", marker="x", markersize=3.5))
    figure.legend(handles=handles, loc="outside upper center", ncols=3, handlelength=2.6)
    return figure


def _usual(counts: Sequence[int]) -> int:
    """Return the most frequent number, or 0."""
    return max(counts, key=counts.count, default=0)


def _are_near(means: Sequence[Means]) -> bool:
    """Tell whether no mean is missing or far from that of the first contender."""
    return all(mean is not None and abs(mean.value - 1.0) < NEAR for each in means for mean in each)


def relative(results: Results, problem: PermutedProblem, contenders: Sequence[str], column: str) -> Means:
    """Return the means of a column relative to the first contender, on the permutations solved by both."""
    first, *others = contenders
    return [Interval.exact(1.0), *(relative_mean(results, problem, (first, each), column) for each in others)]


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


def _made(results: Results, problem: PermutedProblem, label: str) -> bool:
    """Tell whether a contender was run on a problem."""
    return any(run.status != "not_run" for run in results.group(problem.name, label, problem.n).runs)


def _draw(axes: Axes, means: Means, look: Look, intervals: bool, unmade: Sequence[int]) -> bool:
    """Draw a line, with crosses at the foot of the panel where runs give no point; return whether any do."""
    known = {place: mean for place, mean in enumerate(means) if mean}
    values = [100 * mean.value for mean in known.values()]
    ends = [mean.ends or (mean.value, mean.value) for mean in known.values()]
    below = [value - 100 * low for value, (low, _) in zip(values, ends, strict=True)]
    above = [100 * high - value for value, (_, high) in zip(values, ends, strict=True)]
    style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": look.line}
    style |= {"markersize": 3, "linewidth": 0.9, "yerr": (below, above) if intervals else None}
    axes.errorbar(list(known), values, **style)
    gone = [place for place, mean in enumerate(means) if not mean and place not in unmade]
    foot = axes.get_xaxis_transform()
    axes.plot(gone, [0.05] * len(gone), "x", transform=foot, color="#555", markersize=3.5)
    return bool(gone)
