"""Measuring a job in this process: order, resuming, limits, failing contenders, data, remaining work."""

import gc
import hashlib
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter, namedtuple
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import engine_solvers
import psutil
import pytest
from engine_support import EXPERIMENT, journal, measure, prepare, rows, solver, the_experiment, tiny
from support import measurement
from svmrepro import datasets
from svmrepro.datasets import loading
from svmrepro.datasets.download.http import Network
from svmrepro.datasets.registry import Registry, parse_registry
from svmrepro.solvers import SOLVERS
from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration import jobs, load_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.graph.plan import Plan
from svmrepro.workflow.journal.journal_line import dump_lines
from svmrepro.workflow.journal.missing_runs import MissingRuns
from svmrepro.workflow.journal.own_solvers import failures
from svmrepro.workflow.measurement import data_sets
from svmrepro.workflow.measurement.forecast import Forecast, duration, extrapolate
from svmrepro.workflow.steps import fetch, generate
from svmrepro.workflow.steps.closing import closing
from svmrepro.workflow.surroundings import machine, meter


def statuses(lines, contender):
    return [(line["n"], line["status"], line["reason"]) for line in lines if line["contender"] == contender]


def left(config):
    return Forecast(config, the_experiment(config)).left()


def test_all_runs_are_made_interleaved_and_certified_and_nothing_is_measured_twice():
    config = prepare({label: solver("quick") for label in "abc"}, repeats=3)
    assert left(config)[0] == 18
    lines, told = measure(config)
    assert Counter(line["status"] for line in lines) == {"optimal": 18}
    order = [(line["n"], line["repeat"], line["contender"]) for line in journal(config).valid_lines()]
    assert order[:9] == [
        (20, repeat, label) for repeat, turn in enumerate(("abc", "bca", "cab")) for label in turn
    ]
    assert len({line["run_id"] for line in lines}) == 1
    assert all(line["certificate"]["passed"] and line["cpu_seconds"] > 0 for line in lines)
    assert "18 runs to make, " in told
    assert told.endswith("no run left\n")
    assert len([line for line in Path("log.txt").read_text().splitlines() if " n = " in line]) >= 18
    assert measure(config) == (lines, "")
    assert left(config) == (0, 0.0)
    assert "\nEverything that was asked for was run.\n" in closing(config)


def artefacts_key(of):
    plan = Plan(tiny(of=of))
    (paper,) = plan.config.papers.values()
    return plan.settings_fingerprint(paper.name, [paper.artefacts["claims"]])


def test_row_key_follows_what_is_measured(monkeypatch):
    def keys(of=None, **settings):
        return [row.fingerprint for row in rows(prepare(of=of, **settings))]

    base = keys()
    assert base == keys(repeats=9) == keys(timed_jobs=2) == keys({"title": "Another"})
    assert keys({"sizes": [20, 30]})[0] == base[0]
    for change in ({"C": 0.2}, {"eps": 1e-4}, {"seeds": [1]}, {"time_limit": 1}, {"dataset": "separable"}):
        assert set(keys(change)).isdisjoint(base)
    # What only tables and verdicts say of an experiment makes them anew, and measures nothing.
    change = {"stand_in_for": "another"}
    assert keys(change) == base and len({artefacts_key({}), artefacts_key(change)}) == 2

    def first_keys(changed):
        monkeypatch.setattr(fingerprints, "solver_fingerprint", lambda name: f"{name == changed}")
        config = load_config({"papers": ["platt1998"]})
        names = ("noise-linear", "step-tolerance-noise")
        return {name: jobs.instances(config.experiment("platt1998", name))[0].fingerprint for name in names}

    before, after = first_keys(""), first_keys("chunking")
    assert before["noise-linear"] != after["noise-linear"]
    assert before["step-tolerance-noise"] == after["step-tolerance-noise"]


