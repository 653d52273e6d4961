"""Every module that the registry names has the face that the driver and its authors rely on."""

from __future__ import annotations

import inspect

import pytest
from svmrepro.solvers import SOLVERS
from svmrepro.solvers.interface import Completes, Prepares, Solver


def functions(protocol: type) -> dict[str, list[str]]:
    """Return the names of a protocol's functions, with those of their parameters."""
    return {
        name: [each for each in inspect.signature(function).parameters if each != "self"]
        for name, function in vars(protocol).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }


@pytest.mark.parametrize("module", sorted({spec.module for spec in SOLVERS.values()}))
def test_a_registered_module_is_a_solver(module: str) -> None:
    spec = next(spec for spec in SOLVERS.values() if spec.module == module)
    if spec.version is None:
        pytest.skip(f"{spec.package} is not installed")
    solver = spec.load()
    assert isinstance(solver, Solver)
    expected = functions(Solver)
    for hook in (Prepares, Completes):
        if isinstance(solver, hook):
            expected |= functions(hook)
    assert set(solver.__all__) == set(expected)
    for name, parameters in expected.items():
        assert list(inspect.signature(getattr(solver, name)).parameters) == parameters, name
