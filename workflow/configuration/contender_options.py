"""The options of a contender, set or at the solver's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svmrepro.workflow.configuration.model import Contender


def effective_settings(contender: Contender, axes: Sequence[str], kernel: str) -> dict[str, object]:
    """Return a contender's storage and options by name, with defaults; None for those without effect.

    Folding requires a linear kernel. A folded solver requests no kernel rows, so its cache has no effect.
    """
    known = default_options(contender)
    options: dict[str, object] = {**known, **contender.options, "storage": contender.storage}
    if kernel != "linear":
        options["fold"] = None
    if options.get("fold"):
        options["cache_mb"] = None
    return {axis: options.get(axis) for axis in axes}


def default_options(contender: Contender) -> dict[str, Any]:
    """Return the default options of a contender's solver; empty for a user's own solver."""
    from svmrepro.solvers import SOLVERS  # slow to load

    return dict(SOLVERS[contender.solver].options) if contender.solver in SOLVERS else {}
