"""Unsolved runs of the user's own solvers, reported at the end of a run or a bench."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from svmrepro.solvers import SOLVERS
from svmrepro.workflow.configuration import Config, Experiment, paths
from svmrepro.workflow.journal.journal_line import OPTIMAL, read_lines
from svmrepro.workflow.number_text import plural


def failures(config: Config, experiments: Iterable[Experiment]) -> dict[str, bool]:
    """Return a line on each own solver with unsolved runs, and whether it failed in one of them.

    As for every other solver, returning at a limit is not a failure. Runs that were not made, for example for
    lack of data, are ignored.
    """
    made: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for experiment in experiments:
        own = {each.label for each in experiment.contenders.values() if each.solver not in SOLVERS}
        for file in paths.job_files(config, experiment.paper, experiment.name) if own else ():
            for line in read_lines(file):
                if line["contender"] in own and line["status"] != "not_run":
                    made[line["contender"]].append(line)
    found = {}
    for name, lines in made.items():
        unsolved = [line for line in lines if line["status"] != OPTIMAL]
        failed = [line for line in unsolved if _failed(line)]
        if unsolved:
            first = min(failed or unsolved, key=lambda line: int(line["n"]))
            solved = len(lines) - len(unsolved)
            count = f"{solved:,}" if solved else "none"
            where = f"{first['experiment']}, n = {first['n']:,}"
            text = f"{name} solved {count} of {plural(len(lines), 'run')}; {where}: {first['reason']}"
            found[text] = bool(failed)
    return found


def _failed(line: Mapping[str, Any]) -> bool:
    """Whether a run ended without a result, or with one that its certificate refused.

    A solver that did not stop at its limit returned none.
    """
    return line["status"] in ("error", "uncertified") or line["cpu_seconds"] is None
