"""Kinds of tables and figures: the ``kind`` in an artefact's entry, and the function that builds it.

To add a kind, write a module with a :class:`Builder`, add a line to `TABLES` or `FIGURES` below, and a
caption for the report, ``workflow/report/<kind>.rst``. Modules are listed by name and imported only when
needed. A change in one kind then remakes only that kind, and no step loads the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import StepError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from svmrepro.workflow.analysis.results import Results
    from svmrepro.workflow.tables.model import Table

Built = TypeVar("Built", covariant=True)


class Builder(Protocol[Built]):
    """Function that builds a table or a figure. It neither reads nor writes result files.

    A builder's docstring names every setting that it reads from ``artefact.settings``. Two settings also tell
    the step that no measurements are needed: ``dataset`` (the artefact describes a data set) and ``example``
    (its solvers run within the step).
    """

    def __call__(self, results: Results, artefact: Artefact) -> Built:
        """Build the artefact.

        Parameters
        ----------
        results : Results
            Measurements, fits, ratios and the paper's numbers for ``artefact.experiments``. They may be
            incomplete: without data, an experiment still gives a table or figure that says why.
        artefact : Artefact
            Title, caption, experiments and settings. An invalid setting is a StepError that names the
            artefact and the setting.

        Returns
        -------
        Table or Figure
            A table states in its cells what is missing. A figure has its final size; the step writes it as
            SVG and PNG.
        """


@dataclass(frozen=True)
class ArtefactKind(Generic[Built]):
    """A kind of table or figure: a module of ``svmrepro.workflow``, and the name of its builder there."""

    module: str
    function: str = "build"

    def load(self) -> Builder[Built]:
        """Import the builder."""
        module = importlib.import_module(f"svmrepro.workflow.{self.module}")
        return cast("Builder[Built]", getattr(module, self.function))


TABLES: Mapping[str, ArtefactKind[Table]] = {
    "timing": ArtefactKind("tables.timing"),
    "sparse": ArtefactKind("tables.sparse"),
    "scaling": ArtefactKind("tables.scaling"),
    "support-vectors": ArtefactKind("tables.support_vectors"),
    "contenders": ArtefactKind("tables.contenders"),
    "claims": ArtefactKind("tables.claims"),
    "problems": ArtefactKind("tables.permutations.problems"),
    "paired": ArtefactKind("tables.permutations.paired"),
    "variants": ArtefactKind("tables.permutations.variants"),
    "encodings": ArtefactKind("tables.permutations.encodings"),
    "traffic": ArtefactKind("tables.traffic"),
    "benchmarks": ArtefactKind("tables.benchmarks"),
    "precision": ArtefactKind("tables.precision"),
    "parameters": ArtefactKind("tables.parameters"),
    "adult-encoding": ArtefactKind("tables.adult_encoding"),
}

FIGURES: Mapping[str, ArtefactKind[Figure]] = {
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


def table_builder(paper: str, artefact: Artefact) -> Builder[Table]:
    """Return the builder of a table; an artefact that is none, or of an unknown kind, is a StepError."""
    return _builder(paper, artefact, "table", TABLES)


def figure_builder(paper: str, artefact: Artefact) -> Builder[Figure]:
    """Return the builder of a figure; see `table_builder`."""
    return _builder(paper, artefact, "figure", FIGURES)


def _builder(
    paper: str, artefact: Artefact, form: str, known: Mapping[str, ArtefactKind[Built]]
) -> Builder[Built]:
    if artefact.form != form or artefact.kind not in known:
        raise StepError(
            f"{paper}: artefact '{artefact.name}': no {form} of kind '{artefact.kind}' "
            f"(there are: {', '.join(known)})"
        )
    return known[artefact.kind].load()
