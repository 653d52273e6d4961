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
from svmrepro.workflow.configuration.model import read_config
from svmrepro.workflow.configuration.needs import combinations
from svmrepro.workflow.errors import run_step
from svmrepro.workflow.files import atomic_write, lock
from svmrepro.workflow.measurement import machine


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
