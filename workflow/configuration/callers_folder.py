"""Files that are named on the command line: relative to the folder in which `./run` was called.

`./run` changes to the root of the clone, where the workflow has its folders, and records where it was called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from svmrepro.workflow.configuration.model import ROOT

#: Environment variable with the folder in which `./run` was called.
VARIABLE = "SVMREPRO_CALLER"


def folder() -> Path:
    """Return the folder in which the command was called."""
    here = Path.cwd()
    # In any other folder, the variable was inherited from an earlier `./run`.
    return Path(os.environ.get(VARIABLE) or here).resolve() if here == ROOT else here


def expanded(path: str | os.PathLike[str]) -> str:
    """Return a path with the home folder in place of a leading ``~``, as in a shell."""
    return os.path.expanduser(path)  # noqa: PTH111  pathlib's raises an error for an unknown user


def input_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of an existing file, in the caller's folder or else in the root of the clone."""
    path = expanded(path)
    there = output_path(path)
    return there if there.exists() or not Path(path).exists() else Path(path)


def output_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that a command is asked to write: in the caller's folder if relative."""
    path = expanded(path)
    return Path(path) if folder() == Path.cwd() else folder() / path


def shown(path: Path) -> Path:
    """Return a file's path as valid in the caller's folder, given its path in this process's folder."""
    return path if folder() == Path.cwd() else path.absolute()


def make_importable(names: Iterable[str]) -> None:
    """Let this process and its steps import a user's solvers from the caller's folder, or as installed.

    Where all are installed, the folder is left out: it may be a checkout without the compiled extensions.
    """
    from svmrepro.solvers.user_functions import GROUP  # late: completion and help need none of it

    entries = (entry.name for entry in metadata.entry_points(group=GROUP))
    installed = {*metadata.packages_distributions(), *entries}
    if not {name.partition(":")[0].partition(".")[0] for name in names} <= installed:
        add_module_folder()


def add_module_folder(place: Path | None = None, *, last: bool = False) -> None:
    """Let this process and its steps import modules of a folder, by default the caller's.

    It is searched first, or with ``last`` after the folders that are searched already.
    """
    here = str(place or folder())
    handed_on = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    for found in (sys.path, handed_on):
        if not last:
            found[:] = [here, *(path for path in found if path != here)]
        elif here not in found:
            found.append(here)
    os.environ["PYTHONPATH"] = os.pathsep.join(handed_on)
