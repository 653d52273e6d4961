"""Which lines count as compiled."""

from __future__ import annotations

import measure


def test_bodies_of_compiled_functions_alone() -> None:
    text = """
@compiled(
    forceinline=True
)
def one(a):
    b = a
    return b

@njit
def two():
    return 2

@property
def three():
    return 3
"""
    assert measure.compiled_lines(text) == {6, 7, 11}
