"""The steps that Snakemake runs, each as ``python -m svmrepro.workflow.steps.<step>``.

fetch          get raw files
generate       check generated data
compile        compile the solvers
measure        measure a job: what the journal lacks; adds the machine to each record
analyse        records to measurements, exponents and ratios
collect        join the files of a paper's experiments
tabulate       tables, by the builders that `configuration.artefact_kinds` lists
plot           figures, likewise
check          compare with the reference run
remake         tables and figures again, from a run's raw measurements
crate          RO-Crate metadata of results
overview       the first page of the report
compare        compare with another run
closing        summary at the end of a run
_command_line  what all steps share
"""
