"""Reading the project's pages, and trying what they say on a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent
FLOORS = ("solvers", "datasets", "workflow")
# Where modules that other tests share lie.
SUPPORT = (PROJECT / "tests" / "solvers", PROJECT / "tests" / "analysis")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: its language, its text, and the section that it stands in."""

    language: str
    text: str
    section: str


def blocks(page: str, language: str | None = None, section: str | None = None) -> list[Block]:
    """Return the fenced blocks of a page, in order; of one language or section if given."""
    text = (PROJECT / page).read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        headings = _HEADING.findall(text[: match.start()])
        found.append(Block(match[1], match[2], headings[-1] if headings else ""))
    return [
        block for block in found if language in (None, block.language) and section in (None, block.section)
    ]


def the_block(page: str, language: str, section: str) -> str:
    """Return the text of the only block of its language in a section."""
    (block,) = blocks(page, language, section)
    return block.text


class Tree:
    """A copy of the project that can be changed, and run with its own code."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        unwanted = shutil.ignore_patterns("__pycache__")
        for name in (*FLOORS, "config", "profiles"):
            shutil.copytree(PROJECT / name, self.root / name, ignore=unwanted)
        shutil.copy(PROJECT / "Snakefile", self.root)
        # The packages by their dotted names, found before the installed ones.
        self._links = folder / "links"
        (self._links / "svmrepro").mkdir(parents=True)
        for name in FLOORS:
            (self._links / "svmrepro" / name).symlink_to(self.root / name)
        self._cache = folder / "numba"

    def apply(self, section: str) -> None:
        """Apply the diff of a section of CONTRIBUTING.md; skip the test where there is no git."""
        if shutil.which("git") is None:
            pytest.skip("no git on this machine: the diffs of CONTRIBUTING.md cannot be applied")
        patch = the_block("CONTRIBUTING.md", "diff", section)
        # Not even the repository that the temporary folder may lie in takes part.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.root.parent)}
        done = subprocess.run(
            ["git", "apply", "-"],
            input=patch,
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"the diff of {section!r} no longer fits the tree: {done.stderr}"

    def python(self, *arguments: str) -> str:
        """Run Python on the copy, in its root; return what it prints, or fail with what it complains of."""
        path = [str(self._links), *map(str, SUPPORT)]
        environment = {key: value for key, value in os.environ.items() if key != "SVMREPRO_MIRROR"}
        environment |= {"PYTHONPATH": os.pathsep.join(path), "NUMBA_CACHE_DIR": str(self._cache)}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
