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

SIGNIFICANCE = 0.05
"""Significance level, that of Glasmachers 2008."""

FEWEST_PAIRS = 6
"""Fewest pairs with which a two-sided test can reach `SIGNIFICANCE`."""

_ENUMERATED = 13

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
    # Imported here because it takes a tenth of a second, and few importers of this module run a test.
    from scipy.stats import permutation_test, rankdata, wilcoxon

    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    larger, smaller = int((differences > 0).sum()), int((differences < 0).sum())
    moved = differences[differences != 0]
    if not moved.size:
        return SignedRank(0, 0, 0, 1.0 if len(first) else None)
    ranks = rankdata(np.abs(moved))
    sign = int(np.sign(ranks[moved > 0].sum() - ranks[moved < 0].sum()))
    if np.unique(ranks).size < ranks.size <= _ENUMERATED:
        # The p-value that `wilcoxon` computes for ties, but a thousand times faster: `wilcoxon` ranks the
        # differences again for each choice of signs.
        test = permutation_test(
            (np.sign(moved) * ranks,),
            lambda signed, axis: np.maximum(signed, 0.0).sum(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=2**_ENUMERATED,
        )
    else:
        test = wilcoxon(moved, zero_method="wilcox", alternative="two-sided", method="auto")
    return SignedRank(larger, smaller, sign, float(test.pvalue))


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
