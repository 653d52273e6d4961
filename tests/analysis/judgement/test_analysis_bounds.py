"""What limits and flagged runs say of numbers of seconds, and of counts."""

import json
import math
from dataclasses import replace

import pytest
from curve_support import claim, experiment, results, run, with_ratios
from svmrepro.workflow.analysis.fits import fit_experiment, scatter_of_repeats
from svmrepro.workflow.analysis.runs import MeasuredRun
from svmrepro.workflow.judgement.claims import FAILS, HOLDS, STAND_IN, TOO_SMALL, UNDECIDED, UNMEASURED
from svmrepro.workflow.judgement.quantities import CLAIM_QUANTITIES
from svmrepro.workflow.judgement.verdicts import judge, record
from svmrepro.workflow.tables.layout.size_rows import seconds_cell

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


@pytest.mark.parametrize(
    ("rule", "decisive", "verdict", "size"),
    [
        ({"at-least": 2}, 0, FAILS, 1000),
        ({"at-most": 4}, 0, HOLDS, 500),
        ({"at-most": 2}, 0, FAILS, 500),  # a bound that meets the rule does not overrule a size that decides
        ({"at-most": 2}, 1000, HOLDS, 1000),
        ({"at-least": 2}, 1000, FAILS, 1000),
        ({"between": (0.01, 2)}, 1000, TOO_SMALL, 500),
        ({"at-most": 2}, 2000, TOO_SMALL, 500),
    ],
)
def test_a_bound_at_a_larger_size_counts_if_it_decides_what_the_smaller_cannot(rule, decisive, verdict, size):
    # Three times as fast at the smaller size, and stopped at the larger one.
    runs = [
        run("set", name, 500, repeat=at, cpu_seconds=seconds)
        for at in range(3)
        for name, seconds in (("svmlight", 3.0), ("svmperf", 1.0))
    ]
    runs += [run("set", "svmlight", 1000, repeat=at, cpu_seconds=1.0) for at in range(3)]
    runs.append(run("set", "svmperf", 1000, **STOPPED))
    measured = with_ratios(results(runs, replace(experiment("set"), sizes=(500, 1000))), "set")
    quantity = SLOW | {"at": "largest"}
    judged = judge(claim(quantity=quantity, rule=rule, decisive=decisive, scales=("default",)), measured)
    assert judged.verdict == verdict
    assert judged.measured.startswith("set, n = 1,000: at most 0.0" if size == 1000 else "set, n = 500: 3")


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


@pytest.mark.parametrize(
    ("quantity", "rule", "verdict"),
    [
        (SLOW, {"at-most": 60}, UNDECIDED),  # the repeat that was stopped may have taken longer
        (SLOW, {"at-least": 20}, HOLDS),
        (FAST, {"at-least": 0.01}, UNDECIDED),
        (FAST, {"at-most": 0.05}, HOLDS),
    ],
)
def test_repeats_that_were_not_stopped_bound_a_ratio_from_one_side(quantity, rule, verdict):
    found = stopped()
    solved = [
        run("set", "svmlight", 1000, repeat=at, cpu_seconds=each) for at, each in ((1, 33.0), (2, 30.0))
    ]
    measured = with_ratios(results([*found.runs.runs, *solved], found.experiment("set")), "set")
    judged = judge(claim(quantity=quantity, rule=rule, unit="x", scales=("default",)), measured)
    assert judged.verdict == verdict and judged.measured.endswith("by a time limit")


def test_a_table_says_how_many_repeats_a_limit_stopped():
    solved = [
        run("set", "svmlight", 1000, repeat=at, cpu_seconds=each) for at, each in ((1, 33.0), (2, 30.0))
    ]
    found = stopped()
    measured = results([*found.runs.runs, *solved], found.experiment("set"))
    cell = seconds_cell(measured, "set", "svmlight", measured.rows("set")[0])
    assert (cell.text, cell.detail) == ("33.0", "1 of 3 runs stopped, counted as the slowest")


