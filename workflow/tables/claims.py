"""The verdict table: each checkable sentence of the paper, the measured value, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.judgement.claims import (
    BREAKS,
    HOLDS,
    OPEN,
    UNMEASURED,
    Claim,
    Verdict,
    claims_file,
    judge,
    read_claims,
    rule_text,
)
from svmrepro.workflow.tables.model import Cell, Column, Table, prose, table_of

MARKS = {HOLDS: "good", BREAKS: "bad", OPEN: "open"}


def build(results: Results, artefact: Artefact) -> Table:
    """Judge every claim of the paper, one line each."""
    path = claims_file(results.paper.name)
    claims = read_claims(path, list(results.paper.experiments), results.paper.left_out)
    verdicts = [judge(claim, results) for claim in claims]
    columns = [
        Column("verdict", "verdict", prose=True),
        Column("id", "claim", prose=True, shown=False),
        Column("quote", "the paper's words", prose=True, paper=True),
        Column("where", "where", prose=True, shown=False),
        Column("reading", "reading and rule", prose=True),
        Column("rule", "rule", prose=True, shown=False),
        Column("measured", "measured", prose=True),
    ]
    rows = [_row(verdict) for verdict in verdicts]
    tally = ", ".join(
        f"{sum(verdict.verdict == name for verdict in verdicts)} {name}"
        for name in (HOLDS, BREAKS, OPEN, UNMEASURED)
    )
    return table_of(
        results,
        artefact,
        columns,
        rows,
        notes=[
            f"{len(verdicts)} claims: {tally}.",
            "A rule applies to the whole 95 % interval. Holds: the whole interval satisfies it. Does not "
            "hold: none of the interval does. Not decided: the interval straddles the bound. Counts and "
            "objectives are exact.",
            _tests(claims),
        ],
    )


def _tests(claims: Sequence[Claim]) -> str:
    """Say which verdicts rest on tests, and which on intervals."""
    if any(claim.quantity["kind"] == "significant" for claim in claims):
        return (
            "Where a rule counts data sets with a significant difference, Wilcoxon's paired, two-sided test "
            "at 0.05 decides for each set: uncorrected as in the paper, or with Holm's correction where the "
            "claim says so. Elsewhere intervals decide."
        )
    return "Intervals decide, not tests, so there are no p-values to correct."


def _row(verdict: Verdict) -> dict[str, Cell]:
    """Return one line; fields with a column in the CSV only are shown small below their neighbour."""
    claim = verdict.claim
    return {
        "verdict": Cell(
            verdict.verdict, verdict.verdict, detail=claim.id, mark=MARKS.get(verdict.verdict, "")
        ),
        "id": prose(claim.id),
        "quote": Cell(claim.quote, f"“{claim.quote}”", detail=claim.where),
        "where": prose(claim.where),
        "reading": Cell(claim.reading, claim.reading, detail=rule_text(claim)),
        "rule": prose(rule_text(claim)),
        "measured": prose(verdict.measured),
    }
