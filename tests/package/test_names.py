"""No two classes of the project share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(list)
    for folder in ("solvers", "datasets", "workflow"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(str(path.relative_to(ROOT)))
    assert {"Problem", "ExampleSet", "Config"} <= set(found)
    assert not {name: modules for name, modules in found.items() if len(modules) > 1}
