"""The verdict table: each checkable sentence of the paper, what was measured, and what that decides."""

from __future__ import annotations

from svmrepro.workflow import paths
from svmrepro.workflow.claims import BREAKS, HOLDS, OPEN, UNMEASURED, judge, read_claims, rule_text
from svmrepro.workflow.config import Artefact
from svmrepro.workflow.render import Cell, Column, Section, Table, prose
from svmrepro.workflow.results import Results

MARKS = {HOLDS: "good", BREAKS: "bad", OPEN: "open"}


def build(results: Results, artefact: Artefact) -> Table:
    """Judge every claim of the paper; one line each."""
    path = paths.config_dir() / "claims" / f"{results.paper.name}.yaml"
    claims = read_claims(path, list(results.paper.experiments))
    verdicts = [judge(claim, results) for claim in claims]
    columns = [
        Column("verdict", "verdict", prose=True),
        Column("id", "claim", prose=True),
        Column("quote", "the paper's words", prose=True, paper=True),
        Column("where", "where", prose=True, paper=True),
        Column("reading", "read as", prose=True),
        Column("rule", "rule", prose=True),
        Column("measured", "measured", prose=True),
    ]
    rows = [
        {
            "verdict": prose(verdict.verdict, MARKS.get(verdict.verdict, "")),
            "id": prose(verdict.claim.id),
            "quote": Cell(verdict.claim.quote, f"“{verdict.claim.quote}”"),
            "where": prose(verdict.claim.where),
            "reading": prose(verdict.claim.reading),
            "rule": prose(rule_text(verdict.claim)),
            "measured": prose(verdict.measured),
        }
        for verdict in verdicts
    ]
    tally = ", ".join(
        f"{sum(verdict.verdict == name for verdict in verdicts)} {name}"
        for name in (HOLDS, BREAKS, OPEN, UNMEASURED)
    )
    return Table(
        title=artefact.title,
        caption=artefact.caption,
        sections=(Section(columns, rows),),
        notes=[
            f"{len(verdicts)} claims: {tally}.",
            "A rule is applied to the whole 95 % interval: holds if all of it obeys, does not hold if none "
            "of it does, not decided if it straddles the bound. Counts and objectives are exact.",
            "Intervals decide here, not tests: there are no p-values for Holm's correction to correct.",
        ],
        provenance=results.provenance(),
    )
