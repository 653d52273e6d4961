"""Measures a bench and makes its tables and figures, in a folder of its own; `bench` does so from Python.

`bench_settings.write_configuration` says which kinds of tables and figures these are.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from svmrepro.datasets.readers.npz import write_npz
from svmrepro.solvers import user_functions
from svmrepro.workflow.configuration import (
    Config,
    callers_folder,
    dump_config,
    load_config,
    paths,
)
from svmrepro.workflow.configuration.jobs import instances
from svmrepro.workflow.errors import StepError, writing
from svmrepro.workflow.files import atomic_path, atomic_write
from svmrepro.workflow.joining import bench_folder, bench_settings
from svmrepro.workflow.joining.bench_settings import PAPER, Bench
from svmrepro.workflow.journal.journal_file import Journal
from svmrepro.workflow.journal.journal_line import OPTIMAL, read_lines
from svmrepro.workflow.journal.own_solvers import failures
from svmrepro.workflow.locks import lock
from svmrepro.workflow.measurement.data_sets import check_own_data_sets, register
from svmrepro.workflow.number_text import plural

if TYPE_CHECKING:
    import pandas as pd

_FORMS = ("md", "html", "csv")


class BenchFiles(NamedTuple):
    """The files at the top of a bench's folder, and the lines of `failures`, also if nothing was solved."""

    files: Sequence[Path]
    failures: Mapping[str, bool]


class BenchResult(NamedTuple):
    """What `bench` returns."""

    table: pd.DataFrame
    figure: Path


def bench(
    solvers: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] = (),
    data: str | Path | Sequence[str | Path] | Mapping[str, tuple[Any, Any]] = (),
    output: str | Path | None = None,
    **settings: Any,
) -> BenchResult:
    """Measure solvers side by side, as the command ``bench`` does.

    What an earlier call or the command measured with the same settings in the same folder is not measured
    again. Runs are in processes of their own, so a solver of yours must be a function of a module or a
    package: one that is defined in a notebook cannot be found. Progress goes to standard error.

    Parameters
    ----------
    solvers
        A function, or names: ``package.module:function``, an entry point, or a known solver. Yours join all
        peers; if known ones are named too, only those named take part.
    data
        Arrays by a name of your choice, ``{"mine": (X, y)}``: X of shape (n, d), dense or sparse, and y of
        shape (n,), which are stored in the folder. Or files (LIBSVM, CSV, NPZ) or names of data sets;
        without any, generated sets.
    output
        Folder of the results, by default ``bench/<name of the data>``.
    **settings
        ``C``, ``kernel`` ("gaussian", "linear" or "polynomial"), ``gamma``, ``degree``, ``eps``, ``rows``,
        ``labels`` (such as ``{0: -1, 1: 1}``), ``label``, ``test``, ``baseline``, ``repeats``, ``seconds``
        and ``again``, like the options of the command; ``bias=False`` for its ``--no-bias``; ``options``, a
        mapping, for your solvers.

    Returns
    -------
    table : pandas.DataFrame
        A row per data set and solver, at the largest size that it reached: the columns of ``table.csv``,
        among them ``contender``, CPU ``seconds``, their ``ratio`` to the baseline's, the certificate's
        ``gap`` and ``violation``, and peak ``memory`` in MB.
    figure : pathlib.Path
        Seconds against size, and the objective against time, as PNG.

    Raises
    ------
    StepError
        If a solver, a file or a value cannot be used. The message names the command's option.
    TypeError
        If there is no such setting.
    """
    import pandas as pd

    several = [solvers] if isinstance(solvers, str) or callable(solvers) else solvers
    names = [each if isinstance(each, str) else _name_of(each) for each in several]
    sources = [data] if isinstance(data, str | Path) else list(data)
    # As YAML writes them.
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in settings.items()}
    folder = bench_folder.folder_of(sources, output)
    arrays: dict[Path, tuple[Any, Any]] = {}
    if isinstance(data, Mapping):
        place = folder.absolute() / "arrays"
        arrays = {place / f"{name}.npz": bench_settings.numeric_arrays(name, data[name]) for name in data}
        sources = [*arrays]
    callers_folder.add_module_folder(last=True)  # Python searches the folder of a script first
    for line in run_bench(Bench(names, sources, **plain), folder, arrays).failures:
        say(line)
    return BenchResult(pd.read_csv(folder / "table.csv"), (folder / "figure.png").absolute())


def _name_of(solver: Callable[..., Any]) -> str:
    """Return the name by which other processes find a function."""
    module, name = getattr(solver, "__module__", None), getattr(solver, "__qualname__", "<>")
    if module in (None, "__main__") or not name.isidentifier():
        raise StepError(
            f"solvers: {solver!r}: the processes that measure find only functions at the top level of a "
            "module; write it into a file, and import it"
        )
    return f"{module}:{name}"


