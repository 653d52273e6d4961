"""Comparison of encodings: which of them reproduces a paper's numbers of support vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from svmrepro.workflow.analysis import paired_contenders
from svmrepro.workflow.analysis.paired_contenders import COUNTS, ITERATIONS, PermutedProblem
from svmrepro.workflow.analysis.printed_numbers import snake
from svmrepro.workflow.analysis.results import Results, display_name
from svmrepro.workflow.configuration.model import Artefact, Contender, Experiment
from svmrepro.workflow.number_text import plural
from svmrepro.workflow.statistics import Interval, mean_interval
from svmrepro.workflow.tables.layout.cells import DASH, Cell, count, missing, percent, prose
from svmrepro.workflow.tables.layout.model import Column, Table, beside_paper, table_of
from svmrepro.workflow.tables.permutations._cells import count_cell, name_cells, name_columns
from svmrepro.workflow.tables.permutations._notes import size_notes

HEADERS = {**{key: header for key, (_, header) in COUNTS.items()}, ITERATIONS: "iterations"}

OWN = "original"
"""Name of a data set's own encoding."""

REPRODUCED, CLOSEST, OFF = "reproduced", "closest, not reproduced", "not reproduced"

CONCLUSIONS = {
    (REPRODUCED, True, False): "Only the encoding used here reproduces the paper's counts",
    (REPRODUCED, True, True): "The encoding used here and another reproduce the paper's counts",
    (REPRODUCED, False, True): "Another encoding than the one used here reproduces the paper's counts",
    (CLOSEST, True, False): "No encoding reproduces the paper's counts; the one used here comes closest",
    (CLOSEST, True, True): "No encoding reproduces the paper's counts; several come equally close",
    (CLOSEST, False, True): "No encoding reproduces the paper's counts; another comes closest",
}
"""Best verdict on a data set, whether its own encoding has it, whether another has it -> words."""


@dataclass(frozen=True, eq=False)
class EncodingLine:
    """One data set in one encoding: the means of its quantities of `HEADERS`, and the paper's numbers."""

    problem: PermutedProblem
    contender: str
    words: str
    own: bool  # whether it is the data set's own encoding
    means: Mapping[str, Interval]
    said: Mapping[str, float]

    @property
    def compared(self) -> bool:
        """Whether it was measured at the paper's size."""
        return self.problem.n_paper is not None and bool(self.means)

    def off(self, key: str) -> float | None:
        """Return the relative difference of a mean from the paper's number; None if undefined."""
        if not self.compared or key not in self.means or not self.said.get(key):
            return None
        return self.means[key].value / self.said[key] - 1.0

    def strain(self, within: Mapping[str, float], slack: float) -> float | None:
        """Return the deviation from the paper's counts in units of the tolerance; None if not compared.

        This is the maximum over the counts of ``within``. The tolerance of a count is the largest of its
        share of the paper's number, ``slack``, and 0.5 for the paper's rounding.
        """
        if not self.compared or not within.keys() <= self.means.keys() & self.said.keys():
            return None
        return max(
            abs(self.means[key].value - self.said[key]) / max(slack, share * self.said[key], 0.5)
            for key, share in within.items()
        )


def build(results: Results, artefact: Artefact) -> Table:
    """Build one line per data set and encoding.

    Settings of the artefact: ``contender`` (it has the data set's own encoding; contenders that differ from
    it only in the encoding are shown below it), ``table`` and ``iterations`` (the paper's files of counts and
    of iterations), ``within`` (relative tolerances of the counts for an encoding to reproduce the paper) and
    ``slack`` (difference in support vectors that is ignored).
    """
    settings = artefact.settings
    within, slack = settings["within"], settings["slack"]
    every = paired_contenders.problems(results, artefact.experiments, settings["table"])
    shown = [problem for problem in every if problem.n is not None]
    lines = [
        _line(results, problem, contender, artefact)
        for problem in shown
        for contender in encodings(results.experiment(problem.name), settings["contender"])
    ]
    verdicts = judged(lines, within, slack)
    columns = [
        *name_columns(),
        Column("encoding", "encoding", prose=True),
        Column("permutations", "permutations"),
        *(column for key, header in HEADERS.items() for column in beside_paper(key, header)),
        Column("verdict", "verdict", prose=True),
    ]
    shares = " and ".join(f"{HEADERS[key]} to within {100 * share:g} %" for key, share in within.items())
    notes = [
        f"Means over the permutations of {display_name(settings['contender'])}, with 95 % intervals. The "
        "paper rounds its means.",
        "Encodings are computed from the whole set, before a subset is drawn. One-hot: one 0/1 column "
        "for each value. Standardised: mean 0 and variance 1 in each column.",
        f"Reproduced: {shares} of the paper's, or to within {plural(slack, 'vector')}. Iterations also "
        "depend on details of the solver and do not count. Where examples are repeated, the optimum does not "
        "determine which of the copies are support vectors, and solvers differ in their number.",
        *(f"{note[:-1]}; not compared with the paper." for note in size_notes(shown, results)),
        *conclusions(verdicts),
    ]
    rows = [_row(results, line, verdicts.get(line, "")) for line in lines]
    return table_of(results, artefact, columns, rows, notes=notes)


