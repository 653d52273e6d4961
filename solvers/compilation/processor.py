"""What the processor that code is compiled for can do, and how many of them there are."""

from __future__ import annotations

import functools
import math
import os
import sys
from pathlib import Path
from typing import Any

from svmrepro.solvers.compilation.cgroups import cpu_limit, group_folders


def processors(root: Path = Path("/")) -> int:
    """Return how many processors this process may use; a cgroup, such as a container, may limit their time.

    ``root`` is that of the system's files.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _limit(root))


@functools.cache
def _limit(root: Path) -> int:
    limit = cpu_limit(group_folders(root, "cpu"))
    return sys.maxsize if limit is None else max(1, math.ceil(limit))


def has(context: Any, feature: str) -> bool:
    """Tell whether code may use a feature, by LLVM's name for it; ``context`` is numba's."""
    return f"+{feature}" in _features(context)


@functools.lru_cache(maxsize=8)  # LLVM takes 0.1 ms or more to tell, and a run asks four times
def _features(context: Any) -> frozenset[str]:
    """Return the features that code may use, with their signs."""
    return frozenset(context.codegen().magic_tuple()[2].split(","))


def lanes(context: Any, bits: int) -> int:
    """Return how many numbers of that many bits a vector register holds."""
    return (512 if has(context, "avx512f") else 256 if has(context, "avx") else 128) // bits
