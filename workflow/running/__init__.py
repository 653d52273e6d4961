"""Calls Snakemake for a run, and shows its cost and progress on the terminal.

snakemake_call  calls Snakemake in this process; Ctrl-C and SIGTERM; the options that such commands share
single_options  an option that may be given once
engine_options  values of Snakemake's options that it rejects late, or without naming the option
engine_errors   Snakemake's errors in one line
selection       solvers and data sets that are chosen by name (``-s``, ``-d``)
run_cost        what a run will cost before it starts, and what is left of it
run_progress    where a whole run stands, in words: from Snakemake's events and the messages of its jobs
status_line     writes it on a terminal, over the line before
snakemake_log   Snakemake's interface for loggers
"""
