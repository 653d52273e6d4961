"""Measured runs as the analysis sees them: ``measurements.csv``, grouped by contender and size.

The file is tidy: one line per run, with the nested keys of the JSON record joined by dots
(``certificate.n_bound``). A `Group` holds all repeats of one contender on one problem. It knows which of them
may be timed, or why there is nothing to show.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from svmrepro.workflow.journal.journal_line import DID_NOT_STOP, OPTIMAL, OWN_LIMIT, STOPPED
from svmrepro.workflow.number_text import separated
from svmrepro.workflow.result_files import field_types
from svmrepro.workflow.statistics import Interval, median_interval

CPU, WORK, WALL = "cpu_seconds", "work", "wall_seconds"
QUANTITIES = (CPU, WORK)
"""Quantities that are fitted and compared: CPU seconds of the solving thread, and counted operations."""

WORK_TERMS = ("work.nonzeros", "work.hessian_entries", "work.gradient_updates")
"""Counters whose sum is the counted work: input components touched by dot products and updates, Hessian
entries touched by matrix products, gradient entries updated. Solvers report the ones that apply."""


RELATIVE_GAP = "certificate.relative_gap"
"""The duality gap divided by the primal objective; derived, not a column of its own."""

NO_DATA = re.compile(r"((?:test set: )?data set \S+ (?:is )?not available): (?:([^\s:]+): )?")
"""Prefix of a reason *not run* for missing data; it names the data set and the file."""

NOT_INSTALLED = re.compile(r"not installed: (\S+)")
"""Prefix of a reason *not run* for a peer solver whose package is missing; it names the package."""

LOWER_BOUNDS = ("certificate.dual", "certificate.relaxed")
"""Columns with lower bounds of the optimum."""

UNREPORTED = ("iterations", "kernel_evaluations")
"""Counts that a package may not report; the journal then has 0."""

GROWING = (*UNREPORTED, WORK)
"""Counts that only grow during a run: if a limit stopped it, they are lower bounds."""

IDENTITY = ("experiment", "n", "point", "seed", "contender", "repeat")
"""Fields that identify a run. Two lines that agree in all of them would count one measurement twice."""

_GIBI = 2.0**30

Conditions = tuple[str, str]
"""Hardware and protocol of timing."""


def known_count(value: float | None, package: str | None) -> float | None:
    """Return a count of `UNREPORTED`; None for the 0 of another ``package``, which did not report it."""
    return value if value or not package else None


@dataclass(frozen=True)
class MeasuredRun:
    """One line of ``measurements.csv``; `fields` holds all columns as text, empty for null."""

    fields: Mapping[str, str]

    @property
    def experiment(self) -> str:
        """Name of the experiment."""
        return self.fields["experiment"]

    @property
    def contender(self) -> str:
        """Label of the contender within its experiment."""
        return self.fields["contender"]

    @cached_property
    def n(self) -> int:
        """Number of training examples."""
        return int(self.fields["n"])

    @cached_property
    def point(self) -> float | None:
        """Value on the experiment's axis; None without an axis, or if the run stands for all points."""
        return self.number("point")

    @property
    def status(self) -> str:
        """One of the statuses of `svmrepro.workflow.journal.journal_line`."""
        return self.fields["status"]

    @cached_property
    def flagged(self) -> bool:
        """Whether the seconds of this run are doubtful (other load on the machine)."""
        return field_types.flag(self.fields["flagged"])

    @cached_property
    def solved(self) -> bool:
        """Whether the run ended at an optimum confirmed by its certificate."""
        return self.status == OPTIMAL and field_types.flag(self.fields.get("certificate.passed") or "0")

    @cached_property
    def timed_out(self) -> bool:
        """Whether the run ended at its time limit, and not at a limit of the solver's own."""
        return self.status == "time_limit" and not self.fields.get("reason", "").startswith(OWN_LIMIT)

    @cached_property
    def pair(self) -> tuple[str, str, str]:
        """Process, seed and repeat: two runs must share these for their ratio to be formed."""
        return (self.fields.get("run_id", ""), self.fields.get("seed", ""), self.fields["repeat"])

    @cached_property
    def hardware(self) -> str:
        """Hardware of the run as far as it affects seconds: processor, cores, memory; "" if unknown."""
        memory = self.number("machine.memory_bytes")
        cpu, kind, cores, threads = (
            self.fields.get(f"machine.{name}", "") for name in ("cpu", "cpu_id", "cores", "threads")
        )
        told = [
            f"{cpu} ({kind})" if kind else cpu,
            cores and f"{cores} cores",
            threads and f"{threads} threads",
            # Rounded: machines of one kind differ by a few megabytes reserved by their kernels.
            "" if memory is None else f"{round(memory / _GIBI)} GiB",
        ]
        return ", ".join(filter(None, told))

    @property
    def protocol(self) -> str:
        """Protocol of timing: its version, and the settings that affect seconds."""
        return self.fields.get("protocol") or "1"

    @cached_property
    def conditions(self) -> Conditions:
        """What seconds must share to be compared: hardware and protocol of timing."""
        return self.hardware, self.protocol

    @cached_property
    def work(self) -> float | None:
        """The counted work, the sum of its terms; None if there are none."""
        terms = [term for each in WORK_TERMS if (term := self.number(each)) is not None]
        return sum(terms) if terms else None

    def number(self, column: str) -> float | None:
        """Return the number in a column; None if it is empty or absent.

        Values in ``info`` that are not numbers give None, too. `WORK` is no column of its own.
        `RELATIVE_GAP` is a quotient, and None if the objective is 0.
        """
        if column == WORK:
            return self.work
        if column == RELATIVE_GAP:
            gap, primal = self.number("certificate.gap"), self.number("certificate.primal")
            ratio = gap / abs(primal) if gap is not None and primal else None
            return ratio if ratio is not None and abs(ratio) <= field_types.MOST else None
        text = self.fields.get(column, "")
        if column.startswith("info."):  # solvers may report anything here
            with suppress(ValueError):
                return field_types.number(text)
            return None
        return float(text) if text else None


