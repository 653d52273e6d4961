"""
Fingerprints of the code that makes results; a result whose fingerprint changes is out of date.

What decides that a problem is measured again is `svmrepro.workflow.configuration.jobs.Instance.key`, which
includes the fingerprints of its solvers. `svmrepro.solvers.source_code` computes those of this project's.

Snakemake compares files and parameters, not imported code. Each kind of job therefore carries a fingerprint
of the source that it runs as a parameter: solvers by name for measurements, modules of the workflow for the
steps that analyse. Nothing is imported for it: names are followed in the source.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from svmrepro.workflow.errors import StepError

_REGISTRY = Path(__file__).resolve().parent.parent / "datasets" / "registry" / "registry.yaml"


@cache
def solver_fingerprint(solver: str) -> str:
    """
    Hash the source of a solver.

    Parameters
    ----------
    solver
        A name of ``SOLVERS``, or ``package.module:function`` of a user's own: then every Python file of its
        top-level package (or its one module) counts.

    Returns
    -------
    str
        16 hexadecimal digits.

    Raises
    ------
    StepError
        If a user's module is not to be found.
    """
    if ":" not in solver:
        from svmrepro.solvers import fingerprint

        return fingerprint(solver)
    top = solver.partition(":")[0].partition(".")[0]
    spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
    if spec is None:
        with suppress(ValueError):
            spec = find_spec(top)  # knows what is installed editable
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise StepError(f"there is no module {top!r} on the Python path")
    if spec.submodule_search_locations:
        files = [file for place in spec.submodule_search_locations for file in Path(place).rglob("*.py")]
    else:
        files = [Path(str(spec.origin))]
    return _hash(files)


@cache
def step_fingerprint(*modules: str) -> str:
    """
    Hash the source of a step and of all that it reaches in this project, the solvers left out.

    Parameters
    ----------
    *modules
        The step's module and others that it loads by name, such as ``steps.plot`` and ``figures.loglog``.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    from svmrepro.solvers.source_code import source

    # Solvers have their own fingerprints, by name.
    return source().fingerprint(tuple(f"workflow.{module}" for module in modules), without=("solvers",))


@cache
def registry_fingerprint() -> str:
    """Hash the registry of data sets: a new source or checksum is a reason to try again."""
    return _hash([_REGISTRY])


@cache
def templates_fingerprint() -> str:
    """Hash the templates and styles of HTML pages."""
    return _hash(list((Path(__file__).resolve().parent / "templates").iterdir()))


@cache
def compiled_key() -> str:
    """
    Name the folder of compiled code.

    numba's own cache does not notice that a function in another module changed, so that its folder is named
    by the source of all solvers and by the versions that compiled it.

    Returns
    -------
    str
        A folder name.
    """
    from svmrepro.solvers import fingerprint_all

    versions = [metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    text = "|".join([fingerprint_all(), *versions, platform.python_version(), platform.machine()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compiled_dir() -> Path:
    """
    Return the folder of compiled code: ``.numba/<key>``, or ``$NUMBA_CACHE_DIR/<key>`` where that is set.

    Returns
    -------
    Path
        It may not exist yet. A process that was given this folder as its ``NUMBA_CACHE_DIR`` gets the same.
    """
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or ".numba").absolute()
    return folder if folder.name == compiled_key() else folder / compiled_key()


def digest(value: object) -> str:
    """
    Hash plain data, whatever the order of its keys.

    Parameters
    ----------
    value
        Anything that JSON can hold.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
