"""The smoke scale through a real Slurm, in which a node dies: the same measurements as of a local run.

    ./run pytest -m slow tests/slurm

SVMREPRO_SLURM_CONFIG may hold settings (JSON) over those of the smoke scale, SVMREPRO_SLURM_FIGURES the name
of a file for the figures of the run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster, UnavailableError, cluster

PROJECT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(PROJECT / "tests" / "chaos"))

from outcome import broken_lines, differences, measurements, read_journal, tables  # noqa: E402

pytestmark = pytest.mark.slow

PROFILE = (
    *("--workflow-profile", str(PROJECT / "profiles" / "slurm"), "--slurm-no-account"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--default-resources", "mem_mb=500", "runtime=60", "slurm_partition=main"),
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="the extra 'slurm' is not installed")
    try:
        # A short path: the daemons' sockets lie there.
        with cluster(tmp_path_factory.mktemp("slurm")) as running:
            yield running
    except UnavailableError as error:
        pytest.skip(str(error))


def settings(folder: Path, **more: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    own = json.loads(os.environ.get("SVMREPRO_SLURM_CONFIG") or "{}")
    # Whether a run is repeated must not depend on how long it took.
    content = {"scale": "smoke", "repeat_budget": None, "time_limit": 600, **own, **more}
    path = folder / "settings.json"
    path.write_text(json.dumps(content))
    return path


def snakemake(
    folder: Path, config: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    log = (folder / "output.log").open("ab")
    command = [
        *(sys.executable, "-m", "snakemake", *arguments),
        *("--snakefile", str(PROJECT / "Snakefile"), "--directory", str(folder), "--configfile", str(config)),
    ]
    return subprocess.Popen(
        command, env=dict(environment or os.environ), stdout=log, stderr=log, start_new_session=True
    )


def said(folder: Path) -> str:
    return (folder / "output.log").read_text(errors="replace")


def finished(folder: Path, process: subprocess.Popen[bytes]) -> None:
    assert process.wait(timeout=3600) == 0, said(folder)[-4000:]


@dataclass(frozen=True)
class AtWork:
    """A job of Slurm's in the midst of measuring: its number, its node, and the file that it will write."""

    number: str
    node: str
    file: Path
    measured: int


def at_work(slurm: Cluster, folder: Path) -> AtWork | None:
    for number, node in slurm.running().items():
        for words in slurm.processes_of(number):
            if "svmrepro.workflow.measure" not in words:
                continue
            paper, experiment, job, log = (
                words[words.index(f"--{name}") + 1] for name in ("paper", "experiment", "job", "log")
            )
            log = folder / log
            # A line a run, after the time of day.
            measured = len(re.findall(r"^\S+ n = ", log.read_text() if log.exists() else "", re.MULTILINE))
            if measured:
                file = folder / "results" / "smoke" / paper / experiment / "runs" / f"{job}.jsonl"
                return AtWork(number, node, file, measured)
    return None


def wait_for_a_job(slurm: Cluster, folder: Path, process: subprocess.Popen[bytes]) -> AtWork:
    """Wait until a job has measured something and goes on."""
    while process.poll() is None:
        if found := at_work(slurm, folder):
            return found
        time.sleep(0.1)
    raise AssertionError(f"no job was ever seen at work: {said(folder)[-3000:]}")


