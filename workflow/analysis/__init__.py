"""From measurements to estimates with intervals.

run_files           measurements from files
runs                measured runs, by contender and size: medians, *not run: ...*
run_pairs           runs of two contenders that were measured side by side
results             all inputs of tables, figures and claims, with ratios and the line below a table
printed_numbers     the papers' own numbers
paired_contenders   contenders compared pair by pair over permutations
curves              a quantity over n, C or eps
grids               cells of a grid
step_lengths        histograms of step lengths
fits                exponents and ratios of an experiment, as CSV
tidy                records as tidy CSV
"""
