"""No two classes of the project share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def classes(folder: str) -> dict[str, list[str]]:
    """Return class name -> modules that define it, for a package's folder."""
    found = defaultdict(list)
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("folder", ["solvers", "datasets", "workflow"])
def test_a_package_has_classes(folder: str) -> None:
    assert classes(folder)


def test_no_two_classes_have_one_name() -> None:
    merged = defaultdict(list)
    for folder in ("solvers", "datasets", "workflow"):
        for name, modules in classes(folder).items():
            merged[name] += modules
    assert not {name: modules for name, modules in merged.items() if len(modules) > 1}
