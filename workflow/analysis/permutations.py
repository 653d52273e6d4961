"""Problems measured over permutations: which there are, pairs of contenders, and cells of tables about them.

The tables of the PA-SMO paper have one row a data set. A row's size may be the paper's, a smaller one at
a smaller scale, or none where the scale leaves the data set out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from svmrepro.workflow.analysis.intervals import Interval, mean_interval
from svmrepro.workflow.analysis.number_text import significant
from svmrepro.workflow.analysis.paired_tests import FEWEST, LEVEL, SignedRank, holm, signed_rank
from svmrepro.workflow.analysis.results import Results, SizeRow, display_name
from svmrepro.workflow.analysis.runs import Group, pairs

DUAL = "certificate.dual"
ITERATIONS = "iterations"

COUNTS = {
    "support_vectors": (("certificate.n_bound", "certificate.n_nonbound"), "support vectors"),
    "bounded_support_vectors": (("certificate.n_bound",), "bounded support vectors"),
}
"""Column of the paper's table -> columns of the measurements that add up to it, header."""


@dataclass(frozen=True)
class PermutedProblem:
    """One row of a table: an experiment at one size.

    Attributes
    ----------
    n : int or None
        Training rows measured; None if the scale leaves the problem out.
    n_paper : int or None
        The paper's size where it is that of these rows (it counts one row less in one set).
    n_printed : int or None
        The paper's size, whatever was measured.
    """

    name: str
    title: str
    n: int | None
    n_paper: int | None
    n_printed: int | None

    @property
    def row(self) -> SizeRow:
        """The size as results look it up."""
        return SizeRow(self.n, self.n_printed if self.n is None else self.n_paper)


def problems(results: Results, names: Iterable[str], table: str) -> list[PermutedProblem]:
    """Return the problems of some experiments, in the order of the paper's table.

    Problems of the paper's table that the configuration has not are among them, without a size, when the
    artefact is about all experiments of the paper.
    """
    known = list(names)
    printed = results.numbers.experiments(table)
    whole = set(known) == set(results.paper.experiments)
    ordered = [name for name in printed if name in known or (whole and name not in known)]
    found: list[PermutedProblem] = []
    for name in [*ordered, *(name for name in known if name not in printed)]:
        size = next(iter(results.numbers.sizes(name, table)), None)
        if name not in known:
            found.append(PermutedProblem(name, name, None, None, size))
            continue
        experiment = results.experiment(name)
        for n in experiment.sizes:
            same = size is not None and experiment.paper_sizes.get(n, n) == size
            found.append(PermutedProblem(name, experiment.title, n, size if same else None, size))
    return found


def why_missing(results: Results, problem: PermutedProblem, contender: str) -> str:
    """Say why a contender has no number on a problem; "" if it has one."""
    if problem.name not in results.paper.experiments:
        return f"not run: not part of the {results.scale} scale"
    return results.why_missing(problem.name, contender, problem.row)


