"""Records as tidy CSV: one line per run, nested keys joined by dots."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.runs import IDENTITY
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.journal.journal_line import read_lines
from svmrepro.workflow.result_files.field_types import told
from svmrepro.workflow.result_files.result_rows import read_rows

LEADING = (
    "paper", "experiment", "dataset", "n", "n_paper", "contender", "seed", "repeat", "status", "reason",
    "flagged", "flag_reason", "cpu_seconds", "wall_seconds", "iterations", "kernel_evaluations",
)  # fmt: skip
"""Leading columns. The others follow in the order of the record, with nested ones last and sorted."""


def flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten a record: nested keys joined by dots, values as CSV text.

    None becomes the empty text, a boolean ``true`` or ``false``, a list its JSON; numbers keep full
    precision.
    """
    flat: dict[str, str] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(dict(sorted(value.items())), f"{name}."))
        elif isinstance(value, (bool, list, tuple)):
            flat[name] = json.dumps(value)
        else:
            flat[name] = "" if value is None else str(value)
    return flat


def collect_lines(files: Iterable[Path]) -> list[dict[str, str]]:
    """Return the flattened lines of job files, in order.

    Two lines of the same run are a StepError that names both files.
    """
    rows: list[dict[str, str]] = []
    seen: dict[tuple[str, ...], Path] = {}
    for path in files:
        for record in read_lines(path):
            row = flatten(record)
            identity = tuple(row.get(key, "") for key in IDENTITY)
            if identity in seen:
                what = told(IDENTITY, identity)
                raise StepError(f"{path}: {what} was already measured in {seen[identity]}")
            seen[identity] = path
            rows.append(row)
    return in_order(rows)


def in_order(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the lines of an experiment by size, contender's first appearance, seed and repeat."""
    order = {label: place for place, label in enumerate(dict.fromkeys(row["contender"] for row in rows))}

    def place(row: Mapping[str, str]) -> tuple[float, ...]:
        run = (order[row["contender"]], float(row["seed"] or 0), float(row["repeat"]))
        return int(row["n"]), float(row["point"] or 0), *run

    return sorted(rows, key=place)


def join_pieces(pieces: Iterable[Sequence[dict[str, str]]]) -> list[dict[str, str]]:
    """Join measurements of an experiment that were made in pieces.

    If several pieces ran a contender on a problem, the last of them counts, whatever came of it. A line that
    says why it was not run counts only if no piece ran it.
    """
    joined: dict[tuple[object, ...], list[dict[str, str]]] = {}
    for piece in pieces:
        found: dict[tuple[object, ...], list[dict[str, str]]] = {}
        for row in piece:
            found.setdefault(tuple(_value(row.get(key) or "") for key in IDENTITY[:-1]), []).append(row)
        for problem, rows in found.items():
            if problem not in joined or any(row["status"] != "not_run" for row in rows):
                joined[problem] = rows
    return in_order([row for rows in joined.values() for row in rows])


def _value(text: str) -> str | float:
    """Return a number for its text, since 0 and 0.0 are the same seed."""
    try:
        return float(text)
    except ValueError:
        return text


def mixed_protocols(rows: Iterable[Mapping[str, str]]) -> str:
    """Say in one line that measurements follow several protocols of timing; "" if they follow one."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        if row.get("cpu_seconds"):
            counts.setdefault(row["experiment"], Counter())[row.get("protocol") or "1"] += 1
    mixed = {name: found for name, found in counts.items() if len(found) > 1}
    told = (
        f"{name} ({', '.join(f'{count} by {protocol}' for protocol, count in sorted(found.items()))})"
        for name, found in mixed.items()
    )
    return f"several timing protocols, of which the seconds of one count: {'; '.join(told)}" if mixed else ""


def to_csv(rows: Sequence[Mapping[str, object]], leading: Sequence[str] = LEADING) -> str:
    """Return rows as CSV: `leading` columns first, then the others, with dotted ones last and sorted."""
    names = dict.fromkeys(chain.from_iterable(rows))
    plain = [name for name in names if name not in leading and "." not in name]
    dotted = sorted(name for name in names if name not in leading and "." in name)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns := [*leading, *plain, *dotted])
    writer.writerows(map(row.get, columns) for row in rows)
    return out.getvalue()


def join(files: Sequence[Path]) -> str:
    """Concatenate CSV files, with the union of their columns in order of appearance."""
    rows = [row for path in files for row in read_rows(path)]
    header = next(csv.reader(io.StringIO(files[0].read_text(encoding="utf-8")))) if files else []
    return to_csv(rows, LEADING if set(LEADING) <= set(header) else header)
