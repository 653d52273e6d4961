"""How often the user's own solvers solved nothing, told at the end of a run or a bench."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from svmrepro.solvers import SOLVERS
from svmrepro.workflow.configuration import Config, Experiment, paths
from svmrepro.workflow.measurement.journal_line import read_lines
from svmrepro.workflow.number_text import plural


def failures(config: Config, experiments: Iterable[Experiment]) -> dict[str, bool]:
    """Return a line on each own solver that failed in some run, and whether it failed in all of them.

    What was not run, for instance without its data, says nothing about a solver.
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
        failed = [line for line in lines if line["status"] != "optimal"]
        if failed:
            first = min(failed, key=lambda line: int(line["n"]))
            solved = len(lines) - len(failed)
            count = f"{solved:,}" if solved else "none"
            where = f"{first['experiment']}, n = {first['n']:,}"
            text = f"{name} solved {count} of {plural(len(lines), 'run')}; {where}: {first['reason']}"
            found[text] = not solved
    return found
