"""Figures of single steps: the path on three examples, gains and lengths of steps, and bytes moved."""

from itertools import pairwise

import numpy as np
import permuted_support as permuted
import pytest
from permuted_support import PAPER
from support import rows_of
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.analysis.step_lengths import lengths
from svmrepro.workflow.configuration import load_config, paths
from svmrepro.workflow.figures.step_path import read_example
from svmrepro.workflow.judgement.quantities import CLAIM_QUANTITIES
from svmrepro.workflow.surroundings import machine


@pytest.fixture(scope="module")
def example():
    return read_example(load_config({"papers": [PAPER]}).papers[PAPER].artefacts["two-steps"].settings)


def test_planning_ahead_ends_a_zigzag_between_two_working_sets(example):
    paths_of = {solver: example.path(solver) for solver in ("smo2", "pasmo")}
    for path in paths_of.values():
        assert (path[0].before == 0).all()
        for step, following in pairwise(path):
            assert (step.after == following.before).all()
        assert all(abs(step.after.sum()) < 1e-9 for step in path)
    smo, pasmo = paths_of["smo2"], paths_of["pasmo"]
    assert len(smo) > 2 * len(pasmo)
    best = example.objective(smo[-1].after)
    assert example.objective(pasmo[-1].after) == pytest.approx(best, rel=1e-5)
    # Two working sets in turn: each change leaves one of the last two examples untouched.
    moved = [tuple(np.flatnonzero(np.abs(step.after - step.before) > 1e-12)) for step in smo]
    assert set(moved) == {(0, 1), (0, 2)}
    assert all(first != second for first, second in pairwise(moved))


def test_gains_lie_on_the_parabola(example):
    for solver in ("smo2", "pasmo"):
        for step in example.path(solver):
            assert step.gain == pytest.approx(2 * step.ratio - step.ratio**2, abs=1e-6)
    assert all(step.ratio == pytest.approx(1) for step in example.path("smo2"))
    # A step that loses at first.
    assert any(step.ratio > 2 or step.ratio < 0 for step in example.path("pasmo"))


def test_lengths_are_summed_over_permutations(tmp_path):
    def change(line):
        if (line["experiment"], line["contender"]) == ("banana", "pasmo-lengths"):
            line["info"] = {"plain_lengths": [0, 5, 7], "planned_lengths": [1, 0, line["seed"]]}

    figures = ["two-steps", "gain", "step-lengths"]
    config = permuted.measured(tmp_path, ["banana", "heart"], change, figures=True, only=figures)
    results = load(config, PAPER, ["banana", "heart"])
    plain, planned, runs = lengths(results, "banana", "pasmo-lengths", 5300)
    assert (plain.tolist(), planned.tolist(), runs) == ([0, 50, 70], [10, 0, 45], 10)
    assert lengths(results, "heart", "pasmo-lengths", 270)[0].size == 0
    share = CLAIM_QUANTITIES["planned-lengths"].measure
    spec = {"experiments": ["banana", "heart"], "contender": "pasmo-lengths"}
    # Three bins of the axis: from -2.05, -1.95 and -1.85 to the next, lengths of about -126, -79 and -53.
    assert [finding.interval.value for finding in share(results, {**spec, "shorter": -60})[:1]] == [10 / 55]
    assert share(results, {**spec, "longer": -80})[0].interval.value == 45 / 55
    assert share(results, {**spec, "longer": 0})[0].interval.value == 0
    assert share(results, {**spec, "longer": 0})[1].reason == "no step was counted"
    for name in figures:
        svg = paths.figure(config, PAPER, name)["svg"].read_bytes()
        assert svg.count(b"<path") > 10 and b"<dc:date>" not in svg


def test_bytes_moved_stand_beside_the_speed_of_copying(tmp_path):
    def change(line):
        if line["contender"] == "smo":
            # If the clock is doubtful, the bytes still count.
            flagged = line["seed"] > 3
            info = {"bytes_moved": 8e9 if flagged else 4e9, "copy_bandwidth": 2e9}
            line |= {"cpu_seconds": 3.0, "flagged": flagged, "info": info}

    config = permuted.measured(tmp_path, ["heart"], change, only=["traffic"])
    smo, pasmo, _ = rows_of(paths.table(config, PAPER, "traffic")["csv"])
    shown = ("seconds", "gigabytes", "bandwidth", "copy_seconds", "ratio")
    assert [float(smo[key]) for key in shown] == [3, 8, 2, 2, 1.5]
    assert pasmo["ratio"] == "" and pasmo["seconds_reason"]
    assert machine.copy_bandwidth() == machine.copy_bandwidth() > 0