def two_problems(top, bottom):
    """Return three repeats of one contender on two problems, each with fields of their own."""
    runs = [
        run(name, "svmperf", 1000, repeat=at, cpu_seconds=seconds + 0.01 * at, **fields)
        for name, seconds, fields in (("slow", 3.0, top), ("fast", 1.0, bottom))
        for at in range(3)
    ]
    described = [replace(experiment(name), sizes=(1000,)) for name in ("slow", "fast")]
    return results(runs, *described)


FLAGGED = {"flagged": "true"}
PROBLEMS = {"kind": "problem-ratio", "experiments": ["slow"], "against": "fast", "contender": "svmperf"}


@pytest.mark.parametrize(
    ("top", "bottom", "rule", "verdict"),
    [
        (FLAGGED, {}, {"at-least": 2}, UNDECIDED),
        (FLAGGED, {}, {"at-most": 4}, HOLDS),
        ({}, FLAGGED, {"at-least": 2}, HOLDS),
        ({}, FLAGGED, {"at-most": 4}, UNDECIDED),
        (FLAGGED, FLAGGED, {"at-most": 4}, UNDECIDED),
        ({}, {"machine.cpu": "another processor"}, {"at-least": 2}, UNMEASURED),
        ({}, {"protocol": "1, pinned"}, {"at-least": 2}, UNMEASURED),
        ({}, {}, {"at-least": 2}, HOLDS),
    ],
)
def test_seconds_of_two_problems(top, bottom, rule, verdict):
    asked = claim(quantity=PROBLEMS, rule=rule, unit="x", scales=("default",))
    judged = judge(asked, two_problems(top, bottom))
    assert judged.verdict == verdict
    assert judged.measured.endswith("by flagged runs") == (bool(judged.findings[0].open_end))


def test_counts_of_two_problems_need_no_machine():
    found = two_problems({"iterations": 20}, {"iterations": 10, "machine.cpu": "another processor"})
    judged = judge(claim(quantity=PROBLEMS | {"of": "iterations"}, scales=("default",)), found)
    assert judged.findings[0].interval.ends == (2.0, 2.0)


GRID = {"experiments": ["set"], "above": "svmlight", "below": "svmperf", "kind": "grid-ratio"}
SHARE = {"experiments": ["set"], "contenders": ["svmperf", "svmlight"], "kind": "grid-share"}


@pytest.mark.parametrize(
    ("quantity", "flagged", "rule", "verdict"),
    [
        (GRID, "", {"between": (1.5, 2.5)}, HOLDS),
        (GRID, "svmlight", {"at-least": 1.5}, UNDECIDED),
        (GRID, "svmlight", {"at-most": 2.5}, HOLDS),
        (GRID, "svmperf", {"at-least": 1.5}, HOLDS),
        (GRID | {"of": "seconds-per-iteration"}, "svmlight", {"at-least": 1.5}, UNDECIDED),
        (GRID | {"of": "iterations"}, "svmlight", {"equals": 1}, HOLDS),
        (SHARE, "", {"at-least": 0.9}, HOLDS),
        (SHARE, "svmlight", {"at-least": 0.9}, UNDECIDED),
        (SHARE, "svmperf", {"at-least": 0.9}, HOLDS),
    ],
)
def test_seconds_of_flagged_runs_over_a_grid(quantity, flagged, rule, verdict):
    def cells(seconds):
        places = [(gamma, C) for gamma in (0.1, 1.0) for C in (1.0, 10.0)]
        cell = {"status": "optimal", "cpu_seconds": seconds, "iterations": 5}
        return json.dumps([{"gamma": gamma, "C": C, **cell} for gamma, C in places])

    runs = [
        run(
            "set",
            name,
            1000,
            repeat=at,
            flagged=str(name == flagged).lower(),
            **{"info.cells": cells(seconds)},
        )
        for name, seconds in (("svmlight", 2.0), ("svmperf", 1.0))
        for at in range(3)
    ]
    measured = results(runs, replace(experiment("set"), sizes=(1000,)))
    assert judge(claim(quantity=quantity, rule=rule, scales=("default",)), measured).verdict == verdict


