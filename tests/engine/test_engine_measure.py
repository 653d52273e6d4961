import io
import json
import os
import re
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from engine_support import EXPERIMENT, environment, tiny
from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration import jobs, paths
from svmrepro.workflow.configuration.model import Config, Experiment, load_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.measurement import data_sets, machine
from svmrepro.workflow.measurement.forecast import Forecast, duration, extrapolate
from svmrepro.workflow.measurement.journal import Journal
from svmrepro.workflow.measurement.progress import Progress
from svmrepro.workflow.measurement.record import read_lines
from svmrepro.workflow.steps import fetch, generate
from svmrepro.workflow.steps.closing import closing
from svmrepro.workflow.steps.measure import measure_job


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SVMREPRO_MIRROR", raising=False)


def prepare(contenders: dict[str, Any] | None = None, **settings: Any) -> tuple[Config, Experiment]:
    config = load_config(tiny(contenders, **settings))
    return config, config.experiment("platt1998", EXPERIMENT)


def measure(config: Config, experiment: Experiment, job: str = "all") -> tuple[list[dict[str, Any]], str]:
    stream = io.StringIO()
    part = jobs.job(config, experiment, job)
    with Progress(config, experiment, part, Path("log.txt"), stream) as progress:
        measure_job(config, experiment, part, progress)
    return read_lines(paths.job_file(config, "platt1998", EXPERIMENT, job)), stream.getvalue()


def solver(name: str, **fields: Any) -> dict[str, Any]:
    return {"solver": f"engine_solvers:{name}", **fields}


def journal(config: Config) -> list[dict[str, Any]]:
    return Journal(paths.journal(config, "platt1998", EXPERIMENT)).lines()


def test_all_runs_are_made_interleaved_and_certified() -> None:
    config, experiment = prepare({label: solver("quick") for label in "abc"}, repeats=3)
    lines, told = measure(config, experiment)
    assert Counter(line["status"] for line in lines) == {"optimal": 18}
    order = [(line["n"], line["repeat"], line["contender"]) for line in journal(config)]
    assert order[:9] == [
        (20, repeat, label) for repeat, turn in enumerate(("abc", "bca", "cab")) for label in turn
    ]
    assert len({line["run_id"] for line in lines}) == 1
    assert all(line["certificate"]["passed"] and line["cpu_seconds"] > 0 for line in lines)
    assert "18 runs to make; 18 runs of scale default left" in told
    assert told.endswith("no run of scale default left\n")
    assert len([line for line in Path("log.txt").read_text().splitlines() if " n = " in line]) >= 18


def test_second_measurement_runs_nothing() -> None:
    config, experiment = prepare()
    first, _ = measure(config, experiment)
    second, told = measure(config, experiment)
    assert first == second
    assert told == ""


def test_killed_job_goes_on_with_what_is_missing() -> None:
    config, experiment = prepare()
    measure(config, experiment)
    path = paths.journal(config, "platt1998", EXPERIMENT)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:3]) + whole[3][:50])
    lines, _ = measure(config, experiment)
    keys = [(line["row"], line["contender"], line["repeat"]) for line in journal(config)]
    assert len(keys) == len(set(keys)) == len(lines) == 8
    assert path.read_bytes().startswith(b"".join(whole[:3]))
    assert len({line["run_id"] for line in lines}) == 2


def test_changed_solver_times_its_rows_anew_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    config, experiment = prepare()
    first, _ = measure(config, experiment)
    monkeypatch.setattr(fingerprints, "solver_fingerprint", lambda name: f"new {name}")
    second, _ = measure(config, experiment)
    assert len(journal(config)) == 16
    assert {line["row"] for line in first}.isdisjoint(line["row"] for line in second)
    assert {line["fingerprint"] for line in second} == {"new engine_solvers:quick"}


