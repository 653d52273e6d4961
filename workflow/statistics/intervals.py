"""95 % intervals of medians, means, and ratios of paired measurements.

References
----------
Zou and Donner 2008, Construction of confidence limits about effect measures, *Stat. Med.* 27 (differences).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
"""Confidence level of every interval but that of test performance: one test example to either side."""

_FARTHEST = 230.0
"""Logarithm of 1e100, the largest number in files of results; an interval that reaches it is useless."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its 95 % interval; the ends are None if there is no interval.

    If the ends exist, ``low <= value <= high``. An exact number (a count) has ``low == value == high``.
    """

    value: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has both ends or none")
        if self.low is not None and self.high is not None and not self.low <= self.value <= self.high:
            raise ValueError(f"interval [{self.low}, {self.high}] does not hold its estimate {self.value}")

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @classmethod
    def exact(cls, value: float) -> Interval:
        """Return the interval of an exactly known number."""
        return cls(value, value, value)

    def minus(self, other: Interval) -> Interval:
        """Return the interval of the difference of two independent estimates.

        The method of variance estimates recovery of Zou and Donner (MOVER). With d the difference of the
        estimates, ``low = d - hypot(a - a_low, b_high - b)`` and ``high = d + hypot(a_high - a, b - b_low)``.
        For paired estimates it is wrong: too narrow if their errors have opposite signs, too wide if they are
        alike. Exponents at shared sizes have errors of either kind, because their curves bend either way.
        """
        value = self.value - other.value
        if self.ends is None or other.ends is None:
            return Interval(value)
        (low, high), (other_low, other_high) = self.ends, other.ends
        below = math.hypot(self.value - low, other_high - other.value)
        above = math.hypot(high - self.value, other.value - other_low)
        return Interval(value, value - below, value + above)

    def over(self, other: Interval) -> Interval:
        """Return the interval of the quotient of two independent estimates of positive numbers.

        It is that of `minus`, applied to the logarithms.
        """
        difference = self._log().minus(other._log())
        if difference.ends is None or max(map(abs, difference.ends)) > _FARTHEST:
            return Interval(math.exp(difference.value))
        return Interval(*(math.exp(end) for end in (difference.value, *difference.ends)))

    def _log(self) -> Interval:
        if self.ends is None or self.ends[0] <= 0:
            return Interval(math.log(self.value))
        return Interval(*(math.log(number) for number in (self.value, *self.ends)))


FEWEST_SPREAD = 3
"""Fewest values for an interval of their mean, and for one that is shown of their median."""

NORMAL_QUANTILE = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""

PROCESS_SPREAD = 0.05
"""Standard deviation of the logarithm of seconds, or of a ratio of seconds, from one process to another.

Repeats in one process share their memory pages and the state of the machine, so their scatter does not
show it. Taken from five runs of Platt 1998 at the default scale by one commit, one after the other on one
machine (November 2026): of their 615 ratios, the deviation between processes beyond that of the repeats
was 3.5 % in the median and 5.9 % in the root mean square; of a solver's seconds at a size, 2.3 % and 4.0
%. Of the 6,150 differences between two runs, 12.4 % were larger than the intervals of the repeats allow,
5.0 % with a deviation of 0.04, 3.5 % with 0.05. See Kalibera and Jones 2013, *Rigorous Benchmarking in
Reasonable Time* (ISMM), on the levels of such a variation.
"""

PERMUTED_SPREAD = 0.015
"""The same for a ratio of means over permutations, which differ in their memory layouts themselves.

Taken from the paper-scale reference of Glasmachers 2008: of 720 pairs of contenders on a data set, measured
in 3 to 20 processes, the pooled deviation between processes beyond that within them.
"""

_STUDENT = (
    12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934, 2.5705818356363146,
    2.4469118511449786, 2.364624251592784, 2.306004135204166, 2.262157162798205, 2.228138851986274,
    2.200985160091639, 2.1788128296672284, 2.1603686564627913, 2.144786687917804, 2.131449545559776,
    2.1199052992212546, 2.1098155778333156, 2.1009220402410382, 2.0930240544083087, 2.085963447265864,
)  # fmt: skip
"""SciPy's two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.

Tabulated because importing SciPy takes half the time of a step that makes a table.
"""


def student_quantile(freedom: float) -> float:
    """Return the two-sided 95 % quantile of Student's t, e.g. 12.71 for one degree of freedom."""
    if math.isinf(freedom):
        return NORMAL_QUANTILE
    if freedom == int(freedom) <= len(_STUDENT):
        return _STUDENT[int(freedom) - 1]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + CONFIDENCE / 2))


