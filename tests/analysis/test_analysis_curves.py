"""Curves over n, C and eps: what is plotted, and what claims take from them."""

import math
from dataclasses import replace

import pytest
from curve_support import claim, experiment, results, run
from svmrepro.workflow.analysis.curves import absent, by_place, curve, exponent, one_example
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.runs import MeasuredRun
from svmrepro.workflow.configuration.model import Artefact, Quantity
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.figures import curves
from svmrepro.workflow.figures.style import styled
from svmrepro.workflow.judgement import _curve_quantities as curve_quantities
from svmrepro.workflow.judgement.claims import FAILS, HOLDS
from svmrepro.workflow.judgement.quantities import needs_clock
from svmrepro.workflow.judgement.verdicts import judge
from svmrepro.workflow.statistics import Interval


def over_n():
    for n in (1000, 2000, 4000):
        for repeat in range(3):
            yield run("set", "svmperf", n, repeat=repeat, cpu_seconds=0.001 * n**0.8, iterations=50)
    yield run("set", "svmlight", 1000, status="time_limit", time_limit=30)


def over_C():
    for n in (1000, 4000):
        for C in (100.0, 1000.0, 10000.0):
            best = 100.0 if n == 1000 else 1000.0
            peak = 0.9 if best == C else 0.8
            mine = {"performance.accuracy": peak, "iterations": round(C**0.5), "certificate.relaxed": 99.5}
            yield run("set", "svmperf", n, C, cpu_seconds=n * C / 1e6, **mine)
            yield run("set", "svmlight", n, C, cpu_seconds=n * C / 1e5, **{"performance.accuracy": 0.8})
            yield run("set", "exact", n, C, **{"certificate.primal": 100.0})


def test_over_n_all_sizes_are_points_and_what_was_not_solved_says_why():
    found = results(list(over_n()), experiment("set"))
    points = curve(found, "set", "svmperf", "n", Quantity())
    assert [point.x for point in points] == [1000, 2000, 4000]
    assert exponent(points, "set").exponent.value == pytest.approx(0.8)
    steps = curve(found, "set", "svmperf", "n", Quantity(of="iterations"))
    assert [point.y.value for point in steps] == [50] * 3
    assert curve(found, "set", "svmlight", "n", Quantity()) == []
    assert absent(found, "set", "svmlight") == "stopped: time limit of 30 s"
    assert absent(found, "set", "smo") == "not in this experiment"


def test_over_an_axis_the_largest_size_counts_and_over_n_the_best_of_each():
    found = results(list(over_C()), experiment("set", "C_total", ("accuracy",)))
    points = curve(found, "set", "svmperf", "C_total", Quantity())
    assert [point.x for point in points] == [100, 1000, 10000]
    assert [point.y.value for point in points] == pytest.approx([0.4, 4.0, 40.0])
    assert len(by_place(found, "set", "svmperf")) == 6
    # C = 100 is best for 1,000 examples and 1,000 for 4,000.
    points = curve(found, "set", "svmperf", "n", Quantity(best=True))
    assert [point.x for point in points] == [1000, 4000]
    assert [point.y.value for point in points] == pytest.approx([0.1, 4.0])
    with pytest.raises(StepError, match="'set' has no axis 'eps'"):
        curve(found, "set", "svmperf", "eps", Quantity())
    untested = results([], experiment("set", "C_total"))
    with pytest.raises(StepError, match="has no test set"):
        curve(untested, "set", "svmperf", "C_total", Quantity(of="performance"))


@pytest.mark.parametrize(
    ("quantity", "values"),
    [
        ({"of": "performance"}, [80.0, 90.0, 80.0]),
        ({"of": "performance", "minus": "svmlight"}, [0.0, 10.0, 0.0]),
        ({"of": "performance", "minus_at": 1000}, [-10.0, 0.0, -10.0]),
        ({"over": "svmlight"}, [0.1, 0.1, 0.1]),
        ({"over_at": 1000}, [0.1, 1.0, 10.0]),
        ({"of": "iterations", "minus_at": 100}, [0.0, 22.0, 90.0]),
        ({"short_of": "exact"}, [0.005, 0.005, 0.005]),
    ],
)
def test_quantities(quantity, values):
    found = results(list(over_C()), experiment("set", "C_total", ("accuracy",)))
    points = curve(found, "set", "svmperf", "C_total", Quantity(**quantity))
    assert [point.y.value for point in points] == pytest.approx(values)


