"""The docstring of every package is the map of its modules, and CONTRIBUTING lists every package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [
    path.parent.relative_to(ROOT)
    for floor in ("solvers", "datasets", "workflow")
    for path in sorted((ROOT / floor).rglob("__init__.py"))
]


def test_contributing_lists_every_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `((?:solvers|datasets|workflow)/[\w/]*)` \|", text, re.M)
    # Named in the lines of the packages that hold them.
    inner = {
        "solvers/decomposition/svmlight/",
        "solvers/decomposition/threads/",
        "workflow/tables/layout/",
        "workflow/tables/permutations/",
    }
    assert sorted(listed) == sorted({f"{package}/" for package in PACKAGES} - inner)


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_the_map_names_every_module_once_and_nothing_else(package: Path) -> None:
    text = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    folder = ROOT / package
    rooms = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    rooms |= {path.parent.name + "/" for path in folder.glob("*/__init__.py")}
    # An entry is a name or two at the beginning of a line, and two spaces or more.
    lines = re.findall(r"^([\w/]+(?:, [\w/]+)*)  +\S", text, re.M)
    entries = [name for line in lines for name in line.split(", ")]
    # A map may also name a folder without modules, such as ``templates/``.
    assert sorted(rooms) == sorted(name for name in entries if name in rooms or not (folder / name).exists())
