"""Kinds of tables and figures: the ``kind`` in an artefact's entry, and the function that builds it.

To add a kind, write a module with a :class:`Builder`, add a line to `TABLES` or `FIGURES` below, the types of
its settings to `artefact_settings`, and an explanation for the report, ``workflow/report/<kind>.rst``.
Modules are listed by name and imported only when needed. A change in one kind then remakes only that kind,
and no step loads the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, cast

from svmrepro.workflow.configuration.model import Artefact
from svmrepro.workflow.errors import StepError

if TYPE_CHECKING:
    from svmrepro.workflow.analysis.results import Results


class Builder(Protocol):
    """Function that builds a table or a figure. It neither reads nor writes result files.

    A builder's docstring names every setting that it reads from ``artefact.settings``. Three settings also
    tell the step that no measurements are needed: ``dataset`` (the artefact describes a data set),
    ``example`` (its solvers run within the step) and ``deviations`` (it lists texts).
    """

    def __call__(self, results: Results, artefact: Artefact) -> Any:
        """Build the artefact.

        Parameters
        ----------
        results : Results
            Measurements, fits, ratios and the paper's numbers for ``artefact.experiments``. They may be
            incomplete: without data, an experiment still gives a table or figure that says why.
        artefact : Artefact
            Title, caption, experiments and settings, which `artefact_settings` has checked.

        Returns
        -------
        Table or Figure
            A table states in its cells what is missing. A figure has its final size; the step writes it as
            SVG and PNG.
        """


# Kind -> module of svmrepro.workflow and function of its builder.
TABLES: Mapping[str, str] = {
    "timing": "tables.timing:build",
    "sparse": "tables.sparse:build",
    "scaling": "tables.scaling:build",
    "support-vectors": "tables.support_vectors:build",
    "contenders": "tables.contenders:build",
    "claims": "tables.claims:build",
    "deviations": "tables.deviations:build",
    "problems": "tables.permutations.problems:build",
    "paired": "tables.permutations.paired:build",
    "variants": "tables.permutations.variants:build",
    "encodings": "tables.permutations.encodings:build",
    "readings": "tables.permutations.readings:build",
    "traffic": "tables.traffic:build",
    "benchmarks": "tables.benchmarks:build",
    "precision": "tables.precision:build",
    "peers": "tables.peers:build",
    "parameters": "tables.parameters:build",
    "grid": "tables.grid:build",
    "speed-up": "tables.speed_up:build",
    "adult-encoding": "tables.adult_encoding:build",
}

FIGURES: Mapping[str, str] = {
    "loglog": "figures.loglog:build",
    "overview": "figures.loglog:build_overview",
    "curves": "figures.curves:build",
    "exponents": "figures.exponents:build",
    "working-sets": "figures.working_sets:build",
    "variant-ratios": "figures.variant_ratios:build",
    "path": "figures.step_path:build",
    "gain": "figures.step_path:build_gain",
    "step-lengths": "figures.step_lengths:build",
    "grid": "figures.grid:build",
    "settings": "figures.settings:build",
    "seconds-ratios": "figures.seconds_ratios:build",
    "profile": "figures.performance_profile:build",
    "seconds-objectives": "figures.seconds_objectives:build",
}


ARTEFACT_KINDS: Mapping[str, Mapping[str, str]] = {"table": TABLES, "figure": FIGURES}
"""Form of an artefact -> its kinds."""


def builder_of(paper: str, artefact: Artefact) -> Builder:
    """Return the function that builds an artefact of a paper; an unknown kind raises a StepError."""
    known = ARTEFACT_KINDS[artefact.form]
    if artefact.kind not in known:
        # Imported late, because it takes half a second.
        from svmrepro.datasets.input_checks import did_you_mean

        raise StepError(
            f"{paper}: artefact '{artefact.name}': no {artefact.form} of kind '{artefact.kind}'"
            f"{did_you_mean(artefact.kind, known)}"
        )
    return cast("Builder", resolve_name(f"svmrepro.workflow.{known[artefact.kind]}"))
