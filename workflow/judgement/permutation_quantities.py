"""What claims about permutations measure: shares of data sets with a significant difference, means, counts.

Each function is a kind of quantity, as in `svmrepro.workflow.judgement.quantities`. ``table`` names the
paper's file with its own numbers.
"""

from __future__ import annotations

import numpy as np
from svmrepro.workflow.analysis.intervals import Interval, mean_ratio
from svmrepro.workflow.analysis.paired_tests import FEWEST, LARGER, SMALLER
from svmrepro.workflow.analysis.permutations import (
    PermutedProblem,
    family,
    mean_count,
    pair_up,
    problems,
    why_missing,
)
from svmrepro.workflow.analysis.printed_numbers import snake
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import CPU
from svmrepro.workflow.analysis.step_lengths import edges, length, lengths
from svmrepro.workflow.judgement.findings import Finding, Spec

DIRECTIONS = {"less": LARGER, "more": SMALLER}
"""What the second of two contenders has -> the mark of the first against it."""


ENOUGH = 90
"""Pairs that can show what the paper's 100 permutations of each data set (Glasmachers 2008, section 7) could.

Not all 100: the deviate of a signed-rank test grows with the root of the pairs, so that a tenth less, as the
seconds of a few flagged runs are, takes a twentieth of it.
"""


def significant(results: Results, spec: Spec) -> list[Finding]:
    """Share of the data sets on which the second of ``contenders`` ``has`` significantly less, or more.

    ``of`` is a column of the measurements, such as iterations; with ``corrected`` the probabilities are
    Holm's. Data sets with too few pairs for any test do not count. Where a data set has fewer than
    `ENOUGH` (of seconds, unflagged ones if it has any), a difference may be there that so few cannot show:
    those of them that are significant neither way make the interval's width.
    """
    rows = [problem for problem in _problems(results, spec) if problem.n is not None]
    compared = family(results, rows, spec["contenders"], spec["of"])
    if not compared.tested:
        reasons = [why_missing(results, problem, label) for problem in rows for label in spec["contenders"]]
        reason = next(filter(None, reasons), f"fewer than {FEWEST} pairs cannot reach the level")
        return [Finding("data sets", None, reason)]
    corrected = spec.get("corrected", False)
    marked = compared.count(DIRECTIONS[spec["has"]], corrected=corrected)
    label = f"{marked} of {compared.tested} data sets"
    few = compared.undecided(ENOUGH, corrected=corrected)
    if few:
        pairs = f"{min(few)}" if min(few) == max(few) else f"{min(few)} to {max(few)}"
        label += f" ({len(few)} significant neither way with {pairs} pairs)"
    lowest, highest = marked / compared.tested, (marked + len(few)) / compared.tested
    share = Interval(lowest, lowest, highest)
    return [Finding(label, share, "", _printed_share(results, spec))]


def mean_ratios(results: Results, spec: Spec) -> list[Finding]:
    """Mean of ``above`` over mean of ``below``, ``of`` a column, on the permutations that both solved."""
    findings = []
    for problem in _problems(results, spec):
        label = _label(problem)
        paper = _printed_ratio(results, problem, spec)
        pairing = pair_up(results, problem, (spec["below"], spec["above"]), spec["of"])
        if pairing.first:
            findings.append(Finding(label, mean_ratio(pairing.second, pairing.first), "", paper))
            continue
        reasons = [why_missing(results, problem, spec[key]) for key in ("below", "above")]
        findings.append(Finding(label, None, next(filter(None, reasons), "no pairs"), paper))
    return findings


def printed_counts(results: Results, spec: Spec) -> list[Finding]:
    """Relative difference, without sign, of a mean count from the paper's; none up to ``slack`` vectors.

    ``which``: support_vectors or bounded_support_vectors.
    """
    findings = []
    for problem in _problems(results, spec):
        label = _label(problem)
        said = results.numbers.value(spec["table"], problem.name, problem.n_printed, spec["which"])
        reason = why_missing(results, problem, spec["contender"])
        mean = mean_count(results.group(problem.name, spec["contender"], problem.n), spec["which"])
        if problem.n is not None and problem.n_paper is None:
            reason = "not the paper's size"
        if reason or said is None or mean is None:
            findings.append(Finding(label, None, reason or "the paper has no number"))
            continue
        off = abs(mean.value - said)
        share = 0.0 if off <= spec.get("slack", 0) else off / max(said, 1.0)
        findings.append(Finding(label, Interval.exact(share)))
    return findings


def planned_lengths(results: Results, spec: Spec) -> list[Finding]:
    """Share of the planned steps of a contender that are ``longer``, or ``shorter``, than so much.

    In units of Newton's step, less 1, by bins that lie beyond it as a whole; summed over the permutations.
    """
    findings = []
    for name in spec["experiments"]:
        experiment = results.experiment(name)
        for n in experiment.sizes:
            label = f"{experiment.title}, n = {n:,}"
            _, planned, _ = lengths(results, name, spec["contender"], n)
            if not planned.sum():
                reason = results.group(name, spec["contender"], n).reason or "no step was planned"
                findings.append(Finding(label, None, reason))
                continue
            ends = np.array([length(place) for place in edges(planned.size)])
            beyond = ends[1:] <= spec["shorter"] if "shorter" in spec else ends[:-1] >= spec["longer"]
            findings.append(Finding(label, Interval.exact(float(planned[beyond].sum() / planned.sum()))))
    return findings


def _problems(results: Results, spec: Spec) -> list[PermutedProblem]:
    return problems(results, spec["experiments"], spec["table"])


def _label(problem: PermutedProblem) -> str:
    return f"{problem.title}, n = {problem.row.size:,}"


def _printed_share(results: Results, spec: Spec) -> float | None:
    """Return the share of the data sets that bear the paper's mark; None for what its table does not test."""
    numbers, table = results.numbers, spec["table"]
    what = "seconds" if spec["of"] == CPU else spec["of"]
    lines = [(name, n) for name in numbers.experiments(table) for n in numbers.sizes(name, table)]
    columns = [f"{what}_significant", *(f"{snake(label)}_{what}" for label in spec["contenders"])]
    printed = all(numbers.text(table, *line, column) for line in lines for column in columns)
    if spec["has"] != "less" or not lines or not printed:
        return None
    return sum(numbers.text(table, *line, columns[0]) == "yes" for line in lines) / len(lines)


def _printed_ratio(results: Results, problem: PermutedProblem, spec: Spec) -> float | None:
    column = "seconds" if spec["of"] == CPU else spec["of"]
    above, below = (
        results.numbers.value(spec["table"], problem.name, problem.n_paper, f"{snake(spec[key])}_{column}")
        for key in ("above", "below")
    )
    return above / below if above is not None and below else None