def test_row_key_follows_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(**settings: Any) -> list[str]:
        _, experiment = prepare(**settings)
        return [row.key for row in jobs.rows(experiment)]

    def edited(**fields: Any) -> list[str]:
        overrides = tiny()
        overrides["experiments"]["platt1998"][EXPERIMENT].update(fields)
        return [row.key for row in jobs.rows(load_config(overrides).experiment("platt1998", EXPERIMENT))]

    base = keys()
    assert base == keys(repeats=9) == keys(timed_jobs=2) == edited(title="Another")
    assert edited(sizes=[20, 30])[0] == base[0]
    for change in ({"C": 0.2}, {"eps": 1e-4}, {"seeds": [1]}, {"time_limit": 1}, {"dataset": "separable"}):
        assert set(edited(**change)).isdisjoint(base)
    monkeypatch.setattr(
        fingerprints, "solver_fingerprint", lambda name: "changed" if name == "chunking" else "same"
    )
    before = fingerprints.solver_fingerprint
    config = load_config({})
    rows = {
        name: jobs.rows(config.experiment("platt1998", name))[0]
        for name in ("noise-linear", "step-tolerance-noise")
    }
    old = {name: row.key for name, row in rows.items()}
    monkeypatch.setattr(fingerprints, "solver_fingerprint", lambda name: "same")
    assert before("chunking") == "changed"
    new = {name: jobs.Row(row.experiment, row.n, row.seed).key for name, row in rows.items()}
    assert old["noise-linear"] != new["noise-linear"]
    assert old["step-tolerance-noise"] == new["step-tolerance-noise"]


def test_limit_stops_larger_sizes_at_once() -> None:
    config, experiment = prepare(
        {"all": solver("quick"), "some": solver("limited", options={"above": 40}, time_limit=5)},
        sizes=(20, 40, 60, 80),
    )
    lines, told = measure(config, experiment)
    some = [(line["n"], line["status"], line["reason"]) for line in lines if line["contender"] == "some"]
    reason = "passed its time limit of 5 s"
    assert some == [
        (20, "optimal", None),
        (20, "optimal", None),
        (40, "time_limit", reason),
        (60, "not_run", f"{reason} at n = 40"),
        (80, "not_run", f"{reason} at n = 40"),
    ]
    assert Counter(line["status"] for line in lines if line["contender"] == "all") == {"optimal": 8}
    assert "time_limit (passed its time limit of 5 s)" in told
    assert "no timing: noise-linear [some (2 sizes)]: passed its time limit of 5 s at n = 40" in closing(
        config
    )
    # The next size, asked of a job of its own, knows the limit too.
    by_size, same = prepare(
        {"all": solver("quick"), "some": solver("limited", options={"above": 40}, time_limit=5)},
        sizes=(20, 40, 60, 80),
        job="size",
    )
    assert [(job.name, job.after) for job in jobs.jobs(by_size, same)] == [
        ("n20", None), ("n40", "n20"), ("n60", "n40"), ("n80", "n60"),
    ]  # fmt: skip
    again, told = measure(by_size, same, "n80")
    assert [(line["row"], line["status"], line["reason"]) for line in again] == [
        (line["row"], line["status"], line["reason"]) for line in lines if line["n"] == 80
    ]


def test_faults_of_one_contender_do_not_stop_the_others() -> None:
    config, experiment = prepare(
        {
            "good": solver("quick"),
            "bad": solver("failing"),
            "liar": solver("wrong"),
            "gone": {"solver": "engine_solvers:nothing"},
            "odd": solver("quick", storage="bits", bias=False),
            "silent": solver("nothing_returned"),
            "leaving": solver("leaving"),
            "careless": solver("careless"),
            "last": solver("quick"),
        },
        sizes=[20],
    )
    lines, _ = measure(config, experiment)
    found = {line["contender"]: line for line in lines}
    assert found["good"]["status"] == "optimal"
    assert found["bad"]["status"] == "error"
    assert re.fullmatch(r"ArithmeticError: it went wrong \(engine_solvers.py:\d+\)", found["bad"]["reason"])
    assert found["liar"]["status"] == "uncertified" and "certificate failed" in found["liar"]["reason"]
    assert found["liar"]["certificate"]["passed"] is False
    assert found["gone"]["status"] == found["silent"]["status"] == found["leaving"]["status"] == "error"
    assert found["gone"]["reason"] == (
        "solver 'engine_solvers:nothing': AttributeError: module 'engine_solvers' has no attribute 'nothing'"
    )
    assert found["silent"]["reason"] == (
        "solver 'engine_solvers:nothing_returned' returned NoneType, without alpha and bias"
    )
    assert re.fullmatch(r"SystemExit: no licence \(engine_solvers.py:\d+\)", found["leaving"]["reason"])
    # What it did to its problem, the others and the certificate do not see.
    assert found["careless"]["status"] == found["last"]["status"] == "optimal"
    assert found["odd"]["status"] == "error"
    assert "bias must be 0 for a problem without bias" in found["odd"]["reason"]
    # One run of what would end in the same way again.
    assert Counter(line["contender"] for line in lines) == {
        "good": 2, "bad": 1, "liar": 1, "gone": 1, "odd": 1,
        "silent": 1, "leaving": 1, "careless": 2, "last": 2,
    }  # fmt: skip


