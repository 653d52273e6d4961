"""RO-Crate metadata of a run's results: the command ``crate``, and part of every published run.

The crate follows the profile Process Run Crate: one action, which this software performed on the data sets,
and whose results are the raw measurements; the tables are described beside them.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
from svmrepro.datasets.registry import registry
from svmrepro.workflow.analysis.run_files import FORM, REQUIRED
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.files import atomic_write
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.result_files.measurement_columns import LICENCE
from svmrepro.workflow.result_files.result_rows import read_rows

METADATA = "ro-crate-metadata.json"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
MEASUREMENTS = "measurements.parquet"

Entity = dict[str, Any]
"""An entity of the crate by its properties."""

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

_MEDIA_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown",
    ".jsonl": "application/jsonl",
}


def run(folder: Path) -> int:
    """Write ``ro-crate-metadata.json`` into a folder with ``<paper>/measurements.parquet``."""
    measured = sorted(folder.glob(f"*/{MEASUREMENTS}"))
    if not measured:
        raise StepError(f"{folder}: no <paper>/{MEASUREMENTS} in it")
    for path in measured:
        read_rows(path, (*REQUIRED, "paper", "scale", "dataset", "cpu_seconds", "time"), FORM)
    runs = pd.concat([pd.read_parquet(path) for path in measured], ignore_index=True)
    files = [path.relative_to(folder).as_posix() for path in sorted(folder.glob("*/*.*")) if path.is_file()]
    atomic_write(folder / METADATA, metadata(runs, {name: {} for name in files}))
    measurements = plural(int(runs["cpu_seconds"].notna().sum()), "measurement")
    print(f"{folder / METADATA}: {plural(len(files), 'file')}, {measurements}")
    return 0


def metadata(runs: pd.DataFrame, files: Mapping[str, Mapping[str, str]]) -> str:
    """Return the metadata of a crate as JSON; ``files`` may have properties besides their kind."""
    runs = runs[runs["cpu_seconds"].notna()]
    if runs.empty:
        raise StepError("no measurement was made, so there is nothing to describe")
    if len(scales := _values(runs, "scale")) != 1:
        raise StepError(f"measurements of one scale expected, not of {', '.join(scales) or 'none'}")
    scale, licence = scales[0], f"https://spdx.org/licenses/{LICENCE}"
    software = _entity(
        "SoftwareApplication",
        "svmrepro",
        softwareVersion=" and ".join(_values(runs, _VERSION)),
        version="commit " + ", ".join(_values(runs, "machine.commit")),
        license=licence,
    )
    environment = [
        _entity("PropertyValue", name, value=" and ".join(_values(runs, column)))
        for column, name in _MACHINE.items()
        if column in runs
    ]
    data = [_data_set(name) for name in _values(runs, "dataset")]
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"measurement at the {scale} scale",
        "startTime": runs["time"].min(),
        "endTime": runs["time"].max(),
        "instrument": _named(software),
        "environment": [*map(_named, environment)],
        "object": [*map(_named, data)],
        "result": [{"@id": name} for name in files if name.endswith(f"/{MEASUREMENTS}")],
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"svmrepro, {scale} scale: {', '.join(_values(runs, 'paper'))}",
        "description": (
            "Measurements of training algorithms for support vector machines, and what follows from them."
        ),
        "license": licence,
        "datePublished": runs["time"].max()[:10],
        "conformsTo": {"@id": PROFILE},
        "hasPart": [{"@id": name} for name in files],
        "mentions": [_named(action)],
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": _named(root),
        "conformsTo": {"@id": SPECIFICATION},
    }
    parts = [{**_file(name), **more} for name, more in files.items()]
    profile = {"@id": PROFILE, "@type": "CreativeWork"}
    graph = [root, descriptor, profile, software, *environment, *parts, *data, action]
    whole = {"@context": f"{SPECIFICATION}/context", "@graph": graph}
    return json.dumps(whole, indent=1, sort_keys=True) + "\n"


def _entity(kind: str, name: str, **more: str) -> Entity:
    return {"@id": f"#{kind}-{name}".replace(" ", "-"), "@type": kind, "name": name, **more}


def _data_set(name: str) -> Entity:
    """Describe a data set; a set that is not in the registry, such as a user's own, has a name only."""
    known = registry()
    if name in known.generated:
        return _entity("Dataset", name, description=known.generated[name].title)
    if name not in known.downloaded:
        return _entity("Dataset", name)
    entry = known.downloaded[name]
    urls = [source.url for file in entry.files.values() for source in file.sources]
    more = {"url": urls[0]} if urls else {}
    return _entity(
        "Dataset", name, description=entry.title, license=entry.licence, creditText=entry.citation, **more
    )


def _named(entity: Entity) -> Entity:
    return {"@id": entity["@id"]}


def _file(name: str) -> Entity:
    path = PurePosixPath(name)
    kind = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    said = f"{path.parent}: {path.stem}" if path.parent.name else path.stem
    said = f"raw measurements of {path.parent}" if path.name == MEASUREMENTS else said
    return {"@id": name, "@type": "File", "name": said, "encodingFormat": kind}


def _values(runs: pd.DataFrame, column: str) -> list[str]:
    """Return the different values of a column as sorted texts."""
    return sorted(str(value) for value in runs[column].dropna().unique()) if column in runs else []
