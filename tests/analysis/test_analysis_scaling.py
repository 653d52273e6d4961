import math

import numpy as np
import pytest
from scipy import special
from svmrepro.workflow.statistics import (
    Interval,
    Scatter,
    SlopeNoise,
    across_processes,
    fit_power_law,
    half_slopes,
    intervals,
    median_interval,
    noise_of_slope,
    pooled_scatter,
    ratio_interval,
    student_quantile,
)
from svmrepro.workflow.statistics.intervals import PROCESS_SPREAD


def draw(rng, sizes, repeats, scatter, noise, exponent=2.0):
    """Return values of a power law: `scatter` varies a size as a whole, `noise` each repeat."""
    return {
        int(n): list(
            np.exp(exponent * np.log(n) - 9 + scatter * rng.normal() + noise * rng.normal(size=repeats))
        )
        for n in sizes
    }


def test_exact_power_law_is_recovered():
    fit = fit_power_law({n: [3e-6 * n**1.7] * 3 for n in (1000, 2000, 5000, 9000)}, "exact")
    assert fit.exponent.value == pytest.approx(1.7, abs=1e-9)
    assert fit.exponent.high - fit.exponent.low < 1e-6
    assert fit.predict(4000) == pytest.approx(3e-6 * 4000**1.7)
    assert (fit.points, fit.n_min, fit.n_max) == (4, 1000, 9000)


def test_slope_is_that_of_least_squares_on_the_medians():
    rng = np.random.default_rng(3)
    series = draw(rng, (500, 1000, 2000, 5000), 5, 0.1, 0.1)
    slope, intercept = np.polyfit(np.log(list(series)), np.log([np.median(v) for v in series.values()]), 1)
    fit = fit_power_law(series, "any")
    assert fit.exponent.value == pytest.approx(slope)
    assert fit.intercept == pytest.approx(intercept)


@pytest.mark.parametrize(
    ("points", "repeats", "scatter", "noise"),
    [(3, 3, 0.1, 0.02), (5, 3, 0.1, 0.02), (5, 1, 0.1, 0.0), (9, 3, 0.05, 0.05)],
)
def test_intervals_cover_the_truth_about_as_often_as_they_say(points, repeats, scatter, noise):
    rng = np.random.default_rng(points * 100 + repeats)
    sizes = np.geomspace(1000, 20000, points).astype(int)
    trials = 300
    hits = 0
    for trial in range(trials):
        found = fit_power_law(draw(rng, sizes, repeats, scatter, noise), f"{trial}", draws=600).exponent
        hits += found.low <= 2.0 <= found.high
    # 95 % is nominal; three standard errors of 300 trials are 3.8 %.
    assert hits / trials >= 0.90


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_noise_covers_the_truth_on_a_line_and_finds_a_bent_one(repeats):
    rng = np.random.default_rng(repeats)
    sizes = np.geomspace(1000, 20000, 6).astype(int)
    trials, hits, bent = 400, 0, 0
    for _ in range(trials):
        straight = draw(rng, sizes, repeats, 0.0, 0.05)
        straight[sizes[-1]] = straight[sizes[-1]][:1]  # a single run borrows the others' scatter
        slope = np.polyfit(np.log(sizes), np.log([np.median(straight[n]) for n in sizes]), 1)[0]
        noise = noise_of_slope(straight)
        hits += abs(slope - 2.0) <= noise.half
        bent += noise.bent
        curve = {n: [value * 1.5 ** (k % 2) for value in straight[n]] for k, n in enumerate(sizes)}
        assert noise_of_slope(curve).half == pytest.approx(noise.half)
        assert noise_of_slope(curve).bent
    # 95 % is nominal; three standard errors of 400 trials are 3.3 %. A median's variance is a bound.
    assert 0.915 <= hits / trials <= 0.995
    assert bent / trials <= 0.085


def test_noise_includes_what_repeats_of_one_process_do_not_show():
    rng = np.random.default_rng(1)
    sizes = np.geomspace(1000, 20000, 8).astype(int)
    trials, hits, bent, bent_without = 300, 0, 0, 0
    for _ in range(trials):
        runs = draw(rng, sizes, 3, 0.0, 0.01)
        series = {n: list(np.array(v) * np.exp(rng.normal(0.0, 0.05))) for n, v in runs.items()}
        slope = np.polyfit(np.log(sizes), np.log([np.median(series[n]) for n in sizes]), 1)[0]
        noise = noise_of_slope(series, 0.05)
        hits += abs(slope - 2.0) <= noise.half
        bent += noise.bent
        bent_without += noise_of_slope(series).bent
    assert 0.91 <= hits / trials <= 0.99  # 95 % is nominal; three standard errors are 3.8 %
    assert bent / trials <= 0.09 and bent_without / trials >= 0.9


