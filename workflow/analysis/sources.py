"""What tables and figures were made of: a digest of the numbers, in ``.made/`` beside them.

A run that was killed between two steps leaves tables of earlier measurements. The command ``publish`` finds
them by content, because times of files change in a copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from svmrepro.workflow.configuration import Config, paths
from svmrepro.workflow.files import atomic_write


def record(config: Config, paper: str, experiments: Iterable[str], file: Path) -> None:
    """Record that a file, and those of the same name with other endings, is made of these experiments."""
    atomic_write(_record_of(file), json.dumps(_digests(config, paper, experiments), indent=1) + "\n")


def is_current(config: Config, paper: str, file: Path) -> bool:
    """Tell whether a file was made of the experiments' present numbers; true without a record."""
    made = _record_of(file)
    if not made.is_file():  # as an earlier version left it
        return True
    with suppress(OSError, ValueError):
        recorded: dict[str, str] = json.loads(made.read_text(encoding="utf-8"))
        return recorded == _digests(config, paper, recorded)
    return False


def _record_of(file: Path) -> Path:
    return file.parent / ".made" / f"{file.stem}.json"


def _digests(config: Config, paper: str, experiments: Iterable[str]) -> dict[str, str]:
    """Return the digest of each experiment's measurements, fits and ratios."""
    found = {}
    for name in experiments:
        files = (place(config, paper, name) for place in (paths.measurements, paths.fits, paths.ratios))
        found[name] = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return found
