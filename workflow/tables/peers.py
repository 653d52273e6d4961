"""Solvers of this project and others on the same problems: seconds, certificates, packages.

Also the main table of ``./run bench``.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from svmrepro.solvers import SOLVERS, registry
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU, NOT_INSTALLED, RELATIVE_GAP
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.benchmarks import reached
from svmrepro.workflow.tables.layout.cells import BLANK, DASH, Cell, missing, number, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, table_of
from svmrepro.workflow.tables.layout.size_rows import flag_notes, ratio_cell, seconds_cell, size_cell

_BOUNDED = {
    registry.KKT: "the KKT violation",
    registry.GAP: "the duality gap over n C",
    registry.RELATIVE_GAP: "the relative duality gap",
}
"""Promise of a solver -> what its tolerance bounds."""


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per contender and experiment, then one per contender with its package and version.

    Setting of the artefact: ``baseline``, the contender to whose seconds the others' are compared.
    """
    baseline: str = artefact.settings["baseline"]
    names = artefact.experiments
    relative = f"relative to {display_name(baseline)}"
    rows = [
        _row(results, name, label, baseline)
        for name in names
        for label in results.experiment(name).contenders
    ]
    columns = [
        Column("experiment", "problem", prose=True),
        Column("contender", "solver", prose=True),
        Column("n", "n"),
        Column("seconds", "CPU seconds"),
        Column("ratio", relative),
        Column("gap", "relative duality gap", group="certificate"),
        Column("violation", "largest KKT violation", group="certificate"),
        Column("memory", "peak memory", "MB"),
        Column("beyond", "at the next size", prose=True, shown=any(row["beyond"] != BLANK for row in rows)),
        Column("package", "package", prose=True, shown=False),
    ]
    twice = {"libsvm-dense", "libsvm-sparse"} <= {
        label for name in names for label in results.experiment(name).contenders
    }
    notes = [
        "Medians over the repeats at the largest size that the solver reached within its time limit, with "
        "the 95 % interval; ratios are medians of ratios within one process, at that size. The certificate "
        "is recomputed from the data, for every solver alike. Peak memory: what a run adds to the process, "
        "with its caches, but without the examples; the largest of the repeats.",
        _promises(results, names),
        *(
            ["LIBSVM has two rows by scikit-learn, for its dense and sparse code; the faster one counts."]
            if twice
            else []
        ),
        *flag_notes(results, names),
    ]
    return table_of(
        results, artefact, columns, rows, _solvers(results, names, relative, baseline), notes=notes
    )


def _promises(results: Results, names: Sequence[str]) -> str:
    """Say what the tolerance bounds, which is not the same for all solvers."""
    found: dict[str, list[str]] = {}
    contenders = [each for name in names for each in results.experiment(name).contenders.values()]
    for label, solver in {each.label: each.solver for each in contenders}.items():
        promise = SOLVERS[solver].promise if solver in SOLVERS else registry.KKT
        found.setdefault(promise, []).append(display_name(label))
    if found.keys() <= {registry.KKT}:
        return (
            "All solvers bound the KKT violation, not the gap: where the optimum is tiny, the "
            "relative gap is large within the tolerance."
        )
    said = "; ".join(f"{_BOUNDED[promise]} ({', '.join(labels)})" for promise, labels in found.items())
    return f"The tolerance does not bound the same for all, so compare the gaps, too. It bounds {said}."


def packages(results: Results, label: str) -> Sequence[str]:
    """Return name and version of each package in which a contender's solver was measured."""
    runs = [run for run in results.runs.runs if run.contender == label and run.status != "not_run"]
    return [*dict.fromkeys(package for run in runs if (package := run.fields.get("package", "")))]


def _row(results: Results, name: str, label: str, baseline: str) -> Mapping[str, Cell]:
    row = reached(results, name, label)
    absent = results.why_missing(name, label, row)
    group = results.group(name, label, row.n)
    larger = [n for n in results.experiment(name).sizes if row.n is not None and n > row.n]
    beyond = results.group(name, label, larger[0]).briefly if larger and not absent else ""
    peak = max(group.values("peak_memory_bytes"), default=None)
    return {
        "experiment": prose(results.experiment(name).title),
        "contender": prose(display_name(label)),
        "n": missing(absent, DASH) if absent else size_cell(row),
        "seconds": seconds_cell(results, name, label, row),
        "ratio": BLANK if label == baseline else ratio_cell(results, name, row, label, baseline, CPU),
        "gap": number(group.median(RELATIVE_GAP), digits=2),
        "violation": number(group.median("certificate.max_violation"), digits=2),
        "memory": number(None if peak is None else peak / 1e6),
        "beyond": prose(f"n = {larger[0]:,}: {beyond}") if beyond else BLANK,
        "package": prose(", ".join(packages(results, label))),
    }


def _solvers(results: Results, names: Sequence[str], relative: str, baseline: str) -> TableSection:
    columns = [
        Column("contender", "solver", prose=True),
        Column("description", "what it is", prose=True),
        Column("package", "package", prose=True),
        Column("solved", "problems solved at full size"),
        Column("ratio", f"median over these, {relative}"),
    ]
    labels = dict.fromkeys(label for name in names for label in results.experiment(name).contenders)
    return TableSection(
        columns, [_solver(results, names, label, baseline) for label in labels], "Solvers and packages"
    )


def _solver(results: Results, names: Sequence[str], label: str, baseline: str) -> Mapping[str, Cell]:
    mine = [name for name in names if label in results.experiment(name).contenders]
    solver = results.experiment(mine[0]).contenders[label].solver
    spec = SOLVERS.get(solver)
    full = {name: max(results.experiment(name).sizes) for name in mine}
    solved = [name for name in mine if results.group(name, label, full[name]).solved]
    found = [results.ratio(name, full[name], label, baseline, CPU) for name in solved]
    ratios = [ratio.value for ratio in found if ratio is not None]
    cells = {
        "contender": prose(display_name(label)),
        "description": prose(spec.description if spec else solver),
        "package": _package(results, label, spec is not None and not spec.package),
        "solved": Cell(len(solved), f"{len(solved)} of {len(mine)}"),
    }
    if label != baseline and ratios:
        cells["ratio"] = number(statistics.median(ratios))
    return cells


def _package(results: Results, label: str, ours: bool) -> Cell:
    """Return the cell of a solver's package, or how to get it."""
    runs = [run for run in results.runs.runs if run.contender == label]
    absent = next((run.fields.get("reason", "") for run in runs if run.status == "not_run"), "")
    if found := packages(results, label):
        return prose(", ".join(found))
    if NOT_INSTALLED.match(absent):
        return missing(absent)
    return prose("this project") if ours else BLANK