def test_peers_where_they_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent, installed = "thundersvm", metadata.version

    def version(package: str) -> str:
        if package == absent:
            raise metadata.PackageNotFoundError(package)
        return installed(package)

    monkeypatch.setattr(metadata, "version", version)
    config, experiment = prepare({"there": {"solver": "libsvm"}, "gone": {"solver": absent}}, sizes=[20, 30])
    lines, _ = measure(config, experiment)
    reason = "not installed: thundersvm"
    found = {(line["contender"], line["n"], line["status"], line["reason"]) for line in lines}
    assert found == {("there", n, "optimal", None) for n in (20, 30)} | {
        ("gone", n, "not_run", reason) for n in (20, 30)
    }
    assert len(lines) == 6
    assert all(line["certificate"]["passed"] for line in lines if line["contender"] == "there")
    assert measure(config, experiment) == (lines, "")


def test_time_of_own_solvers() -> None:
    config, experiment = prepare(
        {
            "quick": solver("quick"),
            "loading": solver("loading"),
            "handing": solver("handing_on"),
            "late": solver("handing_on", time_limit=0.1),
            "own": solver("limited", options={"memory": True}),
        },
        sizes=[20, 30],
        repeats=1,
    )
    lines, _ = measure(config, experiment)
    found = {(line["contender"], line["n"]): line for line in lines}
    # Before the clock starts, each has run once: the half second of the first call is not in it.
    assert found["loading", 20]["cpu_seconds"] < 0.5
    # What other programs do for it counts.
    assert found["handing", 20]["cpu_seconds"] > 0.4 and found["handing", 20]["status"] == "optimal"
    # Who knows no limit is over it all the same.
    assert (found["late", 20]["status"], found["late", 20]["reason"]) == (
        "time_limit",
        "passed its time limit of 0.1 s",
    )
    assert found["late", 30]["status"] == "not_run"
    assert found["own", 20]["reason"] == "passed a limit of its own (memory_limit)"


def test_budget_saves_repeats_but_never_the_first() -> None:
    config, experiment = prepare(repeats=5, repeat_budget=1e-9)
    lines, _ = measure(config, experiment)
    assert Counter((line["contender"], line["n"]) for line in lines) == {
        (label, n): 1 for label in ("one", "two") for n in (20, 40)
    }


def test_data_that_cannot_be_had_is_not_run_with_the_reason() -> None:
    overrides = tiny(sizes=[30], mirror=str(Path("nowhere").absolute()))
    overrides["experiments"]["platt1998"][EXPERIMENT]["dataset"] = "adult"
    config = load_config(overrides)
    experiment = config.experiment("platt1998", EXPERIMENT)
    marker = data_sets.Marker("adult", False, ("a1a: mirror: no such file",), 1.0)
    data_sets.write_marker(config, marker)
    assert data_sets.read_marker(config, "adult") == marker
    file = paths.marker(config, "adult")
    whole = json.loads(file.read_text())
    for spoilt in ({"tried": "1"}, {"available": 0}, {"missing": "ab"}, {"missing": [None]}, {"name": None}):
        file.write_text(json.dumps({**whole, **spoilt}))
        assert data_sets.read_marker(config, "adult") is None
    file.write_text("[" * 200_000)
    assert data_sets.read_marker(config, "adult") is None
    data_sets.write_marker(config, marker)
    lines, _ = measure(config, experiment)
    reason = "data set adult not available: a1a: mirror: no such file"
    assert [(line["contender"], line["status"], line["reason"]) for line in lines] == [
        ("one", "not_run", reason), ("two", "not_run", reason),
    ]  # fmt: skip
    assert journal(config) == []
    assert reason in closing(config)
    assert Forecast(config, experiment).left() == (0, 0.0)


