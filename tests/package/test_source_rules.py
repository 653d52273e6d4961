"""Rules for the source of all packages: light imports, maps of modules, names of classes, annotations.

Which package may import which is in pyproject.toml; ``./run test`` checks it by ``lint-imports``. That no
modules of one package import each other in a cycle is checked here.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import grimp  # import-linter's graph of imports
import pytest
from support import PROJECT, ran

FILES = [
    path for floor in ("solvers", "datasets", "workflow") for path in sorted((PROJECT / floor).rglob("*.py"))
]
PACKAGES = [path.parent.relative_to(PROJECT) for path in FILES if path.name == "__init__.py"]
COMPILERS = {"compiled", "overloaded"}
LARGE = {
    "numba",
    "pandas",
    "matplotlib",
    "sklearn",
    "requests",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.io",
}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def faces() -> list[str]:
    """Return the packages that export names."""
    return [
        ".".join(("svmrepro", *package.parts))
        for package in PACKAGES
        if any(isinstance(node, ast.ImportFrom) for node in tree_of(PROJECT / package / "__init__.py").body)
    ]


def test_importing_a_package_compiles_nothing_and_loads_no_large_library() -> None:
    names = faces()
    assert {"svmrepro.solvers", "svmrepro.datasets", "svmrepro.workflow.configuration"} < set(names)
    program = f"import sys, {', '.join(names)}\nprint(*{LARGE} & set(sys.modules))"
    done = ran(sys.executable, "-c", program)
    assert done.stdout == "\n", done.stderr


def test_no_modules_import_each_other_in_a_cycle() -> None:
    """Imports within functions count; those for type checkers alone do not."""
    floors = ("svmrepro.solvers", "svmrepro.datasets", "svmrepro.workflow")
    graph = grimp.build_graph(*floors, exclude_type_checking_imports=True, cache_dir=None)
    assert len(graph.modules) == len(FILES)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    cycle: list[str] = []
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]  # each imports the next one
    lines = [
        f"{one}, line {graph.get_import_details(importer=one, imported=other)[0]['line_number']}: {other}"
        for one, other in pairwise(cycle)
    ]
    told = "modules import each other; move what both need to a module below them:"
    assert not cycle, "\n".join([told, *lines])


def test_contributing_lists_every_package() -> None:
    text = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `((?:solvers|datasets|workflow)/[\w/]*)` \|", text, re.M)
    # Named in the lines of the packages that hold them.
    inner = {
        "solvers/decomposition/svmlight/",
        "solvers/decomposition/threads/",
        "workflow/tables/layout/",
        "workflow/tables/permutations/",
    }
    assert sorted(listed) == sorted({f"{package}/" for package in PACKAGES} - inner)


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_the_docstring_of_a_package_names_every_module_once_and_nothing_else(package: Path) -> None:
    folder = PROJECT / package
    text = ast.get_docstring(tree_of(folder / "__init__.py")) or ""
    rooms = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    rooms |= {path.parent.name + "/" for path in folder.glob("*/__init__.py")}
    # An entry is a name or two at the beginning of a line, and two spaces or more. The documentation shows
    # some of these docstrings: there the entries are a literal block, so indented.
    lines = re.findall(r"^(?: {4})?([\w/]+(?:, [\w/]+)*)  +\S", text, re.M)
    entries = [name for line in lines for name in line.split(", ")]
    # A map may also name a folder without modules, such as ``templates/``.
    named = sorted(name for name in entries if name in rooms or not (folder / name).exists())
    assert named == sorted(rooms), f"the docstring of {package}/__init__.py is its map"


@pytest.mark.parametrize("package", ["solvers", "datasets"])
def test_the_modules_of_a_documented_package_are_no_running_text(package: str) -> None:
    """The documentation shows these docstrings; without a literal block all lines would be one paragraph."""
    text = ast.get_docstring(tree_of(PROJECT / package / "__init__.py")) or ""
    assert re.search(r"^The modules and packages, .*::\n\n    \w", text, re.M)
    assert not re.search(r"^[\w/]+(?:, [\w/]+)*  +\S", text, re.M)


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(PROJECT)))
    assert {"Problem", "ExampleSet", "Config"} <= set(found)
    assert not {name: modules for name, modules in found.items() if len(modules) > 1}


def unannotated(tree: ast.AST) -> list[str]:
    """Return the functions without annotations that are neither compiled nor within one that is."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list]
            if any(isinstance(mark, ast.Name) and mark.id in COMPILERS for mark in marks):
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            bare = [each.arg for each in arguments if not each.annotation and each.arg not in ("self", "cls")]
            if bare or node.returns is None:
                found.append(f"{node.name}, line {node.lineno}")
        found += unannotated(node)
    return found


def test_only_compiled_functions_lack_annotations() -> None:
    """Mypy cannot tell them from others."""
    for path in FILES:
        if path.is_relative_to(PROJECT / "solvers"):
            assert not unannotated(tree_of(path)), path
