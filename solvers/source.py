"""Fingerprints of the source that makes a measurement."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

from svmrepro.solvers.registry import get

_HERE = Path(__file__).parent
_PREFIX = "svmrepro.solvers."
# What every run passes through besides the solver's own module.
_ALWAYS = ("driver",)


@cache
def fingerprint(name: str) -> str:
    """Return a hash, 16 hex digits, of every module of this package that a solver reaches.

    Imports are followed in the source; nothing is imported or compiled. Code counts; comments,
    docstrings and formatting, which cannot change a measurement, do not. Of a peer, the version of its
    package counts too, and whether it is installed.

    Parameters
    ----------
    name : str
        A name in ``SOLVERS``.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    spec = get(name)
    digest = _digest(frozenset(_reached((spec.module, *_ALWAYS))))
    if not spec.package:
        return digest
    return hashlib.sha256(f"{digest}|{spec.package} {spec.version}".encode()).hexdigest()[:16]


@cache
def fingerprint_all() -> str:
    """Return a hash of the whole package: it names the folder of compiled code."""
    return _digest(frozenset(path.stem for path in _HERE.glob("*.py")))


def _digest(modules: frozenset[str]) -> str:
    """Return a hash of the modules' code."""
    digest = hashlib.sha256()
    for module in sorted(modules):
        digest.update(f"{module}\0{_code(module)}\0".encode())
    return digest.hexdigest()[:16]


@cache
def _code(module: str) -> str:
    """Return a module's code, written out anew without comments and docstrings."""
    tree = _tree(module)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _tree(module: str) -> ast.Module:
    """Return the syntax tree of a module of this package."""
    return ast.parse((_HERE / f"{module}.py").read_text(encoding="utf-8"))


def _reached(roots: tuple[str, ...]) -> set[str]:
    """Return the modules reached from ``roots``. The registry is left out: a new line is no change."""
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        module = todo.pop()
        if module in seen or module == "registry":
            continue
        seen.add(module)
        todo.extend(_imports(module))
    return seen


@cache
def _imports(module: str) -> frozenset[str]:
    """Return the modules of this package that one module imports anywhere in it."""
    found = set()
    for node in ast.walk(_tree(module)):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            tail = name.removeprefix(_PREFIX).split(".")[0]
            if name.startswith(_PREFIX) and (_HERE / f"{tail}.py").is_file():
                found.add(tail)
    return frozenset(found)
