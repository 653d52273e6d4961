"""Paired tests: Wilcoxon's signed-rank test, and Holm's correction for multiple tests.

`analysis.paired_contenders` applies them to runs.

Two contenders that ran on the same permutations of a data set give pairs of values. The two-sided test asks
whether their differences are symmetric around zero. Pairs without a difference are dropped, as in Wilcoxon's
paper. At least six pairs are needed to reach p < 0.05.

References
----------
Wilcoxon 1945, Individual comparisons by ranking methods, *Biometrics Bulletin* 1(6).
Holm 1979, A simple sequentially rejective multiple test procedure, *Scand. J. Statist.* 6(2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIGNIFICANCE = 0.05
"""Significance level, that of Glasmachers 2008."""

FEWEST_PAIRS = 6
"""Fewest pairs with which a two-sided test can reach `SIGNIFICANCE`."""

_EXACT, _EXACT_WITH_TIES = 50, 13
"""Most differences with an exact p-value, without and with ties: those of SciPy's `wilcoxon`."""

LARGER, SMALLER = ">>", "<<"
"""Marks of a significant difference, as printed in the PA-SMO paper."""


@dataclass(frozen=True)
class SignedRank:
    """Result of a paired signed-rank test."""

    larger: int  # pairs whose first value is larger
    smaller: int
    sign: int  # 1 if the first values tend to be larger (by rank sum), -1 if smaller, else 0
    p: float | None  # two-sided; None without pairs, 1 if no pair differs

    def mark(self, p: float | None) -> str:
        """Return the mark for a p-value: `LARGER`, `SMALLER` or ""."""
        if p is None or p >= SIGNIFICANCE:
            return ""
        return {1: LARGER, -1: SMALLER}.get(self.sign, "")


def signed_rank(first: Sequence[float], second: Sequence[float]) -> SignedRank:
    """Test whether paired values differ.

    The p-value is exact for up to 13 pairs, and for up to 50 if no two absolute differences are equal.
    """
    if len(first) != len(second):
        raise ValueError("a paired test needs pairs")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    larger, smaller = int((differences > 0).sum()), int((differences < 0).sum())
    moved = differences[differences != 0]
    if not moved.size:
        return SignedRank(0, 0, 0, 1.0 if len(first) else None)
    _, places, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    # Twice the mid-rank of each difference, which is an integer.
    ranks = (2 * np.cumsum(counts) - counts + 1)[places]
    above, below = int(ranks[moved > 0].sum()), int(ranks[moved < 0].sum())
    if moved.size <= (_EXACT if counts.size == moved.size else _EXACT_WITH_TIES):
        p = _exact(ranks, above)
    else:
        # Imported here because it takes a tenth of a second, and few importers of this module need it.
        from scipy.stats import wilcoxon

        p = float(wilcoxon(moved, zero_method="wilcox", alternative="two-sided", method="auto").pvalue)
    return SignedRank(larger, smaller, int(np.sign(above - below)), p)


def _exact(ranks: NDArray[np.int64], observed: int) -> float:
    """Return the two-sided p-value of a sum of integer ranks, each of which counts with probability 1/2."""
    ways = np.zeros(int(ranks.sum()) + 1)  # choices of ranks with each sum
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] += ways[:-rank].copy()
    tail = min(ways[: observed + 1].sum(), ways[observed:].sum())
    return min(1.0, float(2.0 * tail / 2.0**ranks.size))


def holm(probabilities: Sequence[float | None]) -> list[float | None]:
    """Apply Holm's correction to the p-values of one family of tests; None marks a missing test.

    A corrected p-value is the smallest family-wise level at which the test still rejects.
    """
    known = sorted((p, place) for place, p in enumerate(probabilities) if p is not None)
    corrected: list[float | None] = [None] * len(probabilities)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        corrected[place] = highest
    return corrected