def test_noise_that_is_known_needs_no_repeats():
    """With two runs of one size, Student's 12.7 counts only for the variance that these tell."""
    rng = np.random.default_rng(2)
    sizes = np.geomspace(1000, 20000, 5).astype(int)
    bent = 0
    for _ in range(200):
        runs = draw(rng, sizes, 2, 0.0, 0.001)
        series = {
            n: list(np.array(v[: 2 if n == 1000 else 1]) * np.exp(rng.normal(0.0, 0.05)))
            for n, v in runs.items()
        }
        noise = noise_of_slope(series, 0.05)
        assert noise.half == pytest.approx(1.96 * 0.05 / np.log(sizes).std() / 5**0.5, rel=0.02)
        curve = {n: [value * 1.4 ** (k % 2) for value in series[n]] for k, n in enumerate(sizes)}
        bent += noise_of_slope(curve, 0.05).bent
    assert bent >= 150


def test_a_line_is_rarely_called_bent_where_sizes_have_different_numbers_of_runs():
    rng = np.random.default_rng(3)
    trials, bent = 1000, 0
    for _ in range(trials):
        series = {
            n: list(np.exp(rng.normal(0.0, 0.1, runs)) * n**2) for n, runs in ((100, 20), (200, 20), (400, 1))
        }
        bent += noise_of_slope(series).bent
    assert bent / trials <= 0.071  # 5 % is nominal; three standard errors are 2.1 %


def test_noise_of_counts_and_of_single_runs():
    assert noise_of_slope({100: [5.0, 5.0], 200: [20.0], 400: [80.0]}) == SlopeNoise(0.0, False)
    assert noise_of_slope({100: [5.0, 5.0], 200: [21.0], 400: [80.0]}) == SlopeNoise(0.0, True)
    assert noise_of_slope({100: [5.0], 200: [20.0], 400: [80.0]}) is None
    assert noise_of_slope({100: [5.0, 5.1], 200: [20.0, 20.2]}) is None
    for wrong in (0.0, math.inf):  # without a logarithm
        assert noise_of_slope({100: [5.0, 5.1], 200: [20.0, 20.2], 400: [wrong, 80.0]}) is None


def test_same_name_same_interval_and_other_names_nearly_so():
    series = draw(np.random.default_rng(0), (1000, 2000, 4000, 8000), 3, 0.05, 0.02)
    assert fit_power_law(series, "a") == fit_power_law(series, "a")
    one, other = (fit_power_law(series, name).exponent for name in ("a", "b"))
    assert one.high - one.low == pytest.approx(other.high - other.low, rel=0.15)


def test_collinear_medians_of_noisy_repeats_keep_a_width():
    series = {n: [0.8 * n**2, float(n**2), 1.25 * n**2] for n in (1000, 2000, 4000)}
    found = fit_power_law(series, "collinear").exponent
    assert found.value == pytest.approx(2.0)
    assert found.high - found.low > 0.1


def test_two_sizes_give_a_slope_without_interval_and_one_gives_none():
    two = fit_power_law({1000: [1.0], 4000: [4.0]}, "two")
    assert two.exponent.value == pytest.approx(1.0)
    assert two.exponent.low is None
    assert "no interval" in two.note
    assert fit_power_law({1000: [1.0]}, "one").exponent is None
    assert fit_power_law({}, "none").points == 0


def test_slopes_of_both_halves_show_a_curve():
    curve = {n: [max(1.0, n / 400) * n] for n in (3200, 1600, 800, 400, 200, 100)}
    assert half_slopes(curve) == pytest.approx((1.0, 2.0))
    odd = {n: values for n, values in curve.items() if n < 3200}  # 400 is in both
    assert half_slopes(odd) == pytest.approx((1.0, 2.0))
    assert half_slopes({**odd, 50: [0.0], 25: []}) == half_slopes(odd)
    assert half_slopes({**odd, 100: [0.0, 1.0]}) is None


def test_zeros_are_left_out_and_named():
    fit = fit_power_law({n: [0.0] if n == 500 else [float(n)] for n in (500, 1000, 2000, 4000)}, "zero")
    assert fit.points == 3
    assert "n = 500" in fit.note


def test_median_interval_of_few_many_equal_and_single_values():
    few = median_interval([1.0, 1.1, 0.9])
    assert few.low < 0.9 and few.high > 1.1 and few.value == 1.0
    many = median_interval([float(n) for n in range(1, 12)])
    assert (many.low, many.value, many.high) == (2.0, 6.0, 10.0)  # one left out on each side: 98.8 %
    assert median_interval([7.0, 7.0]) == Interval.exact(7.0)
    assert median_interval([7.0]).low is None
    with pytest.raises(ValueError, match="positive"):
        median_interval([0.0, 1.0])


