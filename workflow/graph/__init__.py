"""What Snakemake asks when it builds the graph of jobs; imports nothing heavy.

plan              inputs, outputs and parameters of the rules
snakemake_output  hides Snakemake's repetitive output
"""
