"""From measurements to numbers with intervals.

runs             measured runs, by contender and size
results          all that a table, figure or claim may use
printed_numbers  the papers' own numbers
intervals        medians, means and ratios, each with its interval
power_law        scaling exponents, with intervals
paired_tests     signed-rank tests and their correction
permutations     problems measured over permutations
curves           a quantity over n, C or eps
step_lengths     histograms of step lengths
tidy             records as tidy CSV
parquet          a paper's results with typed columns
fits             exponents and ratios of an experiment, as CSV
number_text      numbers as people read them
field_types      what the fields of a file may hold
"""
