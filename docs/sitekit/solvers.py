"""The solvers: their registry as a table, and the docstrings of their modules."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator

from svmrepro.solvers import SOLVERS

from sitekit.site_links import Texts

#: Modules that are described with the names of the package.
_ELSEWHERE = {"__init__", "sklearn_classifier", "kernel", "problem", "registry", "solution"}

_LITERAL = re.compile(r"(``.*?``)")
_OWN_NAME = re.compile(r":(?:class|data|func):`([^`.~]+)`")
_ITEM = re.compile(r"[-*] |\d+\. ")


def solver_table() -> str:
    """Return one line a solver: its name, what it is, what it needs, its options."""
    lines = ["| name | what | needs | options |", "| --- | --- | --- | --- |"]
    for name, solver in SOLVERS.items():
        options = ", ".join(f"`{key}={value!r}`" for key, value in solver.options.items())
        link = f"{{py:mod}}`{name} <svmrepro.solvers.{solver.module}>`"
        lines.append(f"| {link} | {solver.description} | {', '.join(solver.needs)} | {options} |")
    return "\n".join(lines)


def constant(name: str) -> str:
    """Return the names in a public tuple or mapping, as code."""
    module, _, own = name.rpartition(".")
    return ", ".join(f"``{each}``" for each in getattr(importlib.import_module(module), own))


def algorithm_modules(texts: Texts) -> str:
    """Return the docstrings of the solvers' own modules, in the order of the registry."""
    modules = dict.fromkeys(solver.module for solver in SOLVERS.values())
    return "\n\n".join(_module(texts, name) for name in modules)


def other_modules(texts: Texts) -> str:
    """Return the docstrings of the modules that solvers share."""
    own = {solver.module for solver in SOLVERS.values()} | _ELSEWHERE
    folder = texts.root / "solvers"
    parts = sorted(file.relative_to(folder).with_suffix("").parts for file in folder.rglob("*.py"))
    names = [".".join(each) for each in parts if each[-1] != "__init__"]
    return "\n\n".join(_module(texts, name) for name in names if name not in own)


def _module(texts: Texts, name: str) -> str:
    """Return a module's docstring; the file is read, not imported, since importing compiles its code."""
    file = texts.root.joinpath("solvers", *name.split(".")).with_suffix(".py")
    texts.read.add(file)
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    title, _, text = words.partition("\n")
    users = ", ".join(f"`{solver.name}`" for solver in SOLVERS.values() if solver.module == name)
    lines = [
        f"### {title.rstrip('.')}",
        "",
        "```{eval-rst}",
        f".. py:module:: svmrepro.solvers.{name}",
        "```",
        "",
    ]
    lines += [f"`svmrepro.solvers.{name}`" + (f", solvers {users}" if users else ""), ""]
    if text.strip():
        lines += ["````{eval-rst}", *_with_formulae(text.strip("\n")), "````"]
    return "\n".join(lines)


def _with_formulae(text: str) -> Iterator[str]:
    """Yield the lines of a docstring as reStructuredText that keeps the layout of indented formulae."""
    last, before = ".", ""  # the last line that is not empty (at first the title), and the line before
    for line in text.splitlines():
        indented = line.startswith("    ")
        if indented and not before and last[:1].strip() and not last.endswith("::") and not _ITEM.match(last):
            yield "::"
            yield ""
        if not indented:
            # A name of the module itself has no page, and bars are not substitutions here.
            line = _OWN_NAME.sub(r"``\1``", line)
            line = "".join(
                piece if place % 2 else piece.replace("|", r"\|")
                for place, piece in enumerate(_LITERAL.split(line))
            )
        yield line
        last, before = line or last, line
