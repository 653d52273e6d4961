"""Which lines count as compiled, and their share."""

from __future__ import annotations

import ast

import measure


def test_bodies_of_compiled_functions_alone() -> None:
    text = """
@compiled(
    forceinline=True
)
def one(a):
    b = a
    return b

@njit
def two():
    return 2

@property
def three():
    return 3
"""
    assert measure.compiled_lines(text) == {6, 7, 11}


def test_nothing_is_compiled_but_by_a_decorator_that_is_seen() -> None:
    # Except the decorator itself, and the same functions for another type.
    for path in sorted((measure.ROOT / "solvers").rglob("*.py")):
        if path.name == "compiled.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        marks = [
            mark
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            for mark in node.decorator_list
        ]
        marks = [mark.func if isinstance(mark, ast.Call) else mark for mark in marks]
        seen = [mark for mark in marks if isinstance(mark, ast.Name) and mark.id in measure.COMPILERS]
        assert len(seen) == sum(name in measure.COMPILERS for name in names), path.name
        assert not {"jit", "vectorize", "guvectorize", "cfunc", "stencil", "jitclass"} & {*names}, path.name
