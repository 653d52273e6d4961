"""Fingerprints of the code behind results. A result is out of date when its fingerprint changes.

Whether a problem is measured again depends on its `fingerprint`, in `svmrepro.workflow.configuration.jobs`,
which includes the fingerprints of its solvers. For this project's solvers, `svmrepro.solvers.source_code`
computes them.

Snakemake compares files and parameters, but not imported code. Each kind of job therefore has a parameter
with the fingerprint of the source that it runs: solvers by name for measurements, workflow modules for the
analysis. Fingerprints need no imports, because references are followed in the source text.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from svmrepro.workflow.errors import StepError

_COMPUTED = r"\b(__getattr__|globals|locals|vars|setattr|exec)\b"
"""What may give a module names that are not written in its source."""

_REGISTRY = Path(__file__).resolve().parent.parent / "datasets" / "registry" / "registry.yaml"


@cache
def solver_fingerprint(solver: str) -> str:
    """Hash the source of a solver: a name of ``SOLVERS``, or a user's ``package.module:function``.

    The latter is hashed with every Python file and compiled extension of its top-level package, or with its
    single module. A module, a function or a package's files that cannot be found raise a StepError.
    """
    if ":" not in solver:
        from svmrepro.solvers import fingerprint

        return fingerprint(solver)
    module, _, function = solver.partition(":")
    top, *inner = module.split(".")
    spec = None
    with suppress(ValueError):
        spec = find_spec(top)  # what an import would find, also editable installs
    if spec is None:
        spec = PathFinder.find_spec(top, [*sys.path, str(Path.cwd())])
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise StepError(f"there is no module {top!r} on the Python path")
    _check_function(spec, inner, function)
    if spec.submodule_search_locations:
        files = [
            file
            for place in spec.submodule_search_locations
            for pattern in ("*.py", "*.so", "*.dylib")
            for file in Path(place).rglob(pattern)
        ]
        if not files:  # as of meson-python's editable installs
            raise StepError(f"the files of package {top!r} cannot be found; install it without --editable")
    else:
        files = [Path(str(spec.origin))]
    return _hash(files)


def _check_function(spec: ModuleSpec, inner: Iterable[str], function: str) -> None:
    """Raise a StepError if a module within a package, or a name in its source, cannot be found.

    Nothing is imported, because user code may take long. A module that computes its names is trusted.
    """
    for name in inner:
        full, places = f"{spec.name}.{name}", spec.submodule_search_locations
        found = (finder.find_spec(full, places) for finder in sys.meta_path) if places is not None else ()
        inside = next(filter(None, found), None)
        if inside is None:
            place = spec.origin or next(iter(places or ()), "")
            raise StepError(f"there is no module {full!r} (in {place})")
        spec = inside
    if not spec.has_location or not str(spec.origin).endswith(".py"):
        return
    source = Path(str(spec.origin)).read_text(encoding="utf-8", errors="replace")
    if not re.search(rf"\b{re.escape(function)}\b|import\s*\*|{_COMPUTED}", source):
        raise StepError(f"module {spec.name!r} has no {function!r} (in {spec.origin})")


@cache
def package_of(solver: str) -> str | None:
    """Return name and version of the package that contains a solver, named as for `solver_fingerprint`.

    None for a solver of this project, a module outside any package, and a package that is not installed.
    """
    from svmrepro.solvers import SOLVERS
    from svmrepro.solvers.user_functions import find

    found = find(solver) if ":" in solver else SOLVERS[solver]
    return f"{found.package} {found.version}" if found.package and found.version else None


@cache
def warm_starts_fingerprint() -> str:
    """Hash the source of warm starts over a grid, without that of the solvers."""
    from svmrepro.solvers.source_code import source

    return source().fingerprint(("solvers.warm_starts",), without=("solvers.registry", "solvers.certificate"))


@cache
def step_fingerprint(*modules: str) -> str:
    """Hash the source of modules, such as ``steps.plot`` and ``figures.loglog``, and of all that they use.

    Solvers are left out, because they have fingerprints of their own.
    """
    from svmrepro.solvers.source_code import source

    return source().fingerprint(tuple(f"workflow.{module}" for module in modules), without=("solvers",))


@cache
def registry_fingerprint() -> str:
    """Hash the registry of data sets, so that a new source or checksum triggers another attempt."""
    return _hash([_REGISTRY])


@cache
def templates_fingerprint() -> str:
    """Hash the templates and styles of the HTML pages."""
    return _hash(list((Path(__file__).resolve().parent / "templates").iterdir()))


@cache
def compiled_key() -> str:
    """Return the name of the folder of compiled code.

    numba's cache does not notice changes in functions of other modules. The folder name therefore depends on
    the source of all solvers and on the versions of the compiling packages.
    """
    from svmrepro.solvers import fingerprint_all

    versions = [metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    text = "|".join([fingerprint_all(), *versions, platform.python_version(), platform.machine()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compiled_dir() -> Path:
    """Return the folder of compiled code: ``.numba/<key>``, or ``$NUMBA_CACHE_DIR/<key>`` if that is set.

    If ``NUMBA_CACHE_DIR`` is already this folder, it is returned unchanged.
    """
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or ".numba").absolute()
    return folder if folder.name == compiled_key() else folder / compiled_key()


def digest(value: object) -> str:
    """Hash plain data, independent of the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _hash(files: list[Path]) -> str:
    hashed = hashlib.sha256()
    for path in sorted(filter(Path.is_file, files)):  # an editor's lock is a link to no file
        hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:16]