def test_the_smoke_scale_through_slurm_with_a_node_that_dies(slurm: Cluster, tmp_path: Path) -> None:
    local, far = tmp_path / "local", tmp_path / "far"
    figures: dict[str, Any] = {"nodes": slurm.states()}
    began = time.monotonic()
    finished(local, snakemake(local, settings(local), "--cores", "2"))
    figures["local seconds"] = time.monotonic() - began

    began = time.monotonic()
    config = settings(far, job="size", timed_jobs=2)
    process = snakemake(far, config, *PROFILE, environment=slurm.environment)
    job = wait_for_a_job(slurm, far, process)
    threads = slurm.allocated(job.number)
    slurm.kill_node(job.node)
    died = time.monotonic()
    while slurm.states()[job.node] != "down":
        assert time.monotonic() - died < 120, slurm.states()
        time.sleep(0.5)
    figures["seconds until Slurm knew"] = time.monotonic() - died
    slurm.start_node(job.node)
    finished(far, process)
    figures["slurm seconds"] = time.monotonic() - began
    assert threads in ("0-1", "2-3")  # both of a core, of which the job uses one

    # What the killed process had measured counts; one other process, of the same job, measured the rest.
    ran = [line["run_id"] for line in read_journal(job.file) if line["status"] != "not_run"]
    before, after = Counter(ran).values()
    assert slurm.restarts(job.number) == 1 and before >= job.measured
    figures["killed"] = (
        f"{job.file.relative_to(far)}: job {job.number} on {job.node}, whose node died after {before} of its "
        f"{len(ran)} measurements; Slurm started it anew, and it made the other {after}"
    )

    results, expected = (folder / "results" / "smoke" for folder in (far, local))
    assert not broken_lines(results)
    assert measurements(results) == measurements(expected) > 0
    assert differences(tables(expected), tables(results)) == []
    figures["measurements"] = measurements(results)
    runs = [row for name, rows in tables(results).items() if name.count("/") == 2 for row in rows]
    machines = {row["machine.cpu"] for row in runs if "machine.cpu" in row}
    assert len(machines) == 1 and machines != {""}
    jobs = slurm.command("squeue", "-h", "--states=all", "-O", "JobID:20,RestartCnt:20").splitlines()
    figures["jobs"] = len(jobs)
    figures["jobs started anew"] = sum(int(line.split()[1]) for line in jobs)

    # The project's own comparison says the same.
    against = settings(far, job="size", timed_jobs=2, against=str(expected))
    finished(far, snakemake(far, against, "compare", "--cores", "2"))
    verdict = said(far).partition("Compared with ")[2].partition("Page:")[0].splitlines()
    assert len(verdict) == 1, verdict  # a line for each fault would follow
    assert "(the same machine and libraries)" in verdict[0] and " 0 with another verdict" in verdict[0]
    figures["comparison"] = verdict[0]
    print(json.dumps(figures))
    if name := os.environ.get("SVMREPRO_SLURM_FIGURES"):
        Path(name).write_text(json.dumps(figures))


def test_a_timed_job_may_have_a_node_for_itself(slurm: Cluster, tmp_path: Path) -> None:
    config = settings(tmp_path, papers=["platt1998"], repeats=1)
    own = [*PROFILE, "--set-resources", "measure:slurm_extra='--exclusive'"]
    process = snakemake(tmp_path, config, "noise-linear", *own, environment=slurm.environment)
    job = wait_for_a_job(slurm, tmp_path, process)
    assert slurm.allocated(job.number) == "0-3"
    finished(tmp_path, process)


def test_dask_under_the_same_allocation(slurm: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra 'spread' is not installed")
    nodes = len(slurm.nodes)
    script = Path(__file__).parent / "spread_job.py"
    job = tmp_path / "job.sh"
    job.write_text(f"#!/bin/sh\nexec srun --ntasks={nodes} {sys.executable} {script} {tmp_path}\n")
    slurm.command(
        *("sbatch", "--wait", f"--nodes={nodes}", f"--ntasks={nodes}", "--time=10"),
        *(f"--output={tmp_path}/job.log", "--chdir", str(tmp_path), str(job)),
        timeout=600,
    )
    found = json.loads((tmp_path / "spread.json").read_text())
    assert found["nodes"] == sorted(slurm.nodes) and found["job"]
    assert found["spread"]["status"] == found["own"]["status"] == "optimal"
    # Sums of blocks are added in their order, whoever makes them; in one memory there are no such sums.
    assert found["spread"]["iterations"] == found["own"]["iterations"]
    assert found["spread"]["weights"] == pytest.approx(found["own"]["weights"], rel=1e-12)
    assert found["spread"]["gap"] == pytest.approx(found["own"]["gap"], rel=1e-6, abs=1e-9)
    print(json.dumps(found))
