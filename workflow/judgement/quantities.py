"""What a claim measures: each kind of quantity turns results into findings with intervals.

A claim's YAML names a kind and its parameters. The functions here look the numbers up and do not judge them.
A `Finding` without a number carries the reason.

Common parameters: ``experiments`` (a list of names), and for quantities by size ``at``: ``each`` (default),
``largest`` (the largest size at which everything needed was measured) or one size. ``from`` omits smaller
sizes. Ratios and comparisons with printed counts use the paper's own sizes only. Exponents are fitted to all
sizes. ``sizes: own`` leaves those between the paper's out: of an agreement, and of first rules on exponents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from statistics import median_high
from typing import NamedTuple

from svmrepro.workflow.analysis.fits import (
    MEASURED,
    OWN_SIZES,
    exponent_of_ratios,
    own_sizes,
    scatter_of_repeats,
    scatter_of_runs,
)
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.results import Results, SizeRow, display_name
from svmrepro.workflow.analysis.run_pairs import flagged_sides, unknown_ends
from svmrepro.workflow.analysis.runs import CPU, QUANTITIES, WALL, Group
from svmrepro.workflow.journal.journal_line import STOPPED
from svmrepro.workflow.judgement import _curve_quantities as curves
from svmrepro.workflow.judgement import _grid_quantities as grids
from svmrepro.workflow.judgement import _permutation_quantities as permutations
from svmrepro.workflow.judgement import _printed_quantities as printed
from svmrepro.workflow.judgement._findings import (
    FEWEST_FITTED,
    FLAGGED,
    ONLY_FLAGGED,
    Finding,
    Spec,
    without_ends,
)
from svmrepro.workflow.statistics import (
    PROCESS_SPREAD,
    Interval,
    Scatter,
    across_processes,
    at_shared_sizes,
    fit_power_law,
    half_slopes,
    noise_of_slope,
    ratio_interval,
)

SUPPORT_VECTORS = {"nonbound": ("nonbound",), "bound": ("bound",), "total": ("nonbound", "bound")}
"""Parameter ``which`` of the kind support-vectors -> the counts whose sum it is."""


def exponent(results: Results, spec: Spec) -> list[Finding]:
    """Exponents of ``contender``, ``of`` cpu_seconds, work, or any numeric column of the measurements.

    With ``against``, another experiment, or ``minus``, another contender, its exponent is subtracted. That of
    another contender is a fit to the ratios of both (`exponent_of_ratios`). That of another experiment, or of
    a contender with too few sizes in common, is a fit of its own, to the sizes that both have if these are
    enough (`at_shared_sizes`), and the interval is that of `Interval.minus`.
    """
    quantity, own = spec.get("of", CPU), spec.get("sizes") == "own"
    findings = []
    for name in spec["experiments"]:
        fits = [(name, spec["contender"])]
        if spec.keys() & {"against", "minus"}:
            fits.append((spec.get("against", name), spec.get("minus", spec["contender"])))
        whole = [_series(results, *fit, quantity, own=own) for fit in fits]
        series = at_shared_sizes(*whole)
        exponents = [
            _exponent(results, *fit, quantity, each, own=own, whole=len(each) == len(every))
            for fit, each, every in zip(fits, series, whole, strict=True)
        ]
        if "minus" in spec and not any(isinstance(each, str) for each in exponents):
            both = [contender for _, contender in fits]
            if paired := exponent_of_ratios(results.runs, name, both, quantity):
                exponents, series = [paired[0]], [paired[1]]
        found, *others = exponents
        for other in others:
            found = _difference(found, other)
        said = [results.numbers.exponent(*fit) for fit in fits]
        known = [each for each in said if each is not None]
        paper = None
        if quantity in QUANTITIES and len(known) == len(fits):
            paper = round(known[0] - sum(known[1:]), 10)
        n = min(results.largest_solved(*fit) or 0 for fit in fits if fit[0] == name)
        noise = _noise(exponents, series, quantity)
        findings.append(
            Finding(name, found, paper, name, n, fitted=True, noise=noise, halves=_halves(series))
        )
    return findings


def ratio(results: Results, spec: Spec) -> list[Finding]:
    """Ratio ``above`` / ``below`` of two contenders within one process, ``of`` cpu_seconds or work.

    If the time limit stopped one of them, its seconds until then bound the ratio on one side, and the
    interval is open on the other. The same applies if the limit stopped only some repeats, or if all runs of
    one of them are flagged, because their seconds are upper bounds. With ``at: largest``, only sizes that
    both have solved count; a bound at a larger size is the finding's ``later``.
    """
    above, below, quantity = spec["above"], spec["below"], spec.get("of", CPU)
    largest = spec.get("at") == "largest"

    def look(name: str, row: SizeRow, *, bounded: bool = True) -> Interval | str:
        missing = results.why_any_missing(name, (below, above), row)
        found = None if missing else results.ratio(name, row.size, above, below, quantity)
        if found is None:
            bound = bounded and quantity == CPU and _bound_of_ratio(results, name, row, above, below)
            return bound or missing or "no pair was measured in one process"
        return found if quantity != CPU else without_ends(found, *unknown_ends(*groups(name, row.n)))

    def groups(name: str, n: int | None) -> tuple[Group, Group]:
        return results.group(name, above, n), results.group(name, below, n)

    def paper(name: str, row: SizeRow) -> float | None:
        if quantity != CPU or row.n_paper is None:
            return None
        found = printed.ratio_of(results.numbers, name, row.n_paper, above, below)
        return None if found is None else found.value

    findings = _by_size(results, spec, (), partial(look, bounded=not largest), paper=paper, own=True)
    if quantity != CPU:
        return findings
    every = _by_size(results, {**spec, "at": "each"}, (), look, paper=paper, own=True) if largest else []
    later = {item.experiment: item for item in every if item.interval is not None}

    def described(item: Finding) -> Finding:
        if item.interval is None or item.n is None:
            return item
        after = later.get(item.experiment)
        after = after if after is not None and (after.n or 0) > item.n else None
        single = len(results.ratio_values(item.experiment, item.n, above, below, quantity)) == 1
        both = groups(item.experiment, item.n)
        flagged = all(each.solved for each in both) and any(flagged_sides(*both))
        bounded_by = FLAGGED if flagged else item.bounded_by
        return replace(item, single=single, bounded_by=bounded_by, later=after)

    return [described(item) for item in findings]


def ratio_of_ratios(results: Results, spec: Spec) -> list[Finding]:
    """Ratio ``above`` / ``below`` of the seconds of two contenders over that of the two of ``base``.

    All four ran in one process. One repeat or two have the scatter of the repeats of all contenders. There is
    no interval if the time limit stopped a run, or if all runs of a contender are flagged.
    """
    labels = (spec["above"], spec["below"], *spec["base"])

    def look(name: str, row: SizeRow) -> Interval | str:
        groups = [results.group(name, label, row.n) for label in labels]
        above, below, other_above, other_below = ({run.pair: run for run in each.timed} for each in groups)
        ratios = []
        for key in above.keys() & below.keys() & other_above.keys() & other_below.keys():
            a, b, c, d = (runs[key].number(CPU) for runs in (above, below, other_above, other_below))
            if a and b and c and d:
                ratios.append(a * d / (b * c))
        if not ratios:
            return "the four were not measured in one process"
        single = scatter_of_runs(results.runs, results.experiment(name))
        scatter = None if single is None else Scatter(2.0 * single.deviation, single.freedom)
        found = ratio_interval(ratios, [1.0] * len(ratios), scatter)
        open_ends = any(group.all_flagged or group.stopped for group in groups)
        # two ratios, each with a variation of its own
        return without_ends(
            across_processes(found, spread=math.sqrt(2.0) * PROCESS_SPREAD), open_ends, open_ends
        )

    def paper(name: str, row: SizeRow) -> float | None:
        found = printed.ratios_of_ratios(results.numbers, {**spec, "experiments": [name], "at": row.n_paper})
        return found[0].interval.value if found and found[0].interval else None

    return _by_size(results, spec, labels, look, paper=paper, own=True)


def support_vectors(results: Results, spec: Spec) -> list[Finding]:
    """Relative absolute difference of a count from the paper's; ``which``: nonbound, bound, total."""
    kinds = SUPPORT_VECTORS[spec["which"]]

    def look(name: str, row: SizeRow) -> Interval | str:
        counts = [results.numbers.support_vectors(name, row.n_paper, kind) for kind in kinds]
        theirs = 0 if None in counts else sum(part or 0 for part in counts)
        if not theirs:
            return "not a size of the paper"
        group = results.group(name, spec["contender"], row.n)
        medians = [group.median(f"certificate.n_{kind}") for kind in kinds]
        known = [median for median in medians if median is not None]
        if len(known) < len(kinds):
            return "no run reports its support vectors"
        return Interval.exact(abs(sum(known) - theirs) / theirs)

    return _by_size(results, spec, (spec["contender"],), look, own=True)


