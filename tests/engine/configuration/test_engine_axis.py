"""Experiments that vary C, C_total or eps, and results measured on a test set."""

from dataclasses import replace

import numpy as np
import pytest
from engine_support import EXPERIMENT, measure, prepare, refusal, rows, solver, the_experiment, tiny
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.metrics import roc_area
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.configuration import jobs, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement import reference_check
from svmrepro.workflow.measurement.forecast import Forecast
from svmrepro.workflow.steps import analyse

QUICK = {"a": solver("quick")}
SEEN = {"test": {"skip": 40, "rows": 30}, "measures": ["accuracy", "roc-area"]}


def one(contenders=None, sizes=(20, 40), **of):
    """Return a configuration with one repeat and a changed experiment."""
    return prepare(contenders or QUICK, sizes, of, repeats=1)


def analysed(config):
    """Measure and analyse; return the runs as in the tables."""
    measure(config)
    analyse.run(config, "platt1998", EXPERIMENT)
    return read_runs([paths.measurements(config, "platt1998", EXPERIMENT)])


def test_every_size_is_measured_at_every_point():
    config = one(axis={"C": [0.1, 0.001]}, repeats=2)
    assert (the_experiment(config).axis, the_experiment(config).points) == ("C", (0.001, 0.1))
    lines, told = measure(config)
    assert [(line["n"], line["point"], line["repeat"]) for line in lines] == [
        (n, C, repeat) for n in (20, 40) for C in (0.001, 0.1) for repeat in (0, 1)
    ]
    assert all(line["C"] == line["point"] and line["axis"] == "C" for line in lines)
    assert {line["status"] for line in lines} == {"optimal"}
    assert "C = 0.001 " in told and told.endswith("no run left\n")
    # The values differ, so each was a separate problem.
    duals = {(line["n"], line["point"]): line["certificate"]["dual"] for line in lines}
    assert duals[20, 0.001] < duals[20, 0.1]
    assert measure(config)[0] == lines  # nothing is measured twice


def test_eps_is_an_axis():
    config = one(axis={"eps": [1e-4, 1e-1, 1e-2]})
    assert the_experiment(config).points == (1e-1, 1e-2, 1e-4)  # the hardest point comes last
    lines, _ = measure(config)
    assert [line["eps"] for line in lines[:3]] == [line["point"] for line in lines[:3]] == [1e-1, 1e-2, 1e-4]
    gaps = [line["certificate"]["pair_gap"] for line in lines[:3]]
    assert gaps == sorted(gaps, reverse=True) and gaps[2] <= 1e-4 < gaps[0]
    assert {line["C"] for line in lines} == {the_experiment(config).C}


def test_over_eps_a_contender_with_a_tolerance_of_its_own_is_measured_once():
    """A precise reference of another family serves all points of the axis."""

    def with_reference(eps):
        reference = {"solver": "liblinear", "bias": False, "eps": eps}
        return one({**QUICK, "reference": reference}, [20], axis={"eps": [1e-1, 1e-2]})

    config = with_reference(1e-7)
    experiment = the_experiment(config)
    runs, seconds = Forecast(config, experiment).left()
    assert runs == 3 and seconds is not None and seconds > 0
    lines, _ = measure(config)
    assert {line["status"] for line in lines} == {"optimal"}
    assert [(line["contender"], line["point"], line["eps"]) for line in lines] == [
        ("a", 1e-1, 1e-1),
        ("a", 1e-2, 1e-2),
        ("reference", None, 1e-7),
    ]
    best = lines[-1]["certificate"]
    assert best["gap"] <= 1e-6 * best["primal"]
    assert measure(config)[0] == lines  # nothing is measured twice
    assert Forecast(config, experiment).left() == (0, 0.0)
    # With another tolerance of its own, it alone is measured again.
    before, after = ([row.fingerprint for row in rows(each)] for each in (config, with_reference(1e-6)))
    assert before[:2] == after[:2] and before[2] != after[2]
    over_C = replace(experiment, axis="C", points=(0.001, 0.1))  # each point is a separate problem
    assert [len(row.contenders) for row in jobs.instances(over_C)] == [2, 2]

    found = analysed(config)
    assert found.points(EXPERIMENT) == (1e-2, 1e-1)
    first, other = (found.group(EXPERIMENT, "reference", 20, eps) for eps in (1e-1, 1e-2))
    assert first.solved and first is other
    assert found.group(EXPERIMENT, "a", 20, 1e-1) is not found.group(EXPERIMENT, "a", 20, 1e-2)
    assert found.series(EXPERIMENT, "reference", "certificate.dual") == {}  # it does not vary along the axis
    assert list(found.series(EXPERIMENT, "a", "certificate.dual")) == [1e-2, 1e-1]


