"""The scalars of a state, accessible by name in compiled code and in Python.

A class lists them as annotated attributes, each an ``int``, a ``float`` or a ``bool``. :func:`zeroed` makes a
NumPy record of them, which compiled code takes by address, as an argument or as a field of one.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar, cast, get_type_hints

import numpy as np

_KINDS = {int: np.int64, float: np.float64, bool: np.bool_}

Scalars = TypeVar("Scalars")


def zeroed(fields: type[Scalars]) -> Scalars:
    """Return a record with the attributes of a class, all zero or false.

    Parameters
    ----------
    fields : type
        A class whose annotations are the attributes.

    Returns
    -------
    numpy.record
        Typed as an instance of the class. No other attribute can be set.
    """
    record: Scalars = np.zeros(1, _layout(cast(type, fields)))[0]
    return record


@cache
def _layout(fields: type) -> np.dtype[np.void]:
    """Return the data type of a record, cached because numba recompiles for a new type object."""
    for name in fields.__annotations__:
        if hasattr(np.record, name):
            raise ValueError(f"{fields.__name__}.{name} would be hidden by an attribute of NumPy's records")
    kinds = [(name, _KINDS[kind]) for name, kind in get_type_hints(fields).items()]
    return np.dtype((np.record, np.dtype(kinds, align=True)))
