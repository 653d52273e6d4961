"""Reading measurements, each of which is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.json import Decoder
from svmrepro.workflow.analysis.runs import IDENTITY, MeasuredRun, Runs
from svmrepro.workflow.journal.journal_line import MOST_COUNTED, STATUSES
from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.result_files.field_types import FieldType, Kind
from svmrepro.workflow.result_files.measurement_columns import BOOLEAN, FIELDS, FLOAT, INTEGER
from svmrepro.workflow.result_files.result_rows import every, read_rows

_MOST_BINS = 200  # of histograms; there are far fewer
_Amount = Annotated[float, Meta(ge=0, le=field_types.MOST)]


class _Cell(Struct):
    """One cell of ``info.cells``."""

    C: _Amount
    gamma: _Amount
    status: str
    cpu_seconds: _Amount
    iterations: Annotated[int, Meta(ge=0, le=MOST_COUNTED)]


def _json(form: Any) -> Kind:
    """Return the kind of a field that holds JSON of a form, or nothing."""
    decoder = Decoder(form)
    return field_types.optional(decoder.decode)


_LENGTHS = _json(Annotated[list[Annotated[int, Meta(ge=0, le=10**15)]], Meta(max_length=_MOST_BINS)])

REQUIRED = ("experiment", "contender", "n", "status", "repeat", "flagged")
"""Columns that measurements must have."""

_COUNT, _NUMBER, _SECONDS, _NAME = map(
    field_types.optional, (field_types.count, field_types.number, field_types.seconds, field_types.name)
)
_FLAG = field_types.optional(field_types.flag)
_OF_TYPE = {INTEGER: _COUNT, FLOAT: _NUMBER, BOOLEAN: _FLAG}
_TOP = {name: field.type for name, field in FIELDS.items() if "." not in name}
_COLUMN_KINDS: Mapping[str, Kind] = {
    **{name: _OF_TYPE[type_] for name, type_ in _TOP.items() if type_ in _OF_TYPE},
    **dict.fromkeys(("experiment", "contender"), field_types.name),
    **dict.fromkeys(("paper", "scale", "machine.commit"), _NAME),
    "n": field_types.size,
    "repeat": field_types.count,
    "status": field_types.one_of(STATUSES),
    "flagged": field_types.flag,
    "certificate.passed": _FLAG,
    "time": field_types.date,
    **dict.fromkeys(("certificate.n_bound", "certificate.n_nonbound"), _COUNT),
    **dict.fromkeys(("cpu_seconds", "wall_seconds", "load_before", "load_after"), _SECONDS),
    "machine.memory_bytes": _SECONDS,
    **dict.fromkeys(("certificate.dual", "certificate.primal", "certificate.gap"), _NUMBER),
    **dict.fromkeys(("certificate.max_violation", "certificate.pair_gap"), _NUMBER),
    **dict.fromkeys(("certificate.equality_residual", "certificate.relaxed"), _NUMBER),
    # Certificates of later versions may have more fields.
    "noise.steal": _SECONDS,
    "info.cells": _json(list[_Cell]),
    "info.trace": _json(list[tuple[_Amount | None, float | None]]),
    **dict.fromkeys(("info.plain_lengths", "info.planned_lengths"), _LENGTHS),
    **dict.fromkeys(("machine", "certificate", "noise", "protocol"), field_types.words),
}
"""Column of the measurements, or the group of nested ones before the dot -> kind; others are any text."""


def _kind(column: str) -> Kind | None:
    return _COLUMN_KINDS.get(column) or _COLUMN_KINDS.get(column.partition(".")[0])


FORM = FieldType(_kind, ("paper", *IDENTITY))
"""Requirements on the rows of measurements."""


def read_runs(files: Iterable[Path], wanted: Callable[[str], bool] = every) -> Runs:
    """Read measurements, as CSV or Parquet; an impossible one, or a run twice, raises a StepError.

    Columns that are not ``wanted`` are left out, unread and unchecked.
    """
    rows = (row for path in files for row in read_rows(path, REQUIRED, FORM, wanted))
    return Runs(tuple(map(MeasuredRun, rows)))
