"""Quantities of claims about permutations: shares of significant data sets, mean ratios, counts.

Each function is a kind of quantity, as in `svmrepro.workflow.judgement.quantities`. ``table`` names the
paper's file of printed numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from svmrepro.workflow.analysis.paired_contenders import (
    Pairing,
    PermutedProblem,
    family,
    mean_count,
    problems,
    relative_mean,
)
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.run_pairs import flagged_sides
from svmrepro.workflow.analysis.runs import CPU, Group
from svmrepro.workflow.analysis.step_lengths import edges, length, lengths
from svmrepro.workflow.judgement import _printed_quantities as printed
from svmrepro.workflow.judgement._findings import FLAGGED, Finding, Spec, without_ends
from svmrepro.workflow.statistics import (
    FEWEST_PAIRS,
    LARGER,
    SMALLER,
    Interval,
    mean_interval,
)

DIRECTIONS = {"less": LARGER, "more": SMALLER}
"""Difference of the second contender -> the mark of the first against it."""


ENOUGH = 90
"""Fewest pairs that are as conclusive as the paper's 100 permutations (Glasmachers 2008, section 7).

It is below 100 because flagged runs may cost the seconds of a few pairs. The deviate of a signed-rank test
grows with the square root of the number of pairs, so ten percent fewer pairs reduce it by five percent.
"""


class _Test(NamedTuple):
    """A paired test on one data set, with its mark by itself and after Holm's correction."""

    problem: PermutedProblem
    pairing: Pairing
    alone: str
    corrected: str


def significant(results: Results, spec: Spec) -> list[Finding]:
    """Share of data sets on which the second of ``contenders`` ``has`` significantly less, or more.

    ``of`` is a column of the measurements, such as iterations. With ``corrected``, p-values are Holm's; the
    label has the counts of both. Data sets with too few pairs for a test do not count. With fewer than
    `ENOUGH` pairs (for seconds: unflagged ones, if there are any) a real difference may go undetected. The
    interval therefore extends by the data sets with so few pairs and no significant difference. For seconds,
    it also extends by those whose difference is significant over the permutations, but not by the interval of
    the mean ratio, which includes the variation between processes. Data sets on which a limit stopped a run,
    or for seconds all pairs are flagged, are not tested: the interval extends by them.
    """
    every = problems(results, spec["experiments"], spec["table"])
    known = [problem for problem in every if problem.n is not None]
    doubtful = [problem for problem in known if _doubtful(results, problem, spec)]
    compared = family(results, known, spec["contenders"], spec["of"])
    direction, alone, held = DIRECTIONS[spec["has"]], compared.marks(), compared.marks(corrected=True)
    # Holm's correction is for all sets of the table, also for those whose own test then does not count.
    tests = [
        _Test(*each)
        for each in zip(known, compared.pairings, alone, held, strict=True)
        if each[0] not in doubtful and len(each[1].first) >= FEWEST_PAIRS
    ]
    counted = [test.problem for test in tests] + doubtful
    if not counted:
        reasons = (results.why_any_missing(problem.name, spec["contenders"], problem) for problem in known)
        reason = next(filter(None, reasons), f"fewer than {FEWEST_PAIRS} pairs cannot reach the level")
        return [Finding("data sets", reason)]
    corrected = spec.get("corrected", False)
    marks = [test.corrected if corrected else test.alone for test in tests]
    clear = [
        spec["of"] != CPU or _mean_differs(results, test.problem, spec)
        for test, mark in zip(tests, marks, strict=True)
        if mark == direction
    ]
    marked, unsure = clear.count(True), clear.count(False)
    sizes = [len(test.pairing.first) for test, mark in zip(tests, marks, strict=True) if not mark]
    few = [size for size in sizes if size < ENOUGH]
    once, after = (
        sum(mark == direction for mark in kind)
        for kind in ([test.alone for test in tests], [test.corrected for test in tests])
    )
    notes = [f"{once} uncorrected, {after} after Holm's correction"]
    if few:
        pairs = f"{min(few)}" if min(few) == max(few) else f"{min(few)} to {max(few)}"
        notes.append(f"{len(few)} without a significant difference at {pairs} pairs")
    if unsure:
        notes.append(f"{unsure} significant, but not by the interval of the mean ratio")
    if doubtful:
        notes.append(f"{len(doubtful)} with stopped or only flagged runs")
    label = f"{marked} of {len(counted)} data sets ({'; '.join(notes)})"
    most = marked + len(few) + unsure + len(doubtful)
    lowest, highest = marked / len(counted), most / len(counted)
    share = Interval(lowest, lowest, highest)
    stand_in = any(results.experiment(problem.name).stand_in_for for problem in counted)
    return [Finding(label, share, _printed_share(results, spec), stand_in=stand_in)]


