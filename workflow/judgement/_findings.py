"""Value of a claim's quantity: a number with an interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmrepro.workflow.statistics import Interval

Spec = Mapping[str, Any]
"""A quantity in the YAML: its kind and parameters."""


@dataclass(frozen=True)
class Finding:
    """One number that a claim is judged by."""

    label: str  # description of the number: "adult-linear, n = 1,605"
    interval: Interval | None  # the number; None if not measured
    reason: str = ""  # why it was not measured
    paper: float | None = None  # the paper's own value

    @classmethod
    def of(cls, label: str, found: Interval | str, paper: float | None = None) -> Finding:
        """Return the finding of a number, or of the reason why there is none."""
        return cls(label, None, found, paper) if isinstance(found, str) else cls(label, found, "", paper)
