"""Planning ahead on three examples: the path in the plane of the multipliers, and the gain of a step.

Both figures are drawn from real runs of the solvers (Glasmachers 2008, Figures 1 and 2). The multipliers
after iteration k are those of a run stopped after k iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.figures.drawn_data import GUIDE
from svmrepro.workflow.figures.style import COLUMN, GHOST, PAGE, Look, contender_looks, entry, new_figure
from svmrepro.workflow.number_text import plural

if TYPE_CHECKING:  # the other kinds of figures need no solvers
    from svmrepro.solvers import Problem

FLOATS = npt.NDArray[np.float64]

PLANE = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
"""Two orthonormal directions, shape (2, 3), of the plane of signed multipliers with sum 0."""

START = np.zeros(2)
"""Starting point of every run in these directions: all multipliers are 0."""

ETA = 0.9
"""A step of 1 - eta ... 1 + eta Newton steps gains at least 1 - eta^2 of the gain of one (section 5)."""

LEVEL = "#c9ced4"
"""Light grey of the objective's level sets."""

SPENT: tuple[tuple[int, int, Any], ...] = ((0, 1, "-"), (0, 2, (0, (4, 2))))
"""Working sets, and the dash patterns of the lines on which each can gain nothing more."""

BEFORE, AFTER = "start", "after each iteration"
"""Labels of a path's points."""

MOST = 10_000


@dataclass(frozen=True)
class Step:
    """One iteration: signed multipliers before and after, and length relative to the Newton step."""

    before: FLOATS
    after: FLOATS
    ratio: float
    gain: float
    """Gain of the dual objective, relative to that of the Newton step."""


@dataclass(frozen=True)
class Example:
    """Three examples and their dual problem, ``W(beta) = y.beta - beta K beta / 2``."""

    problem: Problem
    y: FLOATS  # labels, shape (3,)
    K: FLOATS  # kernel matrix, shape (3, 3)

    def objective(self, beta: FLOATS) -> FLOATS:
        """Return W for signed multipliers of shape (..., 3)."""
        value: FLOATS = beta @ self.y - 0.5 * np.einsum("...i,ij,...j->...", beta, self.K, beta)
        return value

    def path(self, solver: str) -> list[Step]:
        """Return all steps of a solver's run."""
        from svmrepro.solvers import solve
        from svmrepro.solvers.solution import OPTIMAL

        found: list[Step] = []
        before = np.zeros(3)
        for count in range(1, MOST):
            solution = solve(self.problem, solver, iteration_limit=count)
            if solution.iterations < count:
                break
            assert solution.alpha is not None
            after = self.y * solution.alpha
            if (step := self._step(before, after)) is None:
                break
            found.append(step)
            before = after
            if solution.status == OPTIMAL:
                break
        return found

    def _step(self, before: FLOATS, after: FLOATS) -> Step | None:
        """Return a step; None if its Newton step is undefined, which only a faulty solver causes."""
        change = after - before
        slope = float((self.y - self.K @ before) @ change)
        curvature = float(change @ self.K @ change)
        if slope == 0.0 or curvature <= 0.0:
            return None
        gain = float(self.objective(after) - self.objective(before))
        return Step(before, after, curvature / slope, gain / (0.5 * slope * slope / curvature))


def read_example(settings: Mapping[str, Any]) -> Example:
    """Return the problem described by an artefact's ``example``: three ``points``, ``labels``, and ``C``."""
    from svmrepro.solvers import Kernel, Problem

    example = settings["example"]
    X = np.array(example["points"], dtype=np.float64)
    y = np.array(example["labels"], dtype=np.float64)
    problem = Problem(X, y, float(example["C"]), Kernel("linear"), storage="dense")
    return Example(problem, y, X @ X.T)