def test_seconds_at_two_points_are_paired_repeat_by_repeat():
    # Each repeat is slower than the one before at both points, which does not affect their ratio.
    seconds = {0.001: (2.0, 4.0, 6.0), 0.5: (1.0, 2.0, 3.3)}
    runs = [
        run("set", "svmlight", 1000, eps, repeat=repeat, cpu_seconds=value)
        for eps, values in seconds.items()
        for repeat, value in enumerate(values)
    ]
    runs.append(run("set", "svmlight", 1000, 0.1, repeat=0, cpu_seconds=1.5))
    found = results(runs, experiment("set", "eps"))
    points = {point.x: point.y for point in curve(found, "set", "svmlight", "eps", Quantity(over_at=0.001))}
    assert points[0.5].value == pytest.approx(0.5)
    assert points[0.5].low is not None and points[0.5].low > 0.4 and points[0.5].high < 0.7
    # A single run, with the scatter of the repeats at the other points: a factor of 8.7 either way.
    assert points[0.1].value == pytest.approx(0.75) and 0.05 < points[0.1].low < 0.1


def test_claims_take_slopes_and_values():
    found = results(list(over_C()), experiment("set", "C_total", ("accuracy",)))
    spec = {"kind": "curve-exponent", "experiments": ["set"], "contender": "svmperf", "x": "C_total"}
    (finding,) = curve_quantities.curve_exponents(found, {**spec, "of": "iterations"})
    assert finding.interval is not None and finding.interval.value == pytest.approx(0.5, abs=0.02)
    (short,) = curve_quantities.curve_exponents(found, {**spec, "to": 1000})
    assert short.interval is None and short.reason == "2 of at least 3 values measured"
    each = curve_quantities.curve_values(found, {**spec, "from": 1000, "over": "svmlight"})
    assert [finding.label for finding in each] == ["set, C = 1,000", "set, C = 10,000"]
    (nobody,) = curve_quantities.curve_values(found, {**spec, "contender": "smo"})
    assert nobody.interval is None and nobody.reason == "not in this experiment"
    clocked = [
        needs_clock({"kind": "curve-value", **of}) for of in ({}, {"of": "iterations"}, {"short_of": "exact"})
    ]
    assert clocked == [True, False, False]


def test_a_count_of_a_single_run_is_exact_and_seconds_are_not():
    runs = [run("set", "svmperf", 1000, 100.0, iterations=7, cpu_seconds=0.5)]
    spec = {"experiments": ["set"], "contender": "svmperf", "x": "C_total"}
    found = results(runs, experiment("set", "C_total"))
    (count,) = curve_quantities.curve_values(found, {**spec, "of": "iterations"})
    (seconds,) = curve_quantities.curve_values(found, spec)
    assert (count.interval, seconds.interval) == (Interval.exact(7.0), Interval(0.5))


def at_large_C(**fields):
    """Return the runs of three values of C; the largest one's has other fields, and svmlight solves all."""
    for C in (100.0, 1000.0, 10000.0):
        changes = fields if C == 10000.0 else {}
        yield run("set", "svmperf", 4000, C, **{"iterations": 50, "cpu_seconds": 1.0} | changes)
        yield run("set", "svmlight", 4000, C, iterations=50, cpu_seconds=4.0)


STOPPED = {"status": "time_limit", "time_limit": 30}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (STOPPED | {"iterations": 11_486}, Interval(11_486.0, 11_486.0, math.inf)),
        (STOPPED | {"iterations": 11_486, "flagged": "true"}, Interval(11_486.0, 11_486.0, math.inf)),
        (STOPPED | {"iterations": ""}, "stopped: time limit of 30 s"),
        ({"status": "not_run", "reason": "no data", "iterations": ""}, "not run: no data"),
        ({"status": "error", "reason": "oh", "iterations": 99}, "failed: oh"),
    ],
)
def test_a_count_until_a_limit_is_a_lower_bound_and_other_gaps_say_why(fields, found):
    measured = results(list(at_large_C(**fields)), experiment("set", "C_total"))
    spec = {"kind": "curve-value", "experiments": ["set"], "contender": "svmperf", "x": "C_total"}
    *solved, last = curve_quantities.curve_values(measured, {**spec, "of": "iterations"})
    assert [each.interval for each in solved] == [Interval.exact(50.0)] * 2
    assert last.label == "set, C = 10,000" and last.found == found
    (_, _, seconds) = curve_quantities.curve_values(measured, {**spec, "over": "svmlight"})
    assert seconds.interval is None and seconds.reason
    short = curve_quantities.curve_values(measured, {**spec, "of": "iterations", "to": 1000})
    assert [each.found for each in short] == [each.found for each in solved]
    quantity = {**spec, "of": "iterations"}
    judged = judge(claim(quantity=quantity, rule={"at-most": 10_000}, scales=("default",)), measured)
    assert judged.verdict == (FAILS if isinstance(found, Interval) else HOLDS)


