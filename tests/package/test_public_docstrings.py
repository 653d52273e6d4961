"""Public docstrings: examples run; parameters, results, errors and the shapes of arrays are described."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from support import PROJECT
from svmrepro import datasets, solvers
from svmrepro.solvers import conformance
from svmrepro.solvers.caches.reused_memory import release
from svmrepro.workflow.joining.bench_run import bench

# Found in the text: importing all modules takes seconds.
WITH_EXAMPLES = sorted(
    ".".join(("svmrepro", *path.relative_to(PROJECT).with_suffix("").parts)).removesuffix(".__init__")
    for folder in ("solvers", "datasets", "workflow")
    for path in (PROJECT / folder).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
_ARRAYS = re.compile(r"NDArray|ArrayLike|FloatArray|Vector")
_NAMES_OF_ARRAYS = {"X", "y"}
_SHAPE = re.compile(r"\(\w+(?: \+ 1)?,(?: \w+)?\)")  # (n,), (n, d), (d + 1,)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name.endswith("sklearn_classifier"):
        pytest.importorskip("sklearn")
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert outcome.attempted and not outcome.failed


def code_of(thing: Any) -> Callable[..., Any] | None:
    """Return the function behind a function, method or property; of a class, its own constructor, if any."""
    if inspect.isclass(thing):
        thing = None if dataclasses.is_dataclass(thing) else vars(thing).get("__init__")
    function = inspect.unwrap(thing.fget if isinstance(thing, property) else thing)
    return function if inspect.isfunction(function) else None


def public(package: ModuleType, *names: str) -> dict[str, Any]:
    """Return the functions and classes of these names, and what a class's own code defines on it."""
    found = {}
    for name in names:
        thing = getattr(package, name)
        if inspect.isclass(thing):
            found[name] = thing
            own = {each: value for each, value in vars(thing).items() if not each.startswith("_")}
            found |= {f"{name}.{each}": value for each, value in own.items() if code_of(value)}
        elif code_of(thing):
            found[name] = thing
    return found


# The classifier is public, but not in ``__all__``: importing it needs scikit-learn.
PUBLIC = {
    **public(solvers, *solvers.__all__, *["SVMClassifier"] * bool(find_spec("sklearn"))),
    **{measure.__name__: measure for measure in solvers.MEASURES.values()},
    **public(conformance, "check", "Report", "CheckResult"),
    **public(datasets, *datasets.__all__),
    "release": release,
    "bench": bench,
}


def test_the_public_names_are_found() -> None:
    assert {"svmrepro.solvers", "svmrepro.datasets", "svmrepro.solvers.storage.blocks"} <= set(WITH_EXAMPLES)
    assert {"solve", "fingerprint", "Kernel.linear", "Problem", "Problem.n", "UserEntry.file"} < set(PUBLIC)
    assert {"roc_area", "check", "Report.failed"} < set(PUBLIC)
    assert "SVMClassifier.predict_proba" in PUBLIC or not find_spec("sklearn")


def raised(function: Callable[..., Any]) -> set[str]:
    """Return the errors that the body of a function raises itself."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    found, todo = set(), list[ast.AST](definition.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Raise):
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            found |= {error.id} if isinstance(error, ast.Name) else set()
        elif not isinstance(node, ast.FunctionDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
    return found


def lacking(thing: Any) -> Iterable[str]:
    """Yield what a docstring leaves out.

    A docstring of one line needs no Parameters if it names each of them as code, and no Returns if it begins
    with "Return" or "Tell". A property needs neither, and a class no Returns.
    """
    function = code_of(thing)
    text = inspect.getdoc(thing if inspect.isclass(thing) else function or thing) or ""
    if not text:
        yield "a docstring"
    if function is None:
        return
    sections, signature = NumpyDocString(text), inspect.signature(function)
    short = text if "\n" not in text else ""
    entries = {
        name.strip(" *"): f"{entry.type} {' '.join(entry.desc)}"
        for entry in sections["Parameters"]
        for name in entry.name.split(",")
    }
    code = " ".join(re.findall("``(.*?)``", short))
    entries |= dict.fromkeys(re.findall(r"\w+", code), short)
    for name, parameter in signature.parameters.items():
        if name in ("self", "cls"):
            continue
        if name not in entries:
            yield f"parameter {name}"
        elif name in _NAMES_OF_ARRAYS or _ARRAYS.search(str(parameter.annotation)):
            yield from [] if _SHAPE.search(entries[name]) else [f"the shape of {name}"]
    result = str(signature.return_annotation)
    results = sections["Returns"] or sections["Yields"]
    if result != "None" and not isinstance(thing, property):
        yield from [] if results or short.startswith(("Return ", "Tell ")) else ["Returns"]
    told = " ".join(f"{each.type} {' '.join(each.desc)}" for each in results) or text
    yield from ["the shape of the result"] if _ARRAYS.search(result) and not _SHAPE.search(told) else []
    listed = {name for each in sections["Raises"] for name in re.findall(r"\w+", each.type)}
    yield from (f"Raises {name}" for name in sorted(raised(function) - listed))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_parameters_results_errors_and_shapes_are_described(name: str) -> None:
    lacks = list(lacking(PUBLIC[name]))
    assert not lacks, f"the docstring of {name} lacks: {', '.join(lacks)}"
