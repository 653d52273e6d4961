"""A paper's checkable sentences and their verdicts.

``config/claims/<paper>.yaml`` lists the claims: the place and words of the sentence, its reading as a
quantity (`svmrepro.workflow.judgement._quantities`), the rule that decides, and the scales at which it is
judged. A rule is applied to intervals, not points:

* *holds* - the whole interval satisfies the rule;
* *does not hold* - the whole interval violates it;
* *not decided* - the interval straddles the bound, or there are too few sizes for an interval;
* *not measured here* - with the reason.

A claim may have several findings (experiments, sizes). With ``over: all`` (the default) every finding must
satisfy the rule: one violation decides the claim, otherwise one straddling interval leaves it undecided.
``over: any`` requires one finding to satisfy the rule, ``over: most`` more than half of those measured.
Findings that were not measured are counted and named, but decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs
from svmrepro.workflow.analysis.number_text import significant
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.runs import RELATIVE_GAP
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config, Paper
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.configuration.typed_data import typed
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement._findings import Finding
from svmrepro.workflow.judgement._quantities import KINDS, needs_clock, value
from svmrepro.workflow.statistics import Interval

HOLDS, BREAKS, OPEN, UNMEASURED = "holds", "does not hold", "not decided", "not measured here"
VERDICTS = (HOLDS, BREAKS, OPEN, UNMEASURED)

SCALES_WITHOUT_CLOCK = ("smoke",)
"""Scales whose runs are too short to judge seconds; no claim about seconds may name them."""

Rule = Literal["at-least", "at-most", "above", "below", "between", "equals"]

_BESIDE = {
    "certificate.max_violation": (RELATIVE_GAP, "relative duality gap"),
    "certificate.pair_gap": (RELATIVE_GAP, "relative duality gap"),
    "certificate.gap": ("certificate.max_violation", "KKT violation"),
    RELATIVE_GAP: ("certificate.max_violation", "KKT violation"),
}
"""Column of the certificate -> column and name of the quantity reported with it. Neither bounds the other."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence of a paper, as written in the YAML."""

    id: str
    where: str  # section and page
    quote: str
    reading: str  # what we measure
    quantity: dict[str, Any]  # its kind, experiments and the kind's parameters
    rule: Annotated[dict[Rule, float | tuple[float, float]], msgspec.Meta(min_length=1, max_length=1)]
    scales: tuple[str, ...]  # at which it is judged
    over: Literal["all", "any", "most"] = "all"  # how many findings must satisfy the rule
    unit: Literal["", "%", "x"] = ""  # plain numbers, percentages, factors

    @property
    def relation(self) -> Rule:
        """The relation of the rule."""
        return next(iter(self.rule))

    @property
    def bound(self) -> tuple[float, ...]:
        """The bound of the rule; two numbers for ``between``."""
        (bound,) = self.rule.values()
        return bound if isinstance(bound, tuple) else (bound,)


@dataclass(frozen=True)
class Verdict:
    """A claim, its findings, and the decision."""

    claim: Claim
    verdict: str
    measured: str
    findings: tuple[Finding, ...]


def read_claims(path: Path, experiments: Sequence[str], left_out: Sequence[str] = ()) -> list[Claim]:
    """Read a paper's claims. ``experiments: all`` in a quantity stands for all of `experiments`.

    Experiments in `left_out` are removed from the quantities. An invalid claim is a StepError that names the
    file, the claim and the key.
    """
    entries = read_yaml(path).get("claims")
    if not isinstance(entries, list):
        raise StepError(f"{path}: no list 'claims'")
    claims: dict[str, Claim] = {}
    for place, entry in enumerate(entries, 1):
        name = entry.get("id") if isinstance(entry, dict) else None
        try:
            claim = typed(entry, Claim)
            _check(claim, [*experiments, *left_out])
        except ValueError as error:
            raise StepError(f"{path.name}: claim {place} '{name}': {error}") from None
        if claim.id in claims:
            raise StepError(f"{path.name}: two claims are called '{claim.id}'")
        claims[claim.id] = _of_experiments(claim, experiments)
    return list(claims.values())


def clocked_claims(config: Config) -> frozenset[tuple[str, str]]:
    """Return the claims that rest on measured seconds, as (paper, claim)."""
    return frozenset(
        (name, claim.id)
        for name, paper in config.papers.items()
        if claims_file(name).is_file()
        for claim in claims_of(paper)
        if needs_clock(claim.quantity)
    )


