import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon
from svmrepro.workflow.statistics import LARGER, SMALLER, Interval, holm, mean_interval, signed_rank


def exact(differences):
    """Return the two-sided probability by enumerating all signs."""
    ranks = rankdata([abs(d) for d in differences])
    observed = sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    tail = min(sum(s >= observed for s in sums), sum(s <= observed for s in sums)) / len(sums)
    return min(1.0, 2 * tail)


@pytest.mark.parametrize("differences", [[5, -1, 2.5, 3, 4, -0.5, 6, 7], [1, 2, 3, 4, -5, 6, -7.5]])
def test_probability_is_the_exact_one(differences):
    first, second = [10 + d for d in differences], [10] * len(differences)
    assert signed_rank(first, second).p == pytest.approx(exact(differences))
    assert signed_rank(second, first).p == pytest.approx(exact(differences))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 6, 9, 13, 14, 30, 49, 50, 51])
def test_probability_is_that_of_scipy(count, ties):
    differences = np.random.default_rng(count).normal(0.3, 1.0, count)
    if ties:
        differences = np.round(differences) + 0.5  # none is zero
    tested = signed_rank(differences, np.zeros(count))
    assert tested.p == pytest.approx(wilcoxon(differences).pvalue, rel=1e-12)
    assert tested.sign == np.sign(rankdata(np.abs(differences)) @ np.sign(differences))


def test_five_pairs_never_reach_the_level_and_six_do():
    five, six = signed_rank(range(1, 6), [0] * 5), signed_rank(range(1, 7), [0] * 6)
    assert five.p == pytest.approx(2 / 32) and five.mark(five.p) == ""
    assert six.p == pytest.approx(2 / 64) and six.mark(six.p) == LARGER
    back = signed_rank([0] * 6, range(1, 7))
    assert back.mark(back.p) == SMALLER and (back.larger, back.smaller, back.sign) == (0, 6, -1)


def test_pairs_without_a_difference_say_nothing():
    assert signed_rank([3, 3], [3, 3]).p == 1.0
    assert signed_rank([], []).p is None and signed_rank([], []).mark(None) == ""
    with_ties = signed_rank([1, 2, 3, 4, 5, 6, 9, 9], [0, 0, 0, 0, 0, 0, 9, 9])
    assert with_ties.larger == 6
    assert with_ties.p == pytest.approx(2 / 64)


def test_a_test_needs_pairs():
    with pytest.raises(ValueError, match="needs pairs"):
        signed_rank([1.0], [1.0, 2.0])


def test_holm_by_hand():
    # 0.01 * 4, 0.02 * 3, 0.03 * 2 is below what came before, 0.5 * 1.
    assert holm([0.03, 0.01, None, 0.5, 0.02]) == pytest.approx([0.06, 0.04, None, 0.5, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_interval_of_a_mean():
    found = mean_interval([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.303, s = 1.
    assert found.value == 2.0 and found.high == pytest.approx(2 + 4.303 / 3**0.5, abs=1e-3)
    assert mean_interval([4.0]) == Interval(4.0)
    assert mean_interval([4.0, 4.0]) == Interval.exact(4.0)
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])
