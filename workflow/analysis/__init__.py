"""From measurements to estimates with intervals.

runs                 measured runs, by contender and size: medians, *not run: ...*
run_pairs            runs of two contenders that were measured side by side
results              all inputs of tables, figures and claims, with ratios and the line below a table
printed_numbers      the papers' own numbers
paired_contenders    contenders compared pair by pair over permutations
curves               a quantity over n, C or eps
grids                cells of a grid
step_lengths         histograms of step lengths
tidy                 records as tidy CSV
parquet              a paper's results as Parquet, with typed columns
fits                 exponents and ratios of an experiment, as CSV
measurement_columns  what is recorded of a run: meaning, unit and type of each column
field_types          valid contents of the fields of a file
result_rows          the rows of a result file
run_files            measurements from files
sources              the measurements that tables and figures were made of
"""