def test_total_C_is_shared_out_among_the_examples():
    experiment = the_experiment(one())
    total = replace(experiment, C=None, C_total=100.0, axis="C_total", points=(10.0, 1000.0))
    assert [(row.n, row.point, row.C) for row in jobs.instances(total)] == [
        (20, 10.0, 0.5),
        (20, 1000.0, 50.0),
        (40, 10.0, 0.25),
        (40, 1000.0, 25.0),
    ]
    # The same problem under another name has the same key.
    plain = replace(experiment, C=None, C_total=1000.0)
    assert jobs.instances(total)[1].fingerprint == jobs.instances(plain)[0].fingerprint


def test_a_limit_stops_what_is_harder():
    config = one({**QUICK, "slow": solver("strained", time_limit=9)}, axis={"C": [0.1, 0.6, 0.9]})
    lines, told = measure(config)
    found = {(line["n"], line["point"]): line for line in lines if line["contender"] == "slow"}
    assert {place: line["status"] for place, line in found.items()} == {
        (20, 0.1): "optimal",
        (20, 0.6): "time_limit",
        (20, 0.9): "not_run",
        (40, 0.1): "optimal",
        (40, 0.6): "not_run",
        (40, 0.9): "not_run",
    }
    assert found[20, 0.9]["reason"] == "passed a limit of its own (time_limit) at n = 20, C = 0.6"
    assert {line["status"] for line in lines if line["contender"] == "a"} == {"optimal"}
    assert told.endswith("no run left\n")
    # A smaller eps is harder.
    lines, _ = measure(one({"a": solver("strained")}, [20], axis={"eps": [1e-5, 1e-4, 1e-2]}))
    assert [line["status"] for line in lines] == ["optimal", "time_limit", "not_run"]


def test_keys_follow_axis_test_and_measures():
    def keys(**of):
        return {row.fingerprint for row in rows(one(**of))}

    plain = keys()
    assert len(keys(axis={"C": [0.1, 0.2]})) == 4
    # A point with the experiment's own value is the same problem.
    assert plain <= keys(axis={"C": [the_experiment(one()).C, 7.0]})
    judged = keys(**SEEN)
    assert judged.isdisjoint(plain)
    for other in (
        {**SEEN, "measures": ["accuracy"]},
        {**SEEN, "test": {"skip": 41, "rows": 30}},
        {**SEEN, "test": {"skip": 40, "rows": 31}},
    ):
        assert keys(**other).isdisjoint(judged)


def test_results_are_judged_on_rows_that_no_one_trained_on():
    config = one({"smo": {"solver": "smo"}, **QUICK}, [20], **SEEN)
    lines, _ = measure(config)
    whole = datasets.load("noise", 70, seed=0)
    problem = Problem(whole.X[:20], whole.y[:20], the_experiment(config).C, Kernel.linear())
    values = solve(problem, "smo").decision_function(problem, whole.X[40:])
    found = {line["contender"]: line["performance"] for line in lines}
    assert found["smo"] == {
        "accuracy": np.mean((values > 0) == (whole.y[40:] > 0)),
        "roc-area": roc_area(whole.y[40:], values),
    }
    # A user-defined solver is measured as well, through its multipliers.
    assert found["a"]["roc-area"] == pytest.approx(found["smo"]["roc-area"], abs=0.02)


