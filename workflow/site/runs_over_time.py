"""Claims and exponents of several runs beside each other, the oldest run first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from svmrepro.workflow.analysis.results import display_name
from svmrepro.workflow.site.shown_run import ShownClaim, ShownRun


@dataclass(frozen=True)
class ClaimHistory:
    """One claim in all runs; None where a run does not have it."""

    paper: str
    id: str
    quote: str
    claims: Sequence[ShownClaim | None]

    @property
    def changed(self) -> bool:
        """Whether two runs that could judge it judge it differently."""
        return len({claim.verdict for claim in self.claims if claim and claim.mark != "none"}) > 1


@dataclass(frozen=True)
class ExponentHistory:
    """The exponent of one contender's seconds in all runs."""

    paper: str
    experiment: str
    contender: str
    values: Sequence[float | None]


def by_date(runs: Sequence[ShownRun]) -> list[ShownRun]:
    """Return the runs, the oldest first."""
    return sorted(runs, key=lambda run: (run.ended, run.slug))


def claim_histories(runs: Sequence[ShownRun]) -> list[ClaimHistory]:
    """Return every claim that a run has, in the order of the papers and their claims."""
    found: dict[str, dict[str, dict[str, ShownClaim]]] = {}
    for run in runs:
        for paper in run.papers:
            claims = found.setdefault(paper.name, {})
            for claim in paper.claims:
                claims.setdefault(claim.id, {})[run.slug] = claim
    return [
        ClaimHistory(paper, name, next(iter(judged.values())).quote, [judged.get(run.slug) for run in runs])
        for paper, claims in found.items()
        for name, judged in claims.items()
    ]


def exponent_histories(runs: Sequence[ShownRun]) -> list[ExponentHistory]:
    """Return the measured exponents that at least two runs have."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for run in runs:
        for paper in run.papers:
            for experiment in paper.experiments.values():
                for law in experiment.laws:
                    if not law["paper"]:
                        key = (paper.name, experiment.name, law["contender"])
                        found.setdefault(key, {})[run.slug] = law["exponent"]
    return [
        ExponentHistory(paper, experiment, display_name(contender), [values.get(run.slug) for run in runs])
        for (paper, experiment, contender), values in found.items()
        if len(values) > 1
    ]
