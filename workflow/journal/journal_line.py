"""The record of a measurement: one line of JSON. This module defines all fields and their types.

A line is self-contained: it records the problem, the code, the machine, the result and the certificate. Every
number in a table can be traced to its line by ``run_id``, ``row``, ``contender`` and ``repeat``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec import structs
from svmrepro.workflow.configuration.model import Number
from svmrepro.workflow.configuration.typed_data import typed
from svmrepro.workflow.errors import StepError, one_line

MOST_COUNTED = 10**18

#: Version of the fields below. Lines of other versions are kept as history and not used.
SCHEMA = 1

#: Outcome of a run. Seconds of ``uncertified`` and ``error`` runs are never shown.
Status = Literal[
    "optimal", "time_limit", "memory_limit", "iteration_limit", "not_run", "uncertified", "error"
]
STATUSES: frozenset[str] = frozenset(get_args(Status))
OPTIMAL: Status = "optimal"

#: Statuses that are not repeated, because another repeat would end in the same way.
FINAL = STATUSES - {OPTIMAL}

#: Statuses after which larger problems are skipped.
LIMITS = frozenset({"time_limit", "memory_limit"})

#: Statuses of runs that a limit stopped.
STOPPED = LIMITS | {"iteration_limit"}

#: Beginning of the reason of a run that was ended from outside; its status is ``time_limit``.
DID_NOT_STOP = "did not stop at its limit of"

#: Beginning of the reason of a run that stopped at another limit than those that it was given.
OWN_LIMIT = "passed a limit of its own"


class Measurement(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All fields of a line. Fields with a default were added later; older lines lack them."""

    schema: Literal[1]
    run_id: str  # the process that measured it; ratios are formed within one process
    row: str  # hash of the problem, its data, and its contenders with their code
    scale: str
    paper: str
    experiment: str
    dataset: str
    n: int
    n_paper: int | None
    seed: int | None  # of a generated set, or number of the permutation
    repeat: int
    contender: str
    solver: str
    options: dict[str, Any]
    storage: str
    encoding: str | None = None  # replaces the data set's own
    kernel: dict[str, Any]
    axis: str | None = None  # the parameter that the experiment varies: C, C_total or eps
    point: Number | None = None  # its value
    C: Number
    bias: bool
    eps: Number
    time_limit: Number | None
    memory_limit_mb: Number | None
    fingerprint: str  # of the solver's source
    package: str | None = None  # name and version of the package with the solver; None for this project's
    status: Status
    reason: str | None
    cpu_seconds: Number | None
    wall_seconds: Number | None
    iterations: int | None
    kernel_evaluations: int | None
    work: dict[str, Any]  # counts reported by the solver, as integers
    info: dict[str, Any]
    certificate: dict[str, Any] | None  # fields that do not apply are null or absent
    performance: dict[str, Any] = {}  # on the test set, by measure
    peak_memory_bytes: int | None  # above resident memory before the solve
    load_before: Number | None  # the system's one-minute load average
    load_after: Number | None
    flagged: bool
    flag_reason: str | None
    noise: dict[str, Any] = {}  # state of the processor and limits on the process; null: not readable
    protocol: str = "1"  # of timing, as old lines have it; the present one is `configuration.model.PROTOCOL`
    machine: dict[str, Any]
    time: str  # ISO 8601, UTC


_DECODER = msgspec.json.Decoder(Measurement)

#: Result fields of a line without a result.
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
    "noise": {},
}


def not_run(reason: str) -> dict[str, Any]:
    """Return the result fields of a line for a contender that was not run."""
    return {**NO_RESULT, "status": "not_run", "reason": reason}


def encode(line: Mapping[str, Any]) -> bytes:
    """Encode a measurement as a line of JSON; an invalid one raises a ValueError.

    Numbers that are not finite become null in a certificate, where null means that a quantity does not apply;
    elsewhere they are refused.
    """
    fields = {name: value.item() if hasattr(value, "item") else value for name, value in line.items()}
    whole = structs.asdict(typed(fields, Measurement))
    whole["certificate"] = finite(whole["certificate"])
    return json.dumps(whole, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def finite(value: Any) -> Any:
    """Convert a value, also of numpy, for JSON: None for numbers that are not finite, at any depth."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner) for inner in value]
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def decode(text: bytes) -> dict[str, Any]:
    """Decode a line into all fields of a :class:`Measurement`, also a line that lacks later fields.

    If it is not a valid measurement, the ValueError says what is wrong.
    """
    try:
        return structs.asdict(_DECODER.decode(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not a measurement ({error})") from None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of measurements; an invalid line raises a StepError, ``file:line: what``."""
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
    """Encode measurements as the content of a file; see :func:`encode`."""
    return b"".join(encode(line) for line in lines)


def shown(value: object) -> str:
    """Format a value for a message: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def counted(value: float) -> int:
    """Check that a number is a non-negative integer, and return it as int."""
    if not 0 <= value <= MOST_COUNTED or value != int(value):
        raise ValueError(f"{shown(value)} is not a count")
    return int(value)
