"""The configuration of a folder of results, if it can be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from svmrepro.workflow.configuration.loading import load_config
from svmrepro.workflow.configuration.model import Config, config_dir, read_config
from svmrepro.workflow.errors import StepError

RUNS = "runs.txt"
"""File that names the configuration of each run, in order, because times of files change in a copy."""


def config_of(folder: Path, scale: str, papers: Iterable[str]) -> Config | None:
    """Return the configuration of some results, or None if none can be read.

    It is the one that the last run left in the folder. A reference has none; this project's is used, at the
    ``scale`` or at its default. Papers in the folder that it lacks, because the last run did not measure
    them, are taken from the folder's older configurations, then from this project's.
    """
    found: Config | None = None
    lacking = set(papers)
    for config in _candidates(folder, scale, lacking):
        more = {name: paper for name, paper in config.papers.items() if name in lacking}
        found = config if found is None else replace(found, papers={**found.papers, **more})
        lacking -= config.papers.keys()
        if not lacking:
            break
    return found


def _candidates(folder: Path, scale: str, papers: Iterable[str]) -> Iterator[Config]:
    """Yield the configurations that can be read, the most fitting one first."""
    kept = folder / ".config"
    said = (kept / RUNS).read_text(encoding="utf-8", errors="replace") if (kept / RUNS).is_file() else ""
    runs = said.splitlines()
    last = {name: place for place, name in enumerate(runs)}
    files = [path for path in kept.glob("*.json") if not path.name.endswith(".overrides.json")]
    # Folders of earlier versions have no list of runs.
    for path in sorted(files, key=lambda path: (last.get(path.name, -1), path.stat().st_mtime), reverse=True):
        with suppress(StepError):  # written by another version
            yield read_config(path)
    known = {path.stem for path in (config_dir() / "experiments").glob("*.yaml")}
    for layer in ({"scale": scale}, {}):
        try:
            default = load_config(layer)
        except StepError:
            continue
        yield default
        if more := sorted(known.intersection(papers).difference(default.papers)):
            with suppress(StepError):
                yield load_config({**layer, "papers": more})
        return
