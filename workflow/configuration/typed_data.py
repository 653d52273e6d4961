"""Conversion of plain data, of records and claims, to msgspec types; `_layers` converts the configuration.

It is kept light, since every step loads it: unlike ``convert`` of :mod:`svmrepro.datasets.input_checks`, it
checks only what msgspec checks. That module words the messages, and is loaded for one only.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")


def typed(value: object, kind: type[T]) -> T:
    """Convert plain data to a type that msgspec supports.

    If the value does not fit, the ValueError names the key and what is wrong.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # Imported late, because it takes half a second.
        from svmrepro.datasets.input_checks import explain

        raise explain(error, value, kind) from None
