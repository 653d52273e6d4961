"""The table of speed-ups by threads, and its model of more threads."""

from dataclasses import replace

import pytest
from curve_support import experiment, results, run
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.tables import speed_up

CONTENDERS = {
    "one": Contender("one", "smo-newton"),
    "two": Contender("two", "smo-newton", options={"threads": 2}),
    "many": Contender("many", "smo-newton", options={"threads": 64}),
    "peer": Contender("peer", "onedal", options={"threads": 1}),
    "peer-2": Contender("peer-2", "onedal", options={"threads": 2}),
}
FEW = {"status": "not_run", "reason": "needs 64 processors, 2 here", "cpu_seconds": ""}


def runs():
    for repeat in range(3):
        common = {"repeat": repeat, "machine.cpu": "A CPU"}
        moved = {"info.bytes_moved": 4e10}
        yield run("set", "one", 4000, wall_seconds=8.0, cpu_seconds=8.0, **common, **moved)
        share = {"info.divided_share": 0.75}
        yield run("set", "two", 4000, wall_seconds=5.5, cpu_seconds=10.0, **common, **share)
        yield run("set", "peer", 4000, wall_seconds=30.0, cpu_seconds=30.0, **common)
        yield run("set", "peer-2", 4000, wall_seconds=20.0, cpu_seconds=35.0, **common)
    yield run("set", "many", 4000, **FEW)


def test_speed_ups_are_of_elapsed_seconds_over_one_thread_of_the_same_solver():
    described = replace(experiment("set"), contenders=CONTENDERS)
    artefact = Artefact("speed-up", "speed-up", "table", ("set",), "Speed-up", "", {"modelled": 16})
    (section,) = speed_up.build(results(list(runs()), described), artefact).sections
    one, two, many, peer, peer_2 = section.rows
    assert [row["threads"].value for row in section.rows] == [1, 2, 64, 1, 2]
    assert (one["seconds"].value, two["seconds"].value, two["cpu"].value) == (8.0, 5.5, 10.0)
    assert two["speedup"].value == pytest.approx(8.0 / 5.5)
    assert peer_2["speedup"].value == 1.5
    assert two["share"].value == 0.75 and peer_2["share"].value is None
    assert many["seconds"].reason == "not run: needs 64 processors, 2 here"
    assert "speedup" not in one and "speedup" not in peer
    # The second thread costs 5.5 - 8 (1 - 0.75 / 2) = 0.5 s.
    assert two["model"].value == pytest.approx(8.0 / (8.0 * (0.25 + 0.75 / 16) + 15 * 0.5))
    assert two["model_once"].value == pytest.approx(8.0 / (8.0 * (0.25 + 0.75 / 16) + 0.5))
    assert one["rate"].value == 5.0 and two["rate_modelled"].value == pytest.approx(
        5.0 * two["model_once"].value
    )
    assert "rate" not in peer and "rate_modelled" not in peer_2


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_model_gives_what_was_measured_on_two_threads(share):
    for two in (6.0, 8.0, 9.5):
        expected = 8.0 / max(two, 8.0 * (1.0 - share / 2.0))
        assert speed_up.speed_up(8.0, two, share, 2) == pytest.approx((expected, expected))
