"""Prerequisites of measurements: data sets and compiled code."""

from __future__ import annotations

from svmrepro.workflow.configuration.model import Config


def data_sets(config: Config) -> list[str]:
    """Return the data sets of the configuration, for training, artefacts and tests, each once."""
    names: dict[str, None] = {}
    tests: dict[str, None] = {}
    for paper in config.papers.values():
        names |= dict.fromkeys(experiment.dataset for experiment in paper.experiments.values())
        settings = [artefact.settings for artefact in paper.artefacts.values()]
        names |= dict.fromkeys(entry["dataset"] for entry in settings if "dataset" in entry)
        sets = [experiment.test for experiment in paper.experiments.values()]
        tests |= dict.fromkeys(test.dataset for test in sets if test is not None and test.dataset is not None)
    names |= tests
    return list(names)


def combinations(config: Config) -> list[tuple[str, str, str]]:
    """
    List the combinations that must be compiled.

    Parameters
    ----------
    config
        The configuration.

    Returns
    -------
    list of (solver, kernel, storage)
        Each once, sorted. Users' own solvers compile themselves, and solvers without their package are
        omitted.
    """
    from svmrepro.solvers import SOLVERS

    examples = {
        (solver, "linear", "dense")
        for paper in config.papers.values()
        for artefact in paper.artefacts.values()
        if "example" in artefact.settings
        for solver in artefact.settings["solvers"].values()
    }
    return sorted(
        examples
        | {
            (contender.solver, str(experiment.kernel["name"]), contender.storage)
            for paper in config.papers.values()
            for experiment in paper.experiments.values()
            for contender in experiment.contenders.values()
            if ":" not in contender.solver and SOLVERS[contender.solver].version is not None
        }
    )
