"""What may disturb seconds: readings of the system, pinning, random order, protocols, counts by perf."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from engine_support import journal, measure, prepare, refusal, rows, solver, tiny
from svmrepro.solvers.compilation.processor import processors
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.result_files.measurement_columns import field_of
from svmrepro.workflow.surroundings.flagged_runs import flag_reasons
from svmrepro.workflow.surroundings.instructions import Instructions
from svmrepro.workflow.surroundings.processor_state import ProcessorState, pin_processor

pinning = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
CPUS = "sys/devices/system/cpu"


def system(root, **files):
    """Write files below a root; ``__`` in a name stands for a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return ProcessorState(root)


@pytest.fixture
def affinity():
    allowed = os.sched_getaffinity(0)
    yield allowed
    os.sched_setaffinity(0, allowed)


def test_state_of_the_processor_and_limits_of_both_versions_of_cgroups(tmp_path, monkeypatch):
    processor = {
        f"{CPUS}/cpu3/cpufreq/scaling_cur_freq": "2499998",
        f"{CPUS}/cpu3/cpufreq/scaling_governor": "schedutil",
        f"{CPUS}/intel_pstate/no_turbo": "1",
    }
    second = {
        "proc/self/cgroup": "0::/a/b",
        "sys/fs/cgroup/a/cpu.max": "150000 100000",
        "sys/fs/cgroup/a/b/cpu.max": "max 100000",
        "sys/fs/cgroup/a/memory.max": "max",
        "sys/fs/cgroup/a/b/memory.max": "4096",
        "sys/fs/cgroup/a/b/cpu.stat": "usage_usec 7\nthrottled_usec 1500000",
    }
    around = system(tmp_path / "second", **processor, **second)
    assert around.read(3) == {
        "cpu": 3,
        "frequency_mhz": 2499.998,
        "governor": "schedutil",
        "turbo": False,
        "cgroup_cpus": 1.5,  # the least of all levels
        "cgroup_memory_bytes": 4096,
    }
    assert around.throttled() == 1.5
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert processors(tmp_path / "second") == 2 and processors(tmp_path / "none") == 64
    first = {
        "proc/self/cgroup": "3:cpu,cpuacct:/in\n2:memory:/gone\n0::/",
        "proc/cpuinfo": "processor : 0\ncpu MHz : 1\n\nprocessor : 3\ncpu MHz : 2600.25",
        f"{CPUS}/cpufreq/boost": "1",
        "sys/fs/cgroup/cpu,cpuacct/in/cpu.cfs_quota_us": "50000",
        "sys/fs/cgroup/cpu,cpuacct/in/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        "sys/fs/cgroup/cpu,cpuacct/in/cpu.stat": "throttled_time 2000000000",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2**63 - 4096),
    }
    around = system(tmp_path / "first", **first)
    assert around.read(3) == {
        "cpu": 3,
        "frequency_mhz": 2600.25,
        "governor": None,
        "turbo": True,
        "cgroup_cpus": 0.5,
        "cgroup_memory_bytes": None,
    }
    assert around.throttled() == 2.0
    assert processors(tmp_path / "first") == 1


def test_a_limit_of_a_cgroup_around_this_ones_counts(tmp_path):
    files = {"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.stat": "throttled_usec 9000000"}
    before = system(tmp_path, **files, **{"sys/fs/cgroup/a/cpu.stat": "throttled_usec 1000000"}).throttled()
    after = system(tmp_path, **{"sys/fs/cgroup/a/cpu.stat": "throttled_usec 1500000"}).throttled()
    assert after - before == 0.5


def test_what_cannot_be_read_is_none(tmp_path):
    around = ProcessorState(tmp_path)
    assert set(around.read(0).values()) == {0, None} and around.throttled() is None
    odd = {"proc/self/cgroup": "0::/../outside", f"{CPUS}/cpu0/cpufreq/scaling_cur_freq": "<unknown>"}
    assert set(system(tmp_path, **odd).read(0).values()) == {0, None}


def test_each_run_records_its_surroundings_in_described_columns():
    lines, _ = measure(prepare(sizes=[20], repeats=1))
    for line in lines:
        assert {"cpu", "frequency_mhz", "governor", "turbo", "steal"} <= line["noise"].keys()
        assert line["protocol"] == "1"
        assert all(field_of(f"noise.{name}").meaning != field_of("noise").meaning for name in line["noise"])
    if sys.platform == "linux":
        assert all(line["noise"]["cpu"] in os.sched_getaffinity(0) for line in lines)


