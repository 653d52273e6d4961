"""The figure of variants against a baseline says what their table says."""

import json

import permuted_support as permuted
import pytest
from permuted_support import PAPER
from support import rows_of
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.figures import style, variant_ratios
from svmrepro.workflow.steps import plot
from svmrepro.workflow.tables.layout.cells import percent

FIGURE, TABLE = "successors-at-a-glance", "successors"
SOME = ("heart", "banana", "chess-board-1000", "chess-board-10000", "internet-ads")
LABELS = {"PA-SMO": "pasmo", "CSMO": "csmo", "SMO-Newton": "smo-newton"}


def gain(experiment, contender):
    """Newton steps nearly solve the chess board; conjugate directions cost a fifth on heart."""
    if experiment == "chess-board-1000" and contender == "smo-newton":
        return 0.01
    return {"pasmo": 0.9, "csmo": 1.2 if experiment == "heart" else 0.6}.get(contender, 1.0)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    config = permuted.measured(
        tmp_path_factory.mktemp("variants"), SOME, gain=gain, scale="default", only=[TABLE]
    )
    plot.run(config, PAPER, [FIGURE])
    return config


def drawn(config):
    """Return the content of the figure's JSON, and its marks: panel, data set and contender -> place."""
    content = json.loads(paths.figure(config, PAPER, FIGURE)["json"].read_text())
    names = {round(at): text.split(",")[0] for at, text in content["panels"][0]["y"]["ticks"]}
    marks = {
        (panel["title"], names[round(y)], LABELS[series["name"]]): x
        for panel in content["panels"]
        for series in panel["series"]
        if series["name"] in LABELS and "markers" in series["mode"]
        for x, y in zip(series["x"], series["y"], strict=True)
    }
    return content, marks


def built(config):
    described = config.papers[PAPER].artefacts[FIGURE]
    return variant_ratios.build(load(config, PAPER, described.experiments), described)


def words(figure):
    (legend,) = figure.legends
    return legend.get_title().get_text().replace("\n", " "), [text.get_text() for text in legend.get_texts()]


def test_each_mark_is_the_change_in_the_table(config):
    _, marks = drawn(config)
    found = rows_of(paths.table(config, PAPER, TABLE)["csv"])
    changes = {
        (panel, row["experiment"], label): percent(float(change)).text
        for row in found
        for label in LABELS.values()
        for panel, key in (("mean iterations", "iterations"), ("mean CPU seconds", "seconds"))
        if (change := row[f"{label}_{key}_change"])
    }
    # The default scale has no csmo on the larger board.
    assert len(changes) == 2 * (3 * len(SOME) - 1)
    assert {where: percent(x - 1).text for where, x in marks.items()} == changes


def test_the_figure_says_what_is_not_there_and_how_many_permutations_there_are(config):
    note, entries = words(built(config))
    assert "both solvers solved: 10." in note
    assert "Not run: not in this experiment: CSMO on chess-board-10000." in note
    left_out = note.partition("not part of the default scale: ")[2].partition(".")[0].split(", ")
    assert set(left_out) == set(permuted.NAMES) - set(SOME)
    assert entries == ["SMO = 1", *LABELS, "95 % interval", "beyond the axis"]


def test_means_beyond_the_axis_are_written_and_arrows_are_no_marks(config):
    content, marks = drawn(config)
    assert [len(panel["notes"]) for panel in content["panels"]] == [1, 1]
    assert all(note["text"].startswith("0.010") for panel in content["panels"] for note in panel["notes"])
    assert all(0.15 < panel["x"]["range"][0] < 0.6 for panel in content["panels"])
    assert marks["mean iterations", "chess-board-1000", "smo-newton"] == pytest.approx(0.01, rel=0.01)
    arrows = [
        s for panel in content["panels"] for s in panel["series"] if s["marker"] == "<" and s["size"] < 4
    ]
    assert arrows and {each["name"] for each in arrows} == {""}


def test_other_numbers_of_permutations_stand_below_the_name_and_flagged_seconds_are_crossed(tmp_path):
    def change(line):
        line["flagged"] = line["experiment"] == "heart"
        if (
            line["experiment"] == "banana"
            and line["contender"] != "smo"
            and line["seed"] > (line["contender"] == "csmo")
        ):
            line |= {"status": "uncertified", "reason": "certificate failed", "certificate": None}

    names = ("heart", "banana", "image")
    config = permuted.measured(tmp_path, names, change, permutations=4, gain=gain, only=[TABLE])
    figure = built(config)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["banana, n = 5,300\n1 to 2 permutations", "heart, n = 270", "image, n = 2,310"]
    note, entries = words(figure)
    assert "both solvers solved: 4, or the number below its name. Without a bar: fewer than 3 pairs" in note
    assert entries[-1] == style.FLAGGED
    crossed = [
        [line for line in axes.get_lines() if line.get_label() == style.FLAGGED] for axes in figure.axes
    ]
    assert [len(lines) for lines in crossed] == [0, 3]


def test_contenders_with_several_numbers_of_permutations_are_named(tmp_path):
    def change(line):
        if line["contender"] == "csmo" and line["seed"] > 2:
            line |= {"status": "uncertified", "reason": "certificate failed", "certificate": None}

    config = permuted.measured(tmp_path, ["heart"], change, permutations=4, only=[TABLE])
    assert "solved: 4 (PA-SMO, SMO-Newton), 3 (CSMO)." in words(built(config))[0]


def test_seconds_of_other_hardware_have_no_mark_but_a_reason(tmp_path):
    def change(line):
        if line["contender"] == "csmo":
            line |= {"run_id": "elsewhere", "machine": {**line["machine"], "cpu": "Slow CPU 1.0 GHz"}}

    config = permuted.measured(tmp_path, ["heart"], change, only=[TABLE])
    figure = built(config)
    assert "Not timed: solved on other hardware: CSMO on heart." in words(figure)[0]
    markers = [[line.get_marker() for line in axes.get_lines()].count("<") for axes in figure.axes]
    assert markers == [1, 0]


def test_there_is_a_figure_without_measurements(tmp_path):
    def change(line):
        line |= {"status": "uncertified", "reason": "certificate failed", "certificate": None}

    config = permuted.measured(tmp_path, ["heart"], change, only=[TABLE])
    note, entries = words(built(config))
    assert "heart" in note and entries == ["SMO = 1", *LABELS]
