r"""Scaling exponents: power laws fitted to log-log medians, each with a 95 % interval.

An exponent is the slope of the ordinary least-squares line through the points
:math:`(\log n_k, \log m_k)`, where :math:`m_k` is the median over the repeats at
size :math:`n_k`: the recipe of TR-98-14, section 3.1 ("fitting a line to the
log-log plot"), with medians in place of single runs.

It estimates the mean slope over the sizes measured; the slope at larger sizes may differ. Most series are
smooth curves rather than lines, and :func:`half_slopes` shows how much their slope changes. The interval
counts distances from the line as errors, so for a curve it is wider than the noise of the runs requires.

How the interval of an exponent is made
---------------------------------------
Two things move a slope. The points do not lie on a line, since a power law is only a
summary of an algorithm; this is the larger effect. And each median is itself uncertain.
Both are bootstrapped, :data:`DRAWS` times, with a seed that depends only on the name of
the series, so that the same measurements always give the same interval:

* *residuals*: the vertical distances to the line are divided by :math:`\sqrt{1-h_k}`
  (:math:`h_k` is the leverage: a fitted line passes closer to its end points than the
  noise does), centred, drawn with replacement and added to the fitted line. With few
  points a percentile interval of such draws is too short, as the normal quantile is
  shorter than Student's. Each draw's deviation is therefore stretched by
  :math:`t_{0.975, m-2} / z_{0.975}` (Hesterberg 2015, "expanded percentile interval").
* *repeats*: at each size the R repeats are drawn with replacement, and the change of the
  median's logarithm is added, stretched by :math:`\sqrt{R/(R-1)}`.

The interval is symmetric: its half-width is the 95 % quantile of the absolute deviations
(each residual draw has a random sign, so there is no skew to keep). The noise of the
repeats is also part of the residuals, so the interval is slightly conservative. It cannot
collapse when three medians happen to be collinear. The tests assert simulated coverage.

With fewer than three points there is no interval; with a single point there is no exponent.

How much of it is noise
-----------------------
:func:`noise_of_slope` tells the half-width that the scatter of the runs alone would give (Student's
distribution, variance of the logarithms pooled over the sizes, and for seconds that between processes,
which is known; degrees of freedom by Satterthwaite), and whether the medians miss their line by more
than that: the F-test of lack of fit, at 0.05. Then more repeats would not narrow the interval much.

References
----------
Davison and Hinkley 1997, *Bootstrap Methods and their Application*, 6.2 (modified residuals).
Draper and Smith 1998, *Applied Regression Analysis*, third edition, 2.2 (lack of fit).
Hesterberg 2015, What Teachers Should Know About the Bootstrap, *Am. Stat.* 69(4).
"""

from __future__ import annotations

import math
import statistics
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from svmrepro.workflow.statistics.intervals import CONFIDENCE, NORMAL_QUANTILE, Interval, student_quantile

FLOATS = NDArray[np.float64]

_Size = TypeVar("_Size", int, float)

DRAWS = 4000
"""Bootstrap draws per exponent; the ends of its interval are then good to about 2 % of its width."""

_ROUNDING = 1e-20  # of squared logarithms

FEWEST_SIZES = 4
"""Fewest sizes for an exponent that is shown: three points leave one degree of freedom."""

_FEWEST_OF_HALF = 3  # sizes

METHOD_REPEATS = "least squares on log-log medians; expanded percentile bootstrap over repeats and residuals"
METHOD_SINGLE = "least squares on log-log values; expanded percentile bootstrap over residuals"
METHOD_NONE = "least squares on log-log medians; no interval"


@dataclass(frozen=True)
class Fit:
    """A power law ``value = exp(intercept) * n ** exponent`` fitted to one series."""

    exponent: Interval | None  # None for fewer than two sizes
    intercept: float | None
    points: int  # number of sizes; in an experiment with an axis, of points of the axis
    n_min: float  # smallest and largest of them; 0 if there are none
    n_max: float
    method: str  # how the interval was made
    note: str  # a remark for readers, or ""

    def predict(self, n: float) -> float:
        """Return the fitted value at size n."""
        if self.exponent is None or self.intercept is None:
            raise ValueError("no line was fitted")
        return math.exp(self.intercept + self.exponent.value * math.log(n))


