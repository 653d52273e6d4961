"""The toy problems of the fault tests, solved by the interpreter; run as a script on a copy of the solvers.

    python toy_runs.py CONTENDER ...

Prints as JSON what the check records of a run (`svmrepro.workflow.judgement.reference_check.summarise`): the
certified status and the counts of every problem and contender, up to the first that is not solved. numba's
JIT is off, because compiling a changed line takes half a minute, and interpreting such problems a second.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings

import numpy as np
from svmrepro.solvers import SOLVERS, Kernel, Problem, certify, solve

SIZE = 60
EPS = 1e-3
#: A little more than the sound solvers need: most faults are seen by it.
ITERATION_LIMIT = 2_000
ITERATION_LIMIT_FIXED_THRESHOLD = 4_000

ROWS_KEPT = 8
KEPT_MB = ROWS_KEPT * SIZE * 8 / 2**20

#: Label -> solver and options, with tiny caches, chunks and working sets so that all code runs.
CONTENDERS = {
    "smo": ("smo", {}),
    "smo-kept": ("smo", {"shrinking": True, "cache_mb": 1.0, "fold": False}),
    "smo-fixed-threshold": ("smo-fixed-threshold", {}),
    "chunking": ("chunking", {"chunk_size": 10}),
    "chunking-plain": ("chunking", {"chunk_size": 10, "bends": False, "whole": True}),
    "svmlight": ("svmlight", {"q": 4, "cache_mb": KEPT_MB, "patience": 10}),
    "smo2": ("smo2", {"cache_mb": KEPT_MB}),
    "pasmo": ("pasmo", {"cache_mb": KEPT_MB}),
    "pasmo-10": ("pasmo-10", {"cache_mb": KEPT_MB}),
    "svmperf": ("svmperf", {}),
    "svmperf-ordinal": ("svmperf-ordinal", {}),
    "ocas": ("ocas", {}),
}

#: Those that need a linear kernel and no threshold.
CUTTING_PLANES = ("svmperf", "svmperf-ordinal", "ocas")
WITHOUT_BIAS = ("smo-fixed-threshold", *CUTTING_PLANES)


def problems():
    """Return name, examples, labels, C, kernel and storage of each problem."""
    found = []
    # Seeds for which shrinking removes examples that must return.
    for C, kernel, storage, seed in (
        (1.0, Kernel.linear(), "index", 10),
        (3.0, Kernel.linear(), "csr", 13),
        (1.0, Kernel.gaussian(gamma=0.2), "dense", 13),
        (30.0, Kernel.gaussian(gamma=0.5), "dense", 4),
        (3.0, Kernel.gaussian(gamma=0.1), "bits", 4),
    ):
        rng = np.random.default_rng([2008, seed])
        binary = storage in ("index", "bits")
        X = (rng.random((SIZE, 10)) < 0.4).astype(float) if binary else rng.normal(size=(SIZE, 5))
        y = np.where(X @ rng.normal(size=X.shape[1]) + rng.normal(size=SIZE) > X.mean(), 1.0, -1.0)
        found.append((f"{kernel.name}-{storage}-{C:g}", X, y, C, kernel, storage))
    return found


def known(value):
    """Whether a figure of the certificate exists; otherwise it is None or nan."""
    return value is not None and not math.isnan(value)


def entry(name, problem, label):
    """Return what the check records of one run."""
    solver, options = CONTENDERS[label]
    shared = {
        "paper": "toy",
        "experiment": name,
        "n": str(SIZE),
        "seed": "",
        "contender": label,
        "setting": {},
    }
    try:
        limit = ITERATION_LIMIT_FIXED_THRESHOLD if label == "smo-fixed-threshold" else ITERATION_LIMIT
        solution = solve(problem, solver, eps=EPS, iteration_limit=limit, **options)
        certificate = certify(problem, solution)
    except (ValueError, ArithmeticError, IndexError) as error:
        return {**shared, "status": "error", "counts": {}, "reason": f"{type(error).__name__}: {error}"}
    passed = certificate.passes(EPS, SOLVERS[solver].tolerance_factor)
    if solution.status != "optimal" or not passed:
        # As in a measurement, a stalled result is not certified.
        status = solution.status if solution.status.endswith("_limit") else "uncertified"
        return {**shared, "status": status, "counts": {}, "reason": str(certificate)}
    judged = {name: getattr(certificate, name) for name in ("dual", "relaxed", "n_bound", "n_nonbound")}
    counts = {
        **{f"certificate.{name}": float(value) for name, value in judged.items() if known(value)},
        "iterations": float(solution.iterations),
        "kernel_evaluations": float(solution.kernel_evaluations),
        **{f"work.{term}": float(value) for term, value in solution.work.items()},
    }
    return {**shared, "status": "optimal", "counts": counts, "info": solution.info}


def runs(labels):
    """Yield the entries up to the first that is not optimal: it is fault enough, and takes the longest."""
    for name, X, y, C, kernel, storage in problems():
        for label in labels:
            if label in CUTTING_PLANES and kernel.name != "linear":
                continue
            problem = Problem(X, y, C, kernel, bias=label not in WITHOUT_BIAS, storage=storage)
            found = entry(name, problem, label)
            yield found
            if found["status"] != "optimal":
                return


def main(labels):
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        sys.exit("NUMBA_DISABLE_JIT=1 is needed")
    # splitmix64 relies on overflow, and compiled code divides by zero silently.
    warnings.simplefilter("ignore", RuntimeWarning)
    json.dump([*runs(labels)], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:] or list(CONTENDERS))