def test_limit_stops_larger_sizes_at_once():
    contenders = {"all": solver("quick"), "some": solver("limited", options={"above": 40}, time_limit=5)}
    sizes = (20, 40, 60, 80)
    config = prepare(contenders, sizes)
    lines, told = measure(config)
    reason = "passed a limit of its own (time_limit)"
    assert statuses(lines, "some") == [
        (20, "optimal", None),
        (20, "optimal", None),
        (40, "time_limit", reason),
        (60, "not_run", f"{reason} at n = 40"),
        (80, "not_run", f"{reason} at n = 40"),
    ]
    assert Counter(status for _, status, _ in statuses(lines, "all")) == {"optimal": 8}
    assert f"time_limit ({reason})" in told
    assert f"Without a result: 3 runs of noise-linear: {reason}." in closing(config)
    # The next size, requested from a separate job, knows the limit, too.
    by_size = prepare(contenders, sizes, job="size")
    assert [(job.name, job.after) for job in jobs.jobs(by_size, the_experiment(by_size))] == [
        ("n20", None), ("n40", "n20"), ("n60", "n40"), ("n80", "n60"),
    ]  # fmt: skip
    again, told = measure(by_size, "n80")
    assert [(line["row"], line["status"], line["reason"]) for line in again] == [
        (line["row"], line["status"], line["reason"]) for line in lines if line["n"] == 80
    ]


CONTENDERS = {
    "good": (solver("quick"), "optimal", ""),
    "bad": (solver("failing"), "error", r"ArithmeticError: it went wrong \(engine_solvers.py:\d+\)"),
    "liar": (solver("wrong"), "uncertified", "certificate failed"),
    # The module has the name in a docstring only, so that it is missed at the import.
    "gone": (solver("nothing"), "error", "no attribute 'nothing'"),
    "odd": (solver("quick", storage="bits", bias=False), "error", "bias must be 0 for a problem without"),
    "silent": (solver("nothing_returned"), "error", "returned NoneType, without alpha and bias"),
    "uncountable": (solver("uncountable"), "error", "'engine_solvers:uncountable' returned iterations: "),
    "leaving": (solver("leaving"), "error", r"SystemExit: no licence \(engine_solvers.py:\d+\)"),
    "interrupting": (solver("interrupting"), "error", r"raised KeyboardInterrupt\(\)"),
    # Its changes to the problem do not affect the others or the certificate.
    "careless": (solver("careless"), "optimal", ""),
    "another-loss": (solver("another_loss"), "uncertified", "certificate failed"),
    "another-kernel": (solver("another_kernel"), "uncertified", "certificate failed"),
    "last": (solver("quick"), "optimal", ""),
}


def test_faults_of_one_contender_do_not_stop_the_others():
    config = prepare({label: contender for label, (contender, _, _) in CONTENDERS.items()}, sizes=[20])
    lines, _ = measure(config)
    for label, (_, status, reason) in CONTENDERS.items():
        for _, found, said in (runs := statuses(lines, label)):
            assert found == status and re.search(reason, said or "")
        # Only one run of a contender that would end the same way again.
        assert len(runs) == (2 if status == "optimal" else 1)
    assert left(config)[0] == 2 * Counter(line["status"] for line in lines)["error"], "tried again"


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("starving", "space", "OSError: .*no space left on device"),
        ("incomplete", "engine_module_that_is_missing.py", "ModuleNotFoundError: No module named "),
    ],
)
def test_what_the_surroundings_lack_is_no_result_of_a_solver(name, file, said, monkeypatch):
    config = prepare({"first": solver("quick"), "mine": solver(name)}, sizes=[20], repeats=1)
    where = rf"^{EXPERIMENT}, n = 20: mine: {said}.*; finished measurements are kept, and the same command"
    with pytest.raises(StepError, match=where):
        measure(config)
    assert [line["contender"] for line in journal(config).valid_lines()] == ["first"]
    Path(file).touch()
    monkeypatch.syspath_prepend(Path.cwd())
    lines, _ = measure(config)
    assert [line["status"] for line in lines] == ["optimal", "optimal"]


def test_a_damaged_peer_is_not_run(monkeypatch):
    monkeypatch.setitem(sys.modules, f"svmrepro.solvers.{SOLVERS['libsvm'].module}", None)
    lines, _ = measure(prepare({"peer": {"solver": "libsvm"}}, sizes=[20]))
    ((_, status, reason),) = statuses(lines, "peer")
    assert status == "not_run" and reason.startswith("ModuleNotFoundError: ")


def test_a_run_after_a_first_call_that_failed_is_flagged():
    lines, _ = measure(prepare({"mine": solver("picky")}, sizes=[20], repeats=2))
    told = [line["flag_reason"] or "" for line in lines if line["status"] == "optimal"]
    said = r"the first call failed: ValueError: too small \(engine_solvers\.py:\d+\)$"
    assert [bool(re.search(said, each)) for each in told] == [True, False] and lines[0]["flagged"]


