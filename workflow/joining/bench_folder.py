"""The folder of a bench: its name, and checks that no other files are overwritten in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from svmrepro import datasets
from svmrepro.workflow.configuration import callers_folder, config_dir
from svmrepro.workflow.errors import StepError

MARK = Path("config", "experiments", "bench.yaml")
"""File by which the folder of a bench is recognised; it is written before the rest of the configuration."""

_PAPER = b"paper: bench"

_DATA = "# data: "
"""Beginning of the line of `MARK` that lists the data, as JSON."""

_FIRST = ("own", "arrays")
"""Folders of NPZ files, which are written before `MARK`."""


def folder_of(data: Sequence[str | Path], output: str | Path | None = None) -> Path:
    """Return the folder of a bench: the requested one, or one named after the data.

    A folder that holds something else, or a bench of other data, is a StepError.
    """
    if output is None:
        joined = "-".join(Path(name).stem for name in data) or "generated"
        named = re.sub(r"[^A-Za-z0-9._-]+", "-", joined)[:60].strip("-.") or "data"
        folder = Path("bench") / named
    elif str(output):
        folder = callers_folder.output_path(output)
    else:
        raise StepError("--output: is empty; name a folder")
    if folder.exists() and not folder.is_dir():
        raise StepError(f"--output: {folder} is a file; name an empty folder, or that of an earlier bench")
    if foreign := _foreign(folder):
        raise StepError(
            f"--output: {folder} holds files that no bench made ({foreign}); "
            "name an empty folder, or that of an earlier bench"
        )
    if output is not None or _all_there(data):
        refuse_other_data(folder, data)
    return folder


def refuse_other_data(folder: Path, data: Sequence[str | Path]) -> None:
    """Raise a StepError if a folder holds a bench of other data."""
    if other := _other_data(folder, data):
        raise StepError(f"--data: {folder} holds a bench of {other}; name another folder by -o")


def data_line(data: Sequence[str | Path]) -> str:
    """Return the line of `MARK` that lists the data."""
    return f"{_DATA}{json.dumps(_places(data))}\n"


def _foreign(folder: Path) -> str:
    """Return a file or folder that no bench made; "" if there is none."""
    settings = Path("config", "config.yaml")
    if (folder / "config").resolve() == config_dir().resolve():
        return str(settings)
    if not folder.exists() or _PAPER in _lines(folder / MARK):
        return ""
    if (folder / settings).exists():
        return str(settings)
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        inner = sorted(path.iterdir()) if path.name in _FIRST and path.is_dir() else [path]
        for each in inner:
            if each.suffix != ".npz" or each.parent == folder:
                return str(each.relative_to(folder))
    return ""


def _other_data(folder: Path, data: Sequence[str | Path]) -> str:
    """Return existing data of the bench in the folder that are not among these; "" if there are none."""
    told = next((line for line in _lines(folder / MARK) if line.startswith(_DATA.encode())), None)
    try:
        before = msgspec.json.decode(told.removeprefix(_DATA.encode()), type=list[str]) if told else []
    except ValueError:
        raise StepError(f"{folder / MARK}: the list of data is damaged; name another folder by -o") from None
    here = [*_places(data), *(str((folder / "arrays" / f"{name}.npz").resolve()) for name in data)]
    lost = [each for each in before if Path(each).is_absolute() and not Path(each).is_file()]
    return next((each for each in before if each not in [*here, *lost]), "")


def _all_there(data: Sequence[str | Path]) -> bool:
    """Tell whether all data can be found; if not, that error comes first."""
    return all(callers_folder.input_path(name).is_file() or str(name) in datasets.names() for name in data)


def _places(data: Sequence[str | Path]) -> list[str]:
    """Return the data as a bench in another folder would name them: whole paths of files."""
    files = {name: callers_folder.input_path(name) for name in data}
    places = [str(path.resolve()) if path.is_file() else str(name) for name, path in files.items()]
    return places or ["generated sets"]


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
