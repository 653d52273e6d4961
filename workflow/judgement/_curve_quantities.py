"""Quantities of claims over n, C or eps: slopes and values of curves.

Parameters, besides those of a curve's quantity: ``contender``, ``x``, and the range ``from`` ... ``to`` of
the parameter, ends included.
"""

from __future__ import annotations

from operator import itemgetter

from svmrepro.workflow.analysis.curves import (
    PERFORMANCE,
    Point,
    absent,
    curve,
    exponent,
    gaps,
    one_example,
    unknown_sides,
)
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Quantity
from svmrepro.workflow.judgement._findings import FEWEST_FITTED, ONLY_FLAGGED, Finding, Spec, without_ends
from svmrepro.workflow.statistics import Interval

KEYS = frozenset(Quantity.__struct_fields__)
OPTIONAL = KEYS | {"from", "to"}


def curve_exponents(results: Results, spec: Spec) -> list[Finding]:
    """Fit slopes of log quantity against log parameter.

    As in `Runs.series`, seconds of flagged runs, and points at which the time limit stopped a run, are left
    out: they are bounds, which would turn the line.
    """
    findings = []
    for name in spec["experiments"]:
        measured = [point for point in _points(results, name, spec) if point.y.value > 0]
        points = [point for point in measured if not (point.flagged or point.stopped)]
        reason = f"{len(points)} of at least {FEWEST_FITTED} values measured"
        if not measured:
            reason = absent(results, name, spec["contender"])
        elif all(point.flagged for point in measured):
            reason = ONLY_FLAGGED
        label = f"{name}/{spec['contender']}/{spec['x']}/{spec.get('of', '')}"
        slope = exponent(points, label).exponent if len(points) >= FEWEST_FITTED else None
        findings.append(Finding(name, slope or reason, None, name))
    return findings


def curve_values(results: Results, spec: Spec) -> list[Finding]:
    """Return the quantity at each value of the parameter; a count is exact, also of a single run.

    A performance is known to one test example, so its interval is as much to either side. There is none if
    the number of test examples cannot be told.

    A value that was not solved has a finding, too: a lower bound of a count that a limit stopped, or the
    reason.
    """
    findings = []
    of = spec.get("of", CPU)
    for name in spec["experiments"]:
        points = _points(results, name, spec)
        beside = _gaps(results, name, spec)
        if not points and not any(isinstance(found, Interval) for found in beside.values()):
            findings.append(Finding(name, absent(results, name, spec["contender"]), None, name))
            continue
        symbol = {"C_total": "C"}.get(spec["x"], spec["x"])
        step = one_example(results, name) if of == PERFORMANCE else None
        known = [(x, found, "a limit") for x, found in beside.items()]
        for point in points:
            found = point.y if of == CPU else Interval.exact(point.y.value)
            # What is compared with itself does not differ on any test set.
            if of == PERFORMANCE and (point.at is None or point.at != spec.get("minus_at")):
                found = _to_one_example(point.y.value, step)
            sides = unknown_sides(results, name, spec["contender"], _quantity(spec), point)
            known.append((point.x, without_ends(found, *sides), "flagged or stopped runs"))
        for x, each, by in sorted(known, key=itemgetter(0)):
            findings.append(Finding(f"{name}, {symbol} = {x:,g}", each, experiment=name, bounded_by=by))
    return findings


def curve_optimum(results: Results, spec: Spec) -> list[Finding]:
    """Return the value of the parameter with the best performance on the test part.

    The interval spans all values whose performance is the best to within one test example.
    """
    findings = []
    for name in spec["experiments"]:
        points = _points(results, name, {**spec, "of": PERFORMANCE})
        found: Interval | str = absent(results, name, spec["contender"])
        if points:
            best = max(points, key=lambda point: point.y.value)
            step = one_example(results, name) or 0.0
            near = [point.x for point in points if point.y.value >= best.y.value - 1.0001 * step]
            found = Interval(best.x, min(near), max(near))
        printed = results.numbers.optimum(name, spec["x"])
        findings.append(Finding(name, found, None if printed is None else printed[1], name))
    return findings


def _to_one_example(value: float, step: float | None) -> Interval:
    """Return a performance with its interval of one test example, the ``step``, to either side."""
    if step is None:
        return Interval(value)
    # Rounded, so that two examples that cancel leave no trace, and without a negative zero.
    return Interval(value, round(value - step, 9) + 0.0, round(value + step, 9) + 0.0)


def _points(results: Results, name: str, spec: Spec) -> list[Point]:
    """Return the points within the range ``from`` ... ``to``."""
    if spec["contender"] not in results.experiment(name).contenders:
        return []
    points = curve(results, name, spec["contender"], spec["x"], _quantity(spec))
    return [point for point in points if _within(spec, point.x)]


def _gaps(results: Results, name: str, spec: Spec) -> dict[float, Interval | str]:
    """Return what is known where there is no point, within the range ``from`` ... ``to``."""
    if spec["contender"] not in results.experiment(name).contenders:
        return {}
    found = gaps(results, name, spec["contender"], spec["x"], _quantity(spec))
    return {x: each for x, each in found.items() if _within(spec, x)}


def _quantity(spec: Spec) -> Quantity:
    return Quantity(**{key: spec[key] for key in KEYS if key in spec})


def _within(spec: Spec, x: float) -> bool:
    low, high = spec.get("from", 0.0), spec.get("to", float("inf"))
    return bool(low <= x <= high)
