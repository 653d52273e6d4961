"""Paired tests: Wilcoxon's signed ranks, and Holm's correction for many of them.

Two contenders that ran on the same permutations of a data set give pairs. The test asks whether their
differences are symmetric around zero; it is two-sided, leaves out pairs without a difference, as Wilcoxon
did, and needs at least six pairs to reach 0.05.

References
----------
Wilcoxon 1945, Individual comparisons by ranking methods, *Biometrics Bulletin* 1(6).
Holm 1979, A simple sequentially rejective multiple test procedure, *Scand. J. Statist.* 6(2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.05
"""Where a difference counts as significant: the paper's level."""

FEWEST = 6
"""Pairs without which no two-sided test can reach `LEVEL`."""

_ENUMERATED = 13

LARGER, SMALLER = ">>", "<<"
"""Marks of a significant difference, as the PA-SMO paper prints it."""


@dataclass(frozen=True)
class SignedRank:
    """Outcome of a test of pairs.

    Attributes
    ----------
    pairs : int
        How many there are.
    larger, smaller : int
        In how many of them the first value is larger, and smaller.
    sign : int
        1 if the first values tend to be larger (by rank sum), -1 if smaller, else 0.
    p : float or None
        Two-sided; None without pairs. 1 where no pair differs.
    """

    pairs: int
    larger: int
    smaller: int
    sign: int
    p: float | None

    def mark(self, p: float | None) -> str:
        """Return the mark that a probability earns this difference: `LARGER`, `SMALLER` or none."""
        if p is None or p >= LEVEL:
            return ""
        return {1: LARGER, -1: SMALLER}.get(self.sign, "")


def signed_rank(first: Sequence[float], second: Sequence[float]) -> SignedRank:
    """Test pairs of values.

    Parameters
    ----------
    first, second : sequence of float
        Of the same length, in the same order.

    Returns
    -------
    SignedRank
        With the exact probability up to 13 pairs, and up to 50 where no two differences are as large.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError("a paired test needs pairs")
    # A tenth of a second to import, for few of those who import this module.
    from scipy.stats import permutation_test, rankdata, wilcoxon

    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    larger, smaller = int((differences > 0).sum()), int((differences < 0).sum())
    moved = differences[differences != 0]
    if not moved.size:
        return SignedRank(len(first), 0, 0, 0, 1.0 if len(first) else None)
    ranks = rankdata(np.abs(moved))
    sign = int(np.sign(ranks[moved > 0].sum() - ranks[moved < 0].sum()))
    if np.unique(ranks).size < ranks.size <= _ENUMERATED:
        # What wilcoxon does with ties, a thousand times faster: it ranks anew for each choice of signs.
        test = permutation_test(
            (np.sign(moved) * ranks,),
            lambda signed, axis: np.maximum(signed, 0.0).sum(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=2**_ENUMERATED,
        )
    else:
        test = wilcoxon(moved, zero_method="wilcox", alternative="two-sided", method="auto")
    return SignedRank(len(first), larger, smaller, sign, float(test.pvalue))


def holm(probabilities: Sequence[float | None]) -> list[float | None]:
    """Correct the probabilities of one family of tests.

    Parameters
    ----------
    probabilities : sequence of float or None
        None where there was no test: it is no member of the family.

    Returns
    -------
    list of float or None
        In the same order: the smallest level of the whole family at which the test still rejects.
    """
    known = sorted((p, place) for place, p in enumerate(probabilities) if p is not None)
    corrected: list[float | None] = [None] * len(probabilities)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        corrected[place] = highest
    return corrected
