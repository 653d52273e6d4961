"""The steps that Snakemake runs, each by ``python -m svmrepro.workflow.steps.<step>``.

fetch      get raw files
generate   generate data
compile    compile the solvers
measure    measure a job
analyse    records to measurements, exponents and ratios
collect    the files of a paper's experiments, joined
tabulate   tables
plot       figures
check      compare with the reference run
compare    compare with another run
closing    the last lines of a run
"""
