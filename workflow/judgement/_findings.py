"""Value of a claim's quantity: a number with an interval, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmrepro.workflow.statistics import Interval

Spec = Mapping[str, Any]
"""A quantity in the YAML: its kind and parameters."""

FLAGGED = "flagged runs"
"""What bounds a number of seconds from one side if all its runs are flagged."""

FEWEST_FITTED = 3
"""Fewest sizes, or points of an axis, to which an exponent is fitted that a claim judges."""

ONLY_FLAGGED = "all runs are flagged for other load"
"""Why there is no exponent of seconds that are all upper bounds."""


@dataclass(frozen=True)
class Finding:
    """One number that a claim is judged by."""

    label: str  # description of the number: "adult-linear, n = 1,605"
    found: Interval | str  # the number, or why it was not measured
    paper: float | None = None  # the paper's own value
    experiment: str = ""  # "" if the number is about several
    n: int | None = None  # number of examples, for numbers that belong to a size; a fit's largest
    fitted: bool = False  # whether n is a fit's largest size, so that the number belongs to no single one
    stand_in: bool = False  # the data stand in for the paper's
    deciding_size: int = 0  # the smallest size that would decide, if n is less
    # half-width of an exponent's interval by the repeats' scatter alone, if the points lie on no line
    noise: float | None = None
    halves: tuple[float, float] | None = None  # an exponent over the lower and the upper half of the sizes
    single: bool = False  # a ratio of seconds from one pair of runs
    bounded_by: str = "a time limit"  # why an interval is open at one end, if it is
    # with ``at: largest``, the bound at a larger size, where a time limit stopped a run
    later: Finding | None = None

    @property
    def interval(self) -> Interval | None:
        """The number; None if not measured."""
        return self.found if isinstance(self.found, Interval) else None

    @property
    def open_end(self) -> str:
        """``at least`` or ``at most`` if only a bound of the number is known, else ""."""
        low, high = (self.interval.ends if self.interval is not None else None) or (0.0, 0.0)
        return "at least" if math.isinf(high) else "at most" if math.isinf(low) else ""

    @property
    def reason(self) -> str:
        """Why it was not measured; "" if it was."""
        return self.found if isinstance(self.found, str) else ""


def without_ends(found: Interval, low: bool, high: bool) -> Interval:
    """Return an interval without the ends that its runs leave unknown; with none, it decides nothing.

    ``low`` and ``high`` tell whether the number may lie below the interval, and above it.
    """
    if not (low or high):
        return found
    if found.ends is None or (low and high):
        return Interval(found.value)
    lowest, highest = found.ends
    return Interval(found.value, -math.inf if low else lowest, math.inf if high else highest)
