"""Summarise the results of a run that must be reproducible elsewhere, and compare two such summaries.

Two groups of numbers are compared row by row. *Results* are the dual objective (for cutting planes, its lower
bound) and the numbers of support vectors. The *path* is the iterations, kernel evaluations and counted work.
Seconds are never compared.

On the same hardware with the same library versions, all numbers must be equal. Elsewhere, results must agree
within 2 %, and numbers of support vectors within 2 % of the examples. Pairs of examples with a multiplier
(ordinal SVM-light) belong to the path: solutions of other pairs are as good. Rounding steers the path: the
steps of a single row may legitimately differ by more between two processors. For the path, only the median
ratio over a contender's rows must therefore be within 2 % of 1. For dense storage even that is too strict:
registers of another width sum a dense dot product in another order, and differences of 16 % were seen in one
row. With dense storage, the median of m rows must be within 25 % divided by the square root of m.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from svmrepro.solvers.registry import PAIRS, SOLVERS
from svmrepro.workflow.analysis.runs import LOWER_BOUNDS, UNREPORTED, WORK_TERMS, MeasuredRun, Runs
from svmrepro.workflow.journal.journal_line import LIMITS, OPTIMAL
from svmrepro.workflow.judgement.claims import FAILS, HELD, STAND_IN, STAND_IN_FAILS, TOO_SMALL, UNDECIDED
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.result_files.measurement_columns import MACHINE_IDENTITY

TOLERANCE = 0.02
"""Relative difference allowed between different machines."""

ONE_PATH = 0.25
"""Allowed effect of summation order on the steps of one dense row; the median of m rows varies by less."""

EQUAL = 1e-9
"""Relative difference that still counts as equal: the loss of printing a number and reading it back."""

SLOWER = 10.0
"""How many times as slow as the reference's another machine may be."""

RESULTS = (*LOWER_BOUNDS, "certificate.n_bound", "certificate.n_nonbound")
PATH = (*UNREPORTED, *WORK_TERMS)

PROBLEM = ("paper", "experiment", "n", "seed", "contender")
"""Fields that identify a row; in an experiment with an axis, ``point`` as well."""

SETTING = ("solver", "storage", "bias", "C", "eps")
"""Fields that must agree for rows to be comparable, as must ``kernel.*``, ``options.*``, ``encoding*``."""

FAILED = ("uncertified", "error", "iteration_limit")
"""Statuses that are faults of the code on any machine; missing data are not."""

_ALSO_READ = (
    "point", "repeat", "scale", "status", "certificate.passed", "flagged", "cpu_seconds", "time_limit",
    "time", "protocol",
)  # fmt: skip
_READ = frozenset((*PROBLEM, *SETTING, *RESULTS, *PATH, *_ALSO_READ))
_SETTING_GROUPS = ("kernel.", "options.", "encoding")

Entry = Mapping[str, Any]
"""One problem, seed and contender of a run, as `summarise` returns it."""

Paths = dict[tuple[str, str, str, bool], list[float]]
"""Ratios of counts to the reference's, by paper, contender, count, and whether storage is dense."""


@dataclass
class ReferenceCheck:
    """Outcome of a comparison with the reference."""

    #: Paper -> whether hardware and library versions equal the reference's, so that equality is required.
    same_machine: dict[str, bool] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # rows or claims that were not measured here
    rows: int = 0  # compared
    of: int = 0  # in the reference, for the papers of this run

    @property
    def how(self) -> str:
        """How strictly the rows were compared, in words."""
        equal = [paper for paper, same in self.same_machine.items() if same]
        if equal and len(equal) == len(self.same_machine):
            return "same machine and libraries: equality"
        elsewhere = "another machine or libraries, or unknown ones: within 2 %"
        if not equal:
            return elsewhere
        return f"{', '.join(equal)}: same machine and libraries, equality; the others: {elsewhere}"


def is_read(column: str) -> bool:
    """Whether `summarise` or `about` reads a column of the measurements, or it identifies a run."""
    return column in _READ or column.startswith((*_SETTING_GROUPS, "machine."))


