"""Whole runs of Snakemake: with a user-defined solver, killed, concurrent, without disk or data."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from engine_support import EXPERIMENT, PROJECT, command, environment, journal_lines, snakemake, solver, tiny
from support import ran, rows_of, unprivileged

TABLE = f"results/default/platt1998/timing-{EXPERIMENT}"
MEASURED = f"results/default/platt1998/{EXPERIMENT}/measurements.csv"

#: A user's package; ``early`` stops at a multiple of eps.
PACKAGE = {
    "__init__.py": '"""A solver of mine."""\n',
    "rule.py": "def tolerance(eps, early):\n    return early * eps\n",
    "train.py": """
from engine_solvers import quick
from mysvm.rule import tolerance


def dual(problem, eps, time_limit, early=1.0):
    return quick(problem, tolerance(eps, early), time_limit)


def broken(problem, eps, time_limit):
    return {}["no such key"]
""",
}
BROKEN_AT = 1 + PACKAGE["train.py"].splitlines().index('    return {}["no such key"]')
BROKEN = f"KeyError: 'no such key' (train.py:{BROKEN_AT})"


def with_package(**settings):
    """Return a configuration in which solvers of the package compete with one of this project."""
    own = {
        "smo": {"solver": "smo"},
        "mine": {"solver": "mysvm.train:dual"},
        "early": {"solver": "mysvm.train:dual", "options": {"early": 100}},
        "broken": {"solver": "mysvm.train:broken"},
    }
    return tiny(own, **settings)


def keys(folder):
    return Counter(
        (line["row"], line["n"], line["contender"], line["repeat"]) for line in journal_lines(folder)
    )


def lines_of(folder, contender):
    return [line for line in journal_lines(folder) if line["contender"] == contender]


def everything(folder):
    """Return the final files of a run with their modification times."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for top in ("results", "figures", "data")
        for path in (folder / top).rglob("*")
        if path.is_file() and path.suffix != ".lock" and path.parent.name != ".config"
    }


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return a folder with the package in which one experiment has run, and the output."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "mysvm").mkdir()
    for name, text in PACKAGE.items():
        (folder / "mysvm" / name).write_text(text)
    return folder, snakemake(folder, with_package(), MEASURED, f"{TABLE}.md")


def test_run_tells_what_it_does_and_sums_up(done):
    folder, ended = done
    assert ended.returncode == 0, ended.stderr
    assert "noise-linear: 16 runs to make, about" in ended.stderr
    assert "Scale default: 8 optimal" in ended.stdout
    assert "Select jobs" not in ended.stderr and "Traceback" not in ended.stderr
    assert BROKEN in ended.stdout + ended.stderr
    measured = Counter((row["contender"], row["status"]) for row in rows_of(folder / MEASURED))
    assert measured == {
        ("smo", "optimal"): 4,
        ("mine", "optimal"): 4,
        ("early", "uncertified"): 2,
        ("broken", "error"): 2,
    }


def test_a_package_of_ones_own_competes(done):
    folder, _ = done
    for mine, theirs in zip(lines_of(folder, "mine"), lines_of(folder, "smo"), strict=True):
        assert mine["row"] == theirs["row"] and mine["run_id"] == theirs["run_id"]
        assert mine["certificate"]["passed"]
        assert mine["certificate"]["dual"] == pytest.approx(theirs["certificate"]["dual"], rel=1e-3)
        assert mine["cpu_seconds"] > 0 and mine["iterations"] > 0
    assert {line["reason"] for line in lines_of(folder, "broken")} == {BROKEN}
    rows = {int(row["n"]): row for row in rows_of(folder / f"{TABLE}.csv")}
    for n in (20, 40):
        assert float(rows[n]["mine_seconds"]) > 0 and float(rows[n]["smo_seconds"]) > 0
        assert rows[n]["early_seconds"] == rows[n]["broken_seconds"] == ""
        assert "certificate failed" in rows[n]["early_seconds_reason"]
        assert BROKEN in rows[n]["broken_seconds_reason"]
    page = (folder / f"{TABLE}.md").read_text()
    for shown in ("Mine: measured", "certificate failed", BROKEN):
        assert shown in page
    ratios = rows_of(folder / MEASURED.replace("measurements", "ratios"))
    assert {(row["numerator"], row["denominator"]) for row in ratios} == {("mine", "smo")}