def run_bench(settings: Bench, folder: Path, arrays: Mapping[Path, tuple[Any, Any]]) -> BenchFiles:
    """Check and measure a bench, and make its tables and figures; an invalid setting raises a StepError.

    It waits until no other bench uses the folder, then writes the files of ``arrays``, and goes on.
    """
    bench_settings.check_values(settings)
    # Their errors come before anything is read.
    bench_settings.check_own_solvers(settings)
    _hand_on_modules(settings.solvers)
    contenders = bench_settings.contenders_of(settings)
    bench_settings.baseline_of(settings, contenders)
    bench_settings.check_data(settings, arrays)
    with lock(folder / ".run.lock", partial(_say_waiting, folder)):
        bench_folder.refuse_other_data(folder, settings.data)  # of the bench that this one waited for
        for file, (X, y) in arrays.items():
            with atomic_path(file) as temporary:
                write_npz(temporary, X, y)
        data = bench_settings.read_data(settings, folder)
        labels = bench_settings.write_configuration(settings, data, folder)
        config = load_config({}, folder / "config")
        register(config)
        check_own_data_sets(config)
        sizes = ", ".join(f"{each.name} ({plural(each.rows, 'row')})" for each in data)
        say(f"{plural(len(labels), 'solver')} on {sizes}")
        for each in data:
            if each.untested:
                say(f"{each.name}: no accuracy: test set: {each.untested}")
        if dense := [label for label in contenders if label not in labels]:
            say(f"left out: {', '.join(dense)}; as dense rows, the examples would take more than 1 GiB")
        if absent := bench_settings.absent(settings):
            say(absent)
        _measure(config, folder, settings.again)
        files = _show(config, folder)
        return BenchFiles(files, {**failures(config, config.experiments), **_nothing_solved(config)})


def _say_waiting(folder: Path, owner: str) -> None:
    place = callers_folder.shown(folder)
    say(f"waiting: {place} is in use by the bench of {owner}; this one starts when that one ends")


def _hand_on_modules(solvers: Iterable[str]) -> None:
    """Let the processes that measure find modules that this one imported, such as those beside a script."""
    for name in solvers:
        if ":" in name and not user_functions.find(name).package:
            module = sys.modules[name.partition(":")[0].partition(".")[0]]
            place = next(iter(getattr(module, "__path__", ())), getattr(module, "__file__", None))
            if place is not None:
                callers_folder.add_module_folder(Path(place).absolute().parent)


def _nothing_solved(config: Config) -> dict[str, bool]:
    """Return a line, as `failures` does, if no solver solved anything."""
    for experiment in config.experiments:
        for file in paths.job_files(config, experiment.paper, experiment.name):
            if any(line["status"] == OPTIMAL for line in read_lines(file)):
                return {}
    return {"no solver solved anything": True}


def say(text: str) -> None:
    """Print a line on the bench to standard error."""
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # over a line that a step left open
    print(f"{clear}bench: {text}", file=sys.stderr, flush=True)


def _measure(config: Config, folder: Path, again: bool) -> None:
    """Measure every data set, each in a process of its own; unless ``again``, what was measured is kept."""
    from svmrepro.workflow.steps import analyse, collect  # late, as below, after the checks

    file = folder / "config.json"
    atomic_write(file, dump_config(config))
    experiments = config.papers[PAPER].experiments
    journals = {name: Journal(paths.journal(config, PAPER, name)) for name in experiments}
    if again:  # all before the first run: a bench that is stopped resumes without --again
        for name, journal in journals.items():
            journal.forget({instance.fingerprint for instance in instances(experiments[name])})
    for name, journal in journals.items():
        before = {line["run_id"] for line in journal.valid_lines()}
        _measure_set(file, name, again)
        analyse.run(config, PAPER, name)
        lines = read_lines(paths.job_file(config, PAPER, name, "all"))
        made = [line["run_id"] in before for line in lines if line["status"] != "not_run"]
        earlier = f"; {sum(made)} of {plural(len(made), 'run')} by an earlier bench (--again repeats them)"
        say(f"{name}: measured{earlier * any(made)}")
    collect.run(config, PAPER)


def _show(config: Config, folder: Path) -> list[Path]:
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
        with writing(folder / path.name):
            shutil.copyfile(path, folder / path.name)
    return [folder / path.name for path in made]


def _measure_set(config: Path, experiment: str, again: bool) -> None:
    # -P: `add_module_folder` has said where to look first, not in the current folder.
    command = [sys.executable, "-P", "-m", "svmrepro.workflow.steps.measure", "--config", str(config)]
    command += ["--paper", PAPER, "--experiment", experiment, "--job", "all"]
    # To standard error: output of solvers does not belong to the table.
    process = subprocess.Popen(command, stdout=2)
    try:
        code = process.wait()
    finally:  # also after Ctrl-C
        process.terminate()
        process.wait()
    if code in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if code:
        resumes = "; the same command without --again resumes" if again else ""
        raise StepError(
            f"bench: measuring failed; finished measurements are kept in {config.parent}{resumes}"
        )