def summarise(runs: Runs) -> list[dict[str, Any]]:
    """Summarise each row and contender: identifying fields, settings, status and counts.

    The repeats of a row are the same computation: if one failed, the row has. Otherwise the counts are those
    of the first certified repeat.
    """
    chosen: dict[tuple[str, ...], MeasuredRun] = {}
    for run in runs.runs:
        key = tuple(run.fields.get(name, "") for name in (*PROBLEM, "point"))
        if key not in chosen or _weight(run) > _weight(chosen[key]):
            chosen[key] = run
    return [_entry(run) for run in chosen.values()]


def _weight(run: MeasuredRun) -> int:
    """Return which of two repeats stands for their row: the one with the larger weight, or the first."""
    if run.solved:
        return 1
    return 2 if run.status in (*FAILED, OPTIMAL) else 0  # `OPTIMAL` by its own report only


def _entry(run: MeasuredRun) -> dict[str, Any]:
    more = {name: text for name, text in run.fields.items() if name.startswith(_SETTING_GROUPS) and text}
    counts = {name: value for name in (*RESULTS, *PATH) if (value := run.number(name)) is not None}
    setting = {**{name: run.fields.get(name, "") for name in SETTING}, **more}
    return {
        **{name: run.fields.get(name, "") for name in PROBLEM},
        "seed": run.fields.get("seed", "").removesuffix(".0"),  # as pandas writes it beside empty cells
        **({"point": _value(point)} if (point := run.fields.get("point", "")) else {}),
        "setting": {name: _value(text) for name, text in setting.items()},
        "status": run.status if run.solved or run.status != OPTIMAL else "uncertified",
        "counts": counts if run.solved else {},
        "seconds": run.number("cpu_seconds"),
        "time_limit": run.number("time_limit"),
    }


def _value(text: str) -> str:
    """Return a number as Python writes it, since Parquet keeps its value but not its text; else the text."""
    with suppress(ValueError):
        return repr(float(text))
    return text


