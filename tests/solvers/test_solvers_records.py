"""Records: scalars by name, in Python and in compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from svmrepro.solvers.compilation.records import zeroed


class Counts:
    steps: int
    gain: float
    done: bool


class Hiding:
    nbytes: int  # an attribute of NumPy's records


class HidingTwo(Hiding):
    steps: int


def test_attributes_are_fields() -> None:
    counts = zeroed(Counts)
    assert (counts.steps, counts.gain, counts.done) == (0, 0.0, False)
    counts.steps += 2
    counts.gain, counts.done = 0.5, True
    assert isinstance(counts, np.void) and counts.item() == (2, 0.5, True)
    assert zeroed(Counts).steps == 0 and counts.copy().steps == 2
    assert type(zeroed(Counts)) is type(counts)


def test_no_other_attribute() -> None:
    counts = zeroed(Counts)
    with pytest.raises(AttributeError):
        counts.step = 1
    with pytest.raises(AttributeError):
        _ = counts.step


@pytest.mark.parametrize("fields", [Hiding, HidingTwo])
def test_names_that_would_hide_others_are_refused(fields: type) -> None:
    with pytest.raises(ValueError, match=r"nbytes would hide"):
        zeroed(fields)
