"""Experiments over a grid of C and gamma: one run solves, certifies and adds up all cells."""

from dataclasses import replace
from types import SimpleNamespace

import engine_support
import pytest
from engine_support import refusal
from support import rows_of
from svmrepro.solvers import Problem
from svmrepro.workflow.analysis.grids import cells, shared_cells
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.runs import Group, MeasuredRun, Runs
from svmrepro.workflow.configuration import jobs, load_config, paths
from svmrepro.workflow.judgement._grid_quantities import PER_ITERATION, grid_ratio, grid_share
from svmrepro.workflow.measurement import grid_run
from svmrepro.workflow.measurement.data_sets import register
from svmrepro.workflow.statistics import Interval
from svmrepro.workflow.steps import analyse, collect, plot, tabulate
from svmrepro.workflow.surroundings import meter

NAME = "adult-grid"
GRID = {"C": [1000, 1e-4, 1], "gamma": [0.5, 0.01]}
NO_STEPS = '[{"C": 1, "gamma": 1, "status": "optimal", "cpu_seconds": 0, "iterations": 0}]'
ORDER = [(gamma, C) for gamma in (0.01, 0.5) for C in (1e-4, 1.0, 1000.0)]
#: Bounded multipliers only need some n / 2 steps; those of the largest C need hundreds.
CONTENDERS = {
    "smo-newton-warm": {"solver": "smo-newton", "warm": True},
    "smo-newton": {"solver": "smo-newton"},
    "libsvm": None,
    "onedal": None,
    "short": {"solver": "smo2", "iteration_limit": 60},
}


def overrides(**changes):
    """Return settings that leave one grid on generated data."""
    experiment = {
        "dataset": "noise",
        "sizes": [60],
        "repeats": 2,
        "grid": GRID,
        "contenders": CONTENDERS,
        **changes,
    }
    return {"papers": ["grid"], "experiments": {"grid": {NAME: experiment, "spambase-grid": None}}}


def grid_in(folder, **changes):
    """Return the configuration of a grid whose files are in a folder, and register its data sets."""
    folders = {f"{name}_dir": str(folder / name) for name in ("results", "figures", "data")}
    config = load_config({**overrides(**changes), **folders})
    register(config)
    return config


