"""Exponents and ratios of one experiment: ``fits.csv`` and ``ratios.csv``.

``fits.csv`` has one line per contender and quantity: ``cpu_seconds``, and ``work``, the counted elementary
operations (`svmrepro.workflow.analysis.runs`). An experiment with sizes between the paper's has a second such
line, fitted to the paper's own sizes alone. It also has a line for each column of seconds printed in the
paper, refitted in the same way. ``source`` is ``measured``, ``measured-own-sizes`` or ``paper``. The
intervals are those of `svmrepro.workflow.statistics.power_law`. In an experiment with an axis, the fit is
over the points of the axis at the largest size, and there are no ratios. Intervals of ratios of seconds
include the variation between processes (`svmrepro.workflow.statistics.across_processes`).

``ratios.csv`` has one line per size, quantity and pair of contenders: the median ratio over runs on the same
problem. Ratios of seconds are formed within one process. Each pair is written in one order only, as the other
is its inverse. If an experiment has very many contenders, each is compared with the first alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from itertools import combinations, product
from pathlib import Path

from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.run_pairs import pairs, processes, ratio_series
from svmrepro.workflow.analysis.runs import CPU, QUANTITIES, WORK, Runs
from svmrepro.workflow.configuration.model import Experiment
from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.result_files.field_types import FieldType, Kind
from svmrepro.workflow.result_files.result_rows import read_rows
from svmrepro.workflow.statistics import (
    Fit,
    Interval,
    Scatter,
    across_processes,
    fit_power_law,
    pooled_scatter,
    ratio_interval,
    ratios_suffice,
)

_FIT_KEY = ("experiment", "contender", "quantity", "source")
_RATIO_KEY = ("experiment", "n", "numerator", "denominator", "quantity")
FIT_COLUMNS = (
    "paper", *_FIT_KEY, "exponent", "low", "high", "intercept", "points", "n_min", "n_max", "method", "note",
)  # fmt: skip
RATIO_COLUMNS = ("paper", *_RATIO_KEY, "ratio", "low", "high", "pairs")
_ALL_PAIRS = 32  # contenders up to which each is compared with each other one
MEASURED, OWN_SIZES, PAPER = "measured", "measured-own-sizes", "paper"


Line = dict[str, object]
"""A line of a CSV file by column; None is an empty field."""


def fit_experiment(runs: Runs, experiment: Experiment, numbers: PaperNumbers) -> list[Line]:
    """Return the lines of ``fits.csv`` for one experiment."""
    lines: list[Line] = []
    for contender in experiment.contenders:
        for quantity in QUANTITIES:
            name = f"{experiment.paper}/{experiment.name}/{contender}/{quantity}"
            series = runs.series(experiment.name, contender, quantity)
            lines.append(_fit_line(experiment, (contender, quantity, MEASURED), fit_power_law(series, name)))
            if experiment.nested:
                fit = fit_power_law(own_sizes(experiment, series), f"{name}/own sizes")
                lines.append(_fit_line(experiment, (contender, quantity, OWN_SIZES), fit))
    for contender in experiment.contenders:
        printed = numbers.series(experiment.name, contender)
        if printed:
            fit = fit_power_law(printed, f"{experiment.paper}/{experiment.name}/{contender}/paper")
            lines.append(_fit_line(experiment, (contender, CPU, PAPER), fit))
    return lines


def exponent_of_ratios(
    runs: Runs, experiment: str, contenders: Sequence[str], quantity: str
) -> tuple[Interval, Mapping[float, list[float]]] | None:
    """Return the difference of two contenders' exponents, as the exponent of their ratios, and these by size.

    Both solve the same problems in one process. What moves both alike cancels in a ratio; what moves them
    apart adds up. Two separate fits know neither. None if the sizes of the ratios do not suffice
    (`ratios_suffice`).
    """
    ratios = ratio_series(runs, experiment, contenders, quantity)
    series = [runs.series(experiment, label, quantity) for label in contenders]
    if not ratios_suffice(ratios, *series):
        return None
    fit = fit_power_law(ratios, f"{experiment}/{'/'.join(contenders)}/{quantity}")
    return (fit.exponent, ratios) if fit.exponent else None


def own_sizes(experiment: Experiment, series: Mapping[float, list[float]]) -> dict[float, list[float]]:
    """Return a series without the sizes that lie between the paper's own."""
    return {n: values for n, values in series.items() if n not in experiment.nested}


