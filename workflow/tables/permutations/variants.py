"""Variants against a baseline over permutations: change in iterations and seconds, with paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svmrepro.workflow.analysis.intervals import mean_interval
from svmrepro.workflow.analysis.paired_tests import LARGER, LEVEL, SMALLER
from svmrepro.workflow.analysis.permutations import (
    ITERATIONS,
    Family,
    PermutedProblem,
    family,
    load_notes,
    p_text,
    problems,
    size_notes,
    tally,
    why_missing,
)
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.model import BLANK, DASH, Cell, Column, Table, missing, percent, table_of
from svmrepro.workflow.tables.permutations.cells import mean_cell, name_cells, name_columns

QUANTITIES = {
    "iterations": (ITERATIONS, "iterations", "Iterations"),
    "seconds": (CPU, "CPU s", "CPU seconds"),
}
"""Key of the columns -> column of the measurements, header, name in notes."""

WORDS = {
    "iterations": {LARGER: "fewer", SMALLER: "more"},
    "seconds": {LARGER: "faster", SMALLER: "slower"},
}
"""Key of the columns -> mark of the baseline against a variant -> comparative for the variant."""

Families = Mapping[tuple[str, str], Family]


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per data set.

    Settings of the artefact: ``baseline``, ``contenders`` (compared with it) and ``table`` (the paper's file,
    which determines the order of the rows).
    """
    baseline: str = artefact.settings["baseline"]
    contenders: Sequence[str] = artefact.settings["contenders"]
    rows = problems(results, artefact.experiments, artefact.settings["table"])
    families = {
        (label, key): family(results, rows, (baseline, label), column)
        for label in contenders
        for key, (column, _, _) in QUANTITIES.items()
    }
    columns = [*name_columns(), Column("iterations", "iterations", group=display_name(baseline))]
    columns.append(Column("seconds", "CPU s", group=display_name(baseline)))
    for label in contenders:
        for key, (_, header, _) in QUANTITIES.items():
            group = f"{display_name(label)}, change"
            name = f"{label}_{key}"
            columns += [
                Column(f"{name}_change", header, group=group),
                Column(f"{name}_verdict", "", group=group),
                Column(f"{name}_p", "p", group=group, shown=False),
                Column(f"{name}_p_holm", "p, Holm", group=group, shown=False),
            ]
    body = [
        _row(results, problem, baseline, contenders, families, place) for place, problem in enumerate(rows)
    ]
    return table_of(
        results,
        artefact,
        columns,
        body,
        notes=[
            *_notes(families, baseline, contenders),
            *size_notes(rows, results),
            *load_notes(results, rows, (baseline, *contenders)),
        ],
    )


def _notes(families: Families, baseline: str, contenders: Sequence[str]) -> list[str]:
    said = [
        tally(name, families[(label, key)], (baseline, label))
        for label in contenders
        for key, (_, _, name) in QUANTITIES.items()
    ]
    return [
        f"Means over the permutations. Change: relative to the mean of {display_name(baseline)} on the same "
        f"permutations. Fewer, more, faster, slower: p < {LEVEL:g} by Wilcoxon's paired, two-sided "
        "signed-rank test, uncorrected. Below each change: p, and p after Holm's correction over all rows.",
        *filter(None, said),
    ]


def _row(
    results: Results,
    problem: PermutedProblem,
    baseline: str,
    contenders: Sequence[str],
    families: Families,
    place: int,
) -> dict[str, Cell]:
    cells = name_cells(problem)
    reason = why_missing(results, problem, baseline)
    if reason:
        return {**cells, "iterations": missing(reason), "seconds": missing(reason, DASH)}
    group = results.group(problem.name, baseline, problem.n)
    for key, (column, _, _) in QUANTITIES.items():
        values = group.values(column)
        cells[key] = mean_cell(mean_interval(values) if values else None, 4 if key == "iterations" else 3)
    for label in contenders:
        absent = why_missing(results, problem, label)
        for key in QUANTITIES:
            name = f"{label}_{key}"
            found = families[(label, key)]
            pairing, corrected = found.pairings[place], found.corrected[place]
            if not pairing.first:
                cells[f"{name}_change"] = missing(absent or "not run: no pairs", DASH)
                continue
            test = pairing.test
            change = percent(pairing.change)
            cells[f"{name}_change"] = Cell(
                change.value, change.text, detail=f"p {p_text(test.p)}, Holm {p_text(corrected)}"
            )
            word = WORDS[key].get(test.mark(test.p), "")
            cells[f"{name}_verdict"] = Cell(word, word)
            cells[f"{name}_p"] = BLANK if test.p is None else Cell(test.p, p_text(test.p))
            cells[f"{name}_p_holm"] = BLANK if corrected is None else Cell(corrected, p_text(corrected))
    return cells
