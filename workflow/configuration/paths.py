"""Paths of the files of a run that more than one module needs."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from svmrepro.workflow.configuration.jobs import jobs
from svmrepro.workflow.configuration.model import ROOT, Artefact, Config
from svmrepro.workflow.errors import StepError

COMPARE = "compare"
"""Folder of a comparison of two runs, next to the papers' folders in the results and the figures."""

AGAIN = "again"
"""Folder in the results for what `svmrepro remake` makes, unless another is named."""

MEASUREMENT_FILES = ("measurements.csv", "measurements.parquet")
"""The measurements of a paper. A run has both files with the same content, a reference has the second."""

KEPT_FILES = (*MEASUREMENT_FILES, "fits.csv", "ratios.csv", "claims.csv")
"""Files of a paper by which another run can be compared."""


def results(config: Config) -> Path:
    """Return the folder of the scale's results."""
    return config.results_dir / config.scale


def journal(config: Config, paper: str, experiment: str) -> Path:
    """Return the journal of an experiment: all measurements ever made of it at this scale."""
    return results(config) / "journal" / paper / f"{experiment}.jsonl"


def timing_slots(config: Config) -> Path:
    """Return the folder of the locks that serialise this results folder's timed jobs, across all scales.

    The nodes of a cluster share the results folder but do not disturb each other's timings, so each node has
    its own locks. So does each Slurm job, which has cores of its own and need not wait for other jobs on its
    node.
    """
    own = ".".join(filter(None, (platform.node() or "here", os.environ.get("SLURM_JOB_ID"))))
    return config.results_dir / ".timing" / re.sub(r"[^A-Za-z0-9.-]", "_", own)


def run_lock_file(config: Config) -> Path:
    """Return the lock file that admits one writer at a time to the scale's results."""
    return results(config) / ".run.lock"


def output_log(config: Config) -> Path:
    """Return the file with everything that runs have printed."""
    return results(config) / "logs" / "output.log"


def job_file(config: Config, paper: str, experiment: str, job: str) -> Path:
    """Return the file of a job's current measurements, as JSON lines."""
    return results(config) / paper / experiment / "runs" / f"{job}.jsonl"


def job_files(config: Config, paper: str, experiment: str) -> list[Path]:
    """Return the files of all jobs of an experiment, in the order of its instances."""
    found = config.experiment(paper, experiment)
    return [job_file(config, paper, experiment, job.name) for job in jobs(config, found)]


def measurements(config: Config, paper: str, experiment: str | None = None) -> Path:
    """Return the tidy table of measurements of an experiment, or of the whole paper."""
    return _table(config, paper, experiment, "measurements.csv")


def fits(config: Config, paper: str, experiment: str | None = None) -> Path:
    """Return the table of fitted exponents of an experiment, or of the whole paper."""
    return _table(config, paper, experiment, "fits.csv")


def ratios(config: Config, paper: str, experiment: str | None = None) -> Path:
    """Return the table of ratios between contenders of an experiment, or of the whole paper."""
    return _table(config, paper, experiment, "ratios.csv")


def table(config: Config, paper: str, artefact: str) -> dict[str, Path]:
    """Return the files of a table by form: csv, md, html."""
    folder = results(config) / paper
    return {form: folder / f"{artefact}.{form}" for form in ("csv", "md", "html")}


def figure(config: Config, paper: str, artefact: str) -> dict[str, Path]:
    """Return the files of a figure by form: svg, png, and json for the numbers that it draws."""
    folder = config.figures_dir / config.scale / paper
    return {form: folder / f"{artefact}.{form}" for form in ("svg", "png", "json")}


def artefact(config: Config, paper: str, described: Artefact) -> dict[str, Path]:
    """Return the files of a table or figure by form; json is the record of claims, or what a figure draws."""
    if described.form == "figure":
        return figure(config, paper, described.name)
    files = table(config, paper, described.name)
    if described.kind == "claims":
        files["json"] = results(config) / paper / f"{described.name}.json"
    return files


def check(config: Config) -> Path:
    """Return the record of the reproducibility check; a check of some papers alone has a separate file."""
    return results(config) / f"check{_of_papers(config)}.json"


def report(config: Config) -> Path:
    """Return the report; a report of some papers alone has a separate file."""
    return results(config) / f"report{_of_papers(config)}.html"


def _of_papers(config: Config) -> str:
    return "".join(f"-{name}" for name in sorted(config.papers)) if config.partial else ""


def reference(config: Config) -> Path:
    """Return the folder of this scale's committed reference run; it may not exist."""
    return ROOT / "results" / "reference" / config.scale


def report_text(config: Config) -> Path:
    """Return the text of the report's first page, beside the report."""
    return report(config).with_suffix(".rst")


def marker(config: Config, dataset: str) -> Path:
    """Return the file that says whether a data set is available."""
    return config.data_dir / "available" / f"{dataset}.json"


def comparison(config: Config) -> Path:
    """Return the page of the comparison with another run."""
    return results(config) / COMPARE / "index.html"


def against(config: Config) -> Path:
    """Return the folder of the other run of a comparison; without one, a StepError says how to name it."""
    if config.against is None:
        raise StepError(f"compare: no other run is named, such as results/reference/{config.scale}")
    return Path(config.against)


def others(config: Config) -> Path:
    """Return the folder into which archives of other runs are unpacked."""
    return config.results_dir / ".others"


def relative(path: Path, folder: Path | None = None) -> Path:
    """Return a path relative to a folder, by default the working one, if it lies below that."""
    folder = folder or Path.cwd()
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def papers_in(folder: Path) -> list[str]:
    """List the papers with comparable results in a folder; without any, a StepError is raised."""
    if not folder.is_dir():
        what = "neither a folder nor an archive of a run" if folder.exists() else "not a folder"
        raise StepError(f"against: {folder} is {what}")
    found = _papers_in(folder)
    if found:
        return found
    below = (*folder.glob("*"), *folder.glob("*/*"))
    inside = sorted(path for path in below if path.is_dir() and _papers_in(path))
    hint = f"; did you mean {inside[0]}?" if inside else ""
    raise StepError(f"against: {folder} holds no results of a run (no <paper>/measurements.csv){hint}")


def _papers_in(folder: Path) -> list[str]:
    places = sorted(path for path in folder.iterdir() if path.is_dir() and path.name != COMPARE)
    return [place.name for place in places if any((place / name).is_file() for name in KEPT_FILES)]


def _table(config: Config, paper: str, experiment: str | None, name: str) -> Path:
    folder = results(config) / paper
    return folder / name if experiment is None else folder / experiment / name
