"""Runs of the PA-SMO paper that nobody made: permutations with a gain that the tests choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from analysis_support import make_line, solved
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config, Experiment, load_config, write_config
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.measurement.journal_line import dump_lines
from svmrepro.workflow.steps import analyse as analyse_step
from svmrepro.workflow.steps import plot, tabulate

PAPER = "glasmachers2008"
NUMBERS = PaperNumbers(paths.config_dir() / "papers", PAPER)
NAMES = NUMBERS.experiments("table1")

#: Iterations of a contender in units of those of ``smo``, by experiment and contender.
Gain = Callable[[str, str], float]


def usual(experiment: str, contender: str) -> float:
    """Planning saves a tenth, everything else nothing."""
    return 0.9 if contender.startswith("pasmo") else 1.0


def make_config(
    folder: Path, names: Sequence[str] = NAMES, scale: str = "paper", permutations: int = 10
) -> Config:
    """Return the paper's configuration with some of its experiments, writing below `folder`."""
    experiments = {name: {"permutations": permutations} if name in names else None for name in NAMES}
    settings = {
        "scale": scale,
        "papers": [PAPER],
        "results_dir": str(folder / "results"),
        "figures_dir": str(folder / "figures"),
        "data_dir": str(folder / "data"),
        "experiments": {PAPER: experiments},
    }
    return load_config(settings)


def records(
    config: Config,
    experiment: Experiment,
    gain: Gain = usual,
) -> list[dict[str, Any]]:
    """Return the lines of an experiment: iterations scatter by 5 % between permutations, by 0.1 % within."""
    rng = np.random.default_rng(len(experiment.name))
    lines: list[dict[str, Any]] = []
    for n in experiment.sizes:
        printed = experiment.paper_sizes.get(n, n)
        total, bound = (
            int(NUMBERS.value("table1", experiment.name, printed, column) or 50)
            for column in ("support_vectors", "bounded_support_vectors")
        )
        for permutation in experiment.seeds:
            base = 10_000 * (1 + 0.05 * rng.standard_normal())
            for contender in experiment.contenders.values():
                if permutation not in experiment.seeds_of(contender):
                    continue
                iterations = base * gain(experiment.name, contender.label)
                iterations *= 1 + 0.001 * rng.standard_normal()
                line = solved(
                    make_line(config, experiment, contender, n, 0),
                    1e-5 * iterations,
                    round(iterations),
                    dual=100.0 * (1 + 1e-7 * contender.label.startswith("pasmo")),
                    primal=100.01,
                    gap=0.01,
                    n_bound=bound,
                    n_nonbound=total - bound,
                )
                lines.append({**line, "seed": permutation})
    return lines


def measured(
    folder: Path,
    names: Sequence[str] = NAMES,
    change: Callable[[dict[str, Any]], object] = lambda line: None,
    *,
    gain: Gain = usual,
    only: Sequence[str] = (),
    figures: bool = False,
    **settings: Any,
) -> Config:
    """Return a configuration (`make_config`) whose records, changed in place, went through the analysis.

    With ``only`` no other artefacts than these are made; figures where they are asked for.
    """
    config = make_config(folder, names, **settings)
    paper = config.papers[PAPER]
    write_config(config, config.results_dir / "config.json")
    for name, experiment in paper.experiments.items():
        lines = records(config, experiment, gain)
        for line in lines:
            change(line)
        # All in the first job of an experiment.
        first, *others = paths.job_files(config, PAPER, name)
        atomic_write(first, dump_lines(lines))
        for path in others:
            atomic_write(path, b"")
        analyse_step.run(config, PAPER, name)
    for artefact in paper.artefacts.values():
        if artefact.name in (only or paper.artefacts):
            if artefact.form == "table":
                tabulate.run(config, PAPER, [artefact.name])
            elif figures:
                plot.run(config, PAPER, [artefact.name])
    return config
