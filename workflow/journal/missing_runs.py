"""Resuming: which runs are already done and which are still to be made, by the lines of the journal.

A line of the journal counts while its ``row`` is the fingerprint of an instance of the experiment, unless it
says that nothing was run. Nor does an error of a user's own solver count that an earlier step met: what the
solver lacked may be there now. A run is still to be made unless

- it has a line, or a line of its contender and instance has a final status, such as an error;
- its contender has used up the budget for repeats at this instance; or
- its contender met a limit at an easier instance: a smaller size, an easier point of the axis, or an earlier
  permutation.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from svmrepro.workflow.configuration import Contender, Experiment
from svmrepro.workflow.configuration.jobs import Instance, instances
from svmrepro.workflow.journal.journal_line import FINAL, LIMITS


def counting(
    experiment: Experiment, lines: Iterable[dict[str, Any]], earlier: float = math.inf
) -> Iterator[dict[str, Any]]:
    """Yield the lines of an experiment's journal that count.

    ``earlier`` is the number of lines that were there when the step began, by default all of them.
    """
    current = {instance.fingerprint for instance in instances(experiment)}
    for number, line in enumerate(lines):
        earlier_error = line["status"] == "error" and ":" in line["solver"] and number < earlier
        if line["row"] in current and line["status"] != "not_run" and not earlier_error:
            yield line


class MissingRuns:
    """The runs of an experiment that are still to be made, given all lines of its journal.

    ``shuffle`` is the seed of a random order of the contenders; None means that they take turns. ``earlier``
    is that of `counting`.
    """

    def __init__(
        self,
        experiment: Experiment,
        shuffle: int | None,
        lines: Iterable[dict[str, Any]],
        earlier: int = 0,
    ) -> None:
        self._experiment = experiment
        self._shuffle = shuffle
        #: Lines that count by the fingerprint of their instance, and those among them that record a limit.
        self._lines: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._limits: list[dict[str, Any]] = []
        for line in counting(experiment, lines, earlier):
            self.add(line)

    def add(self, line: dict[str, Any]) -> None:
        """Record a run.

        Two jobs of the same rows, such as `all` and one of a size, may both have made it: the first counts.
        """
        lines, which = self._lines[line["row"]], ("contender", "repeat")
        if any(all(line[key] == other[key] for key in which) for other in lines):
            return
        lines.append(line)
        if line["status"] in LIMITS:
            self._limits.append(line)

    def lines(self, instance: Instance) -> list[dict[str, Any]]:
        """Return the lines of an instance."""
        return list(self._lines[instance.fingerprint])

    def runs(self, instance: Instance, stopped: dict[str, str]) -> Iterator[tuple[Contender, int]]:
        """
        Yield the runs still to be made; re-evaluated after each run, since results can make others needless.

        ``stopped`` is what :meth:`stopped` returned. The order of the contenders rotates by one with each
        repeat and permutation, so that no contender always runs first. If the configuration asks for it, the
        order is random instead, anew in each repeat.
        """
        contenders = [contender for contender in instance.contenders if contender.label not in stopped]
        for repeat in range(self._experiment.repeats):
            for contender in self._order(instance, contenders, repeat):
                if self._is_missing(instance, contender, repeat):
                    yield contender, repeat

    def stopped(self, instance: Instance) -> dict[str, str]:
        """Return the contenders that already met a limit, with the reason why they are not run here.

        The limit may have been met at a smaller size, at an easier point of the axis, or in an earlier
        permutation, which is the same problem.
        """
        found: dict[str, str] = {}
        for line in sorted(self._limits, key=lambda line: line["n"]):
            before, here = (line["n"], line["point"]), (instance.n, instance.point)
            if before != here and self._experiment.harder(here, before):
                at = "" if line["point"] is None else f", {line['axis']} = {line['point']:g}"
                found.setdefault(line["contender"], f"{line['reason']} at n = {line['n']:,}{at}")
            elif before == here and instance.permutation is not None and line["seed"] < instance.permutation:
                found.setdefault(line["contender"], f"{line['reason']} in permutation {line['seed'] + 1}")
        return found

    def _order(self, instance: Instance, contenders: list[Contender], repeat: int) -> list[Contender]:
        """Return the contenders in the order in which they run in a repeat."""
        if self._shuffle is not None:
            place = (self._experiment.name, instance.n, instance.seed, instance.point, repeat)
            source = random.Random(repr((self._shuffle, *place)))
            return source.sample(contenders, len(contenders))
        turn = (repeat + (instance.permutation or 0)) % len(contenders) if contenders else 0
        return contenders[turn:] + contenders[:turn]

    def _is_missing(self, instance: Instance, contender: Contender, repeat: int) -> bool:
        done = [line for line in self._lines[instance.fingerprint] if line["contender"] == contender.label]
        if any(line["repeat"] == repeat or line["status"] in FINAL for line in done):
            return False
        budget = self._experiment.repeat_budget
        return not done or budget is None or sum(line["cpu_seconds"] or 0.0 for line in done) < budget