def machine_identity(records: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return what defines "same hardware and lock": processor, BLAS, versions of Python and the libraries.

    Empty if there are no machine records, or if they differ in any of these.
    """
    identities = {
        tuple(
            (f"machine.{name}", text)
            for name, text in record.items()
            if name in MACHINE_IDENTITY or (name.startswith("versions.") and not name.endswith(".svmrepro"))
        )
        for record in records
    }
    return dict(identities.pop()) if len(identities) == 1 else {}


def machine_records(runs: Runs) -> list[dict[str, str]]:
    """Return the distinct machine records of the runs, complete with memory, commit and so on."""
    found = {
        frozenset(each for each in run.fields.items() if each[1] and each[0].startswith("machine."))
        for run in runs.runs
        if run.solved
    }
    records = sorted(map(sorted, found))
    return [{name.removeprefix("machine."): text for name, text in record} for record in records]


def about(runs: Runs) -> dict[str, Any]:
    """Return when, where and how the runs of one paper were measured, for a record."""
    measured = [run for run in runs.runs if run.number("cpu_seconds") is not None]
    machines = machine_records(runs)
    return {
        "machine": machine_identity(machines),
        "machines": machines,
        "measured": max((run.fields.get("time", "") for run in measured), default=""),
        "protocols": sorted({run.protocol for run in measured}),
        "runs": {"measured": len(measured), "flagged": sum(run.flagged for run in runs.runs)},
    }


def other_protocol(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Say that the seconds of the papers of both records were taken by different protocols, or ""."""
    both = there["papers"].keys() & here["papers"].keys()
    before, now = (
        sorted({name for paper in both for name in record["papers"][paper]["protocols"]})
        for record in (there, here)
    )
    if before == now or [] in (before, now):  # nothing was timed
        return ""
    return (
        f"timing protocol {' and '.join(now)} here, {' and '.join(before)} there: seconds, and claims "
        "about them, are not comparable"
    )


def compare(
    reference: Mapping[str, Any],
    current: Mapping[str, Any],
    *,
    whole: bool = True,
    complete: bool = False,
    clocked: Container[tuple[str, str]] = frozenset(),
) -> ReferenceCheck:
    """Compare the record of a run (see `svmrepro.workflow.steps.check`) with the reference.

    Faults are:

    - a claim that held and is now violated, undecided or no longer listed;
    - results or counts that differ by more than the module docstring allows;
    - a row that met a limit, if it is the smallest that the reference solved with this contender; of time,
      if the reference needed less than a tenth of it;
    - a row that its experiment no longer has, or has with other settings, if ``whole``.

    Remarks are:

    - protocols of timing that differ;
    - rows of other data, where both records tell the ``data`` of a row (`compare` of two scales does);
    - a claim about seconds (listed in ``clocked`` as (paper, claim)) that is now undecided, since intervals
      are wider on a noisier machine, or that does not hold on another machine: processors differ in what
      they are fast at;
    - a claim or row that was not measured here: missing data or package, a limit at a larger size, or an
      experiment that this run omits; a claim that was measured on a stand-in only; or, if ``whole``, a solved
      row or a claim of this run that the reference lacks. With ``complete`` these are faults.

    Papers that this run omits are not compared.
    """
    papers = {*current["claims"], *(row["paper"] for row in current["rows"])}
    here = current["papers"]
    found = ReferenceCheck(
        {
            paper: bool(known["machine"]) and known["machine"] == here.get(paper, {}).get("machine")
            for paper, known in reference["papers"].items()
            if paper in papers
        }
    )
    if remark := other_protocol(reference, current):
        found.remarks.append(remark)
    missing = found.faults if complete else found.remarks
    for paper, verdicts in reference["claims"].items():
        now = current["claims"].get(paper)
        for name in [name for name, verdict in verdicts.items() if verdict in HELD and now is not None]:
            present = now.get(name, "no longer listed")
            said = f"claim {paper}/{name} held in the reference: {present}"
            elsewhere = not found.same_machine.get(paper)
            if (paper, name) in clocked and (
                present == UNDECIDED or (present in (FAILS, STAND_IN_FAILS) and elsewhere)
            ):
                found.remarks.append(f"{said}, by seconds")
            elif present in (FAILS, STAND_IN_FAILS, UNDECIDED, TOO_SMALL, "no longer listed"):
                found.faults.append(said)
            elif present not in HELD or (present == STAND_IN and verdicts[name] != STAND_IN):
                missing.append(said)
    expected = [row for row in reference["rows"] if row["paper"] in papers]
    absent = _compare_rows(expected, current["rows"], found, whole)
    if absent:
        were = "was" if len(absent) == 1 else "were"
        missing.append(
            f"{plural(len(absent), 'row')} of the reference {were} not measured here: {_some(absent)}"
        )
    if whole:
        missing += _lacking(reference, current)
    return found


def _lacking(reference: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """Count the solved rows and the claims of a run that the reference lacks."""
    known, judged = {_key(row) for row in reference["rows"]}, reference["claims"]
    solved = [row for row in current["rows"] if row["counts"] and _key(row) not in known]
    found = {
        "solved row": [f"{row['paper']}, {_label(row)}" for row in solved],
        "claim": [
            f"{paper}/{name}"
            for paper, verdicts in current["claims"].items()
            for name in verdicts
            if name not in judged.get(paper, {})
        ],
    }
    return [
        f"{plural(len(names), what)} of this run {'is' if len(names) == 1 else 'are'} not in the reference: "
        f"{_some(names)}"
        for what, names in found.items()
        if names
    ]


def _compare_rows(
    before: Iterable[Entry], after: Iterable[Entry], found: ReferenceCheck, whole: bool
) -> list[str]:
    """Compare the rows; return those of the reference that were not measured here."""
    here = {_key(entry): entry for entry in after}
    paths: Paths = {}
    absent: list[str] = []
    unmatched: list[str] = []
    other_data: list[str] = []
    before = [old for old in before if old["counts"]]
    found.of = len(before)
    smallest: dict[tuple[str, ...], int] = {}
    for old in before:
        smallest[_series(old)] = min(int(old["n"]), smallest.get(_series(old), int(old["n"])))
    measured = {(entry["paper"], entry["experiment"]) for entry in here.values()}
    for old in before:
        new, label = here.get(_key(old)), _label(old)
        if (old["paper"], old["experiment"]) not in measured:
            absent.append(f"{label}: its experiment is not part of this run")
        elif new is None:
            unmatched.append(label)
        elif data_differ(old, new):
            other_data.append(label)
        elif not new["counts"] and not _failed(old, new, smallest[_series(old)]):
            absent.append(f"{label}: {new['status']}")
        elif not new["counts"]:
            found.faults.append(f"{label}: {new['status']}, optimal in the reference")
        elif new["setting"] != old["setting"]:
            unmatched.append(f"{label}: other settings")
        else:
            found.rows += 1
            _compare_counts(old, new, label, found, paths)
    for (paper, contender, name, dense), ratios in paths.items():
        middle = statistics.median(ratios)
        if abs(middle - 1) > (max(TOLERANCE, ONE_PATH / math.sqrt(len(ratios))) if dense else TOLERANCE):
            found.faults.append(
                f"{paper}, {contender}: {name} is {middle:.3f} times the reference's "
                f"(median of {plural(len(ratios), 'row')})"
            )
    if other_data:
        are = "is" if len(other_data) == 1 else "are"
        found.remarks.append(
            f"{plural(len(other_data), 'row')} of the reference {are} of other data here: {_some(other_data)}"
        )
    if unmatched:
        are = "is" if len(unmatched) == 1 else "are"
        said = (
            f"{plural(len(unmatched), 'row')} of the reference {are} not part of this run: {_some(unmatched)}"
        )
        if whole:
            said += "; check the scale with its committed settings, or use `compare`"
        (found.faults if whole else found.remarks).append(said)
    if whole and found.of and not found.rows:
        found.faults.append("not one row of the reference could be compared")
    return absent


def _some(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
    return "; ".join(labels[:3]) + more


def _compare_counts(old: Entry, new: Entry, label: str, found: ReferenceCheck, paths: Paths) -> None:
    """Compare one row. If rounding may steer the path, store its ratios in `paths` for later."""
    same = found.same_machine.get(old["paper"], False)
    for name, was in old["counts"].items():
        value = new["counts"].get(name)
        if value is None:
            found.faults.append(f"{label}: {name} is missing, {was:g} in the reference")
        elif not same and (name not in RESULTS or (_of_pairs(old) and name not in LOWER_BOUNDS)):
            if was > 0:
                dense = old["setting"].get("storage") == "dense"
                paths.setdefault((old["paper"], old["contender"], name, dense), []).append(value / was)
        elif not agree(name, was, value, int(old["n"]), same_machine=same):
            how, digits = ("same machine", 10) if same else ("over 2 % off", 6)
            found.faults.append(
                f"{label}: {name} is {value:.{digits}g}, {was:.{digits}g} in the reference ({how})"
            )


def _of_pairs(entry: Entry) -> bool:
    """Whether the multipliers belong to pairs of examples, not to examples."""
    solver = SOLVERS.get(entry["setting"].get("solver", ""))
    return solver is not None and solver.loss == PAIRS


def data_differ(a: Entry, b: Entry) -> bool:
    """Whether two entries of one key are known to be of different data."""
    return "data" in a and "data" in b and a["data"] != b["data"]


def agree(name: str, was: float, value: float, n: int, *, same_machine: bool) -> bool:
    """Whether a count or an objective agrees in two runs on n examples, as far as the two machines allow.

    On the same machine equality is required; otherwise a relative difference up to `TOLERANCE` is allowed. In
    a number of support vectors it is that share of the examples, and at least 1: within the solver's
    tolerance, some examples near the margin may be support vectors or not.
    """
    if same_machine:
        return abs(value - was) <= EQUAL * max(abs(was), abs(value))
    slack = max(1.0, TOLERANCE * n) if name in RESULTS and name not in LOWER_BOUNDS else 0.0
    return abs(value - was) <= max(TOLERANCE * abs(was), slack)


def _failed(old: Entry, new: Entry, smallest: int) -> bool:
    """Whether the code is to blame for a row that was solved in the reference and is not here."""
    if new["status"] not in LIMITS:
        return new["status"] in FAILED
    if int(old["n"]) > smallest:
        return False
    seconds, limit = old.get("seconds"), new.get("time_limit")
    if new["status"] != "time_limit" or seconds is None or limit is None:
        return True
    return bool(SLOWER * seconds < limit)


def _series(entry: Entry) -> tuple[str, ...]:
    return entry["paper"], entry["experiment"], entry["contender"]


def _key(entry: Entry) -> tuple[str, ...]:
    return (*(entry[name] for name in PROBLEM), *([entry["point"]] if "point" in entry else []))


def _label(entry: Entry) -> str:
    seed = f", seed {entry['seed']}" if entry["seed"] not in ("", "0") else ""
    point = f", point {entry['point']}" if "point" in entry else ""
    return f"{entry['experiment']} n = {entry['n']}, {entry['contender']}{point}{seed}"
