"""The verdict table: the checkable sentences of the paper, the measured value, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.judgement import claims as judgement
from svmrepro.workflow.judgement.claims import (
    DETAIL,
    FAILS,
    HEADLINE,
    HOLDS,
    STAND_IN,
    STAND_IN_FAILS,
    TOO_SMALL,
    UNDECIDED,
    Claim,
    tally,
)
from svmrepro.workflow.judgement.verdicts import Verdict, judge, record, rule_text
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.tables.layout.cells import Cell, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of

COLUMNS = (
    Column("verdict", "verdict", prose=True),
    Column("id", "claim", prose=True, shown=False),
    Column("kind", "kind", prose=True, shown=False),
    Column("counted", "counted", prose=True, shown=False),
    Column("beside", "beside", prose=True, shown=False),
    Column("quote", "the paper's words", prose=True, paper=True),
    Column("where", "where", prose=True, shown=False),
    Column("reading", "reading and rule", prose=True),
    Column("rule", "rule", prose=True, shown=False),
    Column("because", "why it cannot fail", prose=True, shown=False),
    Column("earlier_rule", "first rule", prose=True, shown=False),
    Column("earlier_verdict", "verdict by the first rule", prose=True, shown=False),
    Column("revised_because", "why it was revised", prose=True, shown=False),
    Column("measured", "measured", prose=True),
    Column("on_paper", "on the paper's numbers", prose=True, paper=True),
    Column("printed", "the paper's numbers", prose=True, shown=False),
)
"""Columns of the table, and of its CSV."""

MARKS = {HOLDS: "good", FAILS: "bad", UNDECIDED: "open", TOO_SMALL: "open"}


def build(results: Results, artefact: Artefact) -> Table:
    """Judge every claim of the paper, one line each; claims beside another follow it."""
    claims = judgement.claims_of(results.config, results.paper.name)
    verdicts = [judge(claim, results) for claim in _ordered(claims)]
    notes = [
        "Not counted: self-checks, which test this program rather than the paper; claims by construction, "
        "which cannot fail; and second rules for the same sentence, such as one by counted work, shown below "
        "the first.",
        "A rule applies to the whole 95 % interval. Holds: the whole interval satisfies it. Does not hold: "
        "none of the interval does. Not decided: the interval straddles the bound. Counts and objectives are "
        "exact. The interval of test performance is one test example to either side.",
        "On the paper's numbers: the same rule, applied to the numbers that the paper prints, with exponents "
        "refitted to its seconds. Not applicable: it prints none for the quantity, or only the one from "
        "which the rule was made.",
        _tests(claims),
    ]
    if any(verdict.on_paper == UNDECIDED for verdict in verdicts):
        notes.append(
            "Not decided on the paper's numbers: it has too few sizes for an exponent that would decide. A "
            "run at these sizes may not decide either."
        )
    if any(verdict.verdict in (STAND_IN, STAND_IN_FAILS) for verdict in verdicts):
        notes.append("On a stand-in: on the paper's own data alone the verdict would differ.")
    table = table_of(results, artefact, COLUMNS, [_row(verdict) for verdict in verdicts], notes=notes)
    # Above the table, which may have a hundred rows.
    tallies = (_tally(kind, verdicts) for kind in (HEADLINE, DETAIL))
    caption = " ".join(filter(None, (table.caption, *tallies)))
    return replace(table, caption=caption, record={"claims": [record(verdict) for verdict in verdicts]})


def _ordered(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with those beside another directly after it."""
    return [
        each
        for claim in claims
        if not claim.beside
        for each in (claim, *(other for other in claims if other.beside == claim.id))
    ]


def _tally(kind: str, verdicts: Sequence[Verdict]) -> str:
    """Count the verdicts of one kind of claim: ours, and those on the paper's numbers."""
    counted = [verdict for verdict in verdicts if verdict.claim.counted and verdict.claim.kind == kind]
    if not counted:
        return ""
    ours = Counter(verdict.verdict for verdict in counted)
    theirs = Counter(verdict.on_paper for verdict in counted)
    name = {HEADLINE: "headline claim", DETAIL: "detail"}[kind]
    return f"{plural(len(counted), name)}: {tally(ours)}. On the paper's numbers: {tally(theirs)}."


def _tests(claims: Sequence[Claim]) -> str:
    """Say which verdicts rest on tests, and which on intervals."""
    if any(claim.quantity["kind"] == "significant" for claim in claims):
        return (
            "Where a rule counts data sets with a significant difference, Wilcoxon's paired, two-sided test "
            "at 0.05 decides for each set: uncorrected as in the paper, or with Holm's correction where the "
            "claim says so. A set with a significant difference in seconds counts only if the whole interval "
            "of the ratio of means agrees, too. Elsewhere intervals decide."
        )
    return "Intervals decide, not tests, so there are no p-values to correct."


def _row(verdict: Verdict) -> dict[str, Cell]:
    """Return one line; fields with a column in the CSV only are shown small below their neighbour."""
    claim, word = verdict.claim, verdict.verdict
    worth = f"{claim.kind}: {claim.because}" if claim.because else claim.kind
    if claim.beside:
        worth += f", beside {claim.beside}"
    if not claim.counted:
        worth += ", not counted"
    # Only counted claims that were measured on the paper's data are coloured.
    mark = MARKS.get(word, "") if claim.counted else ""
    first = rule_text(claim.before) if claim.before else ""
    return {
        "verdict": Cell(word, word, detail=f"{claim.id} ({worth})", mark=mark),
        "id": prose(claim.id),
        "kind": prose(claim.kind),
        "counted": prose("yes" if claim.counted else "no"),
        "beside": prose(claim.beside),
        "quote": Cell(claim.quote, f"“{claim.quote}”", detail=claim.where),
        "where": prose(claim.where),
        "reading": Cell(
            claim.reading,
            claim.reading,
            detail="; ".join(
                [rule_text(claim), *([f"first rule: {first} ({verdict.earlier})"] if first else [])]
            ),
        ),
        "rule": prose(rule_text(claim)),
        "because": prose(claim.because),
        "earlier_rule": prose(first),
        "earlier_verdict": prose(verdict.earlier),
        "revised_because": prose(claim.earlier.because if claim.earlier else ""),
        "measured": prose(verdict.measured),
        "on_paper": Cell(verdict.on_paper, verdict.on_paper, detail=verdict.printed),
        "printed": prose(verdict.printed),
    }
