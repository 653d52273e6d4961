"""Contenders side by side: the effect of a setting or a solver on seconds, steps, work and objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from svmrepro.datasets.input_checks import did_you_mean
from svmrepro.workflow.analysis.curves import PERFORMANCE
from svmrepro.workflow.analysis.results import Results, SizeRow, describe_problem, display_name
from svmrepro.workflow.analysis.runs import CPU, RELATIVE_GAP, WORK, Group, known_count
from svmrepro.workflow.configuration.contender_options import effective_settings
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.tables.layout.cells import BLANK, DASH, Cell, count, missing, number, problem, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.layout.size_rows import flag_notes, ratio_cell, seconds_cell

SETTINGS = {
    "cache_mb": ("cache", "MB"),
    "fold": ("folded", ""),
    "step_tol": ("step tolerance", ""),
    "eps": ("tolerance", ""),
}
"""Storage, option or axis -> its header and unit, where the name alone would not tell."""

HITS, MISSES = "info.cache_hits", "info.cache_misses"


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per contender and size of the artefact's experiments, and point of their axis.

    If the contenders differ in a single option, its value replaces their names. Experiments with an axis have
    the same one, and their performance on the test set is shown. Setting of the artefact:
    ``axes``, storage or options of solvers, each of which gets a column; seconds are then also shown relative
    to those of the first contender with the same solver. Or ``baseline``, the contender to whose seconds the
    others' are compared.
    """
    option = varying_option(results, artefact.experiments)
    axes: Sequence[str] = artefact.settings.get("axes", ())
    columns = [Column("experiment", "problem", prose=True), Column("n", "n")]
    header, unit = SETTINGS.get(option, (option, ""))
    columns.append(Column("contender", header or "solver", unit, prose=not option))
    described = [results.experiment(name) for name in artefact.experiments]
    varied = next((each.axis for each in described if each.axis), None)
    if varied:
        columns.append(Column("point", *SETTINGS.get(varied, (varied, ""))))
    for axis in axes:
        header, unit = SETTINGS.get(axis, (axis, ""))
        columns.append(Column(f"axis_{axis}", header, unit, "settings", prose=True, short=True))
    columns.append(Column("seconds", "CPU seconds"))
    baseline = baseline_of(results, artefact)
    if baseline:
        columns.append(Column("relative", f"relative to {display_name(baseline)}"))
    if axes:
        columns += [Column("ratio", "relative to the solver's first row"), Column("hits", "cache hits")]
    columns += [
        Column("iterations", "steps"),
        Column("kernel_evaluations", "kernel evaluations"),
        Column("work", "counted work"),
        Column("objective", "dual objective"),
        Column("violation", "largest KKT violation"),
        Column("gap", "relative duality gap"),
    ]
    measure = next((each.measures[0] for each in described if each.axis and each.measures), None)
    if measure:
        columns.append(Column("performance", f"test {measure}"))
    rows = [
        _row(results, each.name, label, row, point, option, baseline)
        | _axis_cells(results, each.name, label, row, axes)
        for each in described
        for row in results.rows(each.name)
        if row.n is not None
        for label in each.contenders
        for point in each.points or (None,)
    ]
    notes = [
        "Medians over the repeats; seconds with the 95 % interval of the median.",
        "Relative duality gap: (primal - dual) / primal, or of a cutting plane (primal - lower bound) / "
        "primal. A small KKT violation does not bound it.",
    ]
    if axes:
        notes.append(
            "Relative to the solver's first row: the median of ratios of CPU seconds within one process. A "
            "dash among the settings: the solver has no such option, or it has no effect with this kernel. "
            "Cache hits: share of the requested kernel rows that were in the cache."
        )
    notes += flag_notes(results, artefact.experiments)
    return table_of(results, artefact, columns, rows, notes=notes)


def baseline_of(results: Results, artefact: Artefact) -> str:
    """Return an artefact's setting ``baseline``, or ""; an unknown contender raises a StepError."""
    baseline = str(artefact.settings.get("baseline", ""))
    known = {label for name in artefact.experiments for label in results.experiment(name).contenders}
    if baseline and baseline not in known:
        raise StepError(
            f"artefact '{artefact.name}': baseline: no contender '{baseline}'{did_you_mean(baseline, known)}"
        )
    return baseline


