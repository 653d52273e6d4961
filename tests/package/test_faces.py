"""Importing any package is quick: what it exports compiles nothing and loads no large library."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGE = {
    "numba",
    "pandas",
    "matplotlib",
    "sklearn",
    "requests",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.io",
}


def faces() -> list[str]:
    """Return the packages that export names."""
    files = [
        path for floor in ("solvers", "datasets", "workflow") for path in (ROOT / floor).rglob("__init__.py")
    ]
    return [
        ".".join(("svmrepro", *path.parent.relative_to(ROOT).parts))
        for path in sorted(files)
        if any(isinstance(node, ast.ImportFrom) for node in ast.parse(path.read_text(encoding="utf-8")).body)
    ]


def test_faces_are_light() -> None:
    names = faces()
    assert {"svmrepro.solvers", "svmrepro.datasets", "svmrepro.workflow.configuration"} < set(names)
    program = f"import sys, {', '.join(names)}\nprint(*{LARGE} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
