"""Variants of a solver on many data sets at a glance: mean iterations and seconds, relative to a baseline."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from svmrepro.workflow.analysis.paired_contenders import (
    ITERATIONS,
    PermutedProblem,
    pair_up,
    problems,
    relative_mean,
)
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures import style
from svmrepro.workflow.figures.axes import off_axis
from svmrepro.workflow.figures.drawn_data import GUIDE
from svmrepro.workflow.figures.style import Look
from svmrepro.workflow.number_text import plural, significant
from svmrepro.workflow.statistics import FEWEST_SPREAD, Interval

PANELS = {ITERATIONS: ("mean iterations", "fewer"), CPU: ("mean CPU seconds", "faster")}
"""Column of the measurements -> title of its panel, meaning of a ratio below 1."""

_BAND = 0.72
"""Share of a data set's height over which its contenders are spread."""

_FARTHEST = 5.0
"""Factor up to which the axis reaches from 1, so that small changes stay visible; other means are written."""

_LETTERS_A_LINE = 128


@dataclass(frozen=True)
class _RatioPanel:
    """What is drawn: one band per data set, one mark per contender."""

    axes: Axes
    results: Results
    looks: Mapping[str, Look]
    baseline: str
    column: str


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw a line per data set, with a panel of iterations and one of CPU seconds; a mark per contender.

    Settings of the artefact: ``baseline``, ``contenders`` (compared with it) and ``table`` (the paper's file,
    which determines the order of the lines).
    """
    baseline: str = artefact.settings["baseline"]
    contenders = [label for label in artefact.settings["contenders"] if label != baseline]
    looks = style.contender_looks((baseline, *contenders))
    rows = problems(results, artefact.experiments, artefact.settings["table"])
    shown = [row for row in rows if not results.why_missing(row.name, baseline, row)]
    figure = style.new_figure(style.PAGE, 1.2 + 0.28 * len(shown))
    panels = [
        _RatioPanel(axes, results, {label: looks[label] for label in contenders}, baseline, column)
        for axes, column in zip(figure.subplots(1, 2, sharex=True, sharey=True), PANELS, strict=True)
    ]
    means = [[_means(panel, problem) for problem in shown] for panel in panels]
    every = [mean for lines in means for line in lines for mean in line.values()]
    panels[0].axes.set_xscale("log")
    panels[0].axes.set_xlim(*_limits(every))
    panels[0].axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0, 7.0), numticks=12))
    panels[0].axes.xaxis.set_minor_locator(NullLocator())
    panels[0].axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for panel, lines in zip(panels, means, strict=True):
        style.stripes(panel.axes, range(0, len(shown), 2))
        panel.axes.axvline(1.0, color="#333", linewidth=0.8, zorder=1)
        for place, (problem, line) in enumerate(zip(shown, lines, strict=True)):
            _draw(panel, problem, line, place)
        title, less = PANELS[panel.column]
        panel.axes.set_title(title, loc="left")
        panel.axes.set_xlabel(f"relative to {display_name(baseline)}'s (further left: {less})", fontsize=7)
        panel.axes.grid(True, axis="x")
        panel.axes.tick_params(axis="y", length=0)
    counts = [_pairs(results, problem, baseline, contenders) for problem in shown]
    usual = max(counts, key=counts.count, default={})
    odd = [any(usual.get(label) != count for label, count in own.items()) for own in counts]
    headings = [
        f"{problem.title}, n = {problem.n:,}" + (f"\n{_extent(own)}" if other else "")
        for problem, own, other in zip(shown, counts, odd, strict=True)
    ]
    panels[0].axes.set_yticks(range(len(shown)), headings, fontsize=6.5)
    panels[0].axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    notes = [_over(usual, others=any(odd))] if usual else []
    if any(mean.ends is None for mean in every):
        notes.append(f"Without a bar: fewer than {FEWEST_SPREAD} pairs of runs.")
    notes += _missing_notes(results, rows, baseline, panels)
    figure.legend(
        handles=_key(panels, baseline, intervals=any(mean.ends for mean in every)),
        loc="outside lower center",
        ncols=7,
        columnspacing=1.4,
        title="\n".join(textwrap.fill(note, _LETTERS_A_LINE, break_on_hyphens=False) for note in notes)
        or None,
        title_fontsize=6.5,
    )
    return figure


def _means(panel: _RatioPanel, problem: PermutedProblem) -> dict[str, Interval]:
    """Return the mean of each contender relative to the baseline's, where both solved a permutation."""
    pairs = {label: (panel.baseline, label) for label in panel.looks}
    found = {label: relative_mean(panel.results, problem, pairs[label], panel.column) for label in pairs}
    return {label: mean for label, mean in found.items() if mean is not None}


def _limits(means: Sequence[Interval]) -> tuple[float, float]:
    """Return limits that contain 1, and all means and ends of intervals up to `_FARTHEST` from it."""
    every = [1.0, *(each for mean in means for each in (mean.value, *(mean.ends or ())))]
    near = [each for each in every if 1 / _FARTHEST <= each <= _FARTHEST]
    return min(near) / 1.08, max(near) * 1.08