@dataclass(frozen=True)
class Group:
    """All runs (at least zero) of one contender at one size of one experiment."""

    runs: tuple[MeasuredRun, ...]
    conditions: Conditions | None = None
    """Hardware and protocol whose seconds count (`MeasuredRun.conditions`); None if all runs share them."""
    absent: str = "no measurement"
    """Why there are no runs, if there are none."""

    @cached_property
    def solved(self) -> tuple[MeasuredRun, ...]:
        """The certified runs."""
        return tuple(run for run in self.runs if run.solved)

    @cached_property
    def _here(self) -> tuple[MeasuredRun, ...]:
        """The solved runs under `conditions`."""
        return tuple(run for run in self.solved if self.conditions in (None, run.conditions))

    @cached_property
    def stopped(self) -> tuple[MeasuredRun, ...]:
        """The unflagged runs under `conditions` that the time limit stopped."""
        stopped = (run for run in self.runs if run.status == "time_limit" and not run.flagged)
        return tuple(run for run in stopped if self.conditions in (None, run.conditions))

    @cached_property
    def timed(self) -> tuple[MeasuredRun, ...]:
        """Solved runs under `conditions` whose seconds count: the unflagged ones, or all if none is.

        Empty if the time limit stopped at least as many runs: the median is then beyond the limit.
        """
        counted = tuple(run for run in self._here if not run.flagged) or self._here
        return counted if len(counted) > len(self.stopped) else ()

    def seconds_until_stopped(self, beside: Group) -> float | None:
        """Return the CPU seconds after which the time limit stopped a run; None if it stopped none.

        Only unflagged runs under the conditions of the seconds ``beside`` them count.
        """
        conditions = {run.conditions for run in beside.timed}
        stopped = [run for run in self.runs if run.status == "time_limit" and not run.flagged]
        found = [run.number(CPU) for run in stopped if run.conditions in conditions]
        return next((each for each in found if each), None)

    def count_until_stopped(self, column: str) -> float | None:
        """Return a lower bound of a `GROWING` count by the runs that a limit stopped; None if there is none.

        It is the smallest over the samples of the largest over their repeats. Flagged runs count as well:
        other load changes no count.
        """
        if column not in GROWING:
            return None
        found: dict[str, float] = {}
        for run in self.runs:
            if run.status in STOPPED and (count := run.number(column)):
                seed = run.fields.get("seed", "")
                found[seed] = max(count, found.get(seed, 0.0))
        return min(found.values(), default=None)

    def incomplete(self, column: str) -> bool:
        """Whether a limit stopped runs, so that a column lacks their values, which may be the largest."""
        if column in (CPU, WALL):
            return bool(self.stopped)
        return any(run.status in STOPPED for run in self.runs)

    @property
    def all_flagged(self) -> bool:
        """Whether all timed runs are flagged."""
        return bool(self.timed) and all(run.flagged for run in self.timed)

    @property
    def elsewhere(self) -> bool:
        """Whether there are results but no seconds, because all runs were made under other conditions."""
        return bool(self.solved) and not self._here

    @property
    def untimed(self) -> str:
        """Short reason why there are no seconds; "" if there are."""
        if self._here and not self.timed:
            number = len(self.stopped) + len(self._here)
            return f"stopped: time limit in {len(self.stopped)} of {number} runs"
        if not self.elsewhere:
            return self.reason
        here = any(self.conditions and run.hardware == self.conditions[0] for run in self.solved)
        return f"not timed: solved {'by another timing protocol' if here else 'on other hardware'}"

    @property
    def briefly(self) -> str:
        """Why there are no seconds, in a few words; the tables give the full reason."""
        return ": ".join(self.untimed.split(": ")[:2])

    @property
    def reason(self) -> str:
        """Short reason why there is nothing to show; "" if there is."""
        if self.solved:
            return ""
        if not self.runs:
            return f"not run: {self.absent}"
        run = self.runs[0]
        said = separated(run.fields.get("reason", ""))
        if run.status == "not_run":
            missing = NO_DATA.match(said)
            if missing:
                # The answers of each download source are listed once, below the table.
                said = missing[1] + (f" ({missing[2]})" if missing[2] else "")
            if NOT_INSTALLED.match(said):
                return said
            return f"not run: {said}" if said else "not run"
        if run.status == "memory_limit":
            limit = None if said.startswith(OWN_LIMIT) else run.number("memory_limit_mb")
            least = "the solver's own limit of memory" if limit is None else f"{limit:g} MB"
            return f"not run: needs more than {least}"
        if run.timed_out and not said.startswith(DID_NOT_STOP):
            limit = run.number("time_limit")
            return f"stopped: time limit of {'?' if limit is None else f'{limit:g}'} s"
        if run.status == "iteration_limit" or said.startswith(OWN_LIMIT):
            return said or "stopped: iteration limit"
        if run.status in ("uncertified", OPTIMAL):
            return "no timing: certificate failed"
        return f"failed: {said or run.status}"

    def values(self, column: str) -> list[float]:
        """Return a column over the runs that count for it: `timed` for seconds, otherwise `solved`."""
        chosen = self.timed if column in (CPU, WALL) else self.solved
        return [value for run in chosen if (value := run.number(column)) is not None]

    def median(self, column: str) -> float | None:
        """Return the median of a column; None if no run has a value.

        Runs that the time limit stopped count as longer than all others.
        """
        values = self.values(column)
        if values and column in (CPU, WALL):
            values += [math.inf] * len(self.stopped)
        return statistics.median(values) if values else None

    def interval(self, column: str) -> Interval | None:
        """Return the median of a column of positive numbers, with its 95 % interval if no run was stopped."""
        middle, values = self.median(column), self.values(column)
        if middle is None:
            return None
        stopped = column in (CPU, WALL) and bool(self.stopped)
        no_logarithms = min(values) <= 0 and min(values) != max(values)
        return Interval(middle) if stopped or no_logarithms else median_interval(values)


