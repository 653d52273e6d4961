"""Readings of an algorithm, scored by how well their mean iterations agree with a paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from svmrepro.workflow.analysis import permutations
from svmrepro.workflow.analysis.permutations import ITERATIONS, PermutedProblem
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers, snake
from svmrepro.workflow.analysis.results import Results, plural
from svmrepro.workflow.analysis.runs import pairs
from svmrepro.workflow.configuration.contender_options import own_options
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.statistics import Interval, mean_interval
from svmrepro.workflow.tables.layout.cells import DASH, Cell, missing, number, percent, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, table_of


@dataclass(frozen=True)
class Reading:
    """A contender: how far its iterations are from the paper's on each set, and where it did not end.

    A deviation is relative: mean iterations over the baseline's on the same permutations, over the same ratio
    of the paper, minus 1.
    """

    contender: Contender
    deviations: Mapping[str, Interval]
    unended: tuple[str, ...]

    def score(self, names: Sequence[str]) -> float | None:
        """Return the mean of |log(1 + deviation)|; None if a set is missing."""
        if self.unended or not names or not set(names) <= self.deviations.keys():
            return None
        return sum(abs(math.log1p(self.deviations[name].value)) for name in names) / len(names)

    def agreeing(self, names: Sequence[str], within: float) -> tuple[int, int]:
        """Return on how many sets it agrees with the paper, and of how many.

        It does if its deviation is at most ``within``, or 0 is in its interval.
        """
        found = [self.deviations[name] for name in names if name in self.deviations]
        return sum(_agrees(each, within) for each in found), len(found)

    def worst(self) -> str:
        """Return the set with the largest deviation, "" if there is none."""
        return max(self.deviations, key=lambda name: abs(self.deviations[name].value), default="")


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per reading, and below it one line per data set for the best readings.

    Settings of the artefact: ``paper`` and ``table`` (the file with the printed numbers), ``baseline``,
    ``printed`` (the column of that file, as a contender), ``chosen`` (the sets by which readings are chosen),
    ``within`` (the deviation that counts as agreement) and ``shown`` (readings that are shown by data set,
    besides the best five).
    """
    settings = artefact.settings
    results = replace(results, numbers=PaperNumbers(results.numbers.folder, settings["paper"]))
    baseline, within = settings["baseline"], settings["within"]
    problems = [
        problem
        for problem in permutations.problems(results, artefact.experiments, settings["table"])
        if problem.n_paper is not None
    ]
    contenders = {
        label: contender
        for problem in problems
        for label, contender in results.experiment(problem.name).contenders.items()
    }
    readings = [_reading(results, contender, problems, settings) for contender in contenders.values()]
    chosen = [problem.name for problem in problems if problem.name in settings["chosen"]]
    others = [problem.name for problem in problems if problem.name not in settings["chosen"]]
    ended = [reading for reading in readings if not reading.unended]
    shared = [name for name in others if all(name in reading.deviations for reading in ended)]
    readings.sort(key=lambda reading: reading.score(chosen) or (math.inf if reading.unended else 1e9))
    columns = [
        Column("reading", "reading", prose=True),
        Column("options", "options", prose=True),
        Column("score", "score", group=f"{len(chosen)} sets to choose by"),
        Column("agreeing", "agree", group=f"{len(chosen)} sets to choose by"),
        Column("score_others", "score", group="sets held out"),
        Column("agreeing_others", "agree", group="sets held out"),
        Column("worst", "largest deviation", prose=True),
        Column("longest", "longest planned step"),
    ]
    rows = [_row(results, reading, chosen, others, shared, within) for reading in readings]
    best = [reading for reading in readings if reading.score(chosen) is not None][:5]
    labels = list(dict.fromkeys([*settings.get("shown", ()), *(each.contender.label for each in best)]))
    by_label = {reading.contender.label: reading for reading in readings}
    by_set = TableSection(
        [
            Column("set", "data set", prose=True),
            Column("held_out", "used", prose=True),
            Column("paper", "PA-SMO over SMO", paper=True),
            *(
                Column(f"{label}_deviation", label, group="deviation")
                for label in labels
                if label in by_label
            ),
        ],
        [_set_row(results, problem, labels, by_label, chosen, settings) for problem in problems],
        "By data set",
    )
    listed = ", ".join(results.experiment(name).title for name in chosen)
    notes = [
        f"Deviation: mean iterations over those of {baseline} on the same permutations, over the same ratio "
        "of the paper, minus 1, with its 95 % interval. Score: mean of |log(1 + deviation)| over the sets. "
        f"Agree: the deviation is at most {100 * within:g} %, or its interval includes 0.",
        f"Readings are chosen by their score on {listed}. The score of the sets held out is that of the "
        f"{plural(len(shared), 'set')} that every reading has: {', '.join(shared) or DASH}.",
        f"{baseline} itself has the score of not planning at all. Options not named are those of pasmo.",
        f"{_own_agreement(results, problems, settings)}",
        "Longest planned step: relative to Newton's, over all sets and permutations measured.",
    ]
    return table_of(results, artefact, columns, rows, by_set, notes=notes)


