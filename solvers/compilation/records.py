"""The state of a compiled solver: arrays, and scalars accessible by name in compiled code and in Python.

A class lists scalars as annotated attributes, each an ``int``, a ``float`` or a ``bool``. :func:`zeroed`
makes a NumPy record of them, which compiled code takes by address, as an argument or as a field of a tuple.

A named tuple of arrays describes each of its fields by :func:`array` or :func:`record`, in place of a default
value; :func:`allocated` makes it for given sizes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np

_NUMPY_TYPES = {int: np.int64, float: np.float64, bool: np.bool_}

Scalars = TypeVar("Scalars")
State = TypeVar("State")


def zeroed(fields: type[Scalars]) -> Scalars:
    """Return a record with the attributes of a class, all zero or false; no other attribute can be set."""
    record: Scalars = np.zeros(1, _layout(cast(type, fields)))[0]
    return record


@cache
def _layout(fields: type) -> np.dtype[np.void]:
    """Return the data type of a record, cached because numba recompiles for a new type object.

    NumPy's own ``np.record`` finds attributes by a search in Python, which takes five times as long.
    """
    kinds = [(name, _NUMPY_TYPES[kind]) for name, kind in get_type_hints(fields).items()]
    for name, _ in kinds:
        if hasattr(np.void, name):
            raise ValueError(f"{fields.__name__}.{name} would hide an attribute of NumPy's records")
    attributes = {name: _attribute(name) for name, _ in kinds}
    record = type(fields.__name__, (np.void,), {"__slots__": (), **attributes})
    return np.dtype((record, np.dtype(kinds, align=True)))


def _attribute(name: str) -> property:
    return property(lambda record: record[name], lambda record, value: record.__setitem__(name, value))


def array(*sizes: str, dtype: Any = np.float64) -> Any:
    """Describe an array of zeros by the names of its sizes."""

    def make(given: dict[str, int]) -> Any:
        return np.zeros([given[size] for size in sizes], dtype)

    return make


def record(fields: type[Scalars]) -> Scalars:
    """Describe a record of zeros, see :func:`zeroed`."""
    return cast(Scalars, lambda given: zeroed(fields))


def allocated(kind: type[State], **sizes: int) -> State:
    """Return a named tuple whose fields are made as described; ``sizes`` gives each size by its name."""
    described: Any = kind
    state: State = described(**{name: make(sizes) for name, make in described._field_defaults.items()})
    return state


def with_copies(state: State, *names: str) -> State:
    """Return a named tuple with copies of these of its arrays."""
    given: Any = state
    made: State = given._replace(**{name: getattr(given, name).copy() for name in names})
    return made
