"""Memory traffic of solvers: bytes moved, compared with the time to copy as many bytes."""

from __future__ import annotations

from collections.abc import Mapping

from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.tables.layout.cells import Cell, count, median, missing, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of

BYTES, BANDWIDTH = "info.bytes_moved", "info.copy_bandwidth"

COLUMNS = (
    Column("experiment", "data set", prose=True),
    Column("n", "n"),
    Column("solver", "solver", prose=True),
    Column("seconds", "CPU seconds"),
    Column("gigabytes", "moved", "GB"),
    Column("bandwidth", "copy speed", "GB/s"),
    Column("copy_seconds", "seconds to copy as many bytes"),
    Column("ratio", "CPU seconds / copy seconds"),
)


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per data set, size and contender.

    Settings of the artefact: ``contenders``, solvers that count the bytes they move.
    """
    rows = [
        _row(results, name, label, row.n)
        for name in artefact.experiments
        for row in results.rows(name)
        if row.n is not None
        for label in artefact.settings["contenders"]
        if label in results.experiment(name).contenders
    ]
    notes = [
        "Medians over the runs. Moved: bytes of gradient, kernel rows and examples that the solver reads "
        "and writes, caches ignored. Copy speed: bytes read and written per second by a copy of 64 MiB "
        "in the same process.",
        "A ratio below 1 means that most of the bytes never left the caches.",
    ]
    return table_of(results, artefact, COLUMNS, rows, notes=notes)


def _row(results: Results, name: str, label: str, n: int) -> Mapping[str, Cell]:
    cells = {
        "experiment": prose(results.experiment(name).title),
        "n": count(n),
        "solver": prose(display_name(label)),
    }
    group = results.group(name, label, n)
    found = [
        (seconds, moved, speed)
        for run in group.timed
        if (seconds := run.number("cpu_seconds"))
        and (moved := run.number(BYTES))
        and (speed := run.number(BANDWIDTH))
    ]
    if not found:
        return {**cells, "seconds": missing(group.untimed or "not counted")}
    columns = {
        "seconds": [seconds for seconds, _, _ in found],
        # Byte counts are valid even for runs whose seconds are doubtful.
        "gigabytes": [moved / 1e9 for run in group.solved if (moved := run.number(BYTES))],
        "bandwidth": [speed / 1e9 for _, _, speed in found],
        "copy_seconds": [moved / speed for _, moved, speed in found],
        "ratio": [seconds * speed / moved for seconds, moved, speed in found],
    }
    return cells | {key: median(values) for key, values in columns.items()}
