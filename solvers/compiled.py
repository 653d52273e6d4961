"""The one way in which this package compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(*signatures: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function which allocates nothing.

    The machine code is kept on disk. Reference counting is switched off: arrays belong to the caller
    for the whole call, and counting every access to the fields of a state took a third of SMO's time
    (two locked instructions each). So a function compiled here must not create an array; views are
    fine. Division by zero gives inf or nan as in C; callers see to it that none matters.

    Parameters
    ----------
    *signatures
        Types to compile for at once; needed where functions are passed as arguments. None: at the first call.
    **options
        Passed on to ``numba.njit``, for example ``fastmath``; ``forceinline`` for what a step calls:
        a state is some two hundred words, and every call that is not inlined copies them.
    """
    fixed = {"cache": True, "_nrt": False, "error_model": "numpy", **options}
    return njit(list(signatures), **fixed) if signatures else njit(**fixed)  # type: ignore[no-any-return]
