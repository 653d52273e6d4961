"""A few seconds of fuzzing in every test run, and ten minutes on demand."""

from __future__ import annotations

import os
import random
import resource
import time

import fuzz_inputs
import pytest
from fuzz import fuzz, round_of
from fuzz_targets import targets
from hypothesis import strategies as st

TARGETS = targets()
#: Memory in bytes by which an input may make the process grow: far more than any valid one needs.
MEMORY = 8 * 2**30


@pytest.mark.parametrize("name", TARGETS)
def test_a_round_of_every_target(name: str) -> None:
    result = round_of(TARGETS[name], seed=0, examples=30)
    assert result.finding is None
    assert result.examples >= 25


def test_a_crash_and_a_hang_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_inputs, "PATIENCE", 0.2)

    def crash(value: bytes) -> None:
        if len(value) > 3:
            raise KeyError("x")

    def hang(value: bytes) -> None:
        if len(value) > 3:
            time.sleep(1)

    def lines(value: bytes) -> None:
        raise ValueError("two\nlines")

    for run, said in ((crash, "KeyError"), (hang, "HangError"), (lines, "not one line")):
        target = fuzz_inputs.Target("x", st.binary(), run, (ValueError,))
        result = round_of(target, seed=0, examples=50)
        assert result.finding is not None and said in result.finding


@pytest.mark.slow
def test_ten_minutes() -> None:
    """SVMREPRO_FUZZ_SEED names the first seed, SVMREPRO_FUZZ_SECONDS the duration."""
    first = int(os.environ.get("SVMREPRO_FUZZ_SEED") or random.randrange(10**6))
    seconds = float(os.environ.get("SVMREPRO_FUZZ_SECONDS") or 600)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    try:
        rounds = fuzz(list(TARGETS.values()), first, seconds)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    print(f"{sum(each.examples for each in rounds)} inputs from seed {first} on")
    assert {each.target for each in rounds} >= set(TARGETS)
    assert [each for each in rounds if each.finding] == []