def test_a_count_is_bounded_without_any_point_as_well():
    runs = [run("set", "svmperf", 4000, 100.0, iterations=7, **STOPPED)]
    spec = {"experiments": ["set"], "contender": "svmperf", "x": "C_total", "of": "iterations"}
    (found,) = curve_quantities.curve_values(results(runs, experiment("set", "C_total")), spec)
    assert found.interval == Interval(7.0, 7.0, math.inf) and found.open_end == "at least"


@pytest.mark.parametrize(
    ("contender", "changes", "open_end"),
    [
        ("svmperf", {}, ""),
        ("svmperf", {"flagged": "true"}, "at most"),
        ("svmlight", {"flagged": "true"}, "at least"),
        ("svmperf", STOPPED, "at least"),
        ("svmlight", STOPPED, "at most"),
    ],
)
def test_a_ratio_of_flagged_or_partly_stopped_runs_is_a_bound(contender, changes, open_end):
    runs = [
        run("set", label, 4000, 100.0, repeat=at, cpu_seconds=seconds + 0.01 * at, **fields)
        for at in range(3)
        for label, seconds in (("svmperf", 1.0), ("svmlight", 4.0))
        # All repeats are flagged, or the last one was stopped.
        for fields in [changes if label == contender and (at == 2 or "flagged" in changes) else {}]
    ]
    measured = results(runs, experiment("set", "C_total"))
    spec = {"experiments": ["set"], "contender": "svmperf", "x": "C_total"}
    (ratio,) = curve_quantities.curve_values(measured, {**spec, "over": "svmlight"})
    assert ratio.interval.value == pytest.approx(0.25, abs=0.01) and ratio.open_end == open_end
    (seconds,) = curve_quantities.curve_values(measured, spec)
    assert seconds.open_end == ("at most" if (contender, open_end) == ("svmperf", "at most") else "")


def artefact(**settings):
    return Artefact("figure", "curves", "figure", ("set", "set-best", "gone"), "A title", "", settings)


def test_a_figure_has_a_line_a_set_and_tells_who_is_missing(tmp_path):
    (tmp_path / "joachims2006_timings.csv").write_text("experiment,n,svmperf_seconds\nset,4000,1.0\n")
    (tmp_path / "joachims2006_optima.csv").write_text("experiment,n,C_total\nset,2000,300\nfar,10000000,1\n")
    best = experiment("set-best", "C_total", ("accuracy",))
    runs = [*over_n(), *(MeasuredRun({**r.fields, "experiment": "set-best"}) for r in over_C())]
    runs.append(run("gone", "svmperf", 1000, status="not_run", reason="data not available"))
    numbers = PaperNumbers(tmp_path, "joachims2006")
    found = replace(results(runs, experiment("set"), best, experiment("gone")), numbers=numbers)
    panels = [
        {"contender": "svmperf", "guide": 0.8},
        {"contender": "svmperf", "title": "best C", "suffix": "-best", "y": {"best": True}},
    ]
    with styled():
        figure = curves.build(found, artefact(panels=panels))
    (legend,) = figure.legends
    printed = [line for line in figure.axes[0].get_lines() if line.get_label() == curves.PAPER_POINTS]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in printed] == [(4000, 1.0)]
    # The best C of each size has a panel of its own, with the same line.
    chosen, paper = figure.axes[2].get_lines()
    assert paper.get_label() == curves.PAPER_CHOICE
    assert (*paper.get_xdata(), *paper.get_ydata()) == (2000, 300)  # not that of a much larger set
    points = curve(found, "set-best", "svmperf", "n", Quantity(best=True))
    assert [*zip(chosen.get_xdata(), chosen.get_ydata(), strict=True)] == [(p.x, p.at) for p in points]
    assert legend.get_title().get_text() == "Gone: not run: data not available"


def test_a_figure_tells_what_is_left_out_and_what_has_no_test_part():
    tested = experiment("set", "C_total", ("accuracy",))
    found = results(
        over_C(), tested, experiment("untested", "C_total"), experiment("set-new", "C_total", ("accuracy",))
    )
    paper = replace(
        found.paper, left_out={"big-C": "Big", "big-eps": "Big", "set-C": "Set", "other": "Other"}
    )
    shown = replace(
        artefact(panels=[{"contender": "svmperf"}], x="C_total", y={"of": "performance"}, scale="linear"),
        experiments=("set", "untested", "set-new"),
        left_out=("big-C", "set-C"),
    )
    with styled():
        (legend,) = curves.build(replace(found, paper=paper), shown).legends
    assert legend.get_title().get_text().splitlines()[:3] == [
        f"Big: not part of the {found.scale} scale",
        "Untested: has no test part",
        "Set-new: not part of this run",
    ]


