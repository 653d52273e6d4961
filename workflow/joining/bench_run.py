"""Measures a bench and makes its tables and figures, in a folder of its own.

`bench_settings.write_configuration` says which kinds of tables and figures these are.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from svmrepro.workflow.configuration import Config, load_config, paths
from svmrepro.workflow.configuration.model import write_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.joining.bench_settings import PAPER
from svmrepro.workflow.measurement.data_sets import check_own_data_sets, register

_FORMS = ("md", "html", "csv")


def configuration(folder: Path) -> Config:
    """Read and check the configuration in ``folder / "config"``; register its data sets."""
    config = load_config({}, folder / "config")
    register(config)
    check_own_data_sets(config)
    return config


def measure(config: Config, folder: Path, say: Callable[[str], None]) -> None:
    """Measure every data set, each in a process of its own; what is measured already is kept."""
    from svmrepro.workflow.steps import analyse, collect  # late, as below: mistakes are told before

    file = folder / "config.json"
    write_config(config, file)
    for name in config.papers[PAPER].experiments:
        _measure(file, name)
        analyse.run(config, PAPER, name)
        say(f"{name}: measured")
    collect.run(config, PAPER)


def show(config: Config, folder: Path) -> list[Path]:
    """Make the tables and figures, put them at the top of the folder, and return their paths."""
    from svmrepro.workflow.steps import plot, tabulate

    artefacts = config.papers[PAPER].artefacts.values()
    tables = [each.name for each in artefacts if each.form == "table"]
    figures = [each.name for each in artefacts if each.form == "figure"]
    tabulate.run(config, PAPER, tables)
    plot.run(config, PAPER, figures)
    made = [paths.table(config, PAPER, name)[form] for name in tables for form in _FORMS]
    made += [path for name in figures for path in paths.figure(config, PAPER, name).values()]
    made += [paths.measurements(config, PAPER).with_suffix(suffix) for suffix in (".csv", ".parquet")]
    for path in made:
        shutil.copyfile(path, folder / path.name)
    return [folder / path.name for path in made]


def _measure(config: Path, experiment: str) -> None:
    command = [sys.executable, "-m", "svmrepro.workflow.steps.measure", "--config", str(config)]
    process = subprocess.Popen([*command, "--paper", PAPER, "--experiment", experiment, "--job", "all"])
    try:
        code = process.wait()
    finally:  # also after Ctrl-C
        process.terminate()
        process.wait()
    if code in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if code:
        raise StepError(f"bench: measuring failed; what was measured is kept in {config.parent}")
