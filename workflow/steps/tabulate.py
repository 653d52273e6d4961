"""Tables of a paper as CSV, Markdown and HTML.

python -m svmrepro.workflow.steps.tabulate --config CONFIG --paper PAPER --artefact ARTEFACT ...
"""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import paths
from svmrepro.workflow.configuration.artefact_kinds import table_builder
from svmrepro.workflow.configuration.model import Config
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.steps.command_line import run_step
from svmrepro.workflow.tables.writers import to_csv, to_html, to_markdown

FORMS = {"csv": to_csv, "md": to_markdown, "html": to_html}


def run(config: Config, paper: str, artefact: Sequence[str]) -> None:
    """Run the step; see the module's docstring."""
    for name in artefact:
        tabulate(config, paper, name)


def tabulate(config: Config, paper: str, name: str) -> None:
    """Build one table and write its three forms.

    Raises
    ------
    StepError
        If the artefact is no table, or of a kind that does not exist.
    """
    artefact = config.papers[paper].artefacts[name]
    build = table_builder(paper, artefact)
    table = build(load(config, paper, artefact.experiments if artefact.measured else ()), artefact)
    for form, path in paths.table(config, paper, name).items():
        atomic_write(path, FORMS[form](table))


if __name__ == "__main__":
    run_step(run)
