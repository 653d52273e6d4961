"""What Snakemake asks when it builds the graph of jobs; imports nothing heavy.

plan              targets, also misspelt ones; inputs, outputs and parameters of the rules (which jobs there
                  are: `configuration.jobs`); the lock of the results folder
scheduler_turns   keeps Snakemake's scheduler idle while jobs run
snakemake_output  hides Snakemake's repetitive output
"""
