"""Curves over n, C or eps: the points of one contender on one experiment.

A *quantity* is a mapping of the YAML:

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmrepro.workflow.analysis.intervals import Interval, median_interval
from svmrepro.workflow.analysis.power_law import Fit, fit_power_law
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU, Group, pairs
from svmrepro.workflow.errors import StepError

AXES = {"n": "training examples", "C_total": "C (n times the bound of a multiplier)", "eps": "ε"}
"""Parameter -> axis label."""

KEYS = frozenset({"of", "minus", "minus_at", "over", "over_at", "short_of", "best"})
"""The keys of a quantity."""

PERFORMANCE = "performance"

Place = tuple[int, float | None]


@dataclass(frozen=True)
class Point:
    """A median with its interval, at one value of the parameter."""

    x: float
    y: Interval


def curve(
    results: Results, experiment: str, contender: str, x: str, quantity: Mapping[str, Any]
) -> list[Point]:
    """Return the measured points of a curve, in ascending order.

    Parameters
    ----------
    results : Results
        Results with the experiment loaded.
    experiment, contender : str
        Names of the experiment and the contender.
    x : {"n", "C_total", "eps"}
        The parameter. For C_total and eps, the largest size with any point is used.
    quantity : mapping
        See the module docstring.

    Raises
    ------
    StepError
        If ``x`` is neither n nor the experiment's axis.
    """
    axis = results.experiment(experiment).axis
    if x not in ("n", axis):
        raise StepError(f"experiment '{experiment}' has no axis '{x}'")
    groups = by_place(results, experiment, contender)
    rival = next((quantity[key] for key in ("minus", "over", "short_of") if key in quantity), contender)
    others = groups if rival == contender else by_place(results, experiment, rival)
    column = _column(results, experiment, quantity)
    found: dict[float, dict[Place, Interval]] = {}
    for place in _chosen(results, experiment, groups, x, quantity):
        value = _value(groups[place], _other(others, place, quantity), column, quantity)
        if value is not None:
            n, point = place
            key = float(n) if x == "n" or point is None else point
            found.setdefault(key, {})[place] = value
    return [Point(key, places[max(places)]) for key, places in sorted(found.items())]


def exponent(points: list[Point], name: str) -> Fit:
    """Fit a power law to a curve; ``name`` seeds the bootstrap."""
    return fit_power_law({point.x: [point.y.value] for point in points}, name)


def by_place(results: Results, experiment: str, contender: str) -> dict[Place, Group]:
    """Return the runs of a contender by size and point on the axis."""
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


def _chosen(
    results: Results,
    experiment: str,
    groups: Mapping[Place, Group],
    x: str,
    quantity: Mapping[str, Any],
) -> list[Place]:
    """Return the places of a curve's points: all, the best per size, or those of the largest size."""
    solved = [place for place, group in groups.items() if group.solved]
    if quantity.get("best"):
        column = _column(results, experiment, {"of": PERFORMANCE})
        best: dict[int, tuple[float, Place]] = {}
        for place in sorted(solved, key=lambda place: (place[0], place[1] or 0.0)):
            value = groups[place].median(column)
            if value is not None and (place[0] not in best or value > best[place[0]][0]):
                best[place[0]] = (value, place)
        return [place for _, place in best.values()]
    if x == "n" or not solved:
        return [place for place in solved if place[1] is None or x != "n"]
    largest = max(n for n, _ in solved)
    return [place for place in solved if place[0] == largest]


def _value(own: Group, other: Group | None, column: str, quantity: Mapping[str, Any]) -> Interval | None:
    """Return a quantity of runs, relative to others where it asks for that; None if not measured."""
    if other is None:
        if quantity.get("of") != PERFORMANCE:
            return own.interval(column)
        value = own.median(column)
        return None if value is None else Interval.exact(100 * value)
    if "short_of" in quantity:
        relaxed, primal = own.median("certificate.relaxed"), other.median("certificate.primal")
        if relaxed is None or not primal:
            return None
        return Interval.exact((primal - relaxed) / primal)
    if "over" in quantity or "over_at" in quantity:
        above, below = pairs(own, other, column)
        return median_interval([a / b for a, b in zip(above, below, strict=True)]) if above else None
    first, second = own.median(column), other.median(column)
    if first is None or second is None:
        return None
    return Interval.exact((100 if quantity.get("of") == PERFORMANCE else 1) * (first - second))


def _other(others: Mapping[Place, Group], place: Place, quantity: Mapping[str, Any]) -> Group | None:
    """Return the runs that a quantity compares with at one place; None if there is no comparison."""
    if quantity.keys() & {"minus", "over", "short_of"}:
        return others.get(place, Group(()))
    for key in ("minus_at", "over_at"):
        if key in quantity:
            return others.get((place[0], float(quantity[key])), Group(()))
    return None


def _column(results: Results, experiment: str, quantity: Mapping[str, Any]) -> str:
    """Return the measurements' column that a quantity refers to."""
    of = str(quantity.get("of", CPU))
    if of != PERFORMANCE:
        return of
    measures = results.experiment(experiment).measures
    if not measures:
        raise StepError(f"experiment '{experiment}' judges nothing on a test set")
    return f"{PERFORMANCE}.{measures[0]}"
