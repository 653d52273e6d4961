"""Our encoding of the raw Adult file compared with the LIBSVM file in circulation, by attribute."""

from __future__ import annotations

from svmrepro import datasets
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import one_line
from svmrepro.workflow.tables.layout.cells import count, missing, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection

COLUMNS = (
    Column("part", "files", prose=True),
    Column("attribute", "attribute", prose=True),
    Column("columns_ours", "ours", group="binary columns"),
    Column("columns_a9a", "LIBSVM's", group="binary columns"),
    Column("rows", "all", group="rows"),
    Column("rows_agreeing", "identical", group="rows"),
    Column("note", "encoding", prose=True),
)


def build(results: Results, artefact: Artefact) -> Table:
    """Build the comparison, or a single line with the reason if the files are unavailable.

    Setting of the artefact: ``dataset``; with it, no measurements are needed.
    """
    try:
        compared = datasets.compare_encoding(results.config.data_dir, results.config.mirror)
    except datasets.DatasetUnavailable as error:
        lacking = {"part": missing(f"not run: {one_line(error)}")}
        return Table(artefact.title, (TableSection(COLUMNS, [lacking]),), artefact.caption)
    rows = [
        {
            column.key: prose(str(line[column.key])) if column.prose else count(int(line[column.key]))
            for column in COLUMNS
        }
        for line in compared
    ]
    notes = [
        "Row i of LIBSVM's file is row i of the raw one. Identical: all bits of the attribute agree.",
        "A column of LIBSVM's counts where it occurs in its file: a test file lacks a few categories.",
    ]
    return Table(artefact.title, (TableSection(COLUMNS, rows),), artefact.caption, notes)
