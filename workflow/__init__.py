"""The workflow: from a configuration to tables, figures and verdicts. Imports point upwards in this list.

errors          failures due to configuration, disk or data, reported in one line
files           files that are either complete or absent
archives        published runs as archives: packed, downloaded from a URL, unpacked
locks           locks between processes; `graph.plan` takes that of a results folder
fingerprints    of the code behind results; a new one makes a result out of date. `configuration.jobs` has
                those of a problem, `graph.plan` those of tables; `journal.missing_runs` compares
number_text     formatting of numbers
from_source     makes ``svmrepro`` importable from a clone, without an installation
statistics/     intervals, exponents, paired tests
configuration/  what a run measures: read, merged, validated; its jobs and paths
journal/        the records of runs
surroundings/   memory that a run takes, and what may disturb its seconds: load, processor, machine
measurement/    one contender on one problem
result_files/   the files of a run's results: the columns, and their valid contents
analysis/       from records to estimates with intervals
judgement/      claims, verdicts, and the comparison with a reference run
tables/         one module per kind of table
figures/        the builders of all kinds of figure
comparison/     two runs side by side
site/           the result site
steps/          commands that Snakemake runs: ``python -m svmrepro.workflow.steps.<step>``
graph/          builds the job graph for the Snakefile
running/        calls Snakemake for a run, and shows its cost and progress
joining/        your own solvers and data: benches, skeletons for ``svmrepro new``, published runs
commands/       the command line ``svmrepro``
rules/, report/  Snakemake's rules, and the explanations in its report
envs/           the conda environment that the rules name
templates/      HTML and styles of tables in ``results/`` and of ``compare`` (the site has its own)
"""
