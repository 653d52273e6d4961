"""
Measure what the page "Scale on paper" computes from, into ``docs/scale.json``.

``./run python docs/measure_scale.py`` measures all of it, in some ten minutes of a quiet core; with names
only these parts: ``dag`` (dry runs), ``start`` (a job's start, files and bytes), ``journal`` and ``passes``
(SVM-perf's passes over the data). Each part carries the date and the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from svmrepro import datasets
from svmrepro.solvers import Blocks, Problem, solve, warm
from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration.jobs import rows
from svmrepro.workflow.configuration.model import load_config
from svmrepro.workflow.measurement import machine
from svmrepro.workflow.measurement.journal import Journal

PROJECT = Path(__file__).resolve().parent.parent
RECORD = Path(__file__).with_name("scale.json")

#: Experiments of the dry runs, each with 78 jobs that measure and one that analyses.
DAG_EXPERIMENTS, DAG_SIZES = (13, 64, 254), 78
#: Sizes of a toy experiment, few and many: their difference is what a job costs.
FEW, MANY = 5, 35
JOURNAL_LINES = 20_000
APPENDED = 300
PASS_ROWS = (1_000, 10_000, 100_000)
C_TOTAL, EPS = 10_000.0, 1e-3  # of Reuters CCAT, as the experiment rcv1-like has them


def project(folder: Path, experiments: int, sizes: int, solvers: tuple[str, ...]) -> Path:
    """Lay out a copy of the workflow with a paper of so many experiments and sizes; return its Snakefile."""
    for name in ("workflow", "profiles"):
        (folder / name).symlink_to(PROJECT / name)
    shutil.copy(PROJECT / "Snakefile", folder)
    shutil.copytree(PROJECT / "config", folder / "config")
    entry = {
        "title": "toy",
        "dataset": "noise",
        "kernel": {"name": "linear"},
        "C": 1,
        "sizes": list(range(20, 20 + sizes)),
        "contenders": {name: {"solver": name, "storage": "index"} for name in solvers},
    }
    paper = {
        "paper": "toy",
        "title": "Toy",
        "experiments": {f"e{number}": entry for number in range(experiments)},
        "artefacts": {"scaling": {"kind": "scaling", "form": "table", "title": "toy"}},
    }
    (folder / "config" / "experiments" / "toy.yaml").write_text(yaml.safe_dump(paper))
    return folder / "Snakefile"


def run(folder: Path, snakefile: Path, *arguments: str) -> tuple[str, float, float, int]:
    """Run Snakemake there; return what it says, its CPU and wall seconds and its peak memory in bytes."""
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"papers": ["toy"], "job": "size", "repeats": 1}))
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        snakefile,
        "--directory",
        folder,
        "--cores",
        "1",
    ]
    # A process of its own, so that the peak is that of this run and of no other.
    script = (
        "import json, resource, subprocess, sys, time\n"
        "began = time.perf_counter()\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "wall, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "said = done.stdout + done.stderr\n"
        "print(json.dumps([done.returncode, said, used.ru_utime + used.ru_stime, wall, used.ru_maxrss]))"
    )
    arguments = (*map(str, command), *arguments, "--configfile", str(settings))
    out = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    code, said, cpu, wall, kilobytes = json.loads(out.stdout)
    if code:
        raise RuntimeError(said[-3000:])
    return said, cpu, wall, kilobytes * 1024


def dag(repeats: int) -> dict[str, Any]:
    """Make dry runs of more and more jobs."""
    found = []
    for experiments in DAG_EXPERIMENTS:
        cpu, wall, memory, jobs = [], [], [], 0
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as name:
                snakefile = project(Path(name), experiments, DAG_SIZES, ("smo", "chunking"))
                said, seconds, elapsed, peak = run(Path(name), snakefile, "--dry-run")
            totals = [line.split()[1] for line in said.splitlines() if line.startswith("total ")]
            jobs = int(totals[-1])
            cpu.append(seconds)
            wall.append(elapsed)
            memory.append(peak)
        found.append(
            {
                "jobs": jobs,
                "cpu_seconds": median(cpu),
                "wall_seconds": median(wall),
                "peak_bytes": max(memory),
            }
        )
        print(found[-1], flush=True)
    return {"runs": found, "repeats": repeats}


def start(repeats: int) -> dict[str, Any]:
    """Run toy experiments of few and of many sizes: what a job costs beyond its solvers."""
    totals = {}
    for sizes in (FEW, MANY):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            snakefile = project(folder, 1, sizes, ("smo", "chunking"))
            # Data and compiled code are made before.
            run(folder, snakefile, "compile_solvers", "data/available/noise.json")
            before = _files(folder)
            _, cpu, wall, _ = run(folder, snakefile, "e0")
            files, size = _files(folder)
            lines = [
                json.loads(line)
                for file in (folder / "results").rglob("journal/**/*.jsonl")
                for line in file.read_text().splitlines()
            ]
            solving = sum(line["cpu_seconds"] for line in lines)
            totals[sizes] = {
                "cpu_seconds": cpu - solving,
                "wall_seconds": wall - solving,
                "files": files - before[0],
                "bytes": size - before[1],
            }
    many, few = totals[MANY], totals[FEW]
    found = {key: (many[key] - few[key]) / (MANY - FEW) for key in many}
    phases = {
        "python": "pass",
        "imports": "import svmrepro.workflow.steps.measure",
        "solver and its compiled code": (
            "import svmrepro.workflow.measurement.contender_run; from svmrepro.solvers import warm\n"
            "warm('smo', 'linear', 'index'); warm('chunking', 'linear', 'index')"
        ),
    }
    for phase, code in phases.items():
        timed = [_process_seconds(code) for _ in range(repeats + 1)]
        found[phase] = median(timed[1:])
    print(found, flush=True)
    return found


def journal(repeats: int) -> dict[str, Any]:
    """Append lines of a real journal to one, and read it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, project(folder, 1, 1, ("smo", "chunking")), "e0")
        (file,) = (folder / "results").rglob("journal/**/*.jsonl")
        line = json.loads(file.read_text().splitlines()[0])
        written = Journal(folder / "copy.jsonl")
        appended = median(_append_seconds(written, line) for _ in range(repeats * APPENDED))
        size = len(file.read_bytes()) / len(file.read_text().splitlines())
        written.path.write_bytes(written.path.read_bytes().splitlines(keepends=True)[0] * JOURNAL_LINES)
        read = median(_seconds(written.lines) for _ in range(repeats)) / JOURNAL_LINES
    found = {"bytes_per_line": size, "append_seconds": appended, "read_seconds_per_line": read}
    paper = load_config({"scale": "paper", "papers": ["glasmachers2008"]}).papers["glasmachers2008"]
    every = [row for experiment in paper.experiments.values() for row in rows(experiment)]
    _ = every[0].key  # reads the registry
    found["key_seconds_per_row"] = _seconds(lambda: [row.key for row in every[1:]]) / (len(every) - 1)
    print(found, flush=True)
    return found


