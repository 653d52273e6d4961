"""Problems measured over permutations: the list of problems, pairs of contenders, and texts for tables.

The tables of the PA-SMO paper have one row per data set. The measured size of a row may be the paper's, a
smaller one at a smaller scale, or None if the scale omits the data set.
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
"""Column of the paper's table -> columns of the measurements whose sum it is, header."""


@dataclass(frozen=True)
class PermutedProblem:
    """One row of a table: an experiment at one size.

    Attributes
    ----------
    n : int or None
        Training rows measured; None if the scale omits the problem.
    n_paper : int or None
        The paper's size, if these rows are the paper's set (in one set the paper counts one row less).
    n_printed : int or None
        The size that the paper prints, whatever was measured.
    """

    name: str
    title: str
    n: int | None
    n_paper: int | None
    n_printed: int | None

    @property
    def row(self) -> SizeRow:
        """The size as a key into results."""
        return SizeRow(self.n, self.n_printed if self.n is None else self.n_paper)


def problems(results: Results, names: Iterable[str], table: str) -> list[PermutedProblem]:
    """Return the problems of some experiments, in the order of the paper's table.

    If the artefact covers all experiments of the paper, problems that the configuration lacks are included,
    without a size.
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
    """Return why a contender has no number on a problem; "" if it has one."""
    if problem.name not in results.paper.experiments:
        return f"not run: not part of the {results.scale} scale"
    return results.why_missing(problem.name, contender, problem.row)


@dataclass(frozen=True)
class Pairing:
    """Values of one quantity for two contenders on the same permutations, pair by pair."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @cached_property
    def test(self) -> SignedRank:
        """The paired signed-rank test."""
        return signed_rank(self.first, self.second)

    @property
    def change(self) -> float | None:
        """Mean of the second over mean of the first, minus 1."""
        if not self.first or not sum(self.first):
            return None
        return sum(self.second) / sum(self.first) - 1.0

    def means(self) -> tuple[Interval | None, Interval | None]:
        """Return the means of both contenders over the pairs, with intervals."""
        if not self.first:
            return None, None
        return mean_interval(self.first), mean_interval(self.second)


def pair_up(results: Results, problem: PermutedProblem, contenders: Sequence[str], quantity: str) -> Pairing:
    """Pair the runs of two contenders on a problem; there are no pairs if either has no runs."""
    first, second = (results.group(problem.name, label, problem.n) for label in contenders)
    left, right = pairs(first, second, quantity, anywhere=True)
    return Pairing(tuple(left), tuple(right))


@dataclass(frozen=True)
class Family:
    """One comparison on several problems, with p-values corrected for their number."""

    pairings: tuple[Pairing, ...]

    @cached_property
    def corrected(self) -> tuple[float | None, ...]:
        """P-values after Holm's correction, one per problem."""
        return tuple(holm([pairing.test.p for pairing in self.pairings]))

    def count(self, mark: str, *, corrected: bool = False) -> int:
        """Count the problems with a given mark."""
        return sum(
            pairing.test.mark(p if corrected else pairing.test.p) == mark
            for pairing, p in zip(self.pairings, self.corrected, strict=True)
        )

    @property
    def tested(self) -> int:
        """Number of problems with enough pairs for a test."""
        return sum(len(pairing.first) >= FEWEST for pairing in self.pairings)

    def undecided(self, enough: int, *, corrected: bool = False) -> list[int]:
        """Return the numbers of pairs, below ``enough``, of the tested problems without a mark."""
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
    """Say which problems were measured at a smaller size than the paper's; empty if none."""
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
    """Format a p-value: "0.03", "< 0.0001"."""
    if p is None:
        return ""
    return "< 0.0001" if p < 1e-4 else significant(p, 2)


def tally(what: str, family_: Family, contenders: Sequence[str]) -> str:
    """Say on how many problems the second contender has significantly less, and more; "" without a test."""
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
    """List the data sets on which other load disturbed every run; empty if none."""
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