def test_stolen_and_throttled_time_flag_a_run():
    assert flag_reasons(1.0, 1.0, 0.0, None, None) == flag_reasons(1.0, 1.0, 0.0, 0.04, 0.04) == []
    assert flag_reasons(1.0, 1.0, 0.0, 0.2, 0.0) == ["the hypervisor took 20 % of the time"]
    # of sixteen threads on two processors
    assert flag_reasons(1.0, 2.0, 0.0, 0.0, 0.8) == ["the limit on processors stopped it for 0.8 s"]


@pinning
def test_pinned_runs_stay_on_one_processor_and_are_rows_of_their_own(affinity):
    last = max(affinity)
    usual = prepare(sizes=[20], repeats=1)
    measure(usual)
    config = prepare(sizes=[20], repeats=1, pin=[last])
    lines, _ = measure(config)
    assert {(line["noise"]["cpu"], line["protocol"]) for line in lines} == {(last, "1, pinned")}
    assert os.sched_getaffinity(0) == {last}
    assert len(journal(config).valid_lines()) == 4  # measured anew, the others are kept
    assert {row.fingerprint for row in rows(usual)}.isdisjoint(row.fingerprint for row in rows(config))
    assert [row.fingerprint for row in rows(config)] == [
        row.fingerprint for row in rows(prepare(sizes=[20], pin=True))
    ]


def test_each_timed_job_gets_a_core_of_its_own(tmp_path):
    siblings = {
        f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}" for cpu in range(4)
    }
    around = system(tmp_path, **siblings)
    assert around.processors({0, 1, 2, 3}) == [3, 2, 1, 0]
    assert around.processors({1, 2, 3}) == [3, 2, 1]
    assert around.processors({1, 3, 0}) == [3, 0, 1]


@pinning
def test_processors_that_are_not_there_are_named(affinity):
    with pytest.raises(StepError, match="pin: processor 100000 cannot be used here; those that can are "):
        measure(prepare(sizes=[20], pin=[100000]))
    with pytest.raises(StepError, match=r"pin: 1 processor for 2 timed jobs at once; .*\(timed_jobs\)"):
        pin_processor([min(affinity)], 0, 2)
    assert "pin" in refusal(tiny(pin="all")) and "pin" in refusal(tiny(pin=[]))
    assert "shuffle" in refusal(tiny(shuffle=-1))


def test_random_order_is_seeded_and_keeps_repeats_together():
    def order(seed):
        config = prepare({label: solver("quick") for label in "abcd"}, sizes=[20], repeats=6, shuffle=seed)
        measure(config)
        lines = [line for line in journal(config).valid_lines() if line["row"] == rows(config)[0].fingerprint]
        journal(config).path.unlink()
        assert {line["protocol"] for line in lines} == {"1, random order"}
        return [(line["repeat"], line["contender"]) for line in lines]

    first = order(1)
    assert [repeat for repeat, _ in first] == sorted(repeat for repeat, _ in first)
    assert Counter(first) == Counter((repeat, label) for repeat in range(6) for label in "abcd")
    assert order(1) == first != order(2)
    assert len({tuple(label for repeat, label in first if repeat == k) for k in range(6)}) > 1


PERF = """#!{python}
import os, signal, sys
words = sys.argv[1:]
told, (_, pair) = words[words.index("-o") + 1], words[words.index("--control") + 1].split(":")
commands, answers = map(int, pair.split(","))
def tell(*_):
    open(told, "w").write("\\n{count},,instructions:u,9,100.00,,\\n")
    sys.exit()
signal.signal(signal.SIGINT, tell)
for line in os.fdopen(commands):
    os.write(answers, b"ack\\n")
"""


def fake_perf(folder, count):
    program = folder / "perf"
    program.write_text(PERF.format(python=sys.executable, count=count))
    program.chmod(0o755)
    return str(program)


def test_instructions_are_counted_where_perf_may(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    fake_perf(tmp_path, 12345)
    lines, _ = measure(prepare(sizes=[20], repeats=1, count_instructions=True))
    assert {line["noise"]["instructions"] for line in lines} == {12345}


@pytest.mark.parametrize("perf", ["<not supported>", "gone", "refuses"])
def test_a_count_that_cannot_be_had_is_none_and_not_tried_again(tmp_path, perf):
    if perf == "gone":
        program = str(tmp_path / "perf")
    elif perf == "refuses":
        program = shutil.which("false")
    else:
        program = fake_perf(tmp_path, perf)
    before = {file.name for file in Path("/dev/fd").iterdir()}
    counter = Instructions(program)
    for _ in range(2):
        counter.start()
        counter.stop()
        assert counter.count is None and counter._program is None
    assert {file.name for file in Path("/dev/fd").iterdir()} == before