def build(results: Results, artefact: Artefact) -> Figure:
    """Draw the paths of solvers side by side, over the level sets of the objective.

    Settings of the artefact: ``example``, and ``solvers`` by the labels shown.
    """
    example = read_example(artefact.settings)
    solvers: Mapping[str, str] = artefact.settings["solvers"]
    paths = [example.path(solver) for solver in solvers.values()]
    lines = [np.array([START, *(PLANE @ step.after for step in path)]) for path in paths]
    figure = new_figure(PAGE, 3.3)
    panels = figure.subplots(1, len(solvers), sharex=True, sharey=True, squeeze=False)[0]
    looks = contender_looks(solvers)
    for axes, label, points in zip(panels, solvers, lines, strict=True):
        _levels(axes, example, np.concatenate(lines))
        look = looks[label]
        marks: dict[str, Any] = {"linestyle": "none", "color": look.colour, "zorder": 4}
        axes.plot(*points.T, color=look.colour, linewidth=1.1, label=GUIDE)
        axes.plot(*points[1:].T, marker=look.marker, markersize=3.2, label=AFTER, **marks)
        axes.plot(*points[0], marker="o", markersize=6, markerfacecolor="white", label=BEFORE, **marks)
        axes.set_title(f"{display_name(label)}: {plural(len(points) - 1, 'iteration')}", loc="left")
        axes.set_aspect("equal")
        axes.set_xlabel(r"$(\beta_1 - \beta_2)\,/\,\sqrt{2}$")
    panels[0].set_ylabel(r"$(\beta_1 + \beta_2 - 2\beta_3)\,/\,\sqrt{6}$")
    key = _key(list(looks.values()))
    side_by_side = {tuple: HandlerTuple(ndivide=None, pad=0.3)}
    place: Any = {"loc": "outside lower center", "ncols": 3, "handlelength": 2.6}
    figure.legend(list(key.values()), list(key), handler_map=side_by_side, **place)
    return figure


def _key(looks: list[Look]) -> dict[str, Any]:
    """Return label -> handle of the paths; a handle for several solvers shows the colours of all."""
    start: dict[str, Any] = {"marker": "o", "color": "white", "markersize": 6}
    key: dict[str, Any] = {
        BEFORE: tuple(entry("", markeredgecolor=look.colour, **start) for look in looks),
        AFTER: tuple(entry("", look, linestyle="-", markersize=3.2, linewidth=1.1) for look in looks),
        r"level sets of the dual objective $W(\beta)$": entry("", color=LEVEL, linewidth=0.7, linestyle="-"),
    }
    for i, j, line in SPENT:
        shown = f"no gain left for working set {{{i + 1}, {j + 1}}}"
        key[shown] = entry("", color=GHOST, linewidth=0.8, linestyle=line)
    return key


def build_gain(results: Results, artefact: Artefact) -> Figure:
    """Draw the gain of a step against its length, and the steps of each run on that curve.

    Settings of the artefact: ``example`` and ``solvers``, as for `build`.
    """
    example = read_example(artefact.settings)
    figure = new_figure(COLUMN, 2.7)
    axes = figure.subplots()
    steps = {label: example.path(solver) for label, solver in artefact.settings["solvers"].items()}
    ends = [step.ratio for path in steps.values() for step in path]
    low, high = min([-0.3, *ends]) - 0.1, max([2.3, *ends]) + 0.1
    ratio = np.linspace(low, high, 400)
    axes.axvspan(1 - ETA, 1 + ETA, color="#eef1f4", zorder=0, label=rf"within $1 \pm \eta$, $\eta = {ETA}$")
    axes.axhline(0, color="#333", linewidth=0.6)
    axes.axhline(1 - ETA**2, color=GHOST, linewidth=0.7, linestyle=(0, (4, 2)))
    axes.text(high, 1 - ETA**2, r" $1 - \eta^2$", va="center", fontsize=7, color="#555")
    axes.plot(ratio, 2 * ratio - ratio**2, color="#333", linewidth=1.0)
    looks = contender_looks(steps)
    for place, (label, path) in enumerate(steps.items()):
        axes.plot(
            [step.ratio for step in path],
            [step.gain for step in path],
            linestyle="",
            marker=looks[label].marker,
            markerfacecolor="none",  # steps of two solvers may coincide
            markeredgecolor=looks[label].colour,
            markersize=8 - 3 * place,
            label=f"steps of {display_name(label)}",
        )
    axes.set_xlim(low, high)
    axes.set_xlabel(r"length of the step, $\mu\,/\,\mu^{*}$")
    axes.set_ylabel(r"gain, $\tilde g\,/\,\tilde g^{*}$")
    figure.legend(loc="outside lower center", ncols=3, handlelength=1.4, columnspacing=1.2)
    return figure


def _levels(axes: Axes, example: Example, points: FLOATS) -> None:
    """Draw the level sets of W, and the lines on which one of two working sets can gain nothing more."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.12 * float((high - low).max() or 1.0)
    ranges = np.linspace(low - margin, high + margin, 300).T
    grid = np.stack(np.meshgrid(*ranges), axis=-1)
    W = example.objective(grid @ PLANE)
    best = W.max()
    levels = best - (best - W.min()) * np.linspace(1, 0.01, 14) ** 2
    axes.contour(*ranges, W, levels=np.unique(levels), colors=LEVEL, linewidths=0.7, linestyles="-")
    G = example.y - grid @ PLANE @ example.K
    for i, j, line in SPENT:
        spent = G[..., i] - G[..., j]
        axes.contour(*ranges, spent, levels=[0.0], colors=GHOST, linewidths=0.8, linestyles=[line])
