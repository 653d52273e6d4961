"""What differs from the paper, and why."""

from __future__ import annotations

from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.tables.layout.cells import prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of

KEYS = ("where", "paper", "here", "because")

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
    listed = artefact.settings.get("deviations")
    if not isinstance(listed, (list, tuple)) or not listed:
        raise StepError(f"artefact '{artefact.name}': deviations: a list expected")
    for place, entry in enumerate(listed, 1):
        if not isinstance(entry, dict) or set(entry) != set(KEYS) or not all(map(_is_text, entry.values())):
            raise StepError(
                f"artefact '{artefact.name}': deviations: entry {place}: texts {', '.join(KEYS)} expected"
            )
    rows = [{key: prose(entry[key]) for key in KEYS} for entry in listed]
    notes = ["A verdict on a sentence that a deviation touches should be read with it."]
    return table_of(results, artefact, COLUMNS, rows, notes=notes)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