def across_processes(found: Interval, processes: int = 1, spread: float = PROCESS_SPREAD) -> Interval:
    """Return the interval of a ratio of seconds, widened by the variation between processes.

    The distances of the ends, as logarithms, are combined with that of ``spread`` as independent errors are;
    ``processes`` is the number of those that measured. An estimate without ends stays so, and so does an
    interval that reaches 0, such as that of a ratio of means with an outlier.
    """
    if found.ends is None or found.ends[0] <= 0:
        return found
    half = NORMAL_QUANTILE * spread / math.sqrt(processes)
    below, above = (math.hypot(math.log(found.value / end), half) for end in found.ends)
    if abs(math.log(found.value)) + max(below, above) > _FARTHEST:
        return Interval(found.value)
    return Interval(found.value, found.value / math.exp(below), found.value * math.exp(above))


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median of positive values with a 95 % interval.

    For up to five values, this is Student's interval of the mean logarithm, widened where needed to contain
    the median (with three repeats no distribution-free interval reaches 95 %). For six or more, it is the
    distribution-free interval between order statistics (sign test), which needs no normality. A single value
    has no interval; equal values (counts) have an exact one.
    """
    if not values:
        raise ValueError("no values")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = ordered.size
    median = float(statistics.median(ordered))
    if count == 1:
        return Interval(median)
    if ordered[0] == ordered[-1]:
        return Interval.exact(median)
    if ordered[0] <= 0:
        raise ValueError("an interval on the log scale needs positive values")
    if count >= 6:
        skip = _sign_test_skip(count)
        return Interval(median, float(ordered[skip]), float(ordered[count - 1 - skip]))
    logs = np.log(ordered)
    half = student_quantile(count - 1) * float(logs.std(ddof=1)) / math.sqrt(count)
    middle = float(logs.mean())
    if abs(middle) + half > _FARTHEST:
        return Interval(median)
    return Interval(median, min(median, math.exp(middle - half)), max(median, math.exp(middle + half)))


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean with Student's 95 % interval; equal values have an exact one.

    Student's interval of two values is 13 times as wide as their distance, so two values have none, like one.
    """
    if not values:
        raise ValueError("no values")
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean())
    if array.size > 1 and array.min() == array.max():
        return Interval.exact(mean)
    if array.size < FEWEST_SPREAD:
        return Interval(mean)
    half = student_quantile(array.size - 1) * float(array.std(ddof=1)) / math.sqrt(array.size)
    return Interval(mean, mean - half, mean + half)


def mean_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Interval:
    """Return the ratio of the means of paired values with a 95 % interval.

    The interval is that of the ratio estimator: Student's, from the residuals ``a_i - r b_i`` over the mean
    of b. One or two pairs have no interval.
    """
    above, below = (np.asarray(values, dtype=np.float64) for values in (numerators, denominators))
    if above.shape != below.shape or not above.size or below.mean() <= 0:
        raise ValueError("a ratio of means needs pairs with a positive mean below")
    ratio = float(above.mean() / below.mean())
    if above.size < FEWEST_SPREAD:
        return Interval(ratio)
    residuals = (above - ratio * below) / below.mean()
    half = student_quantile(above.size - 1) * float(residuals.std(ddof=1)) / math.sqrt(above.size)
    return Interval(ratio, ratio - half, ratio + half)


@dataclass(frozen=True)
class Scatter:
    """Scatter of single log ratios, pooled over sizes: standard deviation and degrees of freedom."""

    deviation: float
    freedom: int


def pooled_scatter(paired: Iterable[tuple[Sequence[float], Sequence[float]]]) -> Scatter | None:
    """Return the scatter of log ratios within sizes, pooled over sizes; None if no size has two pairs."""
    squares, freedom = 0.0, 0
    for numerators, denominators in paired:
        if len(numerators) > 1:
            logs = np.log(np.asarray(numerators) / np.asarray(denominators))
            squares += float(((logs - logs.mean()) ** 2).sum())
            freedom += logs.size - 1
    return Scatter(math.sqrt(squares / freedom), freedom) if freedom else None


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], scatter: Scatter | None = None
) -> Interval:
    """Return the median of paired ratios with its interval (see `median_interval`).

    Entry i of both sequences comes from the same repeat of the same process, so that temporary slowdowns of
    the machine affect both. One pair or two (long runs are seldom repeated) take their interval from the
    `scatter` of others if that is known: Student's, with its degrees of freedom. Relative noise decreases
    with the length of a run, so this interval is conservative. A scatter of 0 (of counts) is that of a single
    pair only. For seconds, callers add the variation between processes (`across_processes`).
    """
    if len(numerators) != len(denominators):
        raise ValueError("ratios need pairs")
    if any(value <= 0 for value in denominators):
        raise ValueError("a ratio needs positive denominators")
    ratios = [a / b for a, b in zip(numerators, denominators, strict=True)]
    count = len(ratios)
    if scatter is not None and (count == 1 or (count == 2 and scatter.deviation > 0.0)):
        ratio = statistics.median(ratios)
        distance = student_quantile(scatter.freedom) * scatter.deviation / math.sqrt(count)
        if not min(ratios) > 0.0 or abs(math.log(ratio)) + distance > _FARTHEST:
            return Interval(ratio)
        factor = math.exp(distance)
        return Interval(ratio, ratio / factor, ratio * factor)
    return median_interval(ratios)


def _sign_test_skip(count: int) -> int:
    """Return how many order statistics to skip on each side without losing 95 % coverage."""
    tail, skip, mass = (1 - CONFIDENCE) / 2, 0, 0.5**count
    while True:
        following = mass + math.comb(count, skip + 1) * 0.5**count
        if following > tail:
            return skip
        mass, skip = following, skip + 1
