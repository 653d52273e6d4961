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


def find(folder: Path | None) -> None:
    """Import ``svmrepro`` from the clone of which ``folder`` is the folder ``workflow``; None: no clone."""
    root = folder.resolve().parent if folder else None
    if root is None or not (root / "solvers" / "__init__.py").is_file():
        sys.exit("error: svmrepro is not installed here: pip install svmrepro, or use a clone of it")
    package = ModuleType("svmrepro")
    package.__path__ = [str(root)]
    sys.modules["svmrepro"] = package


if __name__ == "__main__":
    find(Path(__file__).parent)
    # The folder of this file, put there by Python, holds modules of names as common as `files`.
    sys.path[0] = str(Path.cwd())
    runpy.run_module(f"svmrepro.workflow.steps.{sys.argv.pop(1)}", run_name="__main__", alter_sys=True)