def _draw(panel: _RatioPanel, problem: PermutedProblem, means: Mapping[str, Interval], place: int) -> None:
    low, high = panel.axes.get_xlim()
    for at, (label, look) in enumerate(panel.looks.items()):
        if label not in means:
            continue
        mean, y = means[label], place + _BAND * ((at + 0.5) / len(panel.looks) - 0.5)
        style.bar(panel.axes, y, mean, look.colour, 0.8)
        off_axis(panel.axes, y, mean.ends or (mean.value, mean.value), look.colour)
        panel.axes.plot(mean.value, y, zorder=4, **_mark(look))
        if not low <= mean.value <= high:
            _write(panel.axes, mean, y, look.colour)
        groups = (panel.results.group(problem.name, each, problem.n) for each in (panel.baseline, label))
        if panel.column == CPU and any(group.all_flagged for group in groups):
            style.cross_flagged(panel.axes, [(mean.value, y)])


def _write(axes: Axes, mean: Interval, y: float, colour: str) -> None:
    """Write a mean beyond the axis, with its interval, beside the arrow."""
    low, high = axes.get_xlim()
    said = significant(mean.value, 2)
    if mean.ends is not None:
        said += f" ({' … '.join(significant(end, 2) for end in mean.ends)})"
    # An interval may reach into the panel: the words stand beyond it.
    first, last = mean.ends or (mean.value, mean.value)
    end, shift, side = (max(low, last), 4, "left") if mean.value < low else (min(high, first), -4, "right")
    beside: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline", "ha": side}
    axes.annotate(said, (end, y), (shift, 0), fontsize=5.5, color=colour, **beside)


def _mark(look: Look) -> dict[str, Any]:
    return {"color": look.colour, "marker": look.marker, "linestyle": "none", "markersize": 4.2}


def _pairs(
    results: Results, problem: PermutedProblem, baseline: str, contenders: Sequence[str]
) -> dict[str, int]:
    """Return the number of permutations on which each contender is compared, if there are any."""
    pairings = {label: pair_up(results, problem, (baseline, label), ITERATIONS) for label in contenders}
    return {label: len(pairing.first) for label, pairing in pairings.items() if pairing.first}


def _extent(pairs: Mapping[str, int]) -> str:
    least, most = min(pairs.values(), default=0), max(pairs.values(), default=0)
    return plural(most, "permutation") if least == most else f"{least} to {most} permutations"


def _over(usual: Mapping[str, int], *, others: bool) -> str:
    """Say what the means are over: the usual numbers of permutations, or those below a data set's name."""
    labels: dict[int, list[str]] = {}
    for label, count in usual.items():
        labels.setdefault(count, []).append(display_name(label))
    several = len(labels) > 1
    said = ", ".join(f"{count} ({', '.join(of)})" if several else str(count) for count, of in labels.items())
    more = ", or the number below its name" if others else ""
    return f"Means over the permutations of a data set that both solvers solved: {said}{more}."


def _missing_notes(
    results: Results, rows: Sequence[PermutedProblem], baseline: str, panels: Sequence[_RatioPanel]
) -> list[str]:
    """Say why data sets or marks are missing, a line per reason."""
    absent: dict[str, list[str]] = {}
    for problem in rows:
        reason = results.why_missing(problem.name, baseline, problem)
        if reason:
            absent.setdefault(reason, []).append(problem.title)
            continue
        for label in panels[0].looks:
            lacking = [panel for panel in panels if label not in _means(panel, problem)]
            if not lacking:
                continue
            untimed = (results.group(problem.name, each, problem.n).untimed for each in (label, baseline))
            why = results.why_missing(problem.name, label, problem) or next(filter(None, untimed), "no pairs")
            absent.setdefault(why, []).append(f"{display_name(label)} on {problem.title}")
    return [f"{reason[0].upper()}{reason[1:]}: {', '.join(of)}." for reason, of in absent.items()]


def _key(panels: Sequence[_RatioPanel], baseline: str, *, intervals: bool) -> list[Line2D]:
    """Return the legend's entries of what is drawn."""
    handles = [style.entry(f"{display_name(baseline)} = 1", color="#333", linewidth=0.8, linestyle="-")]
    handles += [style.entry(display_name(label), **_mark(look)) for label, look in panels[0].looks.items()]
    if intervals:
        handles.append(style.entry(style.INTERVAL, color="#555", marker="_", markersize=9))
    drawn = {line.get_label() for panel in panels for line in panel.axes.get_lines()}
    if GUIDE in drawn:
        handles.append(
            style.entry("beyond the axis", color="#555", marker="<", markersize=3.5, linestyle="-")
        )
    flagged = style.marks(panel.axes for panel in panels)
    return handles + [each for each in flagged if each.get_label() == style.FLAGGED]