def fit_power_law(
    series: Mapping[int, Sequence[float]] | Mapping[float, Sequence[float]],
    seed_name: str,
    *,
    draws: int = DRAWS,
) -> Fit:
    """Fit ``value = c * n ** exponent`` by least squares on log-log medians.

    The series has the values of the repeats by size, or by point of an experiment's axis. Values that are not
    positive have no logarithm; a size with such a value is left out, and the note says so. The name of the
    series is the only input of the bootstrap's seed.
    """
    usable: dict[float, FLOATS] = {}
    left_out: list[float] = []
    for n, measured in sorted(series.items()):
        values = np.asarray(measured, dtype=np.float64)
        if values.size and bool(np.all(values > 0)) and bool(np.all(np.isfinite(values))):
            usable[n] = values
        elif values.size:
            left_out.append(n)
    sizes = list(usable)
    m = len(sizes)
    n_min, n_max = (sizes[0], sizes[-1]) if sizes else (0, 0)
    notes = [f"left out (not positive): n = {', '.join(map(str, left_out))}"] if left_out else []
    notes += {0: ["nothing to fit"], 1: ["a line needs two sizes"], 2: ["two sizes: no interval"]}.get(m, [])
    note = "; ".join(notes)
    if m < 2:
        return Fit(None, None, m, n_min, n_max, METHOD_NONE, note)

    x = np.log(np.asarray(sizes, dtype=np.float64))
    y = np.array([math.log(statistics.median(values)) for values in usable.values()])
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    intercept = float(y.mean()) - slope * float(x.mean())
    if m < 3:
        return Fit(Interval(slope), intercept, m, n_min, n_max, METHOD_NONE, note)

    rng = np.random.default_rng(zlib.crc32(seed_name.encode()))
    weights = centred / spread  # slope = weights @ y, so a draw's deviation is weights @ its noise
    deviations = _residual_deviations(x, y - intercept - slope * x, weights, draws, rng)
    repeats = _repeat_deviations(list(usable.values()), weights, draws, rng)
    half = float(np.quantile(np.abs(deviations + repeats), CONFIDENCE))
    method = METHOD_REPEATS if any(values.size > 1 for values in usable.values()) else METHOD_SINGLE
    exponent = Interval(slope, slope - half, slope + half)
    return Fit(exponent, intercept, m, n_min, n_max, method, note)


def half_slopes(
    series: Mapping[int, Sequence[float]] | Mapping[float, Sequence[float]],
) -> tuple[float, float] | None:
    """Return the slopes over the lower and over the upper half of the sizes; None for fewer than five sizes.

    The middle one of an odd number of sizes belongs to both halves. Sizes with a value that has no logarithm
    are left out.
    """
    points = [
        (math.log(n), math.log(statistics.median(values)))
        for n, values in sorted(series.items())
        if len(values) and all(0 < value < math.inf for value in values)
    ]
    half = (len(points) + 1) // 2
    if half < _FEWEST_OF_HALF:
        return None
    lower, upper = (zip(*part, strict=True) for part in (points[:half], points[-half:]))
    return statistics.linear_regression(*lower).slope, statistics.linear_regression(*upper).slope


def at_shared_sizes(*series: Mapping[_Size, list[float]]) -> list[Mapping[_Size, list[float]]]:
    """Return series at the sizes that all of them have, so that differences of their exponents compare like.

    If these are fewer than `FEWEST_SIZES`, the series are returned whole.
    """
    shared = set(series[0]).intersection(*series[1:])
    if len(shared) < FEWEST_SIZES:
        return list(series)
    return [{n: values for n, values in each.items() if n in shared} for each in series]


def ratios_suffice(ratios: Mapping[_Size, list[float]], *series: Mapping[_Size, list[float]]) -> bool:
    """Tell whether ratios of two series have enough sizes for a fit: `FEWEST_SIZES`, or all of both."""
    return len(ratios) >= FEWEST_SIZES or all(ratios.keys() == each.keys() for each in series)


@dataclass(frozen=True)
class SlopeNoise:
    """What the scatter of the runs alone says about an exponent."""

    half: float  # half-width of the 95 % interval that it would give
    bent: bool  # whether the points miss their line by more than it explains


