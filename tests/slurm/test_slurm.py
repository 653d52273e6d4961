"""The smoke scale through a real Slurm in which a node dies gives the same measurements as a local run.

    ./run pytest -m slow tests/slurm

SVMREPRO_SLURM_FOLDER may name a folder that keeps the local run, which the next call resumes.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster import UnavailableError, cluster
from support import PROJECT

sys.path.append(str(PROJECT / "tests" / "chaos"))

from outcome import broken_lines, differences, measurements, read_journal, tables

pytestmark = pytest.mark.slow

PROFILE = (
    *("--workflow-profile", str(PROJECT / "profiles" / "slurm"), "--slurm-no-account"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--default-resources", "mem_mb=500", "runtime=60", "slurm_partition=main"),
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="the extra 'slurm' is not installed")
    try:
        # A short path, because it holds the daemons' sockets.
        with cluster(tmp_path_factory.mktemp("slurm")) as running:
            yield running
    except UnavailableError as error:
        pytest.skip(str(error))


def settings(folder, **more):
    folder.mkdir(parents=True, exist_ok=True)
    # Whether a run is repeated must not depend on its duration.
    content = {"scale": "smoke", "repeat_budget": None, "time_limit": 600, **more}
    path = folder / "settings.json"
    path.write_text(json.dumps(content))
    return path


def snakemake(folder, config, *arguments, environment=None):
    log = (folder / "output.log").open("ab")
    command = [
        *(sys.executable, "-m", "snakemake", *arguments),
        *("--snakefile", str(PROJECT / "Snakefile"), "--directory", str(folder), "--configfile", str(config)),
    ]
    return subprocess.Popen(
        command, env=dict(environment or os.environ), stdout=log, stderr=log, start_new_session=True
    )


def said(folder):
    return (folder / "output.log").read_text(errors="replace")


def finished(folder, process):
    assert process.wait(timeout=3600) == 0, said(folder)[-4000:]


@dataclass(frozen=True)
class AtWork:
    """A measuring Slurm job: its number, node, process and target."""

    number: str
    node: str
    process: int
    experiment: Path
    name: str
    log: Path

    @property
    def measured(self):
        """The number of runs made so far: the log has a line for each, after the time of day."""
        text = self.log.read_text() if self.log.exists() else ""
        return len(re.findall(r"^\S+ n = ", text, re.MULTILINE))

    def to_measure(self, results):
        """Return how many of the job's runs another run's results contain."""
        lines = read_journal(results / self.experiment / "runs" / "all.jsonl")
        return sum(self.name in ("all", f"n{line['n']}") and line["status"] != "not_run" for line in lines)


def at_work(slurm, folder):
    for number, node in slurm.running().items():
        for process, words in slurm.processes_of(number).items():
            if "svmrepro.workflow.steps.measure" in words:
                paper, experiment, job, log = (
                    words[words.index(f"--{name}") + 1] for name in ("paper", "experiment", "job", "log")
                )
                yield AtWork(number, node, process, Path(paper, experiment), job, folder / log)


def hold_a_job(slurm, folder, process, local):
    """Wait until a job has made some of its runs, and stop its process before the last ones."""
    while process.poll() is None:
        for job in at_work(slurm, folder):
            with contextlib.suppress(ProcessLookupError):
                if job.measured:
                    os.kill(job.process, signal.SIGSTOP)
                    if job.measured + 2 < job.to_measure(local):
                        return job
                    os.kill(job.process, signal.SIGCONT)
        time.sleep(0.1)
    raise AssertionError(f"no job was ever seen at work: {said(folder)[-3000:]}")


def test_the_smoke_scale_through_slurm_with_a_node_that_dies(slurm, tmp_path):
    local, far = Path(os.environ.get("SVMREPRO_SLURM_FOLDER") or tmp_path) / "local", tmp_path / "far"
    figures = {"nodes": slurm.states()}
    began = time.monotonic()
    finished(local, snakemake(local, settings(local), "--cores", "2"))
    figures["local seconds, of this call"] = time.monotonic() - began
    results, expected = (folder / "results" / "smoke" for folder in (far, local))

    began = time.monotonic()
    config = settings(far, job="size")
    process = snakemake(far, config, *PROFILE, environment=slurm.environment)
    job = hold_a_job(slurm, far, process, expected)
    threads, measured = slurm.allocated(job.number), job.measured
    slurm.kill_node(job.node)
    died = time.monotonic()
    while slurm.states()[job.node] != "down":
        assert time.monotonic() - died < 120, slurm.states()
        time.sleep(0.5)
    figures["seconds until Slurm knew"] = time.monotonic() - died
    slurm.start_node(job.node)
    finished(far, process)
    figures["slurm seconds"] = time.monotonic() - began
    assert threads in ("0-1", "2-3")  # both threads of one core, of which the job uses one

    # What the killed process had measured counts; one other process, of the same job, measured the rest.
    lines = read_journal(results / job.experiment / "runs" / f"{job.name}.jsonl")
    ran = [line["run_id"] for line in lines if line["status"] != "not_run"]
    before, after = Counter(ran).values()
    assert slurm.restarts(job.number) == 1 and before >= measured
    figures["killed"] = (
        f"job {job.number}, {job.experiment} {job.name}: {job.node} died after {before} of its {len(ran)} "
        f"measurements; Slurm started it anew, and it made the other {after}"
    )

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

    # The project's own comparison agrees.
    against = settings(far, job="size", against=str(expected))
    finished(far, snakemake(far, against, "compare", "--cores", "2"))
    verdict = said(far).partition("Compared with ")[2].partition("Page:")[0].splitlines()
    assert len(verdict) == 3, verdict  # each fault would add a line
    assert "same machine and libraries: equality" in verdict[0]
    assert " differs" not in verdict[1] and " changed" not in verdict[2], verdict
    figures["comparison"] = " ".join(verdict)
    print(json.dumps(figures))


def test_a_timed_job_may_have_a_node_for_itself(slurm, tmp_path):
    config = settings(tmp_path, papers=["platt1998"], repeats=1)
    own = [*PROFILE, "--set-resources", "measure:slurm_extra='--exclusive'"]
    process = snakemake(tmp_path, config, "noise-linear", *own, environment=slurm.environment)
    while not (running := list(at_work(slurm, tmp_path))):
        assert process.poll() is None, said(tmp_path)[-3000:]
        time.sleep(0.1)
    assert slurm.allocated(running[0].number) == "0-3"
    finished(tmp_path, process)


def test_dask_under_the_same_allocation(slurm, tmp_path):
    pytest.importorskip("distributed", reason="the extra 'spread' is not installed")
    nodes = len(slurm.nodes)
    script = Path(__file__).parent / "spread_job.py"
    job = tmp_path / "job.sh"
    file = f"--host 127.0.0.1 --scheduler-file {tmp_path}/scheduler.json"
    worker = f"{sys.executable} -m distributed.cli.dask_worker --nthreads 1 --no-nanny --no-dashboard {file}"
    lines = (
        "#!/bin/sh",
        f"{sys.executable} -m distributed.cli.dask_scheduler --no-dashboard --port 0 {file} &",
        f"srun --ntasks={nodes} {worker} &",
        f"exec {sys.executable} {script} {tmp_path} {nodes}",
    )
    job.write_text("\n".join(lines) + "\n")
    slurm.command(
        *("sbatch", "--wait", f"--nodes={nodes}", f"--ntasks={nodes}", "--time=10"),
        *(f"--output={tmp_path}/job.log", "--chdir", str(tmp_path), str(job)),
        timeout=600,
    )
    found = json.loads((tmp_path / "spread.json").read_text())
    assert found["nodes"] == sorted(slurm.nodes) and found["job"]
    assert found["spread"]["status"] == found["own"]["status"] == "optimal"
    # Sums over blocks are added in block order by any number of workers; a solve in one memory adds
    # otherwise.
    assert found["spread"]["iterations"] == found["own"]["iterations"]
    assert found["spread"]["weights"] == pytest.approx(found["own"]["weights"], rel=1e-12)
    assert found["spread"]["gap"] == pytest.approx(found["own"]["gap"], rel=1e-6, abs=1e-9)
    print(json.dumps(found))