def claims_file(paper: str) -> Path:
    """Return the path of a paper's claims; the file may not exist."""
    return paths.config_dir() / "claims" / f"{paper}.yaml"


def claims_of(paper: Paper) -> list[Claim]:
    """Return a paper's claims on the experiments of this configuration."""
    return read_claims(claims_file(paper.name), list(paper.experiments), paper.left_out)


def judge(claim: Claim, results: Results) -> Verdict:
    """Measure and judge one claim."""
    if results.scale not in claim.scales:
        shown = " and ".join(claim.scales)
        return Verdict(claim, UNMEASURED, f"judged at {shown} scale only", ())
    if not claim.quantity["experiments"]:
        return Verdict(claim, UNMEASURED, "none of its experiments is part of this configuration", ())
    measure = KINDS[claim.quantity["kind"]][0]
    findings = measure(results, claim.quantity)
    said = "; ".join(filter(None, (_statement(claim, findings), _beside(claim, results))))
    return Verdict(claim, combine(claim, findings), said, tuple(findings))


def _beside(claim: Claim, results: Results) -> str:
    """Report the duality gap beside a claim on KKT violations, or the violation beside a claim on the gap."""
    column, words = _BESIDE.get(str(claim.quantity.get("of")), ("", ""))
    if claim.quantity["kind"] != "value" or not column:
        return ""
    found = [
        (item.interval.high, item.label)
        for item in value(results, {**claim.quantity, "of": column, "per": ()})
        if item.interval is not None and item.interval.high is not None
    ]
    if not found:
        return ""
    most, label = max(found, key=itemgetter(0))
    return f"largest {words} {most:.2g} ({label})"


def allowed(rule: str, bound: Sequence[float]) -> tuple[float, float]:
    """Return the range of values that satisfy a rule; ``above`` and ``below`` exclude its ends."""
    lowest = -math.inf if rule in ("at-most", "below") else bound[0]
    highest = math.inf if rule in ("at-least", "above") else bound[-1]
    return lowest, highest


def decide(rule: str, bound: Sequence[float], interval: Interval) -> str:
    """Apply a rule to an interval: `HOLDS`, `BREAKS` or `OPEN`."""
    if interval.ends is None:
        return OPEN
    low, high = interval.ends
    lowest, highest = allowed(rule, bound)
    if rule in ("above", "below"):
        obeys, breaks = lowest < low and high < highest, high <= lowest or low >= highest
    else:
        obeys, breaks = lowest <= low and high <= highest, high < lowest or low > highest
    return HOLDS if obeys else BREAKS if breaks else OPEN


def combine(claim: Claim, findings: Sequence[Finding]) -> str:
    """Combine all findings of a claim into a verdict; see the module docstring."""
    decided = [_decided(claim, item) for item in findings if item.interval is not None]
    if not decided:
        return UNMEASURED
    holds, breaks = decided.count(HOLDS), decided.count(BREAKS)
    if claim.over == "any":
        return HOLDS if holds else BREAKS if breaks == len(decided) else OPEN
    if claim.over == "most":
        half = len(decided) / 2
        return HOLDS if holds > half else BREAKS if breaks >= half else OPEN
    return BREAKS if breaks else HOLDS if holds == len(decided) else OPEN


def rule_text(claim: Claim) -> str:
    """Return the rule in words: "at least 0.8, in most"."""
    shown = " and ".join(_show(bound, claim.unit) for bound in claim.bound)
    where = {"all": "", "any": ", in at least one", "most": ", in most"}[claim.over]
    return f"{claim.relation.replace('-', ' ')} {shown}{where}"


def _statement(claim: Claim, findings: Sequence[Finding]) -> str:
    """Summarise the findings in one line: the number, or counts and extremes; then what is missing."""
    measured = [item for item in findings if item.interval is not None]
    absent = [item for item in findings if item.interval is None]
    parts: list[str] = []
    if len(measured) == 1:
        parts.append(_finding(claim, measured[0]))
    elif measured:
        parts += _extremes(claim, measured)
    if absent:
        reasons = list(dict.fromkeys(item.reason for item in absent))
        more = {1: "", 2: "; 1 other reason"}.get(len(reasons), f"; {len(reasons) - 1} other reasons")
        parts.append(f"{len(absent)} of {len(findings)} not measured ({absent[0].label}: {reasons[0]}{more})")
    return "; ".join(parts)