def noise_of_slope(
    series: Mapping[int, Sequence[float]] | Mapping[float, Sequence[float]], spread: float = 0.0
) -> SlopeNoise | None:
    """Return what the scatter of the runs alone says about an exponent.

    ``spread`` is the standard deviation of the logarithm of a size's value that its repeats do not show, as
    they share a process (`svmrepro.workflow.statistics.intervals.PROCESS_SPREAD`). A size with one run has
    the scatter of the others. The result is None if no size has two runs, or if there are fewer than three
    sizes. Sizes with a value that has no logarithm are left out.
    """
    arrays = {n: np.asarray(values, dtype=np.float64) for n, values in series.items() if len(values)}
    logs = {math.log(n): np.log(v) for n, v in arrays.items() if bool(np.all((v > 0) & np.isfinite(v)))}
    freedom, m = sum(values.size - 1 for values in logs.values()), len(logs)
    if m < 3 or freedom < 1:
        return None
    pooled = sum(float(((values - values.mean()) ** 2).sum()) for values in logs.values()) / freedom
    x, y = np.array(list(logs)), np.array([statistics.median(values) for values in logs.values()])
    centred = x - x.mean()
    weights = centred / float(centred @ centred)
    # a median of three values or more has at most pi / 2 times the variance of their mean
    shares = np.array([(math.pi / 2 if v.size > 2 else 1.0) / v.size for v in logs.values()])
    repeats = pooled * shares
    variances = repeats + spread**2
    of_slope = float(weights**2 @ variances)
    half = student_quantile(_freedom(of_slope, float(weights**2 @ repeats), freedom)) * math.sqrt(of_slope)
    # Those of the weighted line: those of the other are larger than an F-test allows where the sizes have
    # different numbers of runs.
    precision = 1.0 / variances if variances.all() else np.ones(m)
    apart = x - np.average(x, weights=precision)
    slope = float((precision * apart) @ y) / float((precision * apart) @ apart)
    residuals = y - np.average(y, weights=precision) - slope * apart
    far = residuals**2 > _ROUNDING
    if not far.any():
        return SlopeNoise(half, False)
    with np.errstate(divide="ignore"):
        missed = float((residuals[far] ** 2 / variances[far]).sum()) / (m - 2)
    below = _freedom(float(variances.sum()), float(repeats.sum()), freedom)
    return SlopeNoise(half, missed > _f_quantile(m - 2, below))


def _freedom(whole: float, estimated: float, freedom: int) -> float:
    """Return the degrees of freedom of a variance of which a part is estimated with ``freedom``.

    The approximation is Satterthwaite's.
    """
    return freedom * (whole / estimated) ** 2 if estimated > 0.0 else (math.inf if whole > 0.0 else freedom)


def _f_quantile(above: int, below: float) -> float:
    """Return the 95 % quantile of the F distribution."""
    from scipy.special import chdtri, fdtri  # imported here because it takes half the time of a step

    return float(fdtri(above, below, CONFIDENCE) if below < 1e9 else chdtri(above, 1.0 - CONFIDENCE) / above)


def _residual_deviations(
    x: FLOATS, residuals: FLOATS, weights: FLOATS, draws: int, rng: np.random.Generator
) -> FLOATS:
    """Return the slope deviations of residuals drawn with replacement, shape (draws,)."""
    m = x.size
    leverage = 1.0 / m + weights**2 * float(((x - x.mean()) ** 2).sum())
    modified = residuals / np.sqrt(np.maximum(1.0 - leverage, 1e-12))
    modified -= modified.mean()
    stretch = student_quantile(m - 2) / NORMAL_QUANTILE
    drawn = modified[rng.integers(0, m, size=(draws, m))]
    signs = rng.choice(np.array([-1.0, 1.0]), size=draws)
    return np.asarray(stretch * signs * (drawn @ weights))


def _repeat_deviations(
    repeats: Sequence[FLOATS], weights: FLOATS, draws: int, rng: np.random.Generator
) -> FLOATS:
    """Return the slope deviations of medians over repeats drawn with replacement, shape (draws,)."""
    total = np.zeros(draws)
    for weight, values in zip(weights, repeats, strict=True):
        count = values.size
        if count < 2:
            continue
        logs = np.log(values)
        drawn = np.sort(logs[rng.integers(0, count, size=(draws, count))], axis=1)
        # np.median takes up to four times as long.
        medians = (drawn[:, (count - 1) // 2] + drawn[:, count // 2]) / 2
        total += weight * math.sqrt(count / (count - 1)) * (medians - statistics.median(logs))
    return total
