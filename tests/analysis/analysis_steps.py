"""The steps of the analysis, one after the other in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import analysis_support as synthetic
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config, write_config
from svmrepro.workflow.steps import analyse as analyse_step
from svmrepro.workflow.steps import collect, plot, tabulate


class Run(NamedTuple):
    """A configuration, and the file that the steps read it from."""

    config: Config
    file: Path


def measured(folder: Path, *names: str, figures: bool = False, **changes: Any) -> Run:
    """Return a run over some experiments, of records as `analysis_support.records` makes them."""
    config = synthetic.make_config(folder, experiments=names)
    for name in names:
        synthetic.write_records(config, {name: synthetic.records(config, name, **changes)})
    return analyse(config, figures=figures)


def analyse(config: Config, *, figures: bool = False) -> Run:
    """Take a configuration whose job files are there through analyse, collect, tabulate (and plot)."""
    file = config.results_dir / "config.json"
    write_config(config, file)
    paper = config.papers[synthetic.PAPER]
    measured = [
        name for name in paper.experiments if paths.job_files(config, synthetic.PAPER, name)[0].is_file()
    ]
    for name in measured:
        analyse_step.run(config, synthetic.PAPER, name)
    if len(measured) == len(paper.experiments):
        collect.run(config, synthetic.PAPER)
    for artefact in paper.artefacts.values():
        if artefact.form == "table":
            tabulate.run(config, synthetic.PAPER, [artefact.name])
        elif figures:
            plot.run(config, synthetic.PAPER, [artefact.name])
    return Run(config, file)
