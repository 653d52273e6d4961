"""Kinds of tables and figures: the ``kind`` of an artefact's entry, and the function that builds it.

A builder takes the results (`svmrepro.workflow.analysis.results`) and the artefact, and returns a table
(`svmrepro.workflow.tables.model`) or a Matplotlib figure. Modules are named here and imported when they are
needed: a kind that changes is made again alone, and no step loads the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import StepError


@dataclass(frozen=True)
class ArtefactKind:
    """A kind of table or figure.

    Attributes
    ----------
    module
        A module below ``svmrepro.workflow``.
    function
        Its builder.
    """

    module: str
    function: str = "build"

    def load(self) -> Callable[[Any, Artefact], Any]:
        """Import the builder."""
        module = importlib.import_module(f"svmrepro.workflow.{self.module}")
        builder: Callable[[Any, Artefact], Any] = getattr(module, self.function)
        return builder


TABLES: Mapping[str, ArtefactKind] = {
    "timing": ArtefactKind("tables.timing"),
    "sparse": ArtefactKind("tables.sparse"),
    "scaling": ArtefactKind("tables.scaling"),
    "support-vectors": ArtefactKind("tables.support_vectors"),
    "contenders": ArtefactKind("tables.contenders"),
    "claims": ArtefactKind("tables.claims"),
    "problems": ArtefactKind("tables.permutations.problems"),
    "paired": ArtefactKind("tables.permutations.paired"),
    "against": ArtefactKind("tables.permutations.variants"),
    "encodings": ArtefactKind("tables.permutations.encodings"),
    "traffic": ArtefactKind("tables.traffic"),
    "benchmarks": ArtefactKind("tables.benchmarks"),
    "precision": ArtefactKind("tables.precision"),
    "parameters": ArtefactKind("tables.parameters"),
    "encoding": ArtefactKind("tables.adult_encoding"),
}

FIGURES: Mapping[str, ArtefactKind] = {
    "loglog": ArtefactKind("figures.loglog"),
    "overview": ArtefactKind("figures.loglog", "build_overview"),
    "curves": ArtefactKind("figures.curves"),
    "exponents": ArtefactKind("figures.exponents"),
    "working-sets": ArtefactKind("figures.working_sets"),
    "path": ArtefactKind("figures.step_path"),
    "gain": ArtefactKind("figures.step_path", "build_gain"),
    "step-lengths": ArtefactKind("figures.step_lengths"),
    "settings": ArtefactKind("figures.settings"),
}


def kind_of(paper: str, artefact: Artefact, form: str) -> ArtefactKind:
    """Return the kind of an artefact.

    Parameters
    ----------
    paper, artefact
        Which.
    form : {"table", "figure"}
        What it is asked to be.

    Raises
    ------
    StepError
        If it is of the other form, or of a kind that does not exist.
    """
    known = TABLES if form == "table" else FIGURES
    if artefact.form != form or artefact.kind not in known:
        raise StepError(
            f"{paper}: artefact '{artefact.name}': no {form} of kind '{artefact.kind}' "
            f"(there are: {', '.join(known)})"
        )
    return known[artefact.kind]
