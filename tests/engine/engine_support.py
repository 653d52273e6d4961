"""A small configuration of the real workflow, and functions to run it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from forked import forked
from snakemake.cli import main as snakemake_main
from support import PROJECT, ran
from svmrepro.workflow.configuration import Config, Experiment, jobs, load_config, paths
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_file import Journal
from svmrepro.workflow.journal.journal_line import read_lines
from svmrepro.workflow.measurement.data_sets import register
from svmrepro.workflow.measurement.job_progress import JobProgress
from svmrepro.workflow.steps.measure import measure_job

HERE = Path(__file__).resolve().parent
EXPERIMENT = "noise-linear"

_PAPER = yaml.safe_load((PROJECT / "config" / "experiments" / "platt1998.yaml").read_text())
_ALL = _PAPER["experiments"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def solver(name: str, **fields: Any) -> dict[str, Any]:
    """Return a contender with one of the tests' own solvers."""
    return {"solver": f"engine_solvers:{name}", **fields}


def tiny(
    contenders: Mapping[str, Any] | None = None,
    sizes: Sequence[int] = (20, 40),
    of: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Return overrides that leave one experiment on generated data, with the tests' own contenders.

    `of` changes the experiment, `settings` the whole scale.
    """
    own = contenders or {"one": solver("quick"), "two": solver("quick")}
    experiment = {
        "sizes": list(sizes),
        "contenders": {**dict.fromkeys(_ALL[EXPERIMENT]["contenders"]), **own},
        **(of or {}),
    }
    experiments: dict[str, Any] = {**dict.fromkeys(_ALL), EXPERIMENT: experiment}
    # without a budget the number of repeats depends on no clock
    scale = {"repeats": 2, "repeat_budget": None, "papers": ["platt1998"]}
    return {**scale, **settings, "experiments": {"platt1998": experiments}}


def prepare(*arguments: Any, **settings: Any) -> Config:
    """Return the configuration that :func:`tiny` overrides, and register its data sets."""
    config = load_config(tiny(*arguments, **settings))
    register(config)
    return config


def refusal(overrides: Mapping[str, Any], folder: Path | None = None) -> str:
    """Return why a configuration is refused, in one line that can be printed."""
    with pytest.raises(StepError) as caught:
        load_config(overrides, folder)
    said = str(caught.value)
    assert said.isprintable() and len(said) < 600, said
    return said


def the_experiment(config: Config) -> Experiment:
    return config.experiment("platt1998", EXPERIMENT)


def rows(config: Config) -> tuple[jobs.Instance, ...]:
    return jobs.instances(the_experiment(config))


def measure(
    config: Config,
    job: str = "all",
    stream: io.StringIO | None = None,
    log: str | Path = "log.txt",
    experiment: Experiment | None = None,
) -> tuple[list[dict[str, Any]], str]:
    """Measure a job in this process, in the working folder; return its lines and its messages."""
    stream = stream or io.StringIO()
    experiment = experiment or the_experiment(config)
    part = jobs.job(config, experiment, job)
    with JobProgress(config, experiment, part, Path(log), stream) as progress:
        measure_job(config, experiment, part, progress)
    return read_lines(paths.job_file(config, experiment.paper, experiment.name, job)), stream.getvalue()


def journal(config: Config) -> Journal:
    return Journal(paths.journal(config, "platt1998", EXPERIMENT))


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which the tests' solvers can be imported and no mirror is set."""
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    kept = {key: value for key, value in os.environ.items() if key != "SVMREPRO_MIRROR"}
    return {**kept, "PYTHONPATH": path, **more}


def arguments(folder: Path, overrides: Mapping[str, Any], *more: str) -> list[str]:
    """Return Snakemake's arguments for a run in its own folder."""
    settings = folder / "overrides.json"
    settings.write_text(json.dumps(overrides))
    place = ("--snakefile", str(PROJECT / "Snakefile"), "--directory", str(folder))
    return [*place, "--cores", "2", *more, "--configfile", str(settings)]


def command(folder: Path, overrides: Mapping[str, Any], *more: str) -> list[str]:
    """Return the command line of a run in its own folder."""
    return [sys.executable, "-m", "snakemake", *arguments(folder, overrides, *more)]


def snakemake(
    folder: Path, overrides: Mapping[str, Any], *more: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Snakemake to its end, from its own folder."""
    return forked(snakemake_main, folder, arguments(folder, overrides, *more), environment(**variables))


def journal_lines(folder: Path, scale: str = "default") -> list[dict[str, Any]]:
    """Read all journals of a scale; every line must parse."""
    files = sorted((folder / "results" / scale / "journal").rglob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def on_full_disk(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """
    Run a Python script with its own file system of 256 KiB as the working folder.

    Skips the test if this machine does not allow mounting one.
    """
    mount = f"mount -t tmpfs -o size=256k none {folder} && cd {folder}"
    private = ("unshare", "-rm", "sh", "-c")
    if ran(*private, mount).returncode:
        pytest.skip("this machine lets no file system be mounted")
    return ran(*private, f'{mount} && exec "$0" -c "$1"', sys.executable, script, env=environment())
