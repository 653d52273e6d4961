"""Reading the project's pages, and trying their instructions on a copy of the source tree."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support import PROJECT, ran
from svmrepro.workflow.configuration import config_dir, load_config

PACKAGES = ("solvers", "datasets", "workflow")


def papers() -> list[str]:
    """Return the published papers of the main job; other names in it, such as `peers`, have no claims."""
    return [name for name in load_config().papers if (config_dir() / "claims" / f"{name}.yaml").is_file()]


def text_of(page: str) -> str:
    """Return the text of a file of the project."""
    return (PROJECT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str, section: str | None = None) -> list[str]:
    """Return the fenced blocks of a page in one language, in order; with a section, only those in it."""
    found = []
    for part in re.split(r"^## ", text_of(page), flags=re.MULTILINE):
        if section in (None, part.partition("\n")[0]):
            found += re.findall(rf"^```{language}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return found


def the_block(page: str, language: str, section: str) -> str:
    """Return the only block of its language in a section."""
    (found,) = blocks(page, language, section)
    return found


def run(*command: object, **settings: Any) -> str:
    """Return the output of a command; fail with its error output."""
    done = ran(*command, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Tree:
    """A copy of the project that can be changed and run with its own code."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        for name in (*PACKAGES, "config", "profiles"):
            shutil.copytree(PROJECT / name, self.root / name)  # with bytecode, for speed
        shutil.copy(PROJECT / "Snakefile", self.root)
        # The packages by their dotted names, found before the installed ones.
        links = folder / "links"
        (links / "svmrepro").mkdir(parents=True)
        for name in PACKAGES:
            (links / "svmrepro" / name).symlink_to(self.root / name)
        path = [links, PROJECT / "tests", PROJECT / "tests" / "analysis"]
        self._environment = {key: value for key, value in os.environ.items() if key != "SVMREPRO_MIRROR"} | {
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "NUMBA_CACHE_DIR": str(folder / "numba"),
            # Git must not look at a repository that may contain the temporary folder.
            "GIT_CEILING_DIRECTORIES": str(folder),
        }

    def apply(self, section: str) -> None:
        """Apply the diff of a section of CONTRIBUTING.md; skip the test if there is no git."""
        if shutil.which("git") is None:
            pytest.skip("no git on this machine: the diffs of CONTRIBUTING.md cannot be applied")
        diff = the_block("CONTRIBUTING.md", "diff", section)
        for file, hunks in re.findall(r"^--- a/(\S+)\n\+\+\+.*\n((?:[@ +-].*\n|\n)*)", diff, re.MULTILINE):
            for hunk in re.split(r"^@@.*\n", hunks, flags=re.MULTILINE)[1:]:
                context = re.sub(
                    r"^ ", "", re.sub(r"^\+.*\n", "", hunk, flags=re.MULTILINE), flags=re.MULTILINE
                )
                assert text_of(file).count(context) == 1, f"{section}: where in {file} is\n{context}"
        run("git", "apply", "-", input=diff, cwd=self.root, env=self._environment)

    def python(self, *arguments: object) -> str:
        """Run Python on the copy, in its root; return its output."""
        return run(sys.executable, *arguments, cwd=self.root, env=self._environment)

    def check(self, code: str) -> str:
        """Run lines of Python on the copy; return their output."""
        return self.python("-c", code)
