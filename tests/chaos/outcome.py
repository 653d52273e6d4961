"""The files that a run of the workflow left, and their differences from an undisturbed run.

Seconds and peaks of memory, and what is computed from them, differ between runs. Everything else is the
same: the set of measurements, all their counts and objectives, and every cell of every table.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.runs import IDENTITY
from svmrepro.workflow.journal.journal_line import decode

#: Columns of measurements about the clock, the machine and the process.
_OF_THE_RUN = re.compile(
    r"seconds|^(run_id|time|flagged|flag_reason|load_before|load_after|peak_memory_bytes)$|^machine\.|^info\.|^noise\."
)
#: Columns computed from seconds or from the peak of memory; ratios of counts are not among them.
_OF_THE_CLOCK = re.compile(
    r"second|time|bandwidth|^relative$|^memory$|^difference$|^apart|^(?!.*(?:iterations|work|evaluations)).*ratio"
)
#: Tables whose cells are seconds, in columns named after contenders; only sizes and reasons are compared.
_OF_SECONDS = re.compile(r"/sparse-[^/]*\.csv$")
#: Rows of fits.csv and ratios.csv that are computed from seconds.
_CLOCKED = "cpu_seconds"

#: Files in the results folder that every run may leave, killed or not.
_LITTER = re.compile(r"\.part$|^\..*\.\d+-")

Table = list[dict[str, str]]


def tables(results: Path) -> dict[str, Table]:
    """Return every table of a run by name: measurements, fits, ratios and artefacts."""
    found = {}
    for path in sorted(results.rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as stream:
            found[str(path.relative_to(results))] = list(csv.DictReader(stream))
    return found


def _lines(folder: Path) -> Iterator[tuple[Path, int, bytes]]:
    for path in sorted(folder.rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
            yield path, number, line


def broken_lines(results: Path) -> list[str]:
    """Return faults of the journal: lines that do not parse, and measurements made twice."""
    problems = []
    for folder in (results / "journal", *(path for path in results.glob("*/*/runs") if path.is_dir())):
        seen: Counter[tuple[object, ...]] = Counter()
        for path, number, text in _lines(folder):
            try:
                line = decode(text)
            except ValueError as error:
                problems.append(f"{path.relative_to(results)}:{number}: {error}")
                continue
            seen[tuple(line[name] for name in ("row", *IDENTITY))] += 1
        problems += [
            f"{folder.name}: measured {times} times: {key}" for key, times in seen.items() if times > 1
        ]
    for path in results.rglob("*.jsonl"):
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            problems.append(f"{path.relative_to(results)}: the last line has no end")
    return problems


def litter(results: Path) -> list[str]:
    """Return half-written files that were left behind."""
    return [str(path) for path in results.rglob("*") if path.is_file() and _LITTER.search(path.name)]


def _same_rows(name: str, was: Table, now: Table) -> Iterator[str]:
    measured = name.endswith("measurements.csv")
    skip = _OF_THE_RUN if measured else _OF_THE_CLOCK
    if len(was) != len(now):
        yield f"{name}: {len(now)} rows where there were {len(was)}"
        return
    for number, (before, after) in enumerate(zip(was, now, strict=True), start=2):
        counted = before.get("quantity", "") not in ("", _CLOCKED)
        if before.get("quantity") == after.get("quantity") == _CLOCKED:
            continue
        for column in before.keys() | after.keys():
            if skip.search(column) and not counted:
                continue
            if _OF_SECONDS.search(name) and column != "n" and not column.endswith("_reason"):
                continue
            if before.get(column) != after.get(column):
                yield f"{name}:{number}: {column} is {after.get(column)!r} and was {before.get(column)!r}"


def differences(was: Mapping[str, Table], now: Mapping[str, Table]) -> list[str]:
    """Return the differences between the tables of a run and those of an undisturbed one."""
    problems = [f"{name}: is missing" for name in was.keys() - now.keys()]
    problems += [f"{name}: was not there" for name in now.keys() - was.keys()]
    for name in sorted(was.keys() & now.keys()):
        problems += _same_rows(name, was[name], now[name])
    return problems


def measurements(results: Path) -> int:
    """Return the number of measurements in the tables of the experiments."""
    return sum(
        len(rows) for name, rows in tables(results).items() if name.count("/") == 2 and "measure" in name
    )


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a JSON journal."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]
