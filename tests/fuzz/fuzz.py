"""Fuzz for a given time, round by round, with a journal that a later call goes on from.

    python tests/fuzz/fuzz.py --seconds 600 --journal fuzz.jsonl

A round is some hundred inputs of one target from one seed. Rounds that the journal has are not run again; a
finding stands in it with the smallest input that hypothesis came to.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz_inputs import Target
from fuzz_targets import targets
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

#: Bytes of memory that an input may make the process take: far more than any honest one.
MEMORY = 8 * 2**30


@dataclass(frozen=True)
class Round:
    """What came of one seed of one target."""

    target: str
    seed: int
    examples: int
    accepted: int
    seconds: float
    finding: str | None


class Journal:
    """Rounds, one line of JSON each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Round]:
        """Return the rounds there are; the beginning of a line that a kill left does not count."""
        text = self.path.read_text() if self.path.exists() else ""
        return [Round(**json.loads(line)) for line in text.split("\n")[:-1]]

    def add(self, line: Round) -> None:
        """Add a round."""
        text = self.path.read_text() if self.path.exists() else ""
        if not text.endswith("\n") and text:
            self.path.write_text(text[: text.rfind("\n") + 1])
        with self.path.open("a") as stream:
            stream.write(json.dumps(asdict(line)) + "\n")


def round_of(target: Target, seed: int, examples: int) -> Round:
    """Run one round; a finding ends it."""
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
    """Run rounds of the targets in turn until the time is over; return all rounds of the journal."""
    ends = time.monotonic() + seconds
    following = {target.name: 0 for target in every}
    for line in journal.read():
        following[line.target] = max(following.get(line.target, 0), line.seed + 1)
    while time.monotonic() < ends:
        # The target with the fewest rounds: each gets its turn, however a run before was ended.
        target = min(every, key=lambda one: following[one.name])
        journal.add(round_of(target, following[target.name], examples))
        following[target.name] += 1
    return journal.read()


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--journal", type=Path, default=Path("fuzz.jsonl"))
    parser.add_argument("--target", action="append", help="only this one; may be given again")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    known = targets()
    chosen = [known[name] for name in arguments.target or known]
    lines = fuzz(chosen, Journal(arguments.journal), arguments.seconds)
    findings = [line for line in lines if line.finding]
    total, spent = sum(line.examples for line in lines), sum(line.seconds for line in lines)
    for name in known:
        own = [line for line in lines if line.target == name]
        if own:
            count, used = sum(line.examples for line in own), sum(line.seconds for line in own)
            share = sum(line.accepted for line in own) / max(count, 1)
            print(f"{name:28} {count:8} inputs {count / max(used, 1e-9):8.0f}/s  {share:5.1%} accepted")
    print(f"{total} inputs in {spent:.0f} s: {total / max(spent, 1e-9):.0f}/s, {len(findings)} findings")
    for line in findings:
        print(f"\n{line.target}, seed {line.seed}: {line.finding}")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
