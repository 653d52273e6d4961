"""Quantities of claims over n, C or eps: slopes and values of curves.

Parameters, besides those of a curve's quantity: ``contender``, ``x``, and the range ``from`` ... ``to`` of
the parameter, ends included.
"""

from __future__ import annotations

from svmrepro.workflow.analysis.curves import PERFORMANCE, Point, absent, curve, exponent, one_example
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.configuration.model import Quantity
from svmrepro.workflow.judgement._findings import FEWEST_FITTED, ONLY_FLAGGED, Finding, Spec
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
    """
    findings = []
    of = spec.get("of", CPU)
    for name in spec["experiments"]:
        points = _points(results, name, spec)
        if not points:
            findings.append(Finding(name, absent(results, name, spec["contender"]), None, name))
        symbol = {"C_total": "C"}.get(spec["x"], spec["x"])
        step = one_example(results, name) if of == PERFORMANCE else None
        for point in points:
            found = point.y if of == CPU else Interval.exact(point.y.value)
            # What is compared with itself does not differ on any test set.
            if of == PERFORMANCE and (point.at is None or point.at != spec.get("minus_at")):
                found = _to_one_example(point.y.value, step)
            findings.append(Finding(f"{name}, {symbol} = {point.x:,g}", found, experiment=name))
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
    # Rounded, so that two examples that cancel leave no trace.
    return Interval(value, round(value - step, 9), round(value + step, 9))


def _points(results: Results, name: str, spec: Spec) -> list[Point]:
    """Return the points within the range ``from`` ... ``to``."""
    if spec["contender"] not in results.experiment(name).contenders:
        return []
    quantity = Quantity(**{key: spec[key] for key in KEYS if key in spec})
    low, high = spec.get("from", 0.0), spec.get("to", float("inf"))
    points = curve(results, name, spec["contender"], spec["x"], quantity)
    return [point for point in points if low <= point.x <= high]
