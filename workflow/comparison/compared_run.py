"""One of two runs to be compared, read from a results folder or a committed reference.

A results folder has the measurements themselves. A reference has the record of its check (counts and
verdicts), fits, ratios and tables. Whatever a folder has is used; what it lacks is listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.fits import MEASURED, read_fits, read_ratios
from svmrepro.workflow.analysis.intervals import Interval
from svmrepro.workflow.analysis.power_law import Fit
from svmrepro.workflow.analysis.runs import Runs, read_rows, read_runs
from svmrepro.workflow.configuration.paths import papers_in
from svmrepro.workflow.judgement.check_file import CLAIM_COLUMNS, CLAIM_FORM, read_record
from svmrepro.workflow.judgement.reference_check import machine_identity, summarise

FitKey = tuple[str, str, str, str]
"""Paper, experiment, contender, quantity."""

RatioKey = tuple[str, str, int, str, str, str]
"""Paper, experiment, n, numerator, denominator, quantity."""


@dataclass(frozen=True)
class ComparedRun:
    """One run, as far as its folder describes it.

    Attributes
    ----------
    folder : Path
        The folder it was read from.
    scale : str
        Its scale, "" if unknown.
    measured : str
        Time of its last measurement, ISO 8601, or "".
    machine : mapping
        Processor, BLAS, Python and library versions
        (`svmrepro.workflow.judgement.reference_check.machine_identity`); empty if unknown or not the same
        throughout.
    commits : tuple of str
        Commits of this project that made the measurements; empty if only a record of the check is available.
    papers : tuple of str
        Papers with any results.
    rows : sequence of mapping
        One entry per problem, seed and contender, made by
        `svmrepro.workflow.judgement.reference_check.summarise`.
    fits, ratios : mapping
        Measured exponents; ratios between contenders within one process.
    claims : mapping
        Paper -> claim -> (verdict, measured value or "").
    lacking : tuple of str
        Descriptions of what the folder lacks.
    """

    folder: Path
    scale: str
    measured: str
    machine: Mapping[str, str]
    commits: tuple[str, ...]
    papers: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    fits: Mapping[FitKey, Fit]
    ratios: Mapping[RatioKey, Interval]
    claims: Mapping[str, Mapping[str, tuple[str, str]]]
    lacking: tuple[str, ...]

    @property
    def record(self) -> dict[str, Any]:
        """The record that `svmrepro.workflow.judgement.reference_check.compare` takes."""
        verdicts = {
            paper: {name: verdict for name, (verdict, _) in claims.items()}
            for paper, claims in self.claims.items()
        }
        return {"machine": dict(self.machine), "claims": verdicts, "rows": self.rows}


def read_run(folder: Path, papers: Iterable[str]) -> ComparedRun:
    """Read the results of some papers from a folder.

    Parameters
    ----------
    folder : Path
        ``results/<scale>`` of a run, or ``results/reference/<scale>``.
    papers : iterable of str
        Papers to be compared; others in the folder are ignored.

    Raises
    ------
    StepError
        If there are no results, or a file is invalid.
    """
    present = papers_in(folder)
    wanted = list(papers)
    return _read(folder, [paper for paper in wanted if paper in present], wanted)


def _read(folder: Path, present: Sequence[str], wanted: Sequence[str]) -> ComparedRun:
    lacking: list[str] = []
    measured: dict[str, Runs] = {}
    fits: dict[FitKey, Fit] = {}
    ratios: dict[RatioKey, Interval] = {}
    claims: dict[str, dict[str, tuple[str, str]]] = {}
    for paper in present:
        files = {
            name: folder / paper / f"{name}.csv" for name in ("measurements", "fits", "ratios", "claims")
        }
        if files["measurements"].is_file():
            measured[paper] = read_runs([files["measurements"]])
        if files["claims"].is_file():
            rows = read_rows(files["claims"], CLAIM_COLUMNS, CLAIM_FORM)
            claims[paper] = {row["id"]: (row["verdict"], row["measured"]) for row in rows}
        if files["fits"].is_file():
            found = read_fits([files["fits"]])
            fits |= {(paper, *key[:3]): fit for key, fit in found.items() if key[3] == MEASURED}
        if files["ratios"].is_file():
            ratios |= {(paper, *key): ratio for key, ratio in read_ratios([files["ratios"]]).items()}
        lacking += [f"{paper}: no {name}" for name in ("fits", "ratios") if not files[name].is_file()]
    runs = Runs(tuple(run for found in measured.values() for run in found.runs))
    rows_known: list[Mapping[str, Any]] = [*summarise(runs)]
    machine = machine_identity(runs)
    times = [run.fields.get("time", "") for run in runs.runs]
    scales = dict.fromkeys(run.fields.get("scale", "") for run in runs.runs)
    commits = {run.fields.get("machine.commit", "") for run in runs.runs} - {""}
    unmeasured = [paper for paper in wanted if paper not in measured]
    record: dict[str, Any] = {}
    if unmeasured and (folder / "check.json").is_file():
        record = read_record(folder / "check.json")
        from_record = [row for row in record["rows"] if row["paper"] in unmeasured]
        rows_known += from_record
        # Two machines in one folder count as unknown.
        if from_record and (not runs.runs or record["machine"] != machine):
            machine = {} if runs.runs else record["machine"]
        times.append(record["measured"])
        scales[record["scale"]] = None
        commits |= {known["commit"] for known in record.get("machines", ()) if "commit" in known}
        for paper in unmeasured:
            for name, verdict in record["claims"].get(paper, {}).items():
                claims.setdefault(paper, {}).setdefault(name, (verdict, ""))
    known = {row["paper"] for row in rows_known}
    having = [paper for paper in wanted if paper in present or paper in known or paper in claims]
    lacking += [f"{paper}: no measurements" for paper in having if paper not in known]
    lacking += [f"{paper}: no verdicts" for paper in having if paper not in claims]
    lacking += [f"{paper}: nothing" for paper in wanted if paper not in having]
    return ComparedRun(
        folder=folder,
        scale=" and ".join(filter(None, scales)),
        measured=max(times, default=""),
        machine=machine,
        commits=tuple(sorted(commits)),
        papers=tuple(having),
        rows=rows_known,
        fits=fits,
        ratios=ratios,
        claims=claims,
        lacking=tuple(lacking),
    )