def test_what_meets_a_limit_is_judged_too():
    (line,), _ = measure(one({"a": solver("strained")}, [20], C=0.9, **SEEN))
    assert (line["status"], line["performance"]["roc-area"]) == ("time_limit", 0.5)


def own_files(features):
    """Write a training set with two features and a test set of the given size; return their registration."""
    rng = np.random.default_rng(0)
    for name, n, width in (("mine", 40, 2), ("other", 25, features)):
        X = rng.normal(size=(n, width))
        datasets.write_libsvm(name, X, np.where(X[:, 0] > 0, 1.0, -1.0))
    return {name: {"path": name} for name in ("mine", "other")}


@pytest.mark.parametrize("features", [2, 3])
def test_another_data_set_can_be_the_test_set(features):
    of = {"dataset": "mine", "C": 10.0, "test": {"dataset": "other"}, "measures": ["prbep"]}
    config = prepare({"own": {"solver": "smo"}}, [40], of, repeats=1, datasets=own_files(features))
    if features == 2:
        (line,), _ = measure(config)
        assert line["status"] == "optimal", line["reason"]
        assert line["performance"]["prbep"] > 0.8
    else:
        with pytest.raises(StepError, match="test set other: 3 features, not 2"):
            measure(config)


PRBEP = {"measures": ["prbep"]}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"axis": {"n": [1]}}, ".axis.n: unknown key"),
        ({"axis": {}}, ".axis: needs exactly one of C, C_total and eps"),
        ({"axis": {"C": []}}, ".axis.C: "),
        ({"axis": {"C": [1, 1]}}, ".axis.C: contains duplicates"),
        ({"axis": {"C_total": [1]}}, ".axis: varies 'C_total'"),
        ({"measures": ["accurcy"]}, ".measures[0]: unknown measure 'accurcy'; did you mean 'accuracy'?"),
        ({"test": {"rows": 3, "skip": 99}}, ".test: needs measures"),
        (PRBEP, ".test: a generated set needs rows, and skip of at least 40"),
        ({**PRBEP, "test": {"rows": 9, "skip": 39}}, "skip of at least 40"),
        ({**PRBEP, "test": {"dataset": "separable"}}, "data set 'separable' is generated"),
        ({**PRBEP, "test": {"dataset": "adlut"}}, ".test.dataset: unknown data set 'adlut'"),
        ({**PRBEP, "dataset": "connect-4"}, ".test: connect-4: the set has no test part"),
        (
            {**PRBEP, "dataset": "adult", "test": {"dataset": "adult"}},
            ".test.dataset: 'adult' is the training set",
        ),
        ({**PRBEP, "dataset": "adult", "test": {"rows": 99_999}}, ".test: adult: n = 99999"),
        (
            {**PRBEP, "dataset": "kdd04-physics", "sizes": [40_001]},
            ".test: kdd04-physics: the training set of 40001 rows holds test examples",
        ),
        ({**SEEN, "encoding": "standardised"}, ".measures: encodings are made of training rows"),
    ],
)
def test_fault_names_its_place(settings, words):
    overrides = tiny(QUICK, of=settings)
    assert words in refusal(overrides)


def test_runs_are_grouped_by_point():
    runs = analysed(one({**QUICK, "b": solver("quick")}, axis={"C": [0.001, 0.01, 0.1]}, **SEEN))
    assert runs.points(EXPERIMENT) == (0.001, 0.01, 0.1) and runs.sizes(EXPERIMENT) == (20, 40)
    assert len(runs.group(EXPERIMENT, "a", 20, 0.01).runs) == 1
    assert not runs.group(EXPERIMENT, "a", 20).runs
    along = runs.series(EXPERIMENT, "a", "certificate.dual")
    assert list(along) == [0.001, 0.01, 0.1] and along[0.001] < along[0.1]
    assert runs.group(EXPERIMENT, "a", 40, 0.01).values("performance.accuracy")
    entries = reference_check.summarise(runs)
    assert len(entries) == 12 and {entry["point"] for entry in entries} == {"0.001", "0.01", "0.1"}
