"""Every solver on thousands of random problems of hard families; none may call a wrong result optimal.

    ./run python tests/torture/torture.py --problems 2000 --jobs 2 --journal torture.jsonl --table torture.md
    ./run python tests/torture/torture.py --family zigzag --seed 3 --solver smo2

Each solve runs in a worker process that is killed if it does not end. Outcomes are judged in decimal
arithmetic (:mod:`exact`) and kept in a journal, from which a later call with the same source resumes. The
exit code is 1 if any outcome is dishonest: called optimal with more than twice the promised error, a value
that is not finite, a multiplier outside its box, an error other than a one-line ValueError, a crash, or a
solve that does not end.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
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
GRACE = 20.0  # seconds after the time limit after which a solve counts as not ending
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
        """Return the outcomes of the current source; an incomplete line left by a kill is ignored."""
        if self.path is None or not self.path.exists():
            return []
        found = []
        for line in self.path.read_text().split("\n")[:-1]:
            entry = json.loads(line)
            if entry.pop("source") == self.source:
                found.append(Outcome(**entry))
        return found

    def add(self, outcome: Outcome) -> None:
        """Append an outcome."""
        if self.path is None:
            return
        if self.path.exists():
            text = self.path.read_bytes()
            if text and not text.endswith(b"\n"):
                self.path.write_bytes(text[: text.rfind(b"\n") + 1])
        with self.path.open("a") as stream:
            stream.write(json.dumps({"source": self.source, **asdict(outcome)}) + "\n")


def tasks(
    problems: int, solvers: Sequence[str], families: Sequence[str], first_seed: int = 0
) -> Iterator[Task]:
    """Yield ``problems`` problems, the families in rotation."""
    for number in range(problems):
        family = families[number % len(families)]
        seed = first_seed + number // len(families)
        problem = draw(family, seed)
        fitting = tuple(name for name in solvers if suits(problem, name))
        yield Task(family, seed, fitting)


def without(every: Iterable[Task], done: Iterable[Outcome]) -> Iterator[Task]:
    """Yield the tasks that are left."""
    known = {(one.family, one.seed, one.solver) for one in done}
    for task in every:
        left = tuple(name for name in task.solvers if (task.family, task.seed, name) not in known)
        if left:
            yield Task(task.family, task.seed, left)


def work(pipe: Connection, time_limit: float, eps: float) -> None:
    """Solve and judge the tasks from a pipe until it sends None."""
    pipe.send(("ready", None))
    while (task := pipe.recv()) is not None:
        judged = Judged(draw(task.family, task.seed))
        for name in task.solvers:
            pipe.send(("loading", name))  # and compiling, perhaps
            SOLVERS[name].load()
            pipe.send(("solving", name))
            solution, outcome = solve_one(judged.draw, name, time_limit, eps)
            if solution is not None and solution.cpu_seconds > time_limit + LATE:
                # Compiling at first use takes seconds, but only once.
                pipe.send(("solving", name))
                solution, outcome = solve_one(judged.draw, name, time_limit, eps)
            if solution is not None:
                pipe.send(("judging", name))
                try:
                    outcome = judge(judged, name, solution, eps, time_limit)
                except Exception:
                    print(traceback.format_exc(), file=sys.stderr, flush=True)
                    raise
            pipe.send(("done", outcome))
        pipe.send(("ready", None))


@dataclass
class Worker:
    """A worker process, its current task and deadline."""

    time_limit: float
    eps: float
    task: Task | None = None
    left: list[str] = field(default_factory=list)
    stage: str = "loading"
    deadline: float = 0.0

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=work, args=(end, self.time_limit, self.eps), daemon=True)
        self.process.start()
        end.close()
        self.deadline = time.monotonic() + PATIENCE

    def give(self, task: Task) -> None:
        """Send a task to the worker."""
        self.task, self.left, self.stage = task, list(task.solvers), "given"
        self.deadline = time.monotonic() + PATIENCE
        self.pipe.send(task)

    def hear(self) -> Outcome | None:
        """Receive one message; return its outcome."""
        stage, what = self.pipe.recv()
        self.stage = stage
        patience = PATIENCE
        if stage == "solving":
            patience = self.time_limit + (PEERS_GRACE if what in PEERS else GRACE)
        self.deadline = time.monotonic() + patience
        if stage == "done":
            self.left.remove(what.solver)
            outcome: Outcome = what
            return outcome
        if stage == "ready":
            self.task = None
        return None

    def fallen(self, why: str) -> Outcome:
        """Kill the process; return the outcome of its current task."""
        self.process.kill()
        self.process.join()
        assert self.task is not None, f"a worker fell while {self.stage}: {why}"
        name = self.left.pop(0)
        verdict = UNDECIDED if self.stage == "judging" else LIMITED if name in PEERS else DISHONEST
        detail = f"{why} while {self.stage}"
        return Outcome(self.task.family, self.task.seed, name, verdict, "", detail, self.time_limit)

    def stop(self) -> None:
        """Stop the process normally."""
        self.pipe.send(None)
        self.process.join(10)
        self.process.kill()


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
    again: list[Task] = []
    workers = [Worker(time_limit, eps)]  # the first worker compiles what is not compiled yet
    ready: list[Worker] = []
    finished = False

    def take(outcome: Outcome | None) -> None:
        if outcome is not None:
            outcomes.append(outcome)
            journal.add(outcome)

    try:
        while workers:
            for worker in list(ready):
                task = again.pop() if again else None if finished else next(waiting, None)
                if task is None or time.monotonic() > ends:
                    finished = True
                    worker.stop()
                    workers.remove(worker)
                else:
                    worker.give(task)
                ready.remove(worker)
            for pipe in wait([worker.pipe for worker in workers], timeout=1.0):
                worker = next(one for one in workers if one.pipe is pipe)
                try:
                    take(worker.hear())
                    if worker.stage == "ready":
                        ready.append(worker)
                        while len(workers) < jobs and not finished:
                            workers.append(Worker(time_limit, eps))
                except EOFError:
                    take(worker.fallen("crashed"))
                    workers.remove(worker)
                    again += _rest(worker)
            for worker in list(workers):
                if worker.stage != "ready" and time.monotonic() > worker.deadline:
                    take(worker.fallen("did not end"))
                    workers.remove(worker)
                    again += _rest(worker)
            if not workers and (again or not finished):
                workers.append(Worker(time_limit, eps))
    finally:
        for worker in workers:
            worker.process.kill()
    return outcomes


def _rest(worker: Worker) -> list[Task]:
    """Return the tasks that a crashed worker left undone."""
    assert worker.task is not None
    return [Task(worker.task.family, worker.task.seed, tuple(worker.left))] if worker.left else []


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
    count = {
        verdict: sum(one.verdict == verdict for one in outcomes)
        for verdict in (SOLVED, LIMITED, REFUSED, UNDECIDED, DISHONEST)
    }

    def share(verdict: str) -> str:
        part = 100 * count[verdict] / len(outcomes)
        return f"{part:.1f}".removesuffix(".0")

    text = share(SOLVED)
    marks = ((LIMITED, "l"), (REFUSED, "r"), (UNDECIDED, "?"))
    text += "".join(f" +{mark}{share(verdict)}" for verdict, mark in marks if count[verdict])
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
    every = list(
        tasks(problems, options.solver or (*OWN, *(PEERS if options.peers else ())), families, first_seed)
    )
    journal = Journal(options.journal)
    before = journal.read()
    outcomes = before + run(
        without(every, before), journal, options.jobs, options.seconds, options.time_limit
    )
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
