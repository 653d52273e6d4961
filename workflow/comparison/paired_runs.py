"""Results that two runs have in common, as ratios with intervals, and whether they agree.

The rules are those of the check (`svmrepro.workflow.judgement.reference_check`). Counts and objectives must
be equal on the same hardware with the same libraries. Elsewhere they must agree within 2 %, but rounding may
change the steps of a single row by more. Seconds are never compared across runs; exponents, and ratios of two
contenders' seconds within each run, are compared by their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from svmrepro.workflow.analysis.runs import WORK, WORK_TERMS
from svmrepro.workflow.comparison.compared_run import ComparedRun, FitKey, RatioKey
from svmrepro.workflow.judgement.claims import UNMEASURED
from svmrepro.workflow.judgement.reference_check import (
    FAILED,
    PATH,
    RESULTS,
    Entry,
    ReferenceCheck,
    agree,
    compare,
    data_differ,
    other_protocol,
)
from svmrepro.workflow.statistics import Fit, Interval, median_interval

SAME, CLOSE, ELSEWHERE, DIFFERS = "equal", "within 2 %", "another path", "differs"
"""Verdicts on a row's counts. The third means: the same result within 2 %, on a path steered by rounding."""

UNCHANGED, CHANGED, ALONE, UNJUDGED = "same", "changed", "in one run only", "in neither run"
"""Comparison of the verdicts on a claim."""

UNSOLVED, SETTINGS, OTHER_DATA = "not solved in both", "other settings", "other data"
"""Why a row that both runs have is not compared."""

NAMES = (
    *("certificate.dual", "certificate.relaxed", "certificate.n_nonbound", "certificate.n_bound"),
    *("iterations", "kernel_evaluations", WORK),
)
"""Columns shown for each row; the terms of the counted work are summed."""

RowKey = tuple[str, str, int, str, str]
"""Paper, experiment, n, contender, and point on the experiment's axis ("" without an axis)."""

Rows = Mapping[RowKey, Mapping[str, Entry]]
"""Entries of a run by row and seed."""


@dataclass(frozen=True)
class MatchedRow:
    """One contender on one problem in both runs, over their common seeds or permutations."""

    key: RowKey
    pairs: int  # seeds compared
    verdict: str  # one of the verdicts above
    detail: str  # what differs; "" if nothing does
    values: Mapping[str, tuple[Sequence[float], Sequence[float]]]  # by name of `NAMES`; here, there

    def ratio(self, name: str) -> Interval | None:
        """Return the median ratio here / there over the pairs, exact for a single pair; None if undefined."""
        found = ratios(*self.values.get(name, ((), ())))
        if not found:
            return None
        return Interval.exact(found[0]) if len(found) == 1 else median_interval(found)


