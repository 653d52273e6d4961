"""Measure solvers side by side: seconds, certificates, memory, and one figure, in about a minute.

    svmrepro bench --solver my_package.training:train --data my.libsvm
    svmrepro bench -s smo-newton -s libsvm -d adult -d web --kernel linear --C 0.1

A solver is `package.module:function`, the name of an entry point, or a known one. A solver of yours joins all
others that can take the problem; if known ones are named too, only these take part. Data are a file (LIBSVM,
CSV, NPZ) or the name of a data set; without any, generated ones are used. Results go into a folder of
their own; the same command resumes an interrupted bench. With other solvers on the same data, it replaces the
tables and figures there; `-o` names another folder. The exit code is 1 if a solver of yours fails in any run,
or if no solver solves anything. Returning at its limit is not a failure.
"""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration import callers_folder
from svmrepro.workflow.errors import StepError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add = parser.add_argument
    many: dict[str, Any] = {"action": "append", "default": []}
    add("-s", "--solver", dest="solvers", metavar="SOLVER", **many, help="a solver; may be repeated")
    add("-d", "--data", **many, help="a file or a data set; may be repeated")
    add("--test", type=Path, help="a file with a test set, for the accuracy")
    add("--labels", help="labels of the file, such as 0:-1,1:1 or no:-1,yes:1")
    add("--label", default="last", help="column of the labels in a table: its name, first or last")
    add("-n", "--rows", type=int, help="rows of each data set (at most 4,000; 2,000 of a generated one)")
    add("--kernel", choices=("gaussian", "linear", "polynomial"), default="gaussian", help="(gaussian)")
    add("--C", type=float, default=1.0, help="bound of the multipliers (1)")
    add("--gamma", type=float, help="of the kernel (1 / (columns * variance of all entries))")
    add("--degree", type=int, help="of the polynomial kernel (3)")
    add("--no-bias", dest="bias", action="store_false", help="solve without a bias; needs --kernel linear")
    add("--eps", type=float, default=1e-3, help="stopping tolerance (0.001)")
    add("--option", dest="options", metavar="OPTION", **many, help="NAME=VALUE, an option of your solver")
    add("--baseline", default="", help="the solver that ratios of seconds refer to")
    add("--repeats", type=int, default=3, help="runs of each solver at each size, fewer of slow ones (3)")
    add("--seconds", type=float, default=60.0, help="CPU seconds for all runs together (60)")
    add("--again", action="store_true", help="measure anew what was measured with the same settings")
    add("-o", "--output", help="folder of the results (bench/<name of the data>)")


def run(given: argparse.Namespace, others: list[str]) -> int:
    """Run the command."""
    from svmrepro.workflow.joining import bench_folder

    folder = bench_folder.folder_of(given.data, given.output)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        return _run(given, folder)
    except KeyboardInterrupt as stop:
        place = callers_folder.shown(folder)
        how = "the same command" + " without --again" * given.again
        print(f"\nstopped; finished measurements are kept in {place}, and {how} resumes", file=sys.stderr)
        return stop.args[0] if stop.args else 130
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(number: int, _: object) -> None:
    """End as at Ctrl-C, with another exit code."""
    raise KeyboardInterrupt(128 + number)


def _run(given: argparse.Namespace, folder: Path) -> int:
    from svmrepro.solvers import SOLVERS
    from svmrepro.workflow.joining import bench_run, bench_settings

    asked = {field.name: getattr(given, field.name) for field in fields(bench_settings.Bench)}
    asked["options"] = dict(map(_option, given.options))
    asked["labels"] = None if given.labels is None else _labels(given.labels)
    callers_folder.make_importable(name for name in given.solvers if name not in SOLVERS)
    made = bench_run.run_bench(bench_settings.Bench(**asked), folder, {})
    print((folder / "table.md").read_text(encoding="utf-8"))
    place = callers_folder.shown(folder)
    names = ", ".join(path.name for path in made.files)
    bench_run.say(f"in {place}: {names}; settings in {place / 'config'}")
    for line in made.failures:
        bench_run.say(line)
    return int(any(made.failures.values()))


def _labels(text: str) -> dict[str | float, float]:
    labels: dict[str | float, float] = {}
    for each in text.split(","):
        label, sign = _sign(each)
        if label in labels:
            raise StepError(f"--labels: {label if isinstance(label, str) else f'{label:g}'} is given twice")
        labels[label] = sign
    return labels


def _sign(text: str) -> tuple[str | float, float]:
    label, colon, sign = text.strip().rpartition(":")
    if not (label and colon) or sign not in ("1", "+1", "-1"):
        raise StepError(f"--labels: {text!r} is not a label with its sign, such as 0:-1")
    try:
        return float(label), float(sign)
    except ValueError:
        return label, float(sign)


def _option(text: str) -> tuple[str, Any]:
    from svmrepro.solvers.conformance import option_value

    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise StepError(f"--option: {text!r} is not of the form NAME=VALUE")
    return name, option_value(value)
