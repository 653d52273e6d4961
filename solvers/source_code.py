"""
Fingerprints of the source that makes a measurement or a table.

A fingerprint is of definitions: the functions, classes and constants that are reached from some modules, by
name and without importing anything. Where a definition stands, what its module is called and how it is
imported is no part of it, so that code can move without a measurement becoming out of date.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from svmrepro.solvers.registry import get

_PROJECT = "svmrepro"
#: What is read of a module is kept beside it. Of another Python, code is written out in another way.
_MEMORY = Path("__pycache__") / f"source.{sys.implementation.cache_tag}.json"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)

#: No part of what is measured, though measured code names them: the registry, in which a new line changes no
#: other solver, the judge, the search for multipliers of solvers that return none, and this module.
_NOT_MEASURED = (
    "solvers.registry",
    "solvers.certificate",
    "solvers.reference_kernels",
    "solvers.linear.dual_descent",
    "solvers.source_code",
)

#: A statement by its module and its place there.
Place = tuple[str, int]
#: The project's names that a module imports: name there -> modules and names that it may mean.
Imports = dict[str, list[tuple[str, str]]]


@cache
def fingerprint(name: str) -> str:
    """Return a hash, 16 hex digits, of all code of this package that a solver reaches.

    Comments, docstrings, formatting and imports, which cannot change a measurement, do not count, nor does
    the module in which something is defined. Of a peer, the version of its package counts too, and whether
    it is installed.

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
    digest = source().fingerprint_of_solver(name)
    if not spec.package:
        return digest
    return hashlib.sha256(f"{digest}|{spec.package} {spec.version}".encode()).hexdigest()[:16]


@cache
def fingerprint_all() -> str:
    """Return a hash of the whole package: it names the folder of compiled code."""
    return source().fingerprint(source().modules("solvers"))


@cache
def source() -> SourceCode:
    """Return the source that is running."""
    return SourceCode(Path(__file__).resolve().parent.parent)


class Statement(NamedTuple):
    """A statement of a module: hash of its code, names that it binds and uses, whether it is a definition."""

    code: str
    binds: list[str]
    uses: list[str]
    defines: bool


class Module(NamedTuple):
    """What is read of a module."""

    statements: list[Statement]
    imports: Imports