@pytest.mark.parametrize(
    ("status", "seconds", "failed"),
    [
        *(("time_limit", 1.0, False), ("iteration_limit", 1.0, False), ("memory_limit", 1.0, False)),
        *(("time_limit", None, True), ("error", None, True), ("uncertified", 1.0, True)),
    ],
)
def test_to_return_at_a_limit_is_no_failure(status, seconds, failed):
    config = prepare({"mine": solver("quick")}, sizes=[20], repeats=1)
    found = {"status": status, "cpu_seconds": seconds, "reason": "because"}
    lines = [
        measurement(paper="platt1998", experiment=EXPERIMENT, contender="mine", n=n, **found) for n in (9, 8)
    ]
    file = paths.job_file(config, "platt1998", EXPERIMENT, "all")
    file.parent.mkdir(parents=True)
    file.write_bytes(dump_lines(lines))
    said = f"mine solved none of 2 runs; {EXPERIMENT}, n = 8: because"
    assert failures(config, [the_experiment(config)]) == {said: failed}
    file.write_bytes(dump_lines([*lines, {**lines[0], "status": "optimal", "reason": None}]))
    said = f"mine solved 1 of 3 runs; {EXPERIMENT}, n = 8: because"
    assert failures(config, [the_experiment(config)]) == {said: failed}


def test_uncertified_runs_are_summed_up_by_solver():
    config = prepare({"liar": solver("wrong"), "good": solver("quick")}, sizes=[20, 40])
    measure(config)
    summary = "Without a result: 2 runs of noise-linear: liar, certificate failed at eps 0.001."
    assert summary in closing(config)


def test_more_threads_than_processors_are_not_run(monkeypatch):
    contenders = {label: solver("threaded", options={"threads": n}) for label, n in (("one", 1), ("many", 3))}
    config = prepare(contenders, sizes=[20])
    (job,) = jobs.jobs(config, the_experiment(config))
    found = {}
    for here in (1, 2, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, here=here: set(range(here)), raising=False)
        found[here] = job.fingerprint(), *measure(config)[0]
    assert {status for _, status, _ in statuses(found[1][1:], "one")} == {"optimal"}
    assert statuses(found[2][1:], "many") == [(20, "not_run", "needs 3 processors, 2 here")]
    # On a larger machine, Snakemake finds the job out of date, and only what was missing is measured.
    assert found[1][0] == found[2][0] != found[3][0]
    assert {status for _, status, _ in statuses(found[3][1:], "many")} == {"optimal"}
    ones = [[line for line in lines[1:] if line["contender"] == "one"] for lines in found.values()]
    assert ones[0] == ones[1] == ones[2]


def test_threads_of_a_users_solver_may_mean_anything():
    config = prepare({"own": solver("threaded", options={"threads": "all"})}, sizes=[20])
    assert {status for _, status, _ in statuses(measure(config)[0], "own")} == {"optimal"}


def test_peers_where_they_are_installed(monkeypatch):
    absent, installed = "thundersvm-cpu", metadata.version

    def version(package):
        if package == absent:
            raise metadata.PackageNotFoundError(package)
        return installed(package)

    monkeypatch.setattr(metadata, "version", version)
    config = prepare({"there": {"solver": "libsvm"}, "gone": {"solver": "thundersvm"}}, sizes=[20, 30])
    lines, _ = measure(config)
    assert statuses(lines, "there") == [(n, "optimal", None) for n in (20, 20, 30, 30)]
    assert statuses(lines, "gone") == [
        (n, "not_run", "not installed: thundersvm-cpu (extra peers)") for n in (20, 30)
    ]
    assert all(line["certificate"]["passed"] for line in lines if line["contender"] == "there")
    again, _ = measure(config)
    assert statuses(again, "gone") == statuses(lines, "gone")
    assert [line for line in again if line["contender"] == "there"] == [
        line for line in lines if line["contender"] == "there"
    ]


