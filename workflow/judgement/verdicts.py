"""Verdicts on a paper's claims, from what was measured and from what the paper prints.

A rule is applied to intervals, not points:

* *holds* - the whole interval satisfies the rule;
* *does not hold* - the whole interval violates it;
* *holds on a stand-in*, *does not hold on a stand-in* - the same, but not on the paper's own data alone;
* *not decided* - the interval straddles the bound; there are too few sizes, repeats or permutations for an
  interval; or there are too few estimates for a sign test. If the points of a fit lie on no line, and the
  repeats' scatter alone would decide, that verdict is added: more repeats would change little. Where
  exponents decide, the text says whose points lie on no line;
* *not decided at this size* - what was measured is smaller than the sizes that decide (``decisive``);
* *not measured here* - with the reason.

Where the time limit stopped a run, the interval of a ratio of seconds has one end only. A ratio at the
largest size that both have solved gives way to such an interval at a larger size, if that violates the rule;
also if that meets it, and only the larger size is one that decides.

A claim may have several findings (experiments, sizes). With ``over: all`` (the default) every finding must
satisfy the rule: one violation decides the claim, otherwise one straddling interval leaves it undecided.
``over: any`` requires one finding to satisfy the rule, ``over: most`` more than half of those measured, and
``over: nearly-all`` nine in ten.
``over: together``, of some first rules, is a one-sided sign test of the estimates: all must satisfy the rule,
there must be at least `FEWEST_TOGETHER` of them, and no interval may lie outside the rule altogether. It
rejects that each is as likely on either side of the bound, so it is about the sets or sizes as a group, not
about each of them, and needs independent estimates. Findings that were not measured are counted and named,
but decide nothing. Findings below the decisive size neither satisfy nor violate a rule.

The same rule is applied to the paper's printed numbers (`svmrepro.workflow.judgement._printed_quantities`),
on all experiments of the claim at the paper's sizes, whatever was measured. A rule that does not hold there
does not follow from the paper's numbers. Where the paper prints no number, or only the one in the
sentence, the rule is *not applicable*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from svmrepro.workflow.analysis.curves import PERFORMANCE, one_example
from svmrepro.workflow.analysis.printed_numbers import TIMINGS, PaperNumbers
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import RELATIVE_GAP
from svmrepro.workflow.judgement._findings import Finding, Spec
from svmrepro.workflow.judgement.claims import (
    BENT,
    FAILS,
    HOLDS,
    STAND_IN,
    STAND_IN_FAILS,
    TOO_SMALL,
    UNASKED,
    UNDECIDED,
    UNMEASURED,
    Claim,
)
from svmrepro.workflow.judgement.quantities import CLAIM_QUANTITIES, value
from svmrepro.workflow.number_text import significant
from svmrepro.workflow.statistics import Interval

FEWEST_TOGETHER = 5
"""Fewest estimates of a one-sided sign test at 0.05: 2 ** -5 < 0.05 < 2 ** -4."""

NEARLY_ALL_SPARES = 0.1
"""Share of the findings that may violate the rule of a claim about "nearly all"."""

_BESIDE = {
    "certificate.max_violation": (RELATIVE_GAP, "relative duality gap"),
    "certificate.pair_gap": (RELATIVE_GAP, "relative duality gap"),
    "certificate.gap": ("certificate.max_violation", "KKT violation"),
    RELATIVE_GAP: ("certificate.max_violation", "KKT violation"),
}
"""Column of the certificate -> column and name of the quantity reported with it. Neither bounds the other."""


@dataclass(frozen=True)
class Verdict:
    """A claim, its findings, and the decision."""

    claim: Claim
    verdict: str
    measured: str
    findings: tuple[Finding, ...]
    on_paper: str = UNASKED  # the verdict on the paper's printed numbers
    printed: str = ""  # those numbers, in words
    earlier: str = ""  # the verdict by the claim's first rule, if that was revised


def judge(claim: Claim, results: Results) -> Verdict:
    """Measure and judge one claim, also by its first rule, and put its rule to the paper's own numbers."""
    on_paper, printed = judge_printed(claim, results.numbers)
    earlier, _, _ = _judge_measured(claim.before, results) if claim.before else ("", "", ())
    found, said, findings = _judge_measured(claim, results)
    return Verdict(claim, found, said, tuple(findings), on_paper, printed, earlier)


