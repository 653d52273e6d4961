"""Check the types of all packages with mypy, strictly.

mypy has no option for a package in a folder of another name, such as ``svmrepro.solvers`` in ``solvers``.
So it is given every file with its module's name. Its other options are in pyproject.toml.
"""

from __future__ import annotations

import os
from pathlib import Path

from mypy import build, main
from mypy.modulefinder import BuildSource
from mypy.util import hard_exit

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("solvers", "datasets", "workflow")


def sources() -> list[BuildSource]:
    """Return the modules of all packages; paths are relative to the root."""
    files = [
        path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    ]
    names = [".".join(("svmrepro", *file.with_suffix("").parts)).removesuffix(".__init__") for file in files]
    # The package around them has no file.
    return [BuildSource(None, "svmrepro", ""), *map(BuildSource, map(str, files), names)]


def check() -> int:
    """Print all errors; return their number."""
    os.chdir(ROOT)
    _, options = main.process_options(list(PACKAGES))
    modules = sources()
    try:
        errors = build.build(modules, options).errors
    except build.CompileError as error:
        errors = error.messages
    print("\n".join(errors) or f"no type errors in {len(modules) - 1} files")
    return len(errors)


if __name__ == "__main__":
    # Freeing mypy's trees would take half as long again as making them.
    hard_exit(check() > 0)