def test_second_run_does_nothing(done):
    folder, _ = done
    before = everything(folder)
    (folder / "mysvm" / "rule.py").touch()
    assert "Nothing to be done" in snakemake(folder, with_package(), MEASURED, f"{TABLE}.md").stderr
    assert everything(folder) == before


def test_scales_do_not_mix(done):
    folder, _ = done
    before = everything(folder)
    ended = snakemake(folder, with_package(scale="smoke"), MEASURED.replace("default", "smoke"))
    assert ended.returncode == 0, ended.stderr
    assert len(journal_lines(folder, "smoke")) == 12
    after = everything(folder)
    assert {name: after[name] for name in before} == before


def test_disk_that_becomes_unwritable_stops_with_one_line_and_loses_nothing(done):
    folder, _ = done
    before = keys(folder)
    journal = f"results/default/journal/platt1998/{EXPERIMENT}.jsonl"
    (folder / journal).chmod(0o444)
    words = unprivileged(command(folder, with_package(repeats=3), MEASURED))
    ended = ran(*words, cwd=folder, env=environment())
    assert ended.returncode != 0
    assert f"error: cannot write {journal}: permission denied" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert keys(folder) == before
    (folder / journal).chmod(0o644)
    # Touched data cause no new measurement; more repeats add to the others; errors are tried again.
    (folder / "data" / "available" / "noise.json").touch()
    assert snakemake(folder, with_package(repeats=3), MEASURED).returncode == 0
    after = keys(folder)
    assert before.keys() < after.keys() and len(after) == len(before) + 4
    assert {key[2] for key, times in after.items() if times > 1} == {"broken"}


def test_a_changed_module_of_the_package_measures_again(done):
    folder, _ = done
    before = len(journal_lines(folder))
    old = {line["fingerprint"] for line in lines_of(folder, "mine")}
    with (folder / "mysvm" / "rule.py").open("a") as stream:
        stream.write("\nSECOND_EDITION = True\n")
    assert snakemake(folder, with_package(), MEASURED).returncode == 0
    assert len(journal_lines(folder)) == before + 12
    new = {line["fingerprint"] for line in lines_of(folder, "mine")}
    assert old < new and len(new) == 2
    assert len({line["fingerprint"] for line in lines_of(folder, "smo")}) == 1
    current = {row["fingerprint"] for row in rows_of(folder / MEASURED) if row["contender"] == "mine"}
    assert current == new - old


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["noise-linear"], ["platt1998-tables-from-timing-noise-linear"]),
        (["support-vectors", TABLE.replace(f"timing-{EXPERIMENT}", "scaling.md")],
         ["support-vectors", "platt1998-tables-from-scaling"]),
        (["platt1998", "check", "report"],
         ["platt1998-figures-from-overview", "claims", "report"]),
    ],
)  # fmt: skip
def test_targets_by_name(tmp_path, targets, expected):
    ended = snakemake(tmp_path, {"papers": ["platt1998"]}, *targets, "-n", "--quiet", "host")
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    for name in expected:
        assert f"\n{name} " in said
    assert ("fetch_data" in said) == (targets != ["noise-linear"])


def test_sizes_that_become_nested_are_fitted_again_and_not_measured_again(tmp_path):
    sizes, fits = (20, 40, 60), "results/default/platt1998/noise-linear/fits.csv"
    assert snakemake(tmp_path, tiny(sizes=sizes), fits).returncode == 0
    ended = snakemake(tmp_path, tiny(sizes=(20, 60), of={"nested": [40]}), fits, "-n", "--quiet", "host")
    said = ended.stdout + ended.stderr
    assert "\nanalyse " in said and "\nmeasure " not in said, said


def test_an_address_that_does_not_answer_is_no_reason_to_measure_again(tmp_path):
    settings = tiny(sizes=[30], of={"dataset": "adult"})
    ended = snakemake(tmp_path, settings, MEASURED, https_proxy="http://127.0.0.1:9")
    assert ended.returncode == 0, ended.stderr
    assert {line["status"] for line in rows_of(tmp_path / MEASURED)} == {"not_run"}
    again = snakemake(tmp_path, settings, MEASURED, "-n", SVMREPRO_MIRROR="http://127.0.0.1:9")
    assert "Nothing to be done" in again.stdout + again.stderr


