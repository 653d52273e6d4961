"""One of two runs to be compared, read from a results folder or a committed reference.

A results folder has the measurements themselves. A reference has the record of its check (counts and
verdicts), fits, ratios and tables. Whatever a folder has is used; what it lacks is listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.fits import MEASURED, read_fits, read_ratios
from svmrepro.workflow.analysis.runs import read_rows, read_runs
from svmrepro.workflow.configuration.paths import papers_in
from svmrepro.workflow.judgement.check_file import CLAIM_COLUMNS, CLAIM_FORM, read_record
from svmrepro.workflow.judgement.reference_check import Entry, machine_identity, protocols, summarise
from svmrepro.workflow.statistics import Fit, Interval

FitKey = tuple[str, str, str, str]
"""Paper, experiment, contender, quantity."""

RatioKey = tuple[str, str, int, str, str, str]
"""Paper, experiment, n, numerator, denominator, quantity."""


@dataclass(frozen=True)
class ComparedRun:
    """One run, as far as its folder describes it."""

    folder: Path
    scale: str  # or "", if unknown
    measured: str  # time of the last measurement, ISO 8601, or ""
    #: Paper -> `machine_identity`; empty if unknown or not the same throughout.
    machines: Mapping[str, Mapping[str, str]]
    commits: tuple[str, ...]  # that made the measurements; empty if only a record of the check is available
    papers: tuple[str, ...]  # with any results
    rows: Sequence[Entry]
    fits: Mapping[FitKey, Fit]  # measured exponents
    ratios: Mapping[RatioKey, Interval]
    claims: Mapping[str, Mapping[str, tuple[str, str]]]  # paper -> claim -> (verdict, measured value or "")
    lacking: tuple[str, ...]  # what the folder lacks
    protocols: Mapping[str, Sequence[str]] = field(default_factory=dict)  # paper -> protocols of timing

    @property
    def record(self) -> dict[str, Any]:
        """The record that `svmrepro.workflow.judgement.reference_check.compare` takes."""
        verdicts = {
            paper: {name: verdict for name, (verdict, _) in claims.items()}
            for paper, claims in self.claims.items()
        }
        return {
            "papers": {
                paper: {"machine": machine, "protocols": self.protocols.get(paper, ())}
                for paper, machine in self.machines.items()
            },
            "claims": verdicts,
            "rows": self.rows,
        }


def read_run(folder: Path, papers: Iterable[str]) -> ComparedRun:
    """Read the results of some papers from ``results/<scale>`` of a run, or ``results/reference/<scale>``."""
    wanted = list(papers)
    found = papers_in(folder)
    present = [paper for paper in wanted if paper in found]
    files = {
        (paper, name): file
        for paper in present
        for name in ("measurements", "fits", "ratios", "claims")
        if (file := folder / paper / f"{name}.csv").is_file()
    }
    lacking = [
        f"{paper}: no {name}"
        for paper in present
        for name in ("fits", "ratios")
        if (paper, name) not in files
    ]
    fits, ratios, claims = _estimates(files)
    entries: list[Entry] = []
    machines: dict[str, Mapping[str, str]] = {}
    timing: dict[str, Sequence[str]] = {}
    times: list[str] = []
    scales: dict[str, None] = {}
    commits: set[str] = set()
    for paper in [paper for paper in present if (paper, "measurements") in files]:
        runs = read_runs([files[paper, "measurements"]])
        entries += summarise(runs)
        machines[paper], timing[paper] = machine_identity(runs), protocols(runs)
        times += [run.fields.get("time", "") for run in runs.runs]
        scales |= dict.fromkeys(run.fields.get("scale", "") for run in runs.runs)
        commits |= {run.fields.get("machine.commit", "") for run in runs.runs} - {""}
    unmeasured = [paper for paper in wanted if (paper, "measurements") not in files]
    if unmeasured and (folder / "check.json").is_file():
        record = read_record(folder / "check.json")
        entries += [row for row in record["rows"] if row["paper"] in unmeasured]
        scales[record["scale"]] = None
        for paper in unmeasured:
            if found_there := record["papers"].get(paper):
                machines[paper] = found_there["machine"]
                timing[paper] = found_there.get("protocols", ())
                times.append(found_there["measured"])
                known = found_there.get("machines", ())
                commits |= {each["commit"] for each in known if "commit" in each}
            for name, verdict in record["claims"].get(paper, {}).items():
                claims.setdefault(paper, {}).setdefault(name, (verdict, ""))
    measured = {entry["paper"] for entry in entries}
    having = [paper for paper in wanted if paper in {*present, *measured, *claims}]
    lacking += [f"{paper}: no measurements" for paper in having if paper not in measured]
    lacking += [f"{paper}: no verdicts" for paper in having if paper not in claims]
    lacking += [f"{paper}: nothing" for paper in wanted if paper not in having]
    return ComparedRun(
        folder=folder,
        scale=" and ".join(filter(None, scales)),
        measured=max(times, default=""),
        machines=machines,
        commits=tuple(sorted(commits)),
        papers=tuple(having),
        rows=entries,
        fits=fits,
        ratios=ratios,
        claims=claims,
        lacking=tuple(lacking),
        protocols=timing,
    )


def _estimates(
    files: Mapping[tuple[str, str], Path],
) -> tuple[dict[FitKey, Fit], dict[RatioKey, Interval], dict[str, dict[str, tuple[str, str]]]]:
    """Read exponents, ratios and verdicts from the files of these papers and names."""
    fits: dict[FitKey, Fit] = {}
    ratios: dict[RatioKey, Interval] = {}
    claims: dict[str, dict[str, tuple[str, str]]] = {}
    for (paper, name), file in files.items():
        if name == "claims":
            rows = read_rows(file, CLAIM_COLUMNS, CLAIM_FORM)
            claims[paper] = {row["id"]: (row["verdict"], row["measured"]) for row in rows}
        elif name == "fits":
            fits |= {(paper, *key[:3]): fit for key, fit in read_fits([file]).items() if key[3] == MEASURED}
        elif name == "ratios":
            ratios |= {(paper, *key): ratio for key, ratio in read_ratios([file]).items()}
    return fits, ratios, claims
