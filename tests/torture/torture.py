"""Every solver on thousands of random problems of hard families; none may call a wrong result optimal.

    ./run python tests/torture/torture.py --problems 2000 --jobs 2 --journal torture.jsonl --table torture.md
    ./run python tests/torture/torture.py --family zigzag --seed 3 --solver smo2

Each solve runs in a worker process that ends itself if the solve does not end. Outcomes are judged in decimal
arithmetic (:mod:`exact`) and kept in a journal, from which a later call with the same source resumes. The
exit code is 1 if any outcome is dishonest: called optimal with more than twice the promised error, a value
that is not finite, a multiplier outside its box, an error other than a one-line ValueError, a crash, or a
solve that does not end.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from svmrepro.solvers import SOLVERS
from svmrepro.solvers.source_code import fingerprint_all
from torture_problems import FAMILIES, draw
from verdicts import DISHONEST, LIMITED, REFUSED, SOLVED, UNDECIDED, Judged, Outcome, judge, solve_one, suits

OWN = tuple(name for name, spec in SOLVERS.items() if not spec.package)
PEERS = tuple(name for name in ("libsvm", "liblinear") if SOLVERS[name].version)
EPS = 1e-3
GRACE = 60.0  # seconds after the time limit after which a solve counts as not ending; it may compile
PEERS_GRACE = 1.0  # peers have no time limit
PATIENCE = 600.0  # for judging
LATE = 0.2


@dataclass(frozen=True)
class Task:
    """A problem, and the solvers to run on it."""

    family: str
    seed: int
    solvers: tuple[str, ...]


class Journal:
    """A journal of outcomes, one JSON line each, with the source that produced them."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.source = fingerprint_all()[:12]

    def read(self) -> list[Outcome]:
        """Return the outcomes of the current source; an incomplete line left by a kill is removed."""
        text = self.path.read_text() if self.path and self.path.exists() else ""
        lines = text[: text.rfind("\n") + 1]
        if self.path and lines != text:
            self.path.write_text(lines)
        entries = [json.loads(line) for line in lines.splitlines()]
        return [Outcome(**entry) for entry in entries if entry.pop("source") == self.source]

    def add(self, outcome: Outcome) -> None:
        if self.path is not None:
            with self.path.open("a") as stream:
                stream.write(json.dumps({"source": self.source, **asdict(outcome)}) + "\n")


def tasks(
    problems: int,
    solvers: Sequence[str],
    families: Sequence[str],
    first_seed: int = 0,
    done: Iterable[Outcome] = (),
) -> Iterator[Task]:
    """Yield ``problems`` problems, the families in rotation, with the solvers without an outcome."""
    known = {(one.family, one.seed, one.solver) for one in done}
    for number in range(problems):
        family = families[number % len(families)]
        seed = first_seed + number // len(families)
        problem = draw(family, seed)
        fitting = (name for name in solvers if suits(problem, name))
        left = tuple(name for name in fitting if (family, seed, name) not in known)
        if left:
            yield Task(family, seed, left)


def work(pipe: Connection, time_limit: float, eps: float) -> None:
    """Solve and judge the tasks from a pipe until it ends; a watchdog ends a process that hangs."""
    while True:
        task = pipe.recv()
        judged = Judged(draw(task.family, task.seed))
        for name in task.solvers:
            SOLVERS[name].load()
            for _ in range(2):
                pipe.send("solving")
                patience = PEERS_GRACE if name in PEERS else GRACE
                faulthandler.dump_traceback_later(time_limit + patience, exit=True)
                solution, outcome = solve_one(judged.draw, name, time_limit, eps)
                faulthandler.cancel_dump_traceback_later()
                if solution is None or solution.cpu_seconds <= time_limit + LATE:
                    break  # otherwise it may have compiled a function, which takes seconds, but only once
            if solution is not None:
                pipe.send("judging")
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
                outcome = judge(judged, name, solution, eps, time_limit)
                faulthandler.cancel_dump_traceback_later()
            pipe.send(outcome)


@dataclass
class Worker:
    """A worker process, what is left of its task, and what it is doing."""

    time_limit: float
    eps: float
    task: Task | None = None
    left: list[str] = field(default_factory=list)
    stage: str = "loading"

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=work, args=(end, self.time_limit, self.eps), daemon=True)
        self.process.start()
        end.close()

    def give(self, task: Task) -> None:
        """Send a task to the worker."""
        self.task, self.left = task, list(task.solvers)
        self.pipe.send(task)

    def hear(self) -> Outcome | None:
        """Receive one message; return its outcome, or that of a process that has ended."""
        assert self.task is not None
        try:
            message = self.pipe.recv()
        except EOFError:
            self.process.join()
            name = self.left[0]
            verdict = UNDECIDED if self.stage == "judging" else LIMITED if name in PEERS else DISHONEST
            detail = f"crashed or did not end while {self.stage}, exit code {self.process.exitcode}"
            message = Outcome(self.task.family, self.task.seed, name, verdict, "", detail, self.time_limit)
        if isinstance(message, str):
            self.stage = message
            return None
        self.left.remove(message.solver)
        return message


