"""What differs from the paper, and why."""

from __future__ import annotations

from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of

COLUMNS = (
    Column("where", "where", prose=True),
    Column("paper", "the paper", prose=True, paper=True),
    Column("here", "here", prose=True),
    Column("because", "why", prose=True),
)


def build(results: Results, artefact: Artefact) -> Table:
    """List the deviations, one a line.

    Setting of the artefact: ``deviations``, a list of mappings with the texts ``where`` (the experiments or
    settings that are affected), ``paper``, ``here`` and ``because``.
    """
    rows = [{key: prose(text) for key, text in entry.items()} for entry in artefact.settings["deviations"]]
    notes = ["A verdict on a sentence that a deviation touches should be read with it."]
    return table_of(results, artefact, COLUMNS, rows, notes=notes)