def _doubtful(results: Results, problem: PermutedProblem, spec: Spec) -> bool:
    """Tell whether permutations are missing because a limit stopped a run, or seconds are upper bounds."""
    groups = [results.group(problem.name, label, problem.n) for label in spec["contenders"]]
    flagged = spec["of"] == CPU and any(flagged_sides(*groups))
    return flagged or any(group.incomplete(spec["of"]) for group in groups)


def _mean_differs(results: Results, problem: PermutedProblem, spec: Spec) -> bool:
    """Tell whether mean seconds are less (or more) by the whole interval of their ratio.

    The test ranks, so the mean may differ less clearly, or the other way.
    """
    ratio = relative_mean(results, problem, spec["contenders"], CPU)
    low, high = (ratio and ratio.ends) or (1.0, 1.0)
    return high < 1.0 if spec["has"] == "less" else low > 1.0


def _of_all(mean: Interval, column: str, *groups: Group) -> Interval:
    """Return a mean without its interval if a limit stopped a run: the others may be the easier ones."""
    return Interval(mean.value) if any(group.incomplete(column) for group in groups) else mean


def mean_ratios(results: Results, spec: Spec) -> list[Finding]:
    """Mean of ``above`` over mean of ``below``, of column ``of``, on the permutations that both solved.

    There is no interval if a limit stopped a run, because the other permutations may be the easier ones.
    """
    contenders = (spec["below"], spec["above"])

    def look(problem: PermutedProblem) -> Interval | str:
        ratio = relative_mean(results, problem, contenders, spec["of"])
        return ratio or results.why_any_missing(problem.name, contenders, problem) or "no pairs"

    def bounded(problem: PermutedProblem) -> Interval | str:
        found = look(problem)
        below, above = (results.group(problem.name, label, problem.n) for label in contenders)
        if isinstance(found, str):
            return found
        if spec["of"] == CPU:
            found = without_ends(found, *flagged_sides(above, below))
        return _of_all(found, spec["of"], below, above)

    findings = _by_problem(results, spec, bounded, printed.mean_ratios)
    return [replace(item, bounded_by=FLAGGED) for item in findings]


def mean_per_example(results: Results, spec: Spec) -> list[Finding]:
    """Mean of column ``of`` over the permutations that ``contender`` solved, divided by n.

    There is no interval if a limit stopped a run, because the other permutations may be the easier ones.
    """

    def look(problem: PermutedProblem) -> Interval | str:
        group = results.group(problem.name, spec["contender"], problem.n)
        values = group.values(spec["of"])
        if not values or problem.n is None:
            return results.why_missing(problem.name, spec["contender"], problem)
        return _of_all(mean_interval([value / problem.n for value in values]), spec["of"], group)

    return _by_problem(results, spec, look, printed.mean_per_example)


def spread(results: Results, spec: Spec) -> list[Finding]:
    """Largest over smallest value of column ``of`` over the permutations that ``contender`` solved.

    It is a lower bound if a limit stopped a run.
    """

    def look(problem: PermutedProblem) -> Interval | str:
        group = results.group(problem.name, spec["contender"], problem.n)
        values = group.values(spec["of"])
        if len(values) > 1 and min(values) > 0:
            found = max(values) / min(values)
            return Interval(found, found, math.inf) if group.incomplete(spec["of"]) else Interval.exact(found)
        reason = results.why_missing(problem.name, spec["contender"], problem)
        return "one permutation" if values else reason

    return _by_problem(results, spec, look)


