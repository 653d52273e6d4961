"""What Snakemake asks when it builds the graph of jobs; imports nothing heavy.

plan   inputs, outputs and parameters of the rules
jobs   the problems of an experiment, and the jobs that measure them
paths  where every file of a run lies
quiet  what of Snakemake's own output is hidden
"""
