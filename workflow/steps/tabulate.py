"""Tables of a paper as CSV, Markdown and HTML.

python -m svmrepro.workflow.steps.tabulate --config CONFIG --paper PAPER --artefact ARTEFACT ...
"""

from __future__ import annotations

from collections.abc import Sequence

from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.configuration.artefact_kinds import builder_of
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.result_files import sources
from svmrepro.workflow.steps._command_line import run_step
from svmrepro.workflow.tables.layout.writers import to_csv, to_html, to_json, to_markdown

FORMS = {"csv": to_csv, "md": to_markdown, "html": to_html, "json": to_json}


def run(config: Config, paper: str, artefact: Sequence[str]) -> None:
    """Run the step; see the module docstring."""
    for name in artefact:
        described = config.papers[paper].artefacts[name]
        build = builder_of(paper, described)
        experiments = described.experiments if described.measured else ()
        table = build(load(config, paper, experiments), described)
        for form, path in (files := paths.artefact(config, paper, described)).items():
            atomic_write(path, FORMS[form](table))
        sources.record(config, paper, experiments, files["csv"])


if __name__ == "__main__":
    run_step(run)
