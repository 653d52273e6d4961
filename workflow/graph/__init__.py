"""What Snakemake asks when it builds the graph of jobs; imports nothing heavy.

plan                inputs, outputs and parameters of the rules (in ``rules/artefacts.smk`` for tables and
                    figures); the lock of the results folder. Which jobs there are: `configuration.jobs`
targets             names that a command line may request, also misspelt ones
snakemake_settings  whether a command runs jobs, and which file a setting comes from
scheduler_turns     keeps Snakemake's scheduler idle while jobs run
snakemake_output    hides Snakemake's repetitive output
"""
