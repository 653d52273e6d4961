"""Where runs are: the folders and archives that a page is made of."""

from __future__ import annotations

import re
from pathlib import Path

from svmrepro.workflow.archives import unpack
from svmrepro.workflow.configuration import as_called, scale_option
from svmrepro.workflow.configuration.paths import AGAIN, papers_in
from svmrepro.workflow.errors import StepError


def find_folders(project: Path) -> list[Path]:
    """Return the folders of all runs and references of a project, the latest run first."""
    results = project / "results"
    runs = [path for path in results.glob("*") if path.name != "reference" and _has_results(path)]
    runs.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [*runs, *sorted(path for path in (results / "reference").glob("*") if _has_results(path))]


def unfinished(place: Path) -> list[str]:
    """Say how to show each run at a place, or in it, that is omitted because nothing is finished."""
    said = []
    for run in (place, *sorted(place.glob("*"))):
        papers = sorted(path.name for path in (run / "journal").glob("*"))
        if papers and not _has_results(run):
            command = as_called(f"`./run{scale_option(run.name)} {papers[0]}`")
            said.append(f"{run} is left out: no experiment is finished; {command} goes on")
    return said


def expand(place: Path, unpacked: Path) -> list[tuple[Path, str]]:
    """Return the runs at a place, each with its name in addresses, or "" for that of its folder.

    The place is a run's folder, an archive of ``svmrepro publish``, or a folder with several of these.
    Archives are unpacked below `unpacked`.
    """
    if place.is_file() and place.suffix.lower() == ".zip":
        return [(unpack(place, unpacked), address(Path(place.stem)))]
    if not place.is_dir():
        raise StepError(f"{place} is neither a folder nor an archive of a run")
    if _has_results(place):
        return [(place, "")]
    # Left out: tables that were made again, archives unpacked for a comparison, and the papers of a run.
    inside = sorted(
        path
        for path in (*place.glob("*"), *place.glob("*/*"))
        if not re.match(rf"{AGAIN}$|{AGAIN}/|\.", path.relative_to(place).as_posix())
        and not (path.parent / "journal").is_dir()
        and _has_results(path)
        and not _has_results(path.parent)
    )
    archives = [run for path in sorted(place.glob("*.[zZ][iI][pP]")) for run in expand(path, unpacked)]
    if not inside and not archives:
        what = f"{place} holds no results of a run (no <paper>/claims.csv)"
        raise StepError(next(iter(unfinished(place)), what))
    return [*((path, "") for path in inside), *archives]


def address(folder: Path) -> str:
    """Return the name of a run's pages in addresses."""
    parts = [part for part in folder.parts[-2:] if part != "results"]
    return re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(parts)).strip("-.") or "run"


def whole_papers(folder: Path) -> list[str]:
    """Return the papers that can be compared: those of which everything was measured."""
    try:
        return papers_in(folder)
    except StepError:
        return []


def shown_papers(folder: Path) -> list[str]:
    """Return the whole papers, and those with some experiments, which have no verdicts."""
    begun = {path.parent.parent.name for path in folder.glob("*/*/runs")}
    return sorted(begun.union(whole_papers(folder) if begun else papers_in(folder)))


def _has_results(folder: Path) -> bool:
    try:
        return folder.is_dir() and bool(shown_papers(folder))
    except StepError:
        return False
