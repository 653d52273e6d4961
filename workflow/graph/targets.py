"""The targets that a command line names: rules, papers, experiments, tables, figures, and files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from svmrepro.datasets.input_checks import did_you_mean
from svmrepro.workflow.configuration import ROOT, config_dir, home, paths
from svmrepro.workflow.errors import StepError

if TYPE_CHECKING:
    from svmrepro.workflow.graph.plan import Plan

#: Names of rules, reserved: no experiment or artefact may use them.
RULES = frozenset(
    name
    for pattern in ("workflow/Snakefile", "workflow/rules/*.smk")
    for file in ROOT.glob(pattern)
    for name in re.findall(r"^rule (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)
)


def check_target(plan: Plan, name: str, commands: Iterable[str] = ()) -> None:
    """Raise a StepError if a target is neither a name that can be requested nor a path.

    The error may suggest one of the other ``commands``.
    """
    if name == "reference" and home() != ROOT:
        raise StepError("reference: needs a clone of the repository, whose reference it replaces")
    if name == "compare":
        paths.against(plan.config)
    if is_file_name(name) or name in plan.targets():
        return
    for paper in plan.config.papers.values():
        if name in paper.left_out:
            raise StepError(
                f"{name}: this experiment of {paper.name} is not part of the {plan.config.scale} scale"
            )
    papers = [path.stem for path in (config_dir() / "experiments").glob("*.yaml")]
    known = [*plan.targets(), *papers, *commands]
    raise StepError(f"there is no target {name!r}{did_you_mean(name, known)}")


def is_file_name(target: str) -> bool:
    """Tell whether a target is meant as a file: it has a folder or an ending, which no rule has."""
    return "/" in target or bool(Path(target).suffix)
