import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from engine_support import (
    EXPERIMENT,
    PROJECT,
    command,
    environment,
    journal_lines,
    snakemake,
    tiny,
    unprivileged,
)

#: The longest that a command which has nothing to do may take, and the parsing in it.
SECOND_RUN_SECONDS = 6.0
PARSE_SECONDS = 1.0

MEASURED = f"results/default/platt1998/{EXPERIMENT}/measurements.csv"


def keys(folder: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        (line["row"], line["n"], line["contender"], line["repeat"]) for line in journal_lines(folder)
    )


def everything(folder: Path) -> dict[str, int]:
    """Return the final files of a run with their dates."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for top in ("results", "figures", "data")
        for path in (folder / top).rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Return a folder in which one experiment has been run, and what was said."""
    folder = tmp_path_factory.mktemp("done")
    return folder, snakemake(folder, tiny(), MEASURED)


def test_run_tells_what_it_does_and_sums_up(done: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, ended = done
    assert ended.returncode == 0, ended.stderr
    assert "noise-linear: 8 runs to make; 8 runs of scale default left, about" in ended.stderr
    assert "Scale default: 8 optimal" in ended.stdout
    assert "Select jobs" not in ended.stderr
    with (folder / MEASURED).open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 8 and {row["status"] for row in rows} == {"optimal"}


def test_second_run_does_nothing_and_soon(done: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = done
    before = everything(folder)
    began = time.monotonic()
    ended = snakemake(folder, tiny(), MEASURED)
    seconds = time.monotonic() - began
    assert "Nothing to be done" in ended.stderr
    assert everything(folder) == before
    # The bar is for a quiet machine; the load of this one may well be the tests' own.
    assert seconds < SECOND_RUN_SECONDS * max(1.0, os.getloadavg()[0])


def test_touched_code_and_data_measure_nothing_again(
    done: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = done
    before = keys(folder)
    (folder / "data" / "available" / "noise.json").touch()
    ended = snakemake(folder, tiny(), MEASURED)
    assert ended.returncode == 0, ended.stderr
    assert keys(folder) == before


def test_more_repeats_add_to_what_is_there(done: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = done
    before = keys(folder)
    ended = snakemake(folder, tiny(repeats=3), MEASURED)
    assert ended.returncode == 0, ended.stderr
    after = keys(folder)
    assert before.keys() < after.keys() and len(after) == 12
    assert set(after.values()) == {1}


def test_scales_do_not_mix(done: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = done
    before = everything(folder)
    ended = snakemake(folder, {**tiny(), "scale": "smoke"}, MEASURED.replace("default", "smoke"))
    assert ended.returncode == 0, ended.stderr
    assert len(journal_lines(folder, "smoke")) == 8
    after = everything(folder)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("platt1998", "platt1998-figures-from-overview"),
        ("noise-linear", "platt1998-tables-from-timing-noise-linear"),
        ("support-vectors", "support-vectors"),
        ("results/default/platt1998/scaling.md", "platt1998-tables-from-scaling"),
        ("check", "platt1998-claims"),
        ("report", "report"),
    ],
)
def test_targets_by_name(tmp_path: Path, target: str, expected: str) -> None:
    ended = snakemake(tmp_path, {}, target, "-n", "--quiet", "host")
    assert ended.returncode == 0, ended.stderr
    assert f"\n{expected} " in ended.stdout + ended.stderr
    assert ("fetch_data" in ended.stdout + ended.stderr) == (target != "noise-linear")


def test_parsing_is_light() -> None:
    script = (
        "import sys, time\nbegan = time.process_time()\n"
        "from svmrepro.workflow.graph.plan import Plan\nplan = Plan({'scale': 'smoke'})\n"
        "plan.sources, plan.compiled, [plan.code(f'steps.{s}') for s in ('analyse', 'tabulate', 'plot')]\n"
        "print(time.process_time() - began, *{'numba', 'pandas', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    folder = PROJECT
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, *heavy = ended.stdout.split()
    assert heavy == []
    assert float(seconds) < PARSE_SECONDS * 2


# -- kills ------------------------------------------------------------------------------------------


def kill_at_random(folder: Path, overrides: dict[str, Any], times: int, seed: int) -> int:
    """Start the same command again and again and kill it at random moments; return how often it was alive."""
    draw = random.Random(seed)
    alive = 0
    for _ in range(times):
        process = subprocess.Popen(
            command(folder, overrides, MEASURED),
            env=environment(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # A moment within the start, the measuring or what follows it.
        time.sleep(draw.uniform(1.0, 7.0))
        alive += process.poll() is None
        if draw.random() < 0.5:
            with contextlib.suppress(ProcessLookupError):  # it may have ended by then
                os.killpg(process.pid, signal.SIGKILL)
        else:
            # Snakemake alone: its children live on and keep measuring.
            process.kill()
        process.wait()
    return alive


def killed_and_restarted(folder: Path, times: int, seed: int) -> None:
    slow = {
        label: {"solver": "engine_solvers:quick", "options": {"pause": 0.1}}
        for label in ("one", "two", "three")
    }
    overrides = tiny(slow, sizes=(20, 30, 40), repeats=4)
    assert kill_at_random(folder, overrides, times, seed) > 0
    ended = snakemake(folder, overrides, MEASURED)
    assert ended.returncode == 0, ended.stderr
    found = keys(folder)
    expected = {(n, contender, repeat) for n in (20, 30, 40) for contender in slow for repeat in range(4)}
    assert {key[1:] for key in found} == expected
    assert set(found.values()) == {1} and len(found) == len(expected)
    with (folder / MEASURED).open() as stream:
        assert len(list(csv.DictReader(stream))) == len(expected)
    assert not [path for path in (folder / "results").rglob(".*") if path.suffix in (".csv", ".jsonl")]
    assert "Nothing to be done" in snakemake(folder, overrides, MEASURED).stderr


def test_killed_and_restarted_it_ends_with_the_same_measurements(tmp_path: Path) -> None:
    killed_and_restarted(tmp_path, times=3, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_killed_ten_times(tmp_path: Path, seed: int) -> None:
    killed_and_restarted(tmp_path, times=10, seed=seed)


def test_orphan_is_waited_for(tmp_path: Path) -> None:
    overrides = tiny(
        {"slow": {"solver": "engine_solvers:quick", "options": {"pause": 5.0}}}, sizes=(20,), repeats=4
    )
    first = subprocess.Popen(
        command(tmp_path, overrides, MEASURED),
        env=environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list((tmp_path / "results").rglob("journal/*/*.jsonl")):
        time.sleep(0.1)
    first.kill()
    first.wait()
    ended = snakemake(tmp_path, overrides, MEASURED)
    assert ended.returncode == 0, ended.stderr
    assert "of an earlier run, which is still measuring; nothing is lost" in ended.stderr
    assert len({line["run_id"] for line in journal_lines(tmp_path)}) == 1
    assert set(keys(tmp_path).values()) == {1} and len(keys(tmp_path)) == 4


# -- two runs at once -------------------------------------------------------------------------------


def start(folder: Path, overrides: dict[str, Any], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(folder, overrides, *arguments),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def at_work(folder: Path) -> None:
    """Wait until a run has the results folder to itself."""
    held = folder / "results" / "default" / ".run.lock"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (held.is_file() and held.read_text()):
        time.sleep(0.05)


SLOW = {"one": {"solver": "engine_solvers:quick", "options": {"pause": 0.3}}}


def two_at_once(folder: Path, delay: float) -> None:
    folder.mkdir()
    first = start(folder, tiny(SLOW), MEASURED)
    at_work(folder)
    time.sleep(delay)
    second = start(folder, tiny(SLOW), MEASURED)
    said = [process.communicate(timeout=120)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    waited = (
        rf"waiting: results/default is in use by the run of process {first.pid} on \S+ \(since [\dTZ:-]+\)"
    )
    assert re.search(waited, said[1]) and "waiting: " not in said[0]
    assert "Nothing to be done" in said[1]
    assert len(keys(folder)) == 4 and set(keys(folder).values()) == {1}


def test_a_second_run_in_the_folder_waits_for_the_first(tmp_path: Path) -> None:
    two_at_once(tmp_path / "run", 1.0)


@pytest.mark.slow
def test_two_runs_at_once_five_times(tmp_path: Path) -> None:
    for number in range(5):
        two_at_once(tmp_path / str(number), 0.7 * number)


def test_a_killed_run_keeps_nobody_out_and_a_dry_run_waits_for_nobody(tmp_path: Path) -> None:
    slower = {"one": {"solver": "engine_solvers:quick", "options": {"pause": 2.5}}}
    overrides = tiny(slower, sizes=(20, 40, 60))
    first = start(tmp_path, overrides, MEASURED)
    at_work(tmp_path)
    dry = snakemake(tmp_path, overrides, MEASURED, "--dry-run")
    assert dry.returncode == 0 and "waiting" not in dry.stdout + dry.stderr
    assert first.poll() is None
    second = start(tmp_path, overrides, MEASURED)
    assert second.stdout is not None
    assert any(line.startswith("waiting: ") for line in second.stdout)
    os.kill(first.pid, signal.SIGKILL)  # alone: what it started lives on
    said, _ = second.communicate(timeout=120)
    first.communicate()
    assert second.returncode == 0, said
    assert len(keys(tmp_path)) == 6 and set(keys(tmp_path).values()) == {1}


# -- disks and data ---------------------------------------------------------------------------------


def test_unwritable_results_folder_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir(mode=0o555)
    ended = subprocess.run(
        unprivileged(command(tmp_path, tiny(), MEASURED)),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode != 0
    told = [line for line in ended.stderr.splitlines() if "error:" in line]
    assert told == [
        f"error: cannot write {told[0].split()[3]} results/default/.config: permission denied"
    ] or (len(told) == 1 and "permission denied" in told[0] and "results" in told[0])
    assert list((tmp_path / "results").iterdir()) == []


def test_disk_that_becomes_unwritable_stops_with_one_line_and_loses_nothing(tmp_path: Path) -> None:
    assert snakemake(tmp_path, tiny(), MEASURED).returncode == 0
    before = keys(tmp_path)
    journals = tmp_path / "results" / "default" / "journal" / "platt1998"
    (journals / f"{EXPERIMENT}.jsonl").chmod(0o444)
    ended = subprocess.run(
        unprivileged(command(tmp_path, tiny(repeats=3), MEASURED)),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode != 0
    assert (
        "error: cannot write results/default/journal/platt1998/noise-linear.jsonl: permission denied"
        in ended.stderr
    )
    assert "Traceback" not in ended.stderr
    assert keys(tmp_path) == before
    (journals / f"{EXPERIMENT}.jsonl").chmod(0o644)
    assert snakemake(tmp_path, tiny(repeats=3), MEASURED).returncode == 0
    assert len(keys(tmp_path)) == 12


def adult(mirror: Path, **settings: Any) -> dict[str, Any]:
    overrides = tiny(sizes=(20,), mirror=str(mirror), **settings)
    overrides["experiments"]["platt1998"][EXPERIMENT]["dataset"] = "adult"
    return overrides


def test_own_data_that_were_spoiled_leave_earlier_results_as_they_are(tmp_path: Path) -> None:
    mine = tmp_path / "mine.libsvm"
    rows = "+1 1:1 2:1\n-1 2:1\n" * 20
    mine.write_text(rows)
    overrides = tiny(sizes=(20,), datasets={"mine": {"path": "mine.libsvm"}})
    overrides["experiments"]["platt1998"][EXPERIMENT]["dataset"] = "mine"
    ended = snakemake(tmp_path, overrides, MEASURED)
    assert ended.returncode == 0, ended.stderr
    before = everything(tmp_path)
    mine.write_text(rows.replace("-1", "0"))
    ended = snakemake(tmp_path, overrides, MEASURED)
    assert ended.returncode != 0
    said = ended.stderr.strip().splitlines()[-1]
    assert said == "error: datasets.mine: mine.libsvm:2: label 0 where -1 or 1 was expected"
    assert everything(tmp_path) == before


def test_missing_data_are_not_run_until_the_mirror_has_them(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    # No host is asked: the test must not depend on a network.
    offline = {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    began = time.monotonic()
    ended = snakemake(tmp_path, adult(mirror), MEASURED, **offline)
    assert time.monotonic() - began < 60
    assert ended.returncode == 0, ended.stderr
    assert "data set adult not available" in ended.stdout + ended.stderr
    assert journal_lines(tmp_path) == []
    with (tmp_path / MEASURED).open() as stream:
        assert {row["status"] for row in csv.DictReader(stream)} == {"not_run"}
    assert "Nothing to be done" in snakemake(tmp_path, adult(mirror), MEASURED, **offline).stderr
    required = snakemake(tmp_path, adult(mirror, require_data=True), MEASURED, **offline)
    assert required.returncode != 0
    assert "(require_data is true)" in required.stderr + required.stdout
    marker = (
        json.loads((tmp_path / "data" / "available" / "adult.json").read_text())
        if (tmp_path / "data" / "available" / "adult.json").exists()
        else {"available": False}
    )
    assert marker["available"] is False


# -- room to grow -----------------------------------------------------------------------------------


def grown(folder: Path, experiments: int, sizes: int) -> Path:
    """Make a copy of the project whose one paper has so many jobs."""
    for name in ("workflow", "profiles"):
        (folder / name).symlink_to(PROJECT / name)
    shutil.copy(PROJECT / "Snakefile", folder)
    config = folder / "config"
    shutil.copytree(PROJECT / "config", config)
    contenders = {"one": {"solver": "engine_solvers:quick"}, "two": {"solver": "engine_solvers:quick"}}
    entry = {"title": "x", "dataset": "noise", "kernel": {"name": "linear"}, "C": 1, "contenders": contenders}
    paper = {
        "paper": "grown",
        "title": "Grown",
        "experiments": {f"e{k}": {**entry, "sizes": list(range(10, 10 + sizes))} for k in range(experiments)},
        "artefacts": {"all-of-it": {"kind": "scaling", "form": "table", "title": "x"}},
    }
    (config / "experiments" / "grown.yaml").write_text(yaml.safe_dump(paper))
    return folder / "Snakefile"


@pytest.mark.slow
def test_dry_run_of_20000_jobs(tmp_path: Path) -> None:
    # A job a size, and one an experiment.
    snakefile = grown(tmp_path, experiments=254, sizes=78)
    script = (
        "import resource, subprocess, sys\n"
        "ended = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(ended.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, ended.stderr[-500:])"
    )
    overrides = {"papers": ["grown"], "job": "size"}
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            *command(tmp_path, overrides, "-n", snakefile=snakefile),
        ],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    code, seconds, kilobytes, *_ = ended.stdout.split()
    assert code == "0", ended.stdout
    # One thread: its CPU seconds are the wall seconds of a quiet machine.
    assert float(seconds) < 60
    assert int(kilobytes) < 2 * 2**20
