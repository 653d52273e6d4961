"""The verdict table: each checkable sentence of the paper, the measured value, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.judgement import claims as judgement
from svmrepro.workflow.judgement.claims import BREAKS, HOLDS, OPEN, VERDICTS, Claim, Verdict, rule_text
from svmrepro.workflow.tables.layout.cells import Cell, prose
from svmrepro.workflow.tables.layout.model import Column, Table, table_of

MARKS = {HOLDS: "good", BREAKS: "bad", OPEN: "open"}


def build(results: Results, artefact: Artefact) -> Table:
    """Judge every claim of the paper, one line each."""
    claims = judgement.claims_of(results.paper)
    verdicts = [judgement.judge(claim, results) for claim in claims]
    columns = [
        Column("verdict", "verdict", prose=True),
        Column("id", "claim", prose=True, shown=False),
        Column("quote", "the paper's words", prose=True, paper=True),
        Column("where", "where", prose=True, shown=False),
        Column("reading", "reading and rule", prose=True),
        Column("rule", "rule", prose=True, shown=False),
        Column("measured", "measured", prose=True),
    ]
    count = Counter(verdict.verdict for verdict in verdicts)
    notes = [
        f"{len(verdicts)} claims: {tally(count)}.",
        "A rule applies to the whole 95 % interval. Holds: the whole interval satisfies it. Does not "
        "hold: none of the interval does. Not decided: the interval straddles the bound. Counts and "
        "objectives are exact.",
        _tests(claims),
    ]
    return table_of(results, artefact, columns, [_row(verdict) for verdict in verdicts], notes=notes)


def tally(count: Mapping[str, int]) -> str:
    """Count verdicts in words: 1 holds, 2 do not hold."""
    words = {HOLDS: "hold", BREAKS: "do not hold"}
    return ", ".join(
        f"{count[name]} {name if count[name] == 1 else words.get(name, name)}" for name in VERDICTS
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
    claim, word = verdict.claim, verdict.verdict
    return {
        "verdict": Cell(word, word, detail=claim.id, mark=MARKS.get(word, "")),
        "id": prose(claim.id),
        "quote": Cell(claim.quote, f"“{claim.quote}”", detail=claim.where),
        "where": prose(claim.where),
        "reading": Cell(claim.reading, claim.reading, detail=rule_text(claim)),
        "rule": prose(rule_text(claim)),
        "measured": prose(verdict.measured),
    }