def _judge_measured(claim: Claim, results: Results) -> tuple[str, str, Sequence[Finding]]:
    """Return the verdict on a claim, what was measured in words, and the findings."""
    if results.scale not in claim.scales:
        return UNMEASURED, f"judged at {' and '.join(claim.scales)} scale only", ()
    known = [name for name in claim.quantity["experiments"] if name in results.paper.experiments]
    if not known:
        return UNMEASURED, "none of its experiments is part of this configuration", ()
    spec = {**claim.quantity, "experiments": known}
    findings = [
        _that_counts(claim, results, item) for item in CLAIM_QUANTITIES[spec["kind"]].measure(results, spec)
    ]
    found = combined_verdict(claim, findings)
    noise = noise_verdict(claim, findings)
    bent = f"{BENT}{noise}, but the points do not lie on a line" if noise else ""
    if found in (HOLDS, FAILS):
        bent = _bent_text(claim, findings)
    said = "; ".join(filter(None, (_findings_text(claim, findings), bent, _beside(results, spec))))
    if found != combined_verdict(claim, [item for item in findings if not item.stand_in]):
        found = {HOLDS: STAND_IN, FAILS: STAND_IN_FAILS}.get(found, found)
    return found, said, findings


def judge_printed(claim: Claim, numbers: PaperNumbers) -> tuple[str, str]:
    """Return the verdict on the paper's printed numbers, and these numbers in words."""
    asked = None if claim.restates else CLAIM_QUANTITIES[claim.quantity["kind"]].printed
    findings = asked(numbers, claim.quantity) if asked is not None else []
    if not findings:
        return UNASKED, ""
    return combined_verdict(claim, findings), _findings_text(claim, findings)


def _that_counts(claim: Claim, results: Results, finding: Finding) -> Finding:
    """Return a finding, marked, or the bound at a larger size that takes its place.

    A bound that violates the rule counts. One that meets it counts only if the finding decides nothing.
    """
    own = _qualified(claim, results, finding)
    if finding.later is None:
        return own
    later = _qualified(claim, results, finding.later)
    counted = (HOLDS, FAILS) if own.deciding_size else (FAILS,)
    return later if _finding_verdict(claim, later) in counted else own


def _qualified(claim: Claim, results: Results, finding: Finding) -> Finding:
    """Mark a finding on a stand-in, or below the size that decides."""
    experiment = results.paper.experiments.get(finding.experiment)
    if experiment is None:
        return finding
    stand_in = bool(experiment.stand_in_for)
    needed, n = _smallest_deciding_size(claim, results.numbers, finding.experiment), finding.n
    if n is not None and needed:
        n = results.paper_size(finding.experiment, n) or n
    return replace(finding, stand_in=stand_in, deciding_size=needed if n is not None and n < needed else 0)


def _smallest_deciding_size(claim: Claim, numbers: PaperNumbers, experiment: str) -> int:
    """Return the smallest size of an experiment that decides a claim, 0 if all do.

    For an experiment that the paper does not have, the smallest of the paper's sizes in the claim counts.
    """
    if isinstance(claim.decisive, dict):
        return claim.decisive.get(experiment, 0)
    if claim.decisive != "paper":
        return claim.decisive
    table = claim.quantity.get("table", TIMINGS)
    largest = {name: max(numbers.sizes(name, table), default=0) for name in claim.quantity["experiments"]}
    return largest.get(experiment) or min(filter(None, largest.values()), default=0)


def _beside(results: Results, spec: Spec) -> str:
    """Report what a reader needs to weigh a claim.

    That is the duality gap beside KKT violations, the violation beside the gap, and beside test performances
    how much one example counts in the smallest test set.
    """
    if spec["kind"] == "curve-value" and spec.get("of") == PERFORMANCE:
        steps = [(step, name) for name in spec["experiments"] if (step := one_example(results, name))]
        step, name = max(steps, default=(0.0, ""))
        return f"one test example counts up to {step:.2g} ({name})" if steps else ""
    column, words = _BESIDE.get(str(spec.get("of")), ("", ""))
    if spec["kind"] != "value" or not column:
        return ""
    found = [
        (item.interval.high, item.label)
        for item in value(results, {**spec, "of": column, "per": ()})
        if item.interval is not None and item.interval.high is not None
    ]
    if not found:
        return ""
    most, label = max(found, key=itemgetter(0))
    return f"largest {words} {most:.2g} ({label})"


