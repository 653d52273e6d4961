"""Fingerprints of the source code behind a measurement or a table.

A fingerprint covers definitions: the functions, classes and constants that are reachable by name from some
modules. Nothing is imported to find them. The position of a definition, the name of its module and the way it
is imported do not count, so code can move without invalidating a measurement.
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
#: Cache beside each module of what was read from it; per Python version, since ``ast.unparse`` differs.
_MEMORY = Path("__pycache__") / f"source.{sys.implementation.cache_tag}.json"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)

#: Excluded from the fingerprints of solvers, although measured code refers to them: the registry (a new entry
#: changes no other solver), the certificate, the search for multipliers of solvers that return none, and this
#: module.
_NOT_MEASURED = (
    "solvers.registry",
    "solvers.certificate",
    "solvers.reference_kernels",
    "solvers.linear.dual_search",
    "solvers.source_code",
)

#: A statement, as its module and its index there.
Place = tuple[str, int]
#: The names of this project that a module imports: local name -> modules and names that it may refer to.
Imports = dict[str, list[tuple[str, str]]]


@cache
def fingerprint(name: str) -> str:
    """Return a hash of all code of this package that a solver reaches.

    Comments, docstrings, formatting and imports do not count, nor does the module of a definition. For a
    peer, the version of its package counts, or that it is not installed.

    Parameters
    ----------
    name : str
        A name in ``SOLVERS``.

    Returns
    -------
    str
        16 hexadecimal digits.

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
    """Return a hash of the whole package, which names the folder of compiled code.

    The names of modules count here, because numba's files refer to them.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    return source().fingerprint_of_package("solvers")


@cache
def source() -> SourceCode:
    """Return the source code of the running package."""
    return SourceCode(Path(__file__).resolve().parent.parent)


class Statement(NamedTuple):
    """A statement: hash of its code, names it binds, names it uses, whether it is a definition."""

    code: str
    binds: list[str]
    uses: list[str]
    defines: bool


class Module(NamedTuple):
    """The parsed content of a module."""

    statements: list[Statement]
    imports: Imports


class SourceCode:
    """The source of this project's packages: ``root`` holds ``solvers``, ``datasets`` and ``workflow``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._memories: dict[Path, dict[str, Any]] = {}
        self._changed: set[Path] = set()
        self._module = cache(self._read_module)
        self._reached = cache(self._find_reached)
        self._meanings = cache(self._find_meanings)
        self._file = cache(self._find_file)
        self._bindings = cache(self._find_bindings)

    def modules(self, package: str) -> tuple[str, ...]:
        """Return the modules of a package and its subpackages, such as ``solvers.driver``."""
        files = (self.root / package).rglob("*.py")
        parts = (file.relative_to(self.root).with_suffix("").parts for file in files)
        return tuple(sorted(".".join(each[:-1] if each[-1] == "__init__" else each) for each in parts))

    def fingerprint_of_package(self, package: str) -> str:
        """Return a hash of all code of a package, and of the names of its modules."""
        modules = self.modules(package)
        return hashlib.sha256("|".join([self.fingerprint(modules), *modules]).encode()).hexdigest()[:16]

    def fingerprint_of_solver(self, name: str) -> str:
        """Return a hash of the code reached from a solver's module and from the driver."""
        return self.fingerprint((f"solvers.{get(name).module}", "solvers.driver"), without=_NOT_MEASURED)

    def fingerprint(self, modules: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
        """Return a hash, 16 hex digits, of modules and of all definitions that they reach.

        Packages, modules and definitions in ``without`` are excluded, with everything reached only through
        them. A module that does not exist raises ValueError.
        """
        todo = [(name, k) for name in modules for k in range(len(self._module(name).statements))]
        seen: set[Place] = set()
        lines = set()
        while todo:
            here = todo.pop()
            if here not in seen:
                seen.add(here)
                line, reached = self._reached(*here, without)
                lines.add(line)
                todo.extend(reached)
        self._keep()
        return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]

    def _find_reached(self, module: str, k: int, without: tuple[str, ...]) -> tuple[str, list[Place]]:
        """Return a statement with the code of the names it uses, and the statements that it reaches."""
        statements = self._module(module).statements
        # Statements other than definitions run when their module is imported.
        reached = [(module, j) for j, each in enumerate(statements) if not each.defines]
        meant = []
        for used in statements[k].uses:
            for found in self._meanings(module, used, without):
                meant.append(f"{used.rpartition('.')[2]} {self._module(found[0]).statements[found[1]].code}")
                reached.append(found)
        return " ".join([statements[k].code, *sorted(meant)]), reached

    def _find_meanings(self, module: str, used: str, without: tuple[str, ...]) -> list[Place]:
        """Return the statements that a name used in a module (see `_uses`) may refer to."""
        first, _, rest = used.partition(".")
        found = [] if rest else list(self._bindings(module).get(first, []))
        for place, name in self._module(module).imports.get(first, []):
            dotted = _dotted(place, name)
            if any(f"{dotted}.{rest}".startswith(f"{each}.") for each in without):
                continue
            if self._file(dotted) is None:
                found += self._meanings(place, name, without)
            elif rest:
                found += self._meanings(dotted, rest, without)
            else:  # the module itself is used as an object
                found += [(dotted, k) for k in range(len(self._module(dotted).statements))]
        return found

    def _find_bindings(self, module: str) -> dict[str, list[Place]]:
        """Return the names that a module binds, with the statements that bind them."""
        bound: dict[str, list[Place]] = {}
        for k, each in enumerate(self._module(module).statements):
            for name in each.binds:
                bound.setdefault(name, []).append((module, k))
        return bound

    def _find_file(self, name: str) -> Path | None:
        """Return the file of a module, or None if there is no such module."""
        path = self.root.joinpath(*name.split("."))
        return next(filter(Path.is_file, (path / "__init__.py", path.with_suffix(".py"))), None)

    def _read_module(self, name: str) -> Module:
        """Return the parsed content of a module.

        Parsing all modules takes half a second, for which every step of a workflow would have to wait. The
        result is therefore cached beside the compiled modules, under the hash of that source and of this
        file.
        """
        file = self._file(name)
        if file is None:
            raise ValueError(f"there is no module {name!r} in {_PROJECT}")
        text = file.read_bytes()
        stamp = hashlib.sha256(text + _reader()).hexdigest()
        memory = self._kept(file.parent)
        with suppress(LookupError, TypeError):  # no entry, or a damaged one
            kept = memory[file.name]
            if kept["source"] == stamp:
                return Module([Statement(*each) for each in kept["statements"]], kept["imports"])
        module = self._parse(ast.parse(text), name if file.stem == "__init__" else name.rpartition(".")[0])
        memory[file.name] = {"source": stamp, **module._asdict()}
        self._changed.add(file.parent)
        return module

    def _parse(self, tree: ast.Module, package: str) -> Module:
        """Return the content of a parsed module; docstrings and imports are removed from the tree."""
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
        for each in statements:
            each.uses[:] = [name for name in each.uses if name.partition(".")[0] in known]
        return Module(statements, imports)

    def _kept(self, folder: Path) -> dict[str, Any]:
        """Return the cached content of a folder's modules, by file; empty if the cache cannot be read."""
        if folder not in self._memories:
            self._memories[folder] = {}
            with suppress(OSError, ValueError, TypeError):
                self._memories[folder] = dict(json.loads((folder / _MEMORY).read_text(encoding="utf-8")))
        return self._memories[folder]

    def _keep(self) -> None:
        """Write the caches, if they can be written and Python may write bytecode."""
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
    """Return the names of this project that an import binds, with the module and name each refers to."""
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
    """Removes docstrings and imports, and replaces ``module.name`` of this project by ``name``."""

    def __init__(self, modules: set[str]) -> None:
        self.modules = modules

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the children; a body left empty becomes ``pass``."""
        super().generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If) and not node.body:
            node.body = [ast.Pass()]
        return node

    def visit_Import(self, node: ast.Import) -> None:
        """Remove it."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Remove it."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Remove docstrings and other bare constants."""
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Drop the local name of a module that is used as an object."""
        return ast.Name("_", node.ctx) if node.id in self.modules else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace ``module.name`` by ``name`` for modules of this project."""
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return ast.Name(node.attr, node.ctx)
        return self.generic_visit(node)


def _binds(node: ast.AST) -> list[str]:
    """Return the names that a module-level statement binds."""
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
    """Return the names a statement uses: ``name``, ``alias.name``, ``alias.`` for a module as an object."""
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
