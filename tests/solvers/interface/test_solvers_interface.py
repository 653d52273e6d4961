"""Every solver module in the registry has the interface that the driver needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from svmrepro.solvers import SOLVERS, Blocks, Kernel, Problem, solve
from svmrepro.solvers.decomposition import second_order
from svmrepro.solvers.decomposition.threads import helpers
from svmrepro.solvers.driver import prepare
from svmrepro.solvers.interface import Completes, LimitsMultipliers, Prepares, Solver


def functions(protocol: type) -> dict[str, list[str]]:
    """Return the names of a protocol's functions and of their parameters."""
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
    for hook in (Prepares, LimitsMultipliers, Completes):
        if isinstance(solver, hook):
            expected |= functions(hook)
    assert set(solver.__all__) == set(expected)
    for name, parameters in expected.items():
        assert list(inspect.signature(getattr(solver, name)).parameters) == parameters, name


#: Changes that make a problem unacceptable to some solvers, with the messages.
REFUSED = {
    "linear kernel": ({"kernel": Kernel.gaussian(gamma=1.0)}, "needs a linear kernel, got gaussian"),
    "bias": ({"bias": False}, "needs bias=True"),
    "no bias": ({"bias": True}, "needs bias=False"),
    "labels": ({"y": [1.0, 0.0, 2.0]}, r"needs labels -1 and \+1 only, y holds 0"),
    "blocks": ({"X": Blocks([np.eye(3)])}, "needs its examples in one piece, not in blocks"),
    "one C": ({"C": [1.0, 2.0, 1.0]}, "needs one C for all examples"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("name", SOLVERS)
def test_what_a_solver_cannot_take_is_refused(name: str, what: str) -> None:
    spec = SOLVERS[name]
    change, said = REFUSED[what]
    can = {"labels": spec.loss == "pairs", "blocks": spec.blocks, "one C": not spec.one_bound}
    usual: dict[str, Any] = {"X": np.eye(3), "y": [1.0, -1.0, 1.0], "bias": "no bias" not in spec.needs}
    problem = Problem(**{**usual, **change})
    if can.get(what, what not in spec.needs):
        spec.check(problem, {})
    else:
        with pytest.raises(ValueError, match=f"^solver '{name}' {said}$"):
            solve(problem, name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (name, options)
        for name, spec in SOLVERS.items()
        for options in ({}, {"plain": True}, {"single": True})
        if options.keys() <= spec.options.keys()
    ],
    ids=str,
)
def test_all_layouts_are_made_before_the_clock_starts(
    name: str, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SOLVERS[name]
    if spec.version is None:
        pytest.skip(f"{spec.package} is not installed")
    y = np.where(np.arange(40) % 3 == 0, 1.0, -1.0)
    storage = "dense" if name == "thundersvm" else "auto"
    problem = Problem(np.eye(40), y, bias="no bias" not in spec.needs, storage=storage)
    prepare(problem, name, 1e-3, options)
    made: list[str] = []
    layout = Problem.layout

    def noted(given: Problem, what: str, build: Callable[[Problem], Any]) -> Any:
        return layout(given, what, lambda problem: (made.append(what), build(problem))[1])

    monkeypatch.setattr(Problem, "layout", noted)
    solve(problem, name, verify=False, **options)
    assert set(made) <= {"multipliers"}  # for LIBLINEAR's certificate, after the clock has stopped


@pytest.mark.parametrize(
    ("name", "options"),
    [("smo2", {}), ("smo2", {"single": True}), ("smo-newton", {}), ("smo-newton", {"threads": 2})],
    ids=str,
)
def test_all_loops_are_loaded_before_the_clock_starts(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).normal(size=(5000, 3))
    problem = Problem(X, np.where(X[:, 0] > 0.0, 1.0, -1.0), 1.0, Kernel.gaussian(gamma=0.3))
    loaded: set[Any] = set()
    for module in (second_order, helpers):
        monkeypatch.setattr(module, "loops_for", lambda *given: loaded.add(("threads", *given)))
    monkeypatch.setattr(second_order, "loops_of", lambda *given: loaded.add(given))
    prepare(problem, name, 1e-3, options)
    before = loaded.copy()
    loaded.clear()
    spec = SOLVERS[name]
    spec.load().start(problem, 1e-3, {**spec.check(problem, options), "start": None, "gradient": None})
    assert loaded == before and len(loaded) == 1 + len(options.keys() & {"threads"})


def test_an_unknown_solver_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^solver 'smoo' unknown; known: smo, "):
        solve(Problem(np.eye(2), [1.0, -1.0]), "smoo")
