"""The workflow: from a configuration to tables, figures and verdicts. Imports point upwards in this list.

errors          failures outside the program's control, reported in one line
files           files that are either complete or absent
archives        published runs as archives
locks           locks between processes
fingerprints    decides when a result is out of date
number_text     formatting of numbers
from_source     makes ``svmrepro`` importable from a clone, without an installation
statistics/     intervals, exponents, paired tests
configuration/  what a run measures: read, merged, validated; its jobs and paths
journal/        the records of runs
surroundings/   what may disturb a run's seconds: load, processor, machine
measurement/    one contender on one problem
analysis/       from records to estimates with intervals
judgement/      claims, verdicts, and the comparison with a reference run
tables/         one module per kind of table
figures/        one module per kind of figure
comparison/     two runs side by side
site/           the result site
steps/          commands that Snakemake runs: ``python -m svmrepro.workflow.steps.<step>``
graph/          builds the job graph for the Snakefile
running/        Snakemake is called for a run; its cost, and where it stands
joining/        your own solvers and data: benches, skeletons for ``svmrepro new``, published runs
commands/       the command line ``svmrepro``
rules/, report/  Snakemake's rules, and the captions of its report
envs/           the conda environment that the rules name
templates/      HTML templates and styles
"""
