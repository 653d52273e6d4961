"""What Snakemake asks when it builds the graph of jobs; imports nothing heavy.

plan              names of targets, also misspelt ones (their rules: ``rules/artefacts.smk`` for tables and
                  figures, ``rules/targets.smk`` for the rest); inputs, outputs and parameters of the rules;
                  the lock of the results folder. Which jobs there are: `configuration.jobs`
scheduler_turns   keeps Snakemake's scheduler idle while jobs run
snakemake_output  hides Snakemake's repetitive output
"""
