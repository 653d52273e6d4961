"""Other combinations do change the summation order."""

from __future__ import annotations

import pytest
import sums
from sums import Combination

HERE = sums.lacking(Combination("x", {"OPENBLAS_CORETYPE": "Nehalem"})) == ""


def by_name(name: str) -> Combination:
    return next(one for one in sums.combinations() if one.name == name)


@pytest.mark.skipif(not HERE, reason="no x86-64 processor")
def test_openblas_and_numba_follow_their_variables() -> None:
    both = {**by_name("openblas-nehalem").environment, **by_name("numba-generic").environment}
    assert sums.chosen(Combination("both", both)) == "Nehalem; generic without AVX-512"


@pytest.mark.skipif(not HERE, reason="no x86-64 processor")
def test_the_cheapest_compiles_nothing_and_is_another_one() -> None:
    cheapest = sums.cheapest()
    assert not cheapest.compiles and "NUMBA_CACHE_DIR" not in cheapest.environment
    assert sums.chosen(cheapest) != sums.chosen(Combination("as-it-is", {}))
