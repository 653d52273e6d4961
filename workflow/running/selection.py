"""Solvers and data sets chosen by name on the command line, as a layer of settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from svmrepro.datasets.input_checks import did_you_mean
from svmrepro.solvers import SOLVERS, user_functions
from svmrepro.workflow.configuration import Config, Contender, load_config
from svmrepro.workflow.configuration.model import Layer
from svmrepro.workflow.configuration.settings import valid_name
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.fingerprints import solver_fingerprint

#: Folders of such a run, so that the tables of whole runs stay as they are.
FOLDERS = {"results_dir": "results/selected", "figures_dir": "figures/selected"}


def selected(layers: Sequence[Layer], solvers: Sequence[str], data: Sequence[str]) -> list[Layer]:
    """Return the layers with one more that leaves only the named solvers and data sets; no names mean all.

    A solver of the user's own, by an entry point or as ``package.module:function``, joins the contenders
    named, or all if none is. An unknown name, or an empty selection, raises a StepError.
    """
    config = load_config(layers)
    try:
        own = {name: valid_name(name) for name in solvers if _is_own(name)}
    except user_functions.UserSolverError as error:
        raise StepError(f"-s: {one_line(error)}") from None
    if len({*own.values()}) < len(own):
        raise StepError(f"-s {' -s '.join(own)}: two of these would have the same name; rename one")
    for name in own:
        try:
            user = user_functions.find(name)
            user.check_name()
            solver_fingerprint(user.function)
        except (user_functions.UserSolverError, StepError) as error:
            raise StepError(f"-s {name}: {one_line(error)}") from None
    known = [name for name in solvers if name not in own]
    experiments = config.experiments
    _check("-d", data, {each.dataset for each in experiments}, config)
    contenders = [contender for each in experiments for contender in each.contenders.values()]
    _check("-s", known, {name for each in contenders for name in _names(each)}, config)
    changed: dict[str, dict[str, Any]] = {}
    papers = []
    for paper in config.papers.values():
        entries = changed[paper.name] = {}
        for name, experiment in paper.experiments.items():
            kept = [each for each in experiment.contenders.values() if not known or _names(each) & {*known}]
            if (data and experiment.dataset not in data) or not kept:
                entries[name] = None
                continue
            left_out = experiment.contenders.keys() - {each.label for each in kept}
            joining = {label: {"solver": solver} for solver, label in own.items()}
            if left_out or joining:
                entries[name] = {"contenders": {**dict.fromkeys(left_out), **joining}}
        if any(entries.get(name, experiment) is not None for name, experiment in paper.experiments.items()):
            papers.append(paper.name)
        else:
            del changed[paper.name]
    if not papers:
        chosen = [*(f"-s {name}" for name in known), *(f"-d {name}" for name in data)]
        raise StepError(f"{' '.join(chosen)}: no experiment of the {config.scale} scale has both")
    given = {key for _, layer in layers for key in layer}
    folders = {key: folder for key, folder in FOLDERS.items() if key not in given}
    return [*layers, ("-s and -d", {**folders, "papers": papers, "experiments": changed})]


def _is_own(name: str) -> bool:
    return ":" in name or (name not in SOLVERS and name in user_functions.declared())


def _names(contender: Contender) -> set[str]:
    """Return the names by which a contender can be chosen."""
    return {contender.label, contender.solver}


def _check(option: str, names: Iterable[str], known: set[str], config: Config) -> None:
    for name in names:
        if name not in known:
            suggestion = did_you_mean(name, sorted(known))
            raise StepError(f"{option}: no experiment of the {config.scale} scale has {name!r}{suggestion}")
