"""The quantities of claims, taken from the paper's printed numbers instead of measurements.

Each function is a kind of quantity of `svmrepro.workflow.judgement.quantities` and understands the same
parameters, on all experiments of a claim and the paper's own sizes. It returns no finding where the paper
prints nothing. A quantity that is compared with a printed number has no function here.

A printed number stands for all numbers that round to it: 0.4 for 0.35 to 0.45. Counts are exact. An exponent
is refitted to the printed seconds, with the interval of the fit, if they are of three sizes or more, else it
is the printed exponent. Differences of two contenders' exponents are fitted to the ratios of their seconds,
at the sizes at which both are printed, as those of measurements are. The tables of the paper may print the
seconds of a contender under another name; ``aliases`` (`svmrepro.workflow.analysis.printed_numbers`) says
which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from svmrepro.workflow.analysis.printed_numbers import (
    SCALING,
    SPARSE,
    SUPPORT_VECTOR_COLUMNS,
    TIMINGS,
    PaperNumbers,
    snake,
)
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.judgement._findings import FEWEST_FITTED, Finding, Spec
from svmrepro.workflow.statistics import Interval, at_shared_sizes, fit_power_law, ratios_suffice

_COUNTS = {f"certificate.n_{which}": which for which in SUPPORT_VECTOR_COLUMNS}


def rounded(text: str) -> Interval | None:
    """Return the numbers that round to a printed one: "0.4" is 0.35 to 0.45; None for "N/A"."""
    if not text:
        return None
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    value = float(text)
    return Interval(value, value - half, value + half)


def seconds(numbers: PaperNumbers, experiment: str, n: int, contender: str) -> Interval | None:
    """Return the printed seconds of a contender at the paper's size n; None if there are none."""
    experiment, contender = numbers.alias(experiment, contender)
    found = numbers.text(TIMINGS, experiment, n, f"{snake(contender)}_seconds")
    form = "dense" if contender.endswith("-dense") else "sparse"
    label = contender.removesuffix("-dense")
    return rounded(found or numbers.text(SPARSE, experiment, n, f"{snake(label)}_{form}_seconds"))


def sizes(numbers: PaperNumbers, experiment: str, *contenders: str) -> list[int]:
    """Return the paper's sizes at which it prints seconds of all contenders, ascending."""
    shown = {numbers.alias(experiment, each)[0] for each in contenders}
    known = {n for name in shown for table in (TIMINGS, SPARSE) for n in numbers.sizes(name, table)}
    return sorted(n for n in known if all(seconds(numbers, experiment, n, each) for each in contenders))


def ratio_of(numbers: PaperNumbers, experiment: str, n: int, above: str, below: str) -> Interval | None:
    """Return the ratio of printed seconds with its range by rounding; None if either is missing."""
    top, bottom = (seconds(numbers, experiment, n, contender) for contender in (above, below))
    return None if top is None or bottom is None else _quotient(top, bottom)


def exponent_of(
    numbers: PaperNumbers, experiment: str, contender: str, series: Mapping[int, list[float]]
) -> Interval | None:
    """Return the exponent of a series of printed seconds, or else the printed one; None if there is none."""
    if len(series) >= FEWEST_FITTED:
        # The name in fits.csv: a whole series has the same interval there.
        name = f"{numbers.paper}/{experiment}/{contender}/paper"
        return fit_power_law(series, name).exponent
    return rounded(numbers.text(SCALING, experiment, None, f"{snake(contender)}_exponent"))