def value(results: Results, spec: Spec) -> list[Finding]:
    """Column ``of`` for each of ``contenders``, divided by the sum of the columns ``per``.

    The interval is the range over all certified runs, so that the rule applies to every run. With ``zeros:
    left out``, a 0 counts as not measured.
    """
    unseen = spec.get("zeros") == "left out"
    divisors: Sequence[str] = spec.get("per", ())

    def look(contender: str, name: str, row: SizeRow) -> Interval | str:
        values, group = [], results.group(name, contender, row.n)
        for run in group.timed if spec["of"] in (CPU, WALL) else group.solved:
            top = run.number(spec["of"])
            bottom = sum(run.number(column) or 0.0 for column in divisors) if divisors else 1.0
            if top is not None and bottom and (top or not unseen):
                values.append(top / bottom)
        if not values:
            return f"no run reports {spec['of']}" + (" above 0" if unseen else "")
        # One of the values, not the mean of two: a count stays whole.
        return Interval(median_high(values), min(values), max(values))

    return [
        finding
        for label in spec["contenders"]
        for finding in _by_size(
            results, spec, (label,), partial(look, label), said=f", {display_name(label)}"
        )
    ]


def agreement(results: Results, spec: Spec) -> list[Finding]:
    """Relative absolute difference between two ``contenders`` in a column (or sum of columns) ``of``."""
    columns: list[str] = [spec["of"]] if isinstance(spec["of"], str) else spec["of"]

    def look(name: str, row: SizeRow) -> Interval | str:
        sums = []
        for contender in spec["contenders"]:
            group = results.group(name, contender, row.n)
            medians = [median for column in columns if (median := group.median(column)) is not None]
            if len(medians) < len(columns):
                return f"no run reports {' and '.join(columns)}"
            sums.append(sum(medians))
        a, b = sums
        scale = max(abs(a), abs(b))
        return Interval.exact(abs(a - b) / scale if scale else 0.0)

    return _by_size(results, spec, spec["contenders"], look, own=spec.get("sizes") == "own")


