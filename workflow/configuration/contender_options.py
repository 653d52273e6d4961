"""The options of a contender, be they set or the solver's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svmrepro.workflow.configuration.model import Contender


def effective_settings(contender: Contender, axes: Sequence[str], kernel: str) -> dict[str, object]:
    """Return a contender's storage and options by name, be they the default; None where of no use to it.

    Folding needs a linear kernel; folded, a solver asks for no kernel row, and a cache stays empty.
    """
    known = own_options(contender)
    options: dict[str, object] = {**known, **contender.options, "storage": contender.storage}
    if kernel != "linear":
        options["fold"] = None
    if options.get("fold"):
        options["cache_mb"] = None
    return {axis: options.get(axis) for axis in axes}


def own_options(contender: Contender) -> dict[str, Any]:
    """Return the options of a contender's solver at their defaults; none of a user's own."""
    from svmrepro.solvers import SOLVERS  # takes longer to load than most tables to make

    return dict(SOLVERS[contender.solver].options) if contender.solver in SOLVERS else {}
