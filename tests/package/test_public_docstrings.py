"""Public docstrings: examples run, and parameters and results are documented."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from svmrepro import datasets, solvers
from svmrepro.workflow.joining.bench_run import bench

WITH_EXAMPLES = (
    "svmrepro.solvers",
    "svmrepro.solvers.sklearn_classifier",
    "svmrepro.solvers.storage.blocks",
    "svmrepro.solvers.storage.block_files",
    "svmrepro.solvers.passes.dask_blocks",
    "svmrepro.datasets",
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name.endswith("sklearn_classifier"):
        pytest.importorskip("sklearn")
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert outcome.failed == 0


def public(package: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return a package's public functions, and the methods defined by its own code on public classes."""
    found: dict[str, Callable[..., Any]] = {}
    for name in package.__all__:
        thing = getattr(package, name)
        if inspect.isfunction(thing):
            found[name] = thing
        elif inspect.isclass(thing):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    found[f"{name}.{method}"] = function
    return found


PUBLIC = {**public(solvers), **public(datasets), "bench": bench}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_parameters_and_results_are_described(name: str) -> None:
    function = PUBLIC[name]
    text = inspect.getdoc(function) or ""
    assert text, f"{name} has no docstring"
    taken = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
    if len(text.splitlines()) > 1 and taken:
        described = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
        assert described, f"{name} describes no parameters"
        listed = {
            each.strip(" *")
            for line in re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", described[1], re.M)
            for each in line.split(",")
        }
        assert set(taken) <= listed, f"{name} says nothing of {sorted(set(taken) - listed)}"
