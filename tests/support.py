"""What tests of several packages share: the root, commands that end, CSV files, and a measurement."""

from __future__ import annotations

import csv
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from svmrepro.workflow.journal.journal_line import NO_RESULT, SCHEMA, Measurement

PROJECT = Path(__file__).resolve().parents[1]

_TEXTS = [each.name for each in msgspec.structs.fields(Measurement) if each.type is str]


def measurement(**fields: Any) -> dict[str, Any]:
    """Return all fields of a record of a solved run without numbers."""
    return {
        **dict.fromkeys(_TEXTS, "x"),
        **dict.fromkeys(
            ("n_paper", "seed", "time_limit", "memory_limit_mb", "encoding", "axis", "point", "package")
        ),
        **{"schema": SCHEMA, "n": 10, "repeat": 0, "C": 1.0, "bias": True, "eps": 1e-3},
        **{"options": {}, "kernel": {}, "machine": {}, "protocol": "1", **NO_RESULT, "status": "optimal"},
        "time": "2026-01-02T03:04:05+00:00",
        **fields,
    }


def ran(*words: object, timeout: float = 900, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `timeout` is to end tests that hang, and measures nothing."""
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=timeout, **options)


def unprivileged(arguments: Sequence[str] = ()) -> list[str]:
    """Return a command that runs without a superuser's right to write anywhere.

    Root keeps its user id, and hence the right to read its interpreter, but loses every capability.
    """
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    return [*(drop if os.getuid() == 0 else []), *arguments]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write a CSV file with the columns of its first row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