def problem_ratio(results: Results, spec: Spec) -> list[Finding]:
    """Ratio of the seconds of one ``contender`` on an experiment to those on the experiment ``against``.

    ``against`` is one experiment for all, or names one for each.
    The sizes are equal, or with ``at: largest`` the largest of each. The problems run in different processes,
    so the interval is that of the quotient of two independent medians. One run or two have the scatter of the
    repeats of all contenders on their problem. The interval is open at one end if all runs of a problem are
    flagged. Both need the same hardware and protocol of timing. ``of: iterations`` is exact.
    """
    quantity = spec.get("of", CPU)
    contender, largest = spec["contender"], spec.get("at") == "largest"

    def median(name: str, group: Group) -> Interval | None:
        values = group.values(quantity)
        if quantity != CPU or group.stopped or not min(values, default=0.0) > 0.0:
            return group.interval(quantity)
        scatter = scatter_of_runs(results.runs, results.experiment(name))
        return ratio_interval(values, [1.0] * len(values), scatter)

    def look(name: str, row: SizeRow) -> Interval | str:
        against = printed.other_problem(spec, name)
        if against not in results.paper.experiments:
            return f"{against} is not part of the {results.scale} scale"
        n = results.largest_solved(against, contender) if largest else row.n
        top, bottom = results.group(name, contender, row.n), results.group(against, contender, n)
        one, other = median(name, top), median(against, bottom)
        if one is None or other is None:
            return bottom.reason or "not measured"
        if min(one.value, other.value) <= 0:
            return "nothing to divide: 0"
        if quantity != CPU:
            return Interval.exact(one.value / other.value)
        if len({run.conditions for run in (*top.timed, *bottom.timed)}) > 1:
            return "measured on different machines, or by different protocols of timing"
        found = across_processes(one).over(across_processes(other))
        return without_ends(found, top.all_flagged, bottom.all_flagged)

    def paper(name: str, row: SizeRow) -> float | None:
        found = printed.problem_ratios(results.numbers, {**spec, "experiments": [name]})
        sized = [item.interval for item in found if largest or item.n == row.n_paper]
        return sized[0].value if sized and sized[0] is not None else None

    findings = _by_size(results, spec, (contender,), look, paper=paper, own=True)
    return [replace(item, bounded_by=FLAGGED) for item in findings]


