"""What a quantity of a claim gives: a number with an interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmrepro.workflow.analysis.intervals import Interval

Spec = Mapping[str, Any]
"""A quantity of the YAML: its kind and parameters."""


@dataclass(frozen=True)
class Finding:
    """One number that a claim is about.

    Attributes
    ----------
    label : str
        What it is the number of: "adult-linear, n = 1,605".
    interval : Interval or None
        The number; None if it was not measured.
    reason : str
        Why it was not measured; "" if it was.
    paper : float or None
        The paper's own number of the same thing.
    """

    label: str
    interval: Interval | None
    reason: str = ""
    paper: float | None = None
