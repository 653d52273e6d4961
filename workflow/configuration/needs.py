"""Prerequisites of measurements: data sets and compiled code."""

from __future__ import annotations

from svmrepro.workflow.configuration.model import Config, Paper


def data_sets(config: Config) -> list[str]:
    """Return the data sets of the configuration, for training, artefacts and tests, each once."""
    names: dict[str, None] = {}
    tests: dict[str, None] = {}
    for paper in config.papers.values():
        experiments = paper.experiments.values()
        names |= dict.fromkeys(experiment.dataset for experiment in experiments)
        settings = [artefact.settings for artefact in paper.artefacts.values()]
        names |= dict.fromkeys(entry["dataset"] for entry in settings if "dataset" in entry)
        tests |= dict.fromkeys(each.test.dataset for each in experiments if each.test and each.test.dataset)
    return [*(names | tests)]


def combinations(paper: Paper) -> list[tuple[str, str, str]]:
    """List what must be compiled for a paper: (solver, kernel, storage), each once, sorted.

    Users' own solvers compile themselves, and solvers without their package are omitted.
    """
    from svmrepro.solvers import SOLVERS

    found = set()
    for artefact in paper.artefacts.values():
        if "example" in artefact.settings:
            found |= {(solver, "linear", "dense") for solver in artefact.settings["solvers"].values()}
    for experiment in paper.experiments.values():
        found |= {
            (contender.solver, str(experiment.kernel["name"]), contender.storage)
            for contender in experiment.contenders.values()
            if ":" not in contender.solver and SOLVERS[contender.solver].version is not None
        }
        found |= {
            (contender.solver, "precomputed", "auto")
            for contender in experiment.contenders.values()
            if contender.warm
        }
    return sorted(found)