def record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with its findings for programs: numbers in full, and where they were measured.

    ``low`` or ``high`` alone is a bound, set by a limit, on a number that was not measured. ``n`` is given if
    a finding belongs to one size, ``single`` tells a ratio from one pair of runs, and ``contenders`` are
    those that the quantity names.
    """
    claim, spec = verdict.claim, verdict.claim.quantity
    named = [spec[key] for key in ("contender", "minus", "above", "below") if isinstance(spec.get(key), str)]
    named += spec["base"] if spec["kind"] == "ratio-of-ratios" else ()
    findings = []
    for item in verdict.findings:
        interval = item.interval
        low, high = (interval.ends if interval is not None else None) or (None, None)
        low, high = (None if end is None or math.isinf(end) else end for end in (low, high))
        findings.append(
            {
                "label": item.label,
                "verdict": UNMEASURED if interval is None else _finding_verdict(claim, item),
                "value": None if interval is None or item.open_end else interval.value,
                "low": low,
                "high": high,
                "paper": item.paper,
                "noise": item.noise,
                "single": item.single,
                "reason": item.reason,
                "experiment": item.experiment,
                "n": None if item.fitted else item.n,
                "contenders": list(dict.fromkeys([*named, *spec.get("contenders", ())])),
            }
        )
    return {
        "id": claim.id,
        "verdict": verdict.verdict,
        "quantity": spec,
        "rule": claim.rule,
        "by_noise": noise_verdict(claim, verdict.findings),
        "findings": findings,
    }


def allowed(rule: str, bound: Sequence[float]) -> tuple[float, float]:
    """Return the range of values that satisfy a rule; ``above`` and ``below`` exclude its ends."""
    if rule in ("at-most", "below"):
        return -math.inf, bound[-1]
    if rule in ("at-least", "above"):
        return bound[0], math.inf
    return bound[0], bound[-1]  # between or equals


def interval_verdict(rule: str, bound: Sequence[float], interval: Interval) -> str:
    """Apply a rule to an interval: `HOLDS`, `FAILS` or `UNDECIDED`."""
    if interval.ends is None:
        return UNDECIDED
    low, high = interval.ends
    if rule == "above":
        obeys, breaks = low > bound[0], high <= bound[0]
    elif rule == "below":
        obeys, breaks = high < bound[0], low >= bound[0]
    else:
        lowest, highest = allowed(rule, bound)
        obeys, breaks = lowest <= low and high <= highest, high < lowest or low > highest
    return HOLDS if obeys else FAILS if breaks else UNDECIDED


def combined_verdict(claim: Claim, findings: Sequence[Finding]) -> str:
    """Combine all findings of a claim into a verdict; see the module docstring."""
    decided = [_finding_verdict(claim, item) for item in findings if item.interval is not None]
    if not decided:
        return UNMEASURED
    holds, breaks = decided.count(HOLDS), decided.count(FAILS)
    undecided = TOO_SMALL if TOO_SMALL in decided and UNDECIDED not in decided else UNDECIDED
    if claim.over == "any":
        return HOLDS if holds else FAILS if breaks == len(decided) else undecided
    if claim.over == "most":
        half = len(decided) / 2
        return HOLDS if holds > half else FAILS if breaks >= half else undecided
    if claim.over == "nearly-all":
        spared = int(NEARLY_ALL_SPARES * len(decided))
        return HOLDS if holds >= len(decided) - spared else FAILS if breaks > spared else undecided
    if claim.over == "together" and not breaks and TOO_SMALL not in decided:
        estimates = [_estimate(item) for item in findings if item.interval is not None]
        agreed = all(interval_verdict(claim.relation, claim.bound, each) == HOLDS for each in estimates)
        return HOLDS if agreed and len(estimates) >= FEWEST_TOGETHER else UNDECIDED
    return FAILS if breaks else HOLDS if holds == len(decided) else undecided


def noise_verdict(claim: Claim, findings: Sequence[Finding]) -> str:
    """Return the verdict on undecided exponents by their repeats' scatter alone; "" if there is none."""
    if combined_verdict(claim, findings) != UNDECIDED:
        return ""
    found = combined_verdict(claim, [_by_noise(item) for item in findings])
    return found if found in (HOLDS, FAILS) else ""


def _bent_text(claim: Claim, findings: Sequence[Finding]) -> str:
    """Say how many exponents are of points on no line, and how a single one changes; "" if there are none."""
    measured = [item for item in findings if item.interval is not None]
    bent = [item for item in measured if item.noise is not None]
    if len(measured) > 1:
        return f"the points of {len(bent)} of {len(measured)} do not lie on a line" if bent else ""
    halves = bent[0].halves if bent else None
    if halves is None:
        return "the points do not lie on a line" if bent else ""
    lower, upper = (_number_text(slope, claim.unit) for slope in halves)
    return (
        f"the points do not lie on a line: {lower} over the lower half of the sizes, {upper} over the upper"
    )


def _by_noise(finding: Finding) -> Finding:
    """Return a finding with the interval that the repeats' scatter alone would give, if that is narrower."""
    interval, noise = finding.interval, finding.noise
    if interval is None or interval.ends is None or noise is None:
        return finding
    low, high = interval.ends
    narrow = Interval(interval.value, max(low, interval.value - noise), min(high, interval.value + noise))
    return replace(finding, found=narrow)


def rule_text(claim: Claim) -> str:
    """Return the rule in words: "at least 0.8, in most"; then the sizes that decide."""
    shown = " and ".join(_number_text(bound, claim.unit) for bound in claim.bound)
    where = {
        "all": "",
        "any": ", in at least one",
        "most": ", in most",
        "nearly-all": ", in nine of ten",
        "together": ", as a group",
    }[claim.over]
    return f"{claim.relation.replace('-', ' ')} {shown}{where}{_sizes_text(claim)}"


