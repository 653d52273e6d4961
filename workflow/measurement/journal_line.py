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
from typing import Any, Literal, get_args

import msgspec
from msgspec import structs
from svmrepro.workflow.configuration.plain_yaml import typed
from svmrepro.workflow.errors import StepError, one_line

MOST_COUNTED = 10**18

#: Version of the fields below; a line of another version is history.
SCHEMA = 1

#: Why a line has the numbers it has. ``uncertified`` and ``error`` are never printed as timings.
Status = Literal[
    "optimal", "time_limit", "memory_limit", "iteration_limit", "not_run", "uncertified", "error"
]
STATUSES: frozenset[str] = frozenset(get_args(Status))

#: Statuses of which one is enough: another repeat would end in the same way.
FINAL = STATUSES - {"optimal"}

#: Statuses after which larger problems are not tried.
LIMITS = frozenset({"time_limit", "memory_limit"})

# A whole number stays one, as it was written.
Number = int | float


class Measurement(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Every field of a line. Those with a default were added later: older lines lack them."""

    schema: Literal[1]
    run_id: str  # the process that measured it: ratios are formed within one
    row: str  # hash of the problem, its data and its contenders with their code
    scale: str
    paper: str
    experiment: str
    dataset: str
    n: int
    n_paper: int | None
    seed: int | None  # of a generated set, or the number of the permutation
    repeat: int
    contender: str
    solver: str
    options: dict[str, Any]
    storage: str
    encoding: str | None = None  # in place of the data set's own
    kernel: dict[str, Any]
    axis: str | None = None  # which of C, C_total and eps the experiment varies
    point: Number | None = None  # its value here
    C: Number
    bias: bool
    eps: Number
    time_limit: Number | None
    memory_limit_mb: Number | None
    fingerprint: str  # of the solver's source
    status: Status
    reason: str | None
    cpu_seconds: Number | None
    wall_seconds: Number | None
    iterations: int | None
    kernel_evaluations: int | None
    work: dict[str, Any]  # counted by the solver: integers
    info: dict[str, Any]
    certificate: dict[str, Any] | None  # all that the judge says; what does not apply is null or absent
    performance: dict[str, Any] = {}  # on the test set, by measure
    peak_memory_bytes: int | None  # above what was resident before the solve
    load_before: Number | None  # the system's one-minute load average
    load_after: Number | None
    flagged: bool
    flag_reason: str | None
    machine: dict[str, Any]
    time: str  # ISO 8601, UTC


_DECODER = msgspec.json.Decoder(Measurement)

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


def encode(line: Mapping[str, Any]) -> bytes:
    """
    Write a measurement as a line.

    Parameters
    ----------
    line
        The fields of a :class:`Measurement`.

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
    fields = {name: value.item() if hasattr(value, "item") else value for name, value in line.items()}
    whole = structs.asdict(typed(fields, Measurement))
    whole["certificate"] = finite(whole["certificate"])
    return json.dumps(whole, separators=(",", ":"), allow_nan=False).encode() + b"\n"


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
        What :func:`encode` writes, or wrote before fields were added.

    Returns
    -------
    dict
        All fields of a :class:`Measurement`.

    Raises
    ------
    ValueError
        If it is no measurement: what is wrong.
    """
    try:
        return structs.asdict(_DECODER.decode(text))
    except (ValueError, RecursionError):
        pass  # wrong, or as other programs write what does not apply
    try:
        line = json.loads(text)
        if isinstance(line, dict) and "certificate" in line:
            line["certificate"] = finite(line["certificate"])
        json.dumps(line, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON ({error})") from error
    return structs.asdict(typed(line, Measurement))


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