def _reading(
    results: Results, contender: Contender, problems: Sequence[PermutedProblem], settings: Mapping[str, str]
) -> Reading:
    """Compare a contender with the paper on each set."""
    deviations: dict[str, Interval] = {}
    unended = []
    for problem in problems:
        group = results.group(problem.name, contender.label, problem.n)
        if len(group.solved) < len(group.runs):
            unended.append(problem.name)
            continue
        ratio = _printed_ratio(results, problem, settings)
        below = results.group(problem.name, settings["baseline"], problem.n)
        first, second = pairs(below, group, ITERATIONS, anywhere=True)
        if ratio is None or not first:
            continue
        scale = ratio * sum(first) / len(first)
        deviations[problem.name] = mean_interval(
            [(b - ratio * a) / scale for a, b in zip(first, second, strict=True)]
        )
    return Reading(contender, deviations, tuple(unended))


def _printed_ratio(results: Results, problem: PermutedProblem, settings: Mapping[str, str]) -> float | None:
    """Return the paper's ratio of iterations."""
    above, below = (
        results.numbers.value(
            settings["table"], problem.name, problem.n_printed, f"{snake(settings[key])}_iterations"
        )
        for key in ("printed", "baseline")
    )
    return above / below if above is not None and below else None


def _own_agreement(results: Results, problems: Sequence[PermutedProblem], settings: Mapping[str, str]) -> str:
    """Say how well the baseline's own mean iterations agree with the paper's."""
    logs = {}
    for problem in problems:
        values = results.group(problem.name, settings["baseline"], problem.n).values(ITERATIONS)
        said = results.numbers.value(
            settings["table"], problem.name, problem.n_printed, f"{snake(settings['baseline'])}_iterations"
        )
        if values and said:
            logs[problem.title] = math.log(sum(values) / len(values) / said)
    if not logs:
        return f"{settings['baseline']} was not measured."
    worst = max(logs, key=lambda title: abs(logs[title]))
    score = sum(map(abs, logs.values())) / len(logs)
    return (
        f"The iterations of {settings['baseline']} itself are off the paper's by {score:.3f} in the mean of "
        f"|log|, by at most {100 * math.expm1(logs[worst]):+.1f} % ({worst}): no reading can be expected to "
        "agree much better."
    )


def _agrees(deviation: Interval, within: float) -> bool:
    ends = deviation.ends
    return abs(deviation.value) <= within or (ends is not None and ends[0] <= 0.0 <= ends[1])


def _options(contender: Contender) -> str:
    """Name the options that differ from the defaults of the solver; or the solver."""
    if not contender.options:
        return f"solver {contender.solver}"
    defaults = own_options(contender)
    return ", ".join(
        f"{key}: {str(value).lower() if isinstance(value, bool) else value}"
        for key, value in contender.options.items()
        if value != defaults.get(key)
    )


def _row(
    results: Results,
    reading: Reading,
    chosen: Sequence[str],
    others: Sequence[str],
    shared: Sequence[str],
    within: float,
) -> dict[str, Cell]:
    label = reading.contender.label
    cells = {"reading": prose(label), "options": prose(_options(reading.contender))}
    if reading.unended:
        reason = f"did not end on {', '.join(reading.unended)}"
        return {**cells, "score": missing(reason, DASH), "worst": prose(reason)}
    for key, names in (("", chosen), ("_others", shared)):
        cells[f"score{key}"] = number(reading.score(names))
    for key, names in (("", chosen), ("_others", others)):
        agreeing, of = reading.agreeing(names, within)
        cells[f"agreeing{key}"] = Cell(agreeing, f"{agreeing} of {of}")
    worst = reading.worst()
    if worst:
        cells["worst"] = prose(f"{worst} {percent(reading.deviations[worst].value).text}")
    longest = [
        length
        for name in results.paper.experiments
        for run in results.runs.runs
        if run.experiment == name
        and run.contender == label
        and (length := run.number("info.longest_planned")) is not None
    ]
    if longest:
        cells["longest"] = number(max(longest))
    return cells


def _set_row(
    results: Results,
    problem: PermutedProblem,
    labels: Sequence[str],
    readings: Mapping[str, Reading],
    chosen: Sequence[str],
    settings: Mapping[str, str],
) -> dict[str, Cell]:
    cells = {
        "set": prose(problem.title),
        "held_out": prose("to choose" if problem.name in chosen else "held out"),
        "paper": number(_printed_ratio(results, problem, settings)),
    }
    for label in labels:
        if label in readings and problem.name in readings[label].deviations:
            found = readings[label].deviations[problem.name]
            cell = percent(found.value)
            ends = found.ends
            said = "" if ends is None else f"{100 * ends[0]:+.1f} … {100 * ends[1]:+.1f} %"
            cells[f"{label}_deviation"] = Cell(cell.value, cell.text, ends, said)
    return cells
