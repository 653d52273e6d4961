"""Experiments that vary C, C_total or eps, and results that are judged on a test set."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_support import EXPERIMENT, tiny
from svmrepro import datasets
from svmrepro.solvers import Kernel, Problem, solve
from svmrepro.solvers.metrics import roc_area
from svmrepro.workflow.analysis import fits as fits_of
from svmrepro.workflow.analysis import tidy
from svmrepro.workflow.analysis.power_law import fit_power_law
from svmrepro.workflow.analysis.runs import Group, Run, Runs, read_runs
from svmrepro.workflow.configuration import jobs, paths
from svmrepro.workflow.configuration.model import (
    Config,
    Experiment,
    HeldOut,
    load_config,
    read_config,
    write_config,
)
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement import run_summary
from svmrepro.workflow.measurement import data_sets
from svmrepro.workflow.measurement.forecast import Forecast
from svmrepro.workflow.measurement.progress import Progress
from svmrepro.workflow.measurement.record import read_lines
from svmrepro.workflow.steps import analyse
from svmrepro.workflow.steps import measure as measure_module
from svmrepro.workflow.steps.measure import measure_job

QUICK = {"solver": "engine_solvers:quick"}
SEEN = {"test": {"skip": 40, "rows": 30}, "measures": ["accuracy", "roc-area"]}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)


def overrides(contenders: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    changed = tiny(contenders or {"a": QUICK}, repeats=settings.pop("repeats", 1))
    changed["experiments"]["platt1998"][EXPERIMENT].update(settings)
    return changed


def prepare(contenders: dict[str, Any] | None = None, **settings: Any) -> tuple[Config, Experiment]:
    config = load_config(overrides(contenders, **settings))
    return config, config.experiment("platt1998", EXPERIMENT)


def measure(config: Config, experiment: Experiment, job: str = "all") -> tuple[list[dict[str, Any]], str]:
    stream = io.StringIO()
    part = jobs.job(config, experiment, job)
    with Progress(config, experiment, part, Path("log.txt"), stream) as progress:
        measure_job(config, experiment, part, progress)
    return read_lines(paths.job_file(config, "platt1998", EXPERIMENT, job)), stream.getvalue()


def test_every_size_is_measured_at_every_point() -> None:
    config, experiment = prepare(axis={"C": [0.1, 0.001]}, repeats=2)
    assert (experiment.axis, experiment.points) == ("C", (0.001, 0.1))
    lines, told = measure(config, experiment)
    assert [(line["n"], line["point"], line["repeat"]) for line in lines] == [
        (n, C, repeat) for n in (20, 40) for C in (0.001, 0.1) for repeat in (0, 1)
    ]
    assert all(line["C"] == line["point"] and line["axis"] == "C" for line in lines)
    assert {line["status"] for line in lines} == {"optimal"}
    assert "C = 0.001 " in told and told.endswith("no run of scale default left\n")
    # The values differ: it was another problem each time.
    duals = {(line["n"], line["point"]): line["certificate"]["dual"] for line in lines}
    assert duals[20, 0.001] < duals[20, 0.1]
    assert measure(config, experiment)[0] == lines  # nothing is measured twice


def test_eps_is_an_axis() -> None:
    config, experiment = prepare(axis={"eps": [1e-4, 1e-1, 1e-2]})
    assert experiment.points == (1e-1, 1e-2, 1e-4)  # the hardest comes last
    lines, _ = measure(config, experiment)
    assert [line["eps"] for line in lines[:3]] == [line["point"] for line in lines[:3]] == [1e-1, 1e-2, 1e-4]
    gaps = [line["certificate"]["pair_gap"] for line in lines[:3]]
    assert gaps == sorted(gaps, reverse=True) and gaps[2] <= 1e-4 < gaps[0]
    assert {line["C"] for line in lines} == {experiment.C}


def test_over_eps_a_contender_with_a_tolerance_of_its_own_is_measured_once() -> None:
    """A reference of another family, as good as can be had, stands for every point of the axis."""
    config, experiment = prepare(
        {"a": QUICK, "reference": {"solver": "liblinear", "bias": False, "eps": 1e-7}},
        axis={"eps": [1e-1, 1e-2]},
        sizes=[20],
    )
    runs, seconds = Forecast(config, experiment).left()
    assert runs == 3 and seconds is not None and seconds > 0
    lines, _ = measure(config, experiment)
    assert {line["status"] for line in lines} == {"optimal"}
    assert [(line["contender"], line["point"], line["eps"]) for line in lines] == [
        ("a", 1e-1, 1e-1),
        ("a", 1e-2, 1e-2),
        ("reference", None, 1e-7),
    ]
    best = lines[-1]["certificate"]
    assert best["gap"] <= 1e-6 * best["primal"]
    assert measure(config, experiment)[0] == lines  # nothing is measured twice
    assert Forecast(config, experiment).left() == (0, 0.0)
    changed = prepare(
        {"a": QUICK, "reference": {"solver": "liblinear", "bias": False, "eps": 1e-6}},
        axis={"eps": [1e-1, 1e-2]},
        sizes=[20],
    )[1]
    # Another tolerance of its own: it is measured again, and nobody else.
    before, after = ([row.key for row in jobs.rows(each)] for each in (experiment, changed))
    assert before[:2] == after[:2] and before[2] != after[2]
    over_C = replace(experiment, axis="C", points=(0.001, 0.1))
    assert [len(row.contenders) for row in jobs.rows(over_C)] == [
        2,
        2,
    ]  # over C it is another problem each time


def test_runs_without_a_point_stand_for_every_point() -> None:
    config, experiment = prepare(
        {"a": QUICK, "reference": {"solver": "liblinear", "bias": False, "eps": 1e-7}},
        axis={"eps": [1e-1, 1e-2]},
    )
    measure(config, experiment)
    lines = tidy.collect_lines(paths.job_files(config, "platt1998", EXPERIMENT))
    runs = Runs(tuple(Run(line) for line in lines))
    assert runs.points(EXPERIMENT) == (1e-2, 1e-1)
    one, other = (runs.group(EXPERIMENT, "reference", 20, eps) for eps in (1e-1, 1e-2))
    assert one.solved and one is other
    assert runs.group(EXPERIMENT, "a", 20, 1e-1) is not runs.group(EXPERIMENT, "a", 20, 1e-2)
    assert runs.along(EXPERIMENT, "reference", "cpu_seconds", 20) == {}  # it has no course along the axis
    assert list(runs.along(EXPERIMENT, "a", "cpu_seconds", 20)) == [1e-2, 1e-1]


def test_a_limit_of_a_solver_s_own_is_told() -> None:
    line = {"experiment": "e", "contender": "lsvm", "n": "9", "status": "memory_limit", "repeat": "0"}
    assert Group((Run({**line, "memory_limit_mb": "128.0"}),)).reason == "not run: needs more than 128 MB"
    own = Group((Run({**line, "memory_limit_mb": ""}),))
    assert own.reason == "not run: needs more than the solver's own limit of memory"


def test_total_C_is_shared_out_among_the_examples() -> None:
    _, experiment = prepare()
    total = replace(experiment, C=None, C_total=100.0, axis="C_total", points=(10.0, 1000.0))
    assert [(row.n, row.point, row.C) for row in jobs.rows(total)] == [
        (20, 10.0, 0.5),
        (20, 1000.0, 50.0),
        (40, 10.0, 0.25),
        (40, 1000.0, 25.0),
    ]
    # The same problem by another name has the same key.
    plain = replace(experiment, C=None, C_total=1000.0)
    assert jobs.rows(total)[1].key == jobs.rows(plain)[0].key


def test_configuration_survives_being_written(tmp_path: Path) -> None:
    config, experiment = prepare(axis={"eps": [1e-2, 1e-1]}, **SEEN)
    write_config(config, tmp_path / "c.json")
    assert read_config(tmp_path / "c.json") == config
    assert experiment.test == HeldOut(None, 40, 30)


def test_a_limit_stops_what_is_harder() -> None:
    config, experiment = prepare(
        {"a": {"solver": "engine_solvers:strained", "time_limit": 9}, "b": QUICK}, axis={"C": [0.1, 0.6, 0.9]}
    )
    lines, told = measure(config, experiment)
    found = {(line["n"], line["point"]): line for line in lines if line["contender"] == "a"}
    assert {place: line["status"] for place, line in found.items()} == {
        (20, 0.1): "optimal",
        (20, 0.6): "time_limit",
        (20, 0.9): "not_run",
        (40, 0.1): "optimal",
        (40, 0.6): "not_run",
        (40, 0.9): "not_run",
    }
    assert found[20, 0.9]["reason"] == "passed its time limit of 9 s at n = 20, C = 0.6"
    assert {line["status"] for line in lines if line["contender"] == "b"} == {"optimal"}
    assert told.endswith("no run of scale default left\n")
    assert Forecast(config, experiment).left() == (0, 0.0)


def test_a_small_eps_is_harder() -> None:
    config, experiment = prepare(
        {"a": {"solver": "engine_solvers:strained"}}, axis={"eps": [1e-5, 1e-4, 1e-2]}, sizes=[20]
    )
    lines, _ = measure(config, experiment)
    assert [line["status"] for line in lines] == ["optimal", "time_limit", "not_run"]


def test_keys_follow_axis_test_and_measures() -> None:
    def keys(**settings: Any) -> list[str]:
        return [row.key for row in jobs.rows(prepare(**settings)[1])]

    plain = keys()
    assert len(set(keys(axis={"C": [0.1, 0.2]}))) == 4
    # A point that is the experiment's own value is the same problem.
    assert set(plain) <= set(keys(axis={"C": [prepare()[1].C, 7.0]}))
    judged = keys(**SEEN)
    assert set(judged).isdisjoint(plain)
    for other in (
        {**SEEN, "measures": ["accuracy"]},
        {**SEEN, "test": {"skip": 41, "rows": 30}},
        {**SEEN, "test": {"skip": 40, "rows": 31}},
    ):
        assert set(keys(**other)).isdisjoint(judged)


def test_jobs_by_size_hold_all_points() -> None:
    config = load_config({**overrides(axis={"C": [0.1, 0.2]}), "job": "size"})
    found = jobs.jobs(config, config.experiment("platt1998", EXPERIMENT))
    assert [(job.name, [row.point for row in job.rows]) for job in found] == [
        ("n20", [0.1, 0.2]),
        ("n40", [0.1, 0.2]),
    ]


def test_results_are_judged_on_rows_that_no_one_trained_on() -> None:
    config, experiment = prepare({"smo": {"solver": "smo"}, "a": QUICK}, sizes=[20], **SEEN)
    lines, _ = measure(config, experiment)
    whole = datasets.load("noise", 70, seed=0)
    problem = Problem(whole.X[:20], whole.y[:20], experiment.C, Kernel.linear())
    values = solve(problem, "smo").decision_function(problem, whole.X[40:])
    found = {line["contender"]: line["performance"] for line in lines}
    assert found["smo"] == {
        "accuracy": np.mean((values > 0) == (whole.y[40:] > 0)),
        "roc-area": roc_area(whole.y[40:], values),
    }
    # A user's own solver is judged as well, by its multipliers.
    assert found["a"]["roc-area"] == pytest.approx(found["smo"]["roc-area"], abs=0.02)


def test_a_test_set_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []
    real = measure_module.load_test

    def counted(config: Any, row: jobs.Row, features: int) -> Any:
        loaded.append(row.n)
        return real(config, row, features)

    monkeypatch.setattr(measure_module, "load_test", counted)
    config, experiment = prepare({"a": QUICK}, sizes=[20, 30, 40], axis={"C": [0.1, 0.2]}, **SEEN)
    lines, _ = measure(config, experiment)
    assert len(lines) >= 6 and all(line["performance"] for line in lines)
    assert loaded == [20]


def test_what_meets_a_limit_is_judged_too() -> None:
    config, experiment = prepare({"a": {"solver": "engine_solvers:strained"}}, sizes=[20], C=0.9, **SEEN)
    (line,), _ = measure(config, experiment)
    assert (line["status"], line["performance"]["roc-area"]) == ("time_limit", 0.5)


def own_files(folder: Path, features: int = 2) -> dict[str, Any]:
    """Write a training and a test set, and return what makes them known."""
    rng = np.random.default_rng(0)
    for name, n in (("mine", 40), ("other", 25)):
        width = 2 if name == "mine" else features
        X = rng.normal(size=(n, width)).round(3)
        y = np.where(X[:, 0] > 0, 1, -1)
        rows = [
            f"{label:+d} " + " ".join(f"{k + 1}:{x}" for k, x in enumerate(row))
            for label, row in zip(y, X, strict=True)
        ]
        (folder / name).write_text("\n".join(rows) + "\n")
    return {name: {"path": str(folder / name)} for name in ("mine", "other")}


@pytest.mark.parametrize("features", [2, 3])
def test_another_data_set_can_be_the_test_set(tmp_path: Path, features: int) -> None:
    changed = overrides(
        {"own": {"solver": "smo"}},
        dataset="mine",
        sizes=[40],
        C=10.0,
        test={"dataset": "other"},
        measures=["prbep"],
    )
    config = load_config({**changed, "datasets": own_files(tmp_path, features)})
    data_sets.register(config)
    experiment = config.experiment("platt1998", EXPERIMENT)
    if features == 2:
        (line,), _ = measure(config, experiment)
        assert line["status"] == "optimal", line["reason"]
        assert line["performance"]["prbep"] > 0.8
    else:
        with pytest.raises(StepError, match="test set other: 3 features, not 2"):
            measure(config, experiment)


def test_a_test_set_that_is_missing_is_told() -> None:
    config, experiment = prepare(dataset="adult", sizes=[40], measures=["accuracy"])
    # Its training file is missing as well; the test set's own reason is the loader's.
    row = jobs.rows(experiment)[0]
    with pytest.raises(data_sets.NotAvailable, match="test set: "):
        data_sets.load_test(config, row, 123)
    (line,), _ = measure(config, experiment)
    assert line["status"] == "not_run"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"axis": {"n": [1]}}, ".axis.n: unknown key"),
        ({"axis": {"C": [1], "eps": [1]}}, ".axis: "),
        ({"axis": {"C": []}}, ".axis.C: must not be empty"),
        ({"axis": {"C": [1, 1]}}, ".axis.C: names something twice"),
        ({"axis": {"C": [0]}}, ".axis.C[0]: must be positive"),
        ({"axis": {"C_total": [1]}}, ".axis: varies 'C_total': the experiment has to give that"),
        ({"measures": ["accurcy"]}, ".measures[0]: unknown measure 'accurcy'; did you mean 'accuracy'?"),
        ({"test": {"rows": 3, "skip": 99}}, ".test: needs measures"),
        ({"measures": ["prbep"]}, ".test: a generated set needs rows, and skip of at least 40"),
        ({"measures": ["prbep"], "test": {"rows": 9, "skip": 39}}, "skip of at least 40"),
        ({"measures": ["prbep"], "test": {"dataset": "separable"}}, "data set 'separable' is generated"),
        ({"measures": ["prbep"], "test": {"dataset": "adlut"}}, ".test.dataset: unknown data set 'adlut'"),
        ({"measures": ["prbep"], "dataset": "connect-4"}, ".test: connect-4: the set has no test part"),
        (
            {"measures": ["prbep"], "dataset": "adult", "test": {"rows": 99_999}},
            ".test: adult: n = 99999: the test set has 16281 rows",
        ),
        (
            {"measures": ["prbep"], "dataset": "adult", "test": {"skip": 3}},
            ".test.skip: data set 'adult' is not generated",
        ),
        ({**SEEN, "encoding": "standardised"}, ".measures: encodings are made of training rows"),
    ],
)
def test_fault_names_its_place(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(StepError) as caught:
        prepare(**settings)
    assert message in str(caught.value)


def test_exponents_are_those_along_the_axis(tmp_path: Path) -> None:
    config, experiment = prepare({"a": QUICK, "b": QUICK}, axis={"eps": [1e-1, 1e-2, 1e-3]}, sizes=[40])
    measure(config, experiment)
    lines = tidy.collect_lines(paths.job_files(config, "platt1998", EXPERIMENT))
    path = paths.measurements(config, "platt1998", EXPERIMENT)
    analyse.run(config, "platt1998", EXPERIMENT)
    fits = fits_of.read_fits([paths.fits(config, "platt1998", EXPERIMENT)])
    found = fits[EXPERIMENT, "a", "cpu_seconds", "measured"]
    assert (found.points, found.n_min, found.n_max) == (3, 1e-3, 1e-1)
    steps = [float(line["iterations"]) for line in lines if line["contender"] == "a"]
    runs = read_runs([path])
    law = fit_power_law(runs.series(EXPERIMENT, "a", "iterations"), "x")
    slope = np.polyfit(np.log([1e-3, 1e-2, 1e-1]), np.log(steps), 1)[0]
    assert law.exponent is not None and law.exponent.value == pytest.approx(slope)
    assert fits_of.read_ratios([paths.ratios(config, "platt1998", EXPERIMENT)]) == {}


def test_runs_are_grouped_by_point() -> None:
    config, experiment = prepare({"a": QUICK, "b": QUICK}, axis={"C": [0.001, 0.01, 0.1]}, **SEEN)
    measure(config, experiment)
    lines = tidy.collect_lines(paths.job_files(config, "platt1998", EXPERIMENT))
    path = paths.measurements(config, "platt1998", EXPERIMENT)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tidy.to_csv(lines))
    runs = read_runs([path])
    assert runs.points(EXPERIMENT) == (0.001, 0.01, 0.1) and runs.sizes(EXPERIMENT) == (20, 40)
    assert len(runs.group(EXPERIMENT, "a", 20, 0.01).runs) == 1
    assert not runs.group(EXPERIMENT, "a", 20).runs
    along = runs.along(EXPERIMENT, "a", "certificate.dual", 20)
    assert list(along) == [0.001, 0.01, 0.1] and along[0.001] < along[0.1]
    assert set(runs.series(EXPERIMENT, "a", "performance.accuracy", 0.01)) == {20, 40}
    assert runs.series(EXPERIMENT, "a", "iterations") == runs.along(EXPERIMENT, "a", "iterations", 40)
    entries = run_summary.summarise(runs)
    assert len(entries) == 12 and {entry["point"] for entry in entries} == {"0.001", "0.01", "0.1"}
    # Written down and read again, no point is taken for another.
    again = run_summary.unfold(run_summary.fold(entries))
    assert {run_summary._key(entry) for entry in again} == {run_summary._key(entry) for entry in entries}
    assert len(again) == 12
