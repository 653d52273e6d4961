"""What a check.json holds, read with care: it may be a stranger's, whose run is to be compared.

The file has an entry for each problem and contender, with its seeds or permutations in one (``runs``); in the
program each is a row of its own (`svmrepro.workflow.judgement.run_summary.summarise`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis import field_types
from svmrepro.workflow.analysis.field_types import Form, Kind
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.judgement.claims import VERDICTS
from svmrepro.workflow.judgement.run_summary import FAILED, OBJECTIVES, unfold
from svmrepro.workflow.measurement.record import STATUSES, counted, shown

SCHEMA = 2

_VERDICT = field_types.one_of(VERDICTS)

CLAIM_COLUMNS = ("id", "verdict", "measured")
_CLAIM: Mapping[str, Kind] = {"id": field_types.name, "verdict": _VERDICT, "measured": field_types.words}
CLAIM_FORM = Form(_CLAIM.get, ("id",))
"""What a table of claims holds, beside what it only quotes."""

_STATUS = field_types.one_of({*STATUSES, *FAILED})
_ROW: Mapping[str, Kind] = {
    **dict.fromkeys(("paper", "experiment", "contender"), field_types.name),
    "n": field_types.size,
}


def read_record(path: Path) -> dict[str, Any]:
    """Return what a check.json holds, an entry a row.

    Raises
    ------
    StepError
        If there is none, one of another schema, or one that no check writes: file, key and what is wrong.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise StepError(f"{path}: no record of a check ({one_line(error)[:200]})") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise StepError(f"{path}: schema {SCHEMA} expected; write the reference anew")
    try:
        _examine(content)
    except ValueError as error:
        raise StepError(f"{path}: no record of a check ({one_line(error)})") from None
    return {**content, "rows": unfold(content["rows"])}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, each of whose keys is there once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"key {shown(twice)} is given twice")
    return found


def _examine(content: Mapping[str, Any]) -> None:
    """Raise ValueError where a record holds what no check writes."""
    _text(content, "scale", "", field_types.name)
    _text(content, "measured", "", field_types.date)
    _texts(_get(content, "machine", dict, ""), "machine: ", field_types.words)
    for place, machine in enumerate(_get(content, "machines", list, "") if "machines" in content else ()):
        _texts(_is(machine, dict, f"machines: {place}"), f"machines: {place}: ", field_types.words)
    for paper, verdicts in _get(content, "claims", dict, "").items():
        _named(paper, "claims")
        _texts(_is(verdicts, dict, f"claims: {shown(paper)}"), f"claims: {paper}: ", _VERDICT)
    seen: set[tuple[str, ...]] = set()
    for place, row in enumerate(_get(content, "rows", list, "")):
        where = f"rows: {place}: "
        key = _examine_row(_is(row, dict, f"rows: {place}"), where)
        for seed, run in row["runs"].items():
            if (*key, seed) in seen:
                raise ValueError(f"{where}a second row for {', '.join(filter(None, (*key, seed)))}")
            seen.add((*key, seed))
            _examine_run(_is(run, dict, f"{where}runs: {shown(seed)}"), f"{where}runs: {seed}: ")


def _examine_row(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Look at what names a row; return it."""
    for key, kind in _ROW.items():
        _text(row, key, where, kind)
    if "point" in row:
        _text(row, "point", where, field_types.number)
    _texts(_get(row, "setting", dict, where), f"{where}setting: ", field_types.words)
    for seed in _get(row, "runs", dict, where):
        _read(seed, f"{where}runs", field_types.optional(field_types.count))
    return (row["paper"], row["experiment"], row["n"], row["contender"], row.get("point", ""))


def _examine_run(run: Mapping[str, Any], where: str) -> None:
    _text(run, "status", where, _STATUS)
    counts = _get(run, "counts", dict, where)
    if counts and run["status"] != "optimal":
        raise ValueError(f"{where}counts of a run that was not solved")
    for key, value in counts.items():
        _named(key, f"{where}counts")
        place = f"{where}counts: {shown(key)}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{place}: {shown(value)} is not a number")
        try:
            (field_types.measured if key in OBJECTIVES else counted)(value)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None


def _is(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{where}: {shown(value)} in place of {'an object' if kind is dict else 'a list'}")
    return value


def _get(content: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    if key not in content:
        raise ValueError(f"{where}no key '{key}'")
    return _is(content[key], kind, f"{where}{key}")


def _text(content: Mapping[str, Any], key: str, where: str, kind: Kind) -> None:
    if key not in content:
        raise ValueError(f"{where}no key '{key}'")
    _read(content[key], f"{where}{key}", kind)


def _texts(content: Mapping[str, Any], where: str, kind: Kind) -> None:
    """Look at a mapping of names to texts."""
    for key, value in content.items():
        _named(key, where.removesuffix(": "))
        _read(value, f"{where}{key}", kind)


def _named(key: str, where: str) -> None:
    _read(key, where, field_types.name)


def _read(value: Any, where: str, kind: Kind) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{where}: {shown(value)} is no text")
    try:
        kind(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
