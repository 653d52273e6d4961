"""
Compile all that the configuration's solvers need, into the cache that every measurement loads from.

Run as ``python -m svmrepro.workflow.steps.compile --config CONFIG --output FILE``. Two processes that compile
the same function at once can crash, so that this step runs alone and before any measurement.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration.model import Config, read_config
from svmrepro.workflow.errors import run_step
from svmrepro.workflow.files import atomic_write, lock
from svmrepro.workflow.measurement import machine


def combinations(config: Config) -> list[tuple[str, str, str]]:
    """
    List what has to be compiled.

    Parameters
    ----------
    config
        The scale.

    Returns
    -------
    list of (solver, kernel, storage)
        Each once, sorted; a user's own solvers compile themselves, and those whose package is not installed
        are left out.
    """
    from svmrepro.solvers import SOLVERS

    examples = {
        (solver, "linear", "dense")
        for paper in config.papers.values()
        for artefact in paper.artefacts.values()
        if "example" in artefact.settings
        for solver in artefact.settings["solvers"].values()
    }
    return sorted(
        examples
        | {
            (contender.solver, str(experiment.kernel["name"]), contender.storage)
            for paper in config.papers.values()
            for experiment in paper.experiments.values()
            for contender in experiment.contenders.values()
            if ":" not in contender.solver and SOLVERS[contender.solver].version is not None
        }
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the step; see the module's text."""
    parser = argparse.ArgumentParser(description="Fill the cache of compiled code.")
    parser.add_argument("--config", required=True)
    parser.add_argument("--output", required=True, type=Path)
    arguments = parser.parse_args(argv)
    machine.pin_threads()
    folder = fingerprints.compiled_dir()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    todo = combinations(read_config(arguments.config))
    with lock(folder / "compile.lock"):
        from svmrepro.solvers import warm

        began = time.process_time()
        for solver, kernel, storage in todo:
            warm(solver, kernel, storage)
        seconds = time.process_time() - began
    print(f"compiled code for {len(todo)} combinations is ready ({seconds:.0f} s of CPU)", file=sys.stderr)
    atomic_write(arguments.output, "".join(f"{' '.join(parts)}\n" for parts in todo))
    return 0


if __name__ == "__main__":
    run_step(main)