def test_no_line_leads_through_a_place_without_a_point():
    runs = [run("set", "svmperf", 4000, C, iterations=50) for C in (1.0, 10.0, 1000.0)]
    runs.append(run("set", "svmperf", 4000, 100.0, status="time_limit", time_limit=30))
    found = results(runs, experiment("set", "C_total"))
    shown = artefact(panels=[{"contender": "svmperf"}], x="C_total", y={"of": "iterations"})
    with styled():
        figure = curves.build(found, replace(shown, experiments=("set",)))
    assert [[*line.get_xdata()] for line in figure.axes[0].get_lines()] == [[1.0, 10.0], [1000.0]]


def test_one_example_is_the_common_denominator_of_the_performances():
    shares = (211 / 312, 209 / 312, 158 / 312, 100 / 312)
    column = "performance.accuracy"
    runs = [run("set", "svmperf", 4000, float(at), **{column: share}) for at, share in enumerate(shares, 1)]
    found = results(runs, experiment("set", "C_total", ("accuracy",)))
    assert one_example(found, "set") == pytest.approx(100 / 312)
    few = results(runs[:2], experiment("set", "C_total", ("accuracy",)))
    assert one_example(few, "set") is None
    irrational = [run("set", "svmperf", 4000, float(at), **{column: at**0.5 / 4}) for at in (2, 3, 5, 7)]
    assert one_example(results(irrational, experiment("set", "C_total", ("accuracy",))), "set") is None


def test_a_performance_is_known_to_one_test_example():
    right = {0.0001: 207, 0.001: 208, 0.01: 208, 0.03: 200, 0.1: 211}  # of 312
    column = "performance.accuracy"
    runs = [run("set", "svmperf", 4000, eps, **{column: share / 312}) for eps, share in right.items()]
    found = results(runs, experiment("set", "eps", ("accuracy",)))
    spec = {"kind": "curve-value", "experiments": ["set"], "contender": "svmperf", "x": "eps"}
    spec |= {"of": "performance", "minus_at": 0.001}
    findings = curve_quantities.curve_values(found, spec)
    step = 100 / 312
    assert findings[0].interval.high == 0.0
    widths = [each.interval.high - each.interval.low for each in findings]
    assert widths == pytest.approx([2 * step, 0.0, 2 * step, 2 * step, 2 * step])  # itself, at 0.001
    verdicts = [
        judge(claim(quantity={**spec, **part}, rule={"at-least": -0.5}, scales=("default",)), found)
        for part in ({"to": 0.0001}, {"from": 0.001, "to": 0.01}, {"from": 0.03, "to": 0.03}, {"from": 0.1})
    ]
    assert [each.verdict for each in verdicts] == ["not decided", "holds", "does not hold", "holds"]
    assert verdicts[0].measured.endswith("one test example counts up to 0.32 (set)")
    # Two different performances do not tell how many examples there are.
    unknown = curve_quantities.curve_values(results(runs[1:4], found.experiment("set")), spec)
    assert [each.interval.ends is None for each in unknown] == [False, True, True]


def test_exponents_leave_out_flagged_points_and_those_with_stopped_runs():
    def at(C, repeat, **fields):
        return run("set", "svmperf", 4000, C, repeat=repeat, **{"cpu_seconds": C, **fields})

    straight = [at(C, repeat) for C in (1.0, 10.0, 100.0) for repeat in range(3)]
    slowed = [at(1000.0, repeat, cpu_seconds=1e6, flagged="true") for repeat in range(3)]
    stopped = [at(10000.0, repeat) for repeat in range(2)]
    stopped.append(at(10000.0, 2, status="time_limit", time_limit=1e4))
    described = experiment("set", "C_total")
    found = results([*straight, *slowed, *stopped], described)
    spec = {"kind": "curve-exponent", "experiments": ["set"], "contender": "svmperf", "x": "C_total"}
    (finding,) = curve_quantities.curve_exponents(found, spec)
    assert finding.interval.value == pytest.approx(1.0)
    points = curve(found, "set", "svmperf", "C_total", Quantity())  # what is drawn
    assert [point.x for point in points if point.flagged or point.stopped] == [1000.0, 10000.0]
    (few,) = curve_quantities.curve_exponents(results([*straight[:6], *slowed], described), spec)
    assert few.reason == "2 of at least 3 values measured"
    (none,) = curve_quantities.curve_exponents(results(slowed, described), spec)
    assert none.reason == "all runs are flagged for other load"
