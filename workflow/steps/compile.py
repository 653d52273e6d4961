"""Compile everything that a paper's solvers need, into the cache that all measurements load.

Run as ``python -m svmrepro.workflow.steps.compile --config CONFIG --paper PAPER --output FILE``, before any
measurement. The steps of several papers may run at once: each waits for the functions that another compiles.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from svmrepro.workflow import fingerprints
from svmrepro.workflow.configuration import Config
from svmrepro.workflow.configuration.needs import combinations
from svmrepro.workflow.files import atomic_write, check_writable
from svmrepro.workflow.measurement import channel
from svmrepro.workflow.steps._command_line import run_step
from svmrepro.workflow.surroundings import machine


def run(config: Config, paper: str, output: Path) -> None:
    """Run the step; see the module docstring."""
    check_writable(output.parent)
    machine.pin_threads()
    os.environ["NUMBA_CACHE_DIR"] = str(fingerprints.compiled_dir())
    todo = combinations(config.papers[paper])
    from svmrepro.solvers import warm  # with the number of threads and the folder from above

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