@dataclass(frozen=True)
class Runs:
    """Every run of one or more experiments."""

    runs: tuple[MeasuredRun, ...]

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str, int, float | None], Group]:
        grouped: dict[tuple[str, str, int, float | None], list[MeasuredRun]] = {}
        for run in self.runs:
            grouped.setdefault((run.experiment, run.contender, run.n, run.point), []).append(run)
        return {key: Group(tuple(runs), self.timing_conditions.get(key[0])) for key, runs in grouped.items()}

    @cached_property
    def _keys(self) -> Mapping[str, list[tuple[str, int, float | None]]]:
        """Contender, size and point of the groups of each experiment."""
        found: dict[str, list[tuple[str, int, float | None]]] = {}
        for name, contender, n, point in self._groups:
            found.setdefault(name, []).append((contender, n, point))
        return found

    @cached_property
    def started(self) -> frozenset[str]:
        """The contenders with a run that was made."""
        return frozenset(run.contender for run in self.runs if run.status != "not_run")

    @cached_property
    def timing_conditions(self) -> Mapping[str, Conditions]:
        """Return hardware and protocol whose seconds count, for each experiment that ran under several.

        These are the conditions under which most of the experiment's problems were solved; ties go to those
        with more runs that are not flagged, with more runs, and to the first. Seconds from other hardware, or
        by another protocol of timing, are not compared with anything, and time limits met there do not count.
        Counts and objectives are the same everywhere.
        """
        found: dict[str, dict[Conditions, list[MeasuredRun]]] = {}
        for run in self.runs:
            if run.solved or run.status == "time_limit":
                solved = found.setdefault(run.experiment, {}).setdefault(run.conditions, [])
                if run.solved:
                    solved.append(run)

        def rank(solved: list[MeasuredRun]) -> tuple[int, int, int]:
            problems = {(run.n, run.point) for run in solved}
            return len(problems), sum(not run.flagged for run in solved), len(solved)

        return {
            name: max(kinds, key=lambda kind: rank(kinds[kind]))
            for name, kinds in found.items()
            if len(kinds) > 1 and any(kinds.values())
        }

    def group(self, experiment: str, contender: str, n: int, point: float | None = None) -> Group:
        """Return the runs of one contender at one size, and at one point of the axis if given.

        Runs without a point belong to an experiment without an axis, or stand for every point: a contender
        with its own tolerance does not depend on an eps axis. The group is empty if there are no runs.
        """
        found = self._groups.get((experiment, contender, n, point))
        return found or self._groups.get((experiment, contender, n, None), Group(()))

    def sizes(self, experiment: str) -> tuple[int, ...]:
        """Return the sizes, ascending."""
        return tuple(sorted({n for _, n, _ in self._keys.get(experiment, ())}))

    def points(self, experiment: str) -> tuple[float, ...]:
        """Return the points of the axis, ascending; empty if the experiment has no axis."""
        found = {point for _, _, point in self._keys.get(experiment, ())}
        return tuple(sorted(point for point in found if point is not None))

    def contenders(self, experiment: str) -> tuple[str, ...]:
        """Return the contenders in order of appearance."""
        return tuple(dict.fromkeys(label for label, _, _ in self._keys.get(experiment, ())))

    def series(self, experiment: str, contender: str, quantity: str) -> dict[float, list[float]]:
        """Return size -> values of the repeats, for `power_law.fit_power_law`, omitting sizes without values.

        Seconds of flagged runs are upper bounds, which would turn the line: sizes that have no others are
        omitted, too, unless all are such. So are sizes at which the time limit stopped a run. In an
        experiment with an axis the result is by its points at the largest size.
        """
        groups = self.groups_of_series(experiment, contender)
        found = {at: values for at, group in groups.items() if (values := group.values(quantity))}
        if quantity in (CPU, WALL):
            flagged = not self.only_flagged(experiment, contender)
            found = {
                at: values
                for at, values in found.items()
                if not (groups[at].stopped or (flagged and groups[at].all_flagged))
            }
        return found

    def only_flagged(self, experiment: str, contender: str) -> bool:
        """Whether all seconds of :meth:`series` are of flagged runs; false if there are none."""
        timed = [group for group in self.groups_of_series(experiment, contender).values() if group.timed]
        return bool(timed) and all(group.all_flagged for group in timed)

    def groups_of_series(self, experiment: str, contender: str) -> dict[float, Group]:
        """Return the runs of a contender by size, or by point of the axis at the largest size."""
        sizes, points = self.sizes(experiment), self.points(experiment)
        if not points:
            return {n: self.group(experiment, contender, n) for n in sizes}
        found = {at: self._groups.get((experiment, contender, sizes[-1], at)) for at in points}
        return {at: group for at, group in found.items() if group}
