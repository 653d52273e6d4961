"""Only functions that numba compiles may lack annotations; mypy cannot tell them from others."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = {"compiled", "overload"}


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
    for path in sorted((ROOT / "solvers").rglob("*.py")):
        assert not unannotated(ast.parse(path.read_text(encoding="utf-8"))), path
