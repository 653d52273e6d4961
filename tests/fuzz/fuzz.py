"""Fuzz for a given time, in rounds, with a journal from which a later call resumes.

A round is a few hundred inputs for one target from one seed. Recorded rounds are not repeated. A finding is
recorded with the smallest input that hypothesis found.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz_inputs import Target
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded


@dataclass(frozen=True)
class Round:
    """The result of one seed of one target."""

    target: str
    seed: int
    examples: int
    accepted: int
    seconds: float
    finding: str | None


class Journal:
    """A journal of rounds, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Round]:
        """Return the recorded rounds; an incomplete line left by a kill is removed."""
        text = self.path.read_text() if self.path.exists() else ""
        lines = text[: text.rfind("\n") + 1]
        if lines != text:
            self.path.write_text(lines)
        return [Round(**json.loads(line)) for line in lines.splitlines()]

    def add(self, line: Round) -> None:
        """Append a round."""
        with self.path.open("a") as stream:
            stream.write(json.dumps(asdict(line)) + "\n")


def round_of(target: Target, seed: int, examples: int) -> Round:
    """Run one round; it ends at the first finding."""
    count = accepted = 0
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
        nonlocal count, accepted, last
        count += 1
        try:
            accepted += target.try_one(value)
        except BaseException:
            last = value
            raise

    began = time.monotonic()
    finding = None
    try:
        one()
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-6:])
        finding = f"{type(error).__name__}: {str(error)[:300]}\ninput: {last!r:.3000}\n{where[-3000:]}"
    return Round(target.name, seed, count, accepted, round(time.monotonic() - began, 3), finding)


def fuzz(every: Sequence[Target], journal: Journal, seconds: float, examples: int = 200) -> list[Round]:
    """Run rounds of all targets in turn until the time is over; return all rounds of the journal."""
    ends = time.monotonic() + seconds
    following = {target.name: 0 for target in every}
    for line in journal.read():
        following[line.target] = max(following.get(line.target, 0), line.seed + 1)
    while time.monotonic() < ends:
        # The target with the fewest rounds is next, so that interruptions do not favour some targets.
        target = min(every, key=lambda one: following[one.name])
        journal.add(round_of(target, following[target.name], examples))
        following[target.name] += 1
    return journal.read()
