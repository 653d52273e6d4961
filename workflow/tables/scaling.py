"""Scaling table: exponents of time and of counted work for every experiment, compared with the paper's."""

from __future__ import annotations

from collections.abc import Mapping

from svmrepro.workflow.analysis.fits import exponent_of_ratios
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.statistics import FEWEST_SIZES, Interval
from svmrepro.workflow.tables.layout.cells import Cell, exponent
from svmrepro.workflow.tables.layout.exponents import (
    exponent_columns,
    exponent_notes,
    exponent_section,
    fit_cells,
)
from svmrepro.workflow.tables.layout.model import Column, Table, table_of


def build(results: Results, artefact: Artefact) -> Table:
    """Build the table of the experiments that the paper fits too, and below it of the other contenders.

    If the paper times nothing, the table covers all experiments, without the paper's columns.
    """
    names = results.shared(artefact.experiments)
    rows: list[Mapping[str, Cell]] = []
    for name in names:
        for contender in results.main(name):
            cells = {**fit_cells(results, name, contender), "apart": exponent(_apart(results, name))}
            fitted = results.shown_exponent(name, contender, CPU)
            said = results.numbers.exponent(name, contender)
            if fitted is not None and said is not None:
                difference = fitted.value - said
                cells["difference"] = Cell(difference, f"{difference:+z.2f}")
            rows.append(cells)
    *columns, points = exponent_columns(rows)
    if any("difference" in row for row in rows):
        columns.append(Column("difference", "measured − printed"))
    columns += [Column("apart", "second solver − first"), points]
    notes = [
        "Each exponent is the slope of the least-squares line through the logarithms of the medians; "
        "its 95 % interval is an expanded percentile bootstrap over repeats and residuals (residuals "
        "only, for single runs and for counts that do not vary).",
        "Counted work is the number of vector components and Hessian entries touched: exact, equal on every "
        "machine, and unaffected by caches.",
        "The difference of the two solvers is the exponent of the ratios of their seconds, at the sizes that "
        "both have.",
        *exponent_notes(results, artefact.experiments),
    ]
    return table_of(results, artefact, columns, rows, exponent_section(results, tuple(names)), notes=notes)


def _apart(results: Results, name: str) -> Interval | None:
    """Return the exponent of the second of two contenders minus that of the first; None if not shown."""
    labels = [label for label in results.main(name) if results.shown_exponent(name, label, CPU) is not None]
    found = exponent_of_ratios(results.runs, name, labels[::-1], CPU) if len(labels) == 2 else None
    return found[0] if found and len(found[1]) >= FEWEST_SIZES else None
