"""Readings of an algorithm, scored by how well their mean iterations agree with a paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from svmrepro.workflow.analysis.paired_contenders import DUAL, ITERATIONS, Family, Pairing
from svmrepro.workflow.analysis.printed_numbers import PaperNumbers, snake
from svmrepro.workflow.analysis.results import Results
from svmrepro.workflow.analysis.run_pairs import pairs
from svmrepro.workflow.analysis.runs import Group
from svmrepro.workflow.configuration.contender_options import default_options
from svmrepro.workflow.configuration.model import Artefact, Contender
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.statistics import FEWEST_PAIRS, LARGER, SIGNIFICANCE, SMALLER, Interval, mean_ratio
from svmrepro.workflow.tables.layout.cells import DASH, Cell, missing, number, percent, prose
from svmrepro.workflow.tables.layout.model import Column, Table, TableSection, table_of

_BEST = 5  # readings that are shown by data set


@dataclass(frozen=True)
class ScoredReading:
    """A contender: how far its iterations are from the paper's on each set, and where it did not end.

    A deviation is relative: mean iterations over the baseline's on the same permutations, over the same ratio
    of the paper, minus 1.
    """

    contender: Contender
    deviations: Mapping[str, Interval]
    unended: tuple[str, ...]
    longest: float | None
    objectives: Family  # the baseline's and its own, one pairing per set

    def score(self, names: Sequence[str]) -> float | None:
        """Return the mean of |log(1 + deviation)|; None if a set is missing, or a run did not end."""
        if self.unended or not names or not set(names) <= self.deviations.keys():
            return None
        return sum(abs(math.log1p(self.deviations[name].value)) for name in names) / len(names)

    def agreeing(self, names: Sequence[str], within: float) -> tuple[int, int]:
        """Return on how many sets it agrees with the paper, and of how many.

        It does if its deviation is at most ``within``, or 0 is in its interval.
        """
        found = [self.deviations[name] for name in names if name in self.deviations]
        return sum(_agrees(each, within) for each in found), len(found)

    def worst(self, names: Sequence[str]) -> str:
        """Return the set with the largest deviation, "" if there is none."""
        known = [name for name in names if name in self.deviations]
        return max(known, key=lambda name: abs(math.log1p(self.deviations[name].value)), default="")


@dataclass(frozen=True)
class _Comparison:
    """What is compared: results, the paper's numbers, and the settings of the artefact."""

    results: Results
    settings: Mapping[str, Any]

    def names(self, key: str) -> list[str]:
        """Return the sets of a setting that are measured at the paper's size."""
        return [name for name in self.settings[key] if name in self.sets]

    @cached_property
    def numbers(self) -> PaperNumbers:
        return PaperNumbers(self.results.numbers.folder, self.settings["paper"])

    @cached_property
    def sets(self) -> Mapping[str, list[tuple[str, int]]]:
        """The sets at the paper's size: the experiments on them, with their size."""
        found: dict[str, list[tuple[str, int]]] = {}
        for experiment in self.results.paper.experiments.values():
            name = experiment.name
            for suffix in self.settings["suffixes"]:
                name = name.removesuffix(suffix)
            printed = self.numbers.sizes(name, self.settings["table"])
            for n in experiment.sizes:
                if experiment.paper_sizes.get(n, n) in printed:
                    found.setdefault(name, []).append((experiment.name, n))
        return found

    def groups(self, name: str, label: str) -> list[tuple[Group, Group]]:
        """Return the runs of a contender on a set, each with those of the baseline beside it."""
        baseline = self.settings["baseline"]
        return [
            (self.results.group(experiment, label, n), self.results.group(experiment, baseline, n))
            for experiment, n in self.sets[name]
            if label in self.results.experiment(experiment).contenders
        ]

    def printed(self, name: str, contender: str) -> float:
        """Return the paper's iterations."""
        table, (n, *_) = self.settings["table"], self.numbers.sizes(name, self.settings["table"])
        value = self.numbers.value(table, name, n, f"{snake(self.settings[contender])}_iterations")
        assert value is not None
        return value

    def ratio(self, name: str) -> float:
        """Return the paper's ratio of iterations."""
        return self.printed(name, "printed") / self.printed(name, "baseline")

    def reading(self, contender: Contender, names: Sequence[str]) -> ScoredReading:
        """Compare a contender with the paper on some sets."""
        deviations: dict[str, Interval] = {}
        unended, lengths, objectives = [], [], []
        for name in self.sets:
            found = self.groups(name, contender.label)
            runs = [run for group, _ in found for run in group.runs]
            lengths += [run.number("info.longest_planned") for run in runs]
            if name not in names or not found:
                continue
            if not all(run.solved for run in runs):
                unended.append(name)
                continue
            group, below = found[0]
            first, second = pairs(below, group, ITERATIONS, anywhere=True)
            objectives.append(Pairing(*map(tuple, pairs(below, group, DUAL, anywhere=True))))
            if first:
                deviations[name] = _deviation(mean_ratio(second, first), self.ratio(name))
        known = [length for length in lengths if length is not None]
        return ScoredReading(
            contender, deviations, tuple(unended), max(known, default=None), Family(tuple(objectives))
        )


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per reading, and below it one line per data set for the best readings.

    Settings of the artefact: ``paper`` and ``table`` (the file with the printed numbers), ``baseline``,
    ``printed`` (the column of that file, as a contender), ``chosen`` (the sets by which readings are chosen),
    ``held_out`` (the others), ``within`` (the deviation that counts as agreement), ``suffixes`` (what the
    names of further experiments on a set end in) and ``shown`` (readings always shown by data set).
    """
    compared = _Comparison(results, artefact.settings)
    chosen, others = compared.names("chosen"), compared.names("held_out")
    within = float(artefact.settings["within"])
    contenders = {
        label: contender
        for experiment in results.paper.experiments.values()
        for label, contender in experiment.contenders.items()
    }
    readings = [compared.reading(contender, [*chosen, *others]) for contender in contenders.values()]
    scored = [reading for reading in readings if reading.score(chosen) is not None]
    scored.sort(key=lambda reading: reading.score(chosen) or 0.0)
    rest = [reading for reading in readings if reading.score(chosen) is None]
    reported = [set(reading.deviations) & set(others) for reading in scored]
    shared = [name for name in others if any(reported) and all(name in each for each in reported if each)]
    columns = [
        Column("reading", "reading", prose=True),
        Column("options", "options", prose=True),
        Column("score", "score", group="sets to choose by"),
        Column("agreeing", "agree", group="sets to choose by"),
        Column("score_others", "score", group="sets held out"),
        Column("agreeing_others", "agree", group="sets held out"),
        Column("worst", "largest deviation", prose=True),
        Column("longest", "longest planned step"),
        Column("higher", "higher", group="objective"),
        Column("lower", "lower", group="objective"),
        *(Column(f"{name}_deviation", name, group="deviation", shown=False) for name in (*chosen, *others)),
    ]
    rows = [_row(reading, chosen, others, shared, within) for reading in (*scored, *rest)]
    by_set = _by_set(compared, scored, chosen, others, artefact)
    return table_of(results, artefact, columns, rows, by_set, notes=_notes(compared, chosen, shared, within))


def _notes(compared: _Comparison, chosen: Sequence[str], shared: Sequence[str], within: float) -> list[str]:
    baseline = compared.settings["baseline"]
    titles = ", ".join(chosen) or DASH
    return [
        f"Deviation: mean iterations over those of {baseline} on the same permutations, over the same ratio "
        "of the paper, minus 1, with its 95 % interval. Score: mean of |log(1 + deviation)| over the sets. "
        f"Agree: the deviation is at most {100 * within:g} %, or its interval includes 0.",
        f"Readings are chosen by their score on {titles}. The score on the sets held out is over the "
        f"{plural(len(shared), 'set')} on which all readings run on any of them were run: "
        f"{', '.join(shared) or DASH}. A dash: not run there.",
        f"The score of {baseline} is that of no planning. Options not named are those of pasmo, which is the "
        "reading that the convergence proof needs; they are explained in the solver planning-readings.",
        _own_agreement(compared),
        "Longest planned step: relative to the Newton step, over all sets and permutations, and the chess "
        "board of 1,000 if the reading was run on it. Objective: sets on which the dual objective is "
        f"significantly higher or lower than {baseline}'s (p < {SIGNIFICANCE:g} by Wilcoxon's paired "
        f"signed-rank test, uncorrected), of those with at least {FEWEST_PAIRS} permutations.",
    ]


def _own_agreement(compared: _Comparison) -> str:
    """Say how well the baseline's own mean iterations agree with the paper's."""
    baseline, logs = compared.settings["baseline"], {}
    for name in [*compared.names("chosen"), *compared.names("held_out")]:
        values = compared.groups(name, baseline)[0][0].values(ITERATIONS)
        if values:
            logs[name] = math.log(sum(values) / len(values) / compared.printed(name, "baseline"))
    if not logs:
        return f"{baseline} was not measured."
    worst = max(logs, key=lambda name: abs(logs[name]))
    score = sum(map(abs, logs.values())) / len(logs)
    return (
        f"Mean iterations of {baseline} itself differ from the paper's by {score:.3f} in the mean of |log|, "
        f"most on {worst} ({100 * math.expm1(logs[worst]):+.1f} %)."
    )


def _deviation(ratio: Interval, printed: float) -> Interval:
    """Return the deviation of a measured ratio from a printed one, which counts as exact."""
    return Interval(ratio.value / printed - 1, *(end / printed - 1 for end in ratio.ends or ()))


def _agrees(deviation: Interval, within: float) -> bool:
    ends = deviation.ends
    return abs(deviation.value) <= within or (ends is not None and ends[0] <= 0.0 <= ends[1])


def _options(contender: Contender) -> str:
    """Name the options that differ from the defaults of the solver; or the solver."""
    if not contender.options:
        return f"solver {contender.solver}"
    defaults = default_options(contender)
    return ", ".join(
        f"{key}: {str(value).lower() if isinstance(value, bool) else value}"
        for key, value in contender.options.items()
        if value != defaults.get(key)
    )


def _row(
    reading: ScoredReading, chosen: Sequence[str], others: Sequence[str], shared: Sequence[str], within: float
) -> dict[str, Cell]:
    cells = {"reading": prose(reading.contender.label), "options": prose(_options(reading.contender))}
    if reading.longest is not None:
        cells["longest"] = number(reading.longest)
    if reading.unended or not reading.deviations:
        reason = f"did not end on {', '.join(reading.unended)}" if reading.unended else "not run"
        return {**cells, "score": missing(reason, DASH), "worst": prose(reason)}
    for key, names, all_names in (("", chosen, chosen), ("_others", shared, others)):
        cells[f"score{key}"] = number(reading.score(names))
        agreeing, of = reading.agreeing(all_names, within)
        if of:
            cells[f"agreeing{key}"] = Cell(agreeing, f"{agreeing} of {of}")
    marks, tested = reading.objectives.marks(), reading.objectives.tested
    for key, mark in (("higher", SMALLER), ("lower", LARGER)) if tested else ():
        cells[key] = Cell(marks.count(mark), f"{marks.count(mark)} of {tested}")
    for name, found in reading.deviations.items():
        cells[f"{name}_deviation"] = Cell(found.value, percent(found.value).text, found.ends)
    worst = reading.worst([*chosen, *others])
    cells["worst"] = prose(f"{worst} {percent(reading.deviations[worst].value).text}")
    return cells


def _by_set(
    compared: _Comparison,
    scored: Sequence[ScoredReading],
    chosen: Sequence[str],
    others: Sequence[str],
    artefact: Artefact,
) -> TableSection:
    """Return the deviations of the best readings, and of those always shown, one line per data set."""
    known = {reading.contender.label: reading for reading in scored}
    labels = [*artefact.settings.get("shown", ()), *(each.contender.label for each in scored[:_BEST])]
    labels = [label for label in dict.fromkeys(labels) if label in known]
    columns = [
        Column("set", "data set", prose=True),
        Column("used", "used", prose=True),
        Column("paper_ratio", "PA-SMO over SMO", paper=True),
        *(Column(f"{label}_deviation", label, group="deviation") for label in labels),
    ]
    rows = []
    for name in [*chosen, *others]:
        used = "to choose" if name in chosen else "held out"
        row = {"set": prose(name), "used": prose(used), "paper_ratio": number(compared.ratio(name))}
        for label in labels:
            found = known[label].deviations.get(name)
            if found is not None:
                said = (
                    ""
                    if found.ends is None
                    else "{:+.1f} … {:+.1f} %".format(*(100 * end for end in found.ends))
                )
                row[f"{label}_deviation"] = Cell(found.value, percent(found.value).text, found.ends, said)
        rows.append(row)
    return TableSection(columns, rows, "The best readings by data set")
