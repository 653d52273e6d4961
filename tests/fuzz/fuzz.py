"""Fuzz in rounds: a few hundred inputs for one target from one seed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from fuzz_inputs import Target
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded


class Round(NamedTuple):
    """The result of one seed of one target; a finding has the smallest input that hypothesis found."""

    target: str
    seed: int
    examples: int
    finding: str | None


def round_of(target: Target, seed: int, examples: int) -> Round:
    """Run one round; it ends at the first finding."""
    made = 0
    last: object = None

    @seeded(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def one(value: object) -> None:
        nonlocal made, last
        made += 1
        try:
            target.try_one(value)
        except BaseException:
            last = value
            raise

    finding = None
    try:
        one()
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-6:])
        finding = f"{type(error).__name__}: {str(error)[:300]}\ninput: {last!r:.3000}\n{where[-3000:]}"
    return Round(target.name, seed, made, finding)


def fuzz(every: Sequence[Target], first: int, seconds: float, examples: int = 200) -> list[Round]:
    """Run rounds of all targets in turn, from a first seed, until the time is over."""
    ends = time.monotonic() + seconds
    rounds: list[Round] = []
    for seed in count(first):
        for target in every:
            if time.monotonic() > ends:
                return rounds
            rounds.append(round_of(target, seed, examples))
    raise AssertionError