@dataclass(frozen=True)
class PairedRuns:
    """A run and the run that it is compared with."""

    here: ComparedRun
    there: ComparedRun
    #: Claims about seconds, as (paper, claim).
    clocked: frozenset[tuple[str, str]] = frozenset()

    @cached_property
    def outcome(self) -> ReferenceCheck:
        """Result of the check with the other run as reference; across scales, of the common rows only."""
        before = self.there.record
        if self.here.scale != self.there.scale:
            before["claims"] = {}
        return compare(before, self.here.record, whole=False, clocked=self.clocked)

    @property
    def other_protocol(self) -> str:
        """Say that the seconds were taken by different protocols of timing; "" if they were not."""
        return other_protocol(self.there.record, self.here.record)

    def missing(self, side: ComparedRun) -> str:
        """List what one run lacks and the other one has."""
        other = self.there if side is self.here else self.here
        return "; ".join(each for each in side.lacking if each not in other.lacking)

    @cached_property
    def _by_row(self) -> tuple[Rows, Rows]:
        return _by_row(self.here.rows), _by_row(self.there.rows)

    @cached_property
    def _shared(self) -> dict[RowKey, list[tuple[Entry, Entry]]]:
        """Rows that both runs have, in this run's order, with the entries of their common seeds."""
        here, there = self._by_row
        return {
            key: [(entry, there[key][seed]) for seed, entry in entries.items() if seed in there[key]]
            for key, entries in here.items()
            if key in there
        }

    @cached_property
    def rows(self) -> list[MatchedRow]:
        """Rows that both runs have, in this run's order."""
        return [self._row(key, common) for key, common in self._shared.items()]

    @cached_property
    def other_data_pairs(self) -> dict[RowKey, int]:
        """Rows that both runs have, and how many of their common seeds stand for other data in each run."""
        counts = {key: sum(data_differ(*both) for both in common) for key, common in self._shared.items()}
        return {key: count for key, count in counts.items() if count}

    @cached_property
    def alone(self) -> tuple[list[RowKey], list[RowKey]]:
        """Rows of this run only, and rows of the other run only."""
        here, there = self._by_row
        return [key for key in here if key not in there], [key for key in there if key not in here]

    @cached_property
    def exponents(self) -> dict[FitKey, tuple[Fit, Fit]]:
        """Exponents that both runs have."""
        here, there = self.here.fits, self.there.fits
        return {
            key: (fit, there[key])
            for key, fit in here.items()
            if fit.exponent is not None and key in there and there[key].exponent is not None
        }

    @cached_property
    def ratios(self) -> dict[RatioKey, tuple[Interval, Interval]]:
        """Ratios between two contenders that both runs formed on the same data, each within itself."""
        here, there = self.here.ratios, self.there.ratios
        other = {key[:3] for key in self.other_data_pairs}
        return {
            key: (ratio, there[key]) for key, ratio in here.items() if key in there and key[:3] not in other
        }

    @cached_property
    def claims(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Paper and claim -> verdicts here and there, "" if not listed; for papers judged in both runs."""
        return {
            (paper, name): (here.get(name, ("", ""))[0], self.there.claims[paper].get(name, ("", ""))[0])
            for paper, here in self.here.claims.items()
            if paper in self.there.claims
            for name in dict.fromkeys((*here, *self.there.claims[paper]))
        }

    @cached_property
    def changed(self) -> list[tuple[str, str]]:
        """Claims that were judged in both runs, with different verdicts."""
        return [key for key, both in self.claims.items() if claim_change(*both) == CHANGED]

    def _row(self, key: RowKey, common: Sequence[tuple[Entry, Entry]]) -> MatchedRow:
        both = [(a, b) for a, b in common if not data_differ(a, b)]
        if common and not both:
            a, b = common[0]
            return MatchedRow(key, 0, OTHER_DATA, f"{a['data']} here, {b['data']} there", {})
        for a, b in both:
            if a["setting"] != b["setting"]:
                return MatchedRow(key, 0, SETTINGS, _settings(a["setting"], b["setting"]), {})
        solved = [(a, b) for a, b in both if a["counts"] and b["counts"]]
        statuses = [(a["status"], b["status"]) for a, b in both if not (a["counts"] and b["counts"])]
        unequal = [(a, b) for a, b in statuses if a != b]
        # A slower machine may meet limits of time or memory; a failure is a fault of the code.
        failed = [(a, b) for a, b in unequal if {a, b} & set(FAILED)]
        said = next((f"{a} here, {b} there" for a, b in (*failed, *unequal, *statuses)), "no seed in common")
        if not solved:
            return MatchedRow(key, 0, UNSOLVED, said, {})
        verdict, detail = DIFFERS, said
        if not failed:
            same = self.outcome.same_machine.get(key[0], False)
            counts = [(a["counts"], b["counts"]) for a, b in solved]
            verdict, detail = _verdict(counts, int(solved[0][0]["n"]), same=same)
        values = {}
        for name in NAMES:
            pairs = [(_count(a["counts"], name), _count(b["counts"], name)) for a, b in solved]
            kept = [(a, b) for a, b in pairs if a is not None and b is not None]
            if kept:
                values[name] = ([a for a, _ in kept], [b for _, b in kept])
        return MatchedRow(key, len(solved), verdict, detail, values)


def claim_change(here: str, there: str) -> str:
    """Compare two verdicts on a claim; `ALONE` and `UNJUDGED` if one run has none, or neither."""
    judged = sum(verdict not in ("", UNMEASURED) for verdict in (here, there))
    if judged < 2:
        return ALONE if judged else UNJUDGED
    return UNCHANGED if here == there else CHANGED


def ratios(here: Sequence[float], there: Sequence[float]) -> list[float]:
    """Return the ratios of pairs; 0 / 0 counts as 1, and pairs with a single zero are omitted."""
    found = []
    for a, b in zip(here, there, strict=True):
        if a == b:
            found.append(1.0)
        elif a and b and (a > 0) == (b > 0):
            found.append(a / b)
    return found


def _verdict(
    both: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], n: int, *, same: bool
) -> tuple[str, str]:
    """Judge a row by its worst pair; the detail names the count with the largest difference."""
    order = (SAME, CLOSE, ELSEWHERE, DIFFERS)
    worst, detail, farthest = SAME, "", 0.0
    for here, there in both:
        for name in (*RESULTS, *PATH):
            a, b = here.get(name), there.get(name)
            if a is None and b is None:
                continue
            if a is None or b is None:
                return DIFFERS, f"{name} is missing {'here' if a is None else 'there'}"
            if agree(name, b, a, n, same_machine=True):
                continue
            word = DIFFERS
            if not same:
                near = agree(name, b, a, n, same_machine=False)
                word = CLOSE if near else DIFFERS if name in RESULTS else ELSEWHERE
            off = abs(a - b) / max(abs(a), abs(b))
            if (order.index(word), off) > (order.index(worst), farthest):
                worst, farthest = word, off
                detail = f"{name}: {a:.10g} here, {b:.10g} there"
    return worst, detail


def _by_row(entries: Sequence[Entry]) -> Rows:
    """Group entries by row, and within a row by seed."""
    found: dict[RowKey, dict[str, Entry]] = {}
    for entry in entries:
        point = entry.get("point", "")
        key = (entry["paper"], entry["experiment"], int(entry["n"]), entry["contender"], point)
        found.setdefault(key, {})[entry["seed"]] = entry
    return found


def _settings(a: Mapping[str, str], b: Mapping[str, str]) -> str:
    """Say which settings differ."""
    names = [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]
    return "; ".join(f"{name}: {a.get(name, 'none')} here, {b.get(name, 'none')} there" for name in names)


def _count(counts: Mapping[str, float], name: str) -> float | None:
    if name != WORK:
        return counts.get(name)
    terms = [counts[term] for term in WORK_TERMS if term in counts]
    return sum(terms) if terms else None
