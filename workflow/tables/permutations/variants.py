"""Variants against a baseline over permutations: change in iterations and seconds, with paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from svmrepro.workflow.analysis import paired_contenders
from svmrepro.workflow.analysis.paired_contenders import Family, PermutedProblem
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.statistics import FEWEST_PAIRS, LARGER, SIGNIFICANCE, SMALLER
from svmrepro.workflow.tables.layout.cells import DASH, Cell, count, missing, percent, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of
from svmrepro.workflow.tables.permutations._cells import mean_cell, name_cells, name_columns, p_cells, p_text
from svmrepro.workflow.tables.permutations._notes import load_notes, significance_note, size_notes


class _Quantity(NamedTuple):
    """What a change is of."""

    column: str  # of the measurements
    header: str
    name: str  # in notes
    digits: int  # of a mean
    words: Mapping[str, str]  # for a variant, by the mark of the baseline against it


QUANTITIES = {
    "iterations": _Quantity(
        paired_contenders.ITERATIONS, "iterations", "Iterations", 4, {LARGER: "fewer", SMALLER: "more"}
    ),
    "seconds": _Quantity(CPU, "CPU s", "CPU seconds", 3, {LARGER: "faster", SMALLER: "slower"}),
}
"""Key of the columns -> quantity."""

Families = Mapping[tuple[str, str], Family]


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per data set.

    Settings of the artefact: ``baseline``, ``contenders`` (compared with it) and ``table`` (the paper's file,
    which determines the order of the rows).
    """
    baseline: str = artefact.settings["baseline"]
    contenders: Sequence[str] = artefact.settings["contenders"]
    rows = paired_contenders.problems(results, artefact.experiments, artefact.settings["table"])
    families = {
        (label, key): paired_contenders.family(results, rows, (baseline, label), quantity.column)
        for label in contenders
        for key, quantity in QUANTITIES.items()
    }
    columns = [*name_columns(), Column("permutations", "permutations")]
    columns += [Column(key, each.header, group=display_name(baseline)) for key, each in QUANTITIES.items()]
    for label in contenders:
        for key, quantity in QUANTITIES.items():
            group = f"{display_name(label)}, change"
            name = f"{label}_{key}"
            columns += [
                Column(f"{name}_change", quantity.header, group=group),
                Column(f"{name}_verdict", "verdict", group=group, shown=False),
                Column(f"{name}_p", "p", group=group, shown=False),
                Column(f"{name}_p_holm", "p, Holm", group=group, shown=False),
            ]
    tallies = [
        significance_note(each.name, families[(label, key)], (baseline, label))
        for label in contenders
        for key, each in QUANTITIES.items()
    ]
    notes = [
        f"Means of {display_name(baseline)} are over all its permutations. Change: relative to its mean on "
        'the same permutations; "5 (of 10)" in their column means that changes are over 5 of them.',
        f"Fewer, more, faster, slower: p < {SIGNIFICANCE:g} by Wilcoxon's paired, two-sided signed-rank "
        "test, uncorrected. Below each change: p, and p after Holm's correction over all rows, "
        f"from {FEWEST_PAIRS} pairs on; fewer cannot reach {SIGNIFICANCE:g}.",
        *filter(None, tallies),
        *size_notes(rows, results),
        *load_notes(results, rows, (baseline, *contenders)),
    ]
    body = [_row(results, problem, baseline, families, place) for place, problem in enumerate(rows)]
    return table_of(results, artefact, columns, body, notes=notes)


def _row(
    results: Results, problem: PermutedProblem, baseline: str, families: Families, place: int
) -> dict[str, Cell]:
    cells = name_cells(problem)
    reason = results.why_missing(problem.name, baseline, problem)
    if reason:
        return {**cells, "iterations": missing(reason), "seconds": missing(reason, DASH)}
    group = results.group(problem.name, baseline, problem.n)
    most = max(len(compared.pairings[place].first) for compared in families.values())
    of = f"of {len(group.solved)}" if most < len(group.solved) else ""
    cells["permutations"] = replace(count(most), detail=of)
    for key, quantity in QUANTITIES.items():
        cells[key] = mean_cell(group.values(quantity.column), quantity.digits)
    for (label, key), compared in families.items():
        name, pairing = f"{label}_{key}", compared.pairings[place]
        if not pairing.first:
            absent = results.why_missing(problem.name, label, problem)
            cells[f"{name}_change"] = missing(absent or "not run: no pairs", DASH)
            continue
        test, change = pairing.test, percent(pairing.change)
        pairs, verdict = len(pairing.first), QUANTITIES[key].words.get(test.mark(test.p), "")
        levels = f"p {p_text(test.p)}, Holm {p_text(compared.corrected[place])}"
        said = "" if pairs == most else plural(pairs, "pair")
        if pairs >= FEWEST_PAIRS:
            said = ": ".join(filter(None, [verdict, levels]))
        cells[f"{name}_change"] = Cell(change.value, change.text, detail=said)
        cells[f"{name}_verdict"] = prose(verdict)
        cells |= p_cells(compared, place, name)
    return cells