def unfinished(results: Results, spec: Spec) -> list[Finding]:
    """1 if a limit stopped ``contender`` at a size or at a smaller one, 0 if it solved the problem."""
    contender = spec["contender"]

    def look(name: str, row: SizeRow) -> Interval | str:
        if results.group(name, contender, row.n).solved:
            return Interval.exact(0.0)
        # A time limit is met sooner under other load, or on another machine.
        for group in _groups_up_to(results, name, contender, row):
            if group.stopped or any(run.status in STOPPED - {"time_limit"} for run in group.runs):
                return Interval.exact(1.0)
        return results.why_missing(name, contender, row)

    return _by_size(results, spec, (), look)


def limit_pattern(results: Results, spec: Spec) -> list[Finding]:
    """1 if ``contender`` exceeds its memory limit exactly where the paper's cell is N/A, else 0."""
    contender = spec["contender"]

    def absent(name: str, row: SizeRow) -> bool:
        return row.n_paper is not None and results.numbers.seconds(name, row.n_paper, contender) is None

    def look(name: str, row: SizeRow) -> Interval | str:
        if row.n_paper is None:
            return "not a size of the paper"
        groups = _groups_up_to(results, name, contender, row)
        stopped = any(run.status == "memory_limit" for group in groups for run in group.runs)
        if not stopped and not results.group(name, contender, row.n).solved:
            return results.why_missing(name, contender, row)
        return Interval.exact(1.0 if stopped == absent(name, row) else 0.0)

    return _by_size(
        results, spec, (), look, paper=lambda name, row: 1.0 if absent(name, row) else None, own=True
    )


class ClaimQuantity(NamedTuple):
    """A kind of quantity: what measures it, and its parameters besides ``kind`` and ``experiments``."""

    measure: Callable[[Results, Spec], list[Finding]]
    required: Set[str]
    optional: Set[str]
    timed: bool  # whether it is of seconds, unless ``of`` names another column
    printed: Callable[[PaperNumbers, Spec], list[Finding]] | None = None
    """Takes it from the paper's printed numbers; None if it is not applicable to them."""


