"""Figures of a paper as SVG and PNG.

python -m svmrepro.workflow.plot --config CONFIG --paper PAPER --artefact ARTEFACT ...
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from svmrepro.workflow import (
    figure_curves,
    figure_exponents,
    figure_loglog,
    figure_path,
    figure_settings,
    figure_step_lengths,
    figure_working_sets,
    paths,
    staleness,
)
from svmrepro.workflow.config import Artefact, Config, read_config
from svmrepro.workflow.errors import StepError, run_step
from svmrepro.workflow.figure_style import save, styled
from svmrepro.workflow.files import atomic_path
from svmrepro.workflow.results import Results, load

KINDS: dict[str, Callable[[Results, Artefact], Figure]] = {
    "loglog": figure_loglog.build,
    "curves": figure_curves.build,
    "overview": figure_loglog.build_overview,
    "exponents": figure_exponents.build,
    "working-sets": figure_working_sets.build,
    "path": figure_path.build,
    "gain": figure_path.build_gain,
    "step-lengths": figure_step_lengths.build,
    "settings": figure_settings.build,
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
        os.environ["NUMBA_CACHE_DIR"] = str(staleness.compiled_dir())
    results = load(config, paper, artefact.experiments if artefact.measured else ())
    with styled():
        figure = build(results, artefact)
        for form, path in paths.figure(config, paper, name).items():
            with atomic_path(path) as temporary:
                save(figure, temporary, form)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the step; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m svmrepro.workflow.plot", description=__doc__)
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
