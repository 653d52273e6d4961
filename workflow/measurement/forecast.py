"""Forecast of the remaining runs and time, from the journals and the reference run's fitted curves.

Only the timed runs are forecast; :mod:`svmrepro.workflow.running.run_cost` adds compiling and other steps.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import geometric_mean, median
from typing import Any

from svmrepro.workflow.configuration import Config, Contender, Experiment, paths
from svmrepro.workflow.configuration.jobs import jobs
from svmrepro.workflow.journal.journal_file import Journal
from svmrepro.workflow.journal.journal_line import FINAL, LIMITS
from svmrepro.workflow.journal.missing_runs import counting
from svmrepro.workflow.measurement.data_sets import read_marker

#: Assumed exponent of a solver's time in n if nothing better is known, and the range to which fits are
#: clipped.
USUAL_SLOPE, LEAST_SLOPE, MOST_SLOPE = 2.0, 1.0, 3.5
#: Assumed CPU seconds of a run at 1,000 rows before anything has been measured.
FIRST_GUESS = 0.1
#: Seconds of a job besides its runs: starting Python, loading data and compiled code.
JOB_SECONDS = 3.0
#: The remaining time is not shown if more than this share of it rests on `FIRST_GUESS`.
MOST_GUESSED = 0.5
#: A run is overdue after this many times its expected seconds, but not before this many seconds.
TIMES_OVERDUE, LEAST_OVERDUE = 3.0, 5.0
#: If all journals together exceed this many bytes, only those of the experiments to forecast are read.
MOST_BYTES = 80_000_000

_Key = tuple[str, str, str]
_RUN = ["experiment", "contender", "n"]
_Place = tuple[int, float | None]


class Forecast:
    """The runs of a scale: how many were made, how many are left, and how long those will take.

    ``present`` lists the experiments to forecast, or is the one being measured. The others of the scale are
    then read, too, to learn how long its solvers take, unless their journals are too large. ``earlier`` is
    that of `missing_runs.counting`.
    """

    def __init__(
        self, config: Config, present: Experiment | Sequence[Experiment], earlier: float = math.inf
    ) -> None:
        self._config = config
        alone = isinstance(present, Experiment)
        self._experiments = [present] if isinstance(present, Experiment) else list(present)
        if alone and self._journal_bytes() <= MOST_BYTES:
            self._experiments = config.experiments
        #: Seconds by contender and size.
        self._seconds: dict[_Key, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        #: Number of runs made, by contender, size and point.
        self._made: dict[_Key, dict[_Place, int]] = defaultdict(lambda: defaultdict(int))
        #: Sizes and points at which a contender met a limit.
        self._stopped: dict[_Key, list[_Place]] = defaultdict(list)
        #: Contenders by solver, and cached guesses from them; a scale has hundreds of contenders.
        self._running: dict[str, list[_Key]] = defaultdict(list)
        for each in self._experiments:
            for contender in each.contenders.values():
                self._running[contender.solver].append(_key(each, contender))
        self._guesses: dict[str, dict[int, float]] = defaultdict(dict)
        #: Seconds of the reference run by contender and size, and this machine's seconds for one of those.
        self._reference = {} if alone or not self._experiments else _reference_seconds(config)
        self._paces: list[float] = []
        for experiment in self._experiments:
            journal = Journal(paths.journal(config, experiment.paper, experiment.name))
            for line in counting(experiment, journal.valid_lines(), earlier):
                self.add(line)

    def add(self, line: Mapping[str, Any]) -> None:
        """Record a run."""
        key = (line["paper"], line["experiment"], line["contender"])
        place = (line["n"], line["point"])
        self._made[key][place] += 1
        if line["status"] in FINAL:
            # Its remaining repeats will never be made, so they count as made.
            repeats = self._config.experiment(line["paper"], line["experiment"]).repeats
            self._made[key][place] += max(0, repeats - line["repeat"] - 1)
        if line["cpu_seconds"] is not None:
            known = self._reference.get(key)
            if known:
                self._paces.append(max(line["cpu_seconds"], 1e-6) / extrapolate(known, line["n"]))
            self._seconds[key][line["n"]].append(line["cpu_seconds"])
            self._guesses.pop(line["solver"], None)
        if line["status"] in LIMITS:
            self._stopped[key].append(place)

    def left(self, only: Experiment | None = None) -> tuple[int, float | None]:
        """Return the number of remaining runs, and an estimate of their seconds with the start of their jobs.

        They are counted for one experiment, or for all that are covered. The seconds are None while most of
        them belong to solvers that have not been measured anywhere.
        """
        runs, seconds, guessed = 0, 0.0, 0.0
        for experiment in [only] if only else self._experiments:
            marker = read_marker(self._config, experiment.dataset)
            if marker is not None and not marker.available:
                continue
            before = runs
            for contender in experiment.contenders.values():
                more, longer = self._left_of(experiment, contender)
                runs += more
                seconds += longer
                if not any(self._points(key) for key in self._running[contender.solver]):
                    guessed += longer
            if runs > before:
                seconds += JOB_SECONDS * len(jobs(self._config, experiment))
        return runs, None if guessed > MOST_GUESSED * seconds else seconds

    def seconds(self, experiment: Experiment, contender: Contender, n: int) -> float:
        """Estimate the CPU seconds of a run: the median of its runs at this size.

        Without any, it is the first available of these, and at most the time limit:

        1. the contender's runs at other sizes, extrapolated on log-log scales;
        2. the median of the other contenders, because the problem decides more than the solver;
        3. the same solver in other experiments.
        """
        points = self._points(_key(experiment, contender))
        if points:
            guess = extrapolate(points, n)
        elif others := [
            known
            for each in experiment.contenders.values()
            if (known := self._points(_key(experiment, each)))
        ]:
            guess = median(extrapolate(known, n) for known in others)
        else:
            guess = self._from_elsewhere(contender.solver, n)
        return guess if contender.time_limit is None else min(guess, contender.time_limit)

    def _left_of(self, experiment: Experiment, contender: Contender) -> tuple[int, float]:
        """Return the number of remaining runs of a contender, and their seconds.

        This approximates what `missing_runs` decides run by run: budgets are divided by the expected seconds,
        and limits are expected where these reach the time limit.
        """
        key = _key(experiment, contender)
        runs, seconds = 0, 0.0
        late: list[_Place] = []
        for place in [
            (n, point) for n in experiment.sizes_of(contender) for point in experiment.points_of(contender)
        ]:
            if any(experiment.harder(place, other) for other in (*self._stopped[key], *late)):
                continue
            each = self.seconds(experiment, contender, place[0])
            repeats = experiment.repeats
            if experiment.repeat_budget is not None and each > 0:
                repeats = min(repeats, max(1, math.ceil(experiment.repeat_budget / each)))
            more = max(0, repeats * len(experiment.seeds_of(contender)) - self._made[key][place])
            runs += more
            seconds += more * each
            if more and contender.time_limit is not None and each >= contender.time_limit:
                late.append(place)
        return runs, seconds

    def _points(self, key: _Key) -> Mapping[int, Sequence[float]]:
        """Return measured seconds of a contender by size, or else the reference's, scaled to this machine."""
        measured = self._seconds.get(key)
        if measured or key not in self._reference:
            return measured or {}
        pace = geometric_mean(self._paces[-200:]) if self._paces else 1.0
        return {n: [pace * each for each in seconds] for n, seconds in self._reference[key].items()}

    def _from_elsewhere(self, solver: str, n: int) -> float:
        known = self._guesses[solver]
        if n not in known:
            keys = self._running[solver]
            # If no seconds of this solver are known, fall back on those of other solvers.
            if not any(map(self._points, keys)):
                keys = list(self._reference)[::10]
            found = [extrapolate(points, n) for key in keys if (points := self._points(key))]
            known[n] = geometric_mean(found) if found else FIRST_GUESS * (n / 1000) ** USUAL_SLOPE
        return known[n]

    def _journal_bytes(self) -> int:
        experiments = self._config.experiments
        journals = [paths.journal(self._config, each.paper, each.name) for each in experiments]
        return sum(path.stat().st_size for path in journals if path.exists())


