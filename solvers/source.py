"""Fingerprints of the source that makes a measurement."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from svmrepro.solvers.registry import get

_HERE = Path(__file__).parent
_PREFIX = "svmrepro.solvers."
#: Of another Python, code is written out in another way.
_MEMORY = _HERE / "__pycache__" / f"source.{sys.implementation.cache_tag}.json"
#: Modules that were read and are not kept yet.
_NEW: set[str] = set()
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
    if _NEW:  # once for all modules, each of which takes a part of the file
        _keep()
        _NEW.clear()
    return digest.hexdigest()[:16]


def _code(module: str) -> str:
    """Return a module's code, written out anew without comments and docstrings."""
    return _read(module)[0]


@cache
def _read(module: str) -> tuple[str, frozenset[str]]:
    """Return a module's code and the modules of this package that it imports.

    Parsing all modules takes half a second, which every step of a workflow would wait for: what was found is
    kept beside the compiled modules, by the hash of the source that it was found in.
    """
    source = (_HERE / f"{module}.py").read_bytes()
    stamp = hashlib.sha256(source).hexdigest()
    kept = _kept().get(module)
    if kept is not None and kept["source"] == stamp:
        return kept["code"], frozenset(kept["imports"])
    tree = ast.parse(source)
    imports = _imports(tree)
    code = _plain(tree)
    _kept()[module] = {"source": stamp, "code": code, "imports": sorted(imports)}
    _NEW.add(module)
    return code, imports


def _plain(tree: ast.Module) -> str:
    """Return the code of a tree, which loses its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _reached(roots: tuple[str, ...]) -> set[str]:
    """Return the modules reached from ``roots``. The registry is left out: a new line is no change."""
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        module = todo.pop()
        if module in seen or module == "registry":
            continue
        seen.add(module)
        todo.extend(_read(module)[1])
    return seen


def _imports(tree: ast.Module) -> frozenset[str]:
    """Return the modules of this package that one module imports anywhere in it."""
    found = set()
    for node in ast.walk(tree):
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


@cache
def _kept() -> dict[str, Any]:
    """Return what was kept of earlier readings, by module; nothing where that cannot be understood."""
    try:
        kept = json.loads(_MEMORY.read_text(encoding="utf-8"))
        return {
            name: {key: each[key] for key in ("source", "code", "imports")} for name, each in kept.items()
        }
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def _keep() -> None:
    """Write what is known, unless that is impossible or Python may write nothing beside its source."""
    if sys.dont_write_bytecode:
        return
    temporary = _MEMORY.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        _MEMORY.parent.mkdir(exist_ok=True)
        temporary.write_text(json.dumps(_kept()), encoding="utf-8")
        temporary.replace(_MEMORY)
