"""Which lines count as compiled, and their share."""

from __future__ import annotations

import ast
from pathlib import Path

import coverage
import measure
import pytest


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


def test_the_share_is_of_the_lines_of_one_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "solvers").mkdir()
    some, other = tmp_path / "solvers" / "some.py", tmp_path / "solvers" / "other.py"
    some.write_text("a = 1\nif a:\n    a = 2\n\ndef f():\n    return a\n\nf = njit(f)\n")
    other.write_text("a = 1\n\n@njit\ndef f():\n    b = a\n    return b\n")
    for name in ("one", "two"):
        data = coverage.CoverageData(basename=str(tmp_path / f"{name}.process"))
        data.add_lines({str(some): [1, 2, 5, 6], str(other): [1, 3, 4, 5]})
        data.write()
    assert measure.report("interpreted", tmp_path / "one", False) == pytest.approx(100.0 * 7 / 9)
    assert measure.report("compiled", tmp_path / "two", True) == pytest.approx(50.0)
