"""Measures a bench and makes its tables and figures, in a folder of its own.

`bench_settings.write_configuration` says which kinds of tables and figures these are.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from svmrepro.workflow.configuration import Config, load_config, paths
from svmrepro.workflow.configuration.model import write_config
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.joining.bench_settings import PAPER
from svmrepro.workflow.measurement.data_sets import check_own_data_sets, register
from svmrepro.workflow.measurement.journal import Journal
from svmrepro.workflow.measurement.present_run import Call, present_call

_FORMS = ("md", "html", "csv")

PATIENCE, TIMES_LIMIT = 10.0, 10.0
"""A call of a user's solver is ended after so many seconds, or so many times its limit if that is more."""

WARMING = 60.0
"""The least seconds of its call on a few rows, in which it may be imported and compiled."""

_TICK = 0.1

_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that come from a user, or from a system without memory, and say nothing certain about a solver."""


def configuration(folder: Path) -> Config:
    """Read and check the configuration in ``folder / "config"``; register its data sets."""
    config = load_config({}, folder / "config")
    register(config)
    check_own_data_sets(config)
    return config


def measure(config: Config, folder: Path, say: Callable[[str], None]) -> None:
    """Measure every data set, each in a process of its own; what is measured already is kept."""
    file = folder / "config.json"
    write_config(config, file)
    for name in config.papers[PAPER].experiments:
        present = folder / "present.json"
        words = ("--experiment", name, "--job", "all", "--present", str(present))
        journal = Journal(paths.journal(config, PAPER, name))
        supervise(_command("measure", file, *words), present, journal, say)
        _step("analyse", file, "--experiment", name)
        say(f"{name}: measured")
    _step("collect", file)


def show(config: Config, folder: Path) -> list[Path]:
    """Make the tables and figures, put them at the top of the folder, and return their paths."""
    file = folder / "config.json"
    artefacts = config.papers[PAPER].artefacts.values()
    tables = [each.name for each in artefacts if each.form == "table"]
    figures = [each.name for each in artefacts if each.form == "figure"]
    _step("tabulate", file, "--artefact", *tables)
    _step("plot", file, "--artefact", *figures)
    made = [paths.table(config, PAPER, name)[form] for name in tables for form in _FORMS]
    made += [path for name in figures for path in paths.figure(config, PAPER, name).values()]
    made += [paths.measurements(config, PAPER).with_suffix(suffix) for suffix in (".csv", ".parquet")]
    for path in made:
        shutil.copyfile(path, folder / path.name)
    return [folder / path.name for path in made]


def supervise(command: list[str], present: Path, journal: Journal, say: Callable[[str], None]) -> None:
    """Run a step that measures until it ends by itself, and again after each solver that ended it.

    A user's solver that does not stop, or any that ends the process, gets a line in the journal instead of
    the step, so that its run is not made again. The line is written only when the process is gone.
    """
    while True:
        present.unlink(missing_ok=True)
        process = subprocess.Popen(command)
        try:
            late = _wait(process, present, say)
        except KeyboardInterrupt:
            with suppress(subprocess.TimeoutExpired):
                process.wait(1.0)  # Ctrl-C in a terminal reaches it, too; it may be writing
            raise
        finally:
            _end(process)
        code, call = process.returncode, present_call(present, process.pid)
        if call is None:
            if late:  # it came back just then
                continue
            return _judge("measure", code, present.parent)
        limit, where = call.line["time_limit"], f"{call.line['experiment']}, n = {call.line['n']:,}"
        found = {"status": "time_limit", "reason": f"did not stop at its limit of {limit:g} s"}
        if not late:
            how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
            say(f"{call.line['solver']} ended its process ({how}) on {where}")
            if -code in _FROM_OUTSIDE:
                raise StepError(
                    f"bench: {call.line['solver']} was killed on {where}, perhaps for lack of memory; what "
                    f"was measured is kept in {present.parent}, and the same command goes on"
                )
            found = {"status": "error", "reason": f"ended its process ({how})"}
        journal.append({**call.line, **found})


def _wait(process: subprocess.Popen[bytes], present: Path, say: Callable[[str], None]) -> bool:
    """Wait for a step; return whether a solver did not stop, so that the step must be ended."""
    told = None
    while process.poll() is None:
        time.sleep(_TICK)
        call = present_call(present, process.pid)
        if call is None or not call.own or (limit := call.line["time_limit"]) is None:
            continue
        patience = max(PATIENCE, TIMES_LIMIT * limit)
        most = max(patience, WARMING) if call.warming else patience
        passed = time.monotonic() - call.began
        if passed > patience and told != call.began:
            told = call.began
            say(_too_long(call, most - passed))
        if passed > most:
            return True
    return False


def _too_long(call: Call, left: float) -> str:
    line = call.line
    where = f"{line['experiment']}, n = {line['n']:,}{' (first on a few rows)' * call.warming}"
    when = "now" if left <= 0 else f"in {left:.0f} s, as it may still be compiling"
    return (
        f"{line['solver']} on {where} does not stop at its limit of {line['time_limit']:g} s; "
        f"it is ended {when}; Ctrl-C ends the bench, and what is measured is kept"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a step that still runs, with all that its solvers started: they would hold its locks."""
    if process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            for each in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        process.kill()
        process.wait()


def _command(name: str, config: Path, *words: str) -> list[str]:
    command = [sys.executable, "-m", f"svmrepro.workflow.steps.{name}", "--config", str(config)]
    return [*command, "--paper", PAPER, *words]


def _step(name: str, config: Path, *words: str) -> None:
    _judge(name, subprocess.run(_command(name, config, *words), check=False).returncode, config.parent)


def _judge(name: str, code: int, folder: Path) -> None:
    if code in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if code:
        raise StepError(f"bench: the step {name} failed; what was measured is kept in {folder}")