class SourceCode:
    """The source of this project's packages.

    Parameters
    ----------
    root : Path
        The folder that holds ``solvers``, ``datasets`` and ``workflow``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, Module] = {}
        self._memories: dict[Path, dict[str, Any]] = {}
        self._changed: set[Path] = set()
        self._follow = cache(self._followed)
        self._resolve = cache(self._resolved)
        self._file = cache(self._found)
        self._bound = cache(self._bindings)

    def modules(self, package: str) -> tuple[str, ...]:
        """Return the modules of a package and of the packages in it, such as ``solvers.driver``."""
        files = (self.root / package).rglob("*.py")
        parts = (file.relative_to(self.root).with_suffix("").parts for file in files)
        return tuple(sorted(".".join(each[:-1] if each[-1] == "__init__" else each) for each in parts))

    def fingerprint_of_solver(self, name: str) -> str:
        """Return a hash of what a solver's module reaches, and the driver, through which every run passes."""
        return self.fingerprint((f"solvers.{get(name).module}", "solvers.driver"), without=_NOT_MEASURED)

    def fingerprint(self, modules: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
        """Return a hash, 16 hex digits, of modules and of all definitions that they reach.

        Parameters
        ----------
        modules : tuple of str
            Names such as ``solvers.driver``.
        without : tuple of str
            Packages, modules and definitions that are left out, with what only they reach.

        Raises
        ------
        ValueError
            If there is no such module.
        """
        todo = [(name, k) for name in modules for k in range(len(self._read(name).statements))]
        seen: set[Place] = set()
        lines = set()
        while todo:
            here = todo.pop()
            if here not in seen:
                seen.add(here)
                line, reached = self._follow(*here, without)
                lines.add(line)
                todo.extend(reached)
        self._keep()
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]

    def _followed(self, module: str, k: int, without: tuple[str, ...]) -> tuple[str, list[Place]]:
        """Return a statement with what its names mean, and the statements that it reaches."""
        statements = self._read(module).statements
        # What is no definition runs when its module is imported.
        reached = [(module, j) for j, each in enumerate(statements) if not each.defines]
        meant = []
        for used in statements[k].uses:
            for found in self._resolve(module, used, without):
                meant.append(f"{used.rpartition('.')[2]} {self._read(found[0]).statements[found[1]].code}")
                reached.append(found)
        return " ".join([statements[k].code, *sorted(meant)]), reached

    def _resolved(self, module: str, used: str, without: tuple[str, ...]) -> list[Place]:
        """Return the statements that a name (see `_uses`) of a module may mean."""
        first, _, rest = used.partition(".")
        found = [] if rest else list(self._bound(module).get(first, []))
        for place, name in self._read(module).imports.get(first, []):
            dotted = _dotted(place, name)
            if any(f"{dotted}.{rest}".startswith(f"{each}.") for each in without):
                continue
            if self._file(dotted) is None:
                found += self._resolve(place, name, without)
            elif rest:
                found += self._resolve(dotted, rest, without)
            else:  # the module itself is handed on
                found += [(dotted, k) for k in range(len(self._read(dotted).statements))]
        return found

    def _bindings(self, module: str) -> dict[str, list[Place]]:
        """Return the names that a module binds, with the statements that do."""
        bound: dict[str, list[Place]] = {}
        for k, each in enumerate(self._read(module).statements):
            for name in each.binds:
                bound.setdefault(name, []).append((module, k))
        return bound

    def _found(self, name: str) -> Path | None:
        """Return the file of a module, or None if it is none."""
        path = self.root.joinpath(*name.split("."))
        return next(
            (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None
        )

    def _read(self, name: str) -> Module:
        """
        Return what is to be known of a module.

        Parsing all modules takes half a second, which every step of a workflow would wait for: what was found
        is kept beside the compiled modules, by the hash of that source and of this one, which reads it.
        """
        if name in self._modules:
            return self._modules[name]
        file = self._file(name)
        if file is None:
            raise ValueError(f"there is no module {name!r} in {_PROJECT}")
        text = file.read_bytes()
        stamp = hashlib.sha256(text + _reader()).hexdigest()
        kept = self._kept(file.parent).get(file.name)
        if kept is not None and kept["source"] == stamp:
            module = Module([Statement(*each) for each in kept["statements"]], kept["imports"])
        else:
            module = self._parse(
                ast.parse(text), name if file.stem == "__init__" else name.rpartition(".")[0]
            )
            self._kept(file.parent)[file.name] = {"source": stamp, **module._asdict()}
            self._changed.add(file.parent)
        self._modules[name] = module
        return module

    def _parse(self, tree: ast.Module, package: str) -> Module:
        """Return what is to be known of a parsed module, which loses its docstrings and imports."""
        imports: Imports = {}
        for node in ast.walk(tree):
            for local, target in _imported(node, package):
                imports.setdefault(local, []).append(target)
        plain = _Plain({name for name in imports for each in imports[name] if self._file(_dotted(*each))})
        statements = []
        for node in tree.body:
            uses = _uses(node, imports, plain.modules)
            if (kept := plain.visit(node)) is not None:
                code = hashlib.sha256(ast.unparse(kept).encode()).hexdigest()[:16]
                statements.append(Statement(code, _binds(kept), uses, isinstance(kept, _DEFINITIONS)))
        known = {*imports, *(name for each in statements for name in each.binds)}
        return Module(
            [
                each._replace(uses=[name for name in each.uses if name.partition(".")[0] in known])
                for each in statements
            ],
            imports,
        )

    def _kept(self, folder: Path) -> dict[str, Any]:
        """Return what was kept of earlier readings, by file; nothing where that cannot be understood."""
        if folder not in self._memories:
            try:
                kept = json.loads((folder / _MEMORY).read_text(encoding="utf-8"))
                self._memories[folder] = {
                    name: {key: each[key] for key in ("source", *Module._fields)}
                    for name, each in kept.items()
                    if [Statement(*statement) for statement in each["statements"]]
                }
            except (OSError, ValueError, AttributeError, KeyError, TypeError):
                self._memories[folder] = {}
        return self._memories[folder]

    def _keep(self) -> None:
        """Write what is known, unless that is impossible or Python may write nothing beside its source."""
        while self._changed:
            folder = self._changed.pop()
            memory = folder / _MEMORY
            temporary = memory.with_suffix(f".{os.getpid()}")
            with suppress(OSError):
                if not sys.dont_write_bytecode:
                    memory.parent.mkdir(exist_ok=True)
                    temporary.write_text(json.dumps(self._kept(folder)), encoding="utf-8")
                    temporary.replace(memory)


@cache
def _reader() -> bytes:
    return Path(__file__).read_bytes()


def _dotted(module: str, name: str) -> str:
    return f"{module}.{name}" if module and name else module or name


def _imported(node: ast.AST, package: str) -> list[tuple[str, tuple[str, str]]]:
    """Return the project's names that an import binds, with the module and the name that each means."""
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
        place = ".".join([*([_PROJECT] if node.level else []), *above, *filter(None, [node.module])])
        return [
            (alias.asname or alias.name, (place.removeprefix(_PROJECT).removeprefix("."), alias.name))
            for alias in node.names
            if f"{place}.".startswith(f"{_PROJECT}.")
        ]
    if isinstance(node, ast.Import):
        ours = [alias for alias in node.names if f"{alias.name}.".startswith(f"{_PROJECT}.")]
        if not all(alias.asname for alias in ours):
            raise ValueError(f"line {node.lineno}: import {ours[0].name} as a name, or it cannot be followed")
        return [(alias.asname or "", (alias.name.removeprefix(f"{_PROJECT}."), "")) for alias in ours]
    return []


class _Plain(ast.NodeTransformer):
    """Takes out docstrings and imports, and writes ``module.name`` of this project as ``name``."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Go on to what is in a node; a body of which nothing is left becomes ``pass``."""
        super().generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If) and not node.body:
            node.body = [ast.Pass()]
        return node

    def visit_Import(self, node: ast.Import) -> None:
        """Take it out."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Take it out."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Take out docstrings, and constants that stand for one."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Forget how a module that is handed on is called."""
        return ast.Name("_", node.ctx) if node.id in self.modules else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Write a name of a module of ours alone."""
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)


def _binds(node: ast.AST) -> list[str]:
    """Return the names that a statement of a module binds there."""
    found = set()
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        else:
            todo.extend(ast.iter_child_nodes(each))
    return sorted(found)


def _uses(node: ast.AST, imports: Imports, modules: set[str]) -> list[str]:
    """Return the names that a statement uses: ``name``, ``alias.name``, ``alias.`` of a module handed on."""
    found = set()
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in imports:
            found.add(f"{each.value.id}.{each.attr}")
        elif isinstance(each, ast.Name):
            found.add(f"{each.id}." if each.id in modules else each.id)
        else:
            todo.extend(ast.iter_child_nodes(each))
    return sorted(found)