def _extremes(claim: Claim, measured: Sequence[Finding]) -> list[str]:
    """Count the findings that meet the rule, violate it or are undecided; add the worst and the range."""
    by_verdict: dict[str, list[Finding]] = {HOLDS: [], BREAKS: [], OPEN: []}
    for item in measured:
        by_verdict[_decided(claim, item)].append(item)
    met, violated, undecided = by_verdict.values()
    said = f"rule met by {len(met)} of {len(measured)}"
    said += f", violated by {len(violated)}" if violated else ""
    said += f", undecided for {len(undecided)}" if undecided else ""
    parts = [said]
    if claim.over == "any" and met:
        parts.append(f"such as {_finding(claim, met[0])}")
    elif others := violated or undecided:  # undecided findings matter only if there are no violations
        parts.append(f"worst: {_finding(claim, max(others, key=lambda item: _beyond(claim, _value(item))))}")
    low, high = min(measured, key=_value), max(measured, key=_value)
    ends = [_show(_value(item), claim.unit) for item in (low, high)]
    whole = f"range {ends[0]} ({low.label}) to {ends[1]} ({high.label})"
    return [*parts, f"all {ends[0]}" if ends[0] == ends[1] else whole]


def _decided(claim: Claim, finding: Finding) -> str:
    assert finding.interval is not None
    return decide(claim.relation, claim.bound, finding.interval)


def _value(finding: Finding) -> float:
    assert finding.interval is not None
    return finding.interval.value


def _beyond(claim: Claim, value: float) -> float:
    """Return how far a value lies beyond the bound of the rule; negative if it satisfies the rule."""
    lowest, highest = allowed(claim.relation, claim.bound)
    return max(lowest - value, value - highest)


def _finding(claim: Claim, finding: Finding) -> str:
    interval = finding.interval
    assert interval is not None
    text = f"{finding.label}: {_show(interval.value, claim.unit)}"
    if interval.ends is None:
        text += " (no interval)"
    elif interval.low != interval.high:
        text += f" [{' … '.join(_show(end, claim.unit) for end in interval.ends)}]"
    return text if finding.paper is None else f"{text} (paper {_show(finding.paper, claim.unit)})"


def _show(number: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * number:.2g} %" if abs(number) < 1 else f"{100 * number:.0f} %"
    text = f"{number:.3g}" if abs(number) < 1000 else significant(number)
    return f"{text}x" if unit == "x" else text


def _check(claim: Claim, experiments: Sequence[str]) -> None:
    """Raise ValueError if something beyond its types is wrong with a claim."""
    quantity, kind = claim.quantity, claim.quantity.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"quantity: kind: one of {', '.join(KINDS)} expected")
    _, required, optional = KINDS[kind]
    required = required | {"kind", "experiments"}
    for key in sorted(required - quantity.keys()):
        raise ValueError(f"quantity: key '{key}' is missing")
    for key in sorted(quantity.keys() - required - optional):
        raise ValueError(f"quantity: key '{key}' is unknown")
    named = quantity["experiments"]
    if named != "all" and not isinstance(named, list):
        raise ValueError("quantity: experiments: a list of names, or all, expected")
    for name in named if named != "all" else ():
        if name not in experiments:
            raise ValueError(f"quantity: experiments: unknown experiment '{name}'")
    if (claim.relation == "between") != (len(claim.bound) == 2):
        numbers = "one number" if len(claim.bound) == 2 else "two numbers"
        raise ValueError(f"rule: {claim.relation}: {numbers} expected")
    if needs_clock(quantity) and set(claim.scales) & set(SCALES_WITHOUT_CLOCK):
        raise ValueError(f"scales: seconds are not judged at {SCALES_WITHOUT_CLOCK[0]} scale")


def _of_experiments(claim: Claim, experiments: Sequence[str]) -> Claim:
    """Return the claim restricted to the experiments of this configuration."""
    named = claim.quantity["experiments"]
    chosen = list(experiments) if named == "all" else [name for name in named if name in experiments]
    return structs.replace(claim, quantity={**claim.quantity, "experiments": chosen})