def _reference_seconds(config: Config) -> dict[_Key, dict[int, list[float]]]:
    """Read the median seconds of reference runs by size, those of the configuration's scale first."""
    import pyarrow.parquet as pq  # only whole scales need it

    found: dict[_Key, dict[int, list[float]]] = {}
    folder = paths.reference(config).parent
    for scale in dict.fromkeys([config.scale, "default", "smoke"]):
        for file in sorted((folder / scale).glob("*/measurements.parquet")):
            of_scale: dict[_Key, dict[int, list[float]]] = defaultdict(dict)
            with suppress(OSError, ValueError, KeyError):
                runs = pq.read_table(file, columns=[*_RUN, "cpu_seconds"]).group_by(_RUN)
                for row in runs.aggregate([("cpu_seconds", "approximate_median")]).to_pylist():
                    seconds = row["cpu_seconds_approximate_median"]
                    if seconds is not None:
                        key = (file.parent.name, row["experiment"], row["contender"])
                        of_scale[key][row["n"]] = [seconds]
            found = {**of_scale, **found}
    return found


def extrapolate(points: Mapping[int, Iterable[float]], n: int) -> float:
    """Extrapolate the power law through the medians of seconds at the two sizes that are nearest to n."""
    medians = {size: max(median(seconds), 1e-6) for size, seconds in points.items()}
    if n in medians:
        return medians[n]
    near = sorted(medians, key=lambda size: abs(math.log(size / n)))[:2]
    slope = USUAL_SLOPE
    if len(near) == 2:
        slope = math.log(medians[near[0]] / medians[near[1]]) / math.log(near[0] / near[1])
    return float(medians[near[0]] * (n / near[0]) ** min(max(slope, LEAST_SLOPE), MOST_SLOPE))


def overdue(passed: float, expected: float) -> bool:
    """Whether a run has taken so long that its end can no longer be forecast."""
    return passed > max(LEAST_OVERDUE, TIMES_OVERDUE * expected)


def duration(seconds: float) -> str:
    """Format a duration: ``40 s``, ``3 min``, ``2 h 10 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _key(experiment: Experiment, contender: Contender) -> _Key:
    return experiment.paper, experiment.name, contender.label
