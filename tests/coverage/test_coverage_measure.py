"""Which lines count as compiled; a line counts only while its file is unchanged."""

from __future__ import annotations

import ast
import json
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
    # Except the same functions for another type, and the decorator itself.
    for path in sorted((measure.ROOT / "solvers").rglob("*.py")):
        if path.name in ("compiled.py", "_byte_rows.py", "_distance_rows.py", "conjugate.py"):
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


def test_lines_of_a_file_that_has_changed_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "FOLDER", tmp_path)
    step = measure.Step("tests/some/test_some.py")
    assert measure.lines_run([step], {"solvers/smo.py": "a"}) == {"solvers/smo.py": set()}
    data = coverage.CoverageData(basename=str(step.data))
    data.add_lines({str(measure.ROOT / name): [1, 2] for name in ("solvers/smo.py", "solvers/lru.py")})
    data.write()
    seen = {"solvers/smo.py": "a", "solvers/lru.py": "b", "arguments": ""}
    step.data.with_suffix(".json").write_text(json.dumps(seen))
    now = {"solvers/smo.py": "a", "solvers/lru.py": "changed"}
    assert measure.lines_run([step], now) == {"solvers/smo.py": {1, 2}, "solvers/lru.py": set()}
    assert measure.lines_run([measure.Step(step.file, ("other",))], now)["solvers/smo.py"] == set()


def test_the_share_is_of_the_lines_of_one_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "some.py").write_text("a = 1\nif a:\n    a = 2\n\ndef f():\n    return a\n\nf = njit(f)\n")
    (tmp_path / "other.py").write_text("a = 1\n\n@njit\ndef f():\n    b = a\n    return b\n")
    run = {"some.py": {1, 2, 5, 6}, "other.py": {1, 3, 4, 5}}
    assert measure.report("interpreted", run, False) == pytest.approx(100.0 * 7 / 9)
    assert measure.report("compiled", run, True) == pytest.approx(50.0)
