"""Read and validate a check.json, which may come from another person's run.

The file has one entry per problem and contender, with its seeds or permutations in a list ``runs``. In the
program each of these is a separate row (`svmrepro.workflow.judgement.reference_check.summarise`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from svmrepro.workflow.analysis import field_types
from svmrepro.workflow.analysis.field_types import FieldType, Kind, check
from svmrepro.workflow.configuration.typed_data import typed
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.journal.journal_line import STATUSES, counted, shown
from svmrepro.workflow.judgement.claims import UNASKED, VERDICTS
from svmrepro.workflow.judgement.reference_check import FAILED, OBJECTIVES, unfold

SCHEMA = 3

_VERDICT = field_types.one_of(VERDICTS)
_ON_PAPER = field_types.one_of({*VERDICTS, UNASKED})
_STATUS = field_types.one_of({*STATUSES, *FAILED})
_SEED = field_types.optional(field_types.count)
_DATE = field_types.optional(field_types.date)  # a paper without data has none

CLAIM_COLUMNS = ("id", "verdict", "measured", "counted", "on_paper")

_CLAIM: Mapping[str, Kind] = {
    "id": field_types.name,
    "verdict": _VERDICT,
    "measured": field_types.words,
    "on_paper": _ON_PAPER,
    "counted": field_types.one_of({"yes", "no"}),
}
CLAIM_FORM = FieldType(_CLAIM.get, ("id",))
"""Fields of a table of claims that are used; the others are only for readers."""


class _Run(Struct):
    """Result of a row with one seed."""

    status: str
    counts: dict[str, int | float]

    def __post_init__(self) -> None:
        check("status", self.status, _STATUS)
        if self.counts and self.status != "optimal":
            raise ValueError("counts of a run that was not solved")
        for name, count in self.counts.items():
            check("counts", name, field_types.name)
            check(name, count, field_types.measured if name in OBJECTIVES else counted)


class _Row(Struct):
    """A problem and a contender, with their runs."""

    paper: str
    experiment: str
    n: str
    contender: str
    setting: dict[str, str]
    runs: dict[str, _Run]
    point: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        for key in ("paper", "experiment", "contender"):
            check(key, getattr(self, key), field_types.name)
        check("n", self.n, field_types.size)
        if self.point is not UNSET:
            check("point", self.point, field_types.number)
        _check_texts("setting", self.setting, field_types.words)
        for seed in self.runs:
            check("runs", seed, _SEED)

    def names(self) -> list[tuple[str, ...]]:
        """Return the identifying fields of each run."""
        point = () if isinstance(self.point, UnsetType) else (self.point,)
        return [(self.paper, self.experiment, self.n, self.contender, seed, *point) for seed in self.runs]


class _Counts(Struct):
    """How many runs of a paper were measured."""

    measured: int


class _Paper(Struct):
    """When, where and how the runs of a paper were measured."""

    measured: str
    machine: dict[str, str]
    machines: list[dict[str, str]]
    protocols: list[str]
    runs: _Counts

    def __post_init__(self) -> None:
        check("measured", self.measured, _DATE)
        for machine in (self.machine, *self.machines):
            _check_texts("machine", machine, field_types.words)
        for protocol in self.protocols:
            check("protocols", protocol, field_types.name)


class _Record(Struct):
    """The parts of the file that the program reads."""

    scale: str
    papers: dict[str, _Paper]
    claims: dict[str, dict[str, str]]
    rows: list[_Row]
    claims_on_paper: dict[str, dict[str, str]]

    def __post_init__(self) -> None:
        check("scale", self.scale, field_types.name)
        for paper in self.papers:
            check("papers", paper, field_types.name)
        if strange := sorted({row.paper for row in self.rows} - self.papers.keys()):
            raise ValueError(f"papers: {strange[0]} is missing, which has rows")
        for paper, verdicts in self.claims.items():
            check("claims", paper, field_types.name)
            _check_texts(f"claims: {paper}", verdicts, _VERDICT)
        for paper, verdicts in self.claims_on_paper.items():
            check("claims_on_paper", paper, field_types.name)
            _check_texts(f"claims_on_paper: {paper}", verdicts, _ON_PAPER)
        seen: set[tuple[str, ...]] = set()
        for key in (key for row in self.rows for key in row.names()):
            if key in seen:
                raise ValueError(f"rows: a second row for {', '.join(filter(None, key))}")
            seen.add(key)


def read_record(path: Path) -> dict[str, Any]:
    """Read a check.json; return it with one entry per row. An invalid file raises a StepError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise StepError(f"{path}: schema {SCHEMA} expected; write the reference anew")
        typed(content, _Record)
    except (OSError, ValueError, RecursionError) as error:
        raise StepError(f"{path}: no record of a check ({one_line(error)[:200]})") from None
    return {**content, "rows": unfold(content["rows"])}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object, refusing duplicate keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"key {shown(twice)} is given twice")
    return found


def _check_texts(key: str, texts: Mapping[str, str], kind: Kind) -> None:
    for name, text in texts.items():
        check(key, name, field_types.name)
        check(f"{key}: {name}", text, kind)
