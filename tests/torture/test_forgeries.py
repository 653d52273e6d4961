"""No forged solution passes the judge, every honest one does.

SVMREPRO_FORGERIES=10000 makes it that many forgeries of each kind in place of 200.
"""

from __future__ import annotations

import os

import forgeries
import pytest
from forgeries import KINDS, TRICKS, Forgery, fault, honest_fault, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("SVMREPRO_FORGERIES") or 200)
#: Problems of a kind; each costs its exact solution.
POOL = forgeries.POOL if EXAMPLES > 200 else 30


def forged(kind: str) -> st.SearchStrategy[Forgery]:
    """Return a strategy of forgeries of a kind."""
    return st.builds(
        Forgery,
        kind=st.just(kind),
        problem=st.integers(0, POOL - 1),
        seed=st.integers(0, 2**32 - 1),
        tricks=st.lists(st.integers(0, len(TRICKS) - 1), min_size=1, max_size=2).map(tuple),
        eps=st.sampled_from([1e-3, 1e-2, 1e-5]),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_forgery_passes(kind: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EXAMPLES <= 200,
        suppress_health_check=list(HealthCheck),
    )
    @given(forged(kind))
    def none_passes(forgery: Forgery) -> None:
        wrong = fault(forgery)
        assert wrong is None, f"{forgery}: {wrong}"

    none_passes()


@pytest.mark.parametrize("kind", KINDS)
def test_honest_solutions_pass(kind: str) -> None:
    found = [(seed, honest_fault(small(kind, seed), 1e-3)) for seed in range(POOL)]
    assert [one for one in found if one[1]] == []
    good = sum(why == "" for _, why in found)
    assert good > POOL / 3, "too few solutions are good enough to be called honest"