CLAIM_QUANTITIES: dict[str, ClaimQuantity] = {
    "exponent": ClaimQuantity(
        exponent, {"contender"}, {"of", "sizes", "against"}, timed=True, printed=printed.exponents
    ),
    "exponent-difference": ClaimQuantity(
        exponent, {"contender", "minus"}, {"of"}, timed=True, printed=printed.exponents
    ),
    "ratio": ClaimQuantity(
        ratio, {"above", "below"}, {"of", "at", "from"}, timed=True, printed=printed.ratios
    ),
    "ratio-of-ratios": ClaimQuantity(
        ratio_of_ratios,
        {"above", "below", "base"},
        {"at", "from"},
        timed=True,
        printed=printed.ratios_of_ratios,
    ),
    "problem-ratio": ClaimQuantity(
        problem_ratio,
        {"contender", "against"},
        {"of", "at", "from"},
        timed=True,
        printed=printed.problem_ratios,
    ),
    "unfinished": ClaimQuantity(
        unfinished, {"contender"}, {"at", "from"}, timed=True, printed=printed.unfinished
    ),
    "support-vectors": ClaimQuantity(support_vectors, {"contender", "which"}, {"at", "from"}, timed=False),
    "value": ClaimQuantity(
        value, {"of", "contenders"}, {"per", "at", "from", "zeros"}, timed=False, printed=printed.values
    ),
    "agreement": ClaimQuantity(agreement, {"of", "contenders"}, {"at", "from", "sizes"}, timed=False),
    "limit-pattern": ClaimQuantity(limit_pattern, {"contender"}, {"at", "from"}, timed=False),
    "significant": ClaimQuantity(
        permutations.significant,
        {"contenders", "of", "has", "table"},
        {"corrected"},
        timed=True,
        printed=printed.significant,
    ),
    "mean-ratio": ClaimQuantity(
        permutations.mean_ratios,
        {"above", "below", "of", "table"},
        set(),
        timed=True,
        printed=printed.mean_ratios,
    ),
    "mean-per-example": ClaimQuantity(
        permutations.mean_per_example,
        {"contender", "of", "table"},
        set(),
        timed=False,
        printed=printed.mean_per_example,
    ),
    "spread": ClaimQuantity(permutations.spread, {"contender", "of", "table"}, set(), timed=False),
    "printed-counts": ClaimQuantity(
        permutations.printed_counts, {"contender", "which", "table"}, {"of", "slack"}, timed=False
    ),
    "curve-exponent": ClaimQuantity(curves.curve_exponents, {"contender", "x"}, curves.OPTIONAL, timed=True),
    "curve-value": ClaimQuantity(curves.curve_values, {"contender", "x"}, curves.OPTIONAL, timed=True),
    "curve-optimum": ClaimQuantity(
        curves.curve_optimum, {"contender", "x"}, set(), timed=False, printed=printed.curve_optimum
    ),
    "grid-share": ClaimQuantity(grids.grid_share, {"contenders"}, {"of"}, timed=True),
    "grid-ratio": ClaimQuantity(grids.grid_ratio, {"above", "below"}, {"of"}, timed=True),
    "planned-lengths": ClaimQuantity(
        permutations.planned_lengths, {"contender"}, {"longer", "shorter", "plain"}, timed=False
    ),
}
"""Kind -> quantity."""


def needs_clock(spec: Spec) -> bool:
    """Whether a quantity rests on measured seconds."""
    of = spec.get("of", CPU if CLAIM_QUANTITIES[spec["kind"]].timed else "")
    columns = {of} if isinstance(of, str) else set(of)
    return bool(columns & {CPU, WALL, grids.PER_ITERATION}) and "short_of" not in spec


def _bound_of_ratio(results: Results, name: str, row: SizeRow, above: str, below: str) -> Interval | None:
    """Return the bound on the ratio of two contenders' seconds if a time limit stopped one of them."""
    for label, other in ((above, below), (below, above)):
        stopped, solved = (results.group(name, each, row.n) for each in (label, other))
        until, seconds = stopped.seconds_until_stopped(solved), solved.median(CPU)
        if until is None or not seconds:
            continue
        scatter = scatter_of_repeats(results.runs, results.experiment(name))
        bound = across_processes(ratio_interval([until], [seconds], scatter))
        if bound.low is None:
            return None
        if label == above:
            return Interval(bound.value, bound.low, math.inf)
        return Interval(1.0 / bound.value, -math.inf, 1.0 / bound.low)
    return None


def _difference(first: Interval | str, second: Interval | str) -> Interval | str:
    """Return a difference, or the first reason why there is none."""
    return first if isinstance(first, str) else second if isinstance(second, str) else first.minus(second)