def passes(repeats: int) -> dict[str, Any]:
    """Solve generated documents by cutting planes: passes, and what a pass costs."""
    found = []
    for solver in ("svmperf", "ocas"):
        warm(solver, "linear", "csr")
    for n in PASS_ROWS:
        data = datasets.generate("rcv1-like", n=n, seed=0)
        problem = Problem(data.X, data.y, C=C_TOTAL / n, bias=False)
        for solver in ("svmperf", "ocas"):
            solutions = [solve(problem, solver, eps=EPS) for _ in range(repeats)]
            solution = solutions[0]
            found.append(
                {
                    "solver": solver,
                    "n": n,
                    "entries": int(data.X.nnz),
                    "passes": solution.iterations,
                    "cpu_seconds": median(each.cpu_seconds for each in solutions),
                }
            )
            print(found[-1], flush=True)
    blocks = Blocks([data.X])
    problem = Problem(blocks, data.y, C=C_TOTAL / data.X.shape[0], bias=False)
    tracemalloc.start()
    solve(problem, "ocas", eps=EPS, iteration_limit=10)
    kept = tracemalloc.get_traced_memory()[1]
    return {"runs": found, "kept_bytes_per_row": kept / data.X.shape[0], "features": int(data.X.shape[1])}


def _files(folder: Path) -> tuple[int, int]:
    """Count files and bytes, those of Snakemake's own folder too."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return len(files), sum(path.stat().st_size for path in files)


def _process_seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _append_seconds(journal: Journal, line: dict[str, Any]) -> float:
    """Return the elapsed time of an append: it waits for the disk."""
    began = time.perf_counter()
    journal.append(line)
    return time.perf_counter() - began


def _seconds(work: Callable[[], Any]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "dag": dag,
    "start": start,
    "journal": journal,
    "passes": passes,
}


def main() -> None:
    """Measure the parts that are asked for and put them into the record."""
    parser = argparse.ArgumentParser(description="Measure what the page on scale computes from.")
    parser.add_argument("part", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--repeats", type=int, default=3, help="of what is repeated; the median counts")
    arguments = parser.parse_args()
    parts = arguments.part or list(PARTS)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}")
    machine.pin_threads()
    os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
    for part in parts:
        described = machine.describe()
        where = {"cpu": described["cpu"], "cores": described["cores"], "python": described["python"]}
        # More than one beside the measured one: seconds are upper bounds.
        load = os.getloadavg()[0]
        found = {
            **PARTS[part](arguments.repeats),
            "machine": where,
            "load": round(load, 1),
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
        }
        record = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
        record[part] = found
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
