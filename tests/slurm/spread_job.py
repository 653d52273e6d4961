"""A data set in blocks on the workers of a Dask cluster within a Slurm allocation; srun runs this script.

    srun --ntasks=2 python tests/slurm/spread_job.py FOLDER

The first task starts the scheduler, and every task a worker. Then the first task solves a linear problem
whose blocks are held by the workers, solves it again in its own memory, and writes both results to
``FOLDER/spread.json``.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROWS, BLOCKS = 2000, 4


def data() -> Any:
    from svmrepro import datasets

    return datasets.generate("rcv1-like", n=ROWS, seed=0)


def block(number: int) -> Any:
    step = ROWS // BLOCKS
    return data().X[number * step : (number + 1) * step]


def lead(folder: Path, tasks: int, scheduler: Any) -> None:
    """Solve with the workers, and without them."""
    from distributed import Client
    from svmrepro.solvers import Blocks, Problem, Spread, certify, solve

    with Client(scheduler.address) as client:
        client.wait_for_workers(tasks, timeout=120)
        y = data().y
        found = {}
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
        nodes = client.run(lambda: os.environ.get("SLURMD_NODENAME", ""))
        found["nodes"] = sorted(nodes.values())
        found["job"] = os.environ.get("SLURM_JOB_ID", "")
        (folder / "spread.json").write_text(json.dumps(found))


def main() -> int:
    """Run as one task of the allocation."""
    from distributed import LocalCluster, Worker
    from distributed.utils import LoopRunner

    folder = Path(sys.argv[1])
    rank, tasks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    address, done = folder / "scheduler", folder / "done"
    if rank == 0:
        # A local cluster without workers is a scheduler.
        with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster:
            part = folder / "scheduler.part"
            part.write_text(cluster.scheduler_address)
            part.replace(address)
            own = subprocess.Popen([sys.executable, __file__, str(folder), "worker"])
            try:
                lead(folder, tasks, cluster.scheduler)
            finally:
                done.touch()
                own.wait(timeout=60)
        return 0
    return work(address, done, LoopRunner, Worker)


def work(address: Path, done: Path, runner: Any, worker: Any) -> int:
    """Run a worker until the first task is done."""
    deadline = time.monotonic() + 120
    while not address.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("no scheduler came up")
        time.sleep(0.2)
    loop = runner()
    loop.start()

    async def serve() -> None:
        async with worker(address.read_text(), nthreads=1, dashboard=False, host="127.0.0.1"):
            while not done.exists():
                await asyncio.sleep(0.2)

    loop.run_sync(serve)
    loop.stop()
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        os.environ["SLURM_PROCID"] = "1"
    sys.exit(main())
