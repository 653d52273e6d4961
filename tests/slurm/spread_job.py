"""A data set in blocks on the workers of a Dask cluster within a Slurm allocation.

    python tests/slurm/spread_job.py FOLDER WORKERS

Solves a linear problem whose blocks are held by the workers that join ``FOLDER/scheduler.json``, solves it
again in its own memory, and writes both results to ``FOLDER/spread.json``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from svmrepro import datasets
from svmrepro.solvers import Blocks, Problem, Spread, certify, solve

ROWS, BLOCKS = 2000, 4


def block(number: int) -> Any:
    step = ROWS // BLOCKS
    return datasets.generate("rcv1-like", n=ROWS, seed=0).X[number * step : (number + 1) * step]


def main(folder: Path, workers: int) -> None:
    with Client(scheduler_file=folder / "scheduler.json") as client:
        client.wait_for_workers(workers, timeout=120)
        y = datasets.generate("rcv1-like", n=ROWS, seed=0).y
        found: dict[str, Any] = {"job": os.environ.get("SLURM_JOB_ID", "")}
        found["nodes"] = sorted(client.run(lambda: os.environ.get("SLURMD_NODENAME", "")).values())
        for name, X in (
            ("spread", Spread(client, [partial(block, number) for number in range(BLOCKS)])),
            ("own", Blocks([block(number) for number in range(BLOCKS)])),
        ):
            problem = Problem(X, y, C=1.0, bias=False)
            began = time.perf_counter()
            solution = solve(problem, "ocas", eps=1e-3)
            found[name] = {
                "status": solution.status,
                "iterations": solution.iterations,
                "weights": float(np.abs(solution.weights).sum()),
                "gap": certify(problem, solution).gap,
                "seconds": time.perf_counter() - began,
            }
        (folder / "spread.json").write_text(json.dumps(found))
        client.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
