"""The table of readings of planning ahead, from synthetic measurements."""

import math

import permuted_support as permuted
import pytest
from support import rows_of
from svmrepro.workflow.configuration import paths

PAPER = "planning-readings"
SETS = ("titanic", "splice", "thyroid", "heart", "chess-board-1000")
CROSSED = ("titanic-crossed", "splice-crossed", "thyroid-held-out", "heart-held-out")


def printed(name):
    n = permuted.NUMBERS.sizes(name, "table2")[0]
    above, below = (
        permuted.NUMBERS.value("table2", name, n, f"{column}_iterations") for column in ("pasmo", "smo")
    )
    return above / below


def gain(experiment, contender):
    """`pasmo` is 10 % off on the sets to choose by; a crossed reading is the paper's, but on one held out."""
    name = experiment.removesuffix("-crossed").removesuffix("-held-out")
    if contender == "smo":
        return 1.0
    if contender == "pasmo":
        return printed(name) * (1.1 if name in ("titanic", "splice") else 1.0)
    if contender == "inside-planned-1-newton":
        return printed(name) * (0.8 if name == "heart" else 1.0)
    return 3.0


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    def change(line):
        if (line["experiment"], line["contender"], line["seed"]) == ("thyroid", "proof-slope-own", 2):
            line |= {"status": "iteration_limit", "certificate": None}
        if line["contender"] == "inside-planned-1-newton":
            line["info"] = {"longest_planned": 4.0 + line["seed"]}

    folder, names = tmp_path_factory.mktemp("readings"), SETS + CROSSED
    config = permuted.measured(folder, names, change, paper=PAPER, permutations=7, gain=gain)
    return rows_of(paths.table(config, PAPER, "scores")["csv"])


def test_the_best_reading_comes_first(rows):
    by_name = {row["reading"]: row for row in rows}
    assert rows[0]["reading"] == "inside-planned-1-newton"
    assert rows[0]["options"] == "plan: inside, candidates: t-1, gain: newton"
    assert float(rows[0]["score"]) < 1e-3
    # thyroid and heart are held out: 0 and |log 0.8|
    assert float(rows[0]["score_others"]) == pytest.approx(-math.log(0.8) / 2, abs=1e-3)
    assert (rows[0]["agreeing"], rows[0]["agreeing_others"]) == ("2", "1")
    assert rows[0]["worst"].startswith("heart -") and float(rows[0]["longest"]) == 4.0 + 6
    assert float(by_name["pasmo"]["score"]) == pytest.approx(math.log(1.1), abs=1e-3)
    assert (by_name["pasmo"]["agreeing"], by_name["pasmo"]["agreeing_others"]) == ("0", "2")
    assert (by_name["pasmo"]["higher"], by_name["pasmo"]["lower"]) == ("4", "0")  # no chess board
    assert (by_name["smo"]["higher"], by_name["smo"]["lower"]) == ("0", "0")
    no_planning = -sum(math.log(printed(name)) for name in ("titanic", "splice")) / 2
    assert float(by_name["smo"]["score"]) == pytest.approx(no_planning, abs=1e-3)


def test_the_interval_of_a_deviation_is_that_of_the_measured_ratio(rows):
    by_name = {row["reading"]: row for row in rows}
    # Against itself the ratio is exactly 1, however far the paper's is from that.
    low, value, high = (float(by_name["smo"][f"titanic_deviation{end}"]) for end in ("_low", "", "_high"))
    assert low == value == high == pytest.approx(1.0 / printed("titanic") - 1.0)
    # The permutations differ by 5 %, which both share, and their ratio by 0.1 %.
    pasmo = by_name["pasmo"]
    assert 0.0 < float(pasmo["titanic_deviation_high"]) - float(pasmo["titanic_deviation_low"]) < 0.01


def test_a_reading_that_does_not_end_has_no_score(rows):
    (unended,) = (row for row in rows if row["reading"] == "proof-slope-own")
    assert unended["score"] == "" and unended["worst"] == "did not end on thyroid"