def compare_contenders(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the lines of ``ratios.csv``: for each pair of contenders, the later over the earlier."""
    lines: list[Line] = []
    labels = list(experiment.contenders)
    compared = combinations(labels, 2) if len(labels) <= _ALL_PAIRS else product(labels[:1], labels[1:])
    of_repeats = scatter_of_repeats(runs, experiment)
    for first, second in compared:
        # Another encoding makes another problem.
        if experiment.contenders[first].encoding != experiment.contenders[second].encoding:
            continue
        for quantity in QUANTITIES:
            paired: dict[int, tuple[list[float], list[float]]] = {}
            for n in runs.sizes(experiment.name):
                below, above = (runs.group(experiment.name, label, n) for label in (first, second))
                # Counts do not depend on the process, so a job that was killed and restarted loses no pair.
                paired[n] = pairs(above, below, quantity, anywhere=True)
            # Counts are exact: one pair is enough. For seconds, one pair or two borrow the scatter of all
            # sizes, or of all contenders if no size has two pairs.
            scatter = Scatter(0.0, 1) if quantity == WORK else pooled_scatter(paired.values()) or of_repeats
            for n, both in paired.items():
                if both[0]:
                    key = (experiment.paper, experiment.name, n, second, first, quantity)
                    found = ratio_interval(*both, scatter)
                    if quantity != WORK:
                        groups = (runs.group(experiment.name, label, n) for label in (first, second))
                        found = across_processes(found, processes(*groups))
                    values = (*key, *astuple(found), len(both[0]))
                    lines.append(dict(zip(RATIO_COLUMNS, values, strict=True)))
    return lines


def scatter_of_runs(runs: Runs, experiment: Experiment) -> Scatter | None:
    """Return the scatter of the log seconds of a single run, by the repeats of all contenders."""
    series = (runs.series(experiment.name, label, CPU) for label in experiment.contenders)
    repeats = [values for by_size in series for values in by_size.values() if min(values) > 0]
    return pooled_scatter((values, [1.0] * len(values)) for values in repeats)


def scatter_of_repeats(runs: Runs, experiment: Experiment) -> Scatter | None:
    """Return the scatter of the log ratio of two single runs, by the repeats of all contenders.

    The two are taken as independent, although a pair shares the slow moments of the machine; so this is wide.
    """
    found = scatter_of_runs(runs, experiment)
    return None if found is None else Scatter(math.sqrt(2.0) * found.deviation, found.freedom)


_COLUMN_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys((*_FIT_KEY, *_RATIO_KEY), field_types.name),
    "n": field_types.size,
    "points": field_types.count,
    "pairs": field_types.count,
    **dict.fromkeys(("n_min", "n_max"), field_types.number),
    **dict.fromkeys(("exponent", "low", "high", "intercept"), field_types.optional(field_types.number)),
    "ratio": field_types.positive,
    **dict.fromkeys(("method", "note"), field_types.words),
}


def _exponent(row: Mapping[str, str]) -> Interval | None:
    return field_types.interval(row["exponent"], row["low"], row["high"]) if row["exponent"] else None


def _ratio(row: Mapping[str, str]) -> Interval:
    return field_types.interval(row["ratio"], row["low"], row["high"])


_FIT_FORM = FieldType(_COLUMN_KINDS.get, ("paper", *_FIT_KEY), _exponent)
_RATIO_FORM = FieldType(_COLUMN_KINDS.get, ("paper", *_RATIO_KEY), _ratio)


def read_fits(files: Iterable[Path]) -> dict[tuple[str, str, str, str], Fit]:
    """Read ``fits.csv`` files, keyed by experiment, contender, quantity and source.

    A file that was not written by `fit_experiment` raises a StepError: ``file:line: column: what``.
    """
    fits: dict[tuple[str, str, str, str], Fit] = {}
    for row in (row for path in files for row in read_rows(path, FIT_COLUMNS, _FIT_FORM)):
        key = (row["experiment"], row["contender"], row["quantity"], row["source"])
        intercept = float(row["intercept"]) if row["intercept"] else None
        # A size is an integer, a point of an axis a float.
        n_min, n_max = (
            int(text) if text.isdecimal() else float(text) for text in (row["n_min"], row["n_max"])
        )
        points = int(float(row["points"]))  # other programs may write 3.0
        fits[key] = Fit(_exponent(row), intercept, points, n_min, n_max, row["method"], row["note"])
    return fits


def read_ratios(files: Iterable[Path]) -> dict[tuple[str, int, str, str, str], Interval]:
    """Read ``ratios.csv`` files, keyed by experiment, n, numerator, denominator and quantity.

    A file that was not written by `compare_contenders` raises a StepError: ``file:line: column: what``.
    """
    return {
        (row["experiment"], int(row["n"]), row["numerator"], row["denominator"], row["quantity"]): _ratio(row)
        for path in files
        for row in read_rows(path, RATIO_COLUMNS, _RATIO_FORM)
    }


def _fit_line(experiment: Experiment, key: Sequence[str], fit: Fit) -> Line:
    exponent = astuple(fit.exponent) if fit.exponent else (None, None, None)
    numbers = (fit.intercept, fit.points, fit.n_min, fit.n_max)
    values = (experiment.paper, experiment.name, *key, *exponent, *numbers, fit.method, fit.note)
    return dict(zip(FIT_COLUMNS, values, strict=True))
