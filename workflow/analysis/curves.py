"""Curves over n, C or eps: the points of one contender on one experiment.

A `Quantity` says what is shown of the runs:

``of``
    A column of the measurements (``iterations``, ``cpu_seconds``), or ``performance``: the experiment's first
    measure on its test set, in percentage points.
``minus``
    Another contender, whose value at the same point is subtracted.
``minus_at``
    A value on the axis; the contender's own value there is subtracted.
``over``, ``over_at``
    The same with division. Quotients are formed within one process, repeat by repeat.
``short_of``
    Another contender, whose primal objective P is the reference: the value is ``(P - L) / P``, where L is the
    contender's own lower bound (Joachims 2006, section 4.6).
``best``
    True: for each size, use the value on the axis with the best performance on the test set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from svmrepro.workflow.analysis.fits import scatter_of_repeats
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.run_pairs import flagged_sides, pairs, processes, unknown_ends
from svmrepro.workflow.analysis.runs import CPU, GROWING, Group
from svmrepro.workflow.configuration.model import Quantity
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.statistics import (
    Fit,
    Interval,
    Scatter,
    across_processes,
    fit_power_law,
    ratio_interval,
)

AXES = {"n": "training examples", "C_total": "C (n times the bound of a multiplier)", "eps": "ε"}
"""Parameter -> axis label."""

PERFORMANCE = "performance"

MOST_EXAMPLES = 100_000
"""Largest test part whose number of examples is recognised in its performances."""

Place = tuple[int, float | None]


@dataclass(frozen=True)
class Point:
    """A median with its interval, at one value of the parameter."""

    x: float
    y: Interval
    n: int = 0  # number of examples
    at: float | None = None  # value on the experiment's axis
    values: tuple[float, ...] | None = None  # the timed values of which y is the median; None for counts
    flagged: bool = False  # whether y rests on seconds of flagged runs alone
    stopped: bool = False  # whether y is of seconds, and the time limit stopped some of the runs


def curve(results: Results, experiment: str, contender: str, x: str, quantity: Quantity) -> list[Point]:
    """Return the measured points of a curve, in ascending order.

    ``x`` is the parameter: n, or the experiment's axis; ``quantity`` is described in the module docstring.
    Over an axis, the curve is at the largest size with any point.
    """
    axis = results.experiment(experiment).axis
    if x not in ("n", axis):
        raise StepError(f"experiment '{experiment}' has no axis '{x}'")
    groups = by_place(results, experiment, contender)
    rival = quantity.rival or contender
    others = groups if rival == contender else by_place(results, experiment, rival)
    column = _column(results, experiment, quantity.of)
    places = [place for place, group in groups.items() if group.solved]
    if quantity.best:
        places = _best(groups, places, _column(results, experiment, PERFORMANCE))
    elif x == "n":
        places = [place for place in places if place[1] is None]
    else:
        places = [place for place in places if place[0] == places[-1][0]]
    # One pair or two of seconds borrow the scatter of all repeats, as a ratio over n does.
    seconds = column == CPU and quantity.divides
    scatter = scatter_of_repeats(results.runs, results.experiment(experiment)) if seconds else None
    found: dict[float, Point] = {}
    for n, point in places:
        own, other = groups[n, point], _other(others, (n, point), quantity)
        value = _value(own, other, column, quantity, scatter)
        if value is not None:
            at = float(n) if x == "n" or point is None else point
            flagged = stopped = False
            if column == CPU and not quantity.short_of:
                flagged = own.all_flagged if other is None else any(flagged_sides(own, other))
                stopped = bool(own.stopped or (other is not None and other.stopped))
            found[at] = Point(at, value, n, point, _timed(own, other, column, quantity), flagged, stopped)
    return [found[at] for at in sorted(found)]


def unknown_sides(
    results: Results, experiment: str, contender: str, quantity: Quantity, point: Point
) -> tuple[bool, bool]:
    """Tell whether a point may lie below its interval, and whether above it.

    For seconds, see `unknown_ends`. A count may lie above it if a limit stopped some of the runs.
    """
    place = point.n, point.at
    own = by_place(results, experiment, contender)[place]
    other = _other(by_place(results, experiment, quantity.rival or contender), place, quantity)
    if quantity.of != CPU or quantity.short_of:
        return False, other is None and quantity.of in GROWING and own.incomplete(quantity.of)
    return (own.all_flagged, False) if other is None else unknown_ends(own, other)


def gaps(
    results: Results, experiment: str, contender: str, x: str, quantity: Quantity
) -> dict[float, Interval | str]:
    """Return what is known where a :func:`curve` has no point, by the parameter: a bound, or the reason.

    The count of a run that a limit stopped is a lower bound. Without any point, this is at the largest size.
    """
    points = curve(results, experiment, contender, x, quantity)
    measured = {point.x for point in points}
    largest = points[-1].n if points else max(results.runs.sizes(experiment), default=0)
    others = by_place(results, experiment, quantity.rival or contender)
    found: dict[float, Interval | str] = {}
    for (n, at), own in by_place(results, experiment, contender).items():
        value = float(n) if at is None else at
        if value in measured or (at is not None if x == "n" else n != largest):
            continue
        other = _other(others, (n, at), quantity)
        least = own.count_until_stopped(quantity.of) if other is None else None
        reason = own.briefly or (other.briefly if other is not None else "") or "no number was measured"
        found[value] = reason if least is None else Interval(least, least, math.inf)
    return found


def one_example(results: Results, experiment: str) -> float | None:
    """Return the change of the performance by one test example, in percentage points; None if unknown.

    Each performance is a whole number of examples, divided by how many count: all of them, or for the
    precision/recall break-even point the positive ones. Their number is the common denominator.
    """
    column = _column(results, experiment, PERFORMANCE)
    values = {
        value
        for run in results.runs.runs
        if run.experiment == experiment and (value := run.number(column)) is not None
    }
    shares = [Fraction(value).limit_denominator(MOST_EXAMPLES) for value in values]
    if len(values) < 3 or any(
        abs(float(share) - value) > 1e-12 for share, value in zip(shares, values, strict=True)
    ):
        return None
    count = math.lcm(*(share.denominator for share in shares))
    return 100 / count if count <= MOST_EXAMPLES else None


def exponent(points: list[Point], name: str) -> Fit:
    """Fit a power law to a curve; ``name`` seeds the bootstrap."""
    return fit_power_law({point.x: [point.y.value] for point in points}, name)


def by_place(results: Results, experiment: str, contender: str) -> dict[Place, Group]:
    """Return the runs of a contender by size and point on the axis, in ascending order."""
    runs = results.runs
    return {
        (n, point): runs.group(experiment, contender, n, point)
        for n in runs.sizes(experiment)
        for point in runs.points(experiment) or (None,)
    }


def absent(results: Results, experiment: str, contender: str) -> str:
    """Return in a few words why a contender has no point."""
    if contender not in results.experiment(experiment).contenders:
        return "not in this experiment"
    groups = by_place(results, experiment, contender)
    if not groups:
        return "not run"
    # If the contender itself has runs, the one it is compared with has none.
    return next(iter(groups.values())).briefly or "not measured by the solver compared with"


def _best(groups: Mapping[Place, Group], places: list[Place], column: str) -> list[Place]:
    """Return for each size the first place with the best performance."""
    best: dict[int, tuple[float, Place]] = {}
    for place in places:
        value = groups[place].median(column)
        if value is not None and (place[0] not in best or value > best[place[0]][0]):
            best[place[0]] = (value, place)
    return [place for _, place in best.values()]


def _value(
    own: Group, other: Group | None, column: str, quantity: Quantity, scatter: Scatter | None
) -> Interval | None:
    """Return a quantity of runs, relative to others where it asks for that; None if not measured."""
    unit = 100 if quantity.of == PERFORMANCE else 1
    if quantity.short_of and other is not None:
        relaxed, primal = own.median("certificate.relaxed"), other.median("certificate.primal")
        return Interval.exact((primal - relaxed) / primal) if relaxed is not None and primal else None
    if quantity.divides and other is not None:
        above, below = pairs(own, other, column)
        if not above:
            return None
        found = ratio_interval(above, below, scatter)
        return across_processes(found, processes(own, other)) if column == CPU else found
    if other is None and unit == 1:
        return own.interval(column)
    first, second = own.median(column), 0.0 if other is None else other.median(column)
    return None if first is None or second is None else Interval(unit * (first - second))


def _timed(own: Group, other: Group | None, column: str, quantity: Quantity) -> tuple[float, ...] | None:
    """Return the single values of a median of seconds, or of their ratios; None for other quantities."""
    if column != CPU or not (other is None or quantity.divides):
        return None
    if other is None:
        return tuple(own.values(CPU))
    return tuple(a / b for a, b in zip(*pairs(own, other, CPU), strict=True))


def _other(others: Mapping[Place, Group], place: Place, quantity: Quantity) -> Group | None:
    """Return the runs that a quantity compares with at one place; None if there is no comparison."""
    if quantity.rival:
        return others.get(place, Group(()))
    at = quantity.over_at if quantity.minus_at is None else quantity.minus_at
    return None if at is None else others.get((place[0], float(at)), Group(()))


def _column(results: Results, experiment: str, of: str) -> str:
    """Return the measurements' column that a quantity is ``of``."""
    if of != PERFORMANCE:
        return of
    measures = results.experiment(experiment).measures
    if not measures:
        raise StepError(f"experiment '{experiment}' has no test set")
    return f"{PERFORMANCE}.{measures[0]}"
