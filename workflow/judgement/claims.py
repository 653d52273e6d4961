"""A paper's checkable sentences: the files ``config/claims/<paper>.yaml``.

Each claim gives the place and words of the sentence, its reading as a quantity
(`svmrepro.workflow.judgement.quantities`), the rule that decides, and the scales at which it is judged.
`svmrepro.workflow.judgement.verdicts` applies the rules.

The ``kind`` of a claim says what its verdict is worth:

* *headline* - the paper is known for it: a sentence of the abstract, the conclusions, or the main result;
* *detail* - any other checkable sentence or printed number;
* *self-check* - tests this program rather than the paper: that two solvers solve one problem, for example;
* *by construction* - follows from what is compared, whatever is measured; ``because`` says why it cannot
  fail, or why the paper's numbers cannot contradict it.

Only headlines and details are counted. A claim may stand ``beside`` another about the same sentence, such as
a rule about counted work beside the rule about seconds. It is shown with it and never counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs
from svmrepro.datasets.input_checks import did_you_mean
from svmrepro.workflow.analysis.paired_contenders import COUNTS
from svmrepro.workflow.configuration.model import Config
from svmrepro.workflow.configuration.plain_yaml import read_yaml
from svmrepro.workflow.configuration.typed_data import typed
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.judgement.quantities import CLAIM_QUANTITIES, SUPPORT_VECTORS, needs_clock
from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.result_files.field_types import FieldType, Kind
from svmrepro.workflow.result_files.result_rows import read_rows

HOLDS, FAILS, UNDECIDED, UNMEASURED = "holds", "does not hold", "not decided", "not measured here"
STAND_IN, STAND_IN_FAILS = "holds on a stand-in", "does not hold on a stand-in"
TOO_SMALL = "not decided at this size"
VERDICTS = (HOLDS, STAND_IN, FAILS, STAND_IN_FAILS, UNDECIDED, TOO_SMALL, UNMEASURED)

HELD = (HOLDS, STAND_IN)
"""Verdicts that a claim is true of the measured data."""

UNASKED = "not applicable"
"""The verdict on the paper's own numbers if it prints none for the quantity."""

SCALES_WITHOUT_CLOCK = ("smoke",)
"""Scales whose runs are too short to judge seconds; no claim about seconds may name them."""

BENT = "by the repeats' scatter alone: "
"""Prefix of the note on exponents that are undecided because their points lie on no line."""

HEADLINE, DETAIL, CONSTRUCTED = "headline", "detail", "by construction"
COUNTED = (HEADLINE, DETAIL)
"""Kinds of claims that tallies count."""

_VERDICT_KINDS: Mapping[str, Kind] = {
    "id": field_types.slug,
    "verdict": field_types.one_of(VERDICTS),
    "measured": field_types.words,
    "counted": field_types.one_of({"yes", "no"}),
    "on_paper": field_types.one_of({*VERDICTS, UNASKED}),
}
"""The columns of a table of claims that programs read; the others are for readers."""

Rule = Literal["at-least", "at-most", "above", "below", "between", "equals"]
Over = Literal["all", "any", "most", "nearly-all", "together"]


_PLURALS = {
    HOLDS: "hold",
    STAND_IN: "hold on a stand-in",
    FAILS: "do not hold",
    STAND_IN_FAILS: "do not hold on a stand-in",
}


def after_number(verdict: str, count: int) -> str:
    """Return a verdict after a number of claims: 1 holds, 2 hold, 3 do not hold."""
    return verdict if count == 1 else _PLURALS.get(verdict, verdict)


def tally(count: Mapping[str, int]) -> str:
    """Count verdicts in words: 1 holds, 2 do not hold."""
    return ", ".join(
        f"{count[name]} {after_number(name, count[name])}" for name in (*VERDICTS, UNASKED) if count.get(name)
    )


class _Words(msgspec.Struct):
    """Parameters of quantities that have the same values in every kind."""

    against: str | dict[str, str] = ""  # an experiment, or one for each
    at: Literal["each", "largest"] | int = "each"
    has: Literal["less", "more"] = "less"
    sizes: Literal["own"] = "own"
    zeros: Literal["left out"] = "left out"


class EarlierRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first rule of a claim whose rule was revised when results were known."""

    rule: Annotated[dict[Rule, float | tuple[float, float]], msgspec.Meta(min_length=1, max_length=1)]
    because: str  # why it was revised
    over: Over = "all"
    quantity: dict[str, Any] | None = None  # if another one was judged
    unit: Literal["", "%", "x"] | None = None  # if it is another one


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence of a paper, as written in the YAML."""

    id: str
    kind: Literal["headline", "detail", "self-check", "by construction"]
    where: str  # section and page
    quote: str
    reading: str  # what we measure
    quantity: dict[str, Any]  # its kind, experiments and the kind's parameters
    rule: Annotated[dict[Rule, float | tuple[float, float]], msgspec.Meta(min_length=1, max_length=1)]
    scales: tuple[str, ...]  # at which it is judged
    over: Over = "all"  # how many findings must satisfy the rule
    unit: Literal["", "%", "x"] = ""  # plain numbers, percentages, factors
    beside: str = ""  # the claim about the same sentence with which this one is shown
    because: str = ""  # why a claim by construction cannot fail
    restates: bool = False  # the rule is a printed number with a margin, so the paper's cannot fail it
    # Fewest examples that decide; "paper": the largest size that the paper prints for the experiment.
    decisive: int | Literal["paper"] | dict[str, int] = 0
    earlier: EarlierRule | None = None

    @property
    def before(self) -> Claim | None:
        """The claim with its first rule, if that was revised."""
        was = self.earlier
        if was is None:
            return None
        quantity = was.quantity or self.quantity
        unit = self.unit if was.unit is None else was.unit
        return structs.replace(self, rule=was.rule, over=was.over, quantity=quantity, unit=unit, earlier=None)

    @property
    def counted(self) -> bool:
        """Whether tallies count the claim."""
        return self.kind in COUNTED and not self.beside

    @property
    def relation(self) -> Rule:
        """The relation of the rule."""
        return next(iter(self.rule))

    @property
    def bound(self) -> tuple[float, ...]:
        """The bound of the rule; two numbers for ``between``."""
        (bound,) = self.rule.values()
        return bound if isinstance(bound, tuple) else (bound,)


def read_claims(path: Path, experiments: Sequence[str], left_out: Collection[str] = ()) -> list[Claim]:
    """Read a paper's claims. ``experiments: all`` in a quantity stands for all of the paper's experiments.

    These are `experiments` and `left_out`, the ones that the configuration removes; `verdicts.judge` measures
    the former only. An invalid claim raises a StepError that names the file, the claim and the key.
    """
    entries = read_yaml(path).get("claims")
    if not isinstance(entries, list):
        raise StepError(f"{path}: no list 'claims'")
    known = [*experiments, *left_out]
    claims: dict[str, Claim] = {}
    for place, entry in enumerate(entries, 1):
        name = entry.get("id") if isinstance(entry, dict) else None
        try:
            claim = typed(entry, Claim)
            _check(claim, known)
            if claim.before:
                field_types.check("earlier", claim.before, partial(_check, experiments=known))
            _check_worth(claim, claims)
        except ValueError as error:
            raise StepError(f"{path}: claim {place} '{name}': {error}") from None
        if claim.id in claims:
            raise StepError(f"{path}: two claims are called '{claim.id}'")
        claims[claim.id] = _of_experiments(claim, known)
    return list(claims.values())


def read_verdicts(path: Path) -> list[dict[str, str]]:
    """Read a table of claims; a fault in a column that programs read raises a StepError."""
    return read_rows(path, [*_VERDICT_KINDS], FieldType(_VERDICT_KINDS.get, ("id",)))


def all_claims(config: Config) -> dict[str, list[Claim]]:
    """Return the claims of each paper that has some; an invalid file raises a StepError."""
    return {name: claims_of(config, name) for name in config.papers if claims_file(config, name).is_file()}


def clocked_claims(config: Config) -> frozenset[tuple[str, str]]:
    """Return the claims that rest on measured seconds, as (paper, claim)."""
    return frozenset(
        (paper, claim.id)
        for paper, claims in all_claims(config).items()
        for claim in claims
        if needs_clock(claim.quantity)
    )


def claims_file(config: Config, paper: str) -> Path:
    """Return the path of a paper's claims; the file may not exist."""
    return config.described("claims", paper) / f"{paper}.yaml"


def claims_of(config: Config, name: str) -> list[Claim]:
    """Return a paper's claims."""
    paper = config.papers[name]
    return read_claims(claims_file(config, name), list(paper.experiments), paper.left_out)


