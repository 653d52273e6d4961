"""
The record of a measurement: one line of JSON, its fields and their types in one place.

A line is complete in itself: what was solved, by what code, on what machine, what came out and what a
certificate says of it. Every number in a table can be traced to the line that it came from by ``run_id``,
``row``, ``contender`` and ``repeat``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any

from svmrepro.workflow.errors import StepError, one_line

MOST_COUNTED = 10**18

#: Version of the fields below; a line of another version is history. One that lacks a field of ADDED is not.
SCHEMA = 1

#: Why a line has the numbers it has. ``uncertified`` and ``error`` are never printed as timings.
STATUSES = frozenset(
    {"optimal", "time_limit", "memory_limit", "iteration_limit", "not_run", "uncertified", "error"}
)

#: Statuses of which one is enough: another repeat would end in the same way.
FINAL = STATUSES - {"optimal"}

#: Statuses after which larger problems are not tried.
LIMITS = frozenset({"time_limit", "memory_limit"})

_NUMBER = (int, float)
_MAYBE_NUMBER = (int, float, NoneType)

#: Every field of a line and the types that its value may have.
FIELDS: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "run_id": (str,),  # the process that measured it: ratios are formed within one
    "row": (str,),  # hash of the problem, its data and its contenders with their code
    "scale": (str,),
    "paper": (str,),
    "experiment": (str,),
    "dataset": (str,),
    "n": (int,),
    "n_paper": (int, NoneType),
    "seed": (int, NoneType),  # of a generated set, or the number of the permutation
    "repeat": (int,),
    "contender": (str,),
    "solver": (str,),
    "options": (dict,),
    "storage": (str,),
    "encoding": (str, NoneType),  # in place of the data set's own
    "kernel": (dict,),
    "axis": (str, NoneType),  # which of C, C_total and eps the experiment varies
    "point": _MAYBE_NUMBER,  # its value here
    "C": _NUMBER,
    "bias": (bool,),
    "eps": _NUMBER,
    "time_limit": _MAYBE_NUMBER,
    "memory_limit_mb": _MAYBE_NUMBER,
    "fingerprint": (str,),  # of the solver's source
    "status": (str,),
    "reason": (str, NoneType),
    "cpu_seconds": _MAYBE_NUMBER,
    "wall_seconds": _MAYBE_NUMBER,
    "iterations": (int, NoneType),
    "kernel_evaluations": (int, NoneType),
    "work": (dict,),  # counted by the solver: integers
    "info": (dict,),
    "certificate": (dict, NoneType),  # all that the judge says; what does not apply is null or absent
    "performance": (dict,),  # on the test set, by measure
    "peak_memory_bytes": (int, NoneType),  # above what was resident before the solve
    "load_before": _MAYBE_NUMBER,  # the system's one-minute load average
    "load_after": _MAYBE_NUMBER,
    "flagged": (bool,),
    "flag_reason": (str, NoneType),
    "machine": (dict,),
    "time": (str,),  # ISO 8601, UTC
}

#: Fields that lines had not from the beginning, and what it means that one is missing.
ADDED: dict[str, Any] = {"encoding": None, "axis": None, "point": None, "performance": {}}

#: What a line that tells of no run has in the fields of a result.
NO_RESULT: dict[str, Any] = {
    "reason": None,
    "cpu_seconds": None,
    "wall_seconds": None,
    "iterations": None,
    "kernel_evaluations": None,
    "work": {},
    "info": {},
    "certificate": None,
    "performance": {},
    "peak_memory_bytes": None,
    "load_before": None,
    "load_after": None,
    "flagged": False,
    "flag_reason": None,
}


def fault(line: Mapping[str, Any]) -> str | None:
    """
    Look for what is wrong with a measurement.

    Parameters
    ----------
    line
        A decoded line.

    Returns
    -------
    str or None
        What is wrong, naming the field; None if it is as it should be.
    """
    if line.get("schema") != SCHEMA:
        return f"schema is {line.get('schema')!r}, not {SCHEMA}"
    for name, types in FIELDS.items():
        if name not in line:
            return f"field {name!r} is missing"
        value = line[name]
        # A bool is an int to isinstance, but never a count.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            return f"field {name!r} has the wrong type: {value!r}"
    unknown = next((name for name in line if name not in FIELDS), None)
    if unknown is not None:
        return f"unknown field {unknown!r}"
    if line["status"] not in STATUSES:
        return f"unknown status {line['status']!r}"
    return None


def encode(line: Mapping[str, Any]) -> bytes:
    """
    Write a measurement as a line.

    Parameters
    ----------
    line
        All of :data:`FIELDS`.

    Returns
    -------
    bytes
        JSON and a line feed. Numbers that are not finite are null in a certificate, where they say that a
        quantity does not apply, and refused elsewhere.

    Raises
    ------
    ValueError
        If the line is no measurement.
    """
    wrong = fault(line)
    if wrong is not None:
        raise ValueError(f"no measurement: {wrong}")
    ordered = {name: line[name] for name in FIELDS} | {"certificate": finite(line["certificate"])}
    return json.dumps(ordered, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def finite(value: Any) -> Any:
    """
    Return a value as JSON knows it.

    Parameters
    ----------
    value
        Numbers, numpy's too, texts, and mappings and sequences of them.

    Returns
    -------
    object
        Numbers that are not finite are None.
    """
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def decode(text: bytes) -> dict[str, Any]:
    """
    Read a line.

    Parameters
    ----------
    text
        What :func:`encode` writes, or wrote before there were the fields of :data:`ADDED`.

    Returns
    -------
    dict
        All of :data:`FIELDS`.

    Raises
    ------
    ValueError
        If it is no measurement: what is wrong.
    """
    strange: list[str] = []

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            strange.append(text)
        return value

    try:
        line = json.loads(text, parse_float=number, parse_constant=number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON ({error})") from error
    if not isinstance(line, dict):
        raise ValueError("is no measurement")
    if strange:
        if "certificate" in line:
            line["certificate"] = finite(line["certificate"])
        try:
            json.dumps(line, allow_nan=False)
        except (ValueError, RecursionError):
            raise ValueError(f"is no JSON ({strange[0][:20]} is no number of a measurement)") from None
    for name, value in ADDED.items():
        line.setdefault(name, value)
    wrong = fault(line)
    if wrong is not None:
        raise ValueError(wrong)
    return line


def read_lines(path: Path) -> list[dict[str, Any]]:
    """
    Read a file of measurements.

    Parameters
    ----------
    path
        JSON lines.

    Returns
    -------
    list of dict
        In the order of the file.

    Raises
    ------
    StepError
        If it cannot be read or a line is no measurement: ``file:line: what``.
    """
    lines = []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StepError(f"{path}: {one_line(error)}") from error
    for number, text in enumerate(content.splitlines(), start=1):
        try:
            lines.append(decode(text))
        except ValueError as error:
            raise StepError(f"{path}:{number}: {error}") from error
    return lines


def dump_lines(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """Write measurements as the bytes of a file; see :func:`encode`."""
    return b"".join(encode(line) for line in lines)


def shown(value: object) -> str:
    """Return a value as messages quote it: short, in one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def counted(value: float) -> int:
    """Return a whole number that is not negative."""
    if not 0 <= value <= MOST_COUNTED or value != int(value):
        raise ValueError(f"{shown(value)} is no count")
    return int(value)
