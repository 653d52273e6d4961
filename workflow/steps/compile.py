"""Compile everything that a paper's solvers need, into the cache that all measurements load.

Run as ``python -m svmrepro.workflow.steps.compile --config CONFIG --paper PAPER --output FILE``. Two
processes that compile the same function at once can crash. The step therefore runs alone, before any
measurement.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration import Config
from svmrepro.workflow.configuration.needs import combinations
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.locks import lock
from svmrepro.workflow.measurement import channel
from svmrepro.workflow.steps._command_line import run_step
from svmrepro.workflow.surroundings import machine


def run(config: Config, paper: str, output: Path) -> None:
    """Run the step; see the module docstring."""
    machine.pin_threads()
    folder = fingerprints.compiled_dir()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    todo = combinations(config.papers[paper])
    # Numba makes millions of objects that stay; looking for garbage among them takes a tenth of the time.
    gc.set_threshold(100_000, 20, 20)
    with lock(folder / "compile.lock"):
        from svmrepro.solvers import warm

        began, send = time.process_time(), channel.sender()
        for combination in todo:
            warm(*combination)
            if send is not None:
                send({"compiled": " ".join(combination)})
        seconds = time.process_time() - began
    print(f"compiled code for {len(todo)} combinations is ready ({seconds:.0f} s of CPU)", file=sys.stderr)
    atomic_write(output, "".join(f"{' '.join(parts)}\n" for parts in todo))


if __name__ == "__main__":
    run_step(run)
