"""
The page "Scale on paper": what runs cost that nobody has made, from what has been measured.

Measured are the fits and ratios of the committed reference runs, and ``docs/scale.json``, which
``docs/measure_scale.py`` writes on any machine (its key ``assumed`` is written by hand). What follows from
them is computed here, by the formulae that stand on the page.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from svmrepro.workflow.configuration.jobs import BLOCK, MOST_BLOCKS, jobs
from svmrepro.workflow.configuration.model import Config, Contender, Experiment, load_config

from sitekit.parts import PartError, Texts

HOUR = 3600.0
#: Load at the end of a measurement above which something else must have run beside it.
_QUIET = 1.3
_Key = tuple[str, str]


@dataclass
class Seconds:
    """
    Seconds of a run, by experiment, contender and size, from one reference run of a paper.

    Attributes
    ----------
    laws
        (intercept, exponent, smallest and largest size fitted): T(n) = exp(intercept) n^exponent.
    known
        Seconds at a size, where an experiment has too few sizes for a law.
    permutations
        Those that the run had of an experiment, which may be fewer than the configuration's.
    """

    scale: str
    laws: dict[_Key, tuple[float, float, int, int]] = field(default_factory=dict)
    known: dict[_Key, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    permutations: dict[str, int] = field(default_factory=dict)

    def at(self, experiment: Experiment, contender: Contender, n: int) -> float | None:
        """Return the seconds of a run, at most its time limit; None where the run does not tell."""
        key = (experiment.name, contender.label)
        if key in self.laws:
            intercept, exponent, _, _ = self.laws[key]
            seconds = math.exp(intercept) * n**exponent
        elif n in self.known.get(key, {}):
            seconds = self.known[key][n]
        else:
            return None
        return seconds if contender.time_limit is None else min(seconds, contender.time_limit)

    def elsewhere(self, contender: Contender, n: int) -> float | None:
        """Return the geometric mean of what the contender's laws on the other sets say, at most its limit."""
        said = [
            intercept + exponent * math.log(n)
            for (_, label), (intercept, exponent, _, _) in self.laws.items()
            if label == contender.label
        ]
        if not said:
            return None
        seconds = math.exp(sum(said) / len(said))
        return seconds if contender.time_limit is None else min(seconds, contender.time_limit)

    def reached(self, experiment: Experiment, contender: Contender, n: int) -> bool:
        """Whether a run of the paper scale came as far as this size: beyond, a limit had been passed."""
        law = self.laws.get((experiment.name, contender.label))
        return self.scale != "paper" or law is None or n <= law[3]


@dataclass
class Cost:
    """What a paper costs at its own scale, as far as a reference run tells."""

    paper: str
    scale: str | None
    jobs: int
    runs: int = 0
    seconds: float = 0.0
    made: float = 0.0
    guessed_runs: int = 0
    guessed: float = 0.0
    untold: int = 0
    stretch: float = 1.0


