"""The control groups of this process on Linux, such as a container's, and their limit on processors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def cpu_limit(folders: Iterable[Path]) -> float | None:
    """Return the least limit on processors of some cgroups, None if there is none."""
    limits = []
    for folder in folders:
        both = _text(folder / "cpu.max") or " ".join(
            _text(folder / name) or "" for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        )
        found = re.fullmatch(r"(\d+) (\d+)", both)
        if found and int(found[2]):
            limits.append(int(found[1]) / int(found[2]))
    return min(limits, default=None)


def group_folders(root: Path, controller: str) -> list[Path]:
    """Return the folders of this process's cgroup that may limit it, innermost first; both versions."""
    base, place = root / "sys/fs/cgroup", None
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            base, place = base / controllers, path
            break
        if number == "0":
            place = path
    if place is None:
        return []
    if not base.is_dir():
        base = base.with_name(controller)
    inner = base / place.lstrip("/")
    if ".." in inner.parts or not inner.is_dir():  # a container may see its own cgroup as the root
        inner = base
    return [inner, *(folder for folder in inner.parents if folder.is_relative_to(base))]


def _text(path: Path) -> str | None:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="ascii").strip()
    return None