def _exponent(
    results: Results,
    name: str,
    contender: str,
    quantity: str,
    series: Mapping[float, list[float]],
    *,
    own: bool,
    whole: bool,
) -> Interval | str:
    """Return the exponent of a series, or the reason why there is none.

    A ``whole`` one, of the paper's ``own`` sizes or of all, was fitted before.
    """
    if name not in results.paper.experiments or contender not in results.experiment(name).contenders:
        return "not in this experiment"
    if quantity == CPU and results.runs.only_flagged(name, contender):
        return ONLY_FLAGGED
    source = OWN_SIZES if own and results.experiment(name).nested else MEASURED
    fit = results.fit(name, contender, quantity, source) if whole else None
    if fit is None:
        fit = fit_power_law(series, f"{name}/{contender}/{quantity}")
    if fit.exponent and fit.points >= FEWEST_FITTED:
        return fit.exponent
    return f"{fit.points} of at least {FEWEST_FITTED} sizes measured"


def _noise(
    exponents: Sequence[Interval | str], series: Sequence[Mapping[float, list[float]]], quantity: str
) -> float | None:
    """Return the half-width of an exponent's interval, or of a difference's, by the scatter of runs alone.

    It is None if it is not known, or if the points of each of the ``series`` may lie on a line.
    """
    halves, bent = [], False
    for interval, each in zip(exponents, series, strict=True):
        if isinstance(interval, str) or interval.high is None:
            return None
        noise = noise_of_slope(each, PROCESS_SPREAD if quantity == CPU else 0.0)
        if noise is None:
            return None
        bent |= noise.bent
        halves.append(noise.half if noise.bent else interval.high - interval.value)
    return math.hypot(*halves) if bent else None


def _halves(series: Sequence[Mapping[float, list[float]]]) -> tuple[float, float] | None:
    """Return an exponent, or a difference at shared sizes, over the lower and the upper half of the sizes."""
    first, *others = (half_slopes(each) for each in series)
    if first is None or not others:
        return first
    (other,) = others
    if other is None or series[0].keys() != series[1].keys():
        return None
    return first[0] - other[0], first[1] - other[1]


def _series(
    results: Results, name: str, contender: str, quantity: str, *, own: bool
) -> dict[float, list[float]]:
    """Return the values of the repeats by size, of the paper's ``own`` sizes alone or of all."""
    series = results.runs.series(name, contender, quantity)
    known = results.paper.experiments.get(name)
    return own_sizes(known, series) if own and known is not None else series


def _by_size(
    results: Results,
    spec: Spec,
    contenders: Sequence[str],
    look: Callable[[str, SizeRow], Interval | str],
    *,
    paper: Callable[[str, SizeRow], float | None] = lambda name, row: None,
    said: str = "",
    own: bool = False,
) -> list[Finding]:
    """Apply `look` to the sizes selected by ``at`` and ``from``, experiment by experiment.

    With ``own`` they are the paper's own sizes.

    `look` is called only if all contenders were measured; it returns a number, or why there is none.
    """
    at, smallest = spec.get("at", "each"), spec.get("from", 0)
    findings: list[Finding] = []
    for name in spec["experiments"]:
        every = results.own_rows(name) if own else results.rows(name)
        rows = [row for row in every if row.n is not None and row.n >= smallest]
        if isinstance(at, int):
            rows = [row for row in rows if at in (row.n, row.n_paper)]
        if not rows:
            size = at if isinstance(at, int) else smallest
            reason = f"n = {size:,} is not a size of the {results.scale} scale"
            findings.append(Finding(name, reason, experiment=name))
            continue
        found = []
        for row in rows:
            outcome = results.why_any_missing(name, contenders, row) or look(name, row)
            label = f"{name}{said}, n = {row.size:,}"
            found.append(Finding(label, outcome, paper(name, row), name, row.size))
        if at == "largest":
            measured = [finding for finding in found if finding.interval is not None]
            found = (measured or found)[-1:]
        findings += found
    return findings


def _groups_up_to(results: Results, name: str, contender: str, row: SizeRow) -> list[Group]:
    """Return the runs of a contender at a size and at smaller ones."""
    sizes = [n for n in results.runs.sizes(name) if row.n is not None and n <= row.n]
    return [results.group(name, contender, n) for n in sizes]