class Scale:
    """
    The page's numbers.

    Parameters
    ----------
    texts
        The page.
    """

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._reference = texts.root / "results" / "reference"
        file = texts.root / "docs" / "scale.json"
        if not file.is_file():
            raise PartError("there is no docs/scale.json; make it: ./run python docs/measure_scale.py")
        texts.read.add(file)
        self.record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for part in ("dag", "start", "journal", "passes", "assumed"):
            if part not in self.record:
                raise PartError(f"docs/scale.json has no {part!r}: ./run python docs/measure_scale.py {part}")

    # -- the paper scale ----------------------------------------------------------------------------

    @cached_property
    def _config(self) -> Config:
        folder = self._texts.root / "docs" / "papers"
        return load_config({"scale": "paper", "papers": sorted(page.stem for page in folder.glob("*.md"))})

    @cached_property
    def costs(self) -> list[Cost]:
        """What each paper costs."""
        return [self._cost(name) for name in self._config.papers]

    def papers(self) -> str:
        """Return the table of what the paper scale costs."""
        rows = []
        for cost in self.costs:
            told = cost.runs > 0
            rows.append(
                [
                    cost.paper,
                    cost.scale or "none yet",
                    f"{cost.jobs:,}",
                    f"{cost.runs:,}" if told else "–",
                    _number(cost.seconds / HOUR) if told else "–",
                    _number(cost.made / HOUR) if told and cost.scale == "paper" else "–",
                    f"{cost.guessed_runs:,}",
                    _number(cost.guessed / HOUR) if cost.guessed_runs else "–",
                    _number(self._start(cost)),
                    f"{cost.stretch:.0f}x" if told and cost.stretch > 1 else "none" if told else "–",
                    f"{cost.untold:,}",
                ]
            )
        rows.append(self._total())
        head = ("paper", "reference run", "jobs", "runs", "solving [core-hours]", "of that made there")
        guessed = ("runs guessed", "their solving [core-hours]")
        return _table((*head, *guessed, "starts [core-hours]", "farthest extrapolation", "runs untold"), rows)

    def _total(self) -> list[str]:
        """Return the last row of the table: all papers together."""
        costs = self.costs
        return [
            "**all**",
            "",
            f"{sum(cost.jobs for cost in costs):,}",
            f"{sum(cost.runs for cost in costs):,}",
            _number(sum(cost.seconds for cost in costs) / HOUR),
            "",
            f"{sum(cost.guessed_runs for cost in costs):,}",
            _number(sum(cost.guessed for cost in costs) / HOUR),
            _number(sum(map(self._start, costs))),
            "",
            f"{sum(cost.untold for cost in costs):,}",
        ]

    def _start(self, cost: Cost) -> float:
        """Return the core-hours in which the jobs of a paper start."""
        return cost.jobs * float(self.record["start"]["cpu_seconds"]) / HOUR

    def _cost(self, name: str) -> Cost:
        paper = self._config.papers[name]
        seconds = self._seconds(name)
        total = sum(len(jobs(self._config, experiment)) for experiment in paper.experiments.values())
        cost = Cost(name, seconds.scale if seconds else None, total)
        for experiment in paper.experiments.values():
            for contender in experiment.contenders.values():
                self._add(cost, seconds, experiment, contender)
        return cost

    def _add(self, cost: Cost, seconds: Seconds | None, experiment: Experiment, contender: Contender) -> None:
        """Add the runs of a contender."""
        times = len(experiment.seeds_of(contender)) * max(1, len(experiment.points))
        for n in experiment.sizes:
            each = seconds.at(experiment, contender, n) if seconds else None
            if seconds is None or each is None:
                guess = seconds.elsewhere(contender, n) if seconds else None
                if guess is None:
                    cost.untold += times * experiment.repeats
                else:
                    runs = times * repeats(experiment, guess)
                    cost.guessed_runs += runs
                    cost.guessed += runs * guess
            elif seconds.reached(experiment, contender, n):
                runs = times * repeats(experiment, each)
                cost.runs += runs
                cost.seconds += runs * each
                all_seeds = len(experiment.seeds_of(contender))
                had = min(all_seeds, seconds.permutations.get(experiment.name, all_seeds))
                cost.made += runs * each * had / all_seeds
                law = seconds.laws.get((experiment.name, contender.label))
                cost.stretch = max(cost.stretch, n / law[3] if law else 1.0)

    def _seconds(self, paper: str) -> Seconds | None:
        """Read the run of the largest scale, None if there is none beyond toys."""
        for scale in ("paper", "default"):
            folder = self._reference / scale / paper
            if (folder / "fits.csv").is_file():
                return self._read(scale, folder)
        return None

    def _read(self, scale: str, folder: Path) -> Seconds:
        found = Seconds(scale)
        for row in self._rows(folder / "fits.csv"):
            # Lines over C or eps have no numbers of examples at their ends.
            over_n = row["n_min"].isdigit() and row["n_max"].isdigit()
            if (row["quantity"], row["source"]) == ("cpu_seconds", "measured") and row["exponent"] and over_n:
                law = (float(row["intercept"]), float(row["exponent"]), int(row["n_min"]), int(row["n_max"]))
                found.laws[row["experiment"], row["contender"]] = law
        # Tables of means have the seconds of experiments of one size; ratios lead to the other contenders.
        for file in sorted(folder.glob("*.csv")):
            for row in self._rows(file):
                if "contender" in row or not row.get("experiment") or not row.get("n", "").isdigit():
                    continue
                if row.get("permutations", "").isdigit():
                    had = found.permutations.get(row["experiment"], 0)
                    found.permutations[row["experiment"]] = max(had, int(row["permutations"]))
                for column, value in row.items():
                    if column.endswith("_seconds") and not column.startswith("paper_") and value:
                        key = (row["experiment"], column.removesuffix("_seconds"))
                        found.known[key].setdefault(int(row["n"]), float(value))
        ratios = [row for row in self._rows(folder / "ratios.csv") if row["quantity"] == "cpu_seconds"]
        for row in ratios:
            n, ratio = int(row["n"]), float(row["ratio"] or 0)
            base = found.known.get((row["experiment"], row["denominator"]), {}).get(n)
            if base is not None and ratio > 0:
                found.known[row["experiment"], row["numerator"]].setdefault(n, base * ratio)
        return found

    def _rows(self, file: Path) -> list[dict[str, str]]:
        self._texts.read.add(file)
        with file.open(newline="", encoding="utf-8") as handle:
            return list(csv.DictReader(handle))

    # -- many permutations --------------------------------------------------------------------------

    def permutations(self) -> str:
        """Return what thousands of permutations cost, with jobs as they were and as they are."""
        wanted = int(self.record["assumed"]["permutations"])
        seconds = self._seconds("glasmachers2008")
        if seconds is None:
            raise PartError("no reference run of glasmachers2008 beyond the smoke scale")
        sets = self._config.papers["glasmachers2008"].experiments.values()
        runs, solving, lines = 0, 0.0, []
        for experiment in sets:
            known = [
                each
                for contender in experiment.contenders.values()
                if contender.permutations is None
                and (each := seconds.at(experiment, contender, experiment.sizes[-1])) is not None
            ]
            runs += wanted * len(known)
            solving += wanted * sum(known)
            lines.append(wanted * len(known))
        rows = [
            ["solving", "runs x seconds of a run", f"{solving / HOUR:,.0f}", f"{solving / HOUR:,.0f}"],
        ]
        narrow, wide = (self._overheads(len(lines), lines, wanted, width) for width in (False, True))
        for (name, formula, before), (_, _, after) in zip(narrow, wide, strict=True):
            rows.append([name, formula, before, after])
        head = ("what", "how it is computed", f"jobs of {BLOCK}", f"at most {MOST_BLOCKS} jobs a size")
        return f"{runs:,} runs.\n\n" + _table(head, rows)

    def _overheads(
        self, sets: int, lines: Sequence[int], wanted: int, wide: bool
    ) -> list[tuple[str, str, str]]:
        """Return name, formula and value of what is not solving."""
        width = max(BLOCK, -(-wanted // MOST_BLOCKS)) if wide else BLOCK
        each = -(-wanted // width)
        count = sets * each
        start, journal = self.record["start"], self.record["journal"]
        # On average a job finds half of the lines; it reads them once to measure and once to forecast.
        read = sum(each * total / 2 * 2 * journal["read_seconds_per_line"] for total in lines)
        keys = sets * each * wanted * journal["key_seconds_per_row"]
        return [
            ("jobs", "sets x permutations / permutations of a job", f"{count:,}"),
            ("planning, dry run [s]", "a + b jobs", f"{self.planning(count):,.0f}"),
            ("planning, memory [GB]", "a + b jobs", _number(self.planning_bytes(count) / 1e9)),
            (
                "starts of jobs [h]",
                "jobs x CPU seconds of a start",
                _number(count * start["cpu_seconds"] / HOUR),
            ),
            ("reading journals [h]", "jobs x lines of a set x seconds of a line", _number(read / HOUR)),
            ("keys of rows [h]", "jobs x rows of a set x seconds of a key", _number(keys / HOUR)),
            (
                "writing journals [h]",
                "lines x seconds of an append, with fsync",
                _number(sum(lines) * journal["append_seconds"] / HOUR),
            ),
            (
                "journals [GB]",
                "lines x bytes of a line",
                _number(sum(lines) * journal["bytes_per_line"] / 1e9),
            ),
            ("files", "jobs x files of a job", f"{count * start['files']:,.0f}"),
        ]

    # -- a hundred million rows ---------------------------------------------------------------------

    def rows(self) -> str:
        """Return what a run of SVM-perf over a very large set costs."""
        assumed, measured = self.record["assumed"], self.record["passes"]
        rows, table = int(assumed["rows"]), []
        for solver in ("svmperf", "ocas"):
            last = max((run for run in measured["runs"] if run["solver"] == solver), key=lambda run: run["n"])
            entries = rows * last["entries"] / last["n"]
            size = entries * assumed["bytes_per_entry"]
            cpu = last["cpu_seconds"] / last["passes"] / last["entries"] * entries
            for name, bandwidth in assumed["bytes_per_second"].items():
                one = max(cpu, size / bandwidth)
                many = max(cpu / assumed["workers"], size / bandwidth)
                table.append(
                    [
                        f"`{solver}`",
                        name,
                        f"{size / 1e9:,.0f}",
                        f"{last['passes']:,}",
                        f"{cpu:,.0f}",
                        f"{size / bandwidth:,.0f}",
                        _number(last["passes"] * one / HOUR),
                        _number(last["passes"] * many / HOUR),
                        "reading" if size / bandwidth > cpu else "the core",
                    ]
                )
        head = ("solver", "data on", "GB a pass", "passes", "computing a pass [s]", "reading a pass [s]")
        more = ("one core [h]", f"{assumed['workers']} cores [h]", "one core waits for")
        return _table((*head, *more), table)

    def passes(self) -> str:
        """Return the passes as they were measured."""
        rows = [
            [
                f"`{run['solver']}`",
                f"{run['n']:,}",
                f"{run['entries']:,}",
                f"{run['passes']:,}",
                _number(run["cpu_seconds"]),
                _number(1e9 * run["cpu_seconds"] / run["passes"] / run["entries"]),
            ]
            for run in self.record["passes"]["runs"]
        ]
        head = ("solver", "rows", "entries", "passes", "CPU seconds", "ns an entry and pass")
        return _table(head, rows)

    def kept_gigabytes(self) -> str:
        """Return the memory that the solver keeps for its rows."""
        rows = self.record["assumed"]["rows"]
        return _number(self.record["passes"]["kept_bytes_per_row"] * rows / 1e9)

    # -- planning -----------------------------------------------------------------------------------

    def dag(self) -> str:
        """Return the dry runs as they were measured."""
        rows = [
            [
                f"{run['jobs']:,}",
                _number(run["cpu_seconds"]),
                _number(run["peak_bytes"] / 1e9),
                _number(1e3 * run["cpu_seconds"] / run["jobs"]),
            ]
            for run in self.record["dag"]["runs"]
        ]
        return _table(("jobs", "CPU seconds", "peak memory [GB]", "ms a job"), rows)

    def planning(self, count: int) -> float:
        """Return the seconds of a dry run of so many jobs, by the line through the measured ones."""
        return _line([(run["jobs"], run["cpu_seconds"]) for run in self.record["dag"]["runs"]], count)

    def planning_bytes(self, count: int) -> float:
        """Return its memory."""
        return _line([(run["jobs"], run["peak_bytes"]) for run in self.record["dag"]["runs"]], count)

    # -- inputs -------------------------------------------------------------------------------------

    def inputs(self) -> str:
        """Return all numbers that are not from reference runs, with where they were measured."""
        start, journal, kept = self.record["start"], self.record["journal"], self.record["passes"]
        rows = [
            ["start of a job, CPU seconds", _number(start["cpu_seconds"]), "start.cpu_seconds"],
            ["of that Python itself", _number(start["python"]), "start.python"],
            ["Python and the step's imports", _number(start["imports"]), "start.imports"],
            [
                "Python, the solvers' imports, their code from numba's cache",
                _number(start["solver and its compiled code"]),
                "start.solver and its compiled code",
            ],
            ["files of a job, Snakemake's own with them", _number(start["files"]), "start.files"],
            ["bytes of a line of a journal", f"{journal['bytes_per_line']:,.0f}", "journal.bytes_per_line"],
            ["to append a line, ms", _number(1e3 * journal["append_seconds"]), "journal.append_seconds"],
            [
                "to read a line, µs",
                _number(1e6 * journal["read_seconds_per_line"]),
                "journal.read_seconds_per_line",
            ],
            [
                "key of a row, µs",
                _number(1e6 * journal["key_seconds_per_row"]),
                "journal.key_seconds_per_row",
            ],
            [
                "bytes that a solver keeps a row",
                _number(kept["kept_bytes_per_row"]),
                "passes.kept_bytes_per_row",
            ],
        ]
        for key, value in _flat(self.record["assumed"]):
            rows.append([f"assumed: {key}", f"{value:,.0f}", f"assumed.{key}"])
        return _table(("input", "value", "key in docs/scale.json"), [[a, b, f"`{c}`"] for a, b, c in rows])

    def machine(self, part: str) -> str:
        """Say where and when a part was measured."""
        where = self.record[part]["machine"]
        load = self.record[part]["load"]
        beside = f", at a load of {load:g}: seconds are upper bounds" if load > _QUIET else ""
        return (
            f"{where['cpu']}, {where['cores']} physical core{'s' if where['cores'] != 1 else ''}, "
            f"Python {where['python']}, {self.record[part]['date']}{beside}"
        )


def repeats(experiment: Experiment, seconds: float) -> int:
    """Return how often a run of so many seconds is made: until its budget is used up."""
    if experiment.repeat_budget is None or seconds <= 0:
        return experiment.repeats
    return min(experiment.repeats, max(1, math.ceil(experiment.repeat_budget / seconds)))


def _line(points: Sequence[tuple[float, float]], x: float) -> float:
    """Return the value at x of the least-squares line through some points."""
    mean = [sum(values) / len(points) for values in zip(*points, strict=True)]
    spread = sum((point[0] - mean[0]) ** 2 for point in points)
    slope = sum((point[0] - mean[0]) * (point[1] - mean[1]) for point in points) / spread
    return mean[1] + slope * (x - mean[0])


def _flat(values: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", number) for name, number in _flat(value))
        else:
            yield key, value


def _number(value: float) -> str:
    """Write three significant digits."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
