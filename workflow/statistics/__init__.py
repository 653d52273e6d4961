"""Statistics of plain numbers, independent of runs and experiments; what other packages use is exported.

intervals     medians, means and ratios with intervals; `analysis.runs` takes them over repeats
power_law     scaling exponents with intervals, for `analysis.fits`
paired_tests  signed-rank tests and Holm's correction
"""

from svmrepro.workflow.statistics.intervals import (
    FEWEST_SPREAD,
    PERMUTED_SPREAD,
    PROCESS_SPREAD,
    Interval,
    Scatter,
    across_processes,
    mean_interval,
    mean_ratio,
    median_interval,
    pooled_scatter,
    ratio_interval,
    student_quantile,
)
from svmrepro.workflow.statistics.paired_tests import (
    FEWEST_PAIRS,
    LARGER,
    SIGNIFICANCE,
    SMALLER,
    SignedRank,
    holm,
    signed_rank,
)
from svmrepro.workflow.statistics.power_law import (
    FEWEST_SIZES,
    Fit,
    SlopeNoise,
    at_shared_sizes,
    fit_power_law,
    half_slopes,
    noise_of_slope,
    ratios_suffice,
)

__all__ = [
    "FEWEST_PAIRS",
    "FEWEST_SIZES",
    "FEWEST_SPREAD",
    "LARGER",
    "PERMUTED_SPREAD",
    "PROCESS_SPREAD",
    "SIGNIFICANCE",
    "SMALLER",
    "Fit",
    "Interval",
    "Scatter",
    "SignedRank",
    "SlopeNoise",
    "across_processes",
    "at_shared_sizes",
    "fit_power_law",
    "half_slopes",
    "holm",
    "mean_interval",
    "mean_ratio",
    "median_interval",
    "noise_of_slope",
    "pooled_scatter",
    "ratio_interval",
    "ratios_suffice",
    "signed_rank",
    "student_quantile",
]
