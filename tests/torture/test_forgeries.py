"""The judge refuses every forged solution and accepts every honest one.

    ./run python tests/torture/forgeries.py --examples 10000

runs all forgeries.
"""

from __future__ import annotations

import pytest
from forgeries import fault, forged, honest_fault
from forgery_problems import KINDS, small

FORGERIES = 120
POOL = 30  # problems per kind; each needs an exact solution


@pytest.mark.parametrize("kind", KINDS)
def test_no_forgery_passes(kind: str) -> None:
    forgeries = [forged(kind, number, POOL) for number in range(FORGERIES)]
    assert [(one.name, wrong) for one in forgeries if (wrong := fault(one)) is not None] == []


@pytest.mark.parametrize("kind", KINDS)
def test_honest_solutions_pass(kind: str) -> None:
    found = [(seed, honest_fault(small(kind, seed), 1e-3)) for seed in range(POOL)]
    assert [one for one in found if one[1]] == []
    good = sum(why == "" for _, why in found)
    assert good > POOL / 3, "too few solutions are good enough to be called honest"