def varying_option(results: Results, names: Sequence[str]) -> str:
    """Return the only solver option in which the contenders differ; "" if they also differ otherwise."""
    everyone = [list(results.experiment(name).contenders.values()) for name in names]
    contenders = list(chain.from_iterable(everyone))
    if len({(contender.solver, contender.storage, contender.bias) for contender in contenders}) != 1:
        return ""
    # An experiment may have settings of its own for all its contenders.
    if any(len({_apart(contender) for contender in each}) > 1 for each in everyone):
        return ""
    options = {key for contender in contenders for key in contender.options}
    varying = [
        key for key in options if len({repr(contender.options.get(key)) for contender in contenders}) > 1
    ]
    return varying[0] if len(varying) == 1 else ""


def _apart(contender: Contender) -> tuple[object, ...]:
    """Return what may distinguish a contender besides its solver and its options."""
    limits = (contender.time_limit, contender.memory_limit_mb, contender.iteration_limit)
    return (contender.encoding, contender.eps, contender.warm, *limits)


def _row(
    results: Results,
    name: str,
    contender: str,
    row: SizeRow,
    point: float | None,
    option: str,
    baseline: str,
) -> dict[str, Cell]:
    experiment = results.experiment(name)
    cells = {
        "experiment": problem(describe_problem(experiment)),
        "n": count(row.n),
        "contender": prose(display_name(contender)),
        "point": BLANK if point is None else Cell(point, f"{point:g}"),
        "seconds": seconds_cell(results, name, contender, row, point),
    }
    if baseline not in ("", contender):
        cells["relative"] = ratio_cell(results, name, row, contender, baseline, CPU)
    if option:
        setting = experiment.contenders[contender].options.get(option)
        shown = Cell(contender, "default") if setting is None else replace(_setting(setting), value=setting)
        cells["contender"] = shown
    group = results.group(name, contender, row.n, point)
    if group.reason:
        absent = missing(group.reason, DASH)
        return cells | dict.fromkeys(("iterations", "kernel_evaluations", "objective"), absent)
    dual = group.median("certificate.dual")
    if dual is None:  # cutting planes report the dual of the relaxed problem
        dual = group.median("certificate.relaxed")
    package = next((run.fields.get("package", "") for run in group.solved), "")
    return cells | {
        "iterations": count(known_count(group.median("iterations"), package)),
        # 0 means that the solver does not report them.
        "kernel_evaluations": count(group.median("kernel_evaluations") or None),
        "work": count(group.median(WORK)),
        "objective": number(dual, digits=8),
        "violation": number(group.median("certificate.max_violation"), digits=2),
        "gap": number(group.median(RELATIVE_GAP), digits=2),
        "performance": number(_performance(group, experiment.measures), digits=4),
    }


def _performance(group: Group, measures: Sequence[str]) -> float | None:
    """Return the first measure on the test set; None without one."""
    return group.median(f"{PERFORMANCE}.{measures[0]}") if measures else None


def _axis_cells(
    results: Results, name: str, label: str, row: SizeRow, axes: Sequence[str]
) -> dict[str, Cell]:
    """Return a contender's settings, its ratio to the first with the same solver, and its cache hits."""
    if not axes:
        return {}
    contenders = results.experiment(name).contenders
    contender = contenders[label]
    kernel = str(results.experiment(name).kernel["name"])
    settings = effective_settings(contender, axes, kernel)
    cells = {f"axis_{axis}": _setting(setting) for axis, setting in settings.items()}
    first = next(other.label for other in contenders.values() if other.solver == contender.solver)
    if label != first:
        cells["ratio"] = ratio_cell(results, name, row, label, first, CPU)
    group = results.group(name, label, row.n)
    hits, misses = group.median(HITS), group.median(MISSES)
    if hits is not None and misses is not None and hits + misses:
        share = hits / (hits + misses)
        cells["hits"] = Cell(share, f"{100 * share:.0f} %")
    return cells


def _setting(value: object) -> Cell:
    """Format a setting; a dash if it has no effect."""
    if value is None:
        return BLANK
    if isinstance(value, bool):
        return prose(("no", "yes")[value])
    return prose(f"{value:g}" if isinstance(value, int | float) else str(value))
