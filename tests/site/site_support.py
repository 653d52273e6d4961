"""The parts of a small run: measurements, a table and figures, made without measuring."""

import math

import numpy as np
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy
from support import measurement
from svmrepro.workflow.figures.drawn_data import GUIDE
from svmrepro.workflow.figures.style import entry, new_figure
from svmrepro.workflow.tables.layout.cells import Cell, count, number, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection

PAPER, EXPERIMENT = "platt1998", "adult-linear"


def lines():
    """Return the measurements of two contenders at two sizes."""
    return [
        measurement(
            run_id=f"process-{n}",
            row=f"row-{n}",
            paper=PAPER,
            experiment=EXPERIMENT,
            contender=contender,
            n=n,
            time="2026-01-02T03:04:05+00:00",  # before the references
            cpu_seconds=seconds * n,
            iterations=10 * n,
            certificate={
                "passed": True,
                "dual": 1.5,
                "gap": 1e-4,
                "max_violation": 1e-3,
                "n_bound": 7,
                "n_nonbound": 3,
            },
        )
        for n in (400, 800)
        for contender, seconds in (("smo", 1e-5), ("chunking", 1e-3))
    ]


def table():
    """Return a table with everything that a table can have."""
    columns = [
        Column("set", "set", prose=True),
        Column("n", "n"),
        Column("seconds", "measured", "CPU s", group="SMO"),
        Column("paper", "paper", "CPU s", group="SMO", paper=True),
        Column("verdict", "verdict", prose=True),
    ]
    reason = "not run: needs more than 128 MB"
    rows = [
        {
            "set": prose("adult & <web>"),
            "n": count(1605),
            "seconds": Cell(0.02, "0.02", (0.01, 0.03), "0.01 … 0.03"),
            "paper": number(0.4),
            "verdict": prose("holds", "good"),
        },
        {
            "set": prose("adult & <web>"),
            "n": count(800),
            "seconds": Cell(None, reason, reason=reason),
            "paper": Cell(None, "–"),
            "verdict": prose("does not hold", "bad"),
        },
    ]
    more = TableSection(
        [Column("a", "a", prose=True), Column("b", "b")], [{"a": prose("x"), "b": count(1)}], "More"
    )
    return Table(
        "Times", (TableSection(columns, rows), more), "A caption.", ("A note.",), "Platt 1998; smoke scale."
    )


def figure() -> Figure:
    """Return a figure with one panel: a line with intervals, a bare line and a note."""
    drawn = new_figure(4, 3)
    axes = drawn.subplots()
    bars = axes.errorbar(
        [400, 800], [1, 2], yerr=[[0.1, 0.2], [0.3, 0.4]], color="#112233", marker="o", capsize=2
    )
    axes.plot([400, 800], [3, 4], color="#8c8c8c", linestyle="--")
    axes.axvline(500, color="#8c8c8c", linestyle=":")
    axes.set_xscale("log")
    axes.set_title("Adult", loc="left")
    axes.set_xlabel("training examples")
    axes.text(500, 2, "$n^{1.08}$")
    drawn.legend([bars.lines[0]], ["SMO: $n^{1.08}$"])
    return drawn


def map_figure() -> Figure:
    """Return a figure with a map over powers of two, and a path over level sets."""
    drawn = new_figure(6, 3)
    cells, path = drawn.subplots(1, 2)
    cells.pcolormesh(np.array([[1.0, 2.0, math.nan], [4.0, 5.0, 6.0]]))
    cells.text(0.5, 0.5, "1")
    cells.set_title("Adult, seconds", loc="left")
    cells.set_xticks([0.5, 1.5, 2.5], ["$2^{-3}$", "$2^{-1}$", "$2^{1}$"])
    cells.set_yticks([0.5, 1.5], ["10", "100"])
    cells.set(xlabel="gamma", ylabel="C")
    side = np.linspace(-1, 1, 201)
    path.contour(side, side, side**2 + side[:, None] ** 2, levels=[0.25, 0.64], colors="#c9ced4")
    path.contour(side, side, side - side[:, None], levels=[0], colors="#8c8c8c", linestyles=[(0, (4, 2))])
    path.plot([-0.5, 0], [0.5, 0], color="#112233", label=GUIDE)
    path.plot([0], [0], color="#112233", marker="s", linestyle="none", label="end")
    path.set_aspect("equal")
    path.set(xlabel=r"$\beta_1\,/\,\sqrt{2}$", ylabel=r"$\beta_2$")
    drawn.legend([entry("", color="#8c8c8c", linestyle=(0, (4, 2)))], ["no gain"])
    return drawn


def noted_figure() -> Figure:
    """Return a figure with what stands beside its series: bars, a band, an arrow at the foot, and notes."""
    drawn = new_figure(6, 3)
    left, right = drawn.subplots(1, 2)
    bars = left.bar([0, 1], [2, 3], color="#112233")
    left.text(0.98, 0.5, "2 runs,\n44 % planned", transform=left.transAxes, ha="right")
    left.set(xlim=(0, 2), ylim=(1, 100), yscale="log")
    right.axvspan(1, 2, color="#eef1f4", label="within $1 \\pm \\eta$")
    for look in ((0, (1, 1.2)), (0, (5, 2)), "--", ":"):
        right.plot([1, 2], [1, 2], color="#112233", linestyle=look)
    right.plot([1, 2], [1, 2], "s", color="#112233", markersize=4.5)
    right.plot([1, 2], [1, 2], ".", color="#112233", markersize=3.2)
    right.plot([1], [0], "o", color="#112233", markerfacecolor="white", label="the paper's seconds")
    beside = offset_copy(right.transData, drawn, x=6.0, units="points")
    right.plot([1], [0], color="#445566", marker="v", linestyle="none", transform=beside, label="below")
    right.annotate("\N{MINUS SIGN}21.8", (1, 0), (0, 8), textcoords="offset points", ha="center")
    right.set_title(r"$\propto n^{0.8}$", loc="right")
    hollow = entry("", color="#112233", marker="o", markerfacecolor="white")
    entries = [bars.patches[0], hollow, entry("", color="#555", marker="|")]
    drawn.legend(entries, ["planned", "Adult, the paper's", "95 % interval"], title="Web: not run\nA limit.")
    return drawn
