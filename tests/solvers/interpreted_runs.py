"""Solve a toy problem by every solver over every storage, and others that take other branches; print JSON."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from svmrepro.solvers import (
    SOLVERS,
    Blocks,
    Kernel,
    Problem,
    certify,
    lru,
    passes,
    platt,
    solve,
    step_rows,
    svmlight,
)

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
    ("numbers", NARROW, "dense", 10.0, "smo", {"shrinking": True}),
    ("numbers", INDEFINITE, "dense", 1.0, "smo", {}),
    ("pages", POLYNOMIAL, "bits", 1.0, "smo-fixed-threshold", {}),
    ("words", INDEFINITE, "index", 1.0, "smo-fixed-threshold", {}),
    ("words", WIDE, "csr", 1.0, "chunking", {"chunk_size": 5}),
    ("words", LINEAR, "index", 1.0, "chunking", {"chunk_size": 5, "bends": False}),
    ("numbers", POLYNOMIAL, "dense", 1.0, "chunking", {"chunk_size": 8, "whole": True}),
    ("numbers", INDEFINITE, "dense", 1.0, "chunking", {"chunk_size": 8}),
    ("numbers", NARROW, "dense", 10.0, "smo2", {"cache_mb": ROWS, "lengths": True}),
    ("numbers", NARROW, "csr", 10.0, "smo2", {"cache_mb": ROWS, "single": True}),
    ("numbers", WIDE, "dense", 1000.0, "pasmo", {"cache_mb": ROWS, "lengths": True}),
    ("numbers", WIDE, "dense", 1000.0, "pasmo-as-printed", {}),
    ("words", POLYNOMIAL, "index", 1.0, "pasmo-3", {"cache_mb": ROWS}),
    ("books", WIDE, "bits", 1.0, "smo2", {"cache_mb": ROWS}),
    ("books", POLYNOMIAL, "index", 1e-4, "smo2", {}),
    ("sparse", WIDE, "csr", 1.0, "smo2", {}),
    ("numbers", LINEAR, "dense", 100.0, "smo2", {"single": True}),
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
    ("words", LINEAR, "dense", 1.0, "svmperf", {"drop_after": 3, "keep_alpha": True}),
    ("blocks", LINEAR, "dense", 1.0, "svmperf", {}),
    ("sparse blocks", LINEAR, "csr", 1.0, "ocas", {"keep_alpha": True}),
    ("blocks", LINEAR, "dense", 1.0, "svmperf-ordinal", {}),
)

#: As above, with the sizes made small from which on solvers do something else.
SMALL: tuple[tuple[str, Kernel, str, float, str, dict[str, Any]], ...] = (
    ("numbers", LINEAR, "dense", 100.0, "smo", {}),
    ("numbers", WIDE, "dense", 100.0, "smo", {"cache_mb": ROWS}),
    ("numbers", LINEAR, "dense", 100.0, "smo-fixed-threshold", {}),
    ("numbers", NARROW, "dense", 100.0, "smo-fixed-threshold", {}),
    ("numbers", LINEAR, "dense", 100.0, "svmlight", {"q": 2, "cache_mb": ROWS}),
    ("words", LINEAR, "index", 10.0, "smo2", {}),
    ("words", LINEAR, "csr", 1.0, "svmperf", {}),
    ("words", LINEAR, "index", 1.0, "svmperf-ordinal", {}),
)
SIZES = (
    (platt, "POLISH_AFTER", 5),
    (svmlight, "_WIDEN_AFTER", 2),
    (step_rows, "_FIRST_LENGTH", 8),
    (lru, "_FIRST_BYTES", 0),
    (passes, "RENEW", 3),
)


@contextmanager
def small_sizes() -> Iterator[None]:
    """Let solvers do at toy size what they do on large problems."""
    before = [(module, name, getattr(module, name)) for module, name, _ in SIZES]
    for module, name, value in SIZES:
        setattr(module, name, value)
    yield
    for module, name, value in before:
        setattr(module, name, value)


def examples(data: str) -> tuple[Any, Any]:
    """Return examples by name, and values of a noisy linear function of them."""
    rng = np.random.default_rng(1)
    d, share = {"pages": (100, 0.2), "books": (310, 0.9), "sparse": (200, 0.03)}.get(data, (12, 0.4))
    X = (rng.random((N, d)) < share).astype(float)
    if data == "sparse":
        X *= rng.normal(size=(N, d))
    if data in ("numbers", "blocks", "sparse blocks"):
        X = rng.normal(size=(N, 4)) * (rng.random((N, 4)) < 0.8)
    f = X @ rng.normal(size=X.shape[1])
    if data != "words":
        f = 1.5 * (f - f.mean()) / f.std() + 0.5 * rng.normal(size=N)
    if "blocks" in data:
        whole = sp.csr_array(X) if "sparse" in data else X
        return Blocks([whole[:15], whole[15:30], whole[30:]]), f
    return X, f


def problem_of(data: str, kernel: Kernel, storage: str, C: float, name: str) -> Problem:
    """Return a problem that suits a solver."""
    X, f = examples(data)
    labels = np.clip(np.round(f), -2.0, 2.0) if "ordinal" in name else np.where(f > 0.2, 1.0, -1.0)
    return Problem(X, labels, C, kernel, bias="no bias" not in SOLVERS[name].needs, storage=storage)


def entry(problem: Problem, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what a run finds."""
    solution = solve(problem, name, eps=EPS, **options)
    certificate = certify(problem, solution)
    return {
        "status": solution.status,
        "passed": certificate.passes(EPS, SOLVERS[name].tolerance_factor, N, problem.C),
        "primal": certificate.primal,
        "iterations": solution.iterations,
    }


def main() -> None:
    # The interpreter's numpy tells of overflow and of division by zero, compiled code does not.
    warnings.simplefilter("ignore", RuntimeWarning)
    found = {}
    for name, spec in SOLVERS.items():
        if spec.package:
            continue
        for storage in ("dense", "csr", "index", "bits"):
            problem = problem_of("words", LINEAR, storage, 1.0, name)
            found[f"{name} {storage}"] = entry(problem, name, {})
    for data, kernel, storage, C, name, options in VARIANTS:
        label = f"{name} {data} {storage} {kernel} {options}"
        found[label] = entry(problem_of(data, kernel, storage, C, name), name, options)
    with small_sizes():
        for data, kernel, storage, C, name, options in SMALL:
            label = f"small {name} {data} {storage} {kernel} {options}"
            found[label] = entry(problem_of(data, kernel, storage, C, name), name, options)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