TABLE = {"table": "table2", "of": "iterations"}
LESS = {"kind": "significant", "contenders": ["svmlight", "svmperf"], "has": "less", **TABLE}
MEANS = {"kind": "mean-ratio", "above": "svmperf", "below": "svmlight", **TABLE}


def permutations(quantity, changes):
    """Return a claim's finding on 20 permutations of two sets, with changed lines of a contender on one."""
    runs = [
        run(name, label, 1000, seed=seed, run_id=seed, cpu_seconds=each, iterations=round(1000 * each))
        for name in ("other", "set")
        for seed in range(20)
        for label, factor in (("svmlight", 2.0), ("svmperf", 1.0))
        for each in [factor * (1 + 0.01 * seed)]
    ]
    changed = [
        MeasuredRun({**each.fields, **changes(int(each.fields["seed"]))})
        if (each.experiment, each.contender) == ("set", "svmperf")
        else each
        for each in runs
    ]
    described = [replace(experiment(name), sizes=(1000,)) for name in ("other", "set")]
    measured = results(changed, *described)
    return CLAIM_QUANTITIES[quantity["kind"]].measure(measured, quantity)


LATER_NOT_RUN = [{}] * 15 + [{"status": "time_limit"}] + [{"status": "not_run"}] * 4


@pytest.mark.parametrize("of", ["iterations", "cpu_seconds"])
@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        (lambda seed: {}, (1.0, 1.0)),
        (LATER_NOT_RUN.__getitem__, (0.5, 1.0)),
        (lambda seed: {"status": "not_run" if seed else "time_limit"}, (0.5, 1.0)),
    ],
)
def test_a_data_set_on_which_a_run_was_stopped_may_be_significant_or_not(of, changes, ends):
    (share,) = permutations({**LESS, "experiments": ["other", "set"], "of": of}, changes)
    assert share.interval.ends == ends


def test_so_may_a_data_set_whose_seconds_are_all_flagged():
    quantity = {**LESS, "experiments": ["other", "set"]}
    (seconds,) = permutations({**quantity, "of": "cpu_seconds"}, lambda seed: {"flagged": "true"})
    (counts,) = permutations(quantity, lambda seed: {"flagged": "true"})
    assert (seconds.interval.ends, counts.interval.ends) == ((0.5, 1.0), (1.0, 1.0))


@pytest.mark.parametrize("of", ["iterations", "cpu_seconds"])
def test_a_ratio_of_means_has_no_interval_where_a_run_was_stopped(of):
    quantity = {**MEANS, "experiments": ["set"], "of": of}
    (whole,) = permutations(quantity, lambda seed: {})
    (partly,) = permutations(quantity, LATER_NOT_RUN.__getitem__)
    assert whole.interval.ends is not None and partly.interval.ends is None


def test_a_ratio_of_means_of_flagged_seconds_is_a_bound():
    quantity = {**MEANS, "experiments": ["set"], "of": "cpu_seconds"}
    (above,) = permutations(quantity, lambda seed: {"flagged": "true"})
    swapped = {**quantity, "above": "svmlight", "below": "svmperf"}
    (below,) = permutations(swapped, lambda seed: {"flagged": "true"})
    assert (above.open_end, below.open_end) == ("at most", "at least")
    (counts,) = permutations({**quantity, "of": "iterations"}, lambda seed: {"flagged": "true"})
    assert counts.interval.ends == pytest.approx((0.5, 0.5))


def test_a_share_of_data_sets_rests_on_stand_ins():
    runs = [
        run("set", label, 1000, seed=seed, run_id=seed, iterations=each)
        for seed in range(10)
        for label, each in (("svmlight", 200 + seed), ("svmperf", 100 + seed))
    ]
    asked = claim(quantity={**LESS, "experiments": ["set"]}, scales=("default",))
    own = replace(experiment("set"), sizes=(1000,))
    for described, verdict in ((own, HOLDS), (replace(own, stand_in_for="another"), STAND_IN)):
        assert judge(asked, results(runs, described)).verdict == verdict
