"""Statistics of plain numbers, which know nothing of runs and experiments.

intervals     medians, means and ratios with intervals
power_law     scaling exponents with intervals
paired_tests  signed-rank tests and Holm's correction
"""
