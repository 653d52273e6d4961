"""Plain data as types of msgspec; light, since every step loads it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")


def typed(value: object, kind: type[T]) -> T:
    """
    Convert plain data to a type.

    Parameters
    ----------
    value
        What YAML or JSON made.
    kind
        A type of msgspec.

    Raises
    ------
    ValueError
        If it does not fit: the key, and what is wrong.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # It takes half a second to import.
        from svmrepro.datasets.validation import explain

        raise explain(error, value, kind) from None
