"""Figures of a paper as SVG and PNG.

python -m svmrepro.workflow.steps.plot --config CONFIG --paper PAPER --artefact ARTEFACT ...
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from svmrepro.workflow import fingerprints
from svmrepro.workflow.analysis.results import Results, load
from svmrepro.workflow.configuration.model import Artefact, Config, read_config
from svmrepro.workflow.errors import StepError, run_step
from svmrepro.workflow.figures import (
    curves,
    exponents,
    loglog,
    settings,
    step_lengths,
    step_path,
    working_sets,
)
from svmrepro.workflow.figures.style import save, styled
from svmrepro.workflow.files import atomic_path
from svmrepro.workflow.graph import paths

KINDS: dict[str, Callable[[Results, Artefact], Figure]] = {
    "loglog": loglog.build,
    "curves": curves.build,
    "overview": loglog.build_overview,
    "exponents": exponents.build,
    "working-sets": working_sets.build,
    "path": step_path.build,
    "gain": step_path.build_gain,
    "step-lengths": step_lengths.build,
    "settings": settings.build,
}
"""Kinds of figure: the name in the YAML's ``kind`` -> the function that draws it."""


def run(config: Config, paper: str, name: str) -> None:
    """Draw one figure and write its two forms.

    Raises
    ------
    StepError
        If the artefact is no figure, or of a kind that does not exist.
    """
    artefact = config.papers[paper].artefacts[name]
    build = KINDS.get(artefact.kind)
    if artefact.form != "figure" or build is None:
        raise StepError(
            f"{paper}: artefact '{name}': no figure of kind '{artefact.kind}' (there are: {', '.join(KINDS)})"
        )
    if not artefact.measured:  # its solvers run here
        os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
    results = load(config, paper, artefact.experiments if artefact.measured else ())
    with styled():
        figure = build(results, artefact)
        for form, path in paths.figure(config, paper, name).items():
            with atomic_path(path) as temporary:
                save(figure, temporary, form)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the step; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m svmrepro.workflow.steps.plot", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="resolved configuration (JSON)")
    parser.add_argument("--paper", required=True)
    parser.add_argument("--artefact", required=True, nargs="+")
    arguments = parser.parse_args(argv)
    config = read_config(arguments.config)
    for name in arguments.artefact:
        run(config, arguments.paper, name)
    return 0


if __name__ == "__main__":
    run_step(main)
