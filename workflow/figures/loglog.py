"""Log-log plots of time against size: one experiment, or all of them as small multiples."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from svmrepro.workflow.analysis.fits import PAPER
from svmrepro.workflow.analysis.results import Results, describe_problem, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures import style
from svmrepro.workflow.figures.axes import loglog_axes, outer_labels
from svmrepro.workflow.figures.style import GHOST, Look, entry
from svmrepro.workflow.number_text import signed
from svmrepro.workflow.statistics import Interval

_LEGEND_LINE_LENGTH = 3.4
"""Length of lines in legends, in font sizes: enough for dashes beside a marker."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw one experiment, one column wide: medians with whiskers, fitted lines, and the paper's points."""
    name = artefact.experiments[0]
    side = [label for label in results.experiment(name).contenders if label not in results.main(name)]
    entries = len(results.main(name)) * 2 + math.ceil(len(side) / 2)
    figure = style.new_figure(style.COLUMN, 2.85 + 0.155 * entries)
    axes = figure.subplots()
    main, light = draw(axes, results, name, side=side)
    axes.set_title(results.experiment(name).title, loc="left")
    problem = describe_problem(results.experiment(name)).removeprefix("Data set ")
    gap = " " if len(problem) <= 38 else "\n"  # a longer title would be cut off
    label = [f"training examples{gap}({problem})"]
    if results.numbers.machine and results.numbers.sizes(name):
        label.append(f"hollow: the paper's seconds, on a {results.numbers.machine}")
    axes.set_xlabel("\n".join([*label, *_signs(results, [axes], [name], main)]), fontsize=6.5)
    axes.set_ylabel("CPU seconds")
    _legend(figure, main, light)
    return figure