def test_own_file_is_measured_and_its_faults_are_errors() -> None:
    rows = [f"{1 if i % 3 else -1} {i % 5 + 1}:1 {i % 7 + 6}:0.5" for i in range(40)]
    Path("mine.libsvm").write_text("\n".join(rows) + "\n")
    overrides = tiny(sizes=[40], datasets={"mine": {"path": "mine.libsvm"}})
    overrides["experiments"]["platt1998"][EXPERIMENT].update(dataset="mine")
    config = load_config(overrides)
    data_sets.register(config)
    lines, _ = measure(config, config.experiment("platt1998", EXPERIMENT))
    assert Counter((line["n"], line["status"]) for line in lines) == {(40, "optimal"): 4}
    # It may be spoiled while a run is at work.
    Path("mine.libsvm").write_text("\n".join(rows).replace("1:1", "1:x", 1) + "\n")
    with pytest.raises(StepError, match=r"^datasets.mine: mine\.libsvm:1: "):
        fetch.fetch(config, "mine")
    with pytest.raises(StepError, match=r"^mine\.libsvm:1: "):
        measure(config, config.experiment("platt1998", EXPERIMENT))


ROWS = "+1 1:1 2:1\n-1 2:1\n" * 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "datasets.mine: mine.libsvm: cannot be read: No such file or directory"),
        (ROWS.replace("-1", "0"), "datasets.mine: mine.libsvm:2: label 0 where -1 or 1 was expected"),
        (ROWS + "+1 1:nan\n", "datasets.mine: mine.libsvm:41: value 'nan' of index 1 is not finite"),
        ("+1 1:1\n" * 50, "datasets.mine: mine.libsvm:1: one class only"),
        (ROWS[: len(ROWS) // 2], "experiment noise-linear of platt1998: mine: n = 40: the set has 20 rows"),
        ("", "datasets.mine: mine.libsvm:1: the file is empty"),
    ],
)
def test_own_file_that_cannot_be_used_is_an_error_before_anything_runs(
    content: str | None, message: str
) -> None:
    if content is not None:
        Path("mine.libsvm").write_text(content)
    overrides = tiny(sizes=[10, 40], datasets={"mine": {"path": "mine.libsvm"}})
    overrides["experiments"]["platt1998"][EXPERIMENT].update(dataset="mine")
    with pytest.raises(StepError) as caught:
        Plan(overrides)
    assert str(caught.value).startswith(message)
    assert not Path("results").exists()


