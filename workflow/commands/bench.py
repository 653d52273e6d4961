"""Measure solvers side by side: seconds, certificates, memory, and one figure, in about two minutes.

    svmrepro bench --solver my_package.training:train --data my.libsvm
    svmrepro bench -s smo-newton -s libsvm -d adult -d web --kernel linear --C 0.1

A solver is `package.module:function`, the name of an entry point, or a known one. A solver of yours joins all
others that can take the problem; if known ones are named too, only these take part. Data are a file (LIBSVM,
CSV, NPZ) or the name of a data set; without any, generated ones are used. Results go into a folder of
their own; the same command resumes an interrupted bench. The exit code is 1 if a solver of yours solves
nothing and fails.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration import callers_folder
from svmrepro.workflow.errors import StepError

#: Folder of downloaded data sets, as in config/config.yaml.
_DATA = "data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    many: dict[str, Any] = {"action": "append", "default": []}
    add("-s", "--solver", dest="solvers", metavar="SOLVER", **many, help="a solver; may be repeated")
    add("-d", "--data", **many, help="a file or a data set; may be repeated")
    add("--test", type=Path, help="a file with a test set, for the accuracy")
    add("--labels", help="labels of the file, such as 0:-1,1:1 or no:-1,yes:1")
    add("--label", default="last", help="column of the labels in a table: its name, first or last")
    add("-n", "--rows", type=int, help="rows of each data set (default: at most 4,000)")
    add("--kernel", choices=("gaussian", "linear", "polynomial"), default="gaussian", help="(gaussian)")
    add("--C", type=float, default=1.0, help="bound of the multipliers (1)")
    add("--gamma", type=float, help="of the kernel (1 over columns times variance of the entries)")
    add("--degree", type=int, default=3, help="of the polynomial kernel (3)")
    add("--no-bias", dest="bias", action="store_false", help="no threshold, for linear solvers without one")
    add("--eps", type=float, default=1e-3, help="stopping tolerance (0.001)")
    add("--option", dest="options", metavar="OPTION", **many, help="NAME=VALUE, an option of your solver")
    add("--baseline", default="", help="the solver to whose seconds the others' are compared")
    add("--repeats", type=int, default=3, help="runs of each solver at each size (3)")
    add("--seconds", type=float, default=60.0, help="CPU seconds for all runs together (60)")
    add("-o", "--output", type=Path, help="folder of the results (bench/<name of the data>)")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    folder = callers_folder.made(given.output) if given.output else Path("bench") / _folder_name(given.data)
    try:
        return _run(given, folder)
    except KeyboardInterrupt:
        place = callers_folder.shown(folder)
        print(
            f"\nstopped; what was measured is kept in {place}, and the same command goes on", file=sys.stderr
        )
        return 130


def _run(given: argparse.Namespace, folder: Path) -> int:
    from svmrepro.solvers import SOLVERS
    from svmrepro.workflow.configuration import as_called
    from svmrepro.workflow.joining import bench_run, bench_settings
    from svmrepro.workflow.journal.own_solvers import failures
    from svmrepro.workflow.number_text import plural

    for name in ("C", "gamma", "degree", "eps", "seconds", "repeats", "rows"):
        value = getattr(given, name)
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise StepError(f"--{name}: must be positive, not {value:g}")
        if value is not None and value >= 2.0**63:
            raise StepError(f"--{name}: must be a number below 2^63, not {value:g}")
    asked = {field.name: getattr(given, field.name) for field in fields(bench_settings.Bench)}
    wanted = bench_settings.Bench(**asked | {"options": dict(map(_option, given.options))})
    if given.options and all(name in SOLVERS for name in given.solvers):
        raise StepError("--option: no solver of yours takes part; add it by --solver")
    callers_folder.find_modules()
    # Their errors come before anything is read.
    bench_settings.check_own_solvers(wanted)
    bench_settings.contenders_of(wanted)
    data = [_data(name, given, folder) for name in given.data or bench_settings.GENERATED]
    labels = bench_settings.write_configuration(wanted, data, folder, _DATA)
    config = bench_run.configuration(folder)
    sizes = ", ".join(f"{each.name} ({plural(each.rows, 'row')})" for each in data)
    _say(f"{plural(len(labels), 'solver')} on {sizes}")
    if absent := bench_settings.absent():
        packages = " ".join(dict.fromkeys(absent.values()))
        how = as_called(f"`./run pip install {packages}` adds them")
        _say(f"without {', '.join(absent)}, which are not installed; {how}")
    bench_run.measure(config, folder, _say)
    made = bench_run.show(config, folder)
    print((folder / "table.md").read_text(encoding="utf-8"))
    place = callers_folder.shown(folder)
    _say(f"in {place}: {', '.join(path.name for path in made)}; settings in {place / 'config'}")
    failed = failures(config, config.experiments)
    for line in failed:
        _say(line)
    return int(any(failed.values()))


def _data(name: str, given: argparse.Namespace, folder: Path) -> Any:
    import os

    from svmrepro import datasets
    from svmrepro.datasets.yaml_checks import did_you_mean
    from svmrepro.workflow.joining import bench_settings

    if name in datasets.names():
        mirror = os.environ.get("SVMREPRO_MIRROR")
        return bench_settings.known_set(name, given.rows, _DATA, mirror)
    path = callers_folder.given(name)
    if path.is_dir():
        raise StepError(f"--data: {name} is a folder: name a file in it")
    if not path.is_file():
        raise StepError(
            f"--data: {name} is neither a file nor a data set{did_you_mean(name, datasets.names())}"
        )
    test = given.test and callers_folder.given(given.test)
    labels = None if given.labels is None else dict(map(_sign, given.labels.split(",")))
    return bench_settings.sample_of_file(path, folder / "own", given.rows, labels, given.label, test)


def _sign(text: str) -> tuple[str | float, float]:
    label, colon, sign = text.strip().rpartition(":")
    if not (label and colon) or sign not in ("1", "+1", "-1"):
        raise StepError(f"--labels: {text!r} is not a label with its sign, such as 0:-1")
    try:
        return float(label), float(sign)
    except ValueError:
        return label, float(sign)


def _option(text: str) -> tuple[str, Any]:
    from svmrepro.workflow.configuration.plain_yaml import word

    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise StepError(f"--option: {text!r} is not of the form NAME=VALUE")
    return name, word(value)


def _folder_name(names: list[str]) -> str:
    joined = "-".join(Path(name).stem for name in names) or "generated"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", joined)[:60].strip("-.") or "data"


def _say(text: str) -> None:
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # over a line that a step left open
    print(f"{clear}bench: {text}", file=sys.stderr, flush=True)