def encodings(experiment: Experiment, contender: str) -> list[Contender]:
    """Return a contender, if present, and then those that differ from it only in the encoding."""
    own = experiment.contenders.get(contender)
    if own is None:
        return []
    others = [
        other
        for other in experiment.contenders.values()
        if other.encoding != own.encoding
        and replace(other, label=own.label, encoding=own.encoding, permutations=own.permutations) == own
    ]
    return [own, *others]


def judged(
    lines: Sequence[EncodingLine], within: Mapping[str, float], slack: float
) -> dict[EncodingLine, str]:
    """Return a verdict for each line that can be compared with the paper."""
    strains = {line: strain for line in lines if (strain := line.strain(within, slack)) is not None}
    least: dict[str, float] = {}
    for line, strain in strains.items():
        least[line.problem.name] = min(strain, least.get(line.problem.name, strain))
    return {
        line: REPRODUCED if strain <= 1.0 else CLOSEST if strain == least[line.problem.name] else OFF
        for line, strain in strains.items()
    }


def conclusions(verdicts: Mapping[EncodingLine, str]) -> list[str]:
    """Say which encodings reproduce the paper's counts on which data sets; empty if none was compared."""
    said: dict[str, list[str]] = {}
    for title in dict.fromkeys(line.problem.title for line in verdicts):
        found = {line: verdict for line, verdict in verdicts.items() if line.problem.title == title}
        best = REPRODUCED if REPRODUCED in found.values() else CLOSEST
        own = any(line.own for line, verdict in found.items() if verdict == best)
        others = [line.words for line, verdict in found.items() if verdict == best and not line.own]
        named = f"{title} ({', '.join(others)})" if others else title
        said.setdefault(CONCLUSIONS[best, own, bool(others)], []).append(named)
    return [f"{start}: {', '.join(titles)}." for start, titles in said.items()]


def _line(
    results: Results, problem: PermutedProblem, contender: Contender, artefact: Artefact
) -> EncodingLine:
    settings, label = artefact.settings, contender.label
    group = results.group(problem.name, label, problem.n)
    steps = group.values(ITERATIONS)
    means = {key: paired_contenders.mean_count(group, key) for key in COUNTS}
    means[ITERATIONS] = mean_interval(steps) if steps else None
    places = {key: (settings["table"], key) for key in COUNTS}
    places[ITERATIONS] = (settings["iterations"], f"{snake(settings['contender'])}_iterations")
    said = {
        key: results.numbers.value(table, problem.name, problem.n_printed, column)
        for key, (table, column) in places.items()
    }
    return EncodingLine(
        problem=problem,
        contender=label,
        words=_words(results.experiment(problem.name).dataset, contender.encoding),
        own=label == settings["contender"],
        means={key: mean for key, mean in means.items() if mean is not None},
        said={key: value for key, value in said.items() if value is not None},
    )


def _words(dataset: str, encoding: str | None) -> str:
    """Describe an encoding; for the data set's own, the mapping of texts in its registry entry."""
    from svmrepro import datasets

    if encoding is not None:
        return datasets.ENCODINGS[encoding].words
    entry = datasets.describe(dataset) if dataset in datasets.names() else None
    columns = entry.columns if isinstance(entry, datasets.DownloadedEntry) else None
    # Texts that are numbers and map to themselves need no mention.
    said = [
        _mapping(values)
        for values in (columns.tables if columns is not None else ())
        if any(text != f"{value:g}" for text, value in values.items())
    ]
    return f"{OWN}: {', '.join(said) or 'the numbers of the file'}"


def _mapping(values: Mapping[str, float]) -> str:
    """Format a mapping of texts to numbers: "x = 1, o = -1, b = 0", "a … h = 1 … 8"."""
    if len(values) <= 3:
        return ", ".join(f"{text} = {value:g}" for text, value in values.items())
    (first, low), *_, (last, high) = values.items()
    return f"{first} … {last} = {low:g} … {high:g}"


def _row(results: Results, line: EncodingLine, verdict: str) -> dict[str, Cell]:
    problem = line.problem
    cells = {**name_cells(problem), "encoding": prose(line.words)}
    cells |= {f"paper_{key}": count(line.said.get(key)) for key in HEADERS}
    reason = results.why_missing(problem.name, line.contender, problem)
    if reason:
        return {
            **cells,
            **dict.fromkeys(HEADERS, missing(reason, DASH)),
            next(iter(HEADERS)): missing(reason),
        }
    cells["permutations"] = count(len(results.group(problem.name, line.contender, problem.n).solved))
    for key, mean in line.means.items():
        cells[key] = count_cell(mean, 0 if key == ITERATIONS else 1)
        cells[f"{key}_difference"] = percent(line.off(key))
    if verdict:
        cells["verdict"] = prose(verdict, "good" if verdict == REPRODUCED else "")
    return cells
