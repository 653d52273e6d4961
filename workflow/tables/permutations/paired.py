"""Two contenders over permutations: mean seconds, mean iterations and objectives, with paired tests."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from svmrepro.workflow.analysis import paired_contenders
from svmrepro.workflow.analysis.paired_contenders import Family, PermutedProblem
from svmrepro.workflow.analysis.printed_numbers import snake
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import LARGER, SIGNIFICANCE, SMALLER
from svmrepro.workflow.tables.layout.cells import Cell, count, missing, percent, printed, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, absent_last, table_of
from svmrepro.workflow.tables.permutations._cells import mean_cell, name_cells, name_columns, p_cells
from svmrepro.workflow.tables.permutations._notes import load_notes, significance_note, size_notes

QUANTITIES = {
    "seconds": (CPU, "CPU seconds", 3),
    "iterations": (paired_contenders.ITERATIONS, "iterations", 4),
}
"""Key of the columns -> column of the measurements, header, digits of a mean."""

HEADINGS = {"seconds": "CPU seconds", "iterations": "Iterations", "objective": "Dual objectives"}
"""Key of the columns -> heading of the section that shows them; the CSV has all in one line."""


def build(results: Results, artefact: Artefact) -> Table:
    """Build a section per quantity, with one line per data set.

    Settings of the artefact: ``contenders`` (the baseline and its challenger), ``table`` (the paper's file
    with the columns ``<contender>_seconds``, ``<contender>_iterations`` and ``<quantity>_significant``) and
    ``printed`` (the contenders whose columns of that file are shown; by default the same two).
    """
    contenders: Sequence[str] = artefact.settings["contenders"]
    table = artefact.settings["table"]
    rows = paired_contenders.problems(results, artefact.experiments, table)
    families = {
        key: paired_contenders.family(results, rows, contenders, column)
        for key, (column, _, _) in QUANTITIES.items()
    }
    families["objective"] = paired_contenders.family(results, rows, contenders, paired_contenders.DUAL)
    beside: Sequence[str] = artefact.settings.get("printed", contenders)
    body = [
        _row(results, problem, contenders, families, place) | _paper_cells(results, problem, table, beside)
        for place, problem in enumerate(rows)
    ]
    notes = [
        *_notes(families, contenders),
        _paper_note(results, table),
        *size_notes(rows, results),
        *load_notes(results, rows, contenders),
    ]
    columns = _columns(contenders, beside)
    ordered = absent_last(columns, body)
    first, *more = (TableSection(_about(columns, key), ordered, heading) for key, heading in HEADINGS.items())
    return table_of(results, artefact, first.columns, ordered, *more, notes=notes, heading=first.heading)


def _about(columns: Sequence[Column], key: str) -> list[Column]:
    """Return the columns, of which readers see the names and those of one quantity."""
    names = {"experiment", "n", "pairs"}
    return [replace(each, shown=each.shown and (each.key in names or key in each.key)) for each in columns]


def _columns(contenders: Sequence[str], beside: Sequence[str]) -> list[Column]:
    names = [display_name(label) for label in contenders]
    columns = [*name_columns(), Column("pairs", "pairs"), Column("pairs_timed", "pairs timed", shown=False)]
    for key, (_, header, _) in QUANTITIES.items():
        group = f"mean {header}"
        columns += [
            Column(f"{contenders[0]}_{key}", names[0], group=group),
            Column(f"{key}_mark", "test", group=group, prose=True, short=True),
            Column(f"{contenders[1]}_{key}", names[1], group=group),
            Column(f"{key}_change", "change", group=group),
            Column(f"{key}_p", "p", group=group),
            Column(f"{key}_p_holm", "p, Holm", group=group, shown=False),
        ]
    group = f"dual objective of {names[1]}"
    columns += [
        Column("objective", "pairs", group=group, prose=True),
        Column("objective_higher", "higher", group=group, shown=False),
        Column("objective_lower", "lower", group=group, shown=False),
        Column("objective_difference", "median difference", group=group),
        Column("objective_mark", "verdict", group=group, prose=True, short=True),
        Column("objective_p", "p", group=group),
        Column("objective_p_holm", "p, Holm", group=group, shown=False),
    ]
    for key, (_, header, _) in QUANTITIES.items():
        group = f"{header}, paper"
        first, second = (
            Column(f"paper_{label}_{key}", display_name(label), group=group, paper=True) for label in beside
        )
        test = Column(f"paper_{key}_mark", "test", group=group, paper=True, prose=True, short=True)
        columns += [first, test, second]
    return columns


def _row(
    results: Results,
    problem: PermutedProblem,
    contenders: Sequence[str],
    families: Mapping[str, Family],
    place: int,
) -> dict[str, Cell]:
    cells = name_cells(problem)
    pairing = families["iterations"].pairings[place]
    if not pairing.first:
        reason = results.why_any_missing(problem.name, contenders, problem) or "not run: no pairs"
        cells[f"{contenders[0]}_seconds"] = missing(reason)
        cells[f"{contenders[0]}_iterations"] = missing(reason)
        return cells
    permutations = len(results.experiment(problem.name).seeds)
    made, timed = len(pairing.first), len(families["seconds"].pairings[place].first)
    fewer = [f"of {permutations}"] if made < permutations else []
    fewer += [f"{timed} for seconds"] if timed < made else []
    cells["pairs"] = Cell(made, f"{made:,}", detail=", ".join(fewer))
    cells["pairs_timed"] = count(timed)
    for key, (_, _, digits) in QUANTITIES.items():
        found = families[key].pairings[place]
        for label, values in zip(contenders, (found.first, found.second), strict=True):
            cells[f"{label}_{key}"] = mean_cell(values, digits)
        cells[f"{key}_change"] = percent(found.change)
        cells[f"{key}_mark"] = prose(found.test.mark(found.test.p))
        cells |= p_cells(families[key], place, key)
    return cells | _objective_cells(families["objective"], place)


def _objective_cells(compared: Family, place: int) -> dict[str, Cell]:
    """Return the cells of the objectives. The mark is a word, because a higher objective is better."""
    pairing = compared.pairings[place]
    if not pairing.first:  # no dual objective is known of cutting planes
        return {}
    test = pairing.test
    difference = statistics.median(
        (b - a) / abs(a) for a, b in zip(pairing.first, pairing.second, strict=True)
    )
    sign = "+" if difference > 0 else ""
    return {
        **p_cells(compared, place, "objective"),
        "objective": prose(f"{test.smaller} higher, {test.larger} lower"),
        "objective_higher": count(test.smaller),
        "objective_lower": count(test.larger),
        "objective_difference": Cell(difference, f"{sign}{significant(difference, 2)}"),
        "objective_mark": prose({LARGER: "worse", SMALLER: "better"}.get(test.mark(test.p), "")),
    }


def _paper_cells(
    results: Results, problem: PermutedProblem, table: str, contenders: Sequence[str]
) -> dict[str, Cell]:
    said = partial(results.numbers.text, table, problem.name, problem.n_printed)
    cells = {}
    for key in QUANTITIES:
        for label in contenders:
            cells[f"paper_{label}_{key}"] = printed(said(f"{snake(label)}_{key}"))
        cells[f"paper_{key}_mark"] = prose(LARGER if said(f"{key}_significant") == "yes" else "")
    return cells


def _notes(families: Mapping[str, Family], contenders: Sequence[str]) -> list[str]:
    objective = families["objective"]
    marks, held = objective.marks(), objective.marks(corrected=True)
    notes = [
        "Means over the permutations with 95 % intervals; both contenders solved each of them side by side. "
        f"{LARGER}: the left one is mostly larger, p < {SIGNIFICANCE:g} by Wilcoxon's paired, two-sided "
        "signed-rank test, uncorrected as in the paper. Below each p: after Holm's correction over all rows. "
        "Pairs that met other load on the machine count for seconds only where there are no others.",
        significance_note("Iterations", families["iterations"], contenders),
        significance_note("CPU seconds", families["seconds"], contenders),
        f"Dual objective of {display_name(contenders[1])}: significantly higher (better) on "
        f"{marks.count(SMALLER)} of {objective.tested} data sets, lower on {marks.count(LARGER)}; after "
        f"Holm's correction {held.count(SMALLER)} and {held.count(LARGER)}. The difference is the median of "
        "(second - first) / first.",
    ]
    return list(filter(None, notes))


def _paper_note(results: Results, table: str) -> str:
    numbers = results.numbers
    names = numbers.experiments(table)
    rows = [(name, n) for name in names for n in numbers.sizes(name, table)]
    seconds, iterations = (
        sum(numbers.text(table, *row, f"{key}_significant") == "yes" for row in rows) for key in QUANTITIES
    )
    machine = f" (on a {numbers.machine})" if numbers.machine else ""
    return (
        f"The paper{machine} marks a significant difference in iterations on {iterations} of {len(names)} "
        f"data sets, in seconds on {seconds}."
    )
