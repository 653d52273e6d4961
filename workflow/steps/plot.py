"""Figures of a paper as SVG and PNG.

python -m svmrepro.workflow.steps.plot --config CONFIG --paper PAPER --artefact ARTEFACT ...
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from svmrepro.workflow import fingerprints
from svmrepro.workflow.analysis.results import load
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.configuration.artefact_kinds import builder_of
from svmrepro.workflow.figures.style import styled, write
from svmrepro.workflow.result_files import sources
from svmrepro.workflow.steps._command_line import run_step


def run(config: Config, paper: str, artefact: Sequence[str]) -> None:
    """Run the step; see the module docstring."""
    for name in artefact:
        described = config.papers[paper].artefacts[name]
        build = builder_of(paper, described)
        if not described.measured:  # its solvers run in this step
            os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
        experiments = described.experiments if described.measured else ()
        results, files = load(config, paper, experiments), paths.figure(config, paper, name)
        with styled():
            write(build(results, described), files)
        sources.record(config, paper, experiments, files["svg"])


if __name__ == "__main__":
    run_step(run)
