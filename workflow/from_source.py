"""Makes ``svmrepro`` importable from a clone in which it is not installed; also runs a step of it.

    python workflow/from_source.py STEP [arguments]

The packages ``svmrepro.solvers``, ``svmrepro.datasets`` and ``svmrepro.workflow`` are the folders of the
clone. Installing the project links them; here a package made in memory does.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def find(folder: Path | None, origin: Any = None) -> None:
    """Import ``svmrepro`` from the clone of which ``folder`` is the folder ``workflow``.

    None is no clone; Snakemake has then fetched the workflow from ``origin``, which a message names.
    """
    root = folder.resolve().parent if folder else None
    if root is None or not (root / "solvers" / "__init__.py").is_file():
        sys.exit(f"error: svmrepro is not installed here: `pip install {_for_pip(origin)}` installs it")
    package = ModuleType("svmrepro")
    package.__path__ = [str(root)]
    sys.modules["svmrepro"] = package


def _for_pip(origin: Any) -> str:
    """Return what pip is to install: the repository, and its tag, of one of Snakemake's files."""
    if hasattr(origin, "host"):
        return f"git+https://{origin.host}/{origin.repo}@{origin.ref}"
    if hasattr(origin, "repo_path"):
        return f"git+file://{Path(origin.repo_path).resolve()}@{origin.ref}"
    return "path/to/clone"


if __name__ == "__main__":
    find(Path(__file__).parent)
    # The folder of this file, put there by Python, holds modules of names as common as `files`.
    sys.path[0] = str(Path.cwd())
    runpy.run_module(f"svmrepro.workflow.steps.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