def test_time_of_own_solvers(monkeypatch):
    monkeypatch.setattr(engine_solvers, "CALLS", [])
    contenders = {
        "loading": solver("loading"),
        "handing": solver("handing_on"),
        "late": solver("handing_on", time_limit=0.1),
        "own": solver("limited", options={"memory": True}, memory_limit_mb=9),
    }
    lines, _ = measure(prepare(contenders, sizes=[20, 30], repeats=1))
    seconds = {(line["contender"], line["n"]): line["cpu_seconds"] for line in lines}
    # Each contender runs once before the clock starts, so the call that is timed is not its first.
    assert [line["iterations"] > 0 for line in lines if line["contender"] == "loading"] == [True, True]
    # The work of its child processes counts: 0.3 s by their own clock, however slow the machine is.
    assert seconds["handing", 20] > 0.25 and statuses(lines, "handing")[0][1] == "optimal"
    # A solver that ignores its limit still counts as timed out.
    reason = "passed its time limit of 0.1 s"
    assert statuses(lines, "late") == [(20, "time_limit", reason), (30, "not_run", f"{reason} at n = 20")]
    assert statuses(lines, "own")[0][2] == "passed a limit of its own (memory_limit)"


def test_of_a_run_that_two_jobs_made_the_first_counts():
    config = prepare(repeats=2)
    lines, _ = measure(config)
    journal(config).append({**journal(config).valid_lines()[0], "cpu_seconds": 99.0})
    assert measure(config) == (lines, "")


def test_an_earlier_error_of_a_users_own_solver_does_not_count():
    config = prepare({"bad": solver("failing"), "liar": solver("wrong")}, [20], repeats=2)
    measure(config)
    lines = journal(config).valid_lines()
    for earlier, labels in ((0, set()), (len(lines), {"bad"})):
        missing = MissingRuns(the_experiment(config), None, lines, earlier)
        assert {contender.label for contender, _ in missing.runs(rows(config)[0], {})} == labels
        assert Forecast(config, the_experiment(config), earlier).left()[0] == 2 * len(labels)


def test_budget_saves_repeats_but_never_the_first():
    lines, _ = measure(prepare(repeats=5, repeat_budget=1e-9))
    assert Counter((line["contender"], line["n"]) for line in lines) == {
        (label, n): 1 for label in ("one", "two") for n in (20, 40)
    }


def test_data_that_cannot_be_had_is_not_run_with_the_reason():
    config = prepare(sizes=[30], of={"dataset": "adult"}, mirror=str(Path("nowhere").absolute()))
    marker = data_sets.Marker("adult", False, ("a1a: mirror http://me:se@cret@host/a1a: no such file",), 1.0)
    data_sets.write_marker(config, marker)
    assert data_sets.read_marker(config, "adult") == marker
    file = paths.marker(config, "adult")
    whole = file.read_text()
    for spoilt in ("[" * 200_000, whole.replace("true", "1").replace("false", "0")):
        file.write_text(spoilt)
        assert data_sets.read_marker(config, "adult") is None
    file.write_text(whole)
    lines, _ = measure(config)
    reason = "data set adult not available: a1a: mirror http://host/a1a: no such file"
    assert statuses(lines, "one") == statuses(lines, "two") == [(30, "not_run", reason)]
    assert journal(config).valid_lines() == []
    told = closing(config)  # without the hosts that were tried
    assert "data set adult not available (`./run fetch` tries again)" in told and "a1a" not in told
    elsewhere = closing(replace(config, data_dir=Path("my data")))
    assert "(`./run fetch --config data_dir='my data'` tries again)" in elsewhere
    assert left(config) == (0, 0.0)


def test_a_wrong_file_is_named_at_the_end_of_the_run():
    config = prepare(sizes=[30], of={"dataset": "adult"})
    absent = "a1a: mirror /here/a1a: no such file; http://host/a1a: no such file"
    wrong = "a9a: mirror /home/Jane Doe/a9a: 7 bytes where 9 were expected; http://host/a9a: no such file"
    data_sets.write_marker(config, data_sets.Marker("adult", False, (absent, wrong), 1.0))
    measure(config)
    assert "not available: a9a: mirror: 7 bytes where 9 were expected (`./run fetch`" in closing(config)


