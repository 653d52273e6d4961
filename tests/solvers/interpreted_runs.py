"""Solve a toy problem by every solver over every storage and print what they find as JSON."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from svmrepro.solvers import SOLVERS, Problem, certify, solve

N, EPS = 40, 1e-3


def main() -> None:
    # The interpreter's numpy tells of overflow and of division by zero, compiled code does not.
    warnings.simplefilter("ignore", RuntimeWarning)
    rng = np.random.default_rng(1)
    X = (rng.random((N, 12)) < 0.4).astype(float)
    f = X @ rng.normal(size=12)
    y, ranks = np.where(f > 0.2, 1.0, -1.0), np.clip(np.round(f), -2.0, 2.0)
    found = {}
    for name, spec in SOLVERS.items():
        if spec.package:
            continue
        for storage in ("dense", "csr", "index", "bits"):
            labels = ranks if "ordinal" in name else y
            problem = Problem(X, labels, 1.0, bias="no bias" not in spec.needs, storage=storage)
            solution = solve(problem, name, eps=EPS)
            certificate = certify(problem, solution)
            found[f"{name} {storage}"] = {
                "status": solution.status,
                "passed": certificate.passes(EPS, spec.tolerance_factor, N, problem.C),
                "primal": certificate.primal,
                "iterations": solution.iterations,
            }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
