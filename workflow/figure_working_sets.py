"""Planning ahead with several working sets: mean time and iterations against how many, relative to one."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from svmrepro.workflow.config import Artefact
from svmrepro.workflow.figure_style import MAIN, PAGE, SIDE_MARKERS, Look, new_figure
from svmrepro.workflow.permuted import CPU, ITERATIONS, Problem, pair_up
from svmrepro.workflow.results import Results

PANELS = ((CPU, "mean CPU seconds"), (ITERATIONS, "mean iterations"))
"""Column of the measurements, title."""


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw two panels, seconds and iterations, with a line for each data set.

    Settings of the artefact: ``contenders`` (the first is the unit) and ``sets`` (the number of working sets
    of each).
    """
    contenders: Sequence[str] = artefact.settings["contenders"]
    sets: Sequence[int] = artefact.settings["sets"]
    shown = [
        problem
        for name in artefact.experiments
        for problem in _problems(results, name)
        if results.group(name, contenders[0], problem.n).solved
    ]
    figure = new_figure(PAGE, 3.6 + 0.14 * -(-len(shown) // 4))
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, (column, title) in zip(panels, PANELS, strict=True):
        for place, problem in enumerate(shown):
            _draw(axes, results, problem, contenders, column, look(place))
        axes.axhline(100, color="#333", linewidth=0.8, zorder=1)
        axes.set_title(title, loc="left")
        axes.set_xticks(range(len(sets)), [str(count) for count in sets])
        axes.set_xlabel("working sets")
        axes.grid(True, axis="y", linewidth=0.3, color="#d5d9de")
        axes.set_axisbelow(True)
    panels[0].set_ylabel(f"% of {sets[0]} working set")
    handles = [
        _handle(look(place), problem.title if problem.n_paper else f"{problem.title}, n = {problem.n:,}")
        for place, problem in enumerate(shown)
    ]
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=4, handlelength=2.2, columnspacing=1.2
        )
    return figure


def look(place: int) -> Look:
    """Return the look of a line: colour, marker and dashes together are its own."""
    main = MAIN[place % len(MAIN)]
    markers = ("o", "s", "^", "D", *SIDE_MARKERS)
    return Look(main.colour, markers[place % len(markers)], MAIN[(place // len(MAIN)) % len(MAIN)].line)


def relative(
    results: Results, problem: Problem, contenders: Sequence[str], column: str
) -> list[float | None]:
    """Return the means of a column over that of the first contender, on the permutations that both solved."""
    found: list[float | None] = [1.0]
    for label in contenders[1:]:
        change = pair_up(results, problem, (contenders[0], label), column).change
        found.append(None if change is None else 1.0 + change)
    return found


def _problems(results: Results, name: str) -> list[Problem]:
    experiment = results.experiment(name)
    return [
        Problem(name, experiment.title, n, experiment.paper_sizes.get(n), experiment.paper_sizes.get(n))
        for n in experiment.sizes
    ]


def _draw(
    axes: Axes, results: Results, problem: Problem, contenders: Sequence[str], column: str, style: Look
) -> None:
    values = relative(results, problem, contenders, column)
    points = [(place, 100 * value) for place, value in enumerate(values) if value is not None]
    axes.plot(
        [place for place, _ in points],
        [value for _, value in points],
        color=style.colour,
        marker=style.marker,
        linestyle=style.line,
        markersize=3.5,
        linewidth=0.9,
    )


def _handle(style: Look, label: str) -> Line2D:
    return Line2D(
        [], [], color=style.colour, marker=style.marker, linestyle=style.line, markersize=3.5, label=label
    )
