"""Measurements of an experiment, each with the line of JSON that it came from.

A run's folder has the lines themselves (the current ones in ``<experiment>/runs/``, all in the journal). A
committed or packed run has their fields in ``measurements.parquet``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from svmrepro.workflow.analysis.curves import AXES
from svmrepro.workflow.analysis.results import display_name
from svmrepro.workflow.analysis.run_files import FORM
from svmrepro.workflow.analysis.runs import UNREPORTED, known_count
from svmrepro.workflow.configuration.typed_data import T
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.figures.style import contender_looks
from svmrepro.workflow.journal.journal_line import shown
from svmrepro.workflow.number_text import separated
from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.result_files.measurement_columns import LABELS

IDENTITY = ("run_id", "row", "contender", "seed", "point", "repeat")
"""Fields that identify a line of the journal."""

QUANTITIES = (
    *("cpu_seconds", "iterations", "kernel_evaluations"),
    *("certificate.dual", "certificate.gap", "certificate.max_violation"),
    *("certificate.n_nonbound", "certificate.n_bound"),
    *("peak_memory_bytes", "noise.steal", "noise.frequency_mhz"),
)
"""Numbers of a measurement that the site lists and plots."""

POINTS = {"C": "C", "C_total": "C", "eps": "ε"}
"""Axis of an experiment -> name of its points."""

_FIXED = ("contender", "n", "point", "seed", "repeat", "status", "reason", "flagged")

_OTHER = (
    *("noise.frequency_mhz", "noise.throttled_seconds", "noise.cgroup_cpus"),
    *("noise.cgroup_memory_bytes", "noise.instructions"),
)
"""Numbers that are any text in `FORM`."""

_TYPES: Mapping[str, Any] = {
    "n": int,
    **dict.fromkeys(("contender", "status"), str),
    **dict.fromkeys(("machine", "certificate", "noise"), dict | None),
    **dict.fromkeys(("seed", "repeat"), int | None),
    **dict.fromkeys(("flagged", "certificate.passed"), bool | None),
    **dict.fromkeys(("reason", "flag_reason", "machine.commit", "time"), str | None),
    **dict.fromkeys(
        ("point", "peak_memory_bytes", "load_before", "machine.memory_bytes", *QUANTITIES, *_OTHER),
        float | int | None,
    ),
}
"""Type of each field of a line that the site uses."""

_FIELD_KINDS = {name: FORM.kind_of(name) for name in _TYPES} | dict.fromkeys(_OTHER, field_types.number)
"""Kinds of these fields."""


@dataclass(frozen=True)
class Record:
    """One measurement: the values to list, and the line that they came from."""

    n: int
    contender: str
    point: float | None
    seed: int | None
    repeat: int | None
    status: str
    reason: str  # why there is no result, or ""
    flagged: str  # why, or ""
    numbers: Mapping[str, float | None]  # by the names of `QUANTITIES`
    fields: Mapping[str, Any]  # the line, parsed
    line: str
    place: str  # file and number of the line

    def row(self) -> list[Any]:
        """Return the values as a row, in the order of `columns`."""
        fixed = [getattr(self, name) for name in _FIXED]
        return [*fixed, *(self.numbers.get(name) for name in QUANTITIES)]


def columns(axis: str = "") -> list[dict[str, str]]:
    """Return key and header of each column of `Record.row`; a point is a value of the experiment's axis."""
    headers = LABELS | {"flagged": "flagged for", "point": POINTS.get(axis, "point")}
    return [{"key": key, "header": headers.get(key, key)} for key in (*_FIXED, *QUANTITIES)]


def run_records(folder: Path, paper: str, experiment: str) -> list[Record]:
    """Return the measurements of an experiment of a run's folder; empty if it has none."""
    journal = folder / "journal" / paper / f"{experiment}.jsonl"
    places = {
        _identity(line): f"{journal.relative_to(folder)}:{number}" for number, _, line in _lines(journal)
    }
    found = []
    for path in sorted((folder / paper / experiment / "runs").glob("*.jsonl")):
        for number, text, line in _lines(path):
            place = places.get(_identity(line), f"{path.relative_to(folder)}:{number}")
            found.append(_record(line, text, place))
    return sorted(found, key=lambda record: (record.n, record.point or 0.0))