def test_only_a_mirror_that_has_what_is_missing_is_a_reason_to_try_again(tmp_path, monkeypatch):
    old, empty, full = (tmp_path / name for name in ("old", "empty", "full"))
    for mirror in (old, empty, full):
        (mirror / "web").mkdir(parents=True)
    (full / "web" / "w2a").touch()

    def attempt(mirror, **settings):
        config = prepare(sizes=[30], of={"dataset": "web"}, mirror=mirror and str(mirror), **settings)
        return config, data_sets.attempt(config, "web")

    config, first = attempt(old)
    assert first == str(old)
    data_sets.write_marker(config, data_sets.Marker("web", True, ("w2a: no such file",), 1.0, first))
    assert {attempt(mirror)[1] for mirror in (old, empty, None)} == {first}
    assert attempt(full)[1] == str(full)
    for may_have in (False, True):
        monkeypatch.setattr(Network, "may_have", lambda network, url, answer=may_have: answer)
        assert attempt("https://example.org")[1] == ("https://example.org" if may_have else first)
    assert attempt(empty, require_data=True)[1] == f"{empty} required"
    got = Path(config.data_dir) / "raw" / "web" / "w2a"
    got.parent.mkdir(parents=True)
    got.touch()
    assert attempt(full)[1] == first


TOY = """
version: 1
generated: {}
downloaded:
  toy:
    {title: Toy, licence: none, citation: none, reader: libsvm, features: 2, binary: true,
    labels: {-1: -1, 1: 1}, mirror: toy, subsets: [rows],
    files: {rows: {rows: 20000, bytes: BYTES, sha256: SHA, sources: ["http://127.0.0.1:9/rows"]}}}
"""


def test_another_attempt_gets_back_what_was_deleted(tmp_path, monkeypatch, capsys):
    content, known = ROWS * 500, loading.registry()
    text = TOY.replace("BYTES", str(len(content)))
    text = text.replace("SHA", hashlib.sha256(content.encode()).hexdigest())
    extended = Registry({**known.downloaded, **parse_registry(text).downloaded}, known.generated)
    monkeypatch.setattr(loading, "registry", lambda: extended)
    source = tmp_path / "mirror" / "toy" / "rows"
    source.parent.mkdir(parents=True)
    source.write_text(content)
    config = prepare(sizes=[40], of={"dataset": "toy"}, mirror=str(tmp_path / "mirror"))
    fetch.run(config, "toy")
    raw = Path(config.data_dir) / "raw" / "toy" / "rows"
    raw.unlink()
    # The clock was set back.
    later = replace(data_sets.read_marker(config, "toy"), tried=time.time() + 1e6)
    data_sets.write_marker(config, later)
    fetch.run(config, retry=True, before=time.time())
    assert raw.read_text() == content and data_sets.read_marker(config, "toy").complete
    # What can no longer be had is recorded as missing.
    raw.unlink()
    source.unlink()
    fetch.run(config, retry=True, before=time.time())
    assert not data_sets.read_marker(config, "toy").available
    assert capsys.readouterr().out.startswith("data set toy: available\ndata set toy: available\n")


@pytest.mark.parametrize(
    ("reasons", "written"),
    [
        (("a: found, as b is not",), True),
        (("b: another reason",), False),
        ((), True),
    ],
)
def test_another_attempt_tells_which_files_are_missing(monkeypatch, reasons, written):
    config = prepare(sizes=[30], of={"dataset": "adult"})
    data_sets.write_marker(config, data_sets.Marker("adult", True, ("b: no such file",), 1.0))
    monkeypatch.setattr(
        fetch, "fetch", lambda config, name: data_sets.Marker(name, True, reasons, time.time())
    )
    fetch.run(config, retry=True, before=time.time())
    assert (data_sets.read_marker(config, "adult").missing == reasons) == written


ROWS = "+1 1:1 2:1\n-1 2:1\n" * 20
MINE = {"mine": {"path": "mine.libsvm"}, "other": {"path": "other.libsvm"}}


def test_own_file_is_measured_and_its_faults_are_errors(monkeypatch):
    lines = [f"{1 if i % 3 else -1} {i % 5 + 1}:1 {i % 7 + 6}:0.5" for i in range(40)]
    Path("mine.libsvm").write_text("\n".join(lines) + "\n")
    config = prepare(sizes=[40], of={"dataset": "mine"}, datasets={"mine": MINE["mine"]})
    found, _ = measure(config)
    assert Counter((line["n"], line["status"]) for line in found) == {(40, "optimal"): 4}
    # A step of its own, such as that of a table, has registered no data set.
    monkeypatch.setattr(loading, "_user_files", {})
    assert data_sets.load_instance(config, rows(config)[0]).X.shape == (40, 12)
    # The file may be damaged while a run is in progress.
    Path("mine.libsvm").write_text("\n".join(lines).replace("1:1", "1:x", 1) + "\n")
    with pytest.raises(StepError, match=r"^datasets.mine: mine\.libsvm:1: "):
        fetch.fetch(config, "mine")
    with pytest.raises(StepError, match=r"^mine\.libsvm:1: "):
        measure(config)