def _sizes_text(claim: Claim) -> str:
    if isinstance(claim.decisive, dict):
        return "; decided at " + ", ".join(f"n = {n:,} ({name})" for name, n in claim.decisive.items())
    if claim.decisive == "paper":
        return "; decided at the paper's largest size"
    return f"; decided from n = {claim.decisive:,} on" if claim.decisive else ""


def _findings_text(claim: Claim, findings: Sequence[Finding]) -> str:
    """Summarise the findings in one line: the number, or counts and extremes; then what is missing."""
    measured = [item for item in findings if item.interval is not None]
    absent = [item for item in findings if item.interval is None]
    parts: list[str] = []
    if len(measured) == 1:
        parts.append(_finding_text(claim, measured[0]))
    elif measured:
        parts += _extremes(claim, measured)
    if absent:
        reasons = list(dict.fromkeys(item.reason for item in absent))
        more = {1: "", 2: "; 1 other reason"}.get(len(reasons), f"; {len(reasons) - 1} other reasons")
        parts.append(f"{len(absent)} of {len(findings)} not measured ({absent[0].label}: {reasons[0]}{more})")
    return "; ".join(parts)


def _extremes(claim: Claim, measured: Sequence[Finding]) -> list[str]:
    """Count the findings that meet the rule, violate it or are undecided; add the worst and the range."""
    by_verdict: dict[str, list[Finding]] = {HOLDS: [], FAILS: [], UNDECIDED: [], TOO_SMALL: []}
    for item in measured:
        by_verdict[_finding_verdict(claim, item)].append(item)
    met, violated, undecided, small = by_verdict.values()
    said = f"rule met by {len(met)} of {len(measured)}"
    said += f", violated by {len(violated)}" if violated else ""
    said += f", undecided for {len(undecided)}" if undecided else ""
    said += f", too small for {len(small)}" if small else ""
    parts = [said]
    others = violated or undecided or small  # undecided findings matter only if there are no violations
    if claim.over == "any" and met:
        parts.append(f"such as {_finding_text(claim, met[0])}")
    elif others:
        worst = max(others, key=lambda item: _beyond(claim, _value(item)))
        parts.append(f"worst: {_finding_text(claim, worst)}")
    low, high = min(measured, key=_value), max(measured, key=_value)
    ends = [_estimate_text(claim, item) for item in (low, high)]
    whole = f"range {ends[0]} ({low.label}) to {ends[1]} ({high.label})"
    return [*parts, f"all {ends[0]}" if ends[0] == ends[1] else whole]


def _finding_verdict(claim: Claim, finding: Finding) -> str:
    assert finding.interval is not None
    if finding.deciding_size:
        return TOO_SMALL
    return interval_verdict(claim.relation, claim.bound, finding.interval)


def _value(finding: Finding) -> float:
    assert finding.interval is not None
    return finding.interval.value


def _estimate(finding: Finding) -> Interval:
    """Return the estimate without its interval; if the interval is open, with it."""
    assert finding.interval is not None
    return finding.interval if finding.open_end else Interval.exact(finding.interval.value)


def _estimate_text(claim: Claim, finding: Finding) -> str:
    """Return a number in words: "1.2x", or "at least 3.1x" where a limit stopped a run."""
    assert finding.interval is not None
    low, high = finding.interval.ends or (0.0, 0.0)
    known = {"": finding.interval.value, "at least": low, "at most": high}[finding.open_end]
    return f"{finding.open_end} {_number_text(known, claim.unit)}".lstrip()


def _beyond(claim: Claim, value: float) -> float:
    """Return how far a value lies beyond the bound of the rule; negative if it satisfies the rule."""
    lowest, highest = allowed(claim.relation, claim.bound)
    return max(lowest - value, value - highest)


def _finding_text(claim: Claim, finding: Finding) -> str:
    interval = finding.interval
    assert interval is not None
    text = f"{finding.label}: {_estimate_text(claim, finding)}"
    if finding.open_end:
        text += f", by {finding.bounded_by}"
    elif interval.ends is None:
        text += " (one pair, no interval)" if finding.single else " (no interval)"
    elif interval.low != interval.high:
        text += f" [{' … '.join(_number_text(end, claim.unit) for end in interval.ends)}]"
        text += ", one pair" if finding.single else ""
    text += f", below the {finding.deciding_size:,} that decide" if finding.deciding_size else ""
    return text if finding.paper is None else f"{text} (paper {_number_text(finding.paper, claim.unit)})"


def _number_text(number: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * number:.2g} %" if abs(number) < 0.995 else f"{100 * number:.0f} %"
    text = f"{number:.3g}" if abs(number) < 1000 else significant(number)
    return f"{text}x" if unit == "x" else text
