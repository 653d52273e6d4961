"""Solve toy problems with every solver, storage and further branches; print JSON."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from solver_cases import STORAGES, biased
from svmrepro.solvers import SOLVERS, Blocks, Kernel, Problem, Solution, certify, solve
from svmrepro.solvers.caches import lru, smo_rows
from svmrepro.solvers.decomposition import smo_newton
from svmrepro.solvers.decomposition.svmlight import classification as svmlight
from svmrepro.solvers.linear.dual_search import descend
from svmrepro.solvers.passes import row_passes
from svmrepro.solvers.platt import _state as state
from svmrepro.solvers.registry import GAP

N, EPS = 40, 1e-3
ROWS = 6 * 8 * N / 2**20  # megabytes of six kernel rows
LINEAR, POLYNOMIAL, INDEFINITE = Kernel.linear(), Kernel.polynomial(2, c=1.0), Kernel.polynomial(3, 0.1, -0.5)
WIDE, NARROW = Kernel.gaussian(gamma=0.05), Kernel.gaussian(gamma=0.5)

Variant = tuple[str, Kernel, str, float, str, dict[str, Any]]
#: Data, kernel, storage, C, solver and its options; ``bias`` and ``start`` are not options of a solver.
VARIANTS: tuple[Variant, ...] = (
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
    ("numbers", NARROW, "dense", 10.0, "svmlight", {"q": 4, "cache_mb": ROWS, "patience": 9, "single": True}),
    ("numbers", INDEFINITE, "dense", 1.0, "svmlight", {"q": 6}),
    ("words", WIDE, "index", 1.0, "svmlight", {"q": 4, "cache_mb": ROWS, "bias": False}),
    ("words", LINEAR, "dense", 1.0, "svmperf", {"drop_after": 3, "keep_alpha": True}),
    ("blocks", LINEAR, "dense", 1.0, "svmperf", {}),
    ("sparse blocks", LINEAR, "csr", 1.0, "ocas", {"keep_alpha": True}),
    ("blocks", LINEAR, "dense", 1.0, "svmperf-ordinal", {}),
    ("single blocks", LINEAR, "dense", 1.0, "svmperf", {}),
    ("single sparse blocks", LINEAR, "csr", 1.0, "ocas", {}),
    ("sparse", LINEAR, "csr", 1.0, "dual-descent", {"start": True}),
    ("numbers", LINEAR, "dense", 1.0, "dual-descent", {"shrinking": False}),
    ("gram", Kernel.precomputed(), "auto", 1.0, "smo", {"start": True}),
    ("gram", Kernel.precomputed(), "auto", 1.0, "smo2", {}),
    ("far", WIDE, "dense", 1.0, "smo-fixed-threshold", {"start": True}),
    ("far", WIDE, "dense", 1.0, "pasmo", {}),
    ("wide", WIDE, "dense", 10.0, "smo-newton", {}),
    ("grades", WIDE, "dense", 10.0, "smo-newton", {}),
    ("grades", POLYNOMIAL, "csr", 1.0, "svmlight", {"q": 4, "cache_mb": ROWS}),
    ("words", LINEAR, "index", 1.0, "smo", {"start": True}),
    ("words", LINEAR, "csr", 1.0, "svmlight", {"fold": True, "start": True}),
)

#: As above, with smaller sizes at which solvers switch methods.
SMALL: tuple[Variant, ...] = (
    ("numbers", LINEAR, "dense", 100.0, "smo", {}),
    ("numbers", WIDE, "dense", 10.0, "smo", {"cache_mb": ROWS}),
    ("numbers", LINEAR, "dense", 10.0, "smo-fixed-threshold", {}),
    ("numbers", NARROW, "dense", 100.0, "smo-fixed-threshold", {}),
    ("numbers", LINEAR, "dense", 100.0, "svmlight", {"q": 2, "cache_mb": ROWS}),
    ("numbers", NARROW, "dense", 100.0, "smo2", {"shrinking": False}),
    ("numbers", NARROW, "dense", 1e4, "smo-newton", {}),
    ("far", WIDE, "dense", 10.0, "smo-newton", {"cache_mb": ROWS}),
    ("numbers", WIDE, "dense", 10.0, "csmo", {"cache_mb": ROWS}),
    ("numbers", NARROW, "csr", 10.0, "csmo", {"cache_mb": ROWS}),
    ("words", LINEAR, "csr", 1.0, "svmperf", {}),
    ("words", LINEAR, "index", 1.0, "svmperf-ordinal", {}),
)
SIZES = (
    (state, "POLISH_AFTER", 5),
    (svmlight, "_WIDEN_AFTER", 2),
    (smo_rows, "_FIRST_LENGTH", 8),
    (lru, "_FIRST_BYTES", 0),
    (lru, "_FIRST_BYTES_CHEAP", 0),
    (row_passes, "RENEW", 3),
    (smo_newton, "_FIRST_LOOK", 1),
    (smo_newton, "_AGAIN", 1),
    (smo_newton, "_SELDOM", 1),
    (smo_newton, "_PATIENCE", 0.0),
)


def examples(data: str) -> tuple[Any, Any]:
    """Return examples by name, and a noisy linear function of them."""
    rng = np.random.default_rng(1)
    d, share = {"pages": (100, 0.2), "books": (310, 0.9), "sparse": (200, 0.03)}.get(data, (12, 0.4))
    X = (rng.random((N, d)) < share).astype(float)
    if data == "sparse":
        X *= rng.normal(size=(N, d))
    if data in ("numbers", "far") or "blocks" in data:
        X = rng.normal(size=(N, 4)) * (rng.random((N, 4)) < 0.8)
    if data in ("wide", "grades"):  # rows computed together
        X = rng.normal(size=(N, 18)) if data == "wide" else rng.integers(-3, 6, size=(N, 18)).astype(float)
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


def result(problem: Problem, name: str, solution: Solution) -> dict[str, Any]:
    """Return what must be alike, interpreted and compiled."""
    spec, certificate = SOLVERS[name], certify(problem, solution)
    return {
        "status": solution.status,
        "passed": certificate.passes(EPS, spec.tolerance_factor),
        "primal": certificate.primal,
        "iterations": solution.iterations,
        "allowed": EPS * (problem.total if spec.promise == GAP else certificate.primal),
    }


def solved(
    data: str, kernel: Kernel, storage: str, C: float, name: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of a run."""
    X, f = examples(data)
    labels = np.clip(np.round(f), -2.0, 2.0) if "ordinal" in name else np.where(f > 0.2, 1.0, -1.0)
    own = dict(options)
    problem = Problem(X, labels, C, kernel, bias=own.pop("bias", biased(name)), storage=storage)
    if own.pop("start", False):
        own["start"] = 0.5 * solve(problem, name, eps=EPS, **own).alpha
    return result(problem, name, solve(problem, name, eps=EPS, **own))


def descent() -> dict[str, Any]:
    """Return the result of coordinate descent, which peers use."""
    X, f = examples("words")
    problem = Problem(X, np.where(f > 0.2, 1.0, -1.0), bias=False, storage="index")
    alpha = descend(problem, np.zeros(N), np.arange(N), EPS, 1e6)
    solution = Solution(alpha, X.T @ (problem.y * alpha), 0.0, "optimal", 0, 0)
    return result(problem, "smo-fixed-threshold", solution)


def main() -> None:
    # The interpreter's NumPy warns of division by zero; compiled code does not. Overflow is marked as such.
    warnings.simplefilter("ignore", RuntimeWarning)
    warnings.filterwarnings("error", "overflow", RuntimeWarning)
    found = {"descent": descent()}
    for name, spec in SOLVERS.items():
        for storage in () if spec.package else STORAGES:
            found[f"{name} {storage}"] = solved("words", LINEAR, storage, 1.0, name, {})
    found |= {str(variant): solved(*variant) for variant in VARIANTS}
    with ExitStack() as patches:
        for module, name, value in SIZES:
            patches.enter_context(mock.patch.object(module, name, value))
        found |= {f"small {variant}": solved(*variant) for variant in SMALL}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
