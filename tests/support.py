"""What tests of several packages share: commands that end, and a measurement."""

from __future__ import annotations

import subprocess
from typing import Any

from svmrepro.workflow.measurement.journal_line import NO_RESULT, SCHEMA

_TEXTS = (
    "run_id",
    "row",
    "scale",
    "paper",
    "experiment",
    "dataset",
    "contender",
    "solver",
    "storage",
    "time",
)


def measurement(**fields: Any) -> dict[str, Any]:
    """Return all fields of a record of a solved run without numbers."""
    return {
        **dict.fromkeys((*_TEXTS, "fingerprint"), "x"),
        **dict.fromkeys(("n_paper", "seed", "time_limit", "memory_limit_mb", "encoding", "axis", "point")),
        **{"schema": SCHEMA, "n": 10, "repeat": 0, "C": 1.0, "bias": True, "eps": 1e-3},
        **{"options": {}, "kernel": {}, "machine": {}, **NO_RESULT, "status": "optimal"},
        **fields,
    }


def ran(*words: object, timeout: float = 300, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `timeout` is to end tests that hang, and measures nothing."""
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=timeout, **options)
