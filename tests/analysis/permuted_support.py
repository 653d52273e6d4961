"""Synthetic runs of the PA-SMO paper: permutations with a gain chosen by the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from analysis_steps import analyse
from analysis_support import make_line, solved
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.model import Config, Experiment, load_config

PAPER = "glasmachers2008"
NUMBERS = PaperNumbers(paths.config_dir() / "papers", PAPER)
NAMES = NUMBERS.experiments("table1")

#: Iterations of a contender relative to ``smo``, by experiment and contender.
Gain = Callable[[str, str], float]


def usual(experiment: str, contender: str) -> float:
    """Planning saves a tenth; the other variants save nothing."""
    return 0.9 if contender.startswith("pasmo") else 1.0


def make_config(
    folder: Path, names: Sequence[str] = NAMES, scale: str = "paper", permutations: int = 10
) -> Config:
    """Return the paper's configuration with some experiments, writing below `folder`."""
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
    """Return the lines of an experiment: iterations vary by 5 % between permutations, by 0.1 % within one."""
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
    """Return a configuration (`make_config`) whose records, modified in place, went through the analysis.

    With ``only``, just these artefacts are made; figures only on request.
    """
    config = make_config(folder, names, **settings)

    def changed(experiment: Experiment) -> list[dict[str, Any]]:
        lines = records(config, experiment, gain)
        for line in lines:
            change(line)
        return lines

    return analyse(config, PAPER, changed, only=only, figures=figures).config
