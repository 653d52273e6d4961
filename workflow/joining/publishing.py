"""Packs a run: results, machine and a description in the form of an RO-Crate (version 1.1)."""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from svmrepro.workflow.analysis.runs import read_runs
from svmrepro.workflow.configuration import Config, as_called, paths
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.judgement.reference_check import machine_identity, machine_records

CRATE, MACHINE = "ro-crate-metadata.json", "machine.json"

_CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def files_of(config: Config) -> dict[str, bytes]:
    """Return the files of a published run by their names in the archive.

    They are measurements (CSV and Parquet), fits, ratios, tables and figures of each paper that has been
    measured, the last check, the machine, and the crate's metadata. A run without measurements is a
    StepError.
    """
    found: dict[str, Path] = {}
    measured = []
    for name, paper in config.papers.items():
        joined = [paths.measurements(config, name), paths.fits(config, name), paths.ratios(config, name)]
        if not joined[0].is_file():
            continue
        measured.append(joined[0])
        every = [*joined, *(path.with_suffix(".parquet") for path in joined)]
        for artefact in paper.artefacts.values():
            make = paths.table if artefact.form == "table" else paths.figure
            every += make(config, name, artefact.name).values()
        found |= {f"{name}/{path.name}": path for path in every if path.is_file()}
    if not measured:
        scale = "" if config.scale == "default" else f" --scale {config.scale}"
        what = f"nothing to publish: {paths.results(config)} has no measurements; `./run{scale}` makes them"
        raise StepError(as_called(what))
    if paths.check(config).is_file():
        found["check.json"] = paths.check(config)
    try:
        files = {name: path.read_bytes() for name, path in found.items()}
    except OSError as error:
        raise StepError(one_line(error)) from error
    runs = read_runs(measured)
    machine = {"identity": machine_identity(runs), "machines": machine_records(runs)}
    files[MACHINE] = _json(machine)
    times = sorted(filter(None, (run.fields.get("time", "") for run in runs.runs)))
    files[CRATE] = _json(crate(config, files, times[-1] if times else ""))
    return files


def crate(config: Config, files: Mapping[str, bytes], measured: str) -> dict[str, Any]:
    """Return the metadata of an RO-Crate with the given files."""
    papers = [name for name in config.papers if any(file.startswith(f"{name}/") for file in files)]
    software = {
        "@id": "#svmrepro",
        "@type": "SoftwareApplication",
        "name": "svmrepro",
        "version": metadata.version("svmrepro"),
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"svmrepro, {config.scale} scale: {', '.join(papers)}",
        "description": "Measured runs of solvers for support vector machines, with certificates and verdicts",
        "datePublished": measured[:10],
        "license": {"@id": "https://spdx.org/licenses/MIT"},
        "hasPart": [{"@id": name} for name in sorted(files)],
        "mentions": [{"@id": "#run"}],
    }
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"measurements of the {config.scale} scale",
        "instrument": {"@id": "#svmrepro"},
        "endTime": measured,
        "result": {"@id": "./"},
    }
    descriptor = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    parts = [
        {
            "@id": name,
            "@type": "File",
            "contentSize": str(len(content)),
            "encodingFormat": _KINDS.get(Path(name).suffix)
            or mimetypes.guess_type(name)[0]
            or "application/octet-stream",
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for name, content in sorted(files.items())
    ]
    return {"@context": _CONTEXT, "@graph": [descriptor, root, run, software, *parts]}


_KINDS = {
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
}


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
