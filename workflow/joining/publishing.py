"""The files of a run to publish: results, machine, description as an RO-Crate; `archives` packs them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
from svmrepro.workflow.analysis.run_files import read_runs
from svmrepro.workflow.analysis.runs import Runs
from svmrepro.workflow.configuration import Config, as_called, load_config, paths, scale_option
from svmrepro.workflow.configuration.of_folder import config_of
from svmrepro.workflow.errors import StepError, one_line
from svmrepro.workflow.judgement.claims import read_verdicts
from svmrepro.workflow.judgement.reference_check import about, machine_identity, machine_records
from svmrepro.workflow.locks import lock
from svmrepro.workflow.result_files import sources
from svmrepro.workflow.result_files.parquet import typed
from svmrepro.workflow.site.run_folders import shown_papers
from svmrepro.workflow.steps import crate

MACHINE = "machine.json"


class _Check(msgspec.Struct):
    """What is read of the record of a check, by paper."""

    papers: dict[str, Any]
    claims: dict[str, Any]


def config_of_run(project: Config, papers: Sequence[str]) -> Config:
    """Return the configuration with which a run was made, for some of its papers or for all.

    The run left it in its folder, with its folder of figures. ``project`` is this project's own, with the
    folder of results. Unknown papers are a StepError, and so is a folder without any results.
    """
    folder, names = paths.results(project), list(papers)
    if not names and folder.is_dir():
        with suppress(StepError):  # no paper has any
            names = shown_papers(folder)
    if not names:
        make = f"`./run{scale_option(project.scale)}` makes them"
        raise StepError(as_called(f"nothing to publish: {folder} has no measurements; {make}"))
    found = config_of(folder, project.scale, names)
    known = found.papers if found else {}
    if strange := [name for name in names if name not in known]:
        layer = {"scale": project.scale, "papers": strange}
        known |= load_config([("the command line", layer)]).papers
    own = found if found and (folder / ".config").is_dir() else project
    return replace(project, papers={name: known[name] for name in names}, figures_dir=own.figures_dir)


def files_of(config: Config) -> dict[str, bytes]:
    """Return the files of a published run by their names in the archive.

    They are measurements (CSV and Parquet), fits, ratios, tables and figures of each paper that has been
    measured, a check of these measurements, the machine, and the crate's metadata. At least one paper has to
    be. A run in progress is a StepError, and so are tables and figures of other measurements.
    """
    folder = paths.results(config)

    def in_use(owner: str) -> None:
        raise StepError(f"{folder} is in use by the run of {owner}; publish it when that one has ended")

    # Where nothing can be written, no lock can be held, either.
    file = paths.run_lock_file(config)
    writable = os.access(file if file.exists() else folder, os.W_OK)
    with lock(file, in_use) if writable else nullcontext():
        return _files_of(config)


def _files_of(config: Config) -> dict[str, bytes]:
    found: dict[str, Path] = {}
    measured = []
    for name, paper in config.papers.items():
        joined = [paths.measurements(config, name), paths.fits(config, name), paths.ratios(config, name)]
        if not joined[0].is_file():
            continue
        measured.append(joined[0])
        every = [*joined, *(path.with_suffix(".parquet") for path in joined)]
        for artefact in paper.artefacts.values():
            every += paths.artefact(config, name, artefact).values()
        present = [path for path in every if path.is_file()]
        if old := sources.outdated(config, name, present):
            hint = "the command that made the run completes it"
            if old[0].is_relative_to(config.figures_dir):
                hint += ", and --figures names another folder of figures"
            raise StepError(
                f"{old[0]} is of other measurements than the run in {paths.results(config)}; {hint}"
            )
        found |= {f"{name}/{path.name}": path for path in present}
    runs = {path.parent.name: read_runs([path]) for path in measured}
    papers = {name: about(each) for name, each in runs.items()}
    judged = {
        name: read_verdicts(file) if (file := found.get(f"{name}/claims.csv")) else [] for name in papers
    }
    verdicts = {name: {row["id"]: row["verdict"] for row in rows} for name, rows in judged.items()}
    for partial in (True, False):
        if _is_check_of(papers, verdicts, file := paths.check(replace(config, partial=partial))):
            found["check.json"] = file
    try:
        files = {name: path.read_bytes() for name, path in found.items()}
    except OSError as error:
        raise StepError(one_line(error)) from error
    machines = machine_records(Runs(tuple(run for each in runs.values() for run in each.runs)))
    machine = {"identity": machine_identity(machines), "machines": machines}
    files[MACHINE] = (json.dumps(machine, indent=1, sort_keys=True) + "\n").encode()
    rows = pd.concat([typed(path.read_text(encoding="utf-8")) for path in measured], ignore_index=True)
    described = {
        name: {"contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    }
    files[crate.METADATA] = crate.metadata(rows, described).encode()
    return files


def _is_check_of(papers: Mapping[str, Any], verdicts: Mapping[str, Any], file: Path) -> bool:
    """Whether a file is the record of a check of runs of some of the papers, with these verdicts.

    `about` describes the runs.
    """
    with suppress(OSError, ValueError, RecursionError):
        checked = msgspec.json.decode(file.read_bytes(), type=_Check)
        return checked.papers.items() <= papers.items() and checked.claims.items() <= verdicts.items()
    return False