def build_overview(results: Results, artefact: Artefact) -> Figure:
    """Draw the experiments that the paper times (or all), two columns wide, with the legend below."""
    names = results.shared(artefact.experiments)
    columns = min(4 if len(names) <= 8 else 5, max(1, len(names)))
    lines = max(1, math.ceil(len(names) / columns))
    figure = style.new_figure(style.PAGE, 1.65 * max(1.0, math.sqrt(4 / columns)) * lines + 0.75)
    # Heights and slopes can only be compared by eye if all panels share their axes.
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    sizes: set[int] = set()
    for place, (axes, name) in enumerate(zip(panels.flat, names, strict=False)):
        draw(axes, results, name, short=True)
        axes.set_title(textwrap.fill(results.experiment(name).title, 88 // columns), loc="left", fontsize=7)
        sizes |= {*results.runs.sizes(name), *results.numbers.sizes(name)}
        if place % columns == 0:
            axes.set_ylabel("CPU seconds", fontsize=7)
        if place + columns >= len(names):
            axes.set_xlabel("training examples", fontsize=7)
    outer_labels(panels, len(names))
    if names:
        loglog_axes(panels[0, 0], sorted(sizes), every=False)
        figure.legend(
            handles=_key(results, names),
            loc="outside lower center",
            ncols=max(1, len(results.main(names[0]))),  # the paper's points go below each solver's own
            handlelength=_LEGEND_LINE_LENGTH,
            fontsize=7,
            title="; ".join(_signs(results, panels.flat, names)) or None,
            title_fontsize=6.5,
        )
    return figure


def _signs(
    results: Results, panels: Iterable[Axes], names: Iterable[str], legend: Sequence[Line2D] = ()
) -> list[str]:
    """Explain the signs that are drawn, and the brackets in the legend."""
    drawn = {each.get_label() for each in style.marks(panels)}
    brackets = any("[" in str(each.get_label()) for each in legend)
    signs = [sign for sign, there in (("whiskers", style.INTERVAL in drawn), ("brackets", brackets)) if there]
    said = [f"{' and '.join(signs)}: 95 % intervals"] if signs else []
    if style.SINGLE_RUNS in drawn:
        said.append(f"two dots: {style.SINGLE_RUNS}")
    if style.FLAGGED in drawn:
        said.append(f"plus: {style.FLAGGED}")
    between = {(name, n) for name in names for n in results.experiment(name).nested}
    if any(results.group(name, label, n).timed for name, n in between for label in results.main(name)):
        said.append("small marks: sizes between the paper's")
    return said


def draw(
    axes: Axes, results: Results, name: str, *, side: Sequence[str] = (), short: bool = False
) -> tuple[list[Line2D], list[Line2D]]:
    """Draw one experiment; return the main and the additional legend entries.

    The additional contenders of ``side`` are drawn lightly and without a fitted line. A ``short`` panel is a
    small one, with fewer ticks.
    """
    handles: list[Line2D] = []
    light: list[Line2D] = []
    sizes: list[int] = []
    absent: dict[str, str] = {}
    looks = _looks(results)
    for contender in results.main(name):
        look = looks[contender]
        drawn = results.numbers.series(name, contender)
        points = _points(axes, results, name, contender, look)
        sizes += [*drawn, *points]
        fit = results.fit(name, contender, CPU)
        exponent = results.shown_exponent(name, contender, CPU)
        shown = display_name(contender)
        if not points:
            runs = results.runs.sizes(name)
            absent[shown] = results.group(name, contender, runs[0]).briefly if runs else "not run"
        elif fit is not None and exponent is not None:
            ends = (fit.n_min / 1.1, fit.n_max * 1.1)
            axes.plot(ends, [fit.predict(n) for n in ends], color=look.colour, linestyle=look.line, zorder=3)
            handles.append(entry(f"{shown}: {_law(exponent)}", look))
        else:
            handles.append(entry(shown, look))
            medians = [results.group(name, contender, n).median(CPU) or 0.0 for n in points]
            axes.plot(points, medians, color=look.colour, linestyle=look.line, linewidth=0.6, zorder=3)
            if len(points) > 1 and not short:
                handles[-1].set_label(f"{shown}: no exponent")
        if drawn:
            handles.append(_ghost_handle(results, name, contender, look))
    for contender, look in _side_looks(results, side).items():
        points = _points(axes, results, name, contender, look, light=True)
        sizes += points
        if points:
            light.append(entry(display_name(contender), look, markersize=style.LIGHT_SIZE, linewidth=0.6))
    for contender in results.main(name):
        _ghosts(axes, results, name, contender, looks[contender])
    if absent:
        # Placed below the lines, which rise to the right. Its length does not affect the layout.
        corner: Any = {"ha": "right", "va": "bottom", "transform": axes.transAxes}
        note = axes.text(0.98, 0.03, _absence(absent), fontsize=6, color="#555", **corner)
        note.set_in_layout(False)
    if sizes:
        loglog_axes(axes, sizes, every=not short)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
    return handles, light


def _looks(results: Results) -> dict[str, Look]:
    """Return the looks of the main contenders, the same in all experiments of the paper."""
    return style.contender_looks(label for name in results.paper.experiments for label in results.main(name))


def _side_looks(results: Results, side: Sequence[str]) -> dict[str, Look]:
    """Return the looks of additional contenders, the same in all figures of the paper if they suffice."""
    names = results.shared(tuple(results.paper.experiments))
    found = [label for name in names for label in results.experiment(name).contenders]
    every = list(dict.fromkeys(label for label in found if not any(label in results.main(n) for n in names)))
    looks = _looks(results)
    taken = [looks[label] for name in names for label in results.main(name)]
    free = [look for look in style.SIDE_LOOKS if look not in taken]
    known = set(side) <= set(every) and len(every) <= len(free)
    order = every if known else list(side)
    return {label: free[order.index(label) % len(free)] for label in side}


def _points(
    axes: Axes, results: Results, name: str, contender: str, look: Look, *, light: bool = False
) -> list[int]:
    """Draw medians with their intervals as whiskers; return the sizes drawn.

    Sizes between the paper's own have small marks.
    """
    found = {n: results.group(name, contender, n).interval(CPU) for n in results.runs.sizes(name)}
    points = {n: median for n, median in found.items() if median is not None and median.value > 0}
    drawn: dict[str, Any] = {
        "markersize": style.MARKER_SIZE,
        "linestyle": "none",
        "elinewidth": 0.9,
        "capsize": 2,
    }
    drawn |= {"zorder": 4, "alpha": 1.0}
    if light:
        drawn = {"markersize": style.LIGHT_SIZE, "linestyle": look.line, "elinewidth": 0.5, "capsize": 0}
        drawn |= {"zorder": 2, "alpha": 0.9}
    between = results.experiment(name).nested
    small = {**drawn, "markersize": 0.5 * drawn["markersize"], "elinewidth": 0.6, "capsize": 0}
    if light:  # one line through all of them; it needs no second marker
        between = ()
    for nested, kind in ((False, drawn), (True, small)):
        shown = {n: median for n, median in points.items() if (n in between) == nested}
        if shown:
            values = {n: results.group(name, contender, n).values(CPU) for n in shown}
            style.whiskers(axes, shown, look, values, linewidth=0.6, capthick=0.7, **kind)
    flagged = [(n, y.value) for n, y in points.items() if results.group(name, contender, n).all_flagged]
    style.cross_flagged(axes, flagged)
    return list(points)


def _ghosts(axes: Axes, results: Results, name: str, contender: str, look: Look) -> None:
    """Draw the paper's points, hollow and above ours, with its refitted line."""
    series = results.numbers.series(name, contender)
    if not series:
        return
    seconds = [values[0] for values in series.values()]
    axes.plot(list(series), seconds, look.marker, markeredgewidth=0.7, **style.HOLLOW)
    fit = results.fit(name, contender, CPU, PAPER)
    if fit is not None and results.shown_exponent(name, contender, CPU, PAPER) is not None:
        ends = (fit.n_min, fit.n_max)
        law = [fit.predict(n) for n in ends]
        axes.plot(ends, law, color=GHOST, linestyle=look.line, linewidth=0.6, zorder=0)


def _ghost_handle(results: Results, name: str, contender: str, look: Look) -> Line2D:
    printed = results.numbers.exponent(name, contender)
    law = f": $n^{{{printed:.1f}}}$" if printed is not None else ""
    return entry(f"{display_name(contender)} in the paper{law}", marker=look.marker, **style.HOLLOW)


def _key(results: Results, names: Iterable[str]) -> list[Line2D]:
    """Return the overview's legend: each contender once, without exponents, beside the paper's points."""
    first = {label: name for name in reversed(list(names)) for label in results.main(name)}
    machine = f"\n({results.numbers.machine})" if results.numbers.machine else ""
    handles: list[Line2D] = []
    for contender, look in _looks(results).items():
        if contender not in first:
            continue
        shown = display_name(contender)
        handles.append(entry(shown, look))
        if results.numbers.prints_seconds_of(first[contender], contender):
            ghost = _ghost_handle(results, first[contender], contender, look)
            ghost.set_label(f"{shown} in the paper{machine}")
            handles.append(ghost)
    return handles


def _legend(figure: Figure, main: Sequence[Line2D], side: Sequence[Line2D]) -> None:
    """Place the legend below the plot: fitted solvers in the left column, additional ones in the right."""
    columns = [list(main), list(side)] if side else [list(main)]
    longest = max(len(column) for column in columns)
    blank = entry(" ")
    handles = [handle for column in columns for handle in column + [blank] * (longest - len(column))]
    spacing: dict[str, Any] = {
        "handlelength": _LEGEND_LINE_LENGTH,
        "columnspacing": 1.2,
        "labelspacing": 0.35,
        "fontsize": 6.5,
    }
    figure.legend(handles=handles, loc="outside lower left", ncols=len(columns), **spacing)


def _law(exponent: Interval) -> str:
    law = f"$n^{{{exponent.value:.2f}}}$ "
    if exponent.ends is None:
        return law
    return law + signed("[{:.2f}, {:.2f}]".format(*exponent.ends))


def _absence(absent: Mapping[str, str]) -> str:
    """Return the note on contenders without points, in short lines; a shared reason is given once."""
    reasons = set(absent.values())
    notes = list(reasons) if len(reasons) == 1 else [f"{name} {reason}" for name, reason in absent.items()]
    return "\n".join(line for note in notes for line in textwrap.wrap(note, 17))
