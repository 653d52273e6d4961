"""Problems measured over permutations, and contenders compared pair by pair on the same permutations.

The tables of the PA-SMO paper have one row per data set. The measured size of a row may be the paper's, a
smaller one at a smaller scale, or None if the scale omits the data set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from svmrepro.workflow.analysis.results import Results, SizeRow
from svmrepro.workflow.analysis.run_pairs import pairs, processes
from svmrepro.workflow.analysis.runs import CPU, Group
from svmrepro.workflow.statistics import (
    FEWEST_PAIRS,
    PERMUTED_SPREAD,
    Interval,
    SignedRank,
    across_processes,
    holm,
    mean_interval,
    mean_ratio,
    signed_rank,
)

DUAL = "certificate.dual"
ITERATIONS = "iterations"

COUNTS = {
    "support_vectors": (("certificate.n_bound", "certificate.n_nonbound"), "support vectors"),
    "bounded_support_vectors": (("certificate.n_bound",), "bounded support vectors"),
}
"""Column of the paper's table -> columns of the measurements whose sum it is, header."""


@dataclass(frozen=True)
class PermutedProblem(SizeRow):
    """One row of a table: an experiment at one size.

    If something was measured, ``n_paper`` is the paper's size only if these rows are the paper's set (in one
    set the paper counts one row less). ``n_printed`` is the size that the paper prints in any case.
    """

    name: str
    title: str
    n_printed: int | None


def problems(results: Results, names: Iterable[str], table: str) -> list[PermutedProblem]:
    """Return the problems of some experiments, in the order of the paper's table.

    If the artefact covers all experiments of the paper, problems that the configuration lacks are included,
    without a size.
    """
    known = list(names)
    printed = results.numbers.experiments(table)
    whole = set(known) == set(results.paper.experiments)
    found: list[PermutedProblem] = []
    for name in dict.fromkeys((*printed, *known)):
        size = next(iter(results.numbers.sizes(name, table)), None)
        if name in known:
            experiment = results.experiment(name)
            for n in experiment.sizes:
                same = size is not None and experiment.paper_sizes.get(n, n) == size
                found.append(PermutedProblem(n, size if same else None, name, experiment.title, size))
        elif whole:
            found.append(PermutedProblem(None, size, name, name, size))
    return found


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


def pair_up(results: Results, problem: PermutedProblem, contenders: Sequence[str], quantity: str) -> Pairing:
    """Pair the runs of two contenders on a problem; there are no pairs if either has no runs."""
    first, second = (results.group(problem.name, label, problem.n) for label in contenders)
    left, right = pairs(first, second, quantity, anywhere=True)
    return Pairing(tuple(left), tuple(right))


def relative_mean(
    results: Results, problem: PermutedProblem, contenders: Sequence[str], quantity: str
) -> Interval | None:
    """Return the mean of the second of two contenders relative to the first's, on the same permutations.

    The interval of CPU seconds includes the variation between processes. None if there are no pairs.
    """
    pairing = pair_up(results, problem, contenders, quantity)
    if not pairing.first:
        return None
    ratio = mean_ratio(pairing.second, pairing.first)
    if quantity != CPU:
        return ratio
    groups = (results.group(problem.name, label, problem.n) for label in contenders)
    return across_processes(ratio, processes(*groups), PERMUTED_SPREAD)


@dataclass(frozen=True)
class Family:
    """One comparison on several problems, with p-values corrected for their number."""

    pairings: tuple[Pairing, ...]

    @cached_property
    def corrected(self) -> tuple[float | None, ...]:
        """P-values after Holm's correction, one per problem."""
        return tuple(holm([pairing.test.p for pairing in self.pairings]))

    def marks(self, *, corrected: bool = False) -> list[str]:
        """Return the mark of each problem."""
        tests = [pairing.test for pairing in self.pairings]
        levels = self.corrected if corrected else [test.p for test in tests]
        return [test.mark(p) for test, p in zip(tests, levels, strict=True)]

    @property
    def tested(self) -> int:
        """Number of problems with enough pairs for a test."""
        return sum(len(pairing.first) >= FEWEST_PAIRS for pairing in self.pairings)


def family(
    results: Results, rows: Iterable[PermutedProblem], contenders: Sequence[str], quantity: str
) -> Family:
    """Compare two contenders on several problems."""
    return Family(tuple(pair_up(results, problem, contenders, quantity) for problem in rows))


def mean_count(group: Group, key: str) -> Interval | None:
    """Return the mean of a count of `COUNTS` over the certified runs; None if there are none."""
    totals = [
        sum(part for part in parts if part is not None)
        for run in group.solved
        if None not in (parts := [run.number(column) for column in COUNTS[key][0]])
    ]
    return mean_interval(totals) if totals else None
