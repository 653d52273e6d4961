"""Where everything that a run makes lies; the one place that knows the layout of the folders."""

from __future__ import annotations

from pathlib import Path

from svmrepro.workflow.config import Config, config_dir
from svmrepro.workflow.grid import jobs

__all__ = [
    "check",
    "config_dir",
    "figure",
    "fits",
    "job_file",
    "job_files",
    "journal",
    "marker",
    "measurements",
    "ratios",
    "reference",
    "results",
    "table",
    "timing_slots",
]


def results(config: Config) -> Path:
    """Return the folder of the scale's results."""
    return config.results_dir / config.scale


def journal(config: Config, paper: str, experiment: str) -> Path:
    """Return the journal of an experiment: every measurement ever made of it at this scale."""
    return results(config) / "journal" / paper / f"{experiment}.jsonl"


def timing_slots(config: Config) -> Path:
    """Return the folder of the locks that keep timed jobs apart, whatever their scale."""
    return config.results_dir / ".timing"


def job_file(config: Config, paper: str, experiment: str, job: str) -> Path:
    """Return the file of a job's current measurements, JSON lines."""
    return results(config) / paper / experiment / "runs" / f"{job}.jsonl"


def job_files(config: Config, paper: str, experiment: str) -> list[Path]:
    """Return the files of all jobs of an experiment, in the order of the grid."""
    found = config.experiment(paper, experiment)
    return [job_file(config, paper, experiment, job.name) for job in jobs(config, found)]


def measurements(config: Config, paper: str, experiment: str | None = None) -> Path:
    """Return the tidy table of an experiment's measurements, or of the paper's."""
    return _table(config, paper, experiment, "measurements.csv")


def fits(config: Config, paper: str, experiment: str | None = None) -> Path:
    """Return the table of fitted exponents of an experiment, or of the paper."""
    return _table(config, paper, experiment, "fits.csv")


def ratios(config: Config, paper: str, experiment: str | None = None) -> Path:
    """Return the table of ratios between contenders of an experiment, or of the paper."""
    return _table(config, paper, experiment, "ratios.csv")


def table(config: Config, paper: str, artefact: str) -> dict[str, Path]:
    """Return the files of a table artefact by form: csv, md, html."""
    folder = results(config) / paper
    return {form: folder / f"{artefact}.{form}" for form in ("csv", "md", "html")}


def figure(config: Config, paper: str, artefact: str) -> dict[str, Path]:
    """Return the files of a figure artefact by form: svg, png."""
    folder = config.figures_dir / config.scale / paper
    return {form: folder / f"{artefact}.{form}" for form in ("svg", "png")}


def check(config: Config) -> Path:
    """Return the record of the reproducibility check."""
    return results(config) / "check.json"


def reference(config: Config) -> Path:
    """Return the folder of the committed reference run of this scale, which may not exist."""
    return config_dir().parent / "results" / "reference" / config.scale


def marker(config: Config, dataset: str) -> Path:
    """Return the file that says whether a data set can be had."""
    return config.data_dir / "available" / f"{dataset}.json"


def _table(config: Config, paper: str, experiment: str | None, name: str) -> Path:
    folder = results(config) / paper
    return folder / name if experiment is None else folder / experiment / name