@pytest.mark.parametrize(
    ("mine", "other", "message"),
    [
        (None, ROWS, "datasets.mine: mine.libsvm: cannot be read"),
        (ROWS.replace("-1", "0"), ROWS, "datasets.mine: mine.libsvm:2: label 0"),
        ("+1 1:1\n" * 50, ROWS, "datasets.mine: mine.libsvm:1: one class only"),
        (ROWS[: len(ROWS) // 2], ROWS, "mine: n = 40: mine.libsvm has 20 rows"),
        (ROWS, "+1 1:1\n-1 3:1\n" * 20, "test: data set other has 3 features, mine has 2"),
        (ROWS, ROWS[: len(ROWS) // 2], "test: other: n = 30: other.libsvm has 20 rows"),
        (ROWS, "+1 x\n", "datasets.other: other.libsvm:1: "),
    ],
)
def test_own_files_that_cannot_be_used_are_errors_before_anything_runs(mine, other, message):
    if mine is not None:
        Path("mine.libsvm").write_text(mine)
    Path("other.libsvm").write_text(other)
    judged = {"measures": ["accuracy"], "test": {"dataset": "other", "rows": 30}}
    with pytest.raises(StepError, match=re.escape(message)):
        Plan(tiny(sizes=[10, 40], of={"dataset": "mine", **judged}, datasets=MINE))
    assert not Path("results").exists()


def test_generated_set_is_checked(monkeypatch):
    config = prepare()
    assert generate.generate(config, "noise").complete
    monkeypatch.setattr(
        datasets, "load", lambda name, n, seed: datasets.generate("noise", n, seed=os.urandom(1)[0])
    )
    with pytest.raises(StepError, match="gave two different sets"):
        for _ in range(20):
            generate.generate(config, "noise")


def test_no_garbage_is_collected_while_the_clock_runs():
    assert gc.isenabled()
    lines, _ = measure(prepare({"one": solver("collecting"), "two": solver("collecting")}, sizes=[20]))
    assert [line["iterations"] for line in lines] == [0] * 4
    assert gc.isenabled()


def test_peak_memory_is_that_of_the_run_alone():
    contenders = {"small": solver("quick"), "large": solver("hungry"), "after": solver("quick")}
    lines, _ = measure(prepare(contenders, sizes=[20], repeats=1))
    peak = {line["contender"]: line["peak_memory_bytes"] / 2**20 for line in lines}
    assert 60 < peak["large"] < 80
    assert peak["small"] < 8 and peak["after"] < 8


def test_kept_memory_counts_in_each_run():
    lines, _ = measure(prepare({"keeping": solver("keeping")}, sizes=[20], repeats=3))
    assert len(lines) == 3 and all(60 < line["peak_memory_bytes"] / 2**20 < 80 for line in lines)


def test_an_old_peak_that_cannot_be_reset_is_not_reported(monkeypatch):
    monkeypatch.setattr(meter, "_reset_peak", lambda: False)  # as on systems other than Linux
    assert b"x" * (64 << 20)
    with meter.Meter() as measured:
        pass
    assert measured.peak_memory_bytes is None


def test_meter_sees_other_processes():
    def stretch():
        with meter.Meter() as measured:
            time.sleep(0.6)
        return measured.other_cores

    before = min(stretch() for _ in range(2))
    spin = "print(flush=True)\nwhile True: pass"
    busy = subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE)
    try:
        busy.stdout.readline()
        assert stretch() > min(before, 1.0) * 0.5 + 0.2
    finally:
        busy.kill()
        busy.wait()


def test_child_processes_are_no_other_processes(monkeypatch):
    def busy():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        times = namedtuple("Times", "user idle")
        return times(sum(each.ru_utime + each.ru_stime for each in used), 0.0)

    monkeypatch.setattr(psutil, "cpu_times", busy)  # as if nothing else ran
    with meter.Meter() as measured:
        engine_solvers.work_in_a_child()
    assert measured.other_cores < 0.15 and measured.peak_memory_bytes is None


def test_processors_of_one_name_are_told_apart(tmp_path):
    told = tmp_path / "cpuinfo"

    def kind(model, flags):
        first = [f"model\t\t: {model}", "model name\t: EPYC", "stepping\t: 1", f"flags\t\t: {flags}"]
        second = ["processor\t: 1", "model\t\t: 99", "stepping\t: 9"]
        told.write_text("\n".join(["processor\t: 0", "cpu family\t: 25", *first, "", *second, ""]))
        return machine.cpu_kind(told)

    assert kind(1, "avx avx2").startswith("25-1-1-")
    assert kind(1, "avx avx2") == kind(1, "avx2 avx")
    assert kind(1, "avx avx2") == kind(1, "avx avx2 ibpb pti")  # as a new kernel may say of the same one
    assert len({kind(1, "avx avx2"), kind(17, "avx avx2"), kind(1, "avx avx2 avx512f")}) == 3
    assert machine.cpu_kind(tmp_path / "none") is None


def test_processors_without_a_name_are_told_apart(tmp_path, monkeypatch):
    told, sysctl = tmp_path / "cpuinfo", tmp_path / "sysctl"

    def kind(part, features):
        numbers = [f"CPU part\t: {part}", "CPU revision\t: 1"]
        told.write_text("\n".join([f"Features\t: {features}", "CPU implementer\t: 0x41", *numbers, ""]))
        return machine.cpu_kind(told)

    assert kind("0xd0c", "fp asimd").startswith("0x41-0xd0c-1-")
    assert len({kind("0xd0c", "fp asimd"), kind("0xd40", "fp asimd"), kind("0xd0c", "fp asimd sve")}) == 3
    # macOS has no such file.
    sysctl.write_text('#!/bin/sh\n[ "$*" = "-n machdep.cpu.brand_string" ] && echo Apple M3\n')
    sysctl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.cpu_name(tmp_path / "none") == "Apple M3"


def test_extrapolation_follows_the_power_law():
    cubic = {n: [1e-9 * n**3] for n in (100, 1000, 2000)}
    assert extrapolate(cubic, 8000) == pytest.approx(1e-9 * 8000**3)
    assert extrapolate(cubic, 1000) == pytest.approx(1.0)
    assert extrapolate({1000: [2.0]}, 2000) == pytest.approx(8.0)
    assert extrapolate({1000: [1.0], 2000: [0.1]}, 4000) == pytest.approx(0.2)
    assert [duration(seconds) for seconds in (0.2, 200, 5400)] == ["1 s", "3 min", "1 h 30 min"]


def test_no_time_is_told_of_solvers_that_were_never_measured():
    lines, _ = measure(prepare(sizes=[20]))
    runs, seconds = left(prepare(sizes=[20], repeats=3))
    assert runs == 2 and seconds is not None
    elsewhere = prepare(sizes=[20_000], results_dir="elsewhere")
    forecast = Forecast(elsewhere, the_experiment(elsewhere))
    assert forecast.left()[1] is None
    for line in lines:
        forecast.add(line)
    seconds = forecast.left()[1]
    assert seconds is not None and seconds > 3


def test_a_forecast_knows_what_was_made_however_long_the_journals_are(monkeypatch):
    config = prepare()
    measure(config)
    monkeypatch.setattr("svmrepro.workflow.measurement.forecast.MOST_BYTES", 0)
    for present in (the_experiment(config), [the_experiment(config)]):
        assert Forecast(config, present).left() == (0, 0.0)


def test_the_commit_is_the_hash_of_this_project_alone(tmp_path, monkeypatch):
    for name in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(name)  # of a hook

    def git(*words):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        return subprocess.check_output(["git", "-C", tmp_path, *who, *words], text=True).strip()

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message=x")
    git("tag", "--annotate", "v1", "--message=x")
    for place, found in ((".", git("rev-parse", "HEAD")[:12]), (".venv/svmrepro", None)):
        folder = tmp_path / place / "workflow" / "surroundings"
        folder.mkdir(parents=True)
        monkeypatch.setattr(machine, "__file__", str(folder / "machine.py"))
        assert machine.describe()["commit"] == found
