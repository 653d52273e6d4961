"""RO-Crate metadata of a run's results: the command ``crate``.

The crate follows the profile Process Run Crate: one action, which this software performed on the data sets,
and whose results are the raw measurements; the tables are described beside them.
"""

from __future__ import annotations

import json
import mimetypes
from pathlib import Path
from typing import Any

import pandas as pd
from svmrepro.workflow.analysis.columns import LICENCE
from svmrepro.workflow.analysis.number_text import plural
from svmrepro.workflow.configuration import as_called
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_write

METADATA = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
MEASUREMENTS = "measurements.parquet"

_VERSION = "machine.versions.svmrepro"
_MACHINE = {
    "machine.cpu": "processor",
    "machine.cores": "cores",
    "machine.os": "operating system",
    "machine.python": "Python",
    "machine.blas": "BLAS",
    "machine.versions.numpy": "NumPy",
    "machine.versions.numba": "numba",
}
"""Column of the measurements -> name of a property of the run's environment."""

_KINDS = {
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown",
    ".jsonl": "application/jsonl",
}


def run(folder: Path) -> int:
    """Write ``ro-crate-metadata.json`` into a folder with ``<paper>/measurements.parquet``."""
    try:
        from rocrate.model.contextentity import ContextEntity
        from rocrate.rocrate import ROCrate
    except ImportError:
        raise StepError(
            as_called("not installed: rocrate (extra crate); `./run pip install rocrate`")
        ) from None
    measured = sorted(folder.glob(f"*/{MEASUREMENTS}"))
    if not measured:
        raise StepError(f"{folder}: no <paper>/{MEASUREMENTS} in it")
    runs = pd.concat([pd.read_parquet(path) for path in measured], ignore_index=True)
    runs = runs[runs["time"].notna()]
    scale, papers = runs["scale"].iloc[0], ", ".join(path.parent.name for path in measured)
    # The version of the specification on which the profile is based.
    crate = ROCrate(version="1.1")
    crate.name = f"svmrepro, {scale} scale: {papers}"
    crate.description = (
        "Measurements of training algorithms for support vector machines, and what follows from them."
    )
    crate.license = f"https://spdx.org/licenses/{LICENCE}"
    crate.datePublished = runs["time"].max()[:10]
    crate.root_dataset["conformsTo"] = crate.add(ContextEntity(crate, PROFILE, {"@type": "CreativeWork"}))

    def described(kind: str, name: str, **more: Any) -> Any:
        identifier = f"#{kind}-{name}".replace(" ", "-")
        return crate.add(ContextEntity(crate, identifier, {"@type": kind, "name": name, **more}))

    software = described(
        "SoftwareApplication",
        "svmrepro",
        softwareVersion=" and ".join(_values(runs, _VERSION)),
        version="commit " + ", ".join(_values(runs, "machine.commit")),
        license=crate.license,
    )
    environment = [
        described("PropertyValue", name, value=" and ".join(_values(runs, column)))
        for column, name in _MACHINE.items()
        if column in runs
    ]
    files = {path: _add(crate, folder, path) for path in sorted(folder.glob("*/*.*"))}
    action = crate.add_action(
        software,
        identifier="#run",
        object=[described("Dataset", name) for name in _values(runs, "dataset")],
        result=[files[path] for path in measured],
        properties={
            "name": f"measurement at the {scale} scale",
            "startTime": runs["time"].min(),
            "endTime": runs["time"].max(),
            "environment": [{"@id": each.id} for each in environment],
        },
    )
    crate.root_dataset["mentions"] = [action]
    atomic_write(folder / METADATA, json.dumps(crate.metadata.generate(), indent=1, sort_keys=True) + "\n")
    print(f"{folder / METADATA}: {plural(len(files), 'file')}, {plural(len(runs), 'measurement')}")
    return 0


def _add(crate: Any, folder: Path, path: Path) -> Any:
    """Add a file to a crate; return its entity."""
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    paper = path.parent.name
    said = f"raw measurements of {paper}" if path.name == MEASUREMENTS else f"{paper}: {path.stem}"
    name = path.relative_to(folder).as_posix()
    return crate.add_file(path, dest_path=name, properties={"name": said, "encodingFormat": kind})


def _values(runs: pd.DataFrame, column: str) -> list[str]:
    """Return the different values of a column as sorted texts."""
    return sorted(str(value) for value in runs[column].dropna().unique()) if column in runs else []