def _check(claim: Claim, experiments: Sequence[str]) -> None:
    """Raise ValueError for a fault in a claim that its types do not exclude."""
    field_types.check("id", claim.id, field_types.slug)
    quantity, kind = claim.quantity, claim.quantity.get("kind")
    if not isinstance(kind, str) or kind not in CLAIM_QUANTITIES:
        raise ValueError(f"quantity: kind: one of {', '.join(CLAIM_QUANTITIES)} expected")
    required = CLAIM_QUANTITIES[kind].required | {"kind", "experiments"}
    optional = CLAIM_QUANTITIES[kind].optional
    for key in sorted(required - quantity.keys()):
        raise ValueError(f"quantity: key '{key}' is missing")
    for key in sorted(quantity.keys() - required - optional):
        known = required | optional
        raise ValueError(f"quantity: key '{key}' is unknown{did_you_mean(key, known - quantity.keys())}")
    field_types.check("quantity", quantity, partial(typed, kind=_Words))
    if "which" in quantity and (kind == "support-vectors" or "of" not in quantity):
        counts = [*(SUPPORT_VECTORS if kind == "support-vectors" else COUNTS)]
        if quantity["which"] not in counts:
            raise ValueError(f"quantity: which: one of {', '.join(counts)} expected")
    named = quantity["experiments"]
    if named != "all" and not isinstance(named, list):
        raise ValueError("quantity: experiments: a list of names, or all, expected")
    for name in named if named != "all" else ():
        if name not in experiments:
            hint = did_you_mean(name, experiments)
            raise ValueError(f"quantity: experiments: unknown experiment '{name}'{hint}")
    names, against = experiments if named == "all" else named, quantity.get("against", "")
    if not isinstance(against, str) and (kind != "problem-ratio" or against.keys() != set(names)):
        raise ValueError("quantity: against: one experiment expected, or for a problem-ratio one for each")
    for name in filter(None, [against] if isinstance(against, str) else against.values()):
        if name not in experiments:
            hint = did_you_mean(name, experiments)
            raise ValueError(f"quantity: against: unknown experiment '{name}'{hint}")
    if kind == "ratio-of-ratios" and not (isinstance(quantity["base"], list) and len(quantity["base"]) == 2):
        raise ValueError("quantity: base: two contenders expected")
    if (claim.relation == "between") != (len(claim.bound) == 2):
        numbers = "one number" if len(claim.bound) == 2 else "two numbers"
        raise ValueError(f"rule: {claim.relation}: {numbers} expected")
    if claim.bound[0] > claim.bound[-1]:
        raise ValueError("rule: between: the smaller number comes first")
    if claim.over == "together" and claim.relation in ("between", "equals"):
        raise ValueError(f"over: together: a sign test needs a one-sided rule, not '{claim.relation}'")
    if needs_clock(quantity) and set(claim.scales) & set(SCALES_WITHOUT_CLOCK):
        raise ValueError(f"scales: seconds are not judged at {SCALES_WITHOUT_CLOCK[0]} scale")


def _check_worth(claim: Claim, before: Mapping[str, Claim]) -> None:
    """Raise ValueError if a claim's kind, or the claim that it stands beside, is wrong."""
    if (claim.kind == CONSTRUCTED) != bool(claim.because):
        missing = "missing" if claim.kind == CONSTRUCTED else f"is for claims of kind '{CONSTRUCTED}' only"
        raise ValueError(f"because: {missing}")
    if claim.beside:
        other = before.get(claim.beside)
        if other is None or other.beside:
            raise ValueError(f"beside: no claim '{claim.beside}' stands above it by itself")
        if other.quote != claim.quote or claim.kind not in (other.kind, CONSTRUCTED):
            raise ValueError(f"beside: quote and kind must be those of '{claim.beside}'")


def _of_experiments(claim: Claim, experiments: Sequence[str]) -> Claim:
    """Return the claim with its experiments by name, also those of its first rule."""

    def named(quantity: dict[str, Any]) -> dict[str, Any]:
        return (
            {**quantity, "experiments": list(experiments)} if quantity["experiments"] == "all" else quantity
        )

    earlier = claim.earlier
    if earlier and earlier.quantity:
        earlier = structs.replace(earlier, quantity=named(earlier.quantity))
    return structs.replace(claim, quantity=named(claim.quantity), earlier=earlier)
