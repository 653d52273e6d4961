"""A few seconds of fuzzing in every test run, and ten minutes on demand."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import fuzz_inputs
import pytest
from fuzz import Journal, fuzz, round_of
from fuzz_targets import targets
from hypothesis import strategies as st

NAMES = tuple(targets())
#: Memory in bytes by which an input may make the process grow: far more than any valid one needs.
MEMORY = 8 * 2**30


@pytest.mark.parametrize("name", NAMES)
def test_a_round_of_every_target(name: str) -> None:
    result = round_of(targets()[name], seed=0, examples=60)
    assert result.finding is None
    assert result.examples >= 50


def test_a_crash_and_a_hang_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    journal = Journal(tmp_path / "fuzz.jsonl")
    target = fuzz_inputs.Target("x", st.binary(), lambda value: None, ())
    fuzz([target], journal, seconds=0.5, examples=20)
    first = journal.read()
    assert [line.seed for line in first] == list(range(len(first))) and first
    fuzz([target], journal, seconds=0.2, examples=20)
    again = journal.read()
    assert [line.seed for line in again] == list(range(len(again))) and len(again) > len(first)


@pytest.mark.slow
def test_ten_minutes(tmp_path: Path) -> None:
    """SVMREPRO_FUZZ_JOURNAL names a journal of earlier rounds, SVMREPRO_FUZZ_SECONDS the duration."""
    journal = Journal(Path(os.environ.get("SVMREPRO_FUZZ_JOURNAL") or tmp_path / "fuzz.jsonl"))
    seconds = float(os.environ.get("SVMREPRO_FUZZ_SECONDS") or 600)
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    try:
        lines = fuzz(list(targets().values()), journal, seconds=seconds)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    total, spent = sum(line.examples for line in lines), sum(line.seconds for line in lines)
    print(f"{total} inputs in {spent:.0f} s")
    assert {line.target for line in lines} >= set(NAMES)
    assert [line.finding for line in lines if line.finding] == []