def test_own_test_set_that_cannot_be_used_is_an_error_before_anything_runs() -> None:
    Path("mine.libsvm").write_text(ROWS)
    files = {"mine": {"path": "mine.libsvm"}, "other": {"path": "other.libsvm"}}
    overrides = tiny(sizes=[10], datasets=files)
    experiment = overrides["experiments"]["platt1998"][EXPERIMENT]
    experiment.update(dataset="mine", measures=["accuracy"], test={"dataset": "other", "rows": 30})
    for content, message in (
        ("+1 1:1\n-1 3:1\n" * 20, "test: data set other has 3 features, mine has 2"),
        (ROWS[: len(ROWS) // 2], "test: other: n = 30: the set has 20 rows"),
        ("+1 x\n", "datasets.other: other.libsvm:1: "),
    ):
        Path("other.libsvm").write_text(content)
        with pytest.raises(StepError, match=re.escape(message)):
            Plan(overrides)
    Path("other.libsvm").write_text(ROWS)
    assert Plan(overrides).own_file("other") == ["other.libsvm"]


def test_retry_tries_only_what_was_incomplete_before(monkeypatch: pytest.MonkeyPatch) -> None:
    config, _ = prepare()
    tried: list[str] = []

    def fake(_: Config, name: str) -> data_sets.Marker:
        tried.append(name)
        return data_sets.Marker(name, True, (), 50.0)

    monkeypatch.setattr(fetch, "fetch", fake)
    for available, missing, when, expected in [
        (True, (), 1.0, []),
        (False, ("x",), 20.0, []),
        (False, ("x",), 1.0, ["noise"]),
    ]:
        tried.clear()
        data_sets.write_marker(config, data_sets.Marker("noise", available, missing, when))
        fetch.try_again(config, before=10.0)
        assert tried == expected
    assert data_sets.read_marker(config, "noise") == data_sets.Marker("noise", True, (), 50.0)


def test_generated_set_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from svmrepro import datasets

    config, _ = prepare()
    assert generate.generate(config, "noise").complete
    monkeypatch.setattr(
        datasets, "load", lambda name, n, seed: datasets.generate("noise", n, seed=os.urandom(1)[0])
    )
    with pytest.raises(StepError, match="does not repeat itself"):
        for _ in range(20):
            generate.generate(config, "noise")


# -- the clock and the machine ----------------------------------------------------------------------


def test_job_process_has_one_thread_whatever_it_inherits(tmp_path: Path) -> None:
    import subprocess
    import sys

    from svmrepro.workflow.configuration.model import write_config

    config, _ = prepare({"t": solver("threads")}, sizes=[20], repeats=1)
    write_config(config, tmp_path / "c.json")
    arguments = ["--config", "c.json", "--paper", "platt1998", "--experiment", EXPERIMENT, "--job", "all"]
    subprocess.run(
        [sys.executable, "-m", "svmrepro.workflow.steps.measure", *arguments],
        env=environment(OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2"),
        check=True,
        timeout=120,
    )
    (line,) = journal(config)
    assert line["iterations"] == 2
    assert set(line["machine"]["thread_settings"].values()) == {"1"}


def test_peak_memory_is_that_of_the_run_alone() -> None:
    config, experiment = prepare(
        {"small": solver("quick"), "large": solver("hungry"), "after": solver("quick")}, sizes=[20], repeats=1
    )
    lines, _ = measure(config, experiment)
    peak = {line["contender"]: line["peak_memory_bytes"] / 2**20 for line in lines}
    assert 60 < peak["large"] < 80
    assert peak["small"] < 8 and peak["after"] < 8


def test_machine_is_described() -> None:
    found = machine.describe()
    assert found["threads"] >= 1 and found["memory_bytes"] > 2**20 and found["cpu"]
    assert set(found["versions"]) == set(machine.PACKAGES)


def test_meter_sees_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys
    import time

    def stretch() -> float:
        with machine.Meter() as meter:
            time.sleep(0.6)
        return meter.other_cores

    before = min(stretch() for _ in range(2))
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.1)
        assert stretch() > min(before, 1.0) * 0.5 + 0.2
    finally:
        busy.kill()
        busy.wait()


# -- what is left -----------------------------------------------------------------------------------


def test_extrapolation_follows_the_power_law() -> None:
    cubic = {n: [1e-9 * n**3] for n in (100, 1000, 2000)}
    assert extrapolate(cubic, 8000) == pytest.approx(1e-9 * 8000**3)
    assert extrapolate(cubic, 1000) == pytest.approx(1.0)
    assert extrapolate({1000: [2.0]}, 2000) == pytest.approx(8.0)
    assert extrapolate({1000: [1.0], 2000: [0.1]}, 4000) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89, "89 s"), (200, "3 min"), (5400, "1 h 30 min"), (36000, "10 h 0 min")],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_forecast_knows_what_is_not_repeated() -> None:
    config, experiment = prepare({"good": solver("quick"), "bad": solver("failing")}, repeats=3)
    _, told = measure(config, experiment)
    assert told.endswith("no run of scale default left\n")
    assert Forecast(config, experiment).left() == (0, 0.0)


def test_forecast_counts_down() -> None:
    config, experiment = prepare()
    assert Forecast(config, experiment).left()[0] == 8
    measure(config, experiment)
    assert Forecast(config, experiment).left() == (0, 0.0)
    more = load_config(tiny(repeats=3))
    runs, seconds = Forecast(more, more.experiment("platt1998", EXPERIMENT)).left()
    assert runs == 4 and seconds is not None and seconds < 5


def test_no_time_is_told_of_solvers_that_were_never_measured() -> None:
    config, experiment = prepare(sizes=[20])
    lines, _ = measure(config, experiment)
    config, experiment = prepare(sizes=[20_000], results_dir="elsewhere")
    forecast = Forecast(config, experiment)
    assert forecast.left()[1] is None
    for line in lines:
        forecast.add(line)
    seconds = forecast.left()[1]
    assert seconds is not None and seconds > 3


def test_processors_of_one_name_are_told_apart(tmp_path: Path) -> None:
    told = tmp_path / "cpuinfo"

    def kind(model: int, flags: str) -> str | None:
        first = [f"model\t\t: {model}", "model name\t: EPYC", "stepping\t: 1", f"flags\t\t: {flags}"]
        second = ["processor\t: 1", "model\t\t: 99", "stepping\t: 9"]
        told.write_text("\n".join(["processor\t: 0", "cpu family\t: 25", *first, "", *second, ""]))
        return machine.cpu_kind(told)

    assert kind(1, "avx avx2").startswith("25-1-1-")  # type: ignore[union-attr]
    assert kind(1, "avx avx2") == kind(1, "avx2 avx")
    assert len({kind(1, "avx avx2"), kind(17, "avx avx2"), kind(1, "avx avx2 avx512f")}) == 3
    assert machine.cpu_kind(tmp_path / "none") is None