@dataclass(frozen=True)
class Pairing:
    """Two contenders on the same permutations of one problem: a quantity's values, pair by pair."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @cached_property
    def test(self) -> SignedRank:
        """The paired test."""
        return signed_rank(self.first, self.second)

    @property
    def change(self) -> float | None:
        """Mean of the second over mean of the first, minus 1."""
        if not self.first or not sum(self.first):
            return None
        return sum(self.second) / sum(self.first) - 1.0

    def means(self) -> tuple[Interval | None, Interval | None]:
        """Return both means over the pairs with their intervals."""
        if not self.first:
            return None, None
        return mean_interval(self.first), mean_interval(self.second)


def pair_up(results: Results, problem: PermutedProblem, contenders: Sequence[str], quantity: str) -> Pairing:
    """Return what two contenders have in common on a problem; no pairs where one of them is missing."""
    first, second = (results.group(problem.name, label, problem.n) for label in contenders)
    left, right = pairs(first, second, quantity, anywhere=True)
    return Pairing(tuple(left), tuple(right))


@dataclass(frozen=True)
class Family:
    """The same comparison on several problems, with its probabilities corrected for their number."""

    pairings: tuple[Pairing, ...]

    @cached_property
    def corrected(self) -> tuple[float | None, ...]:
        """Holm's probabilities, one a problem."""
        return tuple(holm([pairing.test.p for pairing in self.pairings]))

    def count(self, mark: str, *, corrected: bool = False) -> int:
        """Count the problems with a mark."""
        return sum(
            pairing.test.mark(p if corrected else pairing.test.p) == mark
            for pairing, p in zip(self.pairings, self.corrected, strict=True)
        )

    @property
    def tested(self) -> int:
        """On how many problems there are enough pairs for a test to decide."""
        return sum(len(pairing.first) >= FEWEST for pairing in self.pairings)

    def undecided(self, enough: int, *, corrected: bool = False) -> list[int]:
        """Return how many pairs a tested problem without a mark has, for each with fewer than ``enough``."""
        return [
            size
            for pairing, p in zip(self.pairings, self.corrected, strict=True)
            if FEWEST <= (size := len(pairing.first)) < enough
            and not pairing.test.mark(p if corrected else pairing.test.p)
        ]


def family(
    results: Results, rows: Iterable[PermutedProblem], contenders: Sequence[str], quantity: str
) -> Family:
    """Compare two contenders on several problems."""
    return Family(tuple(pair_up(results, problem, contenders, quantity) for problem in rows))


# -- words ----------------------------------------------------------------------------------------------


def size_notes(rows: Sequence[PermutedProblem], results: Results) -> list[str]:
    """Say of which problems smaller ones were measured; nothing if of none."""
    from svmrepro import datasets

    smaller = [problem for problem in rows if problem.n is not None and problem.n_paper is None]
    generated: list[str] = []
    nested: list[str] = []
    for problem in smaller:
        dataset = results.experiment(problem.name).dataset
        known = dataset in datasets.names()
        (generated if known and datasets.is_generated(dataset) else nested).append(problem.title)
    notes = []
    if nested:
        notes.append(f"Measured on a subset, the first n rows of one fixed permutation: {', '.join(nested)}.")
    if generated:
        notes.append(f"Generated with a smaller n: {', '.join(generated)}.")
    return notes


def p_text(p: float | None) -> str:
    """Write a probability: "0.03", "< 0.0001"."""
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else significant(p, 2)


def tally(what: str, family_: Family, contenders: Sequence[str]) -> str:
    """Say on how many problems the second contender has less, and more, of something; "" without a test."""
    if not family_.tested:
        return ""
    first, second = (display_name(label) for label in contenders)
    fewer, more = family_.count(">>"), family_.count("<<")
    held = [family_.count(mark, corrected=True) for mark in (">>", "<<")]
    return (
        f"{what}, {second} against {first}: significantly less on {fewer} of {family_.tested} data sets, "
        f"more on {more} (p < {LEVEL:g}, uncorrected); after Holm's correction on {held[0]} and {held[1]}."
    )


def load_notes(results: Results, rows: Iterable[PermutedProblem], contenders: Sequence[str]) -> list[str]:
    """Name the data sets on which all runs met other load; nothing if there are none."""
    measured = [problem for problem in rows if problem.n is not None]
    suspect = [
        problem.title
        for problem in measured
        if any(results.group(problem.name, label, problem.n).suspect for label in contenders)
    ]
    if not suspect:
        return []
    which = "all data sets" if len(suspect) == len(measured) else ", ".join(suspect)
    return [f"On {which} every run met other load on the machine: seconds are upper bounds."]


def mean_count(group: Group, key: str) -> Interval | None:
    """Return the mean of a count of `COUNTS` over the certified runs; None if there are none."""
    totals = [
        sum(part for part in parts if part is not None)
        for run in group.solved
        if None not in (parts := [run.number(column) for column in COUNTS[key][0]])
    ]
    return mean_interval(totals) if totals else None
