"""What a time limit says of a ratio of seconds."""

import math
from dataclasses import replace

import pytest
from curve_support import claim, experiment, results, run, with_ratios
from svmrepro.workflow.analysis.fits import fit_experiment, scatter_of_repeats
from svmrepro.workflow.judgement.claims import FAILS, HOLDS, UNDECIDED, UNMEASURED
from svmrepro.workflow.judgement.verdicts import judge, record

#: Three repeats of one contender take 1 s; a limit stops the other one after 30 s.
STOPPED = {"status": "time_limit", "reason": "passed its time limit of 30 s", "cpu_seconds": 30.1}
SLOW = {"kind": "ratio", "experiments": ["set"], "above": "svmlight", "below": "svmperf"}
FAST = {**SLOW, "above": "svmperf", "below": "svmlight"}


def stopped(seconds=(1.0, 1.1, 1.0), **changes):
    perf = [run("set", "svmperf", 1000, repeat=at, cpu_seconds=each) for at, each in enumerate(seconds)]
    described = replace(experiment("set"), sizes=(1000,))
    return results([*perf, run("set", "svmlight", 1000, **STOPPED | changes)], described)


@pytest.mark.parametrize(
    ("quantity", "rule", "verdict"),
    [
        (SLOW, {"at-least": 20}, HOLDS),
        (SLOW, {"above": 20}, HOLDS),
        (SLOW, {"at-least": 40}, UNDECIDED),
        (SLOW, {"at-most": 40}, UNDECIDED),
        (SLOW, {"below": 20}, FAILS),
        (SLOW, {"between": (1, 20)}, FAILS),
        (SLOW, {"between": (1, 40)}, UNDECIDED),
        (FAST, {"at-most": 0.05}, HOLDS),
        (FAST, {"below": 0.05}, HOLDS),
        (FAST, {"at-least": 0.02}, UNDECIDED),
        (FAST, {"at-least": 0.05}, FAILS),
        (SLOW | {"at": "largest"}, {"at-least": 20}, UNMEASURED),  # of the sizes that both have solved
        (SLOW | {"of": "work"}, {"at-least": 20}, UNMEASURED),
    ],
)
def test_a_time_limit_bounds_a_ratio(quantity, rule, verdict):
    asked = claim(quantity=quantity, rule=rule, unit="x", scales=("default",))
    assert judge(asked, stopped()).verdict == verdict


@pytest.mark.parametrize(("rule", "verdict"), [({"at-least": 2}, FAILS), ({"at-most": 4}, HOLDS)])
def test_a_bound_at_a_larger_size_counts_if_it_violates_the_rule(rule, verdict):
    # Three times as fast at the smaller size, and stopped at the larger one.
    runs = [
        run("set", name, 500, repeat=at, cpu_seconds=seconds)
        for at in range(3)
        for name, seconds in (("svmlight", 3.0), ("svmperf", 1.0))
    ]
    runs += [run("set", "svmlight", 1000, repeat=at, cpu_seconds=1.0) for at in range(3)]
    runs.append(run("set", "svmperf", 1000, **STOPPED))
    measured = with_ratios(results(runs, replace(experiment("set"), sizes=(500, 1000))), "set")
    asked = claim(quantity=SLOW | {"at": "largest"}, rule=rule, unit="x", scales=("default",))
    judged = judge(asked, measured)
    size = "1,000: at most 0.0" if verdict == FAILS else "500: 3x"
    assert judged.verdict == verdict and judged.measured.startswith(f"set, n = {size}")


def test_a_bound_is_told_as_one():
    judged = judge(claim(quantity=SLOW, unit="x", scales=("default",)), stopped())
    (found,) = record(judged)["findings"]
    assert found["value"] is None and found["high"] is None and 20 < found["low"] < 30
    assert judged.measured == f"set, n = 1,000: at least {found['low']:.3g}x, by a time limit"
    judged = judge(claim(quantity=FAST, unit="x", scales=("default",)), stopped())
    (found,) = record(judged)["findings"]
    assert found["low"] is None and found["high"] > 1 / 30
    assert "at most 0.0" in judged.measured


def test_what_a_disturbed_machine_or_another_limit_stopped_bounds_nothing():
    asked = claim(quantity=SLOW, unit="x", scales=("default",))
    for changes in (
        {"flagged": "true"},
        {"machine.cpu": "another processor"},
        {"protocol": "0"},
        {"status": "memory_limit"},
        {"status": "not_run", "cpu_seconds": ""},
    ):
        assert judge(asked, stopped(**changes)).verdict == UNMEASURED


@pytest.mark.parametrize(
    "quantity", [SLOW, {"kind": "problem-ratio", "experiments": ["set"], "contender": "svmperf"}]
)
def test_seconds_below_the_clocks_resolution_bound_nothing(quantity):
    asked = claim(quantity=quantity | {"against": "set"}, unit="x", scales=("default",))
    assert judge(asked, stopped((0.0, 0.0, 0.1))).verdict == UNMEASURED


def test_such_seconds_leave_the_scatter_of_others():
    runs = [*stopped((1.0, 1.1)).runs.runs, run("set", "exact", 1000, cpu_seconds=0.0)]
    found = results([*runs, run("set", "exact", 1000, repeat=1, cpu_seconds=0.1)], experiment("set"))
    scatter = scatter_of_repeats(found.runs, found.experiment("set"))
    assert scatter.deviation == pytest.approx(math.log(1.1)) and scatter.freedom == 1


@pytest.mark.parametrize(
    ("quantity", "rule", "verdict"),
    [
        (SLOW, {"at-most": 60}, HOLDS),
        (SLOW, {"at-least": 10}, UNDECIDED),  # it may be less on a quiet machine
        (SLOW | {"at": "largest"}, {"at-least": 10}, UNDECIDED),
        (FAST, {"at-most": 0.1}, UNDECIDED),
        (FAST, {"at-least": 0.01}, HOLDS),
    ],
)
def test_seconds_of_flagged_runs_are_upper_bounds(quantity, rule, verdict):
    asked = claim(quantity=quantity, rule=rule, unit="x", scales=("default",))
    judged = judge(asked, with_ratios(stopped(status="optimal", reason="", flagged="true"), "set"))
    assert judged.verdict == verdict and judged.measured.endswith(", by flagged runs")


def test_exponents_leave_out_sizes_with_flagged_runs_only():
    seconds = {1000: (1.0, "false"), 2000: (2.0, "false"), 4000: (4.0, "false"), 8000: (80.0, "true")}
    runs = [
        run("set", "svmperf", n, repeat=at, cpu_seconds=each, flagged=flagged)
        for n, (each, flagged) in seconds.items()
        for at in range(2)
    ]
    sized = replace(experiment("set"), sizes=tuple(seconds))
    measured = results(runs, sized)
    (line, *_) = fit_experiment(measured.runs, sized, measured.numbers)
    assert line["points"] == 3 and line["exponent"] == pytest.approx(1.0)  # as tables and figures show
    quantity = {"kind": "exponent", "experiments": ["set"], "contender": "svmperf"}
    (found,) = judge(claim(quantity=quantity, rule={"at-most": 9}, scales=("default",)), measured).findings
    assert found.interval.value == pytest.approx(1.0)
