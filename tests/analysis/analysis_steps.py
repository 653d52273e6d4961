"""The steps of the analysis, one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import analysis_support as synthetic
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config, Experiment, write_config
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.measurement.journal_line import dump_lines
from svmrepro.workflow.steps import analyse as analyse_step
from svmrepro.workflow.steps import collect, plot, tabulate


class Run(NamedTuple):
    """A configuration, and the file from which the steps read it."""

    config: Config
    file: Path


def measured(folder: Path, *names: str, figures: bool = False, **changes: Any) -> Run:
    """Return a run over some experiments, with records from `analysis_support.records`."""
    config = synthetic.make_config(folder, experiments=names)
    for name in names:
        synthetic.write_records(config, {name: synthetic.records(config, name, **changes)})
    return analyse(config, figures=figures)


def analyse(
    config: Config,
    paper: str = synthetic.PAPER,
    records: Callable[[Experiment], list[dict[str, Any]]] | None = None,
    *,
    only: Sequence[str] = (),
    figures: bool = False,
) -> Run:
    """Run analyse, collect and tabulate (and plot) for a configuration.

    Missing job files are made from ``records``, all in the first job of an experiment. With ``only``, just
    these artefacts are made.
    """
    file = config.results_dir / "config.json"
    write_config(config, file)
    described = config.papers[paper]
    measured = []
    for name, experiment in described.experiments.items():
        jobs = paths.job_files(config, paper, name)
        if records is not None:
            for place, job in enumerate(jobs):
                atomic_write(job, b"" if place else dump_lines(records(experiment)))
        if jobs[0].is_file():
            analyse_step.run(config, paper, name)
            measured.append(name)
    if len(measured) == len(described.experiments):
        collect.run(config, paper)
    for artefact in described.artefacts.values():
        if artefact.name in (only or described.artefacts):
            if artefact.form == "table":
                tabulate.run(config, paper, [artefact.name])
            elif figures:
                plot.run(config, paper, [artefact.name])
    return Run(config, file)