def run(
    todo: Iterable[Task],
    journal: Journal,
    jobs: int = 1,
    seconds: float = float("inf"),
    time_limit: float = 10.0,
    eps: float = EPS,
) -> list[Outcome]:
    """Work through the tasks until all are done or the time is over; return the outcomes."""
    ends = time.monotonic() + seconds
    waiting, outcomes = iter(todo), []
    for name in OWN:
        SOLVERS[name].load()  # compile outside the time limit
    idle, busy = [], {}
    try:
        while True:
            while len(busy) < jobs and time.monotonic() < ends and (task := next(waiting, None)):
                worker = idle.pop() if idle else Worker(time_limit, eps)
                worker.give(task)
                busy[worker.pipe] = worker
            if not busy:
                return outcomes
            for pipe in wait(list(busy)):
                worker = busy[pipe]
                outcome = worker.hear()
                if outcome is None:
                    continue
                outcomes.append(outcome)
                journal.add(outcome)
                alive = worker.process.is_alive()
                if alive and worker.left:
                    continue
                del busy[pipe]
                if alive:
                    idle.append(worker)
                elif worker.left:
                    waiting = chain([Task(outcome.family, outcome.seed, tuple(worker.left))], waiting)
    finally:
        for worker in (*busy.values(), *idle):
            worker.process.kill()


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a Markdown table of solvers by families: per cent solved, and other outcomes."""
    families = [name for name in FAMILIES if any(one.family == name for one in outcomes)]
    solvers = [name for name in (*OWN, *PEERS) if any(one.solver == name for one in outcomes)]
    lines = [
        "Per cent of the problems solved; then, where there are any: +l per cent ended by a limit or",
        "stalled, and said so; +r per cent refused in one line; +? not decided; **!k** dishonest in k cases.",
        "",
        "| solver | " + " | ".join(families) + " | all |",
        "| --- |" + " ---: |" * (len(families) + 1),
    ]
    for solver in solvers:
        own = [one for one in outcomes if one.solver == solver]
        cells = [_cell([one for one in own if one.family == family]) for family in families]
        lines.append(f"| {solver} | " + " | ".join([*cells, _cell(own)]) + " |")
    return "\n".join(lines) + "\n"


def _cell(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return "-"
    count = Counter(one.verdict for one in outcomes)

    def share(verdict: str) -> str:
        return f"{100 * count[verdict] / len(outcomes):.1f}".removesuffix(".0")

    marks = ((LIMITED, "l"), (REFUSED, "r"), (UNDECIDED, "?"))
    text = share(SOLVED) + "".join(f" +{mark}{share(verdict)}" for verdict, mark in marks if count[verdict])
    return text + (f" **!{count[DISHONEST]}**" if count[DISHONEST] else "")


def report(outcomes: Sequence[Outcome], time_limit: float) -> str:
    """Return the table and all outcomes that need attention, one by one."""
    problems = len({(one.family, one.seed) for one in outcomes})
    lines = [f"{len(outcomes)} solves of {problems} problems, limit {time_limit:g} s.", "", table(outcomes)]
    own = [one for one in outcomes if one.solver not in PEERS]
    sections = {
        "Dishonest": [one for one in own if one.verdict == DISHONEST],
        "Not decided": [one for one in own if one.verdict == UNDECIDED],
        "Peers, dishonest": [one for one in outcomes if one.solver in PEERS and one.verdict == DISHONEST],
    }
    for title, found in sections.items():
        if found:
            lines += [f"## {title}: {len(found)}", ""]
            lines += [f"- {one.detail} (status {one.status or 'none'})\n  `{one.command()}`" for one in found]
            lines.append("")
    late = [one for one in own if one.seconds > time_limit + LATE and one.status]
    if late:
        worst = max(late, key=lambda one: one.seconds)
        lines.append(
            f"{len(late)} ended more than {LATE} s after the limit; the latest at {worst.seconds:.2f} s: "
            f"`{worst.command()}`"
        )
    return "\n".join(lines)


def dishonest(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the dishonest outcomes of our solvers; peers are excluded, because we cannot fix them."""
    return [one for one in outcomes if one.verdict == DISHONEST and one.solver not in PEERS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--table", type=Path, help="file for the table, besides the terminal")
    parser.add_argument("--family", action="append", choices=tuple(FAMILIES))
    parser.add_argument("--seed", type=int, help="this problem alone of each family")
    parser.add_argument("--first-seed", type=int, default=0, help="draw other problems than the usual ones")
    parser.add_argument("--solver", action="append", choices=(*OWN, *PEERS))
    parser.add_argument("--peers", action="store_true", help="beside them, " + " and ".join(PEERS))
    options: Any = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and with it the workers
    families = options.family or list(FAMILIES)
    problems = len(families) if options.seed is not None else options.problems
    first_seed = options.first_seed if options.seed is None else options.seed
    solvers = options.solver or (*OWN, *(PEERS if options.peers else ()))
    journal = Journal(options.journal)
    outcomes = journal.read()
    todo = tasks(problems, solvers, families, first_seed, list(outcomes))
    outcomes += run(todo, journal, options.jobs, options.seconds, options.time_limit)
    text = report(outcomes, options.time_limit)
    print(text)
    if options.seed is not None:
        for one in outcomes:
            said = f"{one.status or 'no status'}, {one.seconds:.2f} s"
            print(f"{one.solver}: {one.verdict}, {said}, {one.worst:.3g} of what is allowed; {one.detail}")
    if options.table:
        options.table.write_text(text + "\n", encoding="utf-8")
    return bool(dishonest(outcomes))


if __name__ == "__main__":
    sys.exit(main())
