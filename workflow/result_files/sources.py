"""What tables and figures were made of: a digest of the numbers, in ``.made/`` beside them.

A run that was killed between two steps leaves tables of earlier measurements. The command ``publish`` finds
them by content, because times of files change in a copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import msgspec
from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.files import atomic_write


def record(config: Config, paper: str, experiments: Iterable[str], file: Path) -> None:
    """Record that a file, and those of the same name with other endings, is made of these experiments."""
    made = {name: _digest(config, paper, name) for name in experiments}
    atomic_write(_record_of(file), json.dumps(made, indent=1) + "\n")


def outdated(config: Config, paper: str, files: Iterable[Path]) -> list[Path]:
    """Return the files that were made of other numbers than the experiments' present ones.

    A file without a record, as an earlier version left it, is none.
    """
    present = cache(partial(_digest, config, paper))  # many files are made of the same experiments
    return [file for file in files if not _is_current(_record_of(file), present)]


def _is_current(made: Path, present: Callable[[str], str]) -> bool:
    if not made.is_file():
        return True
    with suppress(OSError, ValueError):
        recorded = msgspec.json.decode(made.read_bytes(), type=dict[str, str])
        return all(digest == present(name) for name, digest in recorded.items())
    return False


def _record_of(file: Path) -> Path:
    return file.parent / ".made" / f"{file.stem}.json"


def _digest(config: Config, paper: str, experiment: str) -> str:
    """Return the digest of an experiment's measurements, fits and ratios."""
    files = (place(config, paper, experiment) for place in (paths.measurements, paths.fits, paths.ratios))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
