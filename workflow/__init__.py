"""The workflow: from a configuration to tables, figures and verdicts. Arrows point upwards in this list.

errors          a fault outside the program, told in one line
files           files that are complete or absent
locks           locks between processes
fingerprints    what decides that a result is out of date
configuration/  what a run measures: read, layered, validated; its jobs and paths
measurement/    one contender on one problem: clock, record, journal
analysis/       from records to numbers with intervals
judgement/      claims, verdicts, and what must come out as in the reference run
tables/         one module a kind of table
figures/        one module a kind of figure
comparison/     two runs side by side
steps/          what Snakemake runs: ``python -m svmrepro.workflow.steps.<step>``
graph/          what the Snakefile asks when it builds the graph of jobs
rules/, report/ Snakemake's rules, and the captions of its report
templates/      HTML pages and their styles
"""
