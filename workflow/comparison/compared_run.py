"""One of two runs to be compared, read from a results folder or a committed reference.

A results folder has its measurements as CSV, a reference as Parquet. Both have fits, ratios and verdicts.
What a folder lacks is listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.fits import MEASURED, read_fits, read_ratios
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.configuration import Config
from svmrepro.workflow.configuration.jobs import Instance
from svmrepro.workflow.configuration.paths import MEASUREMENT_FILES, papers_in
from svmrepro.workflow.judgement.claims import read_verdicts
from svmrepro.workflow.judgement.reference_check import Entry, about, is_read, summarise
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
    papers: tuple[str, ...]  # with any results
    #: Paper -> when, where and how it was measured, as `about` of the check returns it.
    described: Mapping[str, Mapping[str, Any]]
    rows: Sequence[Entry]
    fits: Mapping[FitKey, Fit]  # measured exponents
    ratios: Mapping[RatioKey, Interval]
    claims: Mapping[str, Mapping[str, tuple[str, str]]]  # paper -> claim -> (verdict, measured value or "")
    lacking: tuple[str, ...]  # what the folder lacks

    @property
    def measured(self) -> str:
        """Time of the last measurement, ISO 8601, or ""."""
        return max((each["measured"] for each in self.described.values()), default="")

    @property
    def machines(self) -> list[Mapping[str, str]]:
        """The machines that measured."""
        return [machine for each in self.described.values() for machine in each["machines"]]

    @property
    def measurements(self) -> int:
        """The number of measurements."""
        return sum(each["runs"]["measured"] for each in self.described.values())

    @property
    def protocols(self) -> list[str]:
        """The protocols of timing."""
        return sorted({name for each in self.described.values() for name in each["protocols"]})

    @property
    def commits(self) -> list[str]:
        """The commits that made the measurements, as far as they are known."""
        return sorted({machine["commit"] for machine in self.machines if "commit" in machine})

    @property
    def record(self) -> dict[str, Any]:
        """The record that `svmrepro.workflow.judgement.reference_check.compare` takes."""
        verdicts = {
            paper: {name: verdict for name, (verdict, _) in claims.items()}
            for paper, claims in self.claims.items()
        }
        return {"papers": self.described, "claims": verdicts, "rows": self.rows}

    def on_data_of(self, config: Config | None) -> ComparedRun:
        """Return the run with the ``data`` of each row, by the configuration under which it was measured.

        A measurement names the set and a seed. Only the configuration tells whether the seed is that of a
        sample or of a permutation. Rows of experiments that it lacks stay without ``data``.
        """
        if config is None:
            return self
        return replace(self, rows=[_on_data_of(entry, config) for entry in self.rows])


def read_run(folder: Path, papers: Iterable[str], *, estimates: bool = True) -> ComparedRun:
    """Read the results of some papers from ``results/<scale>`` of a run, or ``results/reference/<scale>``.

    Without ``estimates``, fits and ratios are not read.
    """
    named = list(papers)
    found = papers_in(folder)
    present = [paper for paper in named if paper in found]
    places = [folder / paper for paper in present]
    names = ("fits", "ratios") if estimates else ()
    files = {name: _files(places, f"{name}.csv") for name in (*names, "claims")}
    measurements = _files(places, *MEASUREMENT_FILES)
    lacking = [f"{paper}: no {name}" for paper in present for name in names if paper not in files[name]]
    fits: dict[FitKey, Fit] = {
        (paper, *key[:3]): fit
        for paper, file in files.get("fits", {}).items()
        for key, fit in read_fits([file]).items()
        if key[3] == MEASURED
    }
    ratios: dict[RatioKey, Interval] = {
        (paper, *key): ratio
        for paper, file in files.get("ratios", {}).items()
        for key, ratio in read_ratios([file]).items()
    }
    claims = {
        paper: {row["id"]: (row["verdict"], row["measured"]) for row in read_verdicts(file)}
        for paper, file in files["claims"].items()
    }
    entries: list[Entry] = []
    described: dict[str, Mapping[str, Any]] = {}
    scales: dict[str, None] = {}
    for paper, file in measurements.items():
        runs = read_runs([file], is_read)
        entries += summarise(runs)
        described[paper] = about(runs)
        scales |= dict.fromkeys(run.fields.get("scale", "") for run in runs.runs)
    lacking += [f"{paper}: no measurements" for paper in present if paper not in measurements]
    lacking += [f"{paper}: no verdicts" for paper in present if paper not in claims]
    lacking += [f"{paper}: nothing" for paper in named if paper not in present]
    return ComparedRun(
        folder=folder,
        scale=" and ".join(filter(None, scales)),
        papers=tuple(present),
        described=described,
        rows=entries,
        fits=fits,
        ratios=ratios,
        claims=claims,
        lacking=tuple(lacking),
    )


def _files(places: Iterable[Path], *names: str) -> dict[str, Path]:
    """Return the first of some files that each paper's folder has, by paper."""
    found = {place.name: [place / name for name in names if (place / name).is_file()] for place in places}
    return {paper: files[0] for paper, files in found.items() if files}


def _on_data_of(entry: Entry, config: Config) -> Entry:
    """Add the examples of an entry, and their order, as ``data``."""
    paper = config.papers.get(entry["paper"])
    experiment = paper.experiments.get(entry["experiment"]) if paper else None
    if experiment is None:
        return entry
    seed = int(entry["seed"]) if entry["seed"] else None
    instance = Instance(experiment, int(entry["n"]), seed)
    order = "" if instance.permutation is None else f", permutation {instance.permutation}"
    return {**entry, "data": f"{experiment.dataset}, sample {instance.sample}{order}"}