def packed_records(folder: Path, paper: str) -> dict[str, list[Record]]:
    """Return a paper's measurements in its Parquet file, by experiment; empty if there is none.

    A record's line has the fields of the journal's line, nested as there.
    """
    path = folder / paper / "measurements.parquet"
    found: defaultdict[str, list[Record]] = defaultdict(list)
    if not path.is_file():
        return found
    from svmrepro.workflow.result_files.parquet import read_table  # heavy, and needed for such folders only

    for row, fields in enumerate(read_table(path).to_pylist(), 1):
        try:
            field_types.check("experiment", experiment := str(fields.get("experiment")), field_types.slug)
            line = _nest({key: value for key, value in fields.items() if value is not None})
            text = json.dumps(line, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StepError(f"{path}: row {row}: {one_line(error)}") from None
        found[experiment].append(_record(line, text, f"{paper}/measurements.parquet, row {row:,}"))
    return found


def script(records: Sequence[Record], axis: str = "") -> str:
    """Return the records as a classic script: modules and requests do not work from disk.

    A line that several records share is stored once.
    """
    lines: dict[tuple[str, str], int] = {}
    rows = [[*record.row(), lines.setdefault((record.place, record.line), len(lines))] for record in records]
    names = {record.contender: display_name(record.contender) for record in records}
    places = [[place, text] for place, text in lines]
    looks = {label: [look.colour, look.marker] for label, look in contender_looks(names).items()}
    content = {"columns": columns(axis), "rows": rows, "lines": places, "names": names, "looks": looks}
    content["axis"] = AXES.get(axis, "")
    # Nothing may look like the end of a script element.
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    return f"window.svmreproRecords = {text};\n"


def _record(line: Mapping[str, Any], text: str, place: str) -> Record:
    for name, type_ in _TYPES.items():
        value = nested(line, name)
        if not isinstance(value, type_):
            raise StepError(f"{place}: {name} is {shown(value)}")
        if isinstance(value, str | float | int) and (kind := _FIELD_KINDS[name]):
            try:
                field_types.check(name, str(value), kind)
            except ValueError as error:
                raise StepError(f"{place}: {error}") from None
    return Record(
        n=line["n"],
        contender=line["contender"],
        point=line.get("point"),
        seed=line.get("seed"),
        repeat=line.get("repeat"),
        status=line["status"],
        reason=separated(line.get("reason") or ""),
        flagged=(line.get("flag_reason") or "yes") if line.get("flagged") else "",
        numbers=_numbers(line),
        fields=line,
        line=text,
        place=place,
    )


def _numbers(line: Mapping[str, Any]) -> dict[str, float | None]:
    found = {name: nested(line, name) for name in QUANTITIES}
    for name in UNREPORTED:
        found[name] = known_count(found[name], line.get("package"))
    return found


def nested(line: Mapping[str, Any], name: str) -> Any:
    """Return the value of a dotted name, such as ``certificate.gap``; None if there is none."""
    value: Any = line
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with dotted names as nested objects; a name of both kinds raises a ValueError."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *groups, key = name.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise ValueError(f"{name}: {group} has a value of its own")
        if key in place:
            raise ValueError(f"{name} has both a value and parts")
        place[key] = value
    return nested


def _identity(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(str(line.get(name)) for name in IDENTITY)  # a stranger's may be a list


def _lines(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield number, text and content of each line; an incomplete one, of a killed process, is left out."""
    if not path.is_file():
        return
    for number, text in enumerate(read_text(path).split("\n")[:-1], 1):
        line = parse_json(text, f"{path}:{number}", dict[str, Any])
        if {"n", "contender", "status"} <= line.keys():
            yield number, text, line


def read_text(path: Path) -> str:
    """Read a file of text; an error names it."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StepError(f"{path}: {one_line(error)}") from None


def parse_json(text: str, place: str, kind: type[T]) -> T:
    """Parse JSON of a type that msgspec supports; an error names its place, a file or one of its lines."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError) as error:
        raise StepError(f"{place}: {one_line(error)}") from None