def test_parsing_is_light():
    script = (
        "import sys\n"
        "from svmrepro.workflow.graph.plan import Plan\nplan = Plan({'scale': 'smoke'})\n"
        "plan.sources_fingerprint, plan.compiled['peers']\n"
        "[plan.code(f'steps.{s}') for s in ('analyse', 'tabulate', 'plot')]\n"
        "print(*{'numba', 'pandas', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    assert ran(sys.executable, "-c", script, cwd=PROJECT, env=environment(), check=True).stdout == "\n"


def start(folder, overrides, output=subprocess.PIPE):
    return subprocess.Popen(
        command(folder, overrides, MEASURED),
        env=environment(),
        start_new_session=True,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_at_random(folder, overrides, times, seed):
    """Start the same command repeatedly and kill it at random moments; return how often it was alive."""
    draw = random.Random(seed)
    alive = 0
    for _ in range(times):
        with start(folder, overrides, subprocess.DEVNULL) as process:
            # A moment during the start, the measuring or the steps after it.
            time.sleep(draw.uniform(1.0, 7.0))
            alive += process.poll() is None
            if draw.random() < 0.5:
                with contextlib.suppress(ProcessLookupError):  # it may have ended by then
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                # Only Snakemake: its children survive and keep measuring.
                process.kill()
    return alive


def test_killed_and_restarted_it_ends_with_the_same_measurements(tmp_path):
    slow = {label: solver("quick", options={"pause": 0.1}) for label in ("one", "two", "three")}
    overrides = tiny(slow, sizes=(20, 30, 40), repeats=4)
    assert kill_at_random(tmp_path, overrides, times=2, seed=2) > 0
    ended = snakemake(tmp_path, overrides, MEASURED)
    assert ended.returncode == 0, ended.stderr
    found = keys(tmp_path)
    expected = {(n, contender, repeat) for n in (20, 30, 40) for contender in slow for repeat in range(4)}
    assert {key[1:] for key in found} == expected
    assert set(found.values()) == {1} and len(found) == len(expected)
    assert len(rows_of(tmp_path / MEASURED)) == len(expected)
    assert not [path for path in (tmp_path / "results").rglob(".*") if path.suffix in (".csv", ".jsonl")]


def wait_for_lock(folder, name=".run.lock"):
    """Wait until a lock is held: by default that of the run that uses the results folder."""
    held = folder / "results" / "default" / name
    deadline = time.monotonic() + 60
    while not (held.is_file() and held.read_text()):
        assert time.monotonic() < deadline, f"nobody holds {name}"
        time.sleep(0.05)


WAITING = r"waiting: results/default is in use by the run of process {pid} on \S+ \(since [\dTZ:-]+\)"


def test_a_second_run_waits_a_dry_one_does_not_and_a_killed_one_keeps_nobody_out(tmp_path):
    ready = tmp_path / "ready"  # until then the first solver does not end, however busy the machine is
    overrides = tiny({"one": solver("quick", options={"until": str(ready)})}, sizes=(20, 40, 60))
    first = start(tmp_path, overrides)
    wait_for_lock(tmp_path)
    dry = snakemake(tmp_path, overrides, MEASURED, "--dry-run")
    assert dry.returncode == 0 and "waiting" not in dry.stdout + dry.stderr
    assert first.poll() is None
    second = start(tmp_path, overrides)
    assert second.stdout is not None
    waiting = re.compile(WAITING.format(pid=first.pid))
    assert any(waiting.search(line) for line in second.stdout)
    wait_for_lock(tmp_path, f"journal/platt1998/.locks/{EXPERIMENT}.all.lock")
    os.kill(first.pid, signal.SIGKILL)  # only this process: its children survive and keep measuring
    measuring = "of an earlier run, which is still measuring; nothing is lost"
    assert any(measuring in line for line in second.stdout)
    ready.touch()
    said, _ = second.communicate(timeout=120)
    first.communicate()
    assert second.returncode == 0, said
    assert len({line["run_id"] for line in journal_lines(tmp_path)}) == 1
    assert len(keys(tmp_path)) == 6 and set(keys(tmp_path).values()) == {1}
