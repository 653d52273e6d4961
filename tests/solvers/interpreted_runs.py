"""Solve toy problems with every solver, storage and further branches; print JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from svmrepro.solvers import SOLVERS, Blocks, Kernel, Problem, Solution, certify, solve
from svmrepro.solvers.caches import lru, smo_rows
from svmrepro.solvers.decomposition import svmlight
from svmrepro.solvers.linear.dual_descent import descend
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.platt import state
from svmrepro.solvers.registry import GAP

N, EPS = 40, 1e-3
ROWS = 6 * 8 * N / 2**20  # megabytes of six kernel rows
LINEAR, POLYNOMIAL, INDEFINITE = Kernel.linear(), Kernel.polynomial(2, c=1.0), Kernel.polynomial(3, 0.1, -0.5)
WIDE, NARROW = Kernel.gaussian(gamma=0.05), Kernel.gaussian(gamma=0.5)

#: Data, kernel, storage, C, solver and its options.
VARIANTS: tuple[tuple[str, Kernel, str, float, str, dict[str, Any]], ...] = (
    ("words", WIDE, "bits", 1.0, "smo", {}),
    ("words", WIDE, "index", 10.0, "smo", {"cache_mb": 1.0, "shrinking": True}),
    ("pages", WIDE, "bits", 1.0, "smo", {}),
    ("books", WIDE, "bits", 1.0, "smo", {}),
    ("words", LINEAR, "csr", 1.0, "smo", {"fold": False, "shrinking": True}),
    ("numbers", WIDE, "dense", 1.0, "smo", {"shrinking": True}),
    ("words", LINEAR, "index", 1.0, "smo", {"step_tol": 1.0}),
    ("numbers", INDEFINITE, "dense", 1.0, "smo", {}),
    ("pages", POLYNOMIAL, "bits", 1.0, "smo-fixed-threshold", {}),
    ("words", INDEFINITE, "index", 1.0, "smo-fixed-threshold", {}),
    ("words", LINEAR, "bits", 1.0, "smo-fixed-threshold", {"step_tol": 1.0}),
    ("words", WIDE, "csr", 1.0, "chunking", {"chunk_size": 5}),
    ("words", LINEAR, "index", 1.0, "chunking", {"chunk_size": 5, "bends": False}),
    ("numbers", POLYNOMIAL, "dense", 1.0, "chunking", {"chunk_size": 8, "whole": True}),
    ("numbers", NARROW, "dense", 10.0, "smo2", {"cache_mb": ROWS, "lengths": True}),
    ("numbers", NARROW, "csr", 10.0, "smo2", {"cache_mb": ROWS, "single": True}),
    ("numbers", WIDE, "dense", 100.0, "pasmo", {"cache_mb": ROWS, "lengths": True}),
    ("numbers", WIDE, "dense", 100.0, "pasmo-as-printed", {}),
    ("words", POLYNOMIAL, "index", 1.0, "pasmo-3", {"cache_mb": ROWS}),
    ("books", WIDE, "bits", 1.0, "smo2", {"cache_mb": ROWS}),
    ("books", POLYNOMIAL, "index", 1e-4, "smo2", {}),
    ("sparse", WIDE, "csr", 1.0, "smo2", {}),
    ("numbers", LINEAR, "dense", 10.0, "smo2", {"single": True}),
    ("words", LINEAR, "index", 1.0, "svmlight", {"fold": True, "patience": 10}),
    ("words", LINEAR, "csr", 1.0, "svmlight", {"q": 4, "cache_mb": 0.0}),
    ("words", LINEAR, "bits", 10.0, "svmlight", {"q": 4, "cache_mb": ROWS, "patience": 10}),
    (
        "numbers",
        NARROW,
        "dense",
        10.0,
        "svmlight",
        {"q": 4, "cache_mb": ROWS, "patience": 10, "single": True},
    ),
    ("numbers", INDEFINITE, "dense", 1.0, "svmlight", {"q": 6}),
    ("words", WIDE, "index", 1.0, "svmlight", {"q": 4, "cache_mb": ROWS, "bias": False}),
    ("words", LINEAR, "dense", 1.0, "svmperf", {"drop_after": 3, "keep_alpha": True}),
    ("blocks", LINEAR, "dense", 1.0, "svmperf", {}),
    ("sparse blocks", LINEAR, "csr", 1.0, "ocas", {"keep_alpha": True}),
    ("blocks", LINEAR, "dense", 1.0, "svmperf-ordinal", {}),
    ("single blocks", LINEAR, "dense", 1.0, "svmperf", {}),
    ("single sparse blocks", LINEAR, "csr", 1.0, "ocas", {}),
    ("gram", Kernel.precomputed(), "auto", 1.0, "smo", {"start": True}),
    ("gram", Kernel.precomputed(), "auto", 1.0, "smo2", {}),
    ("far", WIDE, "dense", 1.0, "smo-fixed-threshold", {"start": True}),
    ("far", WIDE, "dense", 1.0, "pasmo", {}),
    ("words", LINEAR, "index", 1.0, "smo", {"start": True}),
    ("words", LINEAR, "csr", 1.0, "svmlight", {"fold": True, "start": True}),
)

#: As above, with smaller sizes at which solvers switch methods.
SMALL: tuple[tuple[str, Kernel, str, float, str, dict[str, Any]], ...] = (
    ("numbers", LINEAR, "dense", 100.0, "smo", {}),
    ("numbers", WIDE, "dense", 10.0, "smo", {"cache_mb": ROWS}),
    ("numbers", LINEAR, "dense", 10.0, "smo-fixed-threshold", {}),
    ("numbers", NARROW, "dense", 100.0, "smo-fixed-threshold", {}),
    ("numbers", LINEAR, "dense", 100.0, "svmlight", {"q": 2, "cache_mb": ROWS}),
    ("numbers", NARROW, "dense", 100.0, "smo2", {"shrinking": False}),
    ("words", LINEAR, "csr", 1.0, "svmperf", {}),
    ("words", LINEAR, "index", 1.0, "svmperf-ordinal", {}),
)
SIZES = (
    (state, "POLISH_AFTER", 5),
    (svmlight, "_WIDEN_AFTER", 2),
    (smo_rows, "_FIRST_LENGTH", 8),
    (lru, "_FIRST_BYTES", 0),
    (row_passes, "RENEW", 3),
)


@contextmanager
def small_sizes() -> Iterator[None]:
    """Make solvers use at toy size the methods for large problems."""
    before = [(module, name, getattr(module, name)) for module, name, _ in SIZES]
    for module, name, value in SIZES:
        setattr(module, name, value)
    yield
    for module, name, value in before:
        setattr(module, name, value)


def examples(data: str) -> tuple[Any, Any]:
    """Return examples by name, and a noisy linear function of them."""
    rng = np.random.default_rng(1)
    d, share = {"pages": (100, 0.2), "books": (310, 0.9), "sparse": (200, 0.03)}.get(data, (12, 0.4))
    X = (rng.random((N, d)) < share).astype(float)
    if data == "sparse":
        X *= rng.normal(size=(N, d))
    if data in ("numbers", "far") or "blocks" in data:
        X = rng.normal(size=(N, 4)) * (rng.random((N, 4)) < 0.8)
    f = X @ rng.normal(size=X.shape[1])
    if data != "words":
        f = 1.5 * (f - f.mean()) / f.std() + 0.5 * rng.normal(size=N)
    if "blocks" in data:
        X = X.astype(np.float32 if "single" in data else np.float64)
        whole = sp.csr_array(X) if "sparse" in data else X
        return Blocks([whole[:15], whole[15:30], whole[30:]]), f
    if data == "far":  # norms cancel for any origin
        X[::2] += 1e8
    return (X @ X.T if data == "gram" else X), f


def entry(
    data: str, kernel: Kernel, storage: str, C: float, name: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of a run."""
    X, f = examples(data)
    labels = np.clip(np.round(f), -2.0, 2.0) if "ordinal" in name else np.where(f > 0.2, 1.0, -1.0)
    bias = options.get("bias", "no bias" not in SOLVERS[name].needs)
    problem = Problem(X, labels, C, kernel, bias=bias, storage=storage)
    own = {key: value for key, value in options.items() if key not in ("bias", "start")}
    if "start" in options:
        own["start"] = 0.5 * solve(problem, name, eps=EPS, **own).alpha
    solution = solve(problem, name, eps=EPS, **own)
    certificate = certify(problem, solution)
    return {
        "status": solution.status,
        "passed": certificate.passes(EPS, SOLVERS[name].tolerance_factor),
        "primal": certificate.primal,
        "iterations": solution.iterations,
        "allowed": EPS * (problem.total if SOLVERS[name].promise == GAP else certificate.primal),
    }


def descent() -> dict[str, Any]:
    """Return the result of coordinate descent, which peers use."""
    X, f = examples("words")
    problem = Problem(X, np.where(f > 0.2, 1.0, -1.0), bias=False, storage="index")
    alpha = descend(problem, np.zeros(N), np.arange(N), EPS, 1e6)
    solution = Solution(alpha, X.T @ (problem.y * alpha), 0.0, "optimal", 0, 0)
    certificate = certify(problem, solution)
    passed = certificate.passes(EPS, 1.0)
    found = {"status": "optimal", "passed": passed, "primal": certificate.primal, "iterations": 0}
    return {**found, "allowed": EPS * certificate.primal}


def main() -> None:
    # The interpreter's NumPy warns of overflow and division by zero; compiled code does not.
    warnings.simplefilter("ignore", RuntimeWarning)
    found = {"descent": descent()}
    for name, spec in SOLVERS.items():
        for storage in () if spec.package else ("dense", "csr", "index", "bits"):
            found[f"{name} {storage}"] = entry("words", LINEAR, storage, 1.0, name, {})
    for variant in VARIANTS:
        found[str(variant)] = entry(*variant)
    with small_sizes():
        for variant in SMALL:
            found[f"small {variant}"] = entry(*variant)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
