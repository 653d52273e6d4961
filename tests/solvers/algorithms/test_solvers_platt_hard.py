"""SMO, a fixed threshold, chunking: far examples, tiny multipliers, drift, and ends anywhere.

``tests/torture`` has the other hard problems, judged in decimal arithmetic.
"""

from __future__ import annotations

import numpy as np
import pytest
from solver_cases import biased, cloud, judged
from svmrepro.solvers import Kernel, Problem, certify, solve
from svmrepro.solvers.platt import _state as state
from svmrepro.solvers.platt import chunking

NAMES = pytest.mark.parametrize("name", ["smo", "smo-fixed-threshold", "chunking"])
GAUSSIAN = Kernel.gaussian(gamma=0.3)
KERNELS = pytest.mark.parametrize("kernel", [Kernel.linear(), GAUSSIAN], ids=["linear", "gaussian"])


@NAMES
@pytest.mark.parametrize("seed", range(3))
def test_differences(name: str, seed: int) -> None:
    # Two clouds so far apart that norms cancel for any origin.
    X, y = cloud(seed=seed)
    X[::2] += 1e8
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(2))
    far = Problem(X, y, 3.0, GAUSSIAN, bias=biased(name))
    given = Problem(K, y, 3.0, Kernel.precomputed(), bias=biased(name))
    solution, _ = judged(far, name, verify=False)
    assert far.differences
    found = certify(given, solution)
    assert found.passes(1e-3, 2.0)
    assert found.dual == pytest.approx(judged(given, name, verify=False)[1].dual, rel=1e-3)


@NAMES
def test_tiny_multipliers_move(name: str) -> None:
    # Kernel values are near 1e12 to 1e14, so multipliers are near 1e-13.
    X, y = cloud(60, 8, 3, 2.0)
    problem = Problem(1e6 * X, y, 1e-12, bias=biased(name))
    solution, _ = judged(problem, name, verify=False, time_limit=20)
    assert solution.info.get("rescues", 0.0) == 0.0


@NAMES
@KERNELS
def test_drift_is_renewed(name: str, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(*cloud(100, seed=2), 10.0, kernel, bias=biased(name))
    plain = solve(problem, name, verify=False)
    monkeypatch.setattr(state, "_ROUNDING", 1e-6)
    monkeypatch.setattr(chunking, "_UNIT_ROUNDING", 1e-6)
    renewed, _ = judged(problem, name, verify=False)
    assert plain.info["renewals"] == 0 and renewed.info["renewals"] >= 1


@pytest.mark.parametrize("stop", [3, 11, 40, 200, 900])
@KERNELS
def test_chunking_ends_anywhere(kernel: Kernel, stop: int) -> None:
    # In every phase it returns a feasible and consistent result.
    problem = Problem(*cloud(400, 3, 5), 20.0, kernel)
    options = {"chunk_size": 30, "bends": True, "whole": False, "memory_limit_bytes": 2**62}
    run = chunking.start(problem, 1e-3, options)
    for _ in range(stop):
        if chunking.advance(run, 2_000, 2**62) is not None:
            break
    found = certify(problem, chunking.finish(run, "time_limit"))  # raises outside the box
    assert found.equality_residual <= 1e-9 * max(found.alpha_sum, 1.0)
    assert found.weights_residual <= 1e-9 + found.weights_rounding