def exponents(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return exponents of the printed seconds, or differences of two."""
    if spec.get("of", CPU) != CPU:
        return []
    findings = []
    for name in spec["experiments"]:
        fits = [(name, spec["contender"])]
        if spec.keys() & {"against", "minus"}:
            fits.append((spec.get("against", name), spec.get("minus", spec["contender"])))
        whole = [numbers.series(*fit) for fit in fits]
        series = at_shared_sizes(*whole)
        found, *others = (exponent_of(numbers, *fit, each) for fit, each in zip(fits, series, strict=True))
        for other in others:
            found = found.minus(other) if found and other else None
        if "minus" in spec and found:
            found = _exponent_of_ratios(numbers, name, spec, *whole) or found
        if found:
            findings.append(Finding(name, found, experiment=name))
    return findings


def _exponent_of_ratios(
    numbers: PaperNumbers,
    name: str,
    spec: Spec,
    above: Mapping[int, list[float]],
    below: Mapping[int, list[float]],
) -> Interval | None:
    """Return the exponent of the ratios of printed seconds; None if they have too few sizes."""
    found = {n: [a / b for a, b in zip(above[n], below[n], strict=True)] for n in above if n in below}
    if len(found) < FEWEST_FITTED or not ratios_suffice(found, above, below):
        return None
    return fit_power_law(found, f"{numbers.paper}/{name}/{spec['contender']}/{spec['minus']}/paper").exponent


def ratios(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return ratios of the printed seconds of two contenders."""
    above, below = spec["above"], spec["below"]
    if spec.get("of", CPU) != CPU:
        return []
    return _by_size(
        spec,
        lambda name: sizes(numbers, name, above, below),
        lambda name, n: ratio_of(numbers, name, n, above, below),
    )


def ratios_of_ratios(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return ratios of the printed seconds of two contenders over those of two others."""
    pair, other = (spec["above"], spec["below"]), tuple(spec["base"])

    def look(name: str, n: int) -> Interval | None:
        top, bottom = (ratio_of(numbers, name, n, *each) for each in (pair, other))
        return None if top is None or bottom is None else _quotient(top, bottom)

    return _by_size(spec, lambda name: sizes(numbers, name, *pair, *other), look)


def problem_ratios(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return ratios of the printed seconds of one contender on two problems; no counts are printed."""
    if "of" in spec:
        return []
    contender = spec["contender"]

    def look(name: str, n: int) -> Interval | None:
        against = other_problem(spec, name)
        others = sizes(numbers, against, contender)
        other = others[-1] if others and spec.get("at") == "largest" else n
        top, bottom = seconds(numbers, name, n, contender), seconds(numbers, against, other, contender)
        return None if top is None or bottom is None else _quotient(top, bottom)

    return _by_size(spec, lambda name: sizes(numbers, name, contender), look)


def other_problem(spec: Spec, name: str) -> str:
    """Return the experiment that the quantity compares an experiment with."""
    against: str | Mapping[str, str] = spec["against"]
    return against if isinstance(against, str) else against[name]


def mean_per_example(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return the printed means of a contender, divided by n."""
    table, column = spec["table"], f"{snake(spec['contender'])}_{_printed(spec['of'])}"

    def look(name: str, n: int) -> Interval | None:
        mean = numbers.value(table, name, n, column)
        return None if mean is None else Interval.exact(mean / n)

    return _by_size(spec, lambda name: numbers.sizes(name, table), look)


def curve_optimum(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return the printed values at the optima of curves."""
    found = {name: numbers.optimum(name, spec["x"]) for name in spec["experiments"]}
    return [
        Finding(name, Interval.exact(best[1]), experiment=name)
        for name, best in found.items()
        if best is not None
    ]


def unfinished(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return 1 where the paper prints seconds of others but none of the contender, 0 where it prints them."""
    contender = spec["contender"]
    return _by_size(
        spec,
        lambda name: sorted(numbers.sizes(name)) if numbers.prints_seconds_of(name, contender) else (),
        lambda name, n: Interval.exact(float(seconds(numbers, name, n, contender) is None)),
    )


def values(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return counts of support vectors, or their shares; the papers took them from SMO."""
    columns = [spec["of"], *spec.get("per", ())]
    if "smo" not in spec["contenders"] or not set(columns) <= _COUNTS.keys():
        return []

    def look(name: str, n: int) -> Interval | None:
        top, *parts = (numbers.support_vectors(name, n, _COUNTS[column]) for column in columns)
        whole = sum(part or 0 for part in parts) if parts else 1
        return None if top is None or None in parts or not whole else Interval.exact(top / whole)

    return _by_size(spec, lambda name: sorted(numbers.sizes(name)), look)


def significant(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return the share of data sets with the paper's mark whose means differ in the right direction."""
    table, quantity = spec["table"], _printed(spec["of"])
    columns = [f"{quantity}_significant", *(f"{snake(label)}_{quantity}" for label in spec["contenders"])]
    marked = total = 0
    for name in spec["experiments"]:
        for n in numbers.sizes(name, table):
            mark, first, second = (numbers.text(table, name, n, column) for column in columns)
            if not (mark and first and second):
                continue
            total += 1
            less = float(second) < float(first)
            marked += mark == "yes" and less == (spec["has"] == "less")
    # The paper does not correct; Holm's correction only removes marks, so it changes nothing without marks.
    if not total or (marked and spec.get("corrected")):
        return []
    return [Finding(f"{marked} of {total} data sets", Interval.exact(marked / total))]


def mean_ratios(numbers: PaperNumbers, spec: Spec) -> list[Finding]:
    """Return the ratios of the printed means of two contenders."""
    table, quantity = spec["table"], _printed(spec["of"])

    def look(name: str, n: int) -> Interval | None:
        columns = (f"{snake(spec[key])}_{quantity}" for key in ("above", "below"))
        above, below = (rounded(numbers.text(table, name, n, column)) for column in columns)
        return None if above is None or below is None else _quotient(above, below)

    return _by_size(spec, lambda name: numbers.sizes(name, table), look)


def _by_size(
    spec: Spec, known: Callable[[str], Sequence[int]], look: Callable[[str, int], Interval | None]
) -> list[Finding]:
    """Apply `look` to the known sizes of each experiment that ``at`` and ``from`` select."""
    return [
        Finding(f"{name}, n = {n:,}", found, experiment=name, n=n)
        for name in spec["experiments"]
        for n in _chosen(spec, known(name))
        if (found := look(name, n)) is not None
    ]


def _chosen(spec: Spec, known: Sequence[int]) -> Sequence[int]:
    """Return the sizes that ``at`` and ``from`` select."""
    known = [n for n in known if n >= spec.get("from", 0)]
    at = spec.get("at", "each")
    if at == "largest":
        return known[-1:]
    return known if at == "each" else [n for n in known if n == at]


def _printed(column: str) -> str:
    return "seconds" if column == CPU else column


def _quotient(above: Interval, below: Interval) -> Interval:
    """Return the quotient of positive intervals; the divisor may round to 0."""
    (low, high), (least, most) = above.ends or (above.value,) * 2, below.ends or (below.value,) * 2
    highest = high / least if least > 0 else float("inf")
    return Interval(above.value / below.value if below.value else highest, low / most, highest)