def printed_counts(results: Results, spec: Spec) -> list[Finding]:
    """Relative absolute difference of a mean count from the paper's; 0 up to ``slack`` support vectors.

    ``which``: support_vectors or bounded_support_vectors; or the paper's column with which the mean of the
    column ``of`` is compared. The interval is that of a mean over permutations, and none if a limit stopped a
    run. The count of a problem of a single sample is exact.
    """

    def look(problem: PermutedProblem) -> Interval | str:
        said = results.numbers.value(spec["table"], problem.name, problem.n_printed, spec["which"])
        group = results.group(problem.name, spec["contender"], problem.n)
        if "of" in spec:
            values = group.values(spec["of"])
            mean = mean_interval(values) if values else None
        else:
            mean = mean_count(group, spec["which"])
        if problem.n is not None and problem.n_paper is None:
            return "not the paper's size"
        if said is None or mean is None:
            reason = results.why_missing(problem.name, spec["contender"], problem)
            return reason or "the paper has no number"
        if len(results.experiment(problem.name).seeds) == 1:
            mean = Interval.exact(mean.value)
        return _off(_of_all(mean, spec.get("of", spec["which"]), group), said, spec.get("slack", 0))

    return _by_problem(results, spec, look)


def _off(mean: Interval, said: float, slack: float) -> Interval:
    """Return the relative absolute difference of an interval from a printed number, 0 up to a slack."""

    def off(count: float) -> float:
        return 0.0 if abs(count - said) <= slack else abs(count - said) / max(said, 1.0)

    if mean.low is None or mean.high is None:
        return Interval(off(mean.value), None, None)
    ends = off(mean.low), off(mean.high)
    return Interval(off(mean.value), 0.0 if mean.low <= said <= mean.high else min(ends), max(ends))


def planned_lengths(results: Results, spec: Spec) -> list[Finding]:
    """Share of a contender's planned steps that are ``longer`` and ``shorter`` than given lengths.

    Lengths are relative to the Newton step, minus 1. Only bins entirely beyond a length count. Counts are
    summed over the permutations. With ``plain: true`` the steps are those that were not planned.
    """
    findings = []
    for name in spec["experiments"]:
        experiment = results.experiment(name)
        for n in experiment.sizes:
            label = f"{experiment.title}, n = {n:,}"
            plain, planned, _ = lengths(results, name, spec["contender"], n)
            steps = plain if spec.get("plain") else planned
            found: Interval | str = results.group(name, spec["contender"], n).reason or "no step was counted"
            if steps.sum():
                ends = np.array([length(place) for place in edges(steps.size)])
                beyond = ends[:-1] >= spec.get("longer", -math.inf)
                beyond &= ends[1:] <= spec.get("shorter", math.inf)
                found = Interval.exact(float(steps[beyond].sum() / steps.sum()))
            findings.append(Finding(label, found, None, name, n))
    return findings


def _by_problem(
    results: Results,
    spec: Spec,
    look: Callable[[PermutedProblem], Interval | str],
    paper: Callable[[PaperNumbers, Spec], list[Finding]] = lambda numbers, spec: [],
) -> list[Finding]:
    """Return a finding for each problem, with the one of the paper's that ``paper`` has at its size."""
    findings = []
    for problem in problems(results, spec["experiments"], spec["table"]):
        label = f"{problem.title}, n = {problem.size:,}"
        theirs = paper(results.numbers, {**spec, "experiments": [problem.name]})
        said = [item.interval.value for item in theirs if item.interval and item.n == problem.n_paper]
        number = said[0] if said else None
        findings.append(Finding(label, look(problem), number, problem.name, problem.size))
    return findings


def _printed_share(results: Results, spec: Spec) -> float | None:
    """Return the share of data sets with the paper's mark; None if its table does not test the quantity."""
    if spec["has"] != "less":
        return None
    every = {**spec, "experiments": results.numbers.experiments(spec["table"]), "corrected": False}
    found = printed.significant(results.numbers, every)
    return found[0].interval.value if found and found[0].interval else None