def measure(config, folder):
    """Measure and analyse a grid; return its lines."""
    experiment = config.experiment("grid", NAME)
    lines, _ = engine_support.measure(config, log=folder / "log.txt", experiment=experiment)
    analyse.run(config, "grid", NAME)
    collect.run(config, "grid")
    return lines


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A measured and analysed grid: its configuration, and its lines."""
    folder = tmp_path_factory.mktemp("grid")
    config = grid_in(folder)
    return config, measure(config, folder)


def test_a_run_solves_every_cell_and_adds_up(measured, tmp_path):
    config, lines = measured
    assert [(line["contender"], line["repeat"]) for line in lines] == [
        ("smo-newton-warm", 0), ("smo-newton", 0), ("short", 0), ("smo-newton-warm", 1), ("smo-newton", 1),
    ]  # fmt: skip
    for line in lines:
        own = line["info"]["cells"]
        assert [(cell["gamma"], cell["C"]) for cell in own] == ORDER
        for name in ("cpu_seconds", "iterations", "kernel_evaluations"):
            assert line[name] == pytest.approx(sum(cell[name] for cell in own))
        if line["contender"] != "short":
            assert line["status"] == "optimal" and line["certificate"]["passed"]
            assert line["certificate"]["pair_gap"] <= 1.001e-3
            assert line["certificate"]["gap"] >= 0 and line["certificate"]["dual"] > 0
    duals = {line["contender"]: line["certificate"] for line in lines}
    warm, cold = duals["smo-newton-warm"], duals["smo-newton"]
    assert abs(warm["dual"] - cold["dual"]) <= warm["gap"] + cold["gap"]
    assert measure(config, tmp_path) == lines  # nothing is measured twice


def test_the_limit_on_processors_counts_while_cells_are_solved_alone(tmp_path, monkeypatch):
    stopped = [0.0]
    around = SimpleNamespace(throttled=lambda: stopped[0], read=dict)
    monkeypatch.setattr(meter, "processor_state", lambda: around)

    def later(function, seconds):
        def called(*arguments, **options):
            stopped[0] += seconds
            return function(*arguments, **options)

        return called

    monkeypatch.setattr(grid_run, "certified", later(grid_run.certified, 100.0))
    monkeypatch.setattr(Problem, "with_C", later(Problem.with_C, 1.0))  # once for each cell
    contenders = dict.fromkeys(CONTENDERS) | {"cold": {"solver": "smo2"}}
    (line,) = measure(grid_in(tmp_path, repeats=1, contenders=contenders), tmp_path)
    assert line["noise"]["throttled_seconds"] == len(ORDER)
    assert "stopped it for 6 s" in line["flag_reason"]


def test_a_limited_cell_does_not_end_the_grid(measured):
    _, lines = measured
    (line,) = (line for line in lines if line["contender"] == "short")  # a limit is not repeated
    certified = [cell["status"] == "optimal" for cell in line["info"]["cells"]]
    first = certified.index(False)
    gamma, C = ORDER[first]
    assert line["status"] == "iteration_limit" and not line["certificate"]["passed"]
    assert line["reason"] == (
        f"{sum(certified)} of 6 cells certified; C = {C:g}, gamma = {gamma:g}: stopped at its cap of 60 steps"
    )
    assert sum(certified) > 0 and any(certified[first:])  # smaller C of the next gamma are solved again


def test_table_and_figure_show_certified_cells_and_compare_what_both_solved(measured):
    config, lines = measured
    tabulate.run(config, "grid", ["grid-seconds"])
    plot.run(config, "grid", ["grid-cells"])
    table = paths.table(config, "grid", "grid-seconds")
    warm, cold, short = rows_of(table["csv"])
    assert [row["certified"] for row in (warm, cold)] == ["6", "6"]
    certified = sum(cell["status"] == "optimal" for cell in lines[2]["info"]["cells"])
    assert int(short["certified"]) == certified < int(short["cells"]) == 6
    assert warm["ratio"] == "" and float(cold["ratio"]) > 0
    runs = read_runs([paths.measurements(config, "grid", NAME)])
    groups = {label: runs.group(NAME, label, 60) for label in runs.contenders(NAME)}
    (shared,) = shared_cells(groups["short"], groups["smo-newton-warm"])
    own, other = (cells(groups[label].runs[0]) for label in ("short", "smo-newton-warm"))
    assert shared == [(own[place], other[place]) for place in ORDER if own[place].certified]
    assert len(shared) == certified
    for suffix, path in paths.figure(config, "grid", "grid-cells").items():
        assert suffix == "json" or path.stat().st_size > 10_000


def test_a_flagged_repeat_costs_no_pair(measured):
    config, _ = measured
    runs = read_runs([paths.measurements(config, "grid", NAME)])
    short, warm = (runs.group(NAME, label, 60) for label in ("short", "smo-newton-warm"))
    (before,) = shared_cells(short, warm)  # "short" has one repeat
    flagged = (
        MeasuredRun({**run.fields, "flagged": flag})
        for run, flag in zip(warm.runs, ("true", "false"), strict=True)
    )
    assert list(shared_cells(short, Group(tuple(flagged)))) == [before]


def test_claims_count_the_cells_of_a_grid(measured):
    config, lines = measured
    results = load(config, "grid", [NAME])
    pair = ("smo-newton-warm", "smo-newton")
    warm, cold = ([each for each in lines if each["contender"] == label] for label in pair)
    both = list(zip(warm[0]["info"]["cells"], cold[0]["info"]["cells"], strict=True))
    (share,) = grid_share(results, {"experiments": [NAME], "contenders": pair, "of": "iterations"})
    fewer = sum(one["iterations"] < other["iterations"] for one, other in both) / len(both)
    assert share.label.endswith(", n = 60") and share.interval.value == pytest.approx(fewer)
    quiet = [MeasuredRun({**run.fields, "flagged": "false"}) for run in results.runs.runs]
    results = replace(results, runs=Runs(tuple(quiet)))
    (tied,) = grid_share(results, {"experiments": [NAME], "contenders": (pair[0], pair[0])})
    assert tied.interval.ends == (0.0, 1.0), "another process would let either win"
    spec = {"experiments": [NAME], "above": pair[0], "below": pair[1]}
    (steps,) = grid_ratio(results, {**spec, "of": "iterations"})
    assert steps.interval == Interval.exact(warm[0]["iterations"] / cold[0]["iterations"])
    (seconds,), (each,) = grid_ratio(results, spec), grid_ratio(results, {**spec, "of": PER_ITERATION})
    assert seconds.interval.value == pytest.approx(each.interval.value * steps.interval.value)
    zero = [MeasuredRun({**run.fields, "info.cells": NO_STEPS}) for run in quiet]
    (none,) = grid_ratio(replace(results, runs=Runs(tuple(zero))), {**spec, "of": "iterations"})
    assert none.interval is None
    (missing,) = grid_ratio(results, {**spec, "above": "libsvm"})
    assert missing.interval is None and missing.reason


def test_without_data_table_and_figure_say_so(tmp_path):
    config = grid_in(tmp_path, dataset="adult", sizes=[1605])
    (line, *_) = measure(config, tmp_path)
    assert line["status"] == "not_run"
    tabulate.run(config, "grid", ["grid-seconds"])
    plot.run(config, "grid", ["grid-cells"])
    text = paths.table(config, "grid", "grid-seconds")["md"].read_text()
    assert text.count("not run: data set adult (a1a) is not available") == 3


def test_the_grid_and_warm_starts_decide_what_is_measured():
    def key(**changes):
        config = load_config(overrides(**changes))
        (instance,) = jobs.instances(config.experiment("grid", NAME))
        return instance.fingerprint

    cold = {**CONTENDERS, "smo-newton-warm": {"solver": "smo-newton", "warm": False}}
    more = {**GRID, "C": [1000, 1e-4, 1, 2]}
    assert len({key(), key(contenders=cold), key(grid=more)}) == 3
    assert key() == key(grid={name: GRID[name][::-1] for name in GRID}, title="another")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": 1}, "an experiment with a grid has no such key"),
        ({"axis": {"C": [1, 2]}}, "an experiment with a grid has no such key"),
        ({"kernel": {"gamma": 1}}, "a grid needs a gaussian kernel without gamma or sigma2"),
        ({"grid": {"C": []}}, "C"),
        ({"contenders": {"libsvm": {"solver": "libsvm", "warm": True}}}, "a solver that takes a start"),
        (
            {"contenders": {"own": {"solver": "engine_solvers:quick", "warm": True}}},
            "a solver that takes a start",
        ),
    ],
)
def test_grids_that_cannot_be_are_refused(changes, message):
    assert message in refusal(overrides(**changes))