@pytest.mark.parametrize("count", [2, 3, 6, 10])
def test_median_intervals_cover(count):
    rng = np.random.default_rng(count)
    hits = 0
    for _ in range(600):
        found = median_interval(list(np.exp(0.1 * rng.normal(size=count))))
        hits += found.low <= 1.0 <= found.high
    assert hits / 600 >= 0.92


def test_another_process_widens_ratios():
    half = 1.959963984540054 * PROCESS_SPREAD
    exact = across_processes(Interval.exact(3.0))
    assert (exact.low, exact.high) == pytest.approx((3 * np.exp(-half), 3 * np.exp(half)))
    wide = across_processes(Interval(3.0, 1.5, 3.0))
    assert wide.low == pytest.approx(3 * np.exp(-np.hypot(np.log(2), half)))
    assert wide.high == pytest.approx(exact.high)
    assert across_processes(Interval(3.0)) == Interval(3.0)
    assert across_processes(Interval(2.7, -1.0, 6.4)) == Interval(2.7, -1.0, 6.4)
    assert across_processes(Interval.exact(1.0), 4).high == pytest.approx(np.exp(half / 2))


def test_ratios_are_paired():
    drift = np.array([1.0, 2.0, 4.0])
    found = ratio_interval(list(3 * drift), list(drift))
    assert (found.low, found.value, found.high) == pytest.approx((3.0, 3.0, 3.0))
    alone = ratio_interval([6.0], [2.0], pooled_scatter([([1.0, 1.2], [1.0, 1.0]), ([6.0], [2.0])]))
    assert (alone.low, alone.high) == pytest.approx((3.0 / alone.high * 3.0, alone.high))
    assert alone.high == pytest.approx(3.0 * np.exp(12.706 * np.log(1.2) / np.sqrt(2)), rel=1e-3)
    assert pooled_scatter([([6.0], [2.0])]) is None and ratio_interval([6.0], [2.0]).low is None
    with pytest.raises(ValueError, match="pairs"):
        ratio_interval([1.0], [1.0, 2.0])


def test_few_pairs_have_the_scatter_of_others():
    of_all = Scatter(0.05, 10)
    one, two = ratio_interval([6.0], [2.0], of_all), ratio_interval([6.0, 6.06], [2.0, 2.0], of_all)
    half = 2.228138851986274 * 0.05
    assert one.ends == pytest.approx((3.0 * np.exp(-half), 3.0 * np.exp(half)))
    half /= np.sqrt(2)
    assert two.ends == pytest.approx((3.015 * np.exp(-half), 3.015 * np.exp(half)))
    three = [2.9, 3.0, 3.2]
    assert ratio_interval(three, [1.0] * 3, of_all) == median_interval(three)
    # Counts have no scatter, and two that differ show their own.
    assert ratio_interval([3.0], [1.0], Scatter(0.0, 1)) == Interval.exact(3.0)
    assert ratio_interval([3.0, 3.1], [1.0, 1.0], Scatter(0.0, 1)) == median_interval([3.0, 3.1])


def test_an_interval_beyond_what_files_hold_is_none():
    assert median_interval([1e-50, 1e50]).ends is None
    assert ratio_interval([1e-90, 1.0], [1e90, 1.0]).ends is None
    assert ratio_interval([1e30], [1.0], Scatter(100.0, 1)).ends is None
    assert ratio_interval([0.0, 1.0], [1.0, 1.0], Scatter(0.1, 1)).ends is None
    assert across_processes(Interval(1e-90, 1e-300, 1.0)).ends is None


def test_quantiles_are_scipys():
    for freedom in range(1, 40):
        assert student_quantile(freedom) == pytest.approx(special.stdtrit(freedom, 0.975), rel=1e-12)
    assert special.ndtri(0.975) == pytest.approx(intervals.NORMAL_QUANTILE, rel=1e-12)


def test_difference_of_intervals_recovers_variances():
    found = Interval(3.0, 2.7, 3.3).minus(Interval(2.0, 1.6, 2.4))
    assert (found.low, found.value, found.high) == pytest.approx((0.5, 1.0, 1.5))
    assert Interval(3.0).minus(Interval(2.0, 1.6, 2.4)).low is None
    with pytest.raises(ValueError, match="does not hold"):
        Interval(1.0, 2.0, 3.0)


def test_quotient_of_intervals_recovers_variances_of_logarithms():
    above, below = Interval(4.0, 2.0, 8.0), Interval(2.0, 1.0, 4.0)
    half = np.exp(np.sqrt(2) * np.log(2))
    assert above.over(below).ends == pytest.approx((2.0 / half, 2.0 * half))
    assert above.over(Interval(2.0)) == Interval(pytest.approx(2.0))
    # Ends beyond all floats are none.
    wide = Interval(1e100, 1e-100, 1e100).over(Interval(1e-100, 1e-308, 1e-100))
    assert wide == Interval(pytest.approx(1e200, rel=1e-9))
