"""The parts of a small run: measurements, a table and a figure, made without measuring."""

from matplotlib.figure import Figure
from support import measurement
from svmrepro.workflow.figures.style import new_figure
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
            cpu_seconds=seconds * n,
            iterations=10 * n,
            certificate={"dual": 1.5, "gap": 1e-4, "max_violation": 1e-3, "n_bound": 7, "n_nonbound": 3},
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
