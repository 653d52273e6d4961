"""Synthetic runs of the PA-SMO paper: permutations with a gain chosen by the tests."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from analysis_support import Lines, analyse, make_line, paper_config, solved
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers
from svmrepro.workflow.configuration import config_dir
from svmrepro.workflow.configuration.model import Config, Experiment

PAPER = "glasmachers2008"
NUMBERS = PaperNumbers(config_dir() / "papers", PAPER)
NAMES = NUMBERS.experiments("table1")

#: Iterations of a contender relative to ``smo``, by experiment and contender.
Gain = Callable[[str, str], float]


def usual(experiment: str, contender: str) -> float:
    """Planning saves a tenth; the other variants save nothing."""
    return 0.9 if contender.startswith("pasmo") else 1.0


def records(config: Config, experiment: Experiment, gain: Gain) -> Lines:
    """Return the lines of an experiment: iterations vary by 5 % between permutations, by 0.1 % within one."""
    rng = np.random.default_rng(len(experiment.name))
    lines = []
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
    names: Collection[str] = NAMES,
    change: Callable[[dict[str, Any]], object] = lambda line: None,
    *,
    paper: str = PAPER,
    scale: str = "paper",
    permutations: int = 10,
    gain: Gain = usual,
    alone: Collection[str] = (),
    **made: Any,
) -> Config:
    """Return the configuration of some experiments whose records, modified in place, were analysed.

    With ``alone``, just these contenders take part.
    """
    config = paper_config(folder, paper, {name: {"permutations": permutations} for name in names}, scale)
    if alone:
        described = config.papers[paper]
        few = {
            name: replace(each, contenders={label: each.contenders[label] for label in alone})
            for name, each in described.experiments.items()
        }
        config = replace(config, papers={paper: replace(described, experiments=few)})
    lines = {
        name: records(config, experiment, gain)
        for name, experiment in config.papers[paper].experiments.items()
    }
    for line in (line for found in lines.values() for line in found):
        change(line)
    return analyse(config, lines, paper, **made)
