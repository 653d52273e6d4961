"""Writes working skeletons of a solver, a data set or a paper, from the templates in ``skeletons/``.

A template's path says where its file goes: ``NAME`` stands for the name, ``PACKAGE`` for the name as a Python
package.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from svmrepro import datasets
from svmrepro.solvers import SOLVERS
from svmrepro.workflow.configuration import as_called, config_dir
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_write

TEMPLATES: Final = Path(__file__).resolve().parent / "skeletons"

NEXT: Final = {
    "solver": (
        "./run pip install --no-deps --no-build-isolation -e {name}",
        "./run pytest {name}",
        "./run bench --solver {name} --data twonorm-generated",
        "./run peers --configfile {name}/experiment.yaml",
    ),
    "dataset": (
        "./run pytest {name}",
        "./run --configfile {name}/{name}.yaml",
        "./run bench --data {name}/train.csv --label class --labels no:-1,yes:1",
    ),
    "paper": ("./run {name} --dry-run", "./run {name}"),
}
"""Next commands in a clone, by kind of skeleton."""


def next_commands(kind: str, name: str) -> list[str]:
    """Return the next commands, as they can be called here."""
    commands = [as_called(line.format(name=name)) for line in NEXT[kind]]
    if commands[0].startswith("pip install"):
        # A clone's environment has the tools that build and test a package; another one may not.
        commands[0] = commands[0].replace(" --no-build-isolation", "")
        commands.insert(1, "pip install pytest")
    return commands


def write(kind: str, name: str, folder: Path) -> list[Path]:
    """Write a skeleton below a folder, usually the root of the clone; return its files.

    If the name cannot be used or is taken, or a file exists, nothing is written; after an error nothing is
    left.
    """
    check_name(kind, name)
    words = {"name": name, "package": name.replace("-", "_")}
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES / kind), undefined=StrictUndefined, keep_trailing_newline=True
    )
    files = {}
    for template in sorted((TEMPLATES / kind).rglob("*.j2")):
        place = template.relative_to(TEMPLATES / kind)
        target = str(place).removesuffix(".j2").replace("NAME", name).replace("PACKAGE", words["package"])
        files[folder / target] = environment.get_template(place.as_posix()).render(words)
    existing = sorted(path for path in files if path.exists())
    if existing:
        raise StepError(f"{existing[0]} exists already; choose another name")
    _refuse_installed(name)  # after that: what `new` wrote may be installed
    new = {next(each for each in (*reversed(path.parents), path) if not each.exists()) for path in files}
    try:
        for path, text in files.items():
            atomic_write(path, text)
        if kind == "dataset":
            _make(folder / name / "make.py")
    except BaseException:  # also Ctrl-C
        for place in new:
            if place.is_dir():
                shutil.rmtree(place, ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
        raise
    return [*files, *sorted((folder / name).glob("*.csv"))]


def _make(program: Path) -> None:
    """Run the program that makes the files of a data set; if it fails, a StepError has its last line."""
    made = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    if made.returncode:
        last = made.stderr.strip().rpartition("\n")[2]
        raise StepError(f"{program}: {last or f'exit code {made.returncode}'}")


def check_name(kind: str, name: str) -> None:
    """Raise a StepError if a name cannot be used or is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > 50:
        raise StepError(f"{name!r} is not a valid name: small letters, digits and single '-', a letter first")
    taken = {
        "solver": [*SOLVERS, "svmrepro"],
        "dataset": [*datasets.names(), *_papers()],
        "paper": _papers(),
    }[kind]
    package = name.replace("-", "_")
    reserved = ("solvers", "datasets", "workflow", "tests", "config", "docs", "test")
    if name in taken or package in reserved or package in sys.stdlib_module_names:
        raise StepError(f"the name {name!r} is taken; choose another")
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        raise StepError(f"the name {name!r} is a word of Python; choose another")


def _refuse_installed(name: str) -> None:
    """Raise a StepError if an installed package has the name, whose place a new one would take."""
    found = importlib.util.find_spec(name.replace("-", "_"))
    if found is not None and found.origin is not None:  # None: a mere folder
        raise StepError(f"the name {name!r} is that of an installed package ({found.origin}); choose another")


def _papers() -> list[str]:
    return [path.stem for path in (config_dir() / "experiments").glob("*.yaml")]
